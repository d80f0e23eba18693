//! Limits of this process that a thousand connections run into.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Files that a process has open beside its connections: libraries, logs, pipes, the event loop.
const SPARE: u64 = 64;

/// Raises the soft limit of open files to the hard one; children inherit it.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the old limit holds and fewer connections are possible.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Raises the limit, and says what is wrong when it is too low for so many connections.
pub(crate) fn room_for(connections: u32) -> Result<(), String> {
    raise_open_files();
    let needed = u64::from(connections) + SPARE;
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
        room_for(1).unwrap();
        if getrlimit(Resource::Nofile).current.is_some() {
            assert!(room_for(u32::MAX).unwrap_err().contains("ulimit"));
        }
    }
}
