//! Output on terminals: few columns, no escape sequences, only ASCII; and on pipes.

use std::process::{Command, Stdio};

use testbed::need_or;

use crate::support::in_a_shell;
use crate::support::load::{file, plain};

/// Output on a terminal of this width, in this environment; `None` without script(1).
fn on_terminal(columns: usize, env: &[(&str, &str)], line: &str) -> Option<String> {
    let there = Command::new("script").arg("--version").output();
    need_or(there.map_err(|_| "script(1)"))?;
    let home = tempfile::tempdir().unwrap();
    let prestan = env!("CARGO_BIN_EXE_prestan");
    let mut command = Command::new("script");
    for name in "NO_COLOR CLICOLOR_FORCE LC_ALL LC_CTYPE LANG COLUMNS TERM".split(' ') {
        command.env_remove(name);
    }
    let shell = format!("stty cols {columns} rows 50; exec {prestan} {line}");
    let output = command
        .args(["-qec", &shell, "/dev/null"])
        .envs(env.iter().copied())
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Without escape sequences, as the lines that were drawn.
fn lines(shown: &str) -> Vec<String> {
    let mut text = String::new();
    let mut rest = shown.chars();
    while let Some(sign) = rest.next() {
        if sign == '\u{1b}' {
            rest.find(char::is_ascii_alphabetic);
        } else {
            text.push(sign);
        }
    }
    text.split(['\r', '\n']).map(str::to_owned).collect()
}

#[test]
fn forty_columns_get_forty() {
    let server = plain();
    let env = [("TERM", "xterm"), ("LANG", "C.UTF-8")];
    let load = format!("load GET {} -c 2 --duration 1500ms", file(&server, "a"));
    for line in [
        load.as_str(),
        "demo --only Get1K,Put1K,Locks -r 20",
        "demo --only Get1K -r 3 --layout full -v",
        "suites",
        "servers",
        "lab show congestion",
        "run none.yaml http://127.0.0.1:1/",
        "load --hlep",
        "--help",
        "report --help",
    ] {
        let Some(shown) = on_terminal(40, &env, line) else {
            return;
        };
        let too_wide = lines(&shown).into_iter().filter(|line| {
            // Lines of a bar are filled up with blanks, without line breaks.
            let signs: Vec<char> = line.chars().collect();
            let is_cut = signs.windows(2).skip(39).step_by(40);
            let is_cut = is_cut.filter(|two| two.iter().all(|sign| *sign != ' '));
            // A word without blanks is not broken, so that it can be copied.
            let longest = line.split(' ').map(str::len).max();
            is_cut.count() > 0 && longest.is_some_and(|longest| longest < 30)
        });
        assert_eq!(too_wide.collect::<Vec<_>>(), [""; 0], "{line}:\n{shown}");
    }
}

#[test]
fn a_terminal_that_is_dumb_or_unknown_gets_lines() {
    let server = plain();
    let load = format!(
        "load GET {} -c 2 --duration 1500ms --color auto",
        file(&server, "a")
    );
    for line in [
        &*load,
        "demo --only Get1K,Locks -r 3",
        "--help",
        "load --hlep",
    ] {
        for env in [&[("TERM", "dumb")][..], &[]] {
            let Some(shown) = on_terminal(100, env, line) else {
                return;
            };
            assert!(!shown.contains('\u{1b}'), "{line}: {shown:?}");
        }
    }
}

#[test]
fn a_locale_without_unicode_gets_ascii_in_reports_bars_and_messages() {
    let server = plain();
    let load = format!("load GET {} -c 2 --duration 2500ms", file(&server, "a"));
    for (name, value) in [
        ("LANG", "C"),
        ("LC_ALL", "POSIX"),
        ("LC_CTYPE", "de_DE.ISO-8859-1"),
    ] {
        let env = [("TERM", "xterm"), (name, value)];
        let Some(shown) = on_terminal(100, &env, &load) else {
            return;
        };
        let others: Vec<char> = shown.chars().filter(|sign| !sign.is_ascii()).collect();
        assert_eq!(others, [], "{shown}");
        assert!(shown.contains("p99 of each second"), "{shown}");
        assert!(shown.contains(" us"), "{shown}");
    }
    let piped = prestan!("demo --only Get1K -r 3").env("LC_ALL", "C").run();
    let is_ascii = piped.stdout.is_ascii() && piped.stderr.is_ascii();
    assert!(is_ascii, "{piped}");
}

#[test]
fn colours_can_be_forced_and_forbidden() {
    let help = |env: &[(&str, &str)]| {
        let mut prestan = prestan!("--help");
        for (name, value) in env {
            prestan = prestan.env(name, value);
        }
        prestan.run().stdout.contains('\u{1b}')
    };
    assert!(help(&[("CLICOLOR_FORCE", "1")]));
    assert!(!help(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!help(&[("TERM", "xterm")]));
}

#[test]
fn help_that_nobody_gets_is_a_failure() {
    let home = prestan!("--version").run();
    for line in ["--help", "--version", "load --help", "-h"] {
        let script = format!("\"$1\" {line} > /dev/full");
        let (code, said) = in_a_shell(home.home(), "sh", &script, &[]);
        assert_eq!(code, 1, "{line}: {said}");
        let failed = "prestan: writing to standard output failed: No space left on device";
        assert!(said.contains(failed), "{line}: {said}");
    }
}

#[test]
fn a_log_goes_through_a_pipe() {
    let outcome = prestan!("demo -q --only Get1K -r 300 --save run --log -").run();
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{outcome}");
    let rows: Vec<&str> = outcome.stdout.lines().collect();
    assert!(rows.len() > 300, "{outcome}");
    let columns = rows[0].split(',').count();
    let is_row = |row: &&str| row.split(',').count() == columns;
    assert!(columns > 10 && rows.iter().all(is_row), "{outcome}");

    let script = "{ \"$1\" report run --log -; echo $? >&2; } | head -n 1";
    let (_, said) = in_a_shell(outcome.home(), "sh", script, &[]);
    assert_eq!(said.replace('\r', ""), format!("{}\n0\n", rows[0]));
    if let Some(refused) = on_terminal(80, &[], "report --log -") {
        let says = "--log needs a file or a pipe";
        assert!(refused.contains(says), "{refused}");
    }
}
