//! Descriptors through a Unix socket: how handles get to another process.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// As many descriptors as fit into a message here: an image, its timelines, and some more.
const MOST: usize = 16;

/// Sends a message of at least one byte with descriptors beside it (`SCM_RIGHTS`, unix(7)). The receiver gets descriptors of its
/// own; these stay the caller's, and are closed by dropping them.
///
/// # Errors
/// More than 16 descriptors, an empty message, one that is not sent whole, or a failed call.
pub fn send_descriptors(socket: impl AsFd, message: &[u8], descriptors: &[OwnedFd]) -> io::Result<()> {
    let refuse = |reason: String| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    if message.is_empty() {
        return refuse("descriptors need a message of at least one byte beside them".into());
    }
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let too_many = borrowed.len() > MOST;
    if too_many || (!borrowed.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&borrowed))) {
        return refuse(format!("{} descriptors in one message: at most {MOST}", borrowed.len()));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
    if sent != message.len() {
        return Err(io::Error::other(format!("{sent} of {} bytes were sent", message.len())));
    }
    Ok(())
}

/// Receives what [`send_descriptors`] sent: fills `message`, and gives the `N` descriptors beside it, in their order. They are
/// closed when a child of this process starts another program.
///
/// ```
/// use std::io::{Read, Seek, Write};
/// use std::os::unix::net::UnixStream;
/// use handover::interop::{receive_descriptors, send_descriptors};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let (here, there) = UnixStream::pair()?;
///     let path = std::env::temp_dir().join(format!("handover-{}", std::process::id()));
///     let mut file = std::fs::File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
///     std::fs::remove_file(&path)?;
///     file.write_all(b"the same file")?;
///     send_descriptors(&here, &42u64.to_ne_bytes(), &[file.into()])?;
///
///     let mut size = [0; 8];
///     let [received] = receive_descriptors(&there, &mut size)?;
///     assert_eq!(u64::from_ne_bytes(size), 42);
///     let (mut file, mut text) = (std::fs::File::from(received), String::new());
///     file.rewind()?;
///     file.read_to_string(&mut text)?;
///     assert_eq!(text, "the same file");
///     Ok(())
/// }
/// ```
///
/// # Errors
/// Another number of bytes or descriptors came, in which case those are closed; or a failed call.
pub fn receive_descriptors<const N: usize>(socket: impl AsFd, message: &mut [u8]) -> io::Result<[OwnedFd; N]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let expected = message.len();
    let mut parts = [IoSliceMut::new(message)];
    let received = rustix::net::recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let rights = ancillary.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptors: Vec<OwnedFd> = rights.flatten().collect();
    if received.bytes != expected {
        let came = received.bytes;
        return Err(io::Error::other(format!("{came} bytes came instead of {expected}")));
    }
    <[OwnedFd; N]>::try_from(descriptors)
        .map_err(|came| io::Error::other(format!("{} descriptors came instead of {N}", came.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn descriptors(count: usize) -> Vec<OwnedFd> {
        (0..count)
            .map(|_| std::fs::File::open("/dev/null").unwrap().into())
            .collect()
    }

    #[test]
    fn what_is_not_as_expected_is_refused_by_name() {
        let (here, there) = UnixStream::pair().unwrap();
        send_descriptors(&here, b"two", &descriptors(2)).unwrap();
        let error = receive_descriptors::<3>(&there, &mut [0; 3]).unwrap_err();
        assert_eq!(error.to_string(), "2 descriptors came instead of 3");

        send_descriptors(&here, b"short", &descriptors(1)).unwrap();
        let error = receive_descriptors::<1>(&there, &mut [0; 8]).unwrap_err();
        assert_eq!(error.to_string(), "5 bytes came instead of 8");

        let error = send_descriptors(&here, b"many", &descriptors(17)).unwrap_err();
        assert_eq!(error.to_string(), "17 descriptors in one message: at most 16");
        assert!(send_descriptors(&here, b"", &descriptors(1)).is_err());

        drop(here);
        let error = receive_descriptors::<1>(&there, &mut [0; 8]).unwrap_err();
        assert_eq!(error.to_string(), "0 bytes came instead of 8");
    }

    #[test]
    fn sixteen_arrive_in_their_order() {
        use std::os::unix::fs::MetadataExt;
        let (here, there) = UnixStream::pair().unwrap();
        let inode = |fd: &OwnedFd| std::fs::File::from(fd.try_clone().unwrap()).metadata().unwrap().ino();
        let sent: Vec<OwnedFd> = (0..16).map(|_| tempfile::tempfile().unwrap().into()).collect();
        send_descriptors(&here, b"all", &sent).unwrap();
        let came = receive_descriptors::<16>(&there, &mut [0; 3]).unwrap();
        assert!(sent.iter().map(inode).eq(came.iter().map(inode)));
    }
}
