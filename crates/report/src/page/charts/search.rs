//! A search: times and throughput of every load, with its result.

use figures::{
    Along, Axis, Dash, Figure, FigureMark, Format, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Range, Scale, Series, Swatch, extent, plain,
};

use super::{key, us, words};
use crate::search::{CountedUnit, Find, Loaded, SearchResult};

const THROUGHPUT: &str = "throughput";

/// A fixed time or rate with which a condition compares.
#[derive(Debug, PartialEq)]
struct ConditionLimit {
    of: String,
    text: String,
    /// Microseconds, or a rate.
    value: f64,
}

/// Quantities that a condition may compare: times, and a rate.
const COMPARED: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max", "rate"];
const UNITS: [(&str, f64); 6] = [
    ("ns", 1e-3),
    ("us", 1.0),
    ("µs", 1.0),
    ("μs", 1.0),
    ("ms", 1e3),
    ("s", 1e6),
];

/// The limits of a condition, each of which is a line. Its other parts are explained by its text.
fn limits(condition: &str) -> Vec<ConditionLimit> {
    let words = condition.split(|c: char| !c.is_alphanumeric());
    // Beside an operator, a number is no limit of the time that stands before it.
    let is_rate = |(at, _): (usize, &str)| {
        let rest = &condition[at + 1..];
        rest.starts_with('s') && !rest[1..].starts_with(char::is_alphanumeric)
    };
    let divides = condition.match_indices('/').any(|found| !is_rate(found));
    if divides || condition.contains(['-', '+', '*']) || words.into_iter().any(|word| word == "not")
    {
        return Vec::new();
    }
    let comparisons = condition.match_indices(['<', '>']);
    comparisons
        .filter_map(|(at, _)| limit(condition, at))
        .collect()
}

/// The comparison whose sign is at this place.
fn limit(condition: &str, at: usize) -> Option<ConditionLimit> {
    let is_name = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let before = condition[..at].trim_end();
    // The subject of the time, in brackets.
    let before = match before.strip_suffix(')') {
        Some(inner) => inner[..inner.rfind('(')?].trim_end(),
        None => before,
    };
    let from = before.rfind(|c| !is_name(c)).map_or(0, |last| last + 1);
    let of = &before[from..];
    if !COMPARED.contains(&of) {
        return None;
    }
    let sign = &condition[at + 1..];
    let behind = sign.strip_prefix('=').unwrap_or(sign).trim_start();
    let end = behind
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(behind.len());
    let (number, rest) = behind.split_at(end);
    let unit = rest.trim_start();
    let end = unit
        .find(|c: char| !c.is_alphabetic() && c != '/')
        .unwrap_or(unit.len());
    let rest = &unit[end..];
    let unit = &unit[..end];
    if rest.starts_with(|c: char| is_name(c) || c == '%' || c == '/') {
        return None;
    }
    let number: f64 = number.parse().ok()?;
    let scale = match unit {
        "/s" if of == "rate" => 1.0,
        unit if of != "rate" => UNITS.iter().find(|(known, _)| *known == unit)?.1,
        _ => return None,
    };
    let text = condition[from..condition.len() - rest.len()]
        .trim()
        .to_owned();
    Some(ConditionLimit {
        of: of.to_owned(),
        text,
        value: number * scale,
    })
}

/// One of the lines: its name, and its value at a load.
type LoadStatistic = (&'static str, fn(&Loaded) -> Option<f64>);

fn p50(of: &Loaded) -> Option<f64> {
    of.times.map(|times| us(times.p50))
}

fn p99(of: &Loaded) -> Option<f64> {
    of.times.map(|times| us(times.p99))
}

fn mean(of: &Loaded) -> Option<f64> {
    of.times.map(|times| us(times.mean))
}

pub(super) fn search(found: &SearchResult) -> Figure {
    let loads = Loaded::all(found);
    let of_pages = found.counted == CountedUnit::Pages;
    let load = match (found.find, of_pages) {
        (Find::Rate, _) => "req/s",
        (Find::Users, true) => "children",
        (Find::Users, false) => "users",
    };
    let times = match (of_pages, found.find) {
        (true, _) => "time of a page",
        (false, Find::Rate) => "latency from schedule",
        (false, Find::Users) => "response time",
    };
    let limits = limits(found.condition.as_deref().unwrap_or_default());
    let mut drawn: Vec<LoadStatistic> = vec![("p50", p50), ("p99", p99)];
    if limits.iter().any(|limit| limit.of == "mean") {
        drawn.push(("mean", mean));
    }
    let (of_rate, of_times): (Vec<&ConditionLimit>, Vec<&ConditionLimit>) =
        limits.iter().partition(|limit| limit.of == "rate");
    let all_times = loads
        .iter()
        .flat_map(|loaded| drawn.iter().filter_map(|(_, of)| of(loaded)));
    let all_times = all_times.chain(of_times.iter().map(|limit| limit.value));
    let rates = loads.iter().map(|loaded| loaded.per_second);
    let most = extent(rates.chain(of_rate.iter().map(|limit| limit.value)));
    let x = |name: &str| {
        let loads = extent(loads.iter().map(|loaded| loaded.load));
        Axis::numbers(Range::of(loads), Scale::Auto, Format::Plain).named(name)
    };
    let range = Range::from_zero(extent(all_times.filter(|us| *us > 0.0)));
    let y = Axis::numbers(range, Scale::Auto, Format::Time).named(times);
    let mut upper = Panel::new(x(""), y, 220.0);
    let rate = if of_pages { "pages/s" } else { "responses/s" };
    let y = Range::from_zero(Some((0.0, most.map_or(1.0, |(_, most)| most))));
    let y = Axis::numbers(y, Scale::Linear, Format::Plain).named(rate);
    let mut lower = Panel::new(x(load), y, 130.0);
    if !loads.is_empty() {
        for (index, statistic) in drawn.iter().enumerate() {
            upper
                .series
                .push(line(found, &loads, index, *statistic, load));
        }
        let throughput: LoadStatistic = (THROUGHPUT, |loaded| Some(loaded.per_second));
        lower
            .series
            .push(line(found, &loads, drawn.len(), throughput, load));
        upper.series.push(across(&of_times));
        lower.series.push(across(&of_rate));
        upper.series.push(marks(found, true));
        lower.series.push(marks(found, false));
    }
    let names = drawn.iter().map(|(name, _)| *name).chain([THROUGHPUT]);
    let keys = names.enumerate();
    Figure {
        id: String::new(),
        title: format!("{} and throughput by {load}", capital(times)),
        note: note(found, &limits, &drawn),
        columns: words([
            "load",
            "line",
            "value",
            "trials in which it held",
            "failures",
        ]),
        keys: keys
            .map(|(index, name)| key(name, MarkLook::of(index), Swatch::Line))
            .collect(),
        panels: vec![upper, lower],
    }
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

fn note(found: &SearchResult, limits: &[ConditionLimit], drawn: &[LoadStatistic]) -> String {
    let Some(condition) = &found.condition else {
        return "Each mark is a run.".to_owned();
    };
    let mut note = format!(
        "Each mark is the median of the trials of a load; hollow ones are loads at which the condition failed in more than 1 of 10. The condition: {condition}."
    );
    let is_drawn = |of: &str| of == "rate" || drawn.iter().any(|(name, _)| *name == of);
    let mut undrawn: Vec<&str> = limits.iter().map(|limit| &*limit.of).collect();
    undrawn.retain(|of| !is_drawn(of));
    undrawn.dedup();
    if !undrawn.is_empty() {
        note += &format!(" Marks for {} are not drawn.", undrawn.join(", "));
    }
    note + " Medians of trials have no interval."
}

/// A line with a mark for each load; hollow ones failed.
fn line(
    found: &SearchResult,
    loads: &[Loaded],
    index: usize,
    (name, of): LoadStatistic,
    load: &str,
) -> Series {
    let look = MarkLook::of(index);
    let points = loads
        .iter()
        .filter_map(|loaded| Some((loaded.load, of(loaded)?)));
    let line = FigureMark::new(MarkShape::Line(points.collect(), LineStep::None), look);
    let is_judged = found.condition.is_some();
    let marks = loads.iter().filter_map(|loaded| {
        let value = of(loaded)?;
        let fill = if is_judged && loaded.fails() {
            MarkFill::Hollow
        } else {
            MarkFill::Full
        };
        let held = format!("{} of {}", loaded.trials.held, loaded.trials.trials());
        let cells = [
            format!("{} {load}", plain(loaded.load)),
            name.to_owned(),
            match name {
                THROUGHPUT => format!("{}/s", plain(value)),
                _ => Format::Time.value(value),
            },
            if is_judged { held } else { String::new() },
            loaded.failures.to_string(),
        ];
        Some(
            FigureMark::new(MarkShape::Point(loaded.load, value), look.filled(fill))
                .with_row(cells),
        )
    });
    Series {
        key: Some(index),
        marks: std::iter::once(line).chain(marks).collect(),
    }
}

fn across(limits: &[&ConditionLimit]) -> Series {
    let rule = |limit: &&ConditionLimit| {
        let rule = MarkShape::Rule {
            along: Along::X,
            at: limit.value,
            text: limit.text.clone(),
            level: 0,
        };
        FigureMark::new(rule, MarkLook::toned(MarkTone::Bad))
    };
    Series {
        key: None,
        marks: limits.iter().map(rule).collect(),
    }
}

/// Where the condition holds and fails, and the knee. Texts of neighbours stand one above the
/// other.
fn marks(found: &SearchResult, has_texts: bool) -> Series {
    let tested = |tested: Option<stats::Tested>, word: &str, tone: MarkTone, dash: Dash| {
        let load = tested?.load;
        Some((load, format!("{word} at {}", plain(load)), tone, dash))
    };
    let knee = found.knee.map(|knee| {
        (
            knee,
            format!("knee at {}", plain(knee)),
            MarkTone::Muted,
            Dash::Dotted,
        )
    });
    let (holds, tone) = if found.answer.confirmed {
        ("holds", MarkTone::Same)
    } else {
        ("may hold", MarkTone::Muted)
    };
    let mut all: Vec<(f64, String, MarkTone, Dash)> = [
        tested(found.answer.holds, holds, tone, Dash::Solid),
        tested(found.answer.fails, "fails", MarkTone::Bad, Dash::Dashed),
        knee,
    ]
    .into_iter()
    .flatten()
    .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let rule = |(level, (at, text, tone, dash)): (usize, (f64, String, MarkTone, Dash))| {
        let rule = MarkShape::Rule {
            along: Along::Y,
            at,
            text: if has_texts { text } else { String::new() },
            level: if has_texts { level } else { 0 },
        };
        FigureMark::new(rule, MarkLook::toned(tone).dashed(dash))
    };
    Series {
        key: None,
        marks: all.into_iter().enumerate().map(rule).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_limits() {
        type Limit = (&'static str, &'static str, f64);
        let table: &[(&str, &[Limit])] = &[
            (
                "p99 < 50ms and failures == 0",
                &[("p99", "p99 < 50ms", 50_000.0)],
            ),
            (
                "p50 <= 0.5 s and p99 < 900us",
                &[
                    ("p50", "p50 <= 0.5 s", 500_000.0),
                    ("p99", "p99 < 900us", 900.0),
                ],
            ),
            (
                "rate > 2000 /s and p90 <= 1.5 s and failure_rate < 1 %",
                &[
                    ("rate", "rate > 2000 /s", 2000.0),
                    ("p90", "p90 <= 1.5 s", 1.5e6),
                ],
            ),
            (
                "p99.9(Get1K) < 7 ms",
                &[("p99.9", "p99.9(Get1K) < 7 ms", 7_000.0)],
            ),
            ("failure_rate < 1%", &[]),
            ("p99 < 2 * p50", &[]),
            ("not p99 < 5 ms", &[]),
            ("p99 < 5", &[]),
            ("p99 / p50 < 5 ms", &[]),
            ("(p99 < 5 µs)", &[("p99", "p99 < 5 µs", 5.0)]),
            ("", &[]),
            ("<", &[]),
        ];
        for (condition, expected) in table {
            let found = limits(condition);
            let found: Vec<(&str, &str, f64)> = found
                .iter()
                .map(|limit| (&*limit.of, &*limit.text, limit.value))
                .collect();
            assert_eq!(found, *expected, "{condition}");
        }
    }
}
