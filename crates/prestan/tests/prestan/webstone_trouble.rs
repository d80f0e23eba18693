//! `prestan webstone` and servers that do not deliver: nothing they do inflates the number.

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::Prestan;
use crate::support::faulty::{Faulty, status};
use crate::support::heads::answering;
use crate::support::load::{plain, until};
use crate::support::pages::{counted, furnished, generate, lasting, listed, number, webstone};
use record::Outcome as Ended;
use rustix::process::Signal;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

/// A count of the window and of the time outside.
fn both(result: &Value, what: &str) -> u64 {
    let webstone = &result["webstone"];
    number(&webstone["retrieved"][what]) + number(&webstone["left_out"][what])
}

#[test]
fn a_file_that_is_not_there_makes_its_page_incomplete() {
    let server = furnished();
    fs::remove_file(server.demo.root().join("d/file2k.gif")).unwrap();
    let outcome = webstone(&server.url()).ends(1);
    let (result, _) = counted(&outcome);
    let pages = &result["webstone"]["pages"];
    assert_eq!(pages[0]["retrieved"]["pages"], 0);
    assert!(number(&pages[0]["retrieved"]["errors"]) > 0);
    assert_eq!(pages[0]["retrieved"]["bytes"], 0);
    assert!(number(&pages[0]["retrieved"]["bytes_apart"]) > 0);
    assert_eq!(pages[1]["retrieved"]["errors"], 0);
    let retrieved = &result["webstone"]["retrieved"];
    assert_eq!(retrieved["pages"], pages[1]["retrieved"]["pages"]);
}

/// Faults of one file of the first page, and how its operations end.
#[test]
fn nothing_that_a_server_does_inflates_the_number() {
    let faults = [
        (Fault::CloseAfterBytes(300), Ended::Reset),
        (Fault::ShorterThanSaid, Ended::Reset),
        (status(200, &[], "another length"), Ended::WrongBody),
        (
            Fault::Garbage(b"garbage\r\n\r\n".to_vec()),
            Ended::ProtocolError,
        ),
        (Fault::Hang, Ended::Timeout),
    ];
    for (fault, ended) in faults {
        let rule = Rule::new(fault.clone()).path("file2k");
        let server = Faulty::new(|builder| builder.rule(rule));
        generate(server.demo.root());
        let outcome = prestan!(webstone(&server.url()) => "--timeout 200ms").run();
        assert_eq!(outcome.code, 1, "{fault:?}: {outcome}");
        let (result, run) = counted(&outcome);
        let pages = &result["webstone"]["pages"];
        assert_eq!(pages[0]["retrieved"]["pages"], 0, "{fault:?}: {outcome}");
        let of_file = run.samples.iter().filter(|sample| sample.measure.0 == 1);
        assert!(of_file.clone().count() > 0, "{fault:?}");
        for sample in of_file {
            assert_eq!(sample.outcome, ended, "{fault:?}: {outcome}");
        }
    }
}

#[test]
fn what_follows_a_response_is_in_no_sum() {
    let server = furnished();
    let usual = counted(&webstone(&server.url()).run()).0;
    let longer = Rule::new(Fault::LongerThanSaid).path("file4k");
    server.server.add_rule(longer);
    let (result, _) = counted(&webstone(&server.url()).run());
    for page in 0..2 {
        let per_page = |result: &Value| {
            let retrieved = &result["webstone"]["pages"][page]["retrieved"];
            number(&retrieved["bytes"]) / number(&retrieved["pages"]).max(1)
        };
        assert_eq!(per_page(&result), per_page(&usual));
    }
}

#[test]
fn a_server_that_hangs_does_not_hold_the_run() {
    let rule = Rule::new(Fault::Hang).method("GET").from(20);
    let server = Faulty::new(|builder| builder.rule(rule));
    generate(server.demo.root());
    let begun = Instant::now();
    let outcome = prestan!(webstone(&server.url()) => "--timeout 1s -c 4").run();
    assert!(begun.elapsed() < Duration::from_secs(20), "{outcome}");
    assert!(outcome.code == 1 || outcome.code == 4, "{outcome}");
    let (result, _) = counted(&outcome);
    assert!(both(&result, "errors") > 0, "{outcome}");
}

#[test]
fn a_server_that_hangs_from_the_beginning_does_not_hold_the_run() {
    let rule = Rule::new(Fault::Hang).method("GET");
    let server = Faulty::new(|builder| builder.rule(rule));
    generate(server.demo.root());
    let begun = Instant::now();
    let outcome = prestan!(webstone(&server.url()) => "--timeout 500ms --warmup 1s").run();
    assert!(begun.elapsed() < Duration::from_secs(15), "{outcome}");
    assert_eq!(outcome.code, 1, "{outcome}");
    let (result, _) = counted(&outcome);
    assert_eq!(number(&result["webstone"]["retrieved"]["pages"]), 0);
}

#[test]
fn a_page_of_many_slow_files_does_not_hold_the_run() {
    // Each of them is in time, and all of them together are not.
    let address = responding(1, Duration::from_millis(400));
    let files = ["/file1k.html"; 8].join(",");
    for pipeline in ["1", "8"] {
        let begun = Instant::now();
        let outcome = prestan!(
            "webstone --page {files} http://{address}/ --timeout 500ms --duration 400ms --json - \
            --pipeline {pipeline}"
        )
        .run();
        // The first page, of 3.2 s, is done before the window opens; the second one is given up.
        assert!(begun.elapsed() < Duration::from_secs(8), "{outcome}");
        let (result, _) = counted(&outcome);
        let pages = &result["webstone"]["retrieved"]["pages"];
        assert_eq!(number(pages), 0, "{outcome}");
        assert!(both(&result, "errors") >= 1, "{outcome}");
    }
}

/// Responds to every GET `often` times, after this delay, one after the other.
fn responding(often: usize, delay: Duration) -> SocketAddr {
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n{:1024}", "");
    answering(move |head| {
        let is_get = head.starts_with(b"GET");
        let times = if is_get { often } else { 1 };
        thread::park_timeout(if is_get { delay } else { Duration::ZERO });
        (response.repeat(times).into_bytes(), true)
    })
}

#[test]
fn responses_that_nobody_asked_for_do_not_inflate_the_number() {
    let address = responding(2, Duration::ZERO);
    for options in ["", "--pipeline 5", "--parallel 2"] {
        let outcome = prestan!(
            "webstone --page /file1k.html,/b/file1k.html,/c/file1k.html http://{address}/ --repeat \
            20 --json -"
        )
        .words(options)
        .run();
        let (result, run) = counted(&outcome);
        let retrieved = &result["webstone"]["retrieved"];
        let opened = run.samples.iter().filter(|one| one.connect.is_some());
        if options.contains("pipeline") {
            // The responses cannot be assigned to requests.
            assert_eq!(outcome.code, 1, "{outcome}");
            assert_eq!(retrieved["pages"], 0, "{outcome}");
            assert_eq!(retrieved["bytes"], 0, "{outcome}");
        } else {
            // Each has its response, and later bytes are dropped with the connection.
            assert_eq!(outcome.code, 0, "{outcome}");
            assert_eq!(retrieved["pages"], 20, "{outcome}");
            assert!(opened.count() >= 58, "{outcome}");
        }
    }
}

#[test]
fn ctrl_c_while_files_are_put_there_removes_them() {
    let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(100))).method("PUT");
    let server = Faulty::new(|builder| builder.rule(slow));
    let put = |server: &Faulty| {
        let exchanges = server.exchanges();
        exchanges.iter().filter(|one| one.method == "PUT").count()
    };
    let running = prestan!(lasting(&server.url(), "1h") => "--prepare").spawn();
    // The marker, and the first of the files.
    until("a file was put there", || put(&server) >= 2);
    let outcome = running.end_by(Signal::INT);
    assert!(put(&server) < 5, "{outcome}");
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn ctrl_c_while_pages_are_fetched_reports_what_was_done() {
    let server = plain();
    let running = prestan!(lasting(&server.url(), "10s") => "--prepare -c 2").spawn();
    // The window opens after a tenth of the duration.
    until("pages were fetched in the window", || {
        let exchanges = server.exchanges();
        let mut fetched = exchanges.iter().filter(|one| one.method == "GET");
        let span = fetched.next().zip(fetched.next_back());
        let two_seconds = Duration::from_secs(2);
        span.is_some_and(|(first, last)| last.request_end - first.request_end > two_seconds)
    });
    let outcome = running.end_by(Signal::INT);
    let (result, _) = counted(&outcome);
    assert_eq!(result["complete"]["state"], "interrupted");
    assert!(number(&result["webstone"]["retrieved"]["pages"]) > 0);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_file_that_was_broken_off_is_not_taken_for_somebody_elses() {
    let home = tempfile::tempdir().unwrap();
    // No file may be larger than a kibibyte, and the one that would be is an error and no end.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let arguments = "webstone --page /a/small=1024,/large=4096 --generate files";
    let prestan = env!("CARGO_BIN_EXE_prestan");
    let generate = |program: &str, before: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(before).args(arguments.split(' '));
        command.current_dir(home.path()).output().unwrap()
    };
    let failed = generate("bash", &["-c", limited, prestan]);
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("writing files/large failed"), "{said}");
    assert!(!home.path().join("files/large").exists());
    let again = generate(prestan, &[]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let large = fs::read(home.path().join("files/large")).unwrap();
    assert_eq!(large.len(), 4096);
}

#[test]
fn every_run_of_a_load_curve_is_judged_and_those_that_fail_are_named() {
    let server = furnished();
    let curve = |options: &str| {
        prestan!(listed() => "{server} --repeat 3 -c 1,2 --json -")
            .words(options)
            .run()
    };
    // Each file of a page is fetched three times by one child, and six times by two.
    let failed = curve("--fail-if 'operations > 4'").ended(1);
    failed.stderr_has("prestan: failed: --fail-if at 2 children\n");
    let passed = curve("--fail-if 'operations > 6' --note disk=NVMe").ended(0);
    assert_eq!(passed.json()["notes"][0]["text"], "NVMe", "{passed}");
    let undecided = curve("--fail-if 'p99.9 > 1 ns'");
    assert!(undecided.code == 1 || undecided.inconclusive, "{undecided}");

    let sent = server.exchanges().len();
    let table = "
        --fail-if 'p99(Page0-1-file1k) > 1 s' => did you mean `Page0-1-file1k_html`?
        --junit j.xml => --junit is for one run
        --layout 2004 => --layout is for one run
    ";
    for [options, says] in cases::rows(table) {
        curve(options).ended(2).stderr_has(says);
    }
    assert_eq!(server.exchanges().len(), sent);
}

#[test]
fn a_program_on_the_server_is_put_there_by_nobody_here() {
    let prestan = Prestan::new();
    let list = prestan.file("cgi.list", "1 2\n/file1k.html\n/cgi?x 1KiB\n");
    let refused = prestan!(prestan => "webstone {} http://127.0.0.1:1/ --prepare", list).ends(2);
    refused.stderr_has("put the programs and the files there by other means");
}
