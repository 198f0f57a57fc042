//! Handles on their way from one API to the other. Each kind is a type of its own: a timeline's cannot be imported as a
//! binary semaphore's, and memory's not as either.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

/// Memory, exported as an opaque file descriptor, with what its importer must be told.
#[derive(Debug)]
pub struct MemoryHandle {
    pub(super) fd: OwnedFd,
    /// Bytes of the whole allocation: not of the image or buffer in it.
    pub(super) size: u64,
    /// The allocation is dedicated to one image or buffer, which both sides must say alike.
    pub(super) dedicated: bool,
}

/// A timeline semaphore's payload, exported as an opaque file descriptor.
#[derive(Debug)]
pub struct TimelineHandle(pub(super) OwnedFd);

/// A binary semaphore's payload, exported as an opaque file descriptor.
#[derive(Debug)]
pub struct BinaryHandle(pub(super) OwnedFd);

impl MemoryHandle {
    /// Takes the handle apart, to send it to another process: descriptor, size, and whether the allocation is dedicated.
    pub fn into_parts(self) -> (OwnedFd, u64, bool) {
        (self.fd, self.size, self.dedicated)
    }

    /// Puts together what another process took apart.
    ///
    /// # Safety
    /// The descriptor is memory exported by either API, and size and flag are those that came with it.
    pub unsafe fn from_parts(fd: OwnedFd, size: u64, dedicated: bool) -> Self {
        Self { fd, size, dedicated }
    }

    /// Bytes of the whole allocation.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the allocation is dedicated to one image or buffer.
    pub fn is_dedicated(&self) -> bool {
        self.dedicated
    }
}

impl TimelineHandle {
    /// The descriptor, to send it to another process.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// What another process sent.
    ///
    /// # Safety
    /// The descriptor is an exported timeline semaphore.
    pub unsafe fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

/// A descriptor that an import takes when it succeeds, and that is closed here when it fails.
pub(super) struct Offered(OwnedFd);

impl Offered {
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// The number, for the importing call.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// The import succeeded: the descriptor is the importer's.
    pub fn taken(self) {
        let _ = self.0.into_raw_fd();
    }
}
