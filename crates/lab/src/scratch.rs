//! A directory for temporary files that does not outlive its owner.
//!
//! Its removal is the work of another process, which waits for the end of a pipe from this one: so it is removed, too,
//! when this process is killed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::error::LabError;

/// Waits for the end of its input, and removes the directory. What still ends may write meanwhile: it tries again.
const REMOVE: &str =
    "cat; for try in 1 2 3 4 5; do rm -rf -- \"$1\" && [ ! -e \"$1\" ] && exit; sleep 0.2; done";

#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    path: PathBuf,
    life: Option<ChildStdin>,
    remover: Child,
}

impl ScratchDirectory {
    pub(crate) fn new() -> Result<ScratchDirectory, LabError> {
        let failed = LabError::system("create a directory for temporary files");
        let made = tempfile::Builder::new().prefix("prestan-lab-").tempdir();
        let made = made.map_err(&failed)?;
        // Servers that run as another user have theirs in it.
        fs::set_permissions(made.path(), Permissions::from_mode(0o711)).map_err(&failed)?;
        let mut remover = Command::new("sh");
        remover
            .args(["-c", REMOVE, "sh"])
            .arg(made.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in a terminal is not for it.
            .process_group(0);
        let mut remover = remover.spawn().map_err(failed)?;
        Ok(ScratchDirectory {
            path: made.keep(),
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

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        drop(self.life.take());
        // Its status says nothing that could be mended here.
        let _ = self.remover.wait();
    }
}
