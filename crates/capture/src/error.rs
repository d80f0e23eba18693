//! Errors of captures.

use std::io;
use std::path::PathBuf;

/// An error that prevents or ends a capture.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kernel refused a packet socket.
    #[error(
        "capturing packets needs CAP_NET_RAW: run this as root, or once `setcap cap_net_raw+ep {}`; in a user \
         namespace, the capability covers only interfaces of network namespaces made inside it, never those of \
         the host",
        program()
    )]
    NotPermitted,
    /// There is no such interface.
    #[error("there is no interface {name:?}; there are {}", .present.join(", "))]
    NoInterface {
        /// The requested name.
        name: String,
        /// The interfaces of this network namespace.
        present: Vec<String>,
    },
    /// The interface is down, or went down.
    #[error("interface {0:?} is down; bring it up with `ip link set {0} up`")]
    Down(String),
    /// The kernel has no memory for the ring.
    #[error("the kernel refused {0} MiB of memory for the ring of packets; a smaller one may do")]
    Memory(usize),
    /// More hosts and ports than a packet filter can check.
    #[error(
        "the filter for {hosts} hosts and {ports} ports is longer than the kernel allows; use fewer"
    )]
    Filter {
        /// Number of given hosts.
        hosts: usize,
        /// Number of given ports.
        ports: usize,
    },
    /// The file of the capture.
    #[error("{action} {} failed: {error}", .path.display())]
    File {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another system call.
    #[error("{action} failed: {error}")]
    System {
        /// The attempted action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl CaptureError {
    pub(crate) fn system(action: &'static str) -> impl Fn(io::Error) -> CaptureError {
        move |error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => CaptureError::NotPermitted,
            _ => CaptureError::System { action, error },
        }
    }
}

/// The program that needs the capability.
fn program() -> String {
    let path = std::env::current_exe();
    path.map_or("PROGRAM".to_owned(), |path| path.display().to_string())
}
