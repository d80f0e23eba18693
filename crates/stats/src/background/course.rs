//! Background traffic in the order of time: the parts into which a figure of it divides a run.
//!
//! A part is a second, as it was read, or several of them in a long run. Operations beside it are
//! counted in the same [parts](crate::ForegroundPart), so that both can be read at the same moment.

use record::{BackgroundCounts, Event, EventKind, Nanos, Pace, PlanRecord};

use super::MeasuredPart;

/// Parts at most: the number that fits into a figure.
const MOST: u64 = 240;

/// Length of a part without a reading.
const SECOND: Nanos = 1_000_000_000;

/// Background traffic over the time of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BackgroundCourse {
    /// One after the other.
    pub parts: Vec<BackgroundPart>,
    /// When the tests of a suite in rounds were measured, in that order; empty of a load.
    pub tests: Vec<MeasuredPart>,
}

/// A part of the time.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundPart {
    /// When it begins, in nanoseconds since the run began.
    pub from: Nanos,
    /// How long it is.
    pub length: Nanos,
    /// Length of its readings, which may have begun before the run: rates are per second of these.
    pub counted: Nanos,
    /// Counts of the part by component; empty where nothing was read, as there was no traffic.
    pub components: Vec<BackgroundCounts>,
}

impl BackgroundPart {
    /// Its end, in nanoseconds since the run began.
    pub fn to(&self) -> Nanos {
        self.from + self.length
    }

    fn absorb(&mut self, next: &BackgroundPart) {
        self.length = next.to() - self.from;
        self.counted += next.counted;
        if self.components.is_empty() {
            self.components.clone_from(&next.components);
            return;
        }
        for (counts, other) in self.components.iter_mut().zip(&next.components) {
            counts.add(other);
        }
    }
}

impl BackgroundCourse {
    pub(crate) fn of(plan: &PlanRecord, events: &[Event]) -> Option<BackgroundCourse> {
        plan.background.as_ref()?;
        let name = |test: record::TestId| {
            let record = plan.tests.get(usize::from(test.0));
            record.map_or_else(String::new, |test| test.name.clone())
        };
        let tests = MeasuredPart::all(events, name);
        let mut parts = Vec::new();
        let begin = tests.iter().map(|test| test.from).min();
        let mut end = begin.unwrap_or(0);
        for event in events {
            let EventKind::Background(reading) = &event.kind else {
                continue;
            };
            let from = event.at.saturating_sub(reading.span);
            let from = if parts.is_empty() {
                fill(&mut parts, end, from);
                from
            } else {
                from.max(end)
            };
            if event.at > from {
                parts.push(BackgroundPart {
                    from,
                    length: event.at - from,
                    counted: reading.span,
                    components: reading.components.clone(),
                });
                end = event.at;
            }
        }
        // The measurement may go on without the traffic.
        let last = tests.iter().map(|test| test.to).max().unwrap_or(0);
        fill(&mut parts, end, last);
        Some(BackgroundCourse {
            parts: joined(&parts),
            tests: match plan.load.pace {
                Pace::Rounds => tests,
                Pace::Closed | Pace::Open { .. } => Vec::new(),
            },
        })
    }

    /// The index of the part that has a moment.
    pub(crate) fn part_index(&self, moment: Nanos) -> Option<usize> {
        let after = self.parts.partition_point(|part| part.from <= moment);
        let index = after.checked_sub(1)?;
        (moment <= self.parts[index].to()).then_some(index)
    }
}

/// Adds a part without a reading, where there is time for one.
fn fill(parts: &mut Vec<BackgroundPart>, from: Nanos, to: Nanos) {
    if from < to {
        parts.push(silence(from, to - from));
    }
}

fn silence(from: Nanos, length: Nanos) -> BackgroundPart {
    BackgroundPart {
        from,
        length,
        counted: 0,
        components: Vec::new(),
    }
}

/// Merges as many neighbours as need be, a second without a reading being one of them. A part with
/// traffic is not merged with one without.
fn joined(parts: &[BackgroundPart]) -> Vec<BackgroundPart> {
    let is_silent = |part: &BackgroundPart| part.components.is_empty();
    let seconds = |part: &BackgroundPart| match part.components.as_slice() {
        [] => part.length.div_ceil(SECOND),
        [..] => 1,
    };
    let many = parts.iter().map(seconds).fold(0, u64::saturating_add);
    let many = many.div_ceil(MOST).max(1);
    let of_a_kind =
        parts.chunk_by(|one, other| is_silent(one) == is_silent(other) && one.to() == other.from);
    let mut all = Vec::new();
    for parts in of_a_kind {
        let Some((first, last)) = parts.first().zip(parts.last()) else {
            continue;
        };
        if is_silent(first) {
            let length = many.saturating_mul(SECOND);
            let mut from = first.from;
            while from < last.to() {
                all.push(silence(from, length.min(last.to() - from)));
                from = from.saturating_add(length);
            }
            continue;
        }
        for chunk in parts.chunks(usize::try_from(many).unwrap_or(usize::MAX)) {
            let whole = chunk.iter().cloned().reduce(|mut whole, next| {
                whole.absorb(&next);
                whole
            });
            all.extend(whole);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use record::{BackgroundReading, BackgroundRecord, TestId};

    use super::*;
    use crate::testing::RunBuilder;

    fn plan() -> PlanRecord {
        let background = BackgroundRecord {
            file: "load.yaml".to_owned(),
            load: "busy".to_owned(),
            seed: 1,
            in_process: true,
            checked_stable: true,
            components: Vec::new(),
            generators: Vec::new(),
        };
        let builder = RunBuilder::new(1)
            .test("Put", &[("Put", "PUT")])
            .test("Get", &[("Get", "GET")]);
        PlanRecord {
            background: Some(background),
            ..builder.build().plan
        }
    }

    fn at(ms: Nanos, kind: EventKind) -> Event {
        let at = ms * 1_000_000;
        Event { at, kind }
    }

    fn reading(ms: Nanos, span_ms: Nanos, received_bytes: u64) -> Event {
        let counts = BackgroundCounts {
            received_bytes,
            ..BackgroundCounts::default()
        };
        let reading = BackgroundReading {
            span: span_ms * 1_000_000,
            components: vec![counts],
        };
        at(ms, EventKind::Background(reading))
    }

    fn parts(course: &BackgroundCourse) -> Vec<(Nanos, Nanos, Option<u64>)> {
        let part = |part: &BackgroundPart| {
            let bytes = part.components.first().map(|counts| counts.received_bytes);
            assert_eq!(part.counted > 0, bytes.is_some());
            (part.from / 1_000_000, part.length / 1_000_000, bytes)
        };
        course.parts.iter().map(part).collect()
    }

    #[test]
    fn parts_are_seconds_and_go_on_while_something_is_measured() {
        let measuring = [
            at(500, EventKind::MeasuringStarted { test: TestId(0) }),
            at(1500, EventKind::MeasuringEnded { test: TestId(0) }),
            at(1600, EventKind::MeasuringStarted { test: TestId(1) }),
            at(4300, EventKind::MeasuringEnded { test: TestId(1) }),
        ];
        // The first began before the run; of the second, the clock of the sink was ahead.
        let readings = [
            reading(700, 1000, 1),
            reading(1700, 1010, 2),
            reading(2000, 300, 3),
        ];
        let events = [&measuring[..], &readings[..]].concat();
        let course = BackgroundCourse::of(&plan(), &events).unwrap();
        assert_eq!(
            parts(&course),
            [
                (0, 700, Some(1)),
                (700, 1000, Some(2)),
                (1700, 300, Some(3)),
                (2000, 1000, None),
                (3000, 1000, None),
                (4000, 300, None),
            ]
        );
        let names: Vec<&str> = course.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["Put", "Get"]);
        let counted: Vec<Nanos> = course.parts.iter().map(|part| part.counted).collect();
        assert_eq!(counted[..2], [SECOND, 1_010_000_000]);
        for (ms, index) in [
            (0, Some(0)),
            (699, Some(0)),
            (1700, Some(2)),
            (4300, Some(5)),
        ] {
            assert_eq!(course.part_index(ms * 1_000_000), index, "{ms}");
        }
        assert_eq!(course.part_index(4_301_000_000), None);
        let without = BackgroundCourse::of(&plan(), &measuring).unwrap();
        assert_eq!(parts(&without)[0], (500, 1000, None));
        let other = PlanRecord {
            background: None,
            inside: None,
            ..plan()
        };
        assert_eq!(BackgroundCourse::of(&other, &events), None);
    }

    #[test]
    fn a_long_run_has_no_more_parts_and_loses_nothing() {
        let events: Vec<Event> = (1..=10_000)
            .map(|second| reading(second * 1000, 1000, second))
            .collect();
        let course = BackgroundCourse::of(&plan(), &events).unwrap();
        assert!((200..=MOST).contains(&(course.parts.len() as u64)));
        let bytes: u64 = parts(&course)
            .iter()
            .filter_map(|(_, _, bytes)| *bytes)
            .sum();
        assert_eq!(bytes, 10_000 * 10_001 / 2);
        let ends = course
            .parts
            .windows(2)
            .all(|two| two[0].to() == two[1].from);
        assert!(ends && course.parts.last().unwrap().to() == 10_000 * SECOND);
    }

    #[test]
    fn years_without_a_reading_are_as_many_parts_as_a_figure_has_room_for() {
        let events = [
            at(500, EventKind::MeasuringStarted { test: TestId(0) }),
            reading(1000, 1000, 1),
            at(
                10_000_000_000_000,
                EventKind::MeasuringEnded { test: TestId(0) },
            ),
        ];
        let course = BackgroundCourse::of(&plan(), &events).unwrap();
        assert!((200..=MOST + 2).contains(&(course.parts.len() as u64)));
        let ends = course
            .parts
            .windows(2)
            .all(|two| two[0].to() == two[1].from);
        assert!(
            ends && parts(&course)
                .iter()
                .filter(|part| part.2.is_some())
                .count()
                == 1
        );
    }
}
