//! Servers that lack a feature: facts in their record, and no findings derived from it.

use record::{
    Cause, Connect, Event, EventKind, MeasureId, MissingStep, Outcome, RowOrigins, Run, TestId,
};

use super::simulated::{material, of, plain, run};
use super::table::NOISE;
use crate::diagnose::{LeftOut, diagnose};
use crate::testing::connect;

fn ids(run: &Run, row: &str) -> (MeasureId, TestId) {
    let mut measures = run.plan.measures.iter().zip(0..);
    let (measure, id) = measures.find(|(measure, _)| measure.name == row).unwrap();
    (MeasureId(id), measure.test)
}

fn add_event(run: &mut Run, kind: EventKind) {
    run.events.push(Event { at: 0, kind });
}

fn closed_silently(status: u16, noticed: u64, lost: u64) -> EventKind {
    EventKind::ClosedSilently {
        status,
        noticed,
        lost,
    }
}

/// A server that closes the connection without notice after every response with this status, of
/// which a row has as many as operations. One request comes next that is measured.
pub(super) fn closes(run: &mut Run, row: &str, status: u16) {
    let (measure, _) = ids(run, row);
    let users = u64::from(run.plan.load.users);
    let mut its = run.samples.iter_mut().filter(|one| one.measure == measure);
    let first = its.next().unwrap();
    first.connect = connect(200_000, None);
    let noticed = its.count() as u64;
    add_event(run, closed_silently(status, noticed, users));
}

/// A server behind TLS that ends each connection after a hundred requests.
pub(super) fn handshakes(run: &mut Run, resumed: bool) {
    for one in run.samples.iter_mut().step_by(100) {
        one.connect = Some(Connect {
            tcp: 200_000,
            tls: Some(if resumed { 400_000 } else { 1_500_000 }),
            resumed: Some(resumed),
        });
    }
}

pub(super) fn no_etag() -> Cause {
    Cause::Header {
        name: "ETag".into(),
    }
}

pub(super) fn status(status: u16, condition: Option<&str>) -> Cause {
    Cause::Status {
        status,
        condition: condition.map(str::to_owned),
    }
}

/// A server that does not support a row, for this cause.
pub(super) fn has_no(run: &mut Run, row: &str, cause: Cause) {
    let (measure, test) = ids(run, row);
    run.samples.retain(|one| one.measure != measure);
    let is_its = |event: &Event| matches!(event.kind, EventKind::FirstAnswer { measure: answered, .. } if answered == measure);
    run.events.retain(|event| !is_its(event));
    let method = run.plan.measures[usize::from(measure.0)].method.clone();
    let evidence = format!("{method} of {row}: {cause:?}");
    add_event(
        run,
        EventKind::NotSupported {
            test,
            step: Some(MissingStep {
                method,
                measure: Some(measure),
                cause: Some(cause),
            }),
            evidence,
        },
    );
}

/// A server that responds to Depth: infinity in this row as to Depth: 1.
pub(super) fn cut_short(run: &mut Run, row: &str) {
    fails(run, row, Some(Cause::Depth { depth: 1 }));
}

fn fails(run: &mut Run, row: &str, cause: Option<Cause>) {
    let (measure, _) = ids(run, row);
    let its = run.samples.iter_mut().filter(|one| one.measure == measure);
    its.for_each(|one| one.outcome = Outcome::WrongBody);
    add_event(
        run,
        EventKind::OperationFailed {
            measure,
            user: 0,
            number: 1,
            outcome: Outcome::WrongBody,
            status: None,
            evidence: "PROPFIND tree/: 207 with 11 responses".into(),
            cause,
        },
    );
}

#[test]
fn a_row_from_a_cache_is_evidence_of_nothing() {
    let slow_put = |cached| {
        let mut rows = plain();
        of(&mut rows, "Put1K").us = 8_000.0;
        let mut run = run(&rows, NOISE, 1, 3);
        let (measure, _) = ids(&run, "Get1K");
        let origins = RowOrigins {
            measure,
            cached,
            cache: None,
            addresses: Vec::new(),
        };
        add_event(&mut run, EventKind::Origins(origins));
        let diagnosis = diagnose(&[material(&run)]);
        let mut rules = diagnosis.findings.iter().map(|finding| finding.rule);
        let left = |left: &LeftOut| left.row == "Get1K" && !left.disqualified;
        (
            rules.any(|rule| rule == "put-against-get"),
            diagnosis.left_out.iter().any(left),
        )
    };
    assert_eq!(slow_put(0), (true, false));
    assert_eq!(slow_put(5), (false, true));
}

/// The rules that speak of a server whose record is changed like that.
fn rules_after(change: impl Fn(&mut Run)) -> Vec<&'static str> {
    let mut run = run(&plain(), NOISE, 1, 3);
    change(&mut run);
    let found = diagnose(&[material(&run)]).findings;
    found.iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_server_that_is_started_anew_closes_one_connection_for_each_user() {
    let closes = |users: u32, noticed: u64, lost: u64| {
        let mut run = run(&plain(), NOISE, users, 3);
        add_event(&mut run, closed_silently(207, noticed, lost));
        let found = diagnose(&[material(&run)]).findings;
        let mut rules = found.iter().map(|finding| finding.rule);
        rules.any(|rule| rule == "closes-silently")
    };
    assert!(!closes(1, 4, 1));
    assert!(closes(1, 5, 1));
    assert!(!closes(8, 9, 3));
    assert!(closes(8, 9, 4));
    // A run that repeats another one, as parts of several do, is not counted as well.
    let mut run = run(&plain(), NOISE, 1, 3);
    add_event(&mut run, closed_silently(207, 4, 0));
    let run = material(&run);
    let found = diagnose(&[run.clone(), run]).findings;
    assert_eq!(found, []);
}

#[test]
fn handshakes_are_full_because_the_server_wants_it() {
    assert_eq!(
        rules_after(|run| handshakes(run, false)),
        ["tls-not-resumed"]
    );
    assert_eq!(rules_after(|run| handshakes(run, true)), [""; 0]);
    // The client did not want to resume any, or the record is too old to distinguish them.
    let unasked = rules_after(|run| {
        handshakes(run, false);
        run.plan.load.http.full_handshakes = true;
    });
    assert_eq!(unasked, [""; 0]);
    let old = rules_after(|run| {
        handshakes(run, false);
        run.plan.format = 3;
    });
    assert_eq!(old, [""; 0]);
    // A few, while the server has forgotten its sessions.
    let some = rules_after(|run| {
        handshakes(run, true);
        let mut connects = run
            .samples
            .iter_mut()
            .filter_map(|one| one.connect.as_mut());
        connects.by_ref().take(10).for_each(|connect| {
            connect.tls = Some(1_500_000);
            connect.resumed = Some(false);
        });
        assert!(connects.count() > 10);
    });
    assert_eq!(some, [""; 0]);
}

#[test]
fn what_is_missing_altogether_is_no_matter_of_etags() {
    for cause in [status(405, None), status(501, None)] {
        let declined = rules_after(|run| has_no(run, "GetUnchanged", cause.clone()));
        assert_eq!(declined, [""; 0]);
    }
    // Another header, another row.
    let name = "Last-Modified".to_owned();
    let other =
        rules_after(|run| has_no(run, "GetUnchanged", Cause::Header { name: name.clone() }));
    assert_eq!(other, [""; 0]);
    assert_eq!(rules_after(|run| has_no(run, "Get1K", no_etag())), [""; 0]);
}

#[test]
fn a_server_may_decline_depth_infinity() {
    let named = status(403, Some("propfind-finite-depth"));
    assert_eq!(
        rules_after(|run| has_no(run, "Infinityx10", named.clone())),
        [""; 0]
    );
    let another = status(403, Some("need-privileges"));
    let declined = |cause: &Cause, others: bool| {
        rules_after(|run| {
            has_no(run, "Infinityx10", cause.clone());
            if !others {
                let of_another = |row: &str| row != "Infinityx10";
                let propfind = run.plan.measures.iter().zip(0..);
                let propfind = propfind.filter(|(measure, _)| measure.method == "PROPFIND");
                let ids: Vec<u16> = propfind
                    .filter(|(measure, _)| of_another(&measure.name))
                    .map(|(_, id)| id)
                    .collect();
                run.samples.retain(|one| !ids.contains(&one.measure.0));
            }
        })
    };
    for cause in [another, status(400, None), status(501, None)] {
        assert_eq!(declined(&cause, true), ["infinity-declined-otherwise"]);
    }
    // Without PROPFIND, whatever its depth.
    assert_eq!(declined(&status(501, None), false), [""; 0]);
}

#[test]
fn a_listing_that_fails_otherwise_was_not_cut_short() {
    assert_eq!(
        rules_after(|run| cut_short(run, "Infinityx10")),
        ["infinity-cut-short"]
    );
    assert_eq!(rules_after(|run| fails(run, "Infinityx10", None)), [""; 0]);
    let both = rules_after(|run| {
        cut_short(run, "Infinityx10");
        fails(run, "Infinityx10", None);
    });
    assert_eq!(both, [""; 0]);
    // Once it was whole.
    let once = rules_after(|run| {
        let (measure, _) = ids(run, "Infinityx10");
        cut_short(run, "Infinityx10");
        let mut its = run.samples.iter_mut().filter(|one| one.measure == measure);
        its.next().unwrap().outcome = Outcome::Ok;
    });
    assert_eq!(once, [""; 0]);
}
