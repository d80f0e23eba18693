//! Command lines of `prestan load`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use record::HttpVersion;

use crate::child::{self, FinishedChild};

/// The program to measure.
#[derive(Debug, Clone)]
pub struct Prestan {
    program: PathBuf,
}

/// The requested clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedClock {
    /// The kernel's time stamps.
    Kernel,
    /// Clock readings beside the system calls.
    User,
}

impl RequestedClock {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RequestedClock::Kernel => "kernel",
            RequestedClock::User => "user",
        }
    }
}

/// Runs a command line of Prestan to its end.
///
/// Status 3 means that the load generator was the bottleneck, so the figures do not describe the
/// server. That is true on two cores; here the figures of interest are those of the load generator.
pub(crate) fn run(command: &mut Command) -> Result<FinishedChild> {
    child::run_until(command, &[0, 3])
}

/// A closed loop.
#[derive(Debug, Clone, Copy)]
pub struct Closed<'a> {
    /// `GET` or `PUT`.
    pub method: &'a str,
    /// URL of the request.
    pub url: &'a str,
    /// Connections, each with one request at a time.
    pub users: u32,
    /// Operations of all users together.
    pub requests: u64,
    /// The clock.
    pub clock: RequestedClock,
    /// Version of HTTP; with HTTP/2 one stream at a time.
    pub version: HttpVersion,
}

impl Prestan {
    /// The program at that path.
    pub fn at(program: impl Into<PathBuf>) -> Prestan {
        Prestan {
            program: program.into(),
        }
    }

    /// `prestan`, without environment variables that would change its behaviour.
    pub(crate) fn command(&self) -> Command {
        undisturbed(Command::new(&self.program))
    }

    /// The same without a capability, such as `net_admin` (capabilities(7)).
    pub(crate) fn command_without(&self, right: &str) -> Command {
        let mut command = Command::new("setpriv");
        for kind in ["--bounding-set", "--inh-caps"] {
            command.arg(format!("{kind}=-{right}"));
        }
        command.arg("--").arg(&self.program);
        undisturbed(command)
    }

    /// `prestan load` with that many requests, kept in a directory.
    pub(crate) fn closed(&self, load: Closed<'_>, save: &Path) -> Command {
        let mut command = self.command();
        command
            .args(["load", load.method, load.url, "--quiet"])
            .args(["--users", &load.users.to_string()])
            .args(["--requests", &load.requests.to_string()])
            .args(["--clock", load.clock.name()])
            .arg("--save")
            .arg(save);
        if load.version == HttpVersion::Http2 {
            command.args(["--http", "2"]);
        }
        if load.method == "PUT" {
            command.args(["--body-size", "1MiB", "--writes"]);
        }
        command
    }

    /// `prestan load` with a schedule of that rate.
    pub(crate) fn open(&self, url: &str, rate: u32, connections: u32, seconds: u32) -> Command {
        let mut command = self.command();
        command
            .args(["load", "GET", url, "--quiet", "--arrivals", "constant"])
            .args(["--rate", &rate.to_string()])
            .args(["--connections", &connections.to_string()])
            .args(["--duration", &format!("{seconds}s")])
            .args(["--no-save", "--json", "-"]);
        command
    }
}

fn undisturbed(mut command: Command) -> Command {
    for name in ["PRESTAN_USER", "PRESTAN_PASSWORD", "PRESTAN_TOKEN", "NETRC"] {
        command.env_remove(name);
    }
    command
}
