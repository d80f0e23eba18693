//! Constraints in words: what they are, what became of them, and by which figures.

use record::ConstraintSense;
use stats::{
    Conclusion, ConstraintReading, JudgedConstraint, ReadFigure, Status, Summary, TestSummary,
    UnitKind, WhyUnknown,
};

use crate::clean;
use crate::document::{Block, ListLook, Tone, Words};
use crate::figure::percent;
use crate::named_run::NamedRun;
use crate::{human, human_range};

/// The constraint with its verdict and its figures, in a sentence without a period:
/// `fast: p99(Get1K) < 5 ms: fail: p99(Get1K) is 6.10 ms (5.90 .. 6.30 ms)`.
pub fn constraint_in_words(constraint: &JudgedConstraint) -> String {
    judged(constraint).text()
}

fn judged(constraint: &JudgedConstraint) -> Words {
    let sense = match constraint.sense {
        ConstraintSense::FailsIf => "fails if ",
        ConstraintSense::Holds | ConstraintSense::Trial => "",
    };
    let readings: Vec<String> = decisive(constraint).map(reading).collect();
    let readings = match readings.len() {
        0 => String::new(),
        1..=MOST => format!("; {}", readings.join(", ")),
        all => format!("; {} and {} more", readings[..MOST].join(", "), all - MOST),
    };
    let tone = match constraint.verdict {
        Conclusion::Pass => Tone::Good,
        Conclusion::Inconclusive => Tone::Caution,
        Conclusion::Fail => Tone::Bad,
    };
    Words::from(format!("{}: ", constraint.name))
        .toned(tone, constraint.verdict.name())
        .plain(format!(" ({sense}{}){readings}", constraint.expression))
}

/// Operations that would be enough if they did not depend on each other.
const MANY: u64 = 100;

/// Readings that are written out; of more of them, the rest is counted.
const MOST: usize = 4;

/// Those that explain the verdict first: of an inconclusive constraint, those that have no value,
/// and of many rows the greatest.
fn decisive(constraint: &JudgedConstraint) -> impl Iterator<Item = &ConstraintReading> {
    let value = |reading: &ConstraintReading| match reading.figure {
        ReadFigure::Fact(value) | ReadFigure::Estimate { value, .. } => Some(value),
        ReadFigure::Unknown(_) | ReadFigure::Vague { .. } => None,
    };
    let mut all: Vec<&ConstraintReading> = constraint.readings.iter().collect();
    all.sort_by_key(|reading| value(reading).is_some());
    if all.len() > MOST {
        let unknown = f64::INFINITY;
        let rank = |reading: &ConstraintReading| value(reading).unwrap_or(unknown);
        all.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    }
    all.into_iter()
}

/// `p99(Get1K) is 6.10 ms (5.90 .. 6.30 ms)`.
fn reading(reading: &ConstraintReading) -> String {
    let ConstraintReading {
        characteristic,
        unit,
        figure,
    } = reading;
    match figure {
        ReadFigure::Fact(value) => format!("{characteristic} is {}", quantity(*value, *unit)),
        ReadFigure::Estimate { value, low, high } => {
            let interval = match *unit {
                _ if high.is_infinite() => format!(
                    "at least {}; too few independent operations for an upper end",
                    quantity(*low, *unit)
                ),
                UnitKind::TIME => human_range((*low, *high)),
                _ => format!("{} .. {}", quantity(*low, *unit), quantity(*high, *unit)),
            };
            format!(
                "{characteristic} is {} ({interval})",
                quantity(*value, *unit)
            )
        }
        ReadFigure::Vague { value, why } => {
            format!(
                "{characteristic} is {} ({})",
                quantity(*value, *unit),
                why_unknown(why)
            )
        }
        ReadFigure::Unknown(why) => format!("{characteristic} is unknown: {}", why_unknown(why)),
    }
}

/// Why a characteristic has no value, or no interval.
pub(crate) fn why_unknown(why: &WhyUnknown) -> String {
    let words = match why {
        WhyUnknown::NotMeasured => "not measured",
        WhyUnknown::NoBackground => "there is no such background traffic",
        WhyUnknown::NotSupported => "the server does not support it",
        WhyUnknown::NeverChosen => "it was never reached",
        WhyUnknown::NoStage => "the load has no such stage",
        WhyUnknown::TooMany => "the sliding window has too many operations; use a shorter one",
        WhyUnknown::NoOperation => "nothing was measured",
        WhyUnknown::NoTime => "no operation has a time",
        WhyUnknown::MayBeNoFailure => "the load generator may have caused the failures",
        WhyUnknown::Disqualified => "a warning disqualifies the row",
        WhyUnknown::TooShort => "the window is too short for an interval",
        WhyUnknown::NotSteady => "the load changed on purpose, or the run waited for its turn",
        WhyUnknown::Wanders => "the rate went up or down slowly; measure for longer",
        WhyUnknown::TooFew { samples, needed } => {
            let few = if *samples < MANY {
                format!("{samples} operations are too few")
            } else {
                format!("{samples} operations depend on each other, and count as fewer than that")
            };
            return format!("{few}: an interval needs about {needed}, and a verdict often more");
        }
        WhyUnknown::FewerSamples { samples, least } => {
            return format!("{samples} of {least} samples");
        }
        WhyUnknown::LessTime { seconds, least } => return format!("{seconds:.1} s of {least} s"),
        WhyUnknown::Unreadable(why) => why,
    };
    words.to_owned()
}

fn quantity(value: f64, unit: UnitKind) -> String {
    match unit {
        UnitKind::TIME => human(value),
        UnitKind::RATE => format!("{} /s", rounded(value)),
        UnitKind::SIZE => format!("{value} B"),
        UnitKind::BYTE_RATE => format!("{} MB/s", rounded(value / 1e6)),
        UnitKind::SHARE => percent(value),
        _ => format!("{value}"),
    }
}

/// Three significant digits, and no digit before the point left out.
fn rounded(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Names of the constraints of a run that failed, for a line; `None` where none did.
pub fn failed_constraints(summary: &Summary) -> Option<String> {
    named(summary, Conclusion::Fail)
}

/// Names of the rows of a run that failed, with how many of their operations did; `None` where none
/// did.
pub fn failed_rows(summary: &Summary) -> Option<String> {
    let failed = |row: &&TestSummary| row.status == Status::Failed && !row.may_be_no_failure;
    let rows: Vec<&TestSummary> = summary.tests.iter().filter(failed).collect();
    let named = |row: &&TestSummary| {
        let (failed, all) = (row.outcomes.failed(), row.outcomes.total());
        let name = clean(&row.name);
        if failed == 0 {
            name
        } else {
            format!("{name} ({failed} of {all} operations)")
        }
    };
    let shown: Vec<String> = rows.iter().take(MOST).map(named).collect();
    let more = rows.len() - shown.len();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!rows.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

pub(crate) fn inconclusive_constraints(summary: &Summary) -> Option<String> {
    named(summary, Conclusion::Inconclusive)
}

fn named(summary: &Summary, wanted: Conclusion) -> Option<String> {
    let constraints = summary.constraints.iter();
    let named = constraints.filter(|constraint| {
        constraint.verdict == wanted && constraint.sense != ConstraintSense::Trial
    });
    let names: Vec<String> = named.map(|constraint| clean(&constraint.name)).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("constraint {}", names[0])),
        _ => Some(format!("constraints {}", names.join(", "))),
    }
}

pub(crate) fn list(runs: &[NamedRun<'_>]) -> Block {
    let items = runs.iter().flat_map(|run| {
        let constraints = run.summary.constraints.iter();
        constraints.map(|constraint| run.says("").then("", judged(constraint)))
    });
    Block::list(
        "Constraints, judged with 99.8 % intervals",
        ListLook::Bullets,
        items,
    )
}
