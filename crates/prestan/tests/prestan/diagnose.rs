//! `prestan diagnose`: its measurements, and the path of a server's faults into the record. The
//! rules are tested with simulated servers.

use testbed::fault::{ChallengeAlgorithm, Expiry, Fault, Rule};
use testbed::{DemoServer, Root};

use crate::support::faulty::{
    BASIC, Faulty, LOOPBACK, PASSWORD, digest, no_secret_in, short_run, status, with_credentials,
};
use crate::support::names_in;
use crate::support::rows::row;

/// Both are counted, however long anything takes.
#[test]
fn what_a_server_does_wrong_is_found_in_the_record_unless_the_row_was_disqualified() {
    let digest = digest(&[ChallengeAlgorithm::Sha256], Some(1), Expiry::Stale);
    let silent = Rule::new(Fault::CloseAfterStatus(204));
    let faulty = Faulty::new(|builder| builder.rule(silent).auth(digest));
    let only = "Put1K,Delete,Get1K";
    let run = prestan!("run prestan {faulty} --only {only} -r 60 --warmup 1 --quiet --json -");
    let run = with_credentials(run).ends(0);
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
    let url = demo.url();
    let outcome = prestan!("diagnose {url} -r 5 --skip {skip} --quiet --json -").ends(0);
    let document = outcome.json();
    let runs = document["runs"].as_array().unwrap();
    let suites: Vec<&str> = runs
        .iter()
        .map(|run| run["suite"].as_str().unwrap())
        .collect();
    // Rows that showed something that may change with time are measured again in between.
    assert_eq!(suites[..4], ["prestan", "listing", "locks", "features"]);
    assert_eq!(suites.last(), Some(&"prestan"));
    assert_eq!(runs.last().unwrap()["users"], 8);
    assert_eq!(outcome.runs().len(), suites.len(), "{outcome}");
    assert_eq!(names_in(demo.root()), [""; 0]);

    // The same of the runs that were kept, without naming them and with.
    let again = prestan!(outcome.again() => "diagnose --json -").run();
    assert_eq!(again.json(), document);
    let named = prestan!(outcome.again() => "diagnose").args(outcome.runs());
    assert_eq!(prestan!(named => "--json -").run().json(), document);
    let text = prestan!(outcome.again() => "diagnose").run();
    text.stdout_has("Server: http://127.0.0.1:");

    // Every row of these suites works on a complete server, except for declared gaps. Lost
    // processor time of this process is not the server's fault, and may affect any row.
    for left in document["left_out"].as_array().unwrap() {
        let why = left["why"].as_str().unwrap();
        let is_declared = left["measure"].is_null() || why.contains("501");
        assert!(is_declared || left["disqualified"] == true, "{left:#}");
    }
}

#[test]
fn users_who_want_the_same_lock_get_it_or_read_why_not() {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    let url = demo.url();
    let outcome =
        prestan!("run locks {url} -c 4 -r 20 --only Contention,LockHeldx100 --json -").ends(0);
    let document = outcome.json();
    let row = row(&document, "ContendedLock");
    assert!(row["operations"].as_u64().unwrap() >= 20, "{row:#}");
    assert_eq!(names_in(demo.root()), [""; 0]);
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
    let full = Rule::new(status(507, &[], "")).tag("(Put1K)").nth(2);
    let faulty = Faulty::new(|builder| builder.rule(full));
    let outcome = short_run(&faulty.url(), "Put1K,Get1K").run();
    let text = prestan!(outcome.again() => "diagnose").ends(0);
    text.stdout_has("Rows that were not checked:\n- Put1K (suite prestan)");
    no_secret_in(&text, &[PASSWORD, BASIC]);
}
