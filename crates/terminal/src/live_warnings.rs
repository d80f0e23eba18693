//! Warnings about a load while it goes on, so that an inconclusive result is known early.

use std::collections::{BTreeMap, VecDeque};

use record::{Generator, PlanRecord};
use stats::{Lately, Warning, WarningKind, warnings_about};

/// Seconds that are judged together: a single one has too many outliers.
const TOGETHER: usize = 5;
/// Seconds before a disqualifying warning is repeated. Any other is given once.
const RESPITE: u64 = 10;

/// State of the warnings about the last seconds.
#[derive(Default)]
pub(crate) struct LiveWarnings {
    seconds: VecDeque<(Generator, Lately)>,
    second: u64,
    /// Second of the last warning of each kind.
    reported_at: BTreeMap<WarningKind, u64>,
}

impl LiveWarnings {
    /// Adds a second; returns new warnings.
    pub(crate) fn look(
        &mut self,
        generator: &Generator,
        lately: &Lately,
        plan: &PlanRecord,
    ) -> Vec<Warning> {
        self.second += 1;
        if self.seconds.len() == TOGETHER {
            self.seconds.pop_front();
        }
        self.seconds.push_back((generator.clone(), *lately));
        let seconds = self.seconds.iter().cloned();
        let all = seconds.reduce(|sum, next| (both(&sum.0, &next.0), plus(&sum.1, &next.1)));
        let mut warnings = all.map_or_else(Vec::new, |(generator, lately)| {
            warnings_about("the last seconds", &generator, &lately, plan)
        });
        warnings.retain(|warning| self.is_news(warning));
        warnings
    }

    fn is_news(&mut self, warning: &Warning) -> bool {
        let last_reported = self.reported_at.get(&warning.kind);
        let is_news = last_reported.is_none_or(|last_reported| {
            warning.disqualifies() && self.second >= last_reported + RESPITE
        });
        if is_news {
            self.reported_at.insert(warning.kind, self.second);
        }
        is_news
    }
}

/// Sums two intervals. Lateness is that of the later one, if it has any; exhausted resources are
/// counted from the beginning of the run.
fn both(sum: &Generator, next: &Generator) -> Generator {
    Generator {
        lateness: next.lateness.or(sum.lateness),
        exhausted: next.exhausted,
        ..stats::together(sum, next)
    }
}

/// Sums two intervals. Percentiles are those of the later one, if it has any.
fn plus(sum: &Lately, next: &Lately) -> Lately {
    Lately {
        operations: sum.operations + next.operations,
        under_way: sum.under_way + next.under_way,
        answers: (
            sum.answers.0 + next.answers.0,
            sum.answers.1 + next.answers.1,
        ),
        bias: if next.bias.0 > 0 { next.bias } else { sum.bias },
        response: if next.response > 0 {
            next.response
        } else {
            sum.response
        },
    }
}

#[cfg(test)]
mod tests {
    use record::{Exhausted, Lateness, TestId};

    use super::*;

    const MS: u64 = 1_000_000;

    const LATE: Lateness = Lateness {
        n: 1_000,
        p50: MS,
        p99: 5 * MS,
        max: 9 * MS,
    };

    /// A second of an idle generator, with four users who always have an operation in flight.
    fn second() -> (Generator, Lately) {
        let generator = Generator {
            test: TestId(0),
            workers: 1,
            wall: 1_000 * MS,
            cpu: 300 * MS,
            queued: Some(5 * MS),
            stalled: 0,
            stalls: 0,
            longest_stall: 0,
            rested: 0,
            waited: 0,
            lateness: None,
            exhausted: Exhausted::default(),
        };
        let lately = Lately {
            operations: 4_000,
            under_way: u128::from(4 * 1_000 * MS),
            answers: (4_000, 0),
            bias: (4_000, 20_000),
            response: MS,
        };
        (generator, lately)
    }

    fn plan() -> PlanRecord {
        let run = stats::testing::RunBuilder::new(4)
            .with(|run| run.plan.load.pace = record::Pace::Closed);
        run.build().plan
    }

    fn kinds(
        warnings: &mut LiveWarnings,
        (generator, lately): &(Generator, Lately),
    ) -> Vec<&'static str> {
        let warnings = warnings.look(generator, lately, &plan());
        warnings.iter().map(|warning| warning.kind.name()).collect()
    }

    #[test]
    fn each_warning_is_given_when_it_happens_and_not_before() {
        type Change = fn(&mut Generator, &mut Lately);
        let table: [(Change, &[&str]); 10] = [
            (|_, _| {}, &[]),
            (|stats, _| stats.cpu = 990 * MS, &["saturated"]),
            (|stats, _| stats.queued = Some(150 * MS), &["queued"]),
            (
                |stats, _| (stats.stalled, stats.longest_stall) = (60 * MS, 60 * MS),
                &["stalled"],
            ),
            (|stats, _| stats.lateness = Some(LATE), &["late"]),
            (|stats, _| stats.exhausted.ports = 3, &["exhausted"]),
            (|_, lately| lately.under_way /= 3, &["half_idle"]),
            (
                |stats, lately| {
                    lately.under_way /= 3;
                    stats.rested = 3_000 * MS;
                },
                &[],
            ),
            (|_, lately| lately.answers.1 = 100, &["missed_stamps"]),
            (
                |_, lately| lately.bias.1 = (2 * MS).cast_signed(),
                &["bias"],
            ),
        ];
        for (change, expected) in table {
            let mut second = second();
            change(&mut second.0, &mut second.1);
            assert_eq!(kinds(&mut LiveWarnings::default(), &second), expected);
        }
    }

    #[test]
    fn a_warning_that_disqualifies_is_given_again_after_a_while_and_any_other_once() {
        let mut warnings = LiveWarnings::default();
        let (mut generator, mut lately) = second();
        generator.stalled = 60 * MS;
        lately.answers.1 = 100;
        let mut reported = Vec::new();
        for at in 1..=25 {
            let kinds = kinds(&mut warnings, &(generator.clone(), lately));
            reported.extend(kinds.into_iter().map(|kind| (at, kind)));
        }
        let stalled = |at| (at, "stalled");
        let expected = [stalled(1), (1, "missed_stamps"), stalled(11), stalled(21)];
        assert_eq!(reported, expected);
    }

    #[test]
    fn a_short_moment_is_judged_with_the_seconds_around_it() {
        let mut warnings = LiveWarnings::default();
        let mut all = Vec::new();
        for at in 0..10 {
            let (mut generator, lately) = second();
            // 2 % of this second, and half a percent of five.
            generator.stalled = if at == 4 { 20 * MS } else { 0 };
            all.extend(kinds(&mut warnings, &(generator, lately)));
        }
        assert!(all.is_empty(), "{all:?}");
    }
}
