//! Limits of the system on this process: open files, threads, and the processors that it may use.

pub mod processors;

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// Files that a run opens in addition to its connections: samples, events, a report, the event loop
/// of the preparing thread.
const SPARE: u64 = 20;
/// Files of each thread: an event loop, its mailbox and its timer.
const OF_A_THREAD: u64 = 3;
/// Files that are open before, if the system does not report them.
const OPEN_BEFORE: u64 = 40;

/// Raises the soft limit of open files to the hard one; children inherit it.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it is refused, the old limit holds and fewer connections are possible.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Why a thread could not be started, with advice.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "starting a thread failed: {error}; raise the limit of processes and threads (`ulimit -u`, or that of the \
         container or service), or use fewer --threads"
    )
}

/// Raises the limit of open files.
///
/// # Errors
/// If it is too low for so many connections: by how much.
pub fn room_for(connections: u32, threads: u32) -> Result<(), String> {
    raise_open_files();
    let open = std::fs::read_dir("/proc/self/fd").map_or(OPEN_BEFORE, |open| open.count() as u64);
    let needed = open + u64::from(connections) + u64::from(threads) * OF_A_THREAD + SPARE;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => Err(format!(
            "{connections} users need {needed} open files, and this process may have {limit}; \
             raise the limit with `ulimit -n {needed}`, as root if need be"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_has_room_and_four_thousand_million_have_not() {
        room_for(1, 1).unwrap();
        if getrlimit(Resource::Nofile).current.is_some() {
            assert!(room_for(u32::MAX, 1).unwrap_err().contains("ulimit"));
        }
    }
}
