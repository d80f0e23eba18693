//! `prestan load`: kinds of requests, and ways in which they reach a server.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::faulty::{
    Faulty, LOOPBACK, PASSWORD, basic, count, digest, evidence, ipv6_loopback, no_secret_in,
    status, with_credentials,
};
use crate::support::load::{counted, ended, file, kept, operations, plain, seen};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};
use record::{Outcome as Ended, Timing};
use testbed::fault::{
    Authority, Certificate, ChallengeAlgorithm, Expiry, Fault, Rule, ServedExchange,
};

/// Twenty requests with these options.
fn load(url: &str, options: &str) -> Prestan {
    prestan!("load GET {url} --json - --requests 20").words(options)
}

/// Twenty operations, all as expected.
#[track_caller]
fn went_well(outcome: &Outcome) -> (serde_json::Value, record::Run) {
    assert_eq!(outcome.code, 0, "{outcome}");
    let (result, run) = counted(outcome);
    assert_eq!(ended(&run, Ended::Ok), 20, "{outcome}");
    (result, run)
}

#[test]
fn a_new_connection_for_every_request() {
    let table = [
        ("--no-keep-alive", Some("close")),
        ("--no-keep-alive --http 1.0", None),
    ];
    for (options, header) in table {
        let server = plain();
        let url = file(&server, "a.txt");
        let outcome = load(&url, options).run();
        let (result, run) = went_well(&outcome);
        assert!(run.samples.iter().all(|sample| sample.connect.is_some()));
        let connects = row(&result, "GET")["connects"]["count"].as_u64().unwrap();
        assert_eq!(connects, row(&result, "GET")["operations"], "{options:?}");
        let exchanges = seen(&server, "GET");
        let asked = |exchange: &ServedExchange| exchange.header("connection") == header;
        assert!(exchanges.iter().all(asked), "{exchanges:#?}");
        let numbers = exchanges.iter().map(|exchange| exchange.connection);
        let connections: BTreeSet<u64> = numbers.collect();
        assert_eq!(connections.len(), 20 + 3, "{options:?}");
    }
}

#[test]
fn kept_connections_are_kept() {
    for (version, header) in [("1.1", None), ("1.0", Some("keep-alive"))] {
        let server = plain();
        let url = file(&server, "a.txt");
        let outcome = prestan!("load GET {url} --json - --requests 20 -c 2 --http {version}").run();
        let (result, run) = went_well(&outcome);
        assert_eq!(result["load"]["http"]["version"], version);
        let exchanges = seen(&server, "GET");
        let asked = |exchange: &ServedExchange| exchange.header("connection") == header;
        assert!(exchanges.iter().all(asked), "{exchanges:#?}");
        assert!(run.samples.iter().all(|sample| sample.connect.is_none()));
    }
}

/// A server that responds only to complete requests, in order, and counts how many arrived at a
/// time.
fn batching() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let most = Arc::new(AtomicUsize::new(0));
    let (address, seen) = (listener.local_addr().unwrap(), Arc::clone(&most));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || respond_in_batches(stream.unwrap(), &seen));
        }
    });
    (address, most)
}

fn respond_in_batches(mut stream: TcpStream, most: &AtomicUsize) {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..n]);
        let whole = text.windows(4).filter(|end| *end == b"\r\n\r\n").count();
        if !text.ends_with(b"\r\n\r\n") {
            continue;
        }
        most.fetch_max(whole, Ordering::SeqCst);
        text.clear();
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        if stream.write_all(&response.repeat(whole)).is_err() {
            return;
        }
    }
}

#[test]
fn a_pipeline_has_several_requests_under_way() {
    let (address, most) = batching();
    let url = format!("http://{address}/");
    for clock in ["kernel", "user"] {
        let outcome =
            prestan!("load GET {url} --json - --pipeline 4 --requests 200 --clock {clock}").ends(0);
        let (result, run) = counted(&outcome);
        assert_eq!(ended(&run, Ended::Ok), 200);
        assert_eq!(result["load"]["http"]["pipeline"], 4);
        assert_eq!(result["clock"], clock);
        assert_eq!(most.swap(0, Ordering::SeqCst), 4);
        // Responses arrive in the order of the requests.
        let mut samples = run.samples.clone();
        samples.sort_by_key(|sample| sample.number);
        let done: Vec<_> = samples.iter().map(|sample| sample.moments.done).collect();
        assert!(done.is_sorted(), "{done:?}");
    }
}

/// Sixty requests in pipelines of four, without a warm-up.
fn pipelined(server: &Faulty) -> Prestan {
    let url = file(server, "a.txt");
    prestan!("load GET {url} --json - --pipeline 4 --requests 60 --warmup 0")
}

#[test]
fn a_pipeline_survives_a_server_that_closes() {
    for announced in [true, false] {
        let close = Fault::CloseAfterRequests {
            requests: 5,
            announced,
        };
        let server = Faulty::new(|builder| builder.rule(Rule::new(close).method("GET")));
        let outcome = pipelined(&server).run();
        assert_eq!(outcome.code, 0, "{announced}: {outcome}");
        let (result, run) = counted(&outcome);
        assert_eq!(ended(&run, Ended::Ok), 60);
        // Requests after the last response were repeated, and the report shows it.
        let resent = run.samples.iter().filter(|sample| sample.resent).count();
        assert!(resent >= 10, "{resent}");
        assert!(row(&result, "GET")["connects"]["resent"].as_u64().unwrap() >= 9);
    }
}

/// A 401 that ends the connection is followed by the response that counts, on another one.
#[test]
fn a_pipeline_survives_nonces_that_run_out_with_the_connection() {
    let digest = digest(&[ChallengeAlgorithm::Md5], Some(7), Expiry::Stale);
    let server = Faulty::new(|builder| builder.auth(digest).end_denied());
    let outcome = with_credentials(pipelined(&server)).ends(0);
    let (_, run) = counted(&outcome);
    assert_eq!(ended(&run, Ended::Ok), 60);
}

#[test]
fn a_pipeline_counts_what_fails() {
    let sometimes = Fault::RewriteStatus(500);
    let server = Faulty::new(|builder| builder.rule(Rule::new(sometimes).method("GET").every(3)));
    let outcome = pipelined(&server).ends(1);
    let (_, run) = counted(&outcome);
    let endings = [Ended::Ok, Ended::WrongStatus].map(|outcome| ended(&run, outcome));
    assert_eq!(endings, [40, 20]);
}

#[test]
fn what_takes_many_tls_records_is_timed_by_the_kernel() {
    let authority = Authority::new();
    let server = Faulty::new(|builder| builder.tls(authority.server(Certificate::Valid)));
    let run = |method: &str, url: &str, options: &str| {
        let prestan = prestan!("load {method} {url} --json - --warmup 0 --timeout 10s");
        let pem = prestan.file("ca.pem", &authority.pem());
        let outcome = prestan!(prestan => "--cacert {}", pem)
            .words(options)
            .ends(0);
        kept(&outcome)
    };
    // A pipeline of some 40 KiB, and bodies larger than the kernel's buffers.
    let url = file(&server, "a.txt");
    let pipeline = run("GET", &url, "--pipeline 400 --requests 1200");
    assert_eq!(ended(&pipeline, Ended::Ok), 1200);
    assert!(pipeline.samples.iter().all(|sample| !sample.resent));
    let url = format!("{}large.bin", server.url());
    let bodies = run("PUT", &url, "--body-size 12MiB --requests 6");
    assert_eq!(ended(&bodies, Ended::Ok), 6);
    for sample in pipeline.samples.iter().chain(&bodies.samples) {
        assert!(matches!(sample.timing, Timing::Kernel { .. }), "{sample:?}");
        assert!(sample.moments.sent.is_some(), "{sample:?}");
    }
}

#[test]
fn tls_is_timed_by_the_kernel() {
    let authority = Authority::new();
    let server = Faulty::new(|builder| builder.tls(authority.server(Certificate::Valid)));
    let url = file(&server, "a.txt");
    let prestan = prestan!("load GET {url} --json -");
    let pem = prestan.file("ca.pem", &authority.pem());
    let outcome = prestan!(prestan => "--cacert {} --requests 20", pem).run();
    let (result, run) = went_well(&outcome);
    assert_eq!(result["clock"], "kernel");
    let kernel = |sample: &record::Sample| matches!(sample.timing, Timing::Kernel { .. });
    assert!(run.samples.iter().filter(|sample| kernel(sample)).count() >= 19);
}

#[test]
fn ipv6() {
    let Some(any) = ipv6_loopback() else { return };
    let server = Faulty::new(|builder| builder.listen(any));
    let url = file(&server, "a.txt");
    assert!(url.starts_with("http://[::1]:"));
    let (result, _) = went_well(&load(&url, "").run());
    assert_eq!(result["clock"], "kernel");
}

#[test]
fn a_local_socket_has_no_stamps_of_the_kernel() {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("socket");
    let server = Faulty::new(|builder| builder.unix_socket(&path));
    let url = file(&server, "a.txt");
    let load = |options: &str| prestan!(load(&url, options) => "--unix-socket {}", path);
    let outcome = load("").run();
    let (result, _) = went_well(&outcome);
    assert_eq!(result["clock"], "user");
    outcome.stderr_has("warning: a local socket has no");
    load("--clock=kernel").ends(2).stderr_has("no time stamps");
    load("--acks").ends(2).stderr_has("--acks needs");
}

#[test]
fn credentials_are_sent_and_not_kept() {
    let digest = digest(&[ChallengeAlgorithm::Sha256], Some(7), Expiry::Stale);
    for auth in [basic(), digest] {
        let server = Faulty::new(|builder| builder.auth(auth));
        let url = file(&server, "a.txt");
        let outcome = with_credentials(load(&url, "")).run();
        went_well(&outcome);
        let sent = seen(&server, "GET");
        let last = sent.last().unwrap().header("authorization").unwrap();
        no_secret_in(&outcome, &[PASSWORD, last.split_once(' ').unwrap().1]);
        load(&url, "").ends(4).stderr_has("--user");
    }
}

#[test]
fn acknowledgements_give_the_time_of_the_upload() {
    let server = plain();
    let url = format!("{}new.bin", server.url());
    let outcome = prestan!("load PUT {url} --json - --body-size 64KiB --acks --requests 20").run();
    let (result, _) = went_well(&outcome);
    let put = row(&result, "PUT");
    assert!(put["upload_us"]["n"].as_u64().unwrap() >= 10, "{put:#}");
    assert!(put["upload_us"]["min"].as_f64().unwrap() > 0.0, "{put:#}");
}

/// Two requests by weight.
const MIX: &str = r#"
suite: two
needs: http
tests:
  - name: Two
    loop:
      - choose:
          - weight: 3
            steps: [{GET: a.txt, measure: Often}]
          - weight: 1
            steps: [{HEAD: a.txt, measure: Seldom}]
"#;

#[test]
fn a_mix_keeps_its_weights() {
    let server = plain();
    file(&server, "a.txt");
    let prestan = Prestan::new();
    let suite = prestan.file("two.yaml", MIX);
    let outcome =
        prestan!(prestan => "load --mix {} {server} --requests 400 --json -", suite).ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(ended(&run, Ended::Ok), 400);
    let often = operations(row(&result, "Often"));
    // 300, and five standard deviations of a binomial distribution.
    assert!(often.abs_diff(300) < 45, "{often}");
    assert_eq!(operations(row(&result, "Seldom")), 400 - often);
}

/// Changes the server, and needs nothing that is there.
const WRITING: &str = r#"
suite: writing
tests:
  - name: Writing
    setup:
      - PUT: b.txt
        body: {size: 1KiB}
    loop:
      - PUT: "a{{ n }}.txt"
        body: {size: 1KiB}
        measure: Put
"#;

#[test]
fn a_mix_that_writes_needs_a_word_and_leaves_nothing() {
    let server = plain();
    let run = |options: &str| {
        let prestan = Prestan::new();
        let suite = prestan.file("writing.yaml", WRITING);
        prestan!(prestan => "load --mix {} {server} --requests 20 --json -", suite)
            .words(options)
            .run()
    };
    let refused = run("").ended(2);
    refused.stderr_has("it sends PUT; if that is intended, give --writes");
    assert_eq!(server.exchanges().len(), 0);

    let outcome = run("--writes");
    went_well(&outcome);
    let exchanges = server.exchanges();
    let set_up = |one: &ServedExchange| one.method == "PUT" && one.path.ends_with("/b.txt");
    assert_eq!(exchanges.iter().filter(|one| set_up(one)).count(), 1);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn what_is_wrong_inside_a_207_is_counted() {
    let forbidden = Fault::RewriteBody {
        from: "HTTP/1.1 200 OK".to_owned(),
        to: "HTTP/1.1 500 Internal Server Error".to_owned(),
    };
    let inside = Rule::new(forbidden).method("PROPFIND").every(4);
    let server = Faulty::new(|builder| builder.rule(inside));
    file(&server, "a.txt");
    let outcome =
        prestan!("load PROPFIND {server} --json - --depth 1 --warmup 0 --requests 20").ends(1);
    let (result, run) = counted(&outcome);
    assert_eq!(ended(&run, Ended::Ok), 15, "{result:#}");
    assert_eq!(count(row(&result, "PROPFIND"), "wrong_status"), 5);
    let sent = seen(&server, "PROPFIND");
    assert!(sent.iter().all(|one| one.header("depth") == Some("1")));
}

#[test]
fn an_expected_status_is_ok_and_another_is_not() {
    let server = plain();
    let url = format!("{}nothing", server.url());
    let outcome = load(&url, "").ends(1);
    let (result, _) = counted(&outcome);
    assert_eq!(count(row(&result, "GET"), "wrong_status"), 20);
    let get = row(&result, "GET");
    assert!(evidence(get).contains("404"), "{get:#}");

    went_well(&load(&url, "--expect 404").run());
}

#[test]
fn a_silent_server_costs_the_time_limit() {
    let server = Faulty::new(|builder| builder.rule(Rule::new(Fault::Hang).method("GET").nth(5)));
    let url = file(&server, "a.txt");
    let outcome = load(&url, "--timeout 300ms --warmup 0").ends(1);
    let (_, run) = counted(&outcome);
    assert_eq!(ended(&run, Ended::Timeout), 1);
    assert_eq!(ended(&run, Ended::Ok), 19);
    let mut samples = run.samples.iter();
    let late = samples.find(|one| one.outcome == Ended::Timeout).unwrap();
    assert_eq!(late.moments.first, None);
}

/// The short options of curl, and the request that they make.
#[test]
fn options_that_people_know_from_curl() {
    type Headers = &'static [(&'static str, &'static str)];
    const AUTHORIZATION: (&str, &str) = ("authorization", "Basic YW5uOnNlY3JldA==");
    let table: [(&str, &str, &str, Headers); 6] = [
        ("", "GET", "", &[]),
        ("-X HEAD", "HEAD", "", &[]),
        ("-X POST -d key=value --writes", "POST", "key=value", &[]),
        ("-d key=value --writes", "POST", "key=value", &[]),
        ("-d @body.txt --writes", "POST", "from a file", &[]),
        (
            "-H 'X-One: 1' -u ann:secret -k",
            "GET",
            "",
            &[("x-one", "1"), AUTHORIZATION],
        ),
    ];
    for (options, method, body, headers) in table {
        let server =
            Faulty::new(|builder| builder.rule(Rule::new(status(200, &[], "fine")).method("POST")));
        let url = file(&server, "a.txt");
        let prestan = prestan!("load {url} -n 2 --json -");
        prestan.file("body.txt", "from a file");
        let outcome = prestan.words(options).ends(0);
        let result = outcome.json();
        assert_eq!(result["tests"][0]["method"], method, "{outcome}");
        assert_eq!(result["load"]["requests"], 2, "{outcome}");
        let sent = seen(&server, method);
        assert!(!sent.is_empty());
        for exchange in sent {
            let length = exchange.header("content-length").unwrap_or("0");
            assert_eq!(length, body.len().to_string(), "{options:?}");
            for (name, value) in headers {
                assert_eq!(exchange.header(name), Some(*value), "{options:?}");
            }
        }
    }
}

#[test]
fn a_body_alone_is_a_post_which_needs_permission() {
    for options in ["-d x", "-X DELETE"] {
        let outcome = prestan!("load http://127.0.0.1:1/a").words(options).ends(2);
        outcome.stderr_has("give --writes");
    }
}

/// The paths of a load's requests, in order.
fn requested(server: &Faulty) -> Vec<String> {
    seen(server, "GET")
        .into_iter()
        .map(|one| one.path)
        .collect()
}

#[test]
fn urls_of_a_list_are_requested_in_turn() {
    let server = plain();
    let base = server.url();
    let base = base.trim_end_matches('/');
    for name in ["a.txt", "b.txt", "c.txt"] {
        file(&server, name);
    }
    let prestan = Prestan::new();
    prestan.file("urls", &format!("# files\n{base}/a.txt\n/b.txt\n\nc.txt\n"));
    prestan!(prestan => "load {base} --urls urls --warmup 0 -n 9 --no-keep-alive")
        .ends(0)
        .stdout_has("GET");
    let turn = ["/a.txt", "/b.txt", "/c.txt"];
    assert_eq!(requested(&server), [turn, turn, turn].concat());
}

#[test]
fn a_template_is_another_path_for_each_request() {
    let server = plain();
    for name in ["f-0.txt", "f-1.txt", "f-2.txt"] {
        file(&server, name);
    }
    let url = format!("{server}f-{{{{ n % 3 }}}}.txt");
    prestan!("load GET {url} --json - --warmup 0 -n 7").ends(0);
    let expected = [1, 2, 0, 1, 2, 0, 1].map(|number| format!("/f-{number}.txt"));
    assert_eq!(requested(&server), expected);
}

#[test]
fn a_lock_without_a_body_is_refused() {
    let server = plain();
    let url = format!("{}f", server.url());
    let outcome = prestan!("load LOCK {url} --json - --writes").ends(2);
    outcome.stderr_has("--mix locks");
    assert!(server.exchanges().is_empty());
}

#[test]
fn what_makes_several_resources_is_refused() {
    let server = plain();
    let url = format!("{}new-{{{{ n }}}}", server.url());
    for method in ["PUT", "MKCOL", "LOCK"] {
        let outcome = prestan!("load {method} {url} --json - --writes --body x").ends(2);
        outcome.stderr_has("--mix SUITE");
    }
    prestan!("load DELETE {url} --json -").ends(2);
    assert!(seen(&server, "PUT").is_empty() && seen(&server, "DELETE").is_empty());
}
