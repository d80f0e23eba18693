//! Dependencies of shells, services and containers: signals that end a run and its end, limits of
//! threads, and environment variables.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use testbed::need_or;

use crate::support::Prestan;
use crate::support::load::{at_work, plain, send, send_to, until};

const ENDLESS: &str = "--only Get1K -r 1000000";

#[test]
fn ctrl_c_ends_the_loop_of_a_shell() {
    let server = plain();
    let home = tempfile::tempdir().unwrap();
    let script = "for run in 1 2 3; do \"$@\"; echo LOOPED; done";
    let mut shell = Command::new("env");
    shell
        .args(["--default-signal=INT", "bash", "-c", script, "bash"])
        .arg(env!("CARGO_BIN_EXE_prestan"))
        .arg(server.url())
        .args(ENDLESS.split(' '))
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let shell = shell.spawn().unwrap();
    until("it measures", || !server.measured("Get1K").is_empty());
    // As a terminal does it: to all processes of the group.
    kill_process_group(Pid::from_child(&shell), Signal::INT).unwrap();
    let output = shell.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(!printed.contains("LOOPED"), "{printed}");
    assert!(printed.contains("Interrupted by the user"), "{printed}");
    assert_eq!(output.status.signal(), Some(Signal::INT.as_raw()));
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_signal_that_is_ignored_on_entry_stays_ignored() {
    let server = plain();
    let prestan = Prestan::new().by(&["nohup"]);
    let running = at_work(prestan, &server, "nohup");
    send(&running, Signal::HUP);
    let before = server.measured("Get1K").len();
    until("it goes on", || {
        server.measured("Get1K").len() > before + 200
    });
    running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn the_first_process_of_a_container_ends_with_the_number_of_the_signal() {
    let mut unshare = vec!["unshare", "--pid", "--fork", "--kill-child"];
    if !geteuid().is_root() {
        unshare.extend(["--user", "--map-root-user"]);
    }
    let mut probe = Command::new(unshare[0]);
    let probe = probe.args(&unshare[1..]).arg("true").output().unwrap();
    let refused = String::from_utf8_lossy(&probe.stderr).into_owned();
    if need_or(probe.status.success().then_some(()).ok_or(refused)).is_none() {
        return;
    }
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let server = plain();
        let running = at_work(Prestan::new().by(&unshare), &server, "first");
        let id = running.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        send_to(children.trim().parse().unwrap(), signal);
        running.ends(status);
        assert_eq!(server.left(), [""; 0]);
    }
}

#[test]
fn a_thread_that_cannot_be_started_is_said_and_nothing_is_left() {
    // The limit does not apply to root, and counts all processes of a user: a user of its own is
    // needed.
    let is_root = geteuid().is_root();
    let needed = "another user than root can be had by root alone".to_owned();
    if need_or(is_root.then_some(()).ok_or(needed)).is_none() {
        return;
    }
    let user = 100_000 + std::process::id();
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(user), Some(user)).unwrap();
    // Where the directories above may be closed to others.
    let program = home.path().join("prestan");
    fs::copy(env!("CARGO_BIN_EXE_prestan"), &program).unwrap();
    let server = plain();
    let url = server.url();
    let run = |threads: u32, command: &str| {
        let mut limited = Command::new("setpriv");
        limited
            .args([format!("--reuid={user}"), format!("--regid={user}")])
            .args(["--clear-groups", "prlimit"])
            .arg(format!("--nproc={threads}"))
            .arg(&program)
            .args(command.split(' '))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.path())
            .current_dir(home.path());
        let output = limited.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(server.left(), [""; 0], "{said}");
        (output.status.code(), said)
    };
    let load = format!("{url} --only Get1K -c 8 --threads 8 -r 2");
    let pair = format!("compare {url} {url} --only Get1K -r 2 --repeat 2");
    let demo = "demo --only Get1K -r 2".to_owned();
    let no_thread = "starting a thread failed: Resource temporarily unavailable";
    for (most, command) in [(6, &load), (3, &pair), (4, &demo)] {
        for threads in 1..=most {
            let (status, said) = run(threads, command);
            assert_eq!(status, Some(1), "{threads}: {said}");
            assert!(said.contains(no_thread), "{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
    // Between two limits it has its server, and lacks threads of its own.
    let is_enough = |threads: u32| {
        let (status, said) = run(threads, &demo);
        // Of a machine that is busy, the result may be inconclusive.
        let has_all = matches!(status, Some(0 | 3));
        let is_said = status == Some(1) && said.contains(no_thread);
        assert!(has_all || is_said, "{threads}: {said}");
        assert!(!said.contains("panicked"), "{threads}: {said}");
        has_all
    };
    assert!((5..20).any(is_enough));
}

#[test]
fn a_relative_state_directory_is_ignored() {
    let server = plain();
    let prestan = Prestan::new().env("XDG_STATE_HOME", "relative");
    let outcome = prestan!(prestan => "{server} --only Get1K -r 2").ends(0);
    assert!(!outcome.home().join("relative").exists());
    assert!(outcome.home().join(".local/state/prestan/runs").is_dir());
}

#[test]
fn credentials_of_the_environment_that_cannot_be_used_are_errors() {
    let server = plain();
    let url = server.url();
    let no_text = OsStr::from_bytes(b"\xff");
    let no_utf8 = |name| format!("{name} is set to bytes that are no UTF-8");
    let no_user = "PRESTAN_PASSWORD gives a password, and there is no user for it";
    for (name, value, reason) in [
        ("PRESTAN_USER", no_text, no_utf8("PRESTAN_USER")),
        ("PRESTAN_TOKEN", no_text, no_utf8("PRESTAN_TOKEN")),
        ("PRESTAN_PASSWORD", no_text, no_utf8("PRESTAN_PASSWORD")),
        ("PRESTAN_PASSWORD", OsStr::new("pa55"), no_user.to_owned()),
    ] {
        let outcome = prestan!("{url}").env(name, value).ends(2);
        outcome.stderr_has(&reason);
        outcome.stderr_lacks("pa55");
    }
    let prestan = Prestan::new();
    prestan.file("password", "pa55\n");
    let outcome = prestan!(prestan => "{url} --password-file password").ends(2);
    outcome.stderr_has("--password-file gives a password");
    assert_eq!(server.exchanges().len(), 0);
}
