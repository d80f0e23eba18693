//! User namespaces: with one, an ordinary user is root of network namespaces of their own.

use std::fs;
use std::process::Command;

use crate::error::LabError;
use crate::system;

/// Moves this process into a new user namespace, in which it is root, and in which it may create
/// network namespaces. Call it before the first thread starts.
///
/// # Errors
/// This process has several threads, or the system does not allow user namespaces.
pub fn enter() -> Result<(), LabError> {
    let threads = fs::read_dir("/proc/self/task").map_err(LabError::UserNamespace)?;
    if threads.count() > 1 {
        return Err(LabError::SeveralThreads);
    }
    let (uid_map, gid_map) = maps();
    system::unshare_users().map_err(LabError::UserNamespace)?;
    system::write_user_maps(&uid_map, &gid_map).map_err(LabError::UserNamespace)
}

/// Starts the program in a new user namespace, in which it is root. Where the system does not
/// permit that, `spawn` fails.
pub fn enter_before_exec(command: &mut Command) {
    let (uid_map, gid_map) = maps();
    system::start_in_user_namespace(command, uid_map, gid_map);
}

/// Starts the program in a new user namespace, in which this user has other numbers, without
/// additional rights. Where the system does not permit that, `spawn` fails.
pub fn rename_before_exec(command: &mut Command, uid: u32, gid: u32) {
    let own_uid = rustix::process::geteuid().as_raw();
    let own_gid = rustix::process::getegid().as_raw();
    let maps = (format!("{uid} {own_uid} 1"), format!("{gid} {own_gid} 1"));
    system::start_in_user_namespace(command, maps.0, maps.1);
}

/// Starts the program as another user. Unlike [`std::os::unix::process::CommandExt::uid`], this
/// happens after entering a namespace as requested earlier, for which that user has no rights.
pub fn become_before_exec(command: &mut Command, uid: u32, gid: u32) {
    system::start_as(command, uid, gid);
}

/// Root of the namespace is the user who runs this process; no other user exists in it.
fn maps() -> (String, String) {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    (format!("0 {uid} 1"), format!("0 {gid} 1"))
}
