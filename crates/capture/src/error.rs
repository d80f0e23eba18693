//! Errors of captures.

use std::io;
use std::path::PathBuf;

/// An error that prevents or ends a capture.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum CaptureError {
    #[error(
        "capturing packets needs CAP_NET_RAW: run this as root, or once `setcap cap_net_raw+ep {}`; in a user \
         namespace, the capability covers only interfaces of network namespaces made inside it, never those of \
         the host",
        program()
    )]
    NotPermitted,
    #[error("there is no interface {name:?}; there are {}", .present.join(", "))]
    NoInterface { name: String, present: Vec<String> },
    #[error("interface {0:?} is down; bring it up with `ip link set {0} up`")]
    Down(String),
    #[error("the kernel refused {0} MiB of memory for the ring of packets; a smaller one may do")]
    Memory(usize),
    #[error(
        "the filter for {hosts} hosts and {ports} ports is longer than the kernel allows; use fewer"
    )]
    Filter { hosts: usize, ports: usize },
    #[error("{action} {} failed: {error}", .path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("{action} failed: {error}")]
    System {
        action: &'static str,
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
