//! Failures, and further facts about rows and runs, in words.

use record::{EndedBy, Nanos};
use stats::{FailureGroup, Note, Outcomes, StatusReason};

use crate::units::human;

/// The reason why a row is not ok, or the failures in it.
pub fn reason(reason: &StatusReason) -> String {
    match reason {
        StatusReason::Evidence(evidence) => evidence.clone(),
        StatusReason::Operation {
            number,
            user,
            outcome,
            evidence,
        } => {
            let user = user.map_or(String::new(), |user| format!(" of user {user}"));
            format!("request {number}{user}: {outcome}: {evidence}")
        }
        StatusReason::Needs { method, evidence } => {
            format!("needs {method}, which the server does not support here: {evidence}")
        }
        StatusReason::AllUnsupported => "every request was answered as unsupported".to_owned(),
        StatusReason::OthersUnsupported => {
            "every other request of its test was answered as unsupported".to_owned()
        }
        StatusReason::Failed(outcomes) => failed(outcomes),
        StatusReason::NeverDrawn => {
            "it was never reached: chance or a condition never chose it, or no page named such a file; measure longer, or \
             give it more weight"
                .to_owned()
        }
        StatusReason::NothingDue => {
            "no request was due: the schedule came to none in this time; measure longer, or at a higher rate".to_owned()
        }
        StatusReason::EndedEarly(by) => format!("not measured: {}", ended_early(by)),
        StatusReason::StampsMissed => {
            "kernel time stamps were missing, so there is no response time; measure with --clock user"
                .to_owned()
        }
        StatusReason::Cancelled => "every operation was cancelled".to_owned(),
        StatusReason::NeverReached(others) => format!(
            "it was never reached; of the other operations of its test, {}",
            failed(others)
        ),
        StatusReason::NotRecorded => {
            "nothing was recorded, and the record has no reason".to_owned()
        }
        StatusReason::NotSaved => "no samples of it were saved".to_owned(),
        StatusReason::RunEnded { interrupted, began } => {
            let end = if *interrupted {
                "interrupted"
            } else {
                "aborted"
            };
            let before = if *began {
                "an operation was completed"
            } else {
                "anything was measured"
            };
            format!("the run was {end} before {before}")
        }
    }
}

/// The event that ended a run or a test early.
pub fn ended_early(by: &EndedBy) -> String {
    match by {
        EndedBy::Step { test: Some(_) } => "a step of the suite ended its test".to_owned(),
        EndedBy::Step { test: None } => "a step of the suite ended the run".to_owned(),
        EndedBy::Constraint { name } => {
            format!("the constraint `{name}` failed, and ended the run")
        }
    }
}

/// Failures that ended alike: `12 like request 7: wrong status: PUT a: 500 ...; expected 2xx (the
/// first at 1.2 s, the last at 3.4 s)`.
pub(crate) fn group(group: &FailureGroup) -> String {
    let example = group.example.as_ref().map(reason);
    let what = match (group.outcome, example) {
        (None, example) => example.unwrap_or_default(),
        (Some(_), Some(example)) if group.count == 1 => example,
        (Some(_), Some(example)) => format!("{} like {example}", group.count),
        (Some(outcome), None) => {
            let status = group.status.map(|status| format!(" {status}"));
            format!("{} {outcome}{}", group.count, status.unwrap_or_default())
        }
    };
    match group
        .ended
        .map(|(first, last)| (tenths(first), tenths(last)))
    {
        None => what,
        Some((first, last)) if first != last => {
            format!("{what} (the first at {first} s, the last at {last} s)")
        }
        Some((first, _)) if group.count == 1 => format!("{what} (at {first} s)"),
        Some((first, _)) => format!("{what} (all at {first} s)"),
    }
}

/// Seconds, `1.2`.
fn tenths(ns: Nanos) -> String {
    format!("{:.1}", ns as f64 / 1e9)
}

pub(crate) fn failed(outcomes: &Outcomes) -> String {
    let kinds: Vec<String> = outcomes
        .iter()
        .filter(|(outcome, n)| *n > 0 && outcome.is_failure())
        .map(|(outcome, n)| format!("{n} {outcome}"))
        .collect();
    format!(
        "{} of {} failed: {}",
        outcomes.failed(),
        outcomes.total(),
        kinds.join(", ")
    )
}

pub(crate) fn note(note: &Note) -> String {
    match note {
        Note::Remark(text) => text.clone(),
        Note::Dominated(share) => format!(
            "the slowest operation has {:.0} % of the sum of all times, so the mean and its interval \
             depend on it",
            (share * 100.0).floor()
        ),
        Note::SlowBody { response, total } => format!(
            "most of the time passes after the first byte of the response: mean total time {}, mean \
             response time {}",
            human(*total),
            human(*response)
        ),
        Note::Wanders => {
            "throughput varied slowly over the window; its interval may be too narrow, measure longer"
                .to_owned()
        }
        Note::RunsLeftOut { left_out, of } => format!(
            "{left_out} of {of} runs are not among its estimates, because the load generator may have \
             changed them there"
        ),
    }
}

/// Why a run was aborted.
pub fn abort_reason(reason: Option<&str>) -> &str {
    reason.unwrap_or("the record has no end: prestan was killed, or the run is still going on")
}

#[cfg(test)]
mod tests {
    use record::Outcome;

    use super::*;

    #[test]
    fn failures_are_counted_by_their_kind() {
        use Outcome::{Ok, Timeout, WrongStatus};
        let outcomes = [Ok, WrongStatus, WrongStatus, Timeout]
            .into_iter()
            .collect();
        assert_eq!(
            failed(&outcomes),
            "3 of 4 failed: 2 wrong status, 1 timeout"
        );
    }

    #[test]
    fn failures_that_ended_alike_are_told_once() {
        let example = StatusReason::Operation {
            number: 7,
            user: Some(2),
            outcome: Outcome::WrongStatus,
            evidence: "PUT a: 500".to_owned(),
        };
        let text = |count, outcome, example| {
            let status = Some(500);
            group(&FailureGroup {
                outcome,
                status,
                count,
                ended: None,
                example,
            })
        };
        let wrong = Some(Outcome::WrongStatus);
        let one = "request 7 of user 2: wrong status: PUT a: 500";
        assert_eq!(text(1, wrong, Some(example.clone())), one);
        assert_eq!(text(12, wrong, Some(example)), format!("12 like {one}"));
        assert_eq!(text(12, wrong, None), "12 wrong status 500");
        let failed = StatusReason::Evidence("MKCOL gave 507".to_owned());
        assert_eq!(text(0, None, Some(failed)), "MKCOL gave 507");
    }

    #[test]
    fn failures_are_told_with_their_moments() {
        let text = |count, ended| {
            group(&FailureGroup {
                outcome: Some(Outcome::Refused),
                status: Some(502),
                count,
                ended: Some(ended),
                example: None,
            })
        };
        let (early, late) = (1_240_000_000, 3_390_000_000);
        assert_eq!(
            text(9, (early, late)),
            "9 refused 502 (the first at 1.2 s, the last at 3.4 s)"
        );
        assert_eq!(text(9, (early, early + 1)), "9 refused 502 (all at 1.2 s)");
        assert_eq!(text(1, (early, early)), "1 refused 502 (at 1.2 s)");
    }

    #[test]
    fn what_was_never_reached_names_what_stood_in_its_way() {
        let never_reached = StatusReason::NeverReached([Outcome::Refused; 3].into_iter().collect());
        assert_eq!(
            reason(&never_reached),
            "it was never reached; of the other operations of its test, 3 of 3 failed: 3 refused"
        );
    }
}
