//! Runs the `prestan` binary as a user would, in a home of its own and within a time limit.
//!
//! ```no_run
//! let outcome = prestan!("{url} --only Get1K --json -").ends(0);
//! assert_eq!(outcome.json()["tests"][0]["status"], "ok");
//! let printed_again = prestan!(outcome.again() => "report").run();
//! ```

/// A command of `prestan`, as in a shell: `prestan!("load GET {url} -c 3")`. The words may follow
/// those of another command: `prestan!(outcome.again() => "report --json -")`.
///
/// Blanks divide words, but for those between 'single quotes'. A value stays in its word, whatever
/// is in it: `{name}` has one that can be displayed, `{}` a string or a path.
macro_rules! prestan {
    ($text:literal $(, $value:expr)* $(,)?) => {
        prestan!($crate::support::Prestan::new() => $text $(, $value)*)
    };
    ($prestan:expr => $text:literal $(, $value:expr)* $(,)?) => {
        $prestan.args($crate::support::words::words(
            $text,
            format_args!($text $(, ::std::path::Path::new(&$value).display())*),
        ))
    };
}

pub(crate) mod browser;
pub(crate) mod faulty;
pub(crate) mod heads;
pub(crate) mod load;
pub(crate) mod pages;
pub(crate) mod peer;
pub(crate) mod real;
pub(crate) mod rows;
pub(crate) mod shape;
pub(crate) mod words;

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::load::send;

/// A run that takes longer has hung: it is killed, and the test fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Exit status of a run in which the generator was the bottleneck.
const INCONCLUSIVE: i32 = 3;

/// The commands of the program, as it lists them.
pub(crate) fn sub_commands() -> Vec<String> {
    let help = prestan!("-h").run().stdout;
    let (_, list) = help.split_once("More commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    // A description may go on in the next line.
    let names = names.filter(|name| !["", "help"].contains(name));
    names.map(str::to_owned).collect()
}

/// A command that serves the content of `{{ storage }}`.
pub(crate) fn serve() -> String {
    let program = env!("CARGO_BIN_EXE_prestan");
    format!("exec '{program}' serve --port {{{{ port }}}} '{{{{ storage }}}}'")
}

/// The program without ignored signals: a shell that runs these tests in its background makes them
/// ignore Ctrl-C, and a signal ignored at the start stays ignored.
pub(crate) fn program() -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.args([
        "--default-signal=HUP,INT,TERM",
        env!("CARGO_BIN_EXE_prestan"),
    ]);
    command
}

/// Exit status and words of a script that runs in a directory: `$1` is the program, and `$@` the
/// program with these arguments.
pub(crate) fn in_a_shell(home: &Path, shell: &str, script: &str, args: &[String]) -> (i32, String) {
    let mut words = shell.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_prestan")])
        .args(args)
        .current_dir(home)
        .env("XDG_STATE_HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), said.into_owned())
}

/// True if a disk can be mounted in a separate namespace.
pub(crate) fn can_mount() -> bool {
    let works = Command::new("unshare")
        .args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .stderr(Stdio::null())
        .status();
    let works = works.is_ok_and(|status| status.success());
    testbed::need_or(works.then_some(()).ok_or("a mount namespace (unshare -rm)")).is_some()
}

/// The names of the files in a directory, sorted.
pub(crate) fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The published schema of that name.
pub(crate) fn schema(name: &str) -> jsonschema::Validator {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(docs.join(name)).unwrap();
    jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap()
}

/// A command line of `prestan` in the making.
pub(crate) struct Prestan {
    command: Command,
    home: Arc<TempDir>,
    stdin: Option<String>,
}

impl Prestan {
    /// Without arguments, with a new and empty home and state directory.
    pub(crate) fn new() -> Prestan {
        Prestan::at(Arc::new(TempDir::new().unwrap()))
    }

    fn at(home: Arc<TempDir>) -> Prestan {
        let mut command = program();
        // The developer's settings must not affect a test.
        for name in [
            "PRESTAN_USER",
            "PRESTAN_PASSWORD",
            "PRESTAN_TOKEN",
            "NETRC",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "LC_ALL",
            "LC_CTYPE",
            "LANG",
            "GITHUB_ACTIONS",
        ] {
            command.env_remove(name);
        }
        command
            .env("HOME", home.path())
            .env("XDG_STATE_HOME", home.path().join("state"))
            .current_dir(home.path());
        Prestan {
            command,
            home,
            stdin: None,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Prestan {
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Prestan {
        self.command.args(args);
        self
    }

    /// The words of a text, as `prestan!` divides it.
    pub(crate) fn words(self, text: &str) -> Prestan {
        self.args(words::words_of(text))
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Prestan {
        self.command.env(name, value);
        self
    }

    /// Makes it the leader of a process group, as in a shell with jobs.
    pub(crate) fn leading_a_group(mut self) -> Prestan {
        self.command.process_group(0);
        self
    }

    /// Starts it by this program, with these arguments before its own.
    pub(crate) fn by(mut self, starter: &[&str]) -> Prestan {
        let mut args = self.command.get_args();
        let mut command = Command::new(self.command.get_program());
        command.args(args.next()).args(starter).args(args);
        command.current_dir(self.home.path());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        self.command = command;
        self
    }

    /// Sets its standard input; empty by default.
    pub(crate) fn stdin(mut self, text: &str) -> Prestan {
        self.stdin = Some(text.to_owned());
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into its home and gives the path.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Starts it and waits for its end.
    pub(crate) fn run(self) -> Outcome {
        self.spawn().wait()
    }

    /// Starts it, waits for its end, and checks its exit status.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Outcome {
        self.spawn().ends(code)
    }

    pub(crate) fn spawn(mut self) -> Running {
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        let mut child = self
            .command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(text) = self.stdin {
            // It may have ended without reading.
            let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        }
        let stdout = gather(child.stdout.take().unwrap());
        let stderr = gather(child.stderr.take().unwrap());
        Running {
            child,
            stdout,
            stderr,
            deadline: Instant::now() + LIMIT,
            home: self.home,
        }
    }
}

/// Reads to the end on a thread, so that a full pipe blocks nothing.
fn gather(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (whole, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = whole.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

/// A `prestan` at work; dropping it kills it.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    deadline: Instant,
    home: Arc<TempDir>,
}

impl Running {
    /// Its process, for signals.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The directory it was started in, which is its home as well.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Ends it by a signal, which is its exit status.
    #[track_caller]
    pub(crate) fn end_by(self, signal: Signal) -> Outcome {
        send(&self, signal);
        self.ends(-signal.as_raw())
    }

    /// Waits for its end, and checks its exit status.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Outcome {
        self.wait().ended(code)
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Outcome {
        // Both pipes end with the process: waiting for them is waiting for it, with a limit.
        let mut text = |receiver: &Receiver<String>| {
            let left = self.deadline.saturating_duration_since(Instant::now());
            receiver.recv_timeout(left).unwrap_or_else(|_| {
                let _ = self.child.kill();
                let text = receiver.recv().unwrap_or_default();
                panic!("prestan did not end within {LIMIT:?}; until then it said:\n{text}")
            })
        };
        let (stdout, stderr) = (text(&self.stdout), text(&self.stderr));
        let status = self.child.wait().unwrap();
        // A signal, and its number.
        let code = status.code().unwrap_or_else(|| {
            -std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or_default()
        });
        let inconclusive = code == INCONCLUSIVE;
        let said = |line: &&str| !line.starts_with("prestan: inconclusive: ");
        Outcome {
            code: if inconclusive {
                i32::from(any_failed(&stdout))
            } else {
                code
            },
            inconclusive,
            stdout,
            stderr: stderr.split_inclusive('\n').filter(said).collect(),
            home: Arc::clone(&self.home),
        }
    }
}

/// True if a test failed according to a report.
pub(crate) fn any_failed(report: &str) -> bool {
    match serde_json::from_str::<Value>(report) {
        Ok(document) => {
            let mut tests = document["tests"].as_array().into_iter().flatten();
            tests.any(|test| test["status"] == "failed")
        }
        // The last column of the table counts failures (its head is `failed` in every report); a
        // row without times has a word for the reason.
        Err(_) => report.lines().any(|line| {
            let counted = line.contains("  Rsp = ") && !line.ends_with(" 0");
            let in_words = [" failed  ", " not measured  "];
            counted || in_words.iter().any(|words| line.contains(words))
        }),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has usually ended, and nothing is to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Its end and its output.
pub(crate) struct Outcome {
    /// Exit status, or the negative number of the signal that killed it. Status 3 is replaced by
    /// the status without it: a load generator may be the bottleneck because of other programs on
    /// this machine, and only tests about that check `inconclusive`.
    pub(crate) code: i32,
    /// The exit status was 3.
    pub(crate) inconclusive: bool,
    /// The word about that is left out of standard error.
    pub(crate) stderr: String,
    pub(crate) stdout: String,
    home: Arc<TempDir>,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Outcome {
        assert_eq!(self.code, code, "{self}");
        self
    }

    #[track_caller]
    pub(crate) fn stderr_has(&self, text: &str) {
        assert!(self.stderr.contains(text), "no `{text}`: {self}");
    }

    #[track_caller]
    pub(crate) fn stderr_lacks(&self, text: &str) {
        assert!(!self.stderr.contains(text), "`{text}`: {self}");
    }

    #[track_caller]
    pub(crate) fn stdout_has(&self, text: &str) {
        assert!(self.stdout.contains(text), "no `{text}`: {self}");
    }

    #[track_caller]
    pub(crate) fn stdout_lacks(&self, text: &str) {
        assert!(!self.stdout.contains(text), "`{text}`: {self}");
    }

    /// The document that `--json -` printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON on standard output ({error}):\n{self}"))
    }

    /// Another command line in the same home: `report`, for example.
    pub(crate) fn again(&self) -> Prestan {
        Prestan::at(Arc::clone(&self.home))
    }

    /// The result of its run, judged by these constraints.
    pub(crate) fn judged_by(&self, constraints: &str) -> Outcome {
        let again = self.again();
        let file = again.file("judge.yaml", constraints);
        let report = again.args(["report", "--json", "-", "--judge"]);
        report.arg(file).run()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The text of a file in its home.
    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.home().join(name)).unwrap()
    }

    /// The run directories below its state directory, sorted.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.home().join("state/prestan/runs")) else {
            return Vec::new();
        };
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs
    }

    /// The one run directory below its state directory.
    #[track_caller]
    pub(crate) fn run(&self) -> PathBuf {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "not one run but {runs:?}:\n{self}");
        runs.remove(0)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome {
            code,
            stdout,
            stderr,
            ..
        } = self;
        write!(
            f,
            "exit status {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
    }
}
