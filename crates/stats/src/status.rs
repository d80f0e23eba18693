//! Status of a test as a whole.

use record::{EndedBy, Environment, Event, EventKind, Outcome};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcomes;

/// Status of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured, and no operation failed.
    Ok,
    /// Something failed, or nothing was measured.
    Failed,
    /// The server does not have the method, or does not claim what the test needs.
    NotSupported,
    /// Not measured, because the server does not have another method that the test needs before, or
    /// because the suite ended the run before it.
    Skipped,
    /// The operations of its test are chosen at random or by a condition, and this one never was.
    NotDrawn,
}

impl Status {
    /// The name used in files: `not_supported`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::NotSupported => "not_supported",
            Status::Skipped => "skipped",
            Status::NotDrawn => "not_drawn",
        }
    }

    /// Rank of the status: the status over several runs is the worst of them.
    pub(crate) fn badness(self) -> u8 {
        match self {
            Status::Ok => 0,
            Status::NotDrawn => 1,
            Status::Skipped => 2,
            Status::NotSupported => 3,
            Status::Failed => 4,
        }
    }

    /// Not measured, as the server lacks a method or feature that it needs. That is no failure.
    pub fn is_beyond_the_server(self) -> bool {
        matches!(self, Status::NotSupported | Status::Skipped)
    }
}

/// Why a row is not ok, or which of its operations failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusReason {
    /// The attempt and its result, as the engine described them.
    Evidence(String),
    /// A failed operation.
    Operation {
        /// Its number.
        number: u64,
        /// Its user, where there are several.
        user: Option<u32>,
        /// Outcome of the operation.
        outcome: Outcome,
        /// The attempt and its result.
        evidence: String,
    },
    /// The test needs a method that the server does not support.
    Needs {
        /// The method.
        method: String,
        /// The attempt with it and its result.
        evidence: String,
    },
    /// Every operation met a server without the method.
    AllUnsupported,
    /// Every operation of the other rows of its test did.
    OthersUnsupported,
    /// Operations failed, and none is described.
    Failed(Outcomes),
    /// No operation was chosen by chance.
    NeverDrawn,
    /// The schedule of the run contains no operation.
    NothingDue,
    /// The suite ended the run before it.
    EndedEarly(EndedBy),
    /// The time stamps of the kernel never came, so there is no response time.
    StampsMissed,
    /// Every operation was cancelled.
    Cancelled,
    /// The test did not reach it. These are the other operations of its test, some of which failed.
    NeverReached(Outcomes),
    /// The record does not contain it.
    NotRecorded,
    /// Measured, but the record is damaged or has no end: its samples are not there.
    NotSaved,
    /// The run ended before.
    RunEnded {
        /// The user ended it; otherwise it was aborted.
        interrupted: bool,
        /// Operations had begun, and none was completed.
        began: bool,
    },
}

/// Completeness of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// All of it was done.
    Complete,
    /// The user ended it; measurements until then count.
    Interrupted,
    /// Ended early for this reason, or its record has no end: it was killed, or still goes on.
    /// Measurements until then count.
    Aborted(Option<String>),
}

impl Completeness {
    /// The first end among the events; without any, a run whose record has no end was killed.
    pub fn of(events: &[Event], env: &Environment) -> Completeness {
        let end = events.iter().find_map(|event| match &event.kind {
            EventKind::Interrupted => Some(Completeness::Interrupted),
            EventKind::Aborted { reason } => Some(Completeness::Aborted(Some(reason.clone()))),
            _ => None,
        });
        match (end, &env.ended_at) {
            (Some(end), _) => end,
            (None, Some(_)) => Completeness::Complete,
            (None, None) => Completeness::Aborted(None),
        }
    }
}

/// A method or feature that the server does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MissingMethod<'a> {
    /// The method, where it is a step before that of the row: `COPY` before a DELETE.
    pub(crate) of_another_row: Option<&'a str>,
    pub(crate) evidence: &'a str,
}

pub(crate) struct StatusFacts<'a> {
    /// Outcomes of all operations of the measure, inside and outside the window.
    pub(crate) outcomes: Outcomes,
    /// Outcomes of all operations of all measures of its test.
    pub(crate) together: Outcomes,
    /// Chance decides about it, and selected others only.
    pub(crate) never_drawn: bool,
    /// A schedule decides when operations begin, and nothing at all was recorded.
    pub(crate) nothing_due: bool,
    /// The condition that ended its test early.
    pub(crate) ended: Option<&'a EndedBy>,
    /// The record has the end of the measured part of its test.
    pub(crate) measured: bool,
    pub(crate) not_supported: Option<MissingMethod<'a>>,
    pub(crate) test_failed: Option<&'a StatusReason>,
    pub(crate) failure: Option<&'a StatusReason>,
    /// The kernel's clock was requested, and gave no operation a response time.
    pub(crate) stamps_missed: bool,
    pub(crate) complete: &'a Completeness,
}

impl StatusFacts<'_> {
    /// The status, and the reason for one that is not [`Status::Ok`].
    ///
    /// A test without a single expected response is never ok: *ok* promises that something was
    /// measured. Operations that an interruption cut off are no failures beside expected ones.
    pub(crate) fn judge(&self) -> (Status, Option<StatusReason>) {
        match self.shortcoming() {
            Some((status, reason)) => (status, Some(reason)),
            None => (Status::Ok, None),
        }
    }

    fn shortcoming(&self) -> Option<(Status, StatusReason)> {
        // A method that has worked is supported: declining it later is a failure, and does not
        // concern another measure of the test.
        if let Some(missing) = self.not_supported
            && self.outcomes.ok() == 0
        {
            let evidence = missing.evidence.to_owned();
            return Some(match missing.of_another_row {
                None => (Status::NotSupported, StatusReason::Evidence(evidence)),
                Some(method) => {
                    let method = method.to_owned();
                    (Status::Skipped, StatusReason::Needs { method, evidence })
                }
            });
        }
        if all_unsupported(&self.outcomes) {
            let reason = self.failure.unwrap_or(&StatusReason::AllUnsupported);
            return Some((Status::NotSupported, reason.clone()));
        }
        // Without a lock there is nothing to unlock.
        if self.outcomes.total() == 0 && all_unsupported(&self.together) {
            return Some((Status::Skipped, StatusReason::OthersUnsupported));
        }
        if let Some(reason) = self.test_failed {
            return Some((Status::Failed, reason.clone()));
        }
        if self.outcomes.failed() > 0 {
            let missing = self.not_supported;
            let missing =
                missing.map(|missing| StatusReason::Evidence(missing.evidence.to_owned()));
            let reason = self.failure.cloned().or(missing);
            let reason = reason.unwrap_or(StatusReason::Failed(self.outcomes));
            return Some((Status::Failed, reason));
        }
        if let (Some(by), 0) = (self.ended, self.outcomes.total()) {
            return Some((Status::Skipped, StatusReason::EndedEarly(by.clone())));
        }
        if self.never_drawn && *self.complete == Completeness::Complete {
            return Some((Status::NotDrawn, StatusReason::NeverDrawn));
        }
        if self.nothing_due && *self.complete == Completeness::Complete {
            return Some((Status::NotDrawn, StatusReason::NothingDue));
        }
        if self.outcomes.ok() == 0 {
            return Some((Status::Failed, self.why_nothing()));
        }
        let missed = (Status::Failed, StatusReason::StampsMissed);
        self.stamps_missed.then_some(missed)
    }

    fn why_nothing(&self) -> StatusReason {
        let began = self.outcomes.total() > 0;
        match self.complete {
            Completeness::Complete if began => StatusReason::Cancelled,
            Completeness::Complete if self.together.failed() > 0 => {
                StatusReason::NeverReached(self.together)
            }
            Completeness::Complete => StatusReason::NotRecorded,
            Completeness::Aborted(_) if self.measured && self.together.total() == 0 => {
                StatusReason::NotSaved
            }
            Completeness::Interrupted | Completeness::Aborted(_) => StatusReason::RunEnded {
                interrupted: *self.complete == Completeness::Interrupted,
                began,
            },
        }
    }
}

fn all_unsupported(outcomes: &Outcomes) -> bool {
    outcomes.total() > 0 && outcomes.of(Outcome::Unsupported) == outcomes.total()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(outcomes: &[Outcome]) -> StatusFacts<'static> {
        let outcomes: Outcomes = outcomes.iter().copied().collect();
        StatusFacts {
            outcomes,
            together: outcomes,
            never_drawn: false,
            nothing_due: false,
            ended: None,
            measured: false,
            not_supported: None,
            test_failed: None,
            failure: None,
            stamps_missed: false,
            complete: &Completeness::Complete,
        }
    }

    /// The row's own method is missing.
    fn missing(evidence: &str) -> MissingMethod<'_> {
        MissingMethod {
            of_another_row: None,
            evidence,
        }
    }

    fn evidence(text: &str) -> StatusReason {
        StatusReason::Evidence(text.to_owned())
    }

    #[test]
    fn a_row_is_skipped_where_a_step_before_it_is_missing() {
        let copy = MissingMethod {
            of_another_row: Some("COPY"),
            evidence: "COPY source/: 403 Forbidden",
        };
        let delete = StatusFacts {
            not_supported: Some(copy),
            ..facts(&[])
        };
        let why = StatusReason::Needs {
            method: "COPY".into(),
            evidence: copy.evidence.into(),
        };
        assert_eq!(delete.judge(), (Status::Skipped, Some(why)));
        // A method that has worked before was not skipped.
        let before = StatusFacts {
            not_supported: Some(copy),
            ..facts(&[Outcome::Ok])
        };
        assert_eq!(before.judge(), (Status::Ok, None));
    }

    #[test]
    fn one_failure_is_enough_and_cancelled_is_none() {
        use Outcome::{Cancelled, Ok, Timeout, Unsupported, WrongStatus};
        let failed =
            |outcomes: &[Outcome]| StatusReason::Failed(outcomes.iter().copied().collect());
        let some = [Ok, WrongStatus, WrongStatus, Timeout];
        let table: [(&[Outcome], Status, Option<StatusReason>); 7] = [
            (&[Ok, Ok], Status::Ok, None),
            (&[Ok, Cancelled], Status::Ok, None),
            (&some, Status::Failed, Some(failed(&some))),
            (
                &[Ok, Unsupported],
                Status::Failed,
                Some(failed(&[Ok, Unsupported])),
            ),
            (
                &[Unsupported, Unsupported],
                Status::NotSupported,
                Some(StatusReason::AllUnsupported),
            ),
            (&[Cancelled], Status::Failed, Some(StatusReason::Cancelled)),
            (&[], Status::Failed, Some(StatusReason::NotRecorded)),
        ];
        for (outcomes, status, reason) in table {
            assert_eq!(facts(outcomes).judge(), (status, reason), "{outcomes:?}");
        }
    }

    #[test]
    fn what_chance_never_chose_has_not_failed() {
        use Outcome::{Cancelled, Ok, Timeout};
        let table: [(&[Outcome], &[Outcome], Completeness, Status); 4] = [
            (
                &[],
                &[Ok, Timeout],
                Completeness::Complete,
                Status::NotDrawn,
            ),
            (&[], &[], Completeness::Complete, Status::Failed),
            (&[], &[Ok], Completeness::Interrupted, Status::Failed),
            // It was drawn.
            (
                &[Cancelled],
                &[Ok, Cancelled],
                Completeness::Complete,
                Status::Failed,
            ),
        ];
        for (outcomes, together, complete, status) in table {
            let facts = StatusFacts {
                together: together.iter().copied().collect(),
                never_drawn: outcomes.is_empty() && !together.is_empty(),
                complete: &complete,
                ..facts(outcomes)
            };
            assert_eq!(facts.judge().0, status, "{outcomes:?} of {together:?}");
        }
    }

    #[test]
    fn what_the_engine_told_comes_first() {
        let found = StatusFacts {
            not_supported: Some(missing("LOCK: 405")),
            test_failed: Some(&evidence("PUT: 500")),
            ..facts(&[Outcome::WrongStatus])
        };
        assert_eq!(
            found.judge(),
            (Status::NotSupported, Some(evidence("LOCK: 405")))
        );
        let found = StatusFacts {
            not_supported: None,
            ..found
        };
        assert_eq!(found.judge(), (Status::Failed, Some(evidence("PUT: 500"))));
    }

    #[test]
    fn what_has_worked_is_supported() {
        let found = StatusFacts {
            not_supported: Some(missing("MKCOL: 405")),
            ..facts(&[Outcome::Ok, Outcome::Unsupported])
        };
        assert_eq!(
            found.judge(),
            (Status::Failed, Some(evidence("MKCOL: 405")))
        );
        let beside = StatusFacts {
            not_supported: Some(missing("FROB: 405")),
            ..facts(&[Outcome::Ok])
        };
        assert_eq!(beside.judge(), (Status::Ok, None));
    }

    #[test]
    fn a_measure_without_operations_is_skipped_where_its_test_is_not_supported() {
        let locks = [Outcome::Unsupported; 3].into_iter().collect();
        let unlock = StatusFacts {
            together: locks,
            ..facts(&[])
        };
        assert_eq!(unlock.judge().0, Status::Skipped);
        let locks = [Outcome::Unsupported, Outcome::Ok].into_iter().collect();
        let unlock = StatusFacts {
            together: locks,
            ..facts(&[])
        };
        assert_eq!(unlock.judge().0, Status::Failed);
    }

    #[test]
    fn a_measure_that_was_never_reached_names_what_stood_in_its_way() {
        let unlock = StatusFacts {
            together: [Outcome::Refused; 3].into_iter().collect(),
            ..facts(&[])
        };
        let reason = StatusReason::NeverReached(unlock.together);
        assert_eq!(unlock.judge(), (Status::Failed, Some(reason)));
    }

    #[test]
    fn the_end_of_the_run_explains_what_was_not_measured() {
        for complete in [Completeness::Interrupted, Completeness::Aborted(None)] {
            let reason = StatusReason::RunEnded {
                interrupted: complete == Completeness::Interrupted,
                began: false,
            };
            let complete = &complete;
            let judged = StatusFacts {
                complete,
                ..facts(&[])
            }
            .judge();
            assert_eq!(judged, (Status::Failed, Some(reason)));
        }
        let measured = StatusFacts {
            complete: &Completeness::Aborted(None),
            measured: true,
            ..facts(&[])
        };
        let reason = Some(StatusReason::NotSaved);
        assert_eq!(measured.judge(), (Status::Failed, reason));
    }
}
