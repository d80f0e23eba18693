//! What became of a test as a whole.

use record::Outcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Completeness, Outcomes};

/// Status of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was measured, and no operation failed.
    Ok,
    /// Something failed, or nothing was measured.
    Failed,
    /// The server does not have the method, or does not claim what the test needs.
    NotSupported,
    /// Not measured, because the server does not have another method that the test needs before.
    Skipped,
    /// The operations of its test are chosen at random, and this one never was.
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

    /// What several runs come to is the worst of them.
    pub(crate) fn badness(self) -> u8 {
        match self {
            Status::Ok => 0,
            Status::NotDrawn => 1,
            Status::Skipped => 2,
            Status::NotSupported => 3,
            Status::Failed => 4,
        }
    }

    /// It was not measured, because the server does not have what it needs. That is no failure.
    pub fn is_beyond_the_server(self) -> bool {
        matches!(self, Status::NotSupported | Status::Skipped)
    }
}

/// Why there is nothing of a row to which chance never came.
const NEVER_DRAWN: &str = "chance never chose it; measure for longer, or give it more weight";

/// Why a test without a single response time has failed: what was asked for was not measured.
const STAMPS_MISSED: &str = "the kernel's time stamps never came, so there is no response time; \
                             measure with --clock user";

/// What the server does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing<'a> {
    /// The method, where it is a step before that of the row: `COPY` before a DELETE.
    pub(crate) of_another_row: Option<&'a str>,
    /// What was attempted, and what came back.
    pub(crate) evidence: &'a str,
}

/// Everything that decides what became of a test.
pub(crate) struct Facts<'a> {
    /// Outcomes of all operations of the measure, inside and outside the window.
    pub(crate) outcomes: Outcomes,
    /// Outcomes of all operations of all measures of its test.
    pub(crate) together: Outcomes,
    /// Chance decides about it, and never came to it.
    pub(crate) never_drawn: bool,
    /// What the engine told about missing support.
    pub(crate) not_supported: Option<Missing<'a>>,
    /// What the engine told about a failed test.
    pub(crate) test_failed: Option<&'a str>,
    /// Description of the first failed operation.
    pub(crate) failure: Option<&'a str>,
    /// The kernel's clock was asked for, and gave no operation a response time.
    pub(crate) stamps_missed: bool,
    /// Whether the run went through.
    pub(crate) complete: &'a Completeness,
}

impl Facts<'_> {
    /// The status, and the evidence for one that is not [`Status::Ok`].
    ///
    /// A test without a single expected answer is never ok: *ok* promises that something was
    /// measured. Operations that an interruption cut off are no failures beside expected ones.
    pub(crate) fn judge(&self) -> (Status, Option<String>) {
        // What has worked is supported: declining it later is a failure, and of another measure of
        // the test it says nothing.
        if let Some(missing) = self.not_supported
            && self.outcomes.ok() == 0
        {
            return match missing.of_another_row {
                None => (Status::NotSupported, Some(missing.evidence.into())),
                Some(method) => {
                    let what = format!("needs {method}, which the server does not support here: ");
                    (Status::Skipped, Some(what + missing.evidence))
                }
            };
        }
        if all_unsupported(&self.outcomes) {
            let evidence = self
                .failure
                .unwrap_or("every request was answered as unsupported");
            return (Status::NotSupported, Some(evidence.into()));
        }
        // Without a lock there is nothing to unlock.
        if self.outcomes.total() == 0 && all_unsupported(&self.together) {
            let what = "every other request of its test was answered as unsupported";
            return (Status::Skipped, Some(what.into()));
        }
        if let Some(evidence) = self.test_failed {
            return (Status::Failed, Some(evidence.into()));
        }
        if self.outcomes.failed() > 0 {
            let counts = || describe_failed(&self.outcomes);
            let missing = self.not_supported.map(|missing| missing.evidence);
            let told = self.failure.or(missing);
            return (
                Status::Failed,
                Some(told.map_or_else(counts, str::to_owned)),
            );
        }
        let others_were = self.together.total() > 0 && *self.complete == Completeness::Complete;
        if self.never_drawn && others_were {
            return (Status::NotDrawn, Some(NEVER_DRAWN.into()));
        }
        if self.outcomes.ok() == 0 {
            return (Status::Failed, Some(self.why_nothing()));
        }
        if self.stamps_missed {
            return (Status::Failed, Some(STAMPS_MISSED.into()));
        }
        (Status::Ok, None)
    }

    fn why_nothing(&self) -> String {
        let began = self.outcomes.total() > 0;
        let end = match self.complete {
            Completeness::Interrupted => "interrupted",
            Completeness::Aborted(_) => "aborted",
            Completeness::Complete if began => return "every operation was cancelled".into(),
            Completeness::Complete if self.together.failed() > 0 => {
                return format!(
                    "it was never reached; of the other operations of its test, {}",
                    describe_failed(&self.together)
                );
            }
            Completeness::Complete => {
                return "nothing was recorded, and the record does not say why".into();
            }
        };
        let before = if began {
            "an operation was completed"
        } else {
            "anything was measured"
        };
        format!("the run was {end} before {before}")
    }
}

/// All operations met a server without the method.
fn all_unsupported(outcomes: &Outcomes) -> bool {
    outcomes.total() > 0 && outcomes.of(Outcome::Unsupported) == outcomes.total()
}

/// Failed operations in words: `3 of 10 failed: 2 wrong status, 1 timeout`.
pub fn describe_failed(outcomes: &Outcomes) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts of a complete run with these outcomes and nothing told.
    fn facts(outcomes: &[Outcome]) -> Facts<'static> {
        let outcomes: Outcomes = outcomes.iter().copied().collect();
        Facts {
            outcomes,
            together: outcomes,
            never_drawn: false,
            not_supported: None,
            test_failed: None,
            failure: None,
            stamps_missed: false,
            complete: &Completeness::Complete,
        }
    }

    /// The row's own method is missing.
    fn own(evidence: &str) -> Missing<'_> {
        Missing {
            of_another_row: None,
            evidence,
        }
    }

    #[test]
    fn a_row_is_skipped_where_a_step_before_it_is_missing() {
        let copy = Missing {
            of_another_row: Some("COPY"),
            evidence: "COPY source/: 403 Forbidden",
        };
        let delete = Facts {
            not_supported: Some(copy),
            ..facts(&[])
        };
        let why = "needs COPY, which the server does not support here: COPY source/: 403 Forbidden";
        assert_eq!(delete.judge(), (Status::Skipped, Some(why.to_owned())));
        // What has worked before was not skipped.
        let before = Facts {
            not_supported: Some(copy),
            ..facts(&[Outcome::Ok])
        };
        assert_eq!(before.judge(), (Status::Ok, None));
    }

    #[test]
    fn one_failure_is_enough_and_cancelled_is_none() {
        use Outcome::{Cancelled, Ok, Timeout, Unsupported, WrongStatus};
        let table: [(&[Outcome], Status, Option<&str>); 7] = [
            (&[Ok, Ok], Status::Ok, None),
            (&[Ok, Cancelled], Status::Ok, None),
            (
                &[Ok, WrongStatus, WrongStatus, Timeout],
                Status::Failed,
                Some("3 of 4 failed: 2 wrong status, 1 timeout"),
            ),
            (
                &[Ok, Unsupported],
                Status::Failed,
                Some("1 of 2 failed: 1 unsupported"),
            ),
            (
                &[Unsupported, Unsupported],
                Status::NotSupported,
                Some("every request was answered as unsupported"),
            ),
            (
                &[Cancelled],
                Status::Failed,
                Some("every operation was cancelled"),
            ),
            (
                &[],
                Status::Failed,
                Some("nothing was recorded, and the record does not say why"),
            ),
        ];
        for (outcomes, status, evidence) in table {
            let judged = facts(outcomes).judge();
            assert_eq!(
                judged,
                (status, evidence.map(str::to_owned)),
                "{outcomes:?}"
            );
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
        for (own, together, complete, status) in table {
            let facts = Facts {
                together: together.iter().copied().collect(),
                never_drawn: own.is_empty(),
                complete: &complete,
                ..facts(own)
            };
            assert_eq!(facts.judge().0, status, "{own:?} of {together:?}");
        }
    }

    #[test]
    fn what_the_engine_told_comes_first() {
        let told = Facts {
            not_supported: Some(own("LOCK: 405")),
            test_failed: Some("PUT: 500"),
            ..facts(&[Outcome::WrongStatus])
        };
        assert_eq!(
            told.judge(),
            (Status::NotSupported, Some("LOCK: 405".into()))
        );
        let told = Facts {
            not_supported: None,
            ..told
        };
        assert_eq!(told.judge(), (Status::Failed, Some("PUT: 500".into())));
    }

    #[test]
    fn what_has_worked_is_supported() {
        let told = Facts {
            not_supported: Some(own("MKCOL: 405")),
            ..facts(&[Outcome::Ok, Outcome::Unsupported])
        };
        assert_eq!(told.judge(), (Status::Failed, Some("MKCOL: 405".into())));
        let beside = Facts {
            not_supported: Some(own("FROB: 405")),
            ..facts(&[Outcome::Ok])
        };
        assert_eq!(beside.judge(), (Status::Ok, None));
    }

    #[test]
    fn a_measure_without_operations_is_skipped_where_its_test_is_not_supported() {
        let locks = [Outcome::Unsupported; 3].into_iter().collect();
        let unlock = Facts {
            together: locks,
            ..facts(&[])
        };
        assert_eq!(unlock.judge().0, Status::Skipped);
        let locks = [Outcome::Unsupported, Outcome::Ok].into_iter().collect();
        let unlock = Facts {
            together: locks,
            ..facts(&[])
        };
        assert_eq!(unlock.judge().0, Status::Failed);
    }

    #[test]
    fn a_measure_that_was_never_reached_names_what_stood_in_its_way() {
        let unlock = Facts {
            together: [Outcome::Refused; 3].into_iter().collect(),
            ..facts(&[])
        };
        let evidence =
            "it was never reached; of the other operations of its test, 3 of 3 failed: 3 refused";
        assert_eq!(unlock.judge(), (Status::Failed, Some(evidence.to_owned())));
    }

    #[test]
    fn the_end_of_the_run_explains_what_was_not_measured() {
        let aborted = Completeness::Aborted("the server is gone".into());
        let table = [
            (
                &Completeness::Interrupted,
                "the run was interrupted before anything was measured",
            ),
            (&aborted, "the run was aborted before anything was measured"),
        ];
        for (complete, evidence) in table {
            let judged = Facts {
                complete,
                ..facts(&[])
            }
            .judge();
            assert_eq!(judged, (Status::Failed, Some(evidence.to_owned())));
        }
    }
}
