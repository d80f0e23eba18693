//! Statistics of measurements, and their names in the language.

use std::fmt;

use crate::storage_call::StorageCall;
use crate::unit::UnitKind;

/// A statistic of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// An estimate, which has an interval.
    Estimate(EstimatedStatistic),
    /// A fact, which has none.
    Fact(FactOfRow),
    /// A characteristic of background traffic, as its sinks see it.
    Background(BackgroundCharacteristic),
    /// A characteristic of a comparison of two servers.
    Compared(ComparedCharacteristic),
}

/// An estimate of a row. Times are those of its expected operations that count: latencies from
/// schedule in an open loop, else response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EstimatedStatistic {
    /// The arithmetic mean of the times.
    Mean,
    /// The standard deviation of the times.
    Sd,
    /// A percentile of the times in parts per million (990 000 is p99), by the nearest rank.
    Percentile(u32),
    /// Expected responses a second that ended in the window.
    Rate,
    /// Bytes a second of the expected responses that ended in the window, with their headers.
    Goodput,
    /// The share of the operations that count that failed, from 0 to 1.
    FailureRate,
}

/// A fact about the operations of a row that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FactOfRow {
    /// The least time.
    Min,
    /// The greatest time.
    Max,
    /// The time of the operation that began first.
    First,
    /// The time of the operation that began last.
    Last,
    /// Operations, however they ended.
    Operations,
    /// Those of them that failed.
    Failures,
    /// Bytes of the requests, failed ones too.
    BytesSent,
    /// Bytes of the responses, failed ones too.
    BytesReceived,
    /// Operations for which a connection was opened.
    Connections,
}

/// Characteristic of a component of background traffic, or of all of them, at its sinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackgroundCharacteristic {
    /// Bytes of payload received per second.
    Rate,
    /// Share of datagrams that are lost.
    Loss,
    /// The longest one-way delay above the shortest one.
    DelayVariation,
    /// Interarrival jitter, the mean of all seconds.
    Jitter,
}

/// Difference between a row of server B and that of server A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparedCharacteristic {
    /// The share by which B takes more time; zero if not significant.
    Slower,
    /// The share by which B takes less time; zero if not significant.
    Faster,
    /// B fails more often.
    Broken,
    /// A fails more often.
    Repaired,
    /// A supports it, and B does not.
    Lost,
    /// B supports it, and A does not.
    Gained,
    /// No verdict yet.
    Inconclusive,
    /// The share by which B uses more processor time; zero if not significant.
    Processor,
    /// The number of additional system calls of B for an operation; zero if not certain.
    Calls(StorageCall),
}

/// Statistics of runs with a fixed name: the name, the statistic, and what its values count.
const NAMED: [(&str, Statistic, UnitKind); 18] = {
    use BackgroundCharacteristic as B;
    use EstimatedStatistic as E;
    use FactOfRow as F;
    use Statistic::{Background, Estimate, Fact};
    [
        ("mean", Estimate(E::Mean), UnitKind::TIME),
        ("sd", Estimate(E::Sd), UnitKind::TIME),
        ("min", Fact(F::Min), UnitKind::TIME),
        ("max", Fact(F::Max), UnitKind::TIME),
        ("first", Fact(F::First), UnitKind::TIME),
        ("last", Fact(F::Last), UnitKind::TIME),
        ("rate", Estimate(E::Rate), UnitKind::RATE),
        ("goodput", Estimate(E::Goodput), UnitKind::BYTE_RATE),
        ("operations", Fact(F::Operations), UnitKind::NUMBER),
        ("failures", Fact(F::Failures), UnitKind::NUMBER),
        ("failure_rate", Estimate(E::FailureRate), UnitKind::SHARE),
        ("bytes_sent", Fact(F::BytesSent), UnitKind::SIZE),
        ("bytes_received", Fact(F::BytesReceived), UnitKind::SIZE),
        ("connections", Fact(F::Connections), UnitKind::NUMBER),
        ("background_rate", Background(B::Rate), UnitKind::BYTE_RATE),
        ("background_loss", Background(B::Loss), UnitKind::SHARE),
        (
            "background_delay_variation",
            Background(B::DelayVariation),
            UnitKind::TIME,
        ),
        ("background_jitter", Background(B::Jitter), UnitKind::TIME),
    ]
};

const COMPARED: [(&str, ComparedCharacteristic); 8] = [
    ("slower", ComparedCharacteristic::Slower),
    ("faster", ComparedCharacteristic::Faster),
    ("broken", ComparedCharacteristic::Broken),
    ("repaired", ComparedCharacteristic::Repaired),
    ("lost", ComparedCharacteristic::Lost),
    ("gained", ComparedCharacteristic::Gained),
    ("inconclusive", ComparedCharacteristic::Inconclusive),
    ("cpu", ComparedCharacteristic::Processor),
];

const MILLION: u32 = 1_000_000;

impl Statistic {
    /// The statistic of this name: `mean`, `p99.9`.
    pub fn named(name: &str) -> Option<Statistic> {
        let known = NAMED.iter().find(|(known, ..)| *known == name);
        known
            .map(|(_, statistic, _)| *statistic)
            .or_else(|| percentile(name))
            .or_else(|| Statistic::compared(name))
    }

    /// The characteristic of comparisons with this name: `slower`.
    pub(crate) fn compared(name: &str) -> Option<Statistic> {
        let known = COMPARED.iter().find(|(known, _)| *known == name);
        let known = known.map(|(_, statistic)| *statistic);
        let call = || StorageCall::named(name).map(ComparedCharacteristic::Calls);
        known.or_else(call).map(Statistic::Compared)
    }

    /// The statistic compares two servers; a run alone has no such statistic.
    pub fn is_compared(self) -> bool {
        matches!(self, Statistic::Compared(_))
    }

    /// The statistic is about background traffic: its measurement is a component, and without one
    /// all components together.
    pub fn is_background(self) -> bool {
        matches!(self, Statistic::Background(_))
    }

    /// The statistic is true or false, not a number.
    pub(crate) fn is_verdict(self) -> bool {
        use ComparedCharacteristic::{Calls, Faster, Processor, Slower};
        matches!(self, Statistic::Compared(of) if !matches!(of, Slower | Faster | Processor | Calls(_)))
    }

    /// The statistic needs `--inside`.
    pub fn is_inside(self) -> bool {
        use ComparedCharacteristic::{Calls, Processor};
        matches!(self, Statistic::Compared(Processor | Calls(_)))
    }

    /// Names of the characteristics of comparisons.
    pub fn compared_names() -> impl Iterator<Item = &'static str> {
        let calls = StorageCall::all().map(StorageCall::name);
        COMPARED.iter().map(|(name, _)| *name).chain(calls)
    }

    /// Names of all statistics of a run, with examples of percentiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let named = NAMED.iter().map(|(name, ..)| *name);
        ["p50", "p90", "p95", "p99", "p99.9"]
            .into_iter()
            .chain(named)
    }

    /// Unit of its values.
    pub fn kind(self) -> UnitKind {
        let named = NAMED.iter().find(|(_, known, _)| *known == self);
        match (self, named) {
            (_, Some((.., kind))) => *kind,
            (Statistic::Compared(ComparedCharacteristic::Calls(_)), _) => UnitKind::NUMBER,
            (Statistic::Compared(_), _) => UnitKind::SHARE,
            // A percentile.
            _ => UnitKind::TIME,
        }
    }

    /// Its greatest possible value.
    pub(crate) fn most(self) -> f64 {
        use ComparedCharacteristic::{Processor, Slower};
        match self {
            Statistic::Compared(Slower | Processor) => f64::INFINITY,
            _ if self.kind().is_share => 1.0,
            _ => f64::INFINITY,
        }
    }
}

/// Parses `p99.9` as 999 000; between p0 and p100, with four decimals at most.
fn percentile(name: &str) -> Option<Statistic> {
    let digits = name.strip_prefix('p')?;
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || whole.len() > 2 || decimals.len() > 4 {
        return None;
    }
    let decimals: u32 = format!("{decimals:0<4}").parse().ok()?;
    let ppm = whole.parse::<u32>().ok()? * 10_000 + decimals;
    let percentile = Statistic::Estimate(EstimatedStatistic::Percentile(ppm));
    (ppm > 0 && ppm < MILLION).then_some(percentile)
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Statistic::Estimate(EstimatedStatistic::Percentile(ppm)) = self {
            return write!(f, "p{}", f64::from(*ppm) / 10_000.0);
        }
        if let Statistic::Compared(ComparedCharacteristic::Calls(call)) = self {
            return f.write_str(call.name());
        }
        if let Statistic::Compared(of) = self {
            let known = COMPARED.iter().find(|(_, known)| known == of);
            return f.write_str(known.map_or("", |(name, _)| name));
        }
        let known = NAMED.iter().find(|(_, known, _)| known == self);
        f.write_str(known.map_or("", |(name, ..)| name))
    }
}

/// The part of a run that a characteristic is about.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum PartOfRun {
    /// The whole run.
    #[default]
    Whole,
    /// This number of seconds before its end, or before now while it goes on: a sliding window.
    Last(f64),
    /// A stage of the load, counted from 1.
    Stage(u16),
}

/// A statistic of a measurement, or of each row in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Characteristic {
    /// The statistic.
    pub statistic: Statistic,
    /// Its measurement; `None` for each row in turn.
    pub measurement: Option<String>,
    /// Its part of the run.
    pub part: PartOfRun,
    /// Least number of samples.
    pub samples: Option<u64>,
    /// Least time of measuring in seconds.
    pub seconds: Option<f64>,
}

/// True for a name that needs no quotation marks.
pub(crate) fn is_word(name: &str) -> bool {
    let starts = |c: char| c.is_alphabetic() || c == '_';
    let goes_on = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    name.starts_with(starts) && name.chars().all(goes_on)
}

impl fmt::Display for Characteristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.statistic)?;
        let measurement = self.measurement.as_ref().map(|name| {
            if is_word(name) {
                name.clone()
            } else {
                format!("\"{name}\"")
            }
        });
        let part = match self.part {
            PartOfRun::Whole => None,
            PartOfRun::Last(seconds) => Some(format!("last {seconds} s")),
            PartOfRun::Stage(stage) => Some(format!("stage {stage}")),
        };
        let samples = self.samples.map(|least| format!("samples >= {least}"));
        let seconds = self.seconds.map(|least| format!("over >= {least} s"));
        let all: Vec<String> = [measurement, part, samples, seconds]
            .into_iter()
            .flatten()
            .collect();
        if all.is_empty() {
            return Ok(());
        }
        write!(f, "({})", all.join(", "))
    }
}
