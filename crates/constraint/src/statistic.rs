//! Statistics of measurements, and their names in the language.

use std::fmt;

use crate::storage_call::StorageCall;
use crate::unit::UnitKind;

/// A statistic of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// The arithmetic mean of the times.
    Mean,
    /// Their standard deviation.
    Sd,
    /// A percentile of them, in parts per million: 999 000 is p99.9.
    Percentile(u32),
    /// The least time.
    Min,
    /// The greatest time.
    Max,
    /// The first time.
    First,
    /// The last time.
    Last,
    /// Expected responses a second.
    Rate,
    /// Bytes of responses a second.
    Goodput,
    /// Operations that count, however they ended.
    Operations,
    /// Operations that failed or were dropped.
    Failures,
    /// Share of failures.
    FailureRate,
    /// Bytes of the requests.
    BytesSent,
    /// Bytes of the responses.
    BytesReceived,
    /// Connections that were opened.
    Connections,
    /// Characteristic of background traffic at its sinks.
    Background(BackgroundCharacteristic),
    /// Difference between two servers.
    Compared(ComparedCharacteristic),
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
    /// The number of additional system calls of this kind that B makes for an operation; zero if
    /// not certain.
    Calls(StorageCall),
}

/// Statistics with a fixed name.
const NAMED: [(&str, Statistic); 18] = [
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("min", Statistic::Min),
    ("max", Statistic::Max),
    ("first", Statistic::First),
    ("last", Statistic::Last),
    ("rate", Statistic::Rate),
    ("goodput", Statistic::Goodput),
    ("operations", Statistic::Operations),
    ("failures", Statistic::Failures),
    ("failure_rate", Statistic::FailureRate),
    ("bytes_sent", Statistic::BytesSent),
    ("bytes_received", Statistic::BytesReceived),
    ("connections", Statistic::Connections),
    (
        "background_rate",
        Statistic::Background(BackgroundCharacteristic::Rate),
    ),
    (
        "background_loss",
        Statistic::Background(BackgroundCharacteristic::Loss),
    ),
    (
        "background_delay_variation",
        Statistic::Background(BackgroundCharacteristic::DelayVariation),
    ),
    (
        "background_jitter",
        Statistic::Background(BackgroundCharacteristic::Jitter),
    ),
];

/// Characteristics of comparisons.
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

/// Parts per million of a whole.
const MILLION: u32 = 1_000_000;

impl Statistic {
    /// The statistic of this name: `mean`, `p99.9`.
    pub fn named(name: &str) -> Option<Statistic> {
        let known = NAMED.iter().find(|(known, _)| *known == name);
        known
            .map(|(_, statistic)| *statistic)
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
        let named = NAMED.iter().map(|(name, _)| *name);
        ["p50", "p90", "p95", "p99", "p99.9"]
            .into_iter()
            .chain(named)
    }

    /// Unit of its values.
    pub fn kind(self) -> UnitKind {
        match self {
            Statistic::Mean
            | Statistic::Sd
            | Statistic::Percentile(_)
            | Statistic::Min
            | Statistic::Max
            | Statistic::First
            | Statistic::Last => UnitKind::TIME,
            Statistic::Background(
                BackgroundCharacteristic::DelayVariation | BackgroundCharacteristic::Jitter,
            ) => UnitKind::TIME,
            Statistic::Rate => UnitKind::RATE,
            Statistic::Goodput | Statistic::Background(BackgroundCharacteristic::Rate) => {
                UnitKind::BYTE_RATE
            }
            Statistic::Operations
            | Statistic::Failures
            | Statistic::Connections
            | Statistic::Compared(ComparedCharacteristic::Calls(_)) => UnitKind::NUMBER,
            Statistic::FailureRate
            | Statistic::Background(BackgroundCharacteristic::Loss)
            | Statistic::Compared(_) => UnitKind::SHARE,
            Statistic::BytesSent | Statistic::BytesReceived => UnitKind::SIZE,
        }
    }

    /// Its greatest possible value.
    pub(crate) fn most(self) -> f64 {
        match self {
            Statistic::Compared(
                ComparedCharacteristic::Slower
                | ComparedCharacteristic::Processor
                | ComparedCharacteristic::Calls(_),
            ) => f64::INFINITY,
            Statistic::FailureRate
            | Statistic::Background(BackgroundCharacteristic::Loss)
            | Statistic::Compared(_) => 1.0,
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
    (ppm > 0 && ppm < MILLION).then_some(Statistic::Percentile(ppm))
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Statistic::Percentile(ppm) = self {
            return write!(f, "p{}", f64::from(*ppm) / 10_000.0);
        }
        if let Statistic::Compared(ComparedCharacteristic::Calls(call)) = self {
            return f.write_str(call.name());
        }
        if let Statistic::Compared(of) = self {
            let known = COMPARED.iter().find(|(_, known)| known == of);
            return f.write_str(known.map_or("", |(name, _)| name));
        }
        let known = NAMED.iter().find(|(_, known)| known == self);
        f.write_str(known.map_or("", |(name, _)| name))
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
