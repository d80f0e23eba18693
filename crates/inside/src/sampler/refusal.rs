//! Why the stacks of a server cannot be sampled, and what to do.

use std::fs;
use std::io;

/// The stacks of a server cannot be sampled.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe them")]
pub enum SamplingError {
    #[error("cannot sample the server: {0}")]
    NothingRuns(String),
    #[error(
        "cannot sample process {pid} (perf_event_open: {error}; kernel.perf_event_paranoid is {paranoid}): run as root, or \
         as the user of the server and with `sysctl kernel.perf_event_paranoid=1`; in a container, allow the call \
         perf_event_open (seccomp) and the capability PERFMON"
    )]
    Refused {
        pid: u32,
        paranoid: String,
        error: io::Error,
    },
    #[error(
        "cannot sample more than {threads} threads of the server ({error}): an open file is needed for each of its threads \
         and each processor; raise the limit with `ulimit -n`"
    )]
    TooManyThreads { threads: usize, error: io::Error },
    #[error(
        "cannot sample process {pid} (perf_event_open: {error}): this kernel was built without CONFIG_PERF_EVENTS"
    )]
    NoEvents { pid: u32, error: io::Error },
    #[error("cannot start the thread that reads the samples: {0}")]
    NoThread(#[from] io::Error),
}

/// Why the kernel refused to sample a thread, after this many others.
pub(super) fn reason(pid: u32, threads: usize, error: io::Error) -> SamplingError {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => SamplingError::TooManyThreads { threads, error },
        Some(libc::ENOSYS | libc::ENOENT | libc::EOPNOTSUPP) => {
            SamplingError::NoEvents { pid, error }
        }
        _ => {
            let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let paranoid = paranoid.map_or("unknown".to_owned(), |level| level.trim().to_owned());
            SamplingError::Refused {
                pid,
                paranoid,
                error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_remedy() {
        let message = |code| reason(7, 30, io::Error::from_raw_os_error(code)).to_string();
        for (message, part) in [
            (message(libc::EACCES), "kernel.perf_event_paranoid=1"),
            (message(libc::EPERM), "PERFMON"),
            (message(libc::EMFILE), "more than 30 threads"),
            (message(libc::ENOSYS), "CONFIG_PERF_EVENTS"),
        ] {
            assert!(message.starts_with("cannot sample"), "{message}");
            assert!(message.contains(part), "{message}: {part}");
        }
    }
}
