//! Display of the requests and responses of a run, and the record of each operation.

use std::fs;

use crate::support::Outcome;
use crate::support::faulty::{Faulty, PASSWORD, USER, checked, no_secret_in, run_of};
use crate::support::load::{kept, plain};
use crate::support::pages::{counted, furnished, webstone};
use testbed::fault::{Auth, Fault, Rule};

const SHOWN: &str = "warning: requests and responses were shown during the measurement";

/// Text after a sign on standard error, without the number of the client.
fn shown(outcome: &Outcome, sign: &str) -> Vec<String> {
    let line = |line: &str| {
        let (client, said) = line.strip_prefix('[')?.split_once("] ")?;
        client.parse::<u32>().ok()?;
        Some(said.strip_prefix(sign)?.trim_start().to_owned())
    };
    outcome.stderr.lines().filter_map(line).collect()
}

/// Lines that begin a request.
fn requests(outcome: &Outcome) -> Vec<String> {
    let mut lines = shown(outcome, ">");
    lines.retain(|line| line.ends_with(" HTTP/1.1"));
    lines
}

/// Lines that begin a response.
fn responses(outcome: &Outcome) -> Vec<String> {
    let mut lines = shown(outcome, "<");
    lines.retain(|line| line.starts_with("HTTP/1.1 "));
    lines
}

/// Exactly the requests that the server received were shown, each with its label and its response.
#[track_caller]
fn tells_all(outcome: &Outcome, server: &Faulty) {
    let exchanges = server.server.exchanges();
    let mut seen: Vec<String> = exchanges
        .iter()
        .map(|one| format!("{} {} HTTP/1.1", one.method, one.path))
        .collect();
    let mut said = requests(outcome);
    seen.sort();
    said.sort();
    assert_eq!(said, seen, "{outcome}");
    let mut statuses: Vec<u16> = exchanges.iter().filter_map(|one| one.status).collect();
    let mut said: Vec<u16> = responses(outcome)
        .iter()
        .map(|line| line.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    statuses.sort_unstable();
    said.sort_unstable();
    assert_eq!(said, statuses, "{outcome}");
    outcome.stderr_has(SHOWN);
}

#[test]
fn every_head_is_shown() {
    for options in ["-c 2", "--parallel 3", "--pipeline 4"] {
        let server = furnished();
        let outcome = webstone(&server.server.url())
            .words(options)
            .arg("--debug")
            .ends(0);
        tells_all(&outcome, &server);
        let (result, _) = counted(&outcome);
        let warnings = result["warnings"].to_string();
        assert!(warnings.contains("were shown"), "{warnings}");
    }
}

#[test]
fn preparations_are_shown_as_well() {
    let server = plain();
    let outcome = prestan!(webstone(&server.server.url()) => "--prepare --debug").ends(0);
    tells_all(&outcome, &server);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn nothing_is_shown_unasked() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.server.url()) => "-v").ends(0);
    assert_eq!(requests(&outcome), [""; 0]);
    outcome.stderr_lacks(SHOWN);
}

#[test]
fn no_credentials_are_shown() {
    let basic = Auth::Basic {
        user: USER.to_owned(),
        password: PASSWORD.to_owned(),
    };
    let server = Faulty::new(|builder| builder.auth(basic));
    let outcome = prestan!(run_of(&server.server.url(), "Get1K,Put1K", 2) => "--header 'X-Pat: k3y-of-ann' --debug")
        .ends(0);
    tells_all(&outcome, &server);
    let said = shown(&outcome, ">");
    assert!(
        said.iter()
            .any(|line| line == "Authorization: Basic (not shown)"),
        "{outcome}"
    );
    assert!(said.iter().any(|line| line == "X-Pat: (not shown)"));
    checked(&outcome);
    no_secret_in(&outcome, &["k3y-of-ann"]);
}

#[test]
fn what_came_instead_of_an_answer_is_said() {
    let close = Rule::new(Fault::CloseBeforeResponse).path("file4k").nth(2);
    let server = Faulty::new(|builder| builder.rule(close));
    crate::support::pages::generate(server.demo.root());
    let outcome = prestan!(webstone(&server.server.url()) => "--debug").ends(0);
    let remarks = shown(&outcome, "*");
    let expected = "the persistent connection was closed; sent again on another";
    assert_eq!(remarks, [expected], "{outcome}");

    // Without another connection to try, it is a failure with a reason.
    let hang = Rule::new(Fault::Hang).path("file4k").nth(2);
    let server = Faulty::new(|builder| builder.rule(hang));
    crate::support::pages::generate(server.demo.root());
    for options in ["", "--pipeline 2"] {
        server.server.clear_rules();
        server
            .server
            .add_rule(Rule::new(Fault::Hang).path("file4k").nth(2));
        let outcome = prestan!(webstone(&server.server.url()) => "--debug --timeout 1s")
            .words(options)
            .ends(1);
        let remarks = shown(&outcome, "*");
        assert!(
            remarks
                .iter()
                .any(|remark| remark.starts_with("no complete response within 1s")),
            "{outcome}"
        );
    }
}

#[test]
fn a_log_has_a_row_for_every_operation() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.server.url()) => "-c 3 --log log.csv").ends(0);
    let log = fs::read_to_string(outcome.home().join("log.csv")).unwrap();
    let mut lines = log.split_terminator("\r\n");
    assert!(lines.next().unwrap().starts_with("measure,user,number,"));
    let run = kept(&outcome);
    assert_eq!(lines.clone().count(), run.samples.len());
    for (line, sample) in lines.zip(&run.samples) {
        let measure = &run.plan.measures[usize::from(sample.measure.0)].name;
        let begins = format!(
            "{measure},{},{},{},ok,200,",
            sample.user,
            sample.number,
            sample.visit.unwrap()
        );
        assert!(line.starts_with(&begins), "{line}");
    }
    // The same from the record, and without a record.
    prestan!(outcome.again() => "report --log again.csv").ends(0);
    let file = outcome.home().join("again.csv");
    assert_eq!(fs::read_to_string(file).unwrap(), log);
    let unkept = prestan!(webstone(&server.server.url()) => "--no-save --log log.csv").ends(0);
    let log = fs::read_to_string(unkept.home().join("log.csv")).unwrap();
    assert!(log.lines().count() > 10, "{log}");
}

#[test]
fn a_log_that_cannot_be_written_costs_nothing_else() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.server.url()) => "--log /dev/full").ends(1);
    outcome.stderr_has("prestan: writing /dev/full failed: No space left on device");
    counted(&outcome);

    let refused = |options: &str| {
        let seen = server.server.exchanges().len();
        let outcome = webstone(&server.server.url()).words(options).run();
        assert_eq!(server.server.exchanges().len(), seen, "{outcome}");
        outcome
    };
    refused("--log /none/log.csv").ended(1);
    refused("--log one.csv --csv one.csv").ended(2);
    refused("-c 1..2 --debug").ended(2);
}
