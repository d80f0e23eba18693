//! A comparison: the ratios of one server with their intervals, and those of all servers as a map
//! of heat.

use figures::{
    Along, Anchor, Axis, Figure, FigureMark, Format, MarkFill, MarkLook, MarkShape, MarkTone,
    Panel, Range, Scale, Series, extent,
};
use stats::{Compared, Since, Verdict};

use super::words;
use crate::compare::words::{as_shown, heat_of, shown};
use crate::lists::distinct;
use crate::{Comparisons, Versus};

/// Ratios beyond which, and below the inverse of which, nothing is drawn.
const MOST: f64 = 100.0;
const LETTERS: usize = 40;
/// Letters right of the ratios.
const RIGHT: usize = 18;

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Broken => "fails with B",
        Verdict::Repaired => "fails with A",
        Verdict::Lost => "only A can",
        Verdict::Gained => "only B can",
        Verdict::NotCompared => "not compared",
    }
}

/// Verdicts that a reader can act on have a colour; inconclusive ones are grey.
fn tone(verdict: Verdict) -> MarkTone {
    match verdict {
        Verdict::Slower | Verdict::Broken => MarkTone::Bad,
        Verdict::Faster | Verdict::Repaired => MarkTone::Good,
        Verdict::Same => MarkTone::Same,
        _ => MarkTone::Muted,
    }
}

fn times(since: Since) -> &'static str {
    match since {
        Since::Sent => "response times",
        Since::Planned => "latencies from schedule",
        Since::Started => "total times",
    }
}

fn short(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['…']).collect()
}

/// How many times as slow B is, and the interval of that; a single pair of runs has none. More
/// pages a minute are better, so that they are taken as the times between them.
fn slowdown(row: &Compared) -> Option<(f64, (f64, f64))> {
    let ratio = row.ratio.as_ref()?.value;
    let ends = row.evidence().map(|found| found.ci95());
    Some((ratio, ends.unwrap_or((ratio, ratio))))
}

/// The ratio as reports show it.
fn shown_ratio(row: &Compared) -> Option<f64> {
    Some(as_shown(row.kind, row.ratio.as_ref()?.value))
}

pub(super) fn ratios(a: &str, versus: &Versus, number: usize) -> Figure {
    let all = versus.comparison.rows.iter();
    let mut rows: Vec<(&Compared, f64, (f64, f64))> = all
        .clone()
        .filter_map(|row| slowdown(row).map(|(ratio, ends)| (row, ratio, ends)))
        .collect();
    // The slowest first: a reader looks along the line of ratios.
    rows.sort_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
    let without = all.filter(|row| row.ratio.is_none());
    let without: Vec<String> = without
        .map(|row| format!("{} ({})", row.name, in_words(row.verdict)))
        .collect();
    let times = times(versus.comparison.since);
    let same = 1.0 + versus.comparison.same_within;
    let ends = rows.iter().flat_map(|(_, _, (low, high))| [*low, *high]);
    let (low, high) = extent(ends.chain([0.9, 1.1, 1.0 / same, same])).unwrap_or((0.9, 1.1));
    // Few pairs of runs give intervals of many powers of ten, in which no ratio can be read.
    let range = (low.max(1.0 / MOST), high.min(MOST));
    let is_cut = low < range.0 || high > range.1;
    let (of, over) = (short(&versus.name), short(a));
    let x = Axis::numbers(Range::of(Some(range)), Scale::Log, Format::Plain);
    let names = rows.iter().map(|(row, ..)| row.name.clone());
    let mut panel = Panel::new(
        x.named(format!("ratio of mean {times}: {of} / {over}")),
        Axis::categories(names, 24.0),
        0.0,
    );
    panel.right = RIGHT;
    let marks = rows
        .iter()
        .enumerate()
        .flat_map(|(row, (of, ratio, ends))| interval(row, of, *ratio, *ends));
    let marks: Vec<FigureMark> = marks.collect();
    // Without a row, there is no figure.
    if !marks.is_empty() {
        let band = MarkShape::Rect {
            x: (1.0 / same, same),
            y: (f64::NEG_INFINITY, f64::INFINITY),
        };
        let one = MarkShape::Rule {
            along: Along::Y,
            at: 1.0,
            text: String::new(),
            level: 0,
        };
        let ground = vec![
            FigureMark::new(
                band,
                MarkLook::toned(MarkTone::Muted).filled(MarkFill::Faint),
            ),
            FigureMark::new(one, MarkLook::toned(MarkTone::Muted)),
        ];
        panel.series = [ground, marks]
            .map(|marks| Series { key: None, marks })
            .into();
    }
    let mut note = "Right of 1 it is slower. The grey band is what counts as the same.".to_owned();
    if is_cut {
        note += " An arrow marks an interval that goes beyond the axis.";
    }
    if !without.is_empty() {
        note += &format!(" Without a ratio: {}.", without.join(", "));
    }
    Figure {
        id: number.to_string(),
        title: format!(
            "{} of {of} over those of {over}, with 95 % intervals",
            capital(times)
        ),
        note,
        columns: words(["test", "ratio", "95 % interval", "verdict"]),
        keys: Vec::new(),
        panels: vec![panel],
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn interval(row: usize, of: &Compared, ratio: f64, ends: (f64, f64)) -> [FigureMark; 3] {
    let look = MarkLook::toned(tone(of.verdict));
    let at = row as f64;
    let line = MarkShape::Interval {
        along: Along::X,
        at,
        ends,
        strokes: false,
    };
    let (value, verdict) = (shown_ratio(of).unwrap_or(ratio), in_words(of.verdict));
    let interval = of.evidence().map(|found| shown(of.kind, found.ci95()));
    let interval = interval.map(|(low, high)| format!("{low:.3} .. {high:.3}"));
    let row = [
        of.name.clone(),
        format!("{value:.3}"),
        interval.unwrap_or_default(),
        verdict.to_owned(),
    ];
    let words = MarkShape::Text {
        at: (f64::INFINITY, at),
        shift: (8.0, 0.0),
        anchor: Anchor::Start,
        text: format!("{value:.2} {verdict}"),
        within: None,
    };
    [
        FigureMark::new(line, look),
        FigureMark::new(MarkShape::Point(ratio.clamp(1.0 / MOST, MOST), at), look).with_row(row),
        FigureMark::new(words, look),
    ]
}

pub(super) fn matrix(all: &Comparisons) -> Figure {
    let rows = || all.versus.iter().flat_map(|versus| &versus.comparison.rows);
    let names = distinct(rows().map(|row| row.name.as_str()));
    let since = all
        .versus
        .first()
        .map_or(Since::Sent, |versus| versus.comparison.since);
    let x = Axis::categories(all.versus.iter().map(|versus| versus.name.clone()), 0.0);
    let y = Axis::categories(names.iter().map(|name| (*name).to_owned()), 26.0);
    let x = x.named(format!(
        "mean {} over those of {}",
        times(since),
        short(&all.name)
    ));
    let mut panel = Panel::new(x, y, 0.0);
    let cells = all.versus.iter().enumerate().flat_map(|(column, versus)| {
        let rows = versus.comparison.rows.iter();
        let position = |row: &Compared| names.iter().position(|name| *name == row.name);
        rows.filter_map(move |row| Some((column, position(row)?, versus, row)))
            .collect::<Vec<_>>()
    });
    let marks = cells.flat_map(|(column, line, versus, row)| {
        let (x, y) = (column as f64, line as f64);
        let within = (x - 0.495, x + 0.495);
        let cell = MarkShape::Rect {
            x: within,
            y: (y - 0.46, y + 0.46),
        };
        let verdict = in_words(row.verdict);
        let ratio = shown_ratio(row);
        let text = match ratio {
            Some(ratio) => format!("{ratio:.2}  {verdict}"),
            None => verdict.to_owned(),
        };
        let ratio = ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default();
        let cells = [
            row.name.clone(),
            versus.name.clone(),
            ratio,
            verdict.to_owned(),
        ];
        let words = MarkShape::Text {
            at: (x, y),
            shift: (0.0, 0.0),
            anchor: Anchor::Middle,
            text,
            within: Some(within),
        };
        [
            FigureMark::new(cell, MarkLook::toned(MarkTone::Heat(heat_of(row)))).with_row(cells),
            FigureMark::new(words, MarkLook::toned(MarkTone::Ink)),
        ]
    });
    panel.series.push(Series {
        key: None,
        marks: marks.collect(),
    });
    Figure {
        id: String::new(),
        title: format!("Response times over those of {}", all.name),
        note: "Blue is faster than A, orange is slower; a cell without a significant difference is grey.".to_owned(),
        columns: words(["test", "server", "ratio", "verdict"]),
        keys: Vec::new(),
        panels: vec![panel],
    }
}
