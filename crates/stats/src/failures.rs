//! Failures of a row, grouped by how they ended.

use std::collections::BTreeMap;

use record::{Nanos, Outcome, Sample};

use crate::StatusReason;
use crate::window::{Span, end};

/// In a shorter window it does not matter when failures came.
const SHORTEST_WINDOW: Nanos = 1_000_000_000;

/// Failures that ended alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    /// How these operations ended; `None` for a reason why the test could not be measured.
    pub outcome: Option<Outcome>,
    /// Status of their responses; `None` where there was no response, or the test failed.
    pub status: Option<u16>,
    /// How many operations these are, inside the window and outside; 0 where the test failed.
    pub count: u64,
    /// When the first and the last of them ended, from the beginning of the window on. `None` where
    /// the window has less than a second, and for several runs.
    pub ended: Option<(Nanos, Nanos)>,
    /// One of them; `None` where the record describes none.
    pub example: Option<StatusReason>,
}

pub(crate) type FailureKind = (Outcome, Option<u16>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureCounts(BTreeMap<FailureKind, FailureTally>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct FailureTally {
    count: u64,
    ended: Span,
}

impl FailureTally {
    fn merge(&mut self, other: &FailureTally) {
        self.count += other.count;
        self.ended = self.ended.hull(other.ended);
    }
}

impl FailureCounts {
    pub(crate) fn add(&mut self, sample: &Sample) {
        if sample.outcome.is_failure() {
            let ended = end(sample);
            let one = FailureTally {
                count: 1,
                ended: Span {
                    start: ended,
                    end: ended,
                },
            };
            self.add_tally((sample.outcome, sample.status), &one);
        }
    }

    pub(crate) fn merge(&mut self, other: &FailureCounts) {
        for (kind, tally) in &other.0 {
            self.add_tally(*kind, tally);
        }
    }

    fn add_tally(&mut self, kind: FailureKind, tally: &FailureTally) {
        let known = self.0.entry(kind);
        known
            .and_modify(|known| known.merge(tally))
            .or_insert_with(|| tally.clone());
    }

    /// Reasons why the test failed, and then the groups of operations, the largest first, each with
    /// the first of the described failures of its kind.
    pub(crate) fn groups(
        &self,
        test_failed: &[StatusReason],
        described: &[(FailureKind, StatusReason)],
        window: Option<Span>,
    ) -> Vec<FailureGroup> {
        let window = window.filter(|window| window.end - window.start >= SHORTEST_WINDOW);
        let in_window = |tally: &FailureTally| {
            let since = |moment: Nanos| Some(moment.saturating_sub(window?.start));
            since(tally.ended.start).zip(since(tally.ended.end))
        };
        let tallies = self.0.iter();
        let tallies = tallies.map(|(kind, tally)| (*kind, (tally.count, in_window(tally))));
        let mut counts: BTreeMap<FailureKind, (u64, Option<(Nanos, Nanos)>)> = tallies.collect();
        // A killed run may have lost the samples of failures that its events describe.
        for ((outcome, status), _) in described {
            let has_any = self.0.keys().any(|(counted, _)| counted == outcome);
            if !has_any {
                counts.entry((*outcome, *status)).or_default().0 += 1;
            }
        }
        let example = |wanted: FailureKind| {
            let mut all = described.iter();
            all.find(|(kind, _)| *kind == wanted)
                .map(|(_, why)| why.clone())
        };
        let mut groups: Vec<FailureGroup> = counts
            .into_iter()
            .map(|((outcome, status), (count, ended))| FailureGroup {
                outcome: Some(outcome),
                status,
                count,
                ended,
                example: example((outcome, status)),
            })
            .collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        let failed = test_failed.iter().map(|why| FailureGroup {
            outcome: None,
            status: None,
            count: 0,
            ended: None,
            example: Some(why.clone()),
        });
        failed.chain(groups).collect()
    }
}

/// The groups of runs merged. Moments are those of one window: of several runs, there are none.
pub(crate) fn together<'a>(
    runs: impl ExactSizeIterator<Item = &'a [FailureGroup]>,
) -> Vec<FailureGroup> {
    let is_one = runs.len() == 1;
    let mut all: Vec<FailureGroup> = Vec::new();
    for group in runs.flatten() {
        let is_same = |known: &&mut FailureGroup| {
            let alike = (known.outcome, known.status) == (group.outcome, group.status);
            alike && (known.outcome.is_some() || known.example == group.example)
        };
        match all.iter_mut().find(is_same) {
            Some(known) => known.count += group.count,
            None => all.push(FailureGroup {
                ended: group.ended.filter(|_| is_one),
                ..group.clone()
            }),
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
        let groups = counts.groups(&[why("set-up")], &described, None);
        let found: Vec<_> = groups
            .iter()
            .map(|group| (group.outcome, group.status, group.count, &group.example))
            .collect();
        assert_eq!(
            found,
            [
                (None, None, 0, &Some(why("set-up"))),
                (Some(WrongStatus), Some(404), 2, &Some(why("404"))),
                (Some(WrongStatus), Some(500), 1, &Some(why("500"))),
                (Some(Timeout), None, 1, &Some(why("late"))),
                (Some(Reset), None, 1, &None),
            ]
        );
        let twice = together([&groups[..], &groups].into_iter());
        assert_eq!(twice.len(), groups.len());
        assert_eq!((twice[0].count, twice[1].count), (0, 4));
    }

    #[test]
    fn failures_have_their_moments_in_the_window() {
        const S: Nanos = 1_000_000_000;
        let failed = |done: Nanos| {
            let mut sample = Sample {
                outcome: Outcome::WrongStatus,
                status: Some(502),
                ..Sample::blank()
            };
            sample.moments.started = done - 1;
            sample.moments.done = Some(done);
            sample
        };
        let mut counts = FailureCounts::default();
        let mut others = FailureCounts::default();
        counts.add(&failed(7 * S));
        others.add(&failed(5 * S));
        others.add(&failed(6 * S));
        counts.merge(&others);
        let ended = |start, end| {
            let window = Span { start, end };
            counts.groups(&[], &[], Some(window))[0].ended
        };
        assert_eq!(ended(4 * S, 8 * S), Some((S, 3 * S)));
        // In the run-in, and after the window.
        assert_eq!(ended(6 * S, 7 * S), Some((0, S)));
        assert_eq!(ended(6 * S, 7 * S - 1), None);
        let group = counts.groups(
            &[],
            &[],
            Some(Span {
                start: 0,
                end: 8 * S,
            }),
        );
        assert_eq!(together([&group[..]].into_iter()), group);
        assert_eq!(together([&group[..], &group].into_iter())[0].ended, None);
    }
}
