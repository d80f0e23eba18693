//! Processes for tests.

use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell with a script that reads commands, and its input and output.
pub(crate) fn shell(script: &str) -> (Child, ChildStdin, ChildStdout) {
    let mut shell = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let commands = shell.stdin.take().unwrap();
    let output = shell.stdout.take().unwrap();
    (shell, commands, output)
}
