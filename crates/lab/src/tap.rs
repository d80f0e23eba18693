//! TAP devices: the kernel's end of a cable whose other end is a file descriptor.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::system;

/// A TAP device of a namespace. It has no offloads: the kernel passes on frames of at most the
/// device's MTU, with their checksums. It disappears when this value is dropped.
#[derive(Debug)]
pub struct Tap {
    descriptor: OwnedFd,
}

impl Tap {
    /// Creates a device in a namespace. It is down and has no address.
    ///
    /// # Errors
    /// There is no `/dev/net/tun` for this user, or the name is in use or invalid.
    pub fn create(namespace: &Namespace, device: &str) -> Result<Tap, LabError> {
        let create = || {
            let tun = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open("/dev/net/tun")
                .map_err(LabError::NoTun)?;
            let descriptor = OwnedFd::from(tun);
            system::attach_tap(&descriptor, device).map_err(|source| LabError::Tap {
                device: device.to_owned(),
                source,
            })?;
            Ok(Tap { descriptor })
        };
        namespace.run(create).flatten()
    }

    /// Reads one frame that the kernel sent, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; others if the device is gone.
    pub(crate) fn read(&self, frame: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.descriptor, frame)?)
    }

    /// Writes one frame, which the kernel receives.
    ///
    /// # Errors
    /// The device is down or the kernel has no memory; the frame is lost then.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.descriptor, frame)?;
        Ok(())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
