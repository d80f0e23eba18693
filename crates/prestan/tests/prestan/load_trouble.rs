//! `prestan load` with failures, here or at the server, and its permitted changes of a server.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use record::Outcome as Ended;
use rustix::process::Signal;
use serde_json::json;
use testbed::fault::Rule;

use crate::support::faulty::{Faulty, checked, no_secret_in, status};
use crate::support::load::{begun, counted, ended, file, kept, plain, seen, send, until};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};

const ENDLESS: &str = "--duration 60s";

/// Interrupts a run after some requests, and checks its properties.
fn interrupted(server: &Faulty, prestan: Prestan, method: &str) -> Outcome {
    let running = prestan.spawn();
    until("the server has seen measured requests", || {
        seen(server, method).len() > 30
    });
    running.end_by(Signal::INT)
}

#[test]
fn ctrl_c_keeps_and_reports_what_was_done() {
    for pace in ["-c 3 --warmup 0", "--rate 200 --warmup 0"] {
        let server = plain();
        let url = file(&server, "a.txt");
        let prestan = prestan!("load GET {url} --json - --duration 60s").words(pace);
        let outcome = interrupted(&server, prestan, "GET");
        let result = checked(&outcome);
        assert_eq!(result["complete"]["state"], "interrupted");
        let run = kept(&outcome);
        let sent = seen(&server, "GET").len();
        let (ok, cut) = (ended(&run, Ended::Ok), ended(&run, Ended::Cancelled));
        // Each user may have been cut off once, whether the server saw it or not.
        assert!(ok <= sent && sent <= ok + cut, "{ok} and {cut} of {sent}");
        let dropped = ended(&run, Ended::Dropped);
        assert_eq!(ok + cut + dropped, run.samples.len(), "{outcome}");
    }
}

#[test]
fn a_server_that_dies_is_no_end_of_the_program() {
    for (pipeline, most) in [("1", 200), ("4", 800)] {
        let server = plain();
        let url = file(&server, "a.txt");
        let running = prestan!(
            "load GET {url} --json - --duration 1500ms -c 2 --warmup 0 --pipeline {pipeline}"
        )
        .spawn();
        until("the server has seen requests", || {
            seen(&server, "GET").len() > 30
        });
        drop(server);
        let outcome = running.ends(4);
        let (_, run) = counted(&outcome);
        assert!(ended(&run, Ended::Ok) >= 20, "{outcome}");
        let refused = ended(&run, Ended::ConnectFailed);
        // Not a hundred thousand times a second.
        assert!((2..most).contains(&refused), "{refused}");
        // Nor is it the generator's fault that users rest.
        outcome.stdout_lacks("users waited in the generator");
    }
}

#[test]
fn connections_are_opened_at_their_rate() {
    let server = plain();
    let url = file(&server, "a.txt");
    let slowly =
        |rate: &str| prestan!("load GET {url} --json - -c 150 --warmup 0 --connect-rate {rate}");
    // A hundred are no burst; the others arrive 5 ms apart.
    let outcome = slowly("200").words("--requests 300").ends(0);
    let begun = begun(&kept(&outcome));
    assert!(begun > 240_000_000, "{begun}");

    // The fifty would take most of a minute; Ctrl-C does not wait for them.
    let running = slowly("1").words(ENDLESS).spawn();
    until("the hundred are connected", || {
        server.server.connections() >= 100
    });
    let interrupted = Instant::now();
    let outcome = running.end_by(Signal::INT);
    assert!(interrupted.elapsed() < Duration::from_secs(5), "{outcome}");
}

#[test]
fn nobody_there_is_said_at_once() {
    let outcome = prestan!("load GET http://127.0.0.1:1/ --json -").ends(4);
    outcome.stderr_has("connection refused");
}

/// An open loop at such a low rate that no server is too slow for it.
fn at_ease(url: &str, duration: &str) -> Prestan {
    prestan!("load GET {url} --json - --rate 30 --arrivals constant -c 2 --duration {duration}")
}

#[test]
fn a_generator_that_was_stopped_is_not_believed() {
    let server = plain();
    let url = file(&server, "a.txt");
    let running = at_ease(&url, "2500ms").spawn();
    until("it measures", || seen(&server, "GET").len() > 20);
    send(&running, Signal::STOP);
    let end = Instant::now() + Duration::from_millis(600);
    while Instant::now() < end {
        thread::park_timeout(Duration::from_millis(20)); // the time it does not have
    }
    send(&running, Signal::CONT);
    let outcome = running.wait();

    assert!(outcome.inconclusive, "{outcome}");
    let result = checked(&outcome);
    assert_eq!(result["conclusion"], "inconclusive");
    let why = result["inconclusive"].to_string();
    assert!(why.contains("the load generator stalled"), "{why}");
    let longest = result["generator"][0]["longest_stall_us"].as_f64().unwrap();
    assert!(longest > 400_000.0, "{longest}");
    // Nothing was left out to hide it: operations planned meanwhile count from their planned
    // moments.
    let planned = &row(&result, "GET")["planned_us"];
    assert!(planned["max"].as_f64().unwrap() > 300_000.0, "{planned:#}");
    // The warning was printed while it happened.
    outcome.stderr_has("warning: the load generator stalled");
}

#[test]
fn a_generator_at_its_ease_is() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = at_ease(&url, "400ms").ends(0);
    let document = outcome.json();
    // A busy machine may delay one, which is then reported.
    let is_held_up = outcome.inconclusive && document["inconclusive"].is_string();
    assert!(is_held_up || document["conclusion"] == "pass", "{outcome}");
}

#[test]
fn progress_is_a_line_a_second_unless_quiet() {
    let server = plain();
    let url = file(&server, "a.txt");
    let stderr = |option: &str| at_ease(&url, "1300ms").words(option).ends(0).stderr;
    let lines = stderr("");
    let mut of_seconds = lines.lines().filter(|line| line.starts_with("  1 s  "));
    let line = of_seconds.next().unwrap();
    assert!(line.contains("/s  p50 "), "{line}");
    assert!(line.ends_with("  0 failed"), "{line}");
    assert_eq!(stderr("--quiet"), "");
}

#[test]
fn nothing_is_kept_when_nothing_is_to_be_kept() {
    let server = plain();
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - --requests 50 --no-save").ends(0);
    assert_eq!(row(&outcome.json(), "GET")["operations"], 50);
    assert!(outcome.runs().is_empty());
}

#[test]
fn what_is_there_is_not_replaced_without_a_word() {
    let server = plain();
    let url = file(&server, "a.txt");
    let path = server.demo.root().join("a.txt");
    let put = |options: &str| {
        prestan!("load PUT {url} --json - --body mine --requests 20")
            .words(options)
            .run()
    };
    let refused = put("").ended(2);
    refused.stderr_has("would overwrite a resource (HEAD returned 200");
    assert_eq!(fs::read_to_string(&path).unwrap(), "some text");
    assert_eq!(seen(&server, "PUT").len(), 0);
    assert!(refused.runs().is_empty());

    // If a server does not report the existence of a resource, neither do we.
    let evasive = Rule::new(status(413, &[], "")).method("HEAD");
    let evasive = Faulty::new(|builder| builder.rule(evasive));
    let unknown = prestan!("load PUT {evasive}new --json -").ends(2);
    unknown.stderr_has("is not known (HEAD returned 413");

    // An existing resource is not removed either.
    let replaced = put("--writes").ended(0);
    counted(&replaced);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn what_a_put_made_is_removed_again() {
    let put = |server: &Faulty, options: &str| {
        prestan!("load PUT {server}new.bin --json - --body-size 1KiB").words(options)
    };
    let server = plain();
    let outcome = put(&server, "--requests 20").ends(0);
    counted(&outcome);
    assert_eq!(server.left(), [""; 0]);

    let server = plain();
    interrupted(&server, put(&server, ENDLESS), "PUT");
    assert_eq!(server.left(), [""; 0]);

    // A server without HEAD gets another request.
    let without = Rule::new(status(405, &[], "")).method("HEAD");
    server.server.add_rule(without);
    put(&server, "--requests 20").ends(0);
    assert_eq!(server.left(), [""; 0]);

    // If nothing exists, some servers report it inside a 207.
    let nothing = "<multistatus xmlns='DAV:'><response><href>/new.bin</href><propstat><prop/><status>HTTP/1.1 404 Not \
                   Found</status></propstat></response></multistatus>";
    let nothing = Rule::new(status(207, &[], nothing)).method("PROPFIND");
    server.server.add_rule(nothing.nth(1));
    put(&server, "--requests 20").ends(0);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn what_cannot_be_removed_is_named() {
    let locked = Rule::new(status(423, &[], "")).method("DELETE");
    let server = Faulty::new(|builder| builder.rule(locked));
    let url = format!("{}new.bin", server.url());
    let outcome = prestan!("load PUT {url} --json - --body x --requests 20 --quiet").run();
    let left = format!("still on the server: {url} (DELETE returned 423 Locked");
    outcome.stderr_has(&left);
    let result = checked(&outcome);
    assert_eq!(result["left_behind"][0]["url"], url.as_str());
    assert_eq!(server.left(), ["new.bin"]);
}

#[test]
fn a_method_that_changes_needs_a_word() {
    let server = plain();
    let url = file(&server, "a.txt");
    for method in "DELETE MOVE MKCOL PROPPATCH LOCK POST PATCH BREW".split(' ') {
        let outcome = prestan!("load {method} {url} --json - --requests 3").ends(2);
        outcome.stderr_has("--writes");
    }
    assert_eq!(server.exchanges().len(), 0);
    prestan!("load MKCOL {url} --json - --requests 3 --warmup 0 --writes --expect 405").ends(0);
    assert_eq!(seen(&server, "MKCOL").len(), 3);
}

#[test]
fn a_lock_that_a_load_takes_is_released() {
    let server = plain();
    let url = file(&server, "locked.txt");
    let lockinfo = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope>\
                    <D:locktype><D:write/></D:locktype></D:lockinfo>";
    let lock = |url: &str| {
        prestan!("load LOCK {url} --json - --requests 2 --warmup 0 --writes --body {lockinfo}")
    };
    let outcome = lock(&url).run();
    // The second finds it locked.
    assert_eq!(outcome.code, 1, "{outcome}");
    let locks = seen(&server, "LOCK");
    assert_eq!(locks.len(), 2, "{outcome}");
    let exchanges = server.exchanges();
    let unlocked = exchanges.iter().filter(|one| one.method == "UNLOCK");
    assert_eq!(unlocked.count(), 1, "{outcome}");
    let tokens = outcome.home().join("state/prestan/locks");
    assert!(!tokens.exists() || tokens.read_dir().unwrap().next().is_none());
    assert_eq!(server.left(), ["locked.txt"]);

    // Where nothing is, LOCK makes an empty resource.
    let made = format!("{server}new.txt");
    let outcome = lock(&made).ends(1);
    assert_eq!(server.left(), ["locked.txt"], "{outcome}");
}

/// Even if the server sends it back: to a page for users who are not signed in.
#[test]
fn a_secret_in_a_query_is_sent_and_neither_shown_nor_kept() {
    const SECRET: &str = "s3cret-pw";
    let server = plain();
    let url = file(&server, "s.txt");
    let url = format!("{url}?a=1&token={SECRET};x");
    let get = |options: &str| prestan!("load GET {url} --json - --requests 3").words(options);
    let outcome = get("--html page.html --debug").ends(0);
    no_secret_in(&outcome, &[SECRET]);
    let shown = "s.txt?a=1&token=(not shown)";
    let plan = fs::read_to_string(outcome.run().join("plan.yaml")).unwrap();
    for text in [&outcome.stdout, &outcome.stderr, &plan] {
        assert!(text.contains(shown), "{text}");
    }
    let sent = format!("/s.txt?a=1&token={SECRET};x");
    let exchanges = seen(&server, "GET");
    assert!(exchanges.iter().all(|exchange| exchange.path == sent));

    let location = format!("/login?token={SECRET}");
    let moved = status(302, &[("Location", &location)], "");
    server.server.add_rule(Rule::new(moved).method("GET"));
    let outcome = get("").ends(1);
    no_secret_in(&outcome, &[SECRET]);
    outcome.stdout_has("it points to /login?token=(not shown)");
    // Words in the wrong order, and a word too many.
    for line in ["load {url} GET", "load --mix prestan GET {url}"] {
        let line = line.replace("{url}", &url);
        let refused = Prestan::new().words(&line).ends(2);
        no_secret_in(&refused, &[SECRET]);
    }
}

#[test]
fn a_load_in_which_everything_fails_ends_early() {
    let server = plain();
    let url = format!("{}nosuch", server.url());
    for (options, reason) in [
        ("", Some("all of 1000 operations failed")),
        ("--max-failures 20", Some("21 of 21 operations failed")),
        ("--max-failures 5%", Some("100 of 100 operations failed")),
        ("--max-failures none -r 1200", None),
    ] {
        let (endless, state) = match reason {
            Some(_) => (ENDLESS, "aborted"),
            None => ("", "complete"),
        };
        let load = prestan!("load GET {url} --json -").words(endless);
        let outcome = load.words(options).ends(1);
        assert_eq!(checked(&outcome)["complete"]["state"], state, "{outcome}");
        if let Some(reason) = reason {
            outcome.stderr_has(&format!("could not be finished: {reason}"));
        }
    }
}

#[test]
fn what_fails_now_and_then_ends_no_load() {
    let server = Faulty::new(|builder| {
        let rule = Rule::new(status(503, &[], "")).method("GET");
        builder.rule(rule.nth(7))
    });
    let url = file(&server, "a.txt");
    let outcome = prestan!("load GET {url} --json - -r 1500 --warmup 0").run();
    let result = checked(&outcome);
    assert_eq!(result["complete"]["state"], "complete", "{outcome}");
    let get = row(&result, "GET");
    let group = &get["failures"][0];
    let found = json!([group["outcome"], group["status"], group["count"]]);
    assert_eq!(found, json!(["refused", 503, 1]), "{get:#}");
    let example = group["example"].as_str().unwrap();
    assert!(example.contains("GET /a.txt: 503 "), "{example}");
}

/// A server of HTTP/1.0 that serves one connection at a time, even an idle one, and queues hardly
/// more.
fn one_at_a_time() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx");
        }
    });
    url
}

#[test]
fn a_server_of_one_connection_is_no_reason_to_be_silent() {
    let load = |options: &str| {
        let url = one_at_a_time();
        prestan!("load GET {url} --json - --rate 20 --duration 1s --timeout 7s").words(options)
    };
    load("")
        .run()
        .stderr_has("still warming up on 64 connections");
    load("--users 1").ends(0).stderr_lacks("still warming up");
}
