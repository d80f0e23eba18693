//! Programs that run to their end, and the resources that they used.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// A program that has succeeded.
#[derive(Debug, Clone)]
pub(crate) struct FinishedChild {
    pub(crate) stdout: String,
    /// Processor time of all its threads, in the program and in the kernel for it.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
}

/// Runs a program to its end, which must be a success.
pub(crate) fn run(command: &mut Command) -> Result<FinishedChild> {
    run_until(command, &[0])
}

/// Runs a program until it ends with one of these statuses.
pub(crate) fn run_until(command: &mut Command, statuses: &[i32]) -> Result<FinishedChild> {
    // Files, not pipes: they need no reader while it runs.
    let mut stdout = tempfile::tempfile().context("create a file for a program's output")?;
    let mut stderr = tempfile::tempfile().context("create a file for a program's errors")?;
    let out = stdout.try_clone().context("share a program's output")?;
    let err = stderr.try_clone().context("share a program's errors")?;
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    let started = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("start {command:?}"))?;
    let used = child
        .wait4()
        .with_context(|| format!("wait for {command:?}"))?;
    let wall = started.elapsed();
    let stdout = text(&mut stdout)?;
    if !used
        .status
        .code()
        .is_some_and(|code| statuses.contains(&code))
    {
        let stderr = text(&mut stderr)?;
        bail!("{command:?} ended with {}:\n{stdout}{stderr}", used.status);
    }
    Ok(FinishedChild {
        stdout,
        cpu: used.rusage.utime + used.rusage.stime,
        wall,
        peak_bytes: used.rusage.maxrss,
    })
}

fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .context("read what a program said")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
