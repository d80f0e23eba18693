//! Scenes that need a process: this program, started again with a scene to play.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The variable that names the scene.
const SCENE: &str = "LAB_TEST_SCENE";

/// Prefix of the output of a scene, to distinguish it from that of the test harness.
const MARK: &str = "scene:";

/// A command that plays a scene.
pub(crate) fn command(scene: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "laboratory::scenes::play",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(SCENE, scene)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// A scene that is being played, and the lines that it prints.
pub(crate) struct PlayedScene {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

impl PlayedScene {
    pub(crate) fn start(mut command: Command) -> std::io::Result<PlayedScene> {
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().unwrap());
        Ok(PlayedScene { child, output })
    }

    /// The next line of the scene; `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some((_, text)) = line.split_once(MARK) {
                return Some(text.trim().to_owned());
            }
        }
    }

    /// Its first line, and its end, which must be a good one.
    pub(crate) fn outcome(mut self) -> String {
        let line = self.line();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {line:?}");
        line.unwrap()
    }
}

pub(crate) fn print(text: impl std::fmt::Display) {
    println!("{MARK}{text}");
}

#[test]
#[ignore = "other tests start it in a process of its own"]
fn play() {
    let scene = env::var(SCENE).unwrap_or_default();
    match scene.as_str() {
        "hold" => super::lifetime::hold(),
        "hold a bare host" => super::bare_hosts::hold(),
        "build and drop" => super::lifetime::build_and_drop(),
        "build" => super::messages::build(),
        "" => {}
        other => panic!("no scene {other}"),
    }
}
