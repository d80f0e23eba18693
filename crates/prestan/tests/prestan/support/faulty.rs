//! A server with configured faults in front of the demo server, and common properties of runs
//! against it.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;

use serde_json::Value;
use testbed::fault::{Auth, Builder, ChallengeAlgorithm, Expiry, Fault, ServedExchange};
use testbed::{DemoServer, FaultServer, Root};

use super::rows::{assert_adds_up, rows};
use super::{Outcome, Prestan};
use crate::support::names_in;

pub(crate) const USER: &str = "ann";
/// Given to every run, and to be found nowhere afterwards.
pub(crate) const PASSWORD: &str = "s3cret-0f-ann";
/// `ann:s3cret-0f-ann` as Basic sends it.
pub(crate) const BASIC: &str = "YW5uOnMzY3JldC0wZi1hbm4=";

/// Where the demo server and the fault server listen: a free port.
pub(crate) const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// For servers that let one wait. Everywhere else the usual limit holds, so that a busy machine
/// spoils no test.
pub(crate) const IMPATIENT: [&str; 2] = ["--timeout", "300ms"];

/// The demo server behind a fault server.
pub(crate) struct Faulty {
    pub(crate) server: FaultServer,
    pub(crate) demo: DemoServer,
}

impl Faulty {
    pub(crate) fn new(build: impl FnOnce(Builder) -> Builder) -> Faulty {
        let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
        let builder = FaultServer::builder().upstream(demo.addr());
        Faulty {
            server: build(builder).start().unwrap(),
            demo,
        }
    }

    /// A short run of these tests: three requests each after one to warm up.
    pub(crate) fn prestan(&self, only: &str) -> Prestan {
        short_run(&self.server.url(), only)
    }

    /// Names of everything that the demo server keeps, sorted.
    pub(crate) fn left(&self) -> Vec<String> {
        names_in(self.demo.root())
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn exchanges(&self) -> Vec<ServedExchange> {
        self.server.exchanges()
    }

    /// The requests of the measured part of a test, as the server saw them.
    pub(crate) fn measured(&self, test: &str) -> Vec<ServedExchange> {
        let tag = format!("({test})");
        let mut exchanges = self.exchanges();
        exchanges.retain(|exchange| exchange.label().ends_with(&tag));
        exchanges
    }

    /// The first request of each connection, as the server saw them.
    pub(crate) fn firsts_on_connections(&self) -> Vec<ServedExchange> {
        let mut exchanges = self.server.exchanges();
        exchanges.sort_by_key(|exchange| (exchange.connection, exchange.request_end));
        exchanges.dedup_by_key(|exchange| exchange.connection);
        exchanges
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server.url())
    }
}

/// A response of this server instead of the upstream server's.
pub(crate) fn status(code: u16, headers: &[(&str, &str)], body: &str) -> Fault {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Fault::Status {
        code,
        headers: headers.iter().map(owned).collect(),
        body: body.into(),
    }
}

/// A short run of these tests against any URL, with JSON on standard output. It has a secret
/// password: on loopback it is sent with every request, with or without a challenge.
pub(crate) fn short_run(url: &str, only: &str) -> Prestan {
    run_of(url, only, 3)
}

/// The same with this number of requests for each test.
pub(crate) fn run_of(url: &str, only: &str, requests: u32) -> Prestan {
    with_credentials(anonymous_run(url, only, requests))
}

/// The same without user and password.
pub(crate) fn anonymous_run(url: &str, only: &str, requests: u32) -> Prestan {
    prestan!("{url} --only {only} -r {requests} --warmup 1 -p 3 -d 2 -w 2 --json -")
}

/// Gives user and password by the environment.
pub(crate) fn with_credentials(prestan: Prestan) -> Prestan {
    prestan
        .env("PRESTAN_USER", USER)
        .env("PRESTAN_PASSWORD", PASSWORD)
}

/// A server that requires user and password by Basic.
pub(crate) fn basic() -> Auth {
    Auth::Basic {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
    }
}

/// The same by Digest.
pub(crate) fn digest(
    algorithms: &[ChallengeAlgorithm],
    nonce_uses: Option<u32>,
    expiry: Expiry,
) -> Auth {
    Auth::Digest {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
        algorithms: algorithms.to_vec(),
        nonce_uses,
        expiry,
    }
}

/// The address `[::1]`, on machines that have it.
pub(crate) fn ipv6_loopback() -> Option<SocketAddr> {
    let any = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let bound = TcpListener::bind(any);
    if let Err(error) = &bound {
        eprintln!("skipped: no IPv6 on this machine: {error}");
    }
    bound.ok().map(|_| any)
}

/// Checks the properties of every run that has begun, and returns its result: the run directory
/// loads and agrees, outcomes add up, and there is no secret.
#[track_caller]
pub(crate) fn checked(outcome: &Outcome) -> Value {
    let again = prestan!(outcome.again() => "report --json -").run();
    assert_eq!(
        again.code, 0,
        "the run directory does not load: {again}\n{outcome}"
    );
    let result = again.json();
    if !outcome.stdout.is_empty() {
        assert_eq!(
            outcome.json(),
            result,
            "the report of the directory differs:\n{outcome}"
        );
    }
    let text = prestan!(outcome.again() => "report").ends(0);

    assert_adds_up(&result);
    for row in rows(&result) {
        if row["status"] != "ok" {
            let evidence = unwrapped(evidence(row));
            assert!(
                unwrapped(&text.stdout).contains(&evidence),
                "{evidence}: {text}"
            );
        }
    }
    no_secret_in(outcome, &[PASSWORD, BASIC]);
    for said in [&again.stdout, &text.stdout, &text.stderr] {
        assert!(!said.contains(PASSWORD) && !said.contains(BASIC), "{said}");
    }
    result
}

/// The reason that a row gives for its status.
#[track_caller]
pub(crate) fn evidence(row: &Value) -> &str {
    let evidence = row["evidence"].as_str();
    evidence.unwrap_or_else(|| panic!("no evidence: {row:#}"))
}

/// A text without its line ends and indents.
pub(crate) fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A run that could not begin: exit status 4, and on standard error one message with all of these
/// texts, followed by the record of the run. A server that never responded leaves no record.
#[track_caller]
pub(crate) fn went_nowhere(outcome: &Outcome, says: &[&str]) {
    assert_eq!(outcome.code, 4, "{outcome}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    for part in says {
        outcome.stderr_has(part);
    }
    let no_response = ["the server cannot be reached", "no usable response"];
    if no_response.iter().any(|fact| outcome.stderr.contains(fact)) {
        assert!(outcome.runs().is_empty(), "{outcome}");
        return no_secret_in(outcome, &[PASSWORD, BASIC]);
    }
    let kept = format!(
        "; the record of the run is in {}\n",
        outcome.run().display()
    );
    assert!(outcome.stderr.ends_with(&kept), "{outcome}");
    assert_eq!(checked(outcome)["complete"]["state"], "aborted");
}

/// Looks for secrets in all output and records.
#[track_caller]
pub(crate) fn no_secret_in(outcome: &Outcome, secrets: &[&str]) {
    let mut texts = vec![outcome.stdout.clone(), outcome.stderr.clone()];
    let state = outcome.home().join("state");
    if state.exists() {
        gather_files(&state, &mut texts);
    }
    // Output files; a file with a secret has no such extension.
    for entry in fs::read_dir(outcome.home()).unwrap() {
        let path = entry.unwrap().path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ["json", "html", "md", "csv", "xml"].contains(&ending)) {
            texts.push(fs::read_to_string(path).unwrap());
        } else if path.ends_with("figures") {
            gather_files(&path, &mut texts);
        }
    }
    for secret in secrets {
        for text in &texts {
            assert!(!text.contains(secret), "`{secret}` is in:\n{text}");
        }
    }
}

fn gather_files(directory: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather_files(&path, texts);
        } else {
            texts.push(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
        }
    }
}

/// The number of operations with this outcome.
#[track_caller]
pub(crate) fn count(row: &Value, outcome: &str) -> u64 {
    row["outcomes"][outcome]
        .as_u64()
        .unwrap_or_else(|| panic!("no outcome {outcome}: {row:#}"))
}
