//! Why a server cannot be traced, and what to do.

use std::fs;
use std::io;

use crate::processes::status_number;

/// The calls of a server cannot be traced.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum TraceError {
    #[error("cannot trace the server: none of its processes ({pids}) runs; name one that does")]
    NothingRuns { pids: String },
    #[error("cannot trace Prestan itself; start the server as a process of its own")]
    Itself,
    #[error("cannot trace process {pid}: {by} traces it already; end that first")]
    Traced { pid: u32, by: String },
    #[error(
        "cannot trace process {pid}, which belongs to another user: run as that user, or as root"
    )]
    OtherUser { pid: u32 },
    #[error(
        "cannot trace process {pid}: this system allows it for processes that Prestan started; start the server \
         with --server, run as root, or run `sysctl kernel.yama.ptrace_scope=0`"
    )]
    NoDescendant { pid: u32 },
    #[error(
        "cannot trace process {pid}: this system allows it for root; run as root, or run \
         `sysctl kernel.yama.ptrace_scope=0`"
    )]
    OnlyRoot { pid: u32 },
    #[error(
        "cannot trace process {pid}: tracing is disabled until the next boot (kernel.yama.ptrace_scope is 3); \
         boot without that"
    )]
    Disabled { pid: u32 },
    #[error(
        "cannot trace process {pid} ({error}): run as root, and in a container with the capability SYS_PTRACE"
    )]
    Refused { pid: u32, error: io::Error },
    #[error(
        "cannot read the system calls of process {pid} ({error}): this needs Linux 5.3 or later"
    )]
    OldKernel { pid: u32, error: io::Error },
    #[error("cannot start the thread that traces the server: {0}")]
    NoThread(#[from] io::Error),
}

/// Conditions that decide if one process may trace another (ptrace(2), Yama.rst of the kernel).
#[derive(Debug, Clone, Copy)]
struct Circumstances {
    tracer: Option<u32>,
    is_root: bool,
    is_same_user: bool,
    /// `kernel.yama.ptrace_scope`, where the kernel has Yama.
    scope: Option<u32>,
}

/// Why the kernel refused to trace a thread.
pub(super) fn reason(pid: u32, error: io::Error) -> TraceError {
    let this_process = std::process::id();
    let user = status_number(this_process, "Uid");
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let circumstances = Circumstances {
        tracer: status_number(pid, "TracerPid").filter(|&tracer| tracer != 0),
        is_root: user == Some(0),
        is_same_user: status_number(pid, "Uid") == user,
        scope: scope.ok().and_then(|scope| scope.trim().parse().ok()),
    };
    explain(pid, error, circumstances)
}

fn explain(pid: u32, error: io::Error, circumstances: Circumstances) -> TraceError {
    if let Some(tracer) = circumstances.tracer {
        // `tracer` is a thread; its process can be ended.
        let tracer = status_number(tracer, "Tgid").unwrap_or(tracer);
        let name = fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
        let by = format!("{} (process {tracer})", name.trim());
        let by = by.trim_start().to_owned();
        return TraceError::Traced { pid, by };
    }
    match circumstances.scope {
        Some(3..) => TraceError::Disabled { pid },
        _ if circumstances.is_root => TraceError::Refused { pid, error },
        Some(2) => TraceError::OnlyRoot { pid },
        _ if !circumstances.is_same_user => TraceError::OtherUser { pid },
        Some(1) => TraceError::NoDescendant { pid },
        _ => TraceError::Refused { pid, error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_is_missing() {
        let refused = |tracer, is_root, is_same_user, scope| {
            let circumstances = Circumstances {
                tracer,
                is_root,
                is_same_user,
                scope,
            };
            let error = io::Error::from_raw_os_error(libc::EPERM);
            explain(7, error, circumstances).to_string()
        };
        for (message, part) in [
            (refused(None, false, true, Some(1)), "with --server"),
            (refused(None, false, true, Some(2)), "for root; run as root"),
            (refused(None, true, true, Some(3)), "until the next boot"),
            (refused(None, false, false, Some(1)), "another user"),
            (refused(None, true, false, Some(1)), "SYS_PTRACE"),
            (refused(None, false, true, None), "SYS_PTRACE"),
            (
                refused(Some(u32::MAX), true, true, None),
                "(process 4294967295) traces it",
            ),
        ] {
            assert!(message.starts_with("cannot trace process 7"), "{message}");
            assert!(message.contains(part), "{message}: {part}");
        }
    }
}
