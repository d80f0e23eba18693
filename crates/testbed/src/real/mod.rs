//! Real servers, started from the recipes of `servers/`, and stopped with the process that started
//! them.
//!
//! ```text
//! recipe --> temporary directory, config --> process --> readiness probed --> RealServer
//!                                                                                  |
//!            directory removed <-- SIGKILL what is left <-- SIGTERM <-- dropped ---+
//! ```

mod place;
mod port;
mod process;
mod start;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lab::ScratchDirectory;

pub use place::ServerPlace;
use recipe::STORAGE;
pub use recipe::{
    Installed, Keeping, Keeps, LoggedTime, MissingProgram, Recipe, UrlScheme, find_program, in_url,
    recipes, tested_of, tool_cache,
};
pub use start::StartError;

use port::Port;
use process::{ServerProcess, ServerProcesses};

/// User and password of every recipe with authentication; only loopback and laboratories ever see
/// them.
const CREDENTIALS: (&str, &str) = ("user", "password");

/// A running server, on loopback or in a laboratory. Dropping it stops it and removes all its
/// files.
#[derive(Debug)]
pub struct RealServer {
    // In the order of their end: the processes first, then its port, then its files.
    processes: ServerProcesses,
    /// Held as long as it lives; a command of the user's may not be able to share it.
    _port: Option<Port>,
    recipe: Recipe,
    installed: Installed,
    dir: ScratchDirectory,
    url: String,
}

/// Log files of a server; any of them may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logs {
    /// Log of errors.
    pub error: PathBuf,
    /// Standard output and standard error.
    pub output: PathBuf,
    /// One line per request, as described in `servers/README.md`; `None` where the server cannot
    /// write that.
    pub access: Option<PathBuf>,
    /// Unit of the times in it; `None` where it has none.
    pub time: Option<LoggedTime>,
}

/// The end of a server that was not stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedServer {
    /// Its exit status, in words.
    pub status: String,
    /// End of its logs.
    pub log: String,
}

impl RealServer {
    /// Starts the server, and returns when it responds.
    pub fn start(recipe: &Recipe) -> Result<RealServer, StartError> {
        RealServer::start_on(recipe, &[])
    }

    /// The same, kept to these processors; to all where none are given.
    pub fn start_on(recipe: &Recipe, processors: &[u32]) -> Result<RealServer, StartError> {
        RealServer::start_at(recipe, processors, None, &|| false)
    }

    /// The same, in a host of a laboratory; on loopback where none is given. Where it is cancelled
    /// meanwhile, nothing is left of the server.
    pub fn start_at(
        recipe: &Recipe,
        processors: &[u32],
        place: Option<&ServerPlace>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<RealServer, StartError> {
        start::start(recipe, processors, place, is_cancelled)
    }

    /// URL of the collection that is measured, with the slash.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// User and password, when it wants them.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (user, password) = CREDENTIALS;
        let wanted = self.recipe.auth != UrlScheme::None;
        wanted.then(|| (user.to_owned(), password.to_owned()))
    }

    /// The recipe that was started.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Executable and version.
    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// Number of its first process, which leads a process group.
    pub fn pid(&self) -> u32 {
        self.processes.server.id()
    }

    /// The same, and that of its helper, where it has one.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        let ServerProcesses { server, helper } = &self.processes;
        let processes = [Some(server), helper.as_ref()].into_iter().flatten();
        processes.map(ServerProcess::id)
    }

    /// How it ended, if it has ended by itself, or does so within this time.
    pub fn ended(&mut self, within: Duration) -> Option<EndedServer> {
        let status = self.processes.wait_for_exit(within)?;
        Some(EndedServer {
            status: status.map_or_else(|error| error.to_string(), |status| status.to_string()),
            log: start::log_tail(&self.recipe, self.dir.path()),
        })
    }

    /// Directory that it serves; [`Recipe::bookkeeping`] names the files of the server in it.
    pub fn storage(&self) -> PathBuf {
        self.dir.path().join(STORAGE)
    }

    /// All files and directories in the storage, except those of the server, relative to it: the
    /// same before and after a run that cleans up.
    pub fn contents(&self) -> io::Result<BTreeSet<PathBuf>> {
        let storage = self.storage();
        let mut found = BTreeSet::new();
        let mut pending = vec![storage.clone()];
        while let Some(dir) = pending.pop() {
            for entry in fs::read_dir(dir)? {
                let entry = entry?;
                let name = entry.file_name();
                let mut bookkeeping = self.recipe.bookkeeping.iter();
                if bookkeeping.any(|file| name == file.as_str()) {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    pending.push(entry.path());
                }
                let path = entry.path();
                found.insert(path.strip_prefix(&storage).unwrap_or(&path).to_owned());
            }
        }
        Ok(found)
    }

    /// Where its logs are, as long as it lives.
    pub fn logs(&self) -> Logs {
        logs(&self.recipe, self.dir.path())
    }
}

fn logs(recipe: &Recipe, dir: &Path) -> Logs {
    Logs {
        error: dir.join(&recipe.logs.error),
        output: dir.join("output.log"),
        access: recipe.logs.access.as_ref().map(|name| dir.join(name)),
        time: recipe.logs.time,
    }
}
