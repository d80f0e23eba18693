//! Counts of the sinks of background traffic while a run measured.

mod course;
mod faults;
mod measured;

use constraint::{
    ALL_COMPONENTS, BackgroundCharacteristic, ConstraintFigure, Known, PartOfRun, WhyUnknown,
};
use record::{
    BackgroundCounts, BackgroundEnd, BackgroundReading, Event, EventKind, Nanos, PlanRecord,
};

pub use course::{BackgroundCourse, BackgroundPart};
pub(crate) use faults::BackgroundFaults;
pub use faults::{LATE_BLOCKS, UNSENT_BLOCKS};
pub use measured::MeasuredPart;

const SECOND: f64 = 1e9;

/// Background traffic beside a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BackgroundSummary {
    /// Counts of each second, with the moment at which it ended, in nanoseconds of the run.
    pub seconds: Vec<(Nanos, BackgroundReading)>,
    /// When the first test began to measure, and the last one ended. Seconds count whose middle
    /// lies between them, and where the measurement was too short for that, those that overlap it.
    pub measured: (Nanos, Nanos),
    /// The same in the order of time, for figures.
    pub course: BackgroundCourse,
    /// How it ended, and when; `None` where the run was cut off.
    pub end: Option<(Nanos, BackgroundEnd)>,
}

/// Counts of flows while a run measured, or in a part of that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackgroundFigures {
    /// Length of all seconds that count.
    pub span: Nanos,
    /// How many there are.
    pub seconds: u64,
    /// Counts; jitter is the mean of the seconds, and delay variation the longest.
    pub counts: BackgroundCounts,
}

impl BackgroundFigures {
    /// Bits of payload per second that arrived.
    pub fn received_bps(&self) -> f64 {
        self.counts.received_bytes as f64 * 8.0 * SECOND / self.span.max(1) as f64
    }
}

impl BackgroundSummary {
    /// Of a run whose plan has background traffic.
    pub(crate) fn of(plan: &PlanRecord, events: &[Event]) -> Option<BackgroundSummary> {
        plan.background.as_ref()?;
        let mut summary = BackgroundSummary::default();
        let (mut begun, mut ended, mut last) = (None, None, 0);
        for event in events {
            match &event.kind {
                EventKind::Background(reading) => {
                    summary.seconds.push((event.at, reading.clone()));
                }
                EventKind::BackgroundEnded(end) => summary.end = Some((event.at, end.clone())),
                EventKind::MeasuringStarted { .. } => {
                    begun.get_or_insert(event.at);
                }
                EventKind::MeasuringEnded { .. } => ended = Some(event.at),
                _ => {}
            }
            last = last.max(event.at);
        }
        summary.course = BackgroundCourse::of(plan, events).unwrap_or_default();
        summary.measured = (begun.unwrap_or(0), ended.unwrap_or(last));
        Some(summary)
    }

    /// Figures of the measured part, or of the last seconds of it; of one component by its index,
    /// or of all. `None` where no second counts.
    pub fn figures(&self, component: Option<usize>, part: PartOfRun) -> Option<BackgroundFigures> {
        let (from, to) = self.measured;
        let from = match part {
            PartOfRun::Last(seconds) => from.max(to.saturating_sub((seconds * SECOND) as Nanos)),
            PartOfRun::Whole | PartOfRun::Stage(_) => from,
        };
        let in_middle = |(at, reading): &(Nanos, BackgroundReading)| {
            let middle = at.saturating_sub(reading.span / 2);
            (from..=to).contains(&middle)
        };
        let overlaps = |(at, reading): &(Nanos, BackgroundReading)| {
            *at > from && at.saturating_sub(reading.span) < to
        };
        let has_middle = self.seconds.iter().any(in_middle);
        let counts = |second: &&(Nanos, BackgroundReading)| {
            if has_middle {
                in_middle(second)
            } else {
                overlaps(second)
            }
        };
        let mut sum = BackgroundFigures::default();
        let (mut jitter, mut with_jitter) = (0_u64, 0);
        for (_, reading) in self.seconds.iter().filter(counts) {
            sum.span += reading.span;
            sum.seconds += 1;
            let of = |(index, _): &(usize, &BackgroundCounts)| {
                component.is_none_or(|component| component == *index)
            };
            for (_, counts) in reading.components.iter().enumerate().filter(of) {
                sum.counts.add(counts);
                jitter += counts.jitter.unwrap_or(0);
                with_jitter += u64::from(counts.jitter.is_some());
            }
        }
        sum.counts.jitter = jitter.checked_div(with_jitter);
        (sum.seconds > 0).then_some(sum)
    }

    /// A figure of the language of constraints. During a run it may still take any other value.
    pub(crate) fn figure(
        &self,
        plan: &PlanRecord,
        of: BackgroundCharacteristic,
        component: &str,
        part: PartOfRun,
        goes_on: bool,
    ) -> ConstraintFigure {
        let components = plan
            .background
            .iter()
            .flat_map(|background| &background.components);
        let index = components
            .into_iter()
            .position(|known| known.name == component);
        if index.is_none() && component != ALL_COMPONENTS {
            return ConstraintFigure::Unknown(WhyUnknown::NoBackground);
        }
        let Some(figures) = self.figures(index, part) else {
            return ConstraintFigure::Unknown(WhyUnknown::NoOperation);
        };
        let time = |ns: Option<Nanos>| ns.map(|ns| ns as f64 / SECOND);
        let value = match of {
            BackgroundCharacteristic::Rate => Some(figures.received_bps() / 8.0),
            BackgroundCharacteristic::Loss => figures.counts.loss(),
            BackgroundCharacteristic::DelayVariation => time(figures.counts.delay_variation),
            BackgroundCharacteristic::Jitter => time(figures.counts.jitter),
        };
        let Some(value) = value else {
            return ConstraintFigure::Unknown(WhyUnknown::NoTime);
        };
        let known = |low, high| Known {
            value,
            low,
            high,
            samples: figures.seconds,
            seconds: figures.span as f64 / SECOND,
        };
        if goes_on {
            let open = known(f64::NEG_INFINITY, f64::INFINITY);
            return ConstraintFigure::Vague(open, WhyUnknown::NotSteady);
        }
        ConstraintFigure::Known(known(value, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at_s: u64, received: u64, lost: u64) -> (Nanos, BackgroundReading) {
        let counts = BackgroundCounts {
            received_bytes: received * 100,
            received,
            lost,
            jitter: Some(at_s * 1000),
            delay_variation: Some(at_s * 10_000),
            ..BackgroundCounts::default()
        };
        let reading = BackgroundReading {
            span: 1_000_000_000,
            components: vec![counts, BackgroundCounts::default()],
        };
        (at_s * 1_000_000_000, reading)
    }

    #[test]
    fn seconds_count_whose_middle_lies_in_the_measurement() {
        let summary = BackgroundSummary {
            seconds: vec![
                second(1, 1, 99),
                second(2, 90, 10),
                second(3, 70, 30),
                second(4, 0, 50),
            ],
            measured: (1_200_000_000, 3_100_000_000),
            ..BackgroundSummary::default()
        };
        let whole = summary.figures(None, PartOfRun::Whole).unwrap();
        assert_eq!((whole.seconds, whole.counts.lost), (2, 40));
        assert_eq!(whole.counts.loss(), Some(0.2));
        assert_eq!(whole.counts.jitter, Some(2500));
        assert_eq!(whole.counts.delay_variation, Some(30_000));
        assert_eq!(whole.received_bps(), 160.0 * 100.0 * 8.0 / 2.0);
        let last = summary.figures(Some(0), PartOfRun::Last(1.0)).unwrap();
        assert_eq!((last.seconds, last.counts.lost), (1, 30));
        let other = summary.figures(Some(1), PartOfRun::Whole).unwrap();
        assert_eq!(other.counts.loss(), None);
        let short = BackgroundSummary {
            measured: (1_600_000_000, 1_900_000_000),
            ..summary
        };
        let second = short.figures(None, PartOfRun::Whole).unwrap();
        assert_eq!((second.seconds, second.counts.lost), (1, 10));
        let nothing = BackgroundSummary::default();
        assert_eq!(nothing.figures(None, PartOfRun::Whole), None);
    }
}
