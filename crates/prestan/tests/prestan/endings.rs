//! Series of runs that end before they are through: what is known until then is told, nothing goes
//! on for nothing, nothing is left behind, and no password comes out of any of them.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::faulty::{Faulty, PASSWORD, no_secret_in, status};
use crate::support::load::{file, plain, send, until};
use crate::support::{Outcome, Prestan, Running};
use rustix::process::Signal;
use testbed::fault::Rule;
use testbed::need_or;
use testbed::real::Recipe;

/// Short tests; Put1K and Get1K belong to one pair of rows, and the second pair comes later.
const PAIRS: [&str; 5] = ["--only", "Put1K,Get1K,Put64K,Get64K", "--warmup", "1", "-r"];

/// A comparison of two servers that goes on for long.
fn comparing(a: &Faulty, b: &Faulty, options: &[&str]) -> Running {
    let (a, b) = (a.server.url(), b.server.url());
    Prestan::new()
        .args(["compare", &*a, &*b, "--repeat", "3"])
        .args(PAIRS)
        .arg("300")
        .args(options)
        .spawn()
}

/// The server is in the second pair of tests.
fn in_the_second_pair(server: &Faulty) -> bool {
    server.measured("Put64K").len() > 3
}

#[test]
fn a_comparison_tells_what_was_done_before_a_server_died() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, &["--json", "comparison.json"]);
    until("the second pair", || in_the_second_pair(&b));
    drop(b);
    let outcome = running.wait();
    assert_ne!(outcome.code, 0, "{outcome}");
    assert!(outcome.stdout.contains("\nPut1K"), "{outcome}");
    assert!(outcome.stdout.contains("did not complete"), "{outcome}");
    assert!(outcome.home().join("comparison.json").exists());
    assert_eq!(a.left(), [""; 0]);
}

#[test]
fn a_comparison_tells_what_was_done_before_ctrl_c() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, &[]);
    until("the second pair", || in_the_second_pair(&b));
    send(&running, Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.code, -Signal::INT.as_raw(), "{outcome}");
    let row = |name: &str| {
        let mut lines = outcome.stdout.lines();
        lines.find(|line| line.starts_with(name)).unwrap()
    };
    assert!(!row("Put1K").contains("not compared"), "{outcome}");
    assert!(row("Get64K").contains("not compared"), "{outcome}");
    for server in [&a, &b] {
        assert_eq!(server.left(), [""; 0]);
    }
}

#[test]
fn a_second_ctrl_c_says_what_is_left_and_how_to_remove_it() {
    let (a, b) = (plain(), plain());
    let running = comparing(&a, &b, &["--run-id", "cut"]);
    until("it measures", || !a.measured("Put1K").is_empty());
    send(&running, Signal::INT);
    send(&running, Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.code, -Signal::INT.as_raw(), "{outcome}");
    if outcome.stderr.contains("stopped at once") {
        let left = format!("{}PrestanTest-cut-", a.server.url());
        assert!(outcome.stderr.contains(&left), "{outcome}");
        assert!(outcome.stderr.contains("`prestan clean`"), "{outcome}");
    }
}

#[test]
fn a_sweep_tells_what_was_done_before_the_server_died() {
    let server = plain();
    let url = server.server.url();
    let running = Prestan::new()
        .args([
            "sweep", &*url, "--only", "MkCol", "-r", "2", "--warmup", "0",
        ])
        .args(["--vary", "width=1,4", "--repeat", "100"])
        .spawn();
    // Two rounds of a member and two of four, after the ten collections they are in.
    until("three repeats are done", || {
        server.measured("MkCol").len() > 3 * 2 * (11 + 14)
    });
    drop(server);
    let outcome = running.wait();
    assert_ne!(outcome.code, 0, "{outcome}");
    assert!(outcome.stdout.contains("it ended in repeat"), "{outcome}");
    assert!(outcome.stdout.contains("MkCol"), "{outcome}");
}

/// A search for something that is always there, in its second trial.
fn searching(server: &Faulty) -> Running {
    let url = file(server, "file");
    let running = Prestan::new()
        .args(["search", &*url, "--find", "users"])
        .args(["--while", "failures == 0"])
        .args(["--duration", "200ms", "--to", "2"])
        .spawn();
    // A user of the first trial and two of the second.
    until("the second trial", || {
        let firsts = server.firsts_on_connections();
        firsts.iter().filter(|first| first.method == "GET").count() > 2
    });
    running
}

fn has_tried_one(outcome: &Outcome) {
    assert!(outcome.stdout.contains("1 user"), "{outcome}");
}

#[test]
fn a_search_tells_what_it_tried_before_ctrl_c() {
    let server = plain();
    let running = searching(&server);
    send(&running, Signal::INT);
    let outcome = running.wait();
    assert_eq!(outcome.code, -Signal::INT.as_raw(), "{outcome}");
    has_tried_one(&outcome);
}

#[test]
fn a_search_tells_what_it_tried_before_the_server_died() {
    let server = plain();
    let running = searching(&server);
    drop(server);
    let outcome = running.wait();
    has_tried_one(&outcome);
}

#[test]
fn what_nobody_could_compare_fails_a_build() {
    let broken = || Rule::new(status(500, &[], "")).tag("(Get1K)");
    let server = || Faulty::new(|builder| builder.rule(broken()));
    let (a, b) = (server(), server());
    let (a, b) = (a.server.url(), b.server.url());
    let outcome = Prestan::new()
        .args(["compare", &*a, &*b, "--only", "Get1K", "-r", "3"])
        .args(["--repeat", "2", "--fail-if", "slower"])
        .run();
    assert_eq!(outcome.code, 1, "{outcome}");
    let says = "no test could be compared";
    assert!(outcome.stderr.contains(says), "{outcome}");
}

#[test]
fn no_password_of_a_url_comes_out() {
    let server = plain();
    let url = server.server.url();
    let secret = url.replace("http://", &format!("http://ann:{PASSWORD}@"));
    let short = [
        "--only", "Get1K", "-r", "2", "--warmup", "0", "--repeat", "2",
    ];
    let outputs = ["--json", "a.json", "--html", "a.html"];
    let compare = Prestan::new()
        .args(["compare", &*secret, &*url, "--markdown", "a.md"])
        .args(short)
        .args(outputs)
        .run();
    assert_eq!(compare.code, 0, "{compare}");
    let sweep = Prestan::new()
        .args(["sweep", &*secret, "--vary", "users=1,2", "--svg", "figures"])
        .args(short)
        .args(outputs)
        .run();
    assert_eq!(sweep.code, 0, "{sweep}");
    let nobody = ["diagnose", &*secret, "monday"];
    let refused = Prestan::new().args(nobody).run();
    assert_eq!(refused.code, 2, "{refused}");
    let lonely = Prestan::new().args(["load", &*secret, "GET"]).run();
    assert_eq!(lonely.code, 2, "{lonely}");
    for outcome in [&compare, &sweep, &refused, &lonely] {
        no_secret_in(outcome, &[PASSWORD]);
    }
}

#[test]
fn a_password_from_standard_input_is_for_all_servers() {
    let (a, b) = (plain(), plain());
    let (a, b) = (a.server.url(), b.server.url());
    let outcome = Prestan::new()
        .args(["compare", &*a, &*b, "--user", "ann", "--password-file", "-"])
        .args(["--only", "Get1K", "-r", "2", "--repeat", "2"])
        .stdin(&format!("{PASSWORD}\n"))
        .run();
    assert_eq!(outcome.code, 0, "{outcome}");
    no_secret_in(&outcome, &[PASSWORD]);
}

#[test]
fn a_name_with_no_room_for_numbers_is_refused() {
    let name = "n".repeat(60);
    let outcome = Prestan::new()
        .args(["compare", "http://127.0.0.1:1/", "http://127.0.0.1:1/"])
        .args(["--run-id", &name])
        .run();
    assert_eq!(outcome.code, 2, "{outcome}");
    assert!(outcome.stderr.contains("50 characters"), "{outcome}");
}

#[test]
fn options_for_other_servers_are_refused_for_our_own() {
    for command in [
        vec!["compare", "--server", "nginx", "--server", "apache"],
        vec!["sweep", "--server", "nginx", "--vary", "width=1,2"],
        vec!["diagnose", "--server", "nginx"],
    ] {
        let outcome = Prestan::new().args(&command).arg("--insecure").run();
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains("--insecure"), "{outcome}");
    }
}

#[test]
fn a_server_that_was_started_for_runs_and_ended_by_itself_is_named() {
    let prestan = Prestan::new();
    let program = env!("CARGO_BIN_EXE_prestan");
    let script = format!(
        "#!/bin/sh
         [ \"$1\" = --version ] && exec echo dufs 1.0
         '{program}' serve --port \"${{3#--port=}}\" \"$1\" & server=$!
         until [ -e \"$1\"/PrestanTest-*-$LAST ]; do sleep 0.01; done
         echo out of memory; kill -9 $server; exit 7"
    );
    let script = prestan.file("server", &script);
    fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let server = |last| format!("dufs,program={},env.LAST={last}", script.display());
    let quick = ["--only", "Put1K,Get1K", "--warmup", "1", "-q"];
    let ended = |outcome: &Outcome, said: &str| {
        assert_eq!(outcome.code, 4, "{outcome}");
        assert!(outcome.stderr.contains(said), "{outcome}");
        assert!(outcome.stderr.contains("out of memory"), "{outcome}");
    };

    let run = ["run", "prestan", "--run-id", "a-b", "-r", "300", "--server"];
    let outcome = prestan.args(run).arg(server("b")).args(quick).run();
    ended(&outcome, "ended during the run (exit status: 7); its logs");

    let sweep = ["sweep", "--vary", "requests=300,400", "--repeat", "3"];
    let sweep = outcome.again().args(sweep).args(["--server", &server("5")]);
    let outcome = sweep.args(quick).run();
    ended(&outcome, "ended during run 5 (exit status: 7); its logs");
    assert!(!outcome.stderr.contains("still on the server"), "{outcome}");
    let told = "it ended in repeat 3 of 3: ";
    assert!(outcome.stdout.contains(told), "{outcome}");
}

/// Names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    entries.map(name).collect()
}

#[test]
fn nothing_is_left_of_a_server_whose_run_was_killed() {
    if need_or(Recipe::named("nginx").unwrap().installed()).is_none() {
        return;
    }
    let prestan = Prestan::new();
    let files = prestan.home().join("temporary");
    fs::create_dir(&files).unwrap();
    fs::set_permissions(&files, Permissions::from_mode(0o755)).unwrap();
    let run = [
        "run", "prestan", "--server", "nginx", "-r", "100000", "--only", "Get1K",
    ];
    let running = prestan.env("TMPDIR", &files).args(run).spawn();
    let is_running = || {
        let mut servers = names(&files).into_iter();
        servers.any(|name| {
            files
                .join(name)
                .join("log/access.log")
                .metadata()
                .is_ok_and(|log| log.len() > 0)
        })
    };
    until("requests reach the server", is_running);
    send(&running, Signal::KILL);
    until("its files are removed", || names(&files).is_empty());
    drop(running.wait());
}
