//! Limits of this process that a thousand connections run into.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard one; children inherit it.
pub(crate) fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the old limit holds and fewer connections are possible.
    let _ = setrlimit(Resource::Nofile, limit);
}
