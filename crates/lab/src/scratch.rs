//! A directory for temporary files that does not outlive its owner.
//!
//! Another process removes it: that waits for the end of a pipe from this one, so the directory is
//! removed, too, when this process is killed.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::error::LabError;

/// Waits for the end of its input, and removes the directory. Programs that are still ending may
/// write meanwhile, so it is repeated for five seconds. It ignores signals to all programs of a
/// service or a session.
const REMOVE: &str = "trap '' TERM INT HUP; cat; try=0; while [ $try -lt 25 ]; do rm -rf -- \"$@\" && [ ! -e \"$1\" ] && exit; \
                      sleep 0.2; try=$((try + 1)); done";

/// Another path to a directory whose path has characters with a meaning to shells or in
/// configurations of servers: both get paths within it. `None` where it has none.
fn plain_way_to(directory: &Path, prefix: &str) -> io::Result<Option<PathBuf>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    if directory.as_os_str().as_bytes().iter().all(is_plain) {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    let link = builder
        .prefix(prefix)
        .make_in("/tmp", |path| symlink(directory, path))?;
    Ok(Some(link.into_temp_path().keep()?))
}

/// A directory below that of temporary files. It is removed when this is dropped, and when this
/// process ends in any way.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    life: Option<ChildStdin>,
    remover: Child,
}

impl ScratchDirectory {
    /// A directory whose name begins with `prefix`; in `parent`, or in the system's directory for
    /// temporary files.
    pub fn new(prefix: &str, parent: Option<&Path>) -> io::Result<ScratchDirectory> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix);
        let made = match parent {
            Some(parent) => builder.tempdir_in(parent)?,
            None => builder.tempdir()?,
        };
        let way = plain_way_to(made.path(), prefix)?;
        let mut remover = Command::new("sh");
        remover
            .args(["-c", REMOVE, "sh"])
            .arg(made.path())
            .args(&way)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal must not reach it.
            .process_group(0);
        let mut remover = remover.spawn()?;
        let made = made.keep();
        Ok(ScratchDirectory {
            path: way.unwrap_or(made),
            life: remover.stdin.take(),
            remover,
        })
    }

    /// Writes a file that all may read. Returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, LabError> {
        let path = self.path.join(name);
        let write = || {
            fs::write(&path, text)?;
            fs::set_permissions(&path, Permissions::from_mode(0o644))
        };
        write().map_err(LabError::system("write a file for programs of the lab"))?;
        Ok(path)
    }

    /// An empty directory, created if it does not exist yet. Returns its path.
    pub(crate) fn directory(&self, name: &str) -> Result<PathBuf, LabError> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).map_err(LabError::system(
            "create a directory for programs of the lab",
        ))?;
        Ok(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(self.life.take());
        // Its status is irrelevant here. It may have been killed.
        let _ = self.remover.wait();
        if let Ok(directory) = fs::canonicalize(&self.path) {
            let _ = fs::remove_dir_all(directory);
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, Signal, kill_process_group};

    use super::*;

    /// True if the directory is removed when it is dropped after a signal to its remover.
    fn goes_after(signal: Signal) -> bool {
        let made = ScratchDirectory::new("prestan-test-", None).unwrap();
        let path = made.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        kill_process_group(Pid::from_child(&made.remover), signal).unwrap();
        drop(made);
        !path.exists()
    }

    #[test]
    fn it_goes_whatever_happens_to_the_one_that_removes_it() {
        // Sent by a service manager, or by a person.
        assert!(goes_after(Signal::TERM));
        assert!(goes_after(Signal::KILL));
    }

    #[test]
    fn its_remover_outlives_a_signal_to_all() {
        let mut made = ScratchDirectory::new("prestan-test-", None).unwrap();
        // Until the shell has started, no signal is ignored.
        let status = format!("/proc/{}/status", made.remover.id());
        let ignores = |status: &str| {
            let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
            let ignored = u64::from_str_radix(ignored.unwrap_or_default().trim(), 16);
            ignored.is_ok_and(|ignored| ignored & (1 << (libc::SIGTERM - 1)) != 0)
        };
        while !ignores(&fs::read_to_string(&status).unwrap()) {
            std::thread::yield_now();
        }
        kill_process_group(Pid::from_child(&made.remover), Signal::TERM).unwrap();
        drop(made.life.take());
        assert!(made.remover.wait().unwrap().success());
        assert!(!made.path().exists());
    }
}
