//! Programs of a trial, in hosts of its laboratory.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus as ProcessStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::BuiltLab;
use rustix::process::{Pid, Signal, kill_process};

use super::{LOOK, TrialFailure};

/// Lines of a program's output that are repeated in a failure.
const REPORTED_LINES: usize = 3;

/// Variables for the user's servers, not for those of a laboratory.
const CREDENTIALS: [&str; 4] = ["PRESTAN_USER", "PRESTAN_PASSWORD", "PRESTAN_TOKEN", "NETRC"];

/// A program. Dropping it kills it.
pub(super) struct LabProgram {
    label: String,
    child: Child,
    status: Option<ProcessStatus>,
    standard_output: PathBuf,
    standard_error: PathBuf,
}

/// This program with one of its commands.
pub(super) fn prestan(command: &str) -> Result<Command, TrialFailure> {
    let program = env::current_exe();
    let program = program.map_err(TrialFailure::while_trying("finding this program"))?;
    let mut prestan = Command::new(program);
    prestan.arg(command);
    Ok(prestan)
}

impl LabProgram {
    /// Starts it. Its output goes to files of the laboratory.
    pub(super) fn start(
        lab: &BuiltLab,
        host: &str,
        label: String,
        mut command: Command,
    ) -> Result<LabProgram, TrialFailure> {
        let files = lab.temporary_files();
        let name: String = label
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let path = |end: &str| files.join(format!("{name}.{end}"));
        let (standard_output, standard_error) = (path("out"), path("err"));
        let creating = TrialFailure::while_trying("creating a file for what a program prints");
        let create = |path: &Path| File::create(path).map_err(&creating);
        for name in CREDENTIALS {
            // Variables from the recipe of its server are for this program.
            if !command.get_envs().any(|(key, _)| key == name) {
                command.env_remove(name);
            }
        }
        command
            .env("XDG_STATE_HOME", files)
            .current_dir(files)
            .stdin(Stdio::null())
            .stdout(create(&standard_output)?)
            .stderr(create(&standard_error)?)
            // Ctrl-C in a terminal must reach only this process, which ends the others.
            .process_group(0);
        let host = lab.host(host);
        let host = host.ok_or_else(|| TrialFailure::Failed(format!("{label}: no such host")))?;
        Ok(LabProgram {
            label,
            child: host.spawn(command)?,
            status: None,
            standard_output,
            standard_error,
        })
    }

    /// Its exit status, if it has ended.
    pub(super) fn status(&mut self) -> Option<ProcessStatus> {
        if self.status.is_none() {
            // It is a child of this process, waited for only here.
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// Sends it a signal to end.
    pub(super) fn interrupt(&mut self) {
        if self.status().is_none() {
            // It may have ended meanwhile.
            let _ = kill_process(Pid::from_child(&self.child), Signal::INT);
        }
    }

    pub(super) fn kill(&mut self) {
        if self.status().is_none() {
            // It may have ended meanwhile.
            let _ = self.child.kill();
            self.status = self.child.wait().ok();
        }
    }

    /// Waits for its end, and kills it after the time limit.
    pub(super) fn wait(&mut self, longest: Duration) -> Option<ProcessStatus> {
        let begun = Instant::now();
        while self.status().is_none() {
            if begun.elapsed() > longest {
                self.kill();
                break;
            }
            thread::sleep(LOOK);
        }
        self.status
    }

    /// Its end as a failure.
    pub(super) fn failed(&mut self) -> TrialFailure {
        let status = self.status();
        let status = status.map_or_else(|| "no end".to_owned(), |status| status.to_string());
        let text = fs::read_to_string(&self.standard_error).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(REPORTED_LINES)..];
        let label = &self.label;
        TrialFailure::Failed(match last {
            [] => format!("{label}: ended with {status}"),
            last => format!("{label}: {}", report::clean(&last.join("; "))),
        })
    }

    pub(super) fn printed(&self) -> String {
        fs::read_to_string(&self.standard_output).unwrap_or_default()
    }
}

impl Drop for LabProgram {
    fn drop(&mut self) {
        self.kill();
    }
}
