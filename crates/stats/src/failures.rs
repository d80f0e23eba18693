//! Failures of a row, grouped by how they ended.

use std::collections::BTreeMap;

use record::{Outcome, Sample};

use crate::StatusReason;

/// Failures that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// How these operations ended; `None` for a reason why the test could not be measured.
    pub outcome: Option<Outcome>,
    /// Status of their responses; `None` where there was no response, or the test failed.
    pub status: Option<u16>,
    /// How many operations these are, inside the window and outside; 0 where the test failed.
    pub count: u64,
    /// One of them; `None` where the record describes none.
    pub example: Option<StatusReason>,
}

/// How an operation failed.
pub(crate) type FailureKind = (Outcome, Option<u16>);

/// Failed operations by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureCounts(BTreeMap<FailureKind, u64>);

impl FailureCounts {
    /// Counts an operation, if it failed.
    pub(crate) fn add(&mut self, sample: &Sample) {
        if sample.outcome.is_failure() {
            *self.0.entry((sample.outcome, sample.status)).or_default() += 1;
        }
    }

    /// Takes in what another one has counted.
    pub(crate) fn merge(&mut self, other: &FailureCounts) {
        for (kind, count) in &other.0 {
            *self.0.entry(*kind).or_default() += count;
        }
    }

    /// Reasons why the test failed, and then the groups of operations, the largest first, each with the
    /// first of the described failures of its kind.
    pub(crate) fn groups(
        &self,
        test_failed: &[StatusReason],
        described: &[(FailureKind, StatusReason)],
    ) -> Vec<FailureGroup> {
        let mut counts = self.0.clone();
        // A killed run may have lost the samples of failures that its events describe.
        for ((outcome, status), _) in described {
            let has_any = self.0.keys().any(|(counted, _)| counted == outcome);
            if !has_any {
                *counts.entry((*outcome, *status)).or_default() += 1;
            }
        }
        let example = |wanted: FailureKind| {
            let mut all = described.iter();
            all.find(|(kind, _)| *kind == wanted)
                .map(|(_, why)| why.clone())
        };
        let mut groups: Vec<FailureGroup> = counts
            .into_iter()
            .map(|((outcome, status), count)| FailureGroup {
                outcome: Some(outcome),
                status,
                count,
                example: example((outcome, status)),
            })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let failed = test_failed.iter().map(|why| FailureGroup {
            outcome: None,
            status: None,
            count: 0,
            example: Some(why.clone()),
        });
        failed.chain(groups).collect()
    }
}

/// The groups of several runs together.
pub(crate) fn together<'a>(groups: impl Iterator<Item = &'a FailureGroup>) -> Vec<FailureGroup> {
    let mut all: Vec<FailureGroup> = Vec::new();
    for group in groups {
        let is_same = |own: &&mut FailureGroup| {
            let alike = (own.outcome, own.status) == (group.outcome, group.status);
            alike && (own.outcome.is_some() || own.example == group.example)
        };
        match all.iter_mut().find(is_same) {
            Some(own) => own.count += group.count,
            None => all.push(group.clone()),
        }
    }
    all.sort_by_key(|group| (group.outcome.is_some(), std::cmp::Reverse(group.count)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(kinds: &[FailureKind]) -> FailureCounts {
        let mut counts = FailureCounts::default();
        for (outcome, status) in kinds {
            counts.add(&Sample {
                outcome: *outcome,
                status: *status,
                ..Sample::blank()
            });
        }
        counts
    }

    fn why(text: &str) -> StatusReason {
        StatusReason::Evidence(text.to_owned())
    }

    #[test]
    fn groups_are_counted_and_have_their_own_examples() {
        use Outcome::{Cancelled, Ok, Reset, Timeout, WrongStatus};
        let (wrong_404, wrong_500) = ((WrongStatus, Some(404)), (WrongStatus, Some(500)));
        let (reset, timeout) = ((Reset, None), (Timeout, None));
        let others = [(Ok, Some(200)), (Cancelled, None), reset];
        let counts = counted(&[&[wrong_404, wrong_500, wrong_404][..], &others].concat());
        let described = [
            (wrong_404, why("404")),
            (wrong_500, why("500")),
            // Its sample is lost.
            (timeout, why("late")),
        ];
        let groups = counts.groups(&[why("set-up")], &described);
        let told: Vec<_> = groups
            .iter()
            .map(|group| (group.outcome, group.status, group.count, &group.example))
            .collect();
        assert_eq!(
            told,
            [
                (None, None, 0, &Some(why("set-up"))),
                (Some(WrongStatus), Some(404), 2, &Some(why("404"))),
                (Some(WrongStatus), Some(500), 1, &Some(why("500"))),
                (Some(Timeout), None, 1, &Some(why("late"))),
                (Some(Reset), None, 1, &None),
            ]
        );
        let twice = together(groups.iter().chain(&groups));
        assert_eq!(twice.len(), groups.len());
        assert_eq!((twice[0].count, twice[1].count), (0, 4));
    }
}
