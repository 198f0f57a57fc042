//! Handles on their way from one API to the other.
//!
//! Each kind is a type of its own: a timeline's cannot be imported as a binary semaphore's, and memory's not as either. (CUDA guide,
//! 4.19.2.1.3 to 4.19.2.1.5.)

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

/// Memory, exported as an opaque file descriptor, with what its importer must be told. (CUDA guide, 4.19.2.1.3 and 4.19.2.1.5.)
///
/// **Owner.** It owns the descriptor until an import consumes it: then the importer does. When the import fails, or none comes, it
/// closes it.
///
/// **Units.** `size` in bytes: of the whole allocation, not of the image or buffer in it.
///
/// ```no_run
/// use std::os::unix::net::UnixStream;
/// use handover::interop::{CudaAllocation, ImportedBuffer, MemoryHandle, receive_descriptors, send_descriptors};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (here, there) = UnixStream::pair()?; // The other end may be another process's.
///     let allocation = CudaAllocation::new(&pair.context, 1 << 20)?;
///     let (descriptor, size, dedicated) = allocation.export()?.into_parts();
///     assert!(!dedicated);
///     send_descriptors(&here, &size.to_ne_bytes(), &[descriptor])?;
///
///     let mut size = [0; 8];
///     let [descriptor] = receive_descriptors(&there, &mut size)?;
///     // SAFETY: descriptor and size are those of the allocation, which is not dedicated.
///     let handle = unsafe { MemoryHandle::from_parts(descriptor, u64::from_ne_bytes(size), false) };
///     let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
///     println!("{} bytes", ImportedBuffer::new(&pair.device, handle, usage, "received")?.size);
///     Ok(())
/// }
/// ```
///
/// No other handle will do:
///
/// ```compile_fail,E0308
/// use handover::interop::{MemoryHandle, SharedTimeline};
/// use handover::cuda::CudaContext;
/// fn as_a_timeline(context: &std::sync::Arc<CudaContext>, handle: MemoryHandle) {
///     let _ = SharedTimeline::from_handle(context, handle, "memory");
/// }
/// ```
#[derive(Debug)]
pub struct MemoryHandle {
    pub(super) fd: OwnedFd,
    /// Bytes of the whole allocation: not of the image or buffer in it.
    pub(super) size: u64,
    /// The allocation is dedicated to one image or buffer, which both sides must say alike.
    pub(super) dedicated: bool,
}

/// A timeline semaphore's payload, exported as an opaque file descriptor. (CUDA guide, 4.19.2.1.4:
/// `CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD`.)
///
/// **Owner.** As [`MemoryHandle`].
///
/// ```no_run
/// use handover::interop::{SharedTimeline, TimelineHandle};
/// use handover::proof::Pair;
/// use handover::vulkan::{Timeline, TimelineWait};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let timeline = Timeline::new(&pair.device, "drawn", true)?;
///     let descriptor = SharedTimeline::export(&pair.device, &timeline)?.into_fd(); // To be sent to another process.
///     // SAFETY: it is an exported timeline semaphore.
///     let handle = unsafe { TimelineHandle::from_fd(descriptor) };
///     let received = SharedTimeline::from_handle(&pair.context, handle, "drawn")?;
///     received.signal(&pair.stream, 7)?;
///     assert_eq!(timeline.wait(7, std::time::Duration::from_secs(1))?, TimelineWait::Reached);
///     Ok(pair.finish()?)
/// }
/// ```
///
/// It is no binary semaphore's:
///
/// ```compile_fail,E0308
/// use handover::interop::{ImportedBinarySemaphore, TimelineHandle};
/// use handover::cuda::CudaContext;
/// fn as_a_binary(context: &std::sync::Arc<CudaContext>, handle: TimelineHandle) {
///     let _ = ImportedBinarySemaphore::new(context, handle, "timeline");
/// }
/// ```
#[derive(Debug)]
pub struct TimelineHandle(pub(super) OwnedFd);

/// A binary semaphore's payload, exported as an opaque file descriptor. (CUDA guide, 4.19.2.1.4:
/// `CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD`.)
///
/// **Owner.** As [`MemoryHandle`].
///
/// ```no_run
/// use handover::interop::{BinaryHandle, ImportedBinarySemaphore, SharedBinarySemaphore};
/// use handover::proof::Pair;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let semaphore = SharedBinarySemaphore::new(&pair.device, &pair.context, "drawn")?;
///     let descriptor = semaphore.export()?.into_fd(); // To be sent to another process.
///     // SAFETY: it is an exported binary semaphore.
///     let handle = unsafe { BinaryHandle::from_fd(descriptor) };
///     let received = ImportedBinarySemaphore::new(&pair.context, handle, "drawn")?;
///     received.signal(&pair.stream)?;
///     received.wait(&pair.stream)?;
///     Ok(pair.finish()?)
/// }
/// ```
///
/// It is no timeline's:
///
/// ```compile_fail,E0308
/// use handover::interop::{BinaryHandle, SharedTimeline};
/// use handover::cuda::CudaContext;
/// fn as_a_timeline(context: &std::sync::Arc<CudaContext>, handle: BinaryHandle) {
///     let _ = SharedTimeline::from_handle(context, handle, "binary");
/// }
/// ```
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

impl BinaryHandle {
    /// The descriptor, to send it to another process.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// What another process sent.
    ///
    /// # Safety
    /// The descriptor is an exported binary semaphore.
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
