//! Times when background traffic was not the described load, and the tests measured then.
//!
//! The network may treat a load as it likes: drops, delays and limits are the subject of an
//! experiment. Faults are those of the ends: traffic that ended, connections that failed, and
//! sources that did not keep their schedules.

use record::{BackgroundEnd, BackgroundReading, Event, EventKind, Nanos, TestId};

use super::MeasuredPart;
use crate::Share;

/// The greatest p99 of lateness with which sources kept their schedules: 10 ms. Readings are of
/// seconds; blocks that are 10 ms late change the rate in one by 1 %.
pub const LATE_BLOCKS: Nanos = 10_000_000;

/// Percent of the blocks of a test above which sources that do not send them send another load.
pub const UNSENT_BLOCKS: u64 = 1;

/// Blocks below which p99 of their lateness is the maximum (nearest rank).
const LATE_NEEDS: u64 = 100;

/// Tests that were measured beside another load than the described one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct BackgroundFaults {
    /// Nanoseconds of their measurement after the traffic had ended by itself, of all.
    pub(crate) without: Vec<Share>,
    /// Nanoseconds of their measurement after a connection had failed, of all.
    pub(crate) failed_flows: Vec<Share>,
    /// Blocks that were not sent while they were measured, of all.
    pub(crate) unsent: Vec<Share>,
    /// p99 of the lateness of blocks in nanoseconds, of the limit.
    pub(crate) late: Vec<Share>,
}

impl BackgroundFaults {
    /// Of the events of a run; `name` is that of the part of it that a test belongs to.
    pub(crate) fn of(events: &[Event], name: impl Fn(TestId) -> String) -> BackgroundFaults {
        let seen = SeenTraffic::of(events);
        if seen.readings.is_empty() && seen.end.is_none() {
            return BackgroundFaults::default();
        }
        let measured = MeasuredPart::all(events, name);
        let shares = |share: &dyn Fn(&MeasuredPart) -> Option<Share>| -> Vec<Share> {
            measured.iter().filter_map(share).collect()
        };
        BackgroundFaults {
            without: shares(&|part| part.after(seen.failure()?)),
            failed_flows: shares(&|part| part.after(seen.first_failed_flow()?)),
            unsent: shares(&|part| seen.unsent(part)),
            late: shares(&|part| seen.late(part)),
        }
    }
}

/// Background traffic as a run recorded it.
struct SeenTraffic<'a> {
    readings: Vec<(Nanos, &'a BackgroundReading)>,
    end: Option<(Nanos, &'a BackgroundEnd)>,
}

impl<'a> SeenTraffic<'a> {
    fn of(events: &'a [Event]) -> SeenTraffic<'a> {
        let (mut readings, mut end) = (Vec::new(), None);
        for event in events {
            match &event.kind {
                EventKind::Background(reading) => readings.push((event.at, reading)),
                EventKind::BackgroundEnded(how) => end = Some((event.at, how)),
                _ => {}
            }
        }
        SeenTraffic { readings, end }
    }

    /// When it ended by itself.
    fn failure(&self) -> Option<Nanos> {
        let (at, end) = self.end?;
        end.failure.as_ref().map(|_| at)
    }

    /// The latest moment at which no connection had failed.
    fn first_failed_flow(&self) -> Option<Nanos> {
        let failed = |reading: &BackgroundReading| -> u64 {
            reading
                .components
                .iter()
                .map(|component| component.failed_flows)
                .sum()
        };
        let mut readings = self.readings.iter();
        let seen = readings.find(|(_, reading)| failed(reading) > 0);
        let seen = seen.map(|(at, reading)| at.saturating_sub(reading.span));
        let in_readings: u64 = self
            .readings
            .iter()
            .map(|(_, reading)| failed(reading))
            .sum();
        let totals = self.end.iter().flat_map(|(_, end)| &end.components);
        let in_all: u64 = totals
            .map(|component| u64::from(component.failed_flows))
            .sum();
        if in_all <= in_readings {
            return seen;
        }
        // Those that no reading failed before the run began, or by the end of the traffic after it.
        match (self.failure(), self.readings.last()) {
            (Some(_), Some((last, _))) => Some(seen.unwrap_or(*last)),
            _ => Some(0),
        }
    }

    /// Blocks that were not sent while a test was measured. Only flows with schedules have some,
    /// and their blocks are numbered, so that all that were sent have arrived or are lost.
    fn unsent(&self, part: &MeasuredPart) -> Option<Share> {
        let (mut unsent, mut sent) = (0, 0);
        for (at, reading) in &self.readings {
            if *at > part.from && at.saturating_sub(reading.span) < part.to {
                for component in &reading.components {
                    unsent += component.unsent_blocks;
                    sent += component.received + component.lost;
                }
            }
        }
        let all = unsent + sent;
        (unsent * 100 > all * UNSENT_BLOCKS).then(|| part.share(unsent, all))
    }

    /// Pacing is known of the whole time only.
    fn late(&self, part: &MeasuredPart) -> Option<Share> {
        let pacing = self.end?.1.pacing;
        let is_late = pacing.blocks >= LATE_NEEDS && pacing.p99_ns > LATE_BLOCKS;
        is_late.then(|| part.share(pacing.p99_ns, LATE_BLOCKS))
    }
}

#[cfg(test)]
mod tests {
    use record::{BackgroundCounts, BackgroundPacing, BackgroundTotals};

    use super::*;

    const SECOND: Nanos = 1_000_000_000;
    const MS: Nanos = 1_000_000;

    fn end() -> BackgroundEnd {
        BackgroundEnd {
            elapsed: 9 * SECOND,
            components: vec![BackgroundTotals::default()],
            pacing: BackgroundPacing::default(),
            failure: None,
            generators: Vec::new(),
        }
    }

    /// Tests A from 1 s to 3 s and B from 5 s to 9 s, a reading each second with these failed flows
    /// and unsent blocks of a hundred, and an end at a moment.
    fn faults(
        failed: [u64; 9],
        unsent: [u64; 9],
        at: Nanos,
        end: BackgroundEnd,
    ) -> BackgroundFaults {
        let started = |test| EventKind::MeasuringStarted { test: TestId(test) };
        let ended = |test| EventKind::MeasuringEnded { test: TestId(test) };
        let moments = [
            (1, started(0)),
            (3, ended(0)),
            (5, started(1)),
            (9, ended(1)),
        ];
        let mut events: Vec<Event> = moments
            .into_iter()
            .map(|(at, kind)| Event {
                at: at * SECOND,
                kind,
            })
            .collect();
        for second in 0..9 {
            let counts = BackgroundCounts {
                received: 90 - unsent[second],
                lost: 10,
                unsent_blocks: unsent[second],
                failed_flows: failed[second],
                ..BackgroundCounts::default()
            };
            events.push(Event {
                at: (second as u64 + 1) * SECOND,
                kind: EventKind::Background(BackgroundReading {
                    span: SECOND,
                    components: vec![counts, BackgroundCounts::default()],
                }),
            });
        }
        let kind = EventKind::BackgroundEnded(end);
        events.push(Event { at, kind });
        BackgroundFaults::of(&events, |test| ["A", "B"][usize::from(test.0)].to_owned())
    }

    fn listed<'a>(shares: &'a [Share]) -> Vec<(&'a str, u64, u64)> {
        let share = |share: &'a Share| (share.name.as_str(), share.count, share.of);
        shares.iter().map(share).collect()
    }

    const NONE: [u64; 9] = [0; 9];

    #[test]
    fn traffic_by_its_description_has_no_faults() {
        let pacing = BackgroundPacing {
            blocks: 1000,
            p99_ns: LATE_BLOCKS,
            max_ns: 90 * MS,
            ..BackgroundPacing::default()
        };
        let found = faults(NONE, [1; 9], 9 * SECOND, BackgroundEnd { pacing, ..end() });
        assert_eq!(found, BackgroundFaults::default());
        assert_eq!(
            BackgroundFaults::of(&[], |_| unreachable!("there is no test")),
            BackgroundFaults::default()
        );
    }

    #[test]
    fn tests_that_outlive_the_traffic_are_named_with_the_time_without_it() {
        let failure = Some("the sink died".to_owned());
        let found = faults(NONE, NONE, 6 * SECOND, BackgroundEnd { failure, ..end() });
        assert_eq!(listed(&found.without), [("B", 3 * SECOND, 4 * SECOND)]);
        assert_eq!(found.failed_flows, []);
        let failure = Some("the sink died".to_owned());
        let found = faults(NONE, NONE, 10 * SECOND, BackgroundEnd { failure, ..end() });
        assert_eq!(found, BackgroundFaults::default());
    }

    #[test]
    fn connections_that_fail_count_from_the_second_in_which_they_did() {
        let with = |failed_flows, failure: Option<&str>| BackgroundEnd {
            components: vec![BackgroundTotals {
                failed_flows,
                ..BackgroundTotals::default()
            }],
            failure: failure.map(str::to_owned),
            generators: Vec::new(),
            ..end()
        };
        let late = [0, 0, 0, 0, 0, 0, 0, 1, 0];
        let (all, before) = (&[("A", 2, 2), ("B", 4, 4)][..], &[("B", 2, 4)][..]);
        let table = [
            // The eighth second begins at 7 s.
            (late, with(1, None), 9, before),
            // One that no reading has failed before the run.
            (late, with(2, None), 9, all),
            (NONE, with(1, None), 9, all),
            // By the end of the traffic.
            (late, with(3, Some("it died")), 9, before),
            (NONE, with(3, Some("it died")), 9, &[][..]),
            (NONE, with(0, None), 9, &[][..]),
        ];
        for (failed, end, at, expected) in table {
            let found = faults(failed, NONE, at * SECOND, end.clone());
            let found = listed(&found.failed_flows);
            let expected = expected
                .iter()
                .map(|(name, count, of)| (*name, count * SECOND, of * SECOND));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{failed:?} {end:?}");
        }
    }

    #[test]
    fn sources_that_do_not_keep_their_schedules_are_named() {
        // In the seconds of the first test.
        let unsent = [50, 2, 2, 50, 50, 1, 0, 0, 0];
        let found = faults(NONE, unsent, 9 * SECOND, end());
        assert_eq!(listed(&found.unsent), [("A", 4, 200)]);
        let pacing = |blocks, p99_ns| BackgroundPacing {
            blocks,
            p99_ns,
            ..BackgroundPacing::default()
        };
        for (pacing, is_late) in [
            (pacing(100, 11 * MS), true),
            (pacing(99, 11 * MS), false),
            (pacing(100, 10 * MS), false),
        ] {
            let found = faults(NONE, NONE, 9 * SECOND, BackgroundEnd { pacing, ..end() });
            let expected = [("A", 11 * MS, LATE_BLOCKS), ("B", 11 * MS, LATE_BLOCKS)];
            assert_eq!(
                listed(&found.late),
                &expected[..if is_late { 2 } else { 0 }]
            );
        }
    }
}
