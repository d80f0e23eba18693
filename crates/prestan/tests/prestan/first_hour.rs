//! The first hour of a new user: a mistyped word, a wrong URL, a busy port, a narrow terminal.

use std::fs;
use std::net::TcpListener;

use testbed::{DemoServer, Root};

use crate::support::Prestan;
use crate::support::faulty::LOOPBACK;

fn demo() -> DemoServer {
    DemoServer::start(Root::Temporary, LOOPBACK).unwrap()
}

#[test]
fn a_target_that_is_no_collection_is_named() {
    let server = demo();
    fs::write(server.root().join("file.txt"), "text").unwrap();
    let url = server.url();
    let file = format!(
        "prestan: {url}file.txt is not a collection; give the URL of one, {url} for example, or \
         measure this resource alone: `prestan load {url}file.txt`; the record of the run"
    );
    let missing =
        format!("prestan: {url}no/such/ does not exist; create it first, or check the path");
    for (path, says) in [
        ("file.txt", &file),
        ("file.txt/", &file),
        ("no/such", &missing),
    ] {
        let outcome = prestan!("{url}{path}").ends(4);
        assert!(outcome.stderr.starts_with(says), "{path}: {outcome}");
    }
    let outcome = prestan!("load {url}file.txt -q -r 5").ends(0);
    outcome.stdout_has("\nGET");
}

#[test]
fn a_server_that_cannot_start_says_what_to_change() {
    let busy = TcpListener::bind(LOOPBACK).unwrap();
    let address = busy.local_addr().unwrap();
    let port = address.port();
    let table = [
        (
            format!("serve --port {port}"),
            format!("listening on {address} failed"),
            "choose another --port",
        ),
        (
            "serve nosuch".to_owned(),
            "opening the directory nosuch failed".to_owned(),
            "create it first",
        ),
    ];
    for (line, what, remedy) in table {
        let outcome = Prestan::new().words(&line).ends(1);
        outcome.stderr_has(&what);
        outcome.stderr_has(remedy);
    }
}

#[test]
fn a_home_that_cannot_be_written_has_a_way_out() {
    let prestan = Prestan::new();
    let file = prestan.file("file", "no directory\n");
    let prestan = prestan.env("XDG_STATE_HOME", file);
    let outcome = prestan!(prestan => "http://127.0.0.1:1/ --run-id one").ends(1);
    for part in "writing|prestan/runs/one failed|--save DIR|--no-save".split('|') {
        outcome.stderr_has(part);
    }
}

/// True if a line is too long; a URL or a path may be long.
fn is_too_long(line: &str) -> bool {
    let is_place = |word: &str| word.contains('/') && word.chars().count() > 40;
    line.chars().count() > 60 && !line.split_whitespace().any(is_place)
}

#[test]
fn a_narrow_terminal_is_kept_to() {
    let server = demo();
    fs::write(server.root().join("file.txt"), "text").unwrap();
    let url = server.url();
    let lines = "
        lod
        suites
        servers
        suites check prestan
        run nosuch http://127.0.0.1:1/
        demo -r abc
        http://127.0.0.1:1/
        load DELETE http://127.0.0.1:1/file
        report nosuch
        --help
        load --help
        demo -r 3 -v
        report
        diagnose
        clean URL
        URLfile.txt
        load URLfile.txt -r 100
        load URLfile.txt -r 100 --rate 5000
        compare URL URL --repeat 2 --only Get1K,Delete,ProppatchSingle -r 3
        sweep URL --vary width=1,2,3 --repeat 2 --only CopyCol -r 3
        search URL --find users --to 2 --duration 100ms --while p99<1s
    ";
    let mut prestan = Prestan::new();
    for [line] in cases::rows(&lines.replace("URL", &url)) {
        let outcome = prestan.env("COLUMNS", "60").words(line).run();
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(!said.is_empty(), "{line}");
        let long: Vec<&str> = said.lines().filter(|line| is_too_long(line)).collect();
        assert_eq!(long, [""; 0], "{line}: {outcome}");
        prestan = outcome.again();
    }
}

/// The check above finds such a line.
#[test]
fn long_lines_are_found() {
    assert!(is_too_long(&"word ".repeat(13)));
    assert!(is_too_long(&format!("{} a/b", "word ".repeat(13))));
    assert!(!is_too_long(&format!("in /{}", "x".repeat(60))));
    assert!(!is_too_long("short"));
}
