//! `prestan diagnose`: its measurements, and the path of a server's faults into the record. The
//! rules are tested with simulated servers.

use crate::support::faulty::{BASIC, Faulty, LOOPBACK, PASSWORD, USER, no_secret_in, short_run};
use serde_json::Value;
use testbed::fault::{Auth, ChallengeAlgorithm, Expiry, Fault, Rule};
use testbed::{DemoServer, Root};

/// Both are counted, however long anything takes.
#[test]
fn what_a_server_does_wrong_is_found_in_the_record_unless_the_row_was_disqualified() {
    let faulty = Faulty::new(|builder| {
        let builder = builder.rule(Rule::new(Fault::CloseAfterStatus(204)));
        builder.auth(Auth::Digest {
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
            algorithms: vec![ChallengeAlgorithm::Sha256],
            nonce_uses: Some(1),
            expiry: Expiry::Stale,
        })
    });
    let only = "Put1K,Delete,Get1K";
    let run = prestan!("run prestan {faulty} --only {only} -r 60 --warmup 1 --quiet --json -")
        .env("PRESTAN_USER", USER)
        .env("PRESTAN_PASSWORD", PASSWORD)
        .ends(0);
    let diagnosed = prestan!(run.again() => "diagnose --json -").ends(0);
    let document = diagnosed.json();
    let all = |list: &str| document[list].as_array().unwrap().clone();
    for (rule, row) in [("closes-silently", "Put1K"), ("asked-twice", "Get1K")] {
        // A single run cannot confirm a finding.
        let found = [all("findings"), all("seen_once")].concat();
        let mut found = found.iter().filter(|found| found["rule"] == rule);
        let is_found = found.any(|found| found["measures"].to_string().contains(row));
        let is_left_out = all("left_out").iter().any(|left| {
            left["measure"].is_null() || left["measure"] == row && left["disqualified"] == true
        });
        assert!(is_found || is_left_out, "{rule}: {diagnosed}");
    }
    no_secret_in(&diagnosed, &[PASSWORD, BASIC]);
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
    text.stdout_has("Server: http://127.0.0.1:");

    // Every row of these suites works on a complete server, except for declared gaps. Lost
    // processor time of this process is not the server's fault, and may affect any row.
    for left in document["left_out"].as_array().unwrap() {
        let why = left["why"].as_str().unwrap();
        let of_this_machine = left["disqualified"] == true;
        assert!(
            left["measure"].is_null() || of_this_machine || why.contains("501"),
            "{left:#}"
        );
    }
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
    prestan!("diagnose").ends(2).stderr_has("no run is kept");
    let strange = prestan!("diagnose http://127.0.0.1:1/ --skip Frob*").ends(2);
    strange.stderr_has("no test matches `Frob*`");
    let mixed = prestan!("diagnose http://127.0.0.1:1/ monday").ends(2);
    mixed.stderr_has("no run `http://");
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
    text.stdout_has("Rows that were not checked:\n- Put1K (suite prestan)");
    no_secret_in(&text, &[PASSWORD, BASIC]);
}
