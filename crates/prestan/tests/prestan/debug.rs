//! Display of the requests and responses of a run, and the record of each operation.

use testbed::fault::{Fault, Rule, ServedExchange};

use crate::support::Outcome;
use crate::support::faulty::{Faulty, basic, checked, no_secret_in, run_of};
use crate::support::load::{kept, plain};
use crate::support::pages::{counted, furnished, webstone};

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
fn assert_all_shown(outcome: &Outcome, server: &Faulty) {
    let exchanges = server.exchanges();
    let request = |one: &ServedExchange| format!("{} {} HTTP/1.1", one.method, one.path);
    let mut seen: Vec<String> = exchanges.iter().map(request).collect();
    let mut said = requests(outcome);
    seen.sort();
    said.sort();
    assert_eq!(said, seen, "{outcome}");
    let mut statuses: Vec<u16> = exchanges.iter().filter_map(|one| one.status).collect();
    let status = |line: &String| line.split(' ').nth(1).unwrap().parse().unwrap();
    let mut said: Vec<u16> = responses(outcome).iter().map(status).collect();
    statuses.sort_unstable();
    said.sort_unstable();
    assert_eq!(said, statuses, "{outcome}");
    outcome.stderr_has(SHOWN);
}

#[test]
fn every_head_is_shown() {
    for options in ["-c 2", "--parallel 3", "--pipeline 4"] {
        let server = furnished();
        let webstone = webstone(&server.url()).words(options);
        let outcome = prestan!(webstone => "--debug").ends(0);
        assert_all_shown(&outcome, &server);
        let (result, _) = counted(&outcome);
        let warnings = result["warnings"].to_string();
        assert!(warnings.contains("were shown"), "{warnings}");
    }
}

#[test]
fn preparations_are_shown_as_well() {
    let server = plain();
    let outcome = prestan!(webstone(&server.url()) => "--prepare --debug").ends(0);
    assert_all_shown(&outcome, &server);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn nothing_is_shown_unasked() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "-v").ends(0);
    assert_eq!(requests(&outcome), [""; 0]);
    outcome.stderr_lacks(SHOWN);
}

#[test]
fn no_credentials_are_shown() {
    let server = Faulty::new(|builder| builder.auth(basic()));
    let outcome =
        prestan!(run_of(&server.url(), "Get1K,Put1K", 2) => "--header 'X-Pat: k3y-of-ann' --debug")
            .ends(0);
    assert_all_shown(&outcome, &server);
    let said = shown(&outcome, ">");
    for line in ["Authorization: Basic (not shown)", "X-Pat: (not shown)"] {
        assert!(said.iter().any(|said| said == line), "{outcome}");
    }
    checked(&outcome);
    no_secret_in(&outcome, &["k3y-of-ann"]);
}

#[test]
fn what_came_instead_of_a_response_is_said() {
    let close = Rule::new(Fault::CloseBeforeResponse).path("file4k").nth(2);
    let server = furnished();
    server.server.add_rule(close);
    let outcome = prestan!(webstone(&server.url()) => "--debug").ends(0);
    let remarks = shown(&outcome, "*");
    let expected = "the persistent connection was closed; sent again on another";
    assert_eq!(remarks, [expected], "{outcome}");

    // Without another connection to try, it is a failure with a reason.
    let server = furnished();
    for options in ["", "--pipeline 2"] {
        server.server.clear_rules();
        let hang = Rule::new(Fault::Hang).path("file4k").nth(2);
        server.server.add_rule(hang);
        let webstone = prestan!(webstone(&server.url()) => "--debug --timeout 1s");
        let outcome = webstone.words(options).ends(1);
        let mut remarks = shown(&outcome, "*").into_iter();
        let is_late = |remark: String| remark.starts_with("no complete response within 1s");
        assert!(remarks.any(is_late), "{outcome}");
    }
}

#[test]
fn a_log_has_a_row_for_every_operation() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "-c 3 --log log.csv").ends(0);
    let log = outcome.read("log.csv");
    let mut lines = log.split_terminator("\r\n");
    assert!(lines.next().unwrap().starts_with("measure,user,number,"));
    let run = kept(&outcome);
    assert_eq!(lines.clone().count(), run.samples.len());
    for (line, sample) in lines.zip(&run.samples) {
        let measure = &run.plan.measures[usize::from(sample.measure.0)].name;
        let (user, number) = (sample.user, sample.number);
        let visit = sample.visit.unwrap();
        let begins = format!("{measure},{user},{number},{visit},ok,200,");
        assert!(line.starts_with(&begins), "{line}");
    }
    // The same from the record, and without a record.
    prestan!(outcome.again() => "report --log again.csv").ends(0);
    assert_eq!(outcome.read("again.csv"), log);
    let unkept = prestan!(webstone(&server.url()) => "--no-save --log log.csv").ends(0);
    let log = unkept.read("log.csv");
    assert!(log.lines().count() > 10, "{log}");
}

#[test]
fn a_log_that_cannot_be_written_costs_nothing_else() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "--log /dev/full").ends(1);
    outcome.stderr_has("prestan: writing /dev/full failed: No space left on device");
    counted(&outcome);

    let refused = |options: &str| {
        let seen = server.exchanges().len();
        let outcome = webstone(&server.url()).words(options).run();
        assert_eq!(server.exchanges().len(), seen, "{outcome}");
        outcome
    };
    refused("--log /none/log.csv").ended(1);
    refused("--log one.csv --csv one.csv").ended(2);
    refused("-c 1..2 --debug").ended(2);
}
