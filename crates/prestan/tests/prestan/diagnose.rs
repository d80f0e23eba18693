//! `prestan diagnose` finds what is wrong with a server that misbehaves as told, and nothing else.
//!
//! What else this machine does may be conspicuous, too. So what must be found is looked for, and what
//! must not be found are the faults that were not injected.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::faulty::{BASIC, Faulty, LOOPBACK, PASSWORD, USER, no_secret_in, short_run};
use crate::support::{Outcome, attempts};
use serde_json::Value;
use testbed::fault::{
    Auth, Authority, Builder, Certificate, ChallengeAlgorithm, Expiry, Fault, Rule,
};
use testbed::{DemoServer, Root};

/// The faults that are injected here, by the rule that must find them.
const INJECTED: [&str; 6] = [
    "delayed-ack",
    "grows-over-the-run",
    "keep-alive-limit",
    "asked-twice",
    "slow-at-intervals",
    "closes-silently",
];

/// A run of these tests, which is kept.
fn measured(url: &str, only: &str, requests: &str) -> Outcome {
    let prestan = prestan!("run prestan {url} --only {only}");
    // The certificates of these servers are signed by nobody else.
    let trust = url.starts_with("https:").then_some("--insecure");
    let prestan = prestan!(prestan => "-r {requests} --warmup 1 --quiet --json -")
        .args(trust)
        .env("PRESTAN_USER", USER)
        .env("PRESTAN_PASSWORD", PASSWORD);
    prestan.ends(0)
}

/// The findings in the last run, by their rules. A run that was spoilt by what else this machine does
/// has none.
fn findings(outcome: &Outcome) -> Result<BTreeMap<String, Value>, String> {
    let diagnosed = prestan!(outcome.again() => "diagnose --json -").ends(0);
    let document = diagnosed.json();
    let left_out = document["left_out"].as_array().unwrap();
    if let Some(all) = left_out.iter().find(|left| left["measure"].is_null()) {
        return Err(all["why"].to_string());
    }
    // One run alone cannot show that something comes again.
    let both = ["findings", "seen_once"].map(|list| document[list].as_array().unwrap());
    let found = both.into_iter().flatten();
    Ok(found
        .map(|found| (found["rule"].as_str().unwrap().to_owned(), found.clone()))
        .collect())
}

/// Measures until the findings are right. What else this machine does can spoil a run, and make it
/// inconclusive; it does not put a fault into a server time and again, nor takes one away.
#[track_caller]
fn right(
    measure: impl Fn() -> Outcome,
    check: impl Fn(&BTreeMap<String, Value>) -> Result<(), String>,
) {
    let mut wrong = Vec::new();
    for _ in attempts() {
        match findings(&measure()).and_then(|found| check(&found)) {
            Ok(()) => return,
            Err(why) => wrong.push(why),
        }
    }
    panic!("{} times not right: {wrong:#?}", wrong.len());
}

/// None of the faults is found but this one.
fn no_other(found: &BTreeMap<String, Value>, rule: &str) -> Result<(), String> {
    let mut others = INJECTED.iter().filter(|other| **other != rule);
    match others.find(|other| found.contains_key(**other)) {
        Some(other) => Err(format!("{other}: {found:#?}")),
        None => Ok(()),
    }
}

/// A server with these faults, and the rule that must find them, in a row.
#[track_caller]
fn finds(rule: &str, row: &str, only: &str, requests: &str, build: impl Fn(Builder) -> Builder) {
    let measure = || {
        let faulty = Faulty::new(&build);
        measured(&faulty.server.url(), only, requests)
    };
    right(measure, |found| {
        let finding = found.get(rule);
        let finding = finding.ok_or_else(|| format!("no {rule}: {found:#?}"))?;
        let tests = finding["measures"].as_array().unwrap();
        if tests.contains(&Value::from(row)) {
            no_other(found, rule)
        } else {
            Err(format!("{finding:#}"))
        }
    });
}

fn measured_part(row: &str) -> String {
    format!("({row})")
}

#[test]
fn answers_that_take_40_ms_more() {
    finds("delayed-ack", "Get1K", "Get1K,Put1K", "60", |builder| {
        let delay = Fault::Delay(Duration::from_micros(40_500));
        builder.rule(Rule::new(delay).tag(&measured_part("Get1K")).every(3))
    });
}

#[test]
fn answers_that_take_longer_and_longer() {
    finds(
        "grows-over-the-run",
        "Put1K",
        "Put1K,Get1K",
        "60",
        |builder| {
            // Everything takes 15 ms, and one more from every fourth request on.
            let base = Fault::AnswerAfter(Duration::from_millis(15));
            let tag = measured_part("Put1K");
            let builder = builder.rule(Rule::new(base).tag(&tag));
            (1..=15).fold(builder, |builder, more| {
                let delay = Fault::Delay(Duration::from_millis(1));
                builder.rule(Rule::new(delay).tag(&tag).from(more * 4))
            })
        },
    );
}

/// With TLS, so that a connection costs enough to be spoken of on every machine.
#[test]
fn a_limit_of_requests_on_a_connection() {
    let authority = Authority::new();
    let build = |builder: Builder| {
        let close = Fault::CloseAfterRequests {
            requests: 30,
            announced: true,
        };
        let tls = authority.server(Certificate::Valid);
        builder.tls(tls).fault(close)
    };
    finds("keep-alive-limit", "Get1K", "Get1K,Put1K", "100", build);
}

/// Where the limit above is announced, this is not said.
#[test]
fn connections_that_end_without_notice_after_each_204() {
    let only = "Put1K,Delete,Get1K";
    finds("closes-silently", "Put1K", only, "60", |builder| {
        builder.rule(Rule::new(Fault::CloseAfterStatus(204)))
    });
}

#[test]
fn nonces_that_hold_for_one_request() {
    finds("asked-twice", "Get1K", "Get1K,Put1K", "60", |builder| {
        builder.auth(Auth::Digest {
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
            algorithms: vec![ChallengeAlgorithm::Sha256],
            nonce_uses: Some(1),
            expiry: Expiry::Stale,
        })
    });
}

#[test]
fn slow_answers_at_regular_intervals() {
    finds(
        "slow-at-intervals",
        "Get1K",
        "Get1K,Put1K",
        "200",
        |builder| {
            let delay = Fault::Delay(Duration::from_millis(15));
            let base = Fault::AnswerAfter(Duration::from_millis(3));
            let tag = measured_part("Get1K");
            let builder = builder.rule(Rule::new(base).tag(&tag));
            builder.rule(Rule::new(delay).tag(&tag).every(15))
        },
    );
}

#[test]
fn of_the_demo_server_nothing_of_that_is_said() {
    let measure = || {
        let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
        measured(&demo.url(), "Put*,Get*,Prop*", "60")
    };
    right(measure, |found| no_other(found, "none of them"));
}

#[test]
fn one_command_measures_with_all_suites_and_leaves_nothing_behind() {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    let skip = "*x1000,*x10000,MkCol,*Col,*1024K";
    let outcome = prestan!(
        "diagnose {} -r 5 --skip {skip} --quiet --json -",
        demo.url()
    )
    .ends(0);
    let document = outcome.json();
    let suites: Vec<&str> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["suite"].as_str().unwrap())
        .collect();
    // Rows that showed something that may change with time are measured again in between.
    assert_eq!(suites[..4], ["prestan", "listing", "locks", "features"]);
    assert_eq!(suites.last(), Some(&"prestan"));
    let mut users = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["users"]);
    assert_eq!(users.next_back(), Some(&Value::from(8)));
    assert_eq!(outcome.runs().len(), suites.len(), "{outcome}");
    let mut left = std::fs::read_dir(demo.root()).unwrap();
    assert!(
        left.next().is_none(),
        "something is left: {:?}",
        left.next()
    );

    // The same of the runs that were kept, without naming them and with.
    let again = prestan!(outcome.again() => "diagnose --json -").run();
    assert_eq!(again.json(), document);
    let named = outcome
        .runs()
        .into_iter()
        .map(|run| run.display().to_string());
    let named = prestan!(outcome.again() => "diagnose").args(named.collect::<Vec<_>>());
    assert_eq!(prestan!(named => "--json -").run().json(), document);
    let text = prestan!(outcome.again() => "diagnose").run();
    assert!(text.stdout.contains("Server: http://127.0.0.1:"), "{text}");

    // Every row of these suites works on a complete server, but what it says it does not have. That
    // other programs took the processor from this one is not the server's, and may happen to any row.
    for left in document["left_out"].as_array().unwrap() {
        let why = left["why"].as_str().unwrap();
        let of_this_machine = left["disqualified"] == true;
        assert!(
            left["measure"].is_null() || of_this_machine || why.contains("501"),
            "{left:#}"
        );
    }
}

/// A server that cannot do two things at a time: one LOCK in ten fails once several users are at work.
#[test]
fn what_fails_only_with_several_users_comes_first() {
    let faulty = Faulty::new(|builder| {
        // With -r 3 a single user sends fewer than thirty GETs of this row, eight send many more.
        let broken = crate::support::faulty::status(500, &[], "the database is locked");
        builder.rule(Rule::new(broken).tag(&measured_part("Get1K")).from(30))
    });
    let only = "Put64K,Get64K,Put1024K,Get1024K,Prop*,Copy,Move,Delete,MkCol,*Col,Lock*";
    let outcome = prestan!("diagnose {faulty} --suite prestan -r 3 --skip {only} --quiet --json -")
        .env("PRESTAN_USER", USER)
        .env("PRESTAN_PASSWORD", PASSWORD)
        .ends(0);
    let document = outcome.json();
    let first = &document["findings"][0];
    assert_eq!(first["rule"], "fails-under-load", "{document:#}");
    let text = first["text"].as_str().unwrap();
    assert!(
        text.contains("With 8 users") && text.contains("Get1K") && text.contains("500"),
        "{text}"
    );
    no_secret_in(&outcome, &[PASSWORD, BASIC]);
}

#[test]
fn users_who_want_the_same_lock_get_it_or_are_told_so() {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    let url = demo.url();
    let outcome =
        prestan!("run locks {url} -c 4 -r 20 --only Contention,LockHeldx100 --json -").ends(0);
    let document = outcome.json();
    let row = crate::support::rows::row(&document, "ContendedLock");
    assert!(row["operations"].as_u64().unwrap() >= 20, "{row:#}");
    let mut left = std::fs::read_dir(demo.root()).unwrap();
    assert!(left.next().is_none(), "{outcome}");
}

#[test]
fn what_makes_no_sense_is_said_before_anything_is_measured() {
    let none = prestan!("diagnose").ends(2);
    assert!(none.stderr.contains("no run is kept"), "{none}");
    let strange = prestan!("diagnose http://127.0.0.1:1/ --skip Frob*").ends(2);
    assert!(
        strange.stderr.contains("no test matches `Frob*`"),
        "{strange}"
    );
    let mixed = prestan!("diagnose http://127.0.0.1:1/ monday").ends(2);
    assert!(mixed.stderr.contains("no run `http://"), "{mixed}");
    prestan!("diagnose http://127.0.0.1:1/ --quiet").ends(4);
}

#[test]
fn a_diagnosis_holds_no_secret_and_a_failed_row_is_named() {
    let faulty = Faulty::new(|builder| {
        let full = crate::support::faulty::status(507, &[], "");
        builder.rule(Rule::new(full).tag("(Put1K)").nth(2))
    });
    let outcome = short_run(&faulty.server.url(), "Put1K,Get1K").run();
    let text = prestan!(outcome.again() => "diagnose").ends(0);
    assert!(
        text.stdout
            .contains("Rows that were not checked:\n- Put1K (suite prestan)"),
        "{text}"
    );
    no_secret_in(&text, &[PASSWORD, BASIC]);
}
