//! The response times of one test: in ranges, their distribution, and in the order of time. There
//! is a panel, or a line, for each run.

use figures::{
    Axis, Figure, FigureMark, Format, LineStep, MarkFill, MarkLook, MarkShape, MarkTone, Panel,
    Range, Scale, Series, Swatch, Symbol, extent,
};
use record::Nanos;
use stats::units::human_range;
use stats::{Bucket, DrawnOperation, TimeLine};

use super::{RunDetails, key, us, words};
use crate::page::data::seconds;

/// With more points than this, those of a line are not drawn.
const FEW: usize = 80;
const EVERY_STEP: &str = "Every operation is a step.";
const SOME_STEPS: &str = "A few hundred steps of the function are shown, most of them among the slowest operations, and both ends.";
const EVERY_POINT: &str =
    "Every operation with a response time is a point, and every failure a cross.";
const BANDS: &str = "There are too many operations for one point each: the band reaches from the fastest to the slowest operation of each part of the time, the line is their mean. No operation is left out.";
/// The part of a range that its bar takes.
const WIDTH: f64 = 0.94;

fn time(ns: Nanos) -> f64 {
    us(ns as f64)
}

fn written(ns: Nanos) -> String {
    Format::Time.value(time(ns))
}

/// Response times in ranges that grow by a constant factor.
pub(super) fn histogram(test: &str, runs: &[RunDetails<'_>]) -> Figure {
    let bars = |run: &RunDetails<'_>| run.details.histogram.clone();
    let shown: Vec<_> = runs
        .iter()
        .filter(|run| !run.details.histogram.is_empty())
        .collect();
    let all = || shown.iter().flat_map(|run| &run.details.histogram);
    let ends = extent(all().flat_map(|bar| [time(bar.from), time(bar.to)]));
    let most = all().map(|bar| bar.response).max().unwrap_or(1).max(3);
    // Ranges that grow by a factor are equally wide on a logarithmic scale, and only there is
    // height what counts.
    let is_log = ends.is_some_and(|(low, _)| low > 0.0);
    let scale = if is_log { Scale::Log } else { Scale::Linear };
    let range = Range {
        tight: true,
        ..Range::of(ends)
    };
    let panels = shown.iter().enumerate().map(|(index, run)| {
        let is_last = index + 1 == shown.len();
        let x = Axis::numbers(range, scale, Format::Time);
        let x = x.named(if is_last { "response time" } else { "" });
        let counts = Range::from_zero(Some((0.0, most as f64)));
        let y = Axis::numbers(counts, Scale::Linear, Format::Plain).named("operations");
        let mark = |bar: stats::Bar| {
            let (from, to) = (time(bar.from), time(bar.to));
            let end = if from > 0.0 {
                from * (to / from).powf(WIDTH)
            } else {
                to
            };
            let shape = MarkShape::Rect {
                x: (from, end),
                y: (0.0, bar.response as f64),
            };
            let look = MarkLook::toned(MarkLook::of(run.index).tone);
            let range = human_range((bar.from as f64, bar.to as f64));
            let row = [run.name.to_owned(), range, bar.response.to_string()];
            FigureMark::new(shape, look).with_row(row)
        };
        let bars = bars(run).into_iter().filter(|bar| bar.response > 0);
        let marks = bars.map(mark).collect();
        panel(run, x, y, 120.0, vec![Series { key: None, marks }])
    });
    let grows = if is_log {
        ", and are equally wide on this logarithmic axis"
    } else {
        ""
    };
    Figure {
        id: test.to_owned(),
        title: format!("{test}: histogram of response times"),
        note: format!(
            "Ranges grow by a constant factor{grows}; the height is the number of operations."
        ),
        columns: words(["run", "response time", "operations"]),
        keys: Vec::new(),
        panels: panels.collect(),
    }
}

fn panel(run: &RunDetails<'_>, x: Axis, y: Axis, height: f64, series: Vec<Series>) -> Panel {
    Panel {
        title: run.name.to_owned(),
        series,
        ..Panel::new(x, y, height)
    }
}

pub(super) fn ecdf(test: &str, runs: &[RunDetails<'_>]) -> Figure {
    let shown: Vec<_> = runs
        .iter()
        .filter(|run| !run.details.steps.is_empty())
        .collect();
    let all = shown.iter().flat_map(|run| &run.details.steps);
    let range = Range::of(extent(all.map(|step| time(step.value))));
    let x = Axis::numbers(range, Scale::Auto, Format::Time).named("response time");
    let shares = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, Format::Percent.tick(share)));
    let exact = Range {
        exact: true,
        ..Range::from_zero(Some((0.0, 1.0)))
    };
    let y = Axis::numbers(exact, Scale::Linear, Format::Percent).with_ticks(shares);
    let mut panel = Panel::new(x, y.named("share of operations"), 240.0);
    panel.series = shown
        .iter()
        .enumerate()
        .map(|(index, run)| distribution(run, index))
        .collect();
    let is_whole = shown.iter().all(|run| run.details.all_steps);
    let keys = shown
        .iter()
        .map(|run| key(run.name, look_of_steps(run), Swatch::Line));
    Figure {
        id: test.to_owned(),
        title: format!("{test}: share of operations that took no longer"),
        note: if is_whole { EVERY_STEP } else { SOME_STEPS }.to_owned(),
        columns: words(["run", "response time", "took no longer"]),
        keys: keys.collect(),
        panels: vec![panel],
    }
}

fn look_of_steps(run: &RunDetails<'_>) -> MarkLook {
    let fill = if run.details.steps.len() < FEW {
        MarkFill::Full
    } else {
        MarkFill::None
    };
    MarkLook::of(run.index).filled(fill)
}

fn distribution(run: &RunDetails<'_>, index: usize) -> Series {
    let look = look_of_steps(run);
    let steps = &run.details.steps;
    let count = steps.last().map_or(1, |step| step.count) as f64;
    let points: Vec<(f64, f64)> = steps
        .iter()
        .map(|step| (time(step.value), step.count as f64 / count))
        .collect();
    // The line begins at zero, at the first value.
    let begin = points.first().map(|(first, _)| (*first, 0.0));
    let line = MarkShape::Line(
        begin.into_iter().chain(points.iter().copied()).collect(),
        LineStep::After,
    );
    let mark = |(us, share): (f64, f64)| {
        let row = [run.name.to_owned(), Format::Time.value(us), percent(share)];
        FigureMark::new(MarkShape::Point(us, share), look).with_row(row)
    };
    let marks = points.into_iter().map(mark);
    Series {
        key: Some(index),
        marks: std::iter::once(FigureMark::new(line, look))
            .chain(marks)
            .collect(),
    }
}

/// Of shares close to one, the last digits count.
fn percent(share: f64) -> String {
    let shown = if share < 0.99 {
        (share * 1e3).round() / 1e3
    } else {
        share
    };
    Format::Percent.tick(shown)
}

pub(super) fn time_line(test: &str, runs: &[RunDetails<'_>]) -> Figure {
    let shown: Vec<_> = runs
        .iter()
        .filter(|run| !points(run, 1.0).is_empty())
        .collect();
    let times = shown.iter().flat_map(|run| times(&run.details.time_line));
    let ends = extent(times.map(us)).unwrap_or((1.0, 10.0));
    let end = shown
        .iter()
        .map(|run| end(&run.details.time_line))
        .fold(0.0, f64::max);
    let end = if end > 0.0 { end } else { 1.0 };
    let panels = shown.iter().enumerate().map(|(index, run)| {
        let is_last = index + 1 == shown.len();
        let exact = Range {
            exact: true,
            ..Range::from_zero(Some((0.0, end)))
        };
        let x = Axis::numbers(exact, Scale::Linear, Format::Plain);
        let x = x.named(if is_last {
            "seconds since the first operation"
        } else {
            ""
        });
        let y = Axis::numbers(Range::from_zero(Some(ends)), Scale::Auto, Format::Time);
        let series = Series {
            key: None,
            marks: points(run, ends.0),
        };
        panel(run, x, y.named("response time"), 150.0, vec![series])
    });
    let is_every = |line: &TimeLine| matches!(line, TimeLine::Every(_));
    let every = shown.iter().all(|run| is_every(&run.details.time_line));
    Figure {
        id: test.to_owned(),
        title: format!("{test}: response times in the order of time"),
        note: if every { EVERY_POINT } else { BANDS }.to_owned(),
        columns: words(["run", "after", "mean", "fastest and slowest", "operations"]),
        keys: Vec::new(),
        panels: panels.collect(),
    }
}

fn times(line: &TimeLine) -> Vec<f64> {
    match line {
        TimeLine::Every(all) => all
            .iter()
            .filter_map(|operation| operation.took)
            .map(|ns| ns as f64)
            .collect(),
        TimeLine::Buckets { buckets, .. } => {
            let some = buckets.iter().filter(|bucket| bucket.n > 0);
            some.flat_map(|bucket| [bucket.min as f64, bucket.max as f64])
                .collect()
        }
    }
}

fn end(line: &TimeLine) -> f64 {
    match line {
        TimeLine::Every(all) => {
            let (first, last) = (all.first(), all.last());
            first
                .zip(last)
                .map_or(0.0, |(first, last)| seconds(last.at - first.at))
        }
        TimeLine::Buckets { length, buckets } => *length as f64 / 1e9 * buckets.len() as f64,
    }
}

/// The marks of a run; the crosses of failures stand at `low`.
fn points(run: &RunDetails<'_>, low: f64) -> Vec<FigureMark> {
    let crossed = MarkLook {
        symbol: Symbol::Cross,
        ..MarkLook::toned(MarkTone::Bad)
    };
    let cross = |at: f64, count: u64| {
        let failed = format!("{count} failed");
        let cells = [run.name, &moment(at), "", "", &failed];
        FigureMark::new(MarkShape::Point(at, low), crossed).with_row(cells.map(str::to_owned))
    };
    match &run.details.time_line {
        TimeLine::Every(all) => {
            let begin = all.first().map_or(0, |operation| operation.at);
            let at = |operation: &DrawnOperation| seconds(operation.at - begin);
            let point = |operation: &DrawnOperation| {
                let took = operation.took?;
                let (at, duration) = (at(operation), written(took));
                let cells = [run.name, &moment(at), &duration, "", "1"];
                let shape = MarkShape::Point(at, time(took));
                Some(
                    FigureMark::new(shape, MarkLook::of(run.index))
                        .with_row(cells.map(str::to_owned)),
                )
            };
            let failed = all.iter().filter(|operation| operation.took.is_none());
            let failed = failed.map(|operation| cross(at(operation), 1));
            all.iter().filter_map(point).chain(failed).collect()
        }
        TimeLine::Buckets { length, buckets } => {
            let length = *length as f64 / 1e9;
            let filled = || {
                buckets
                    .iter()
                    .enumerate()
                    .filter(|(_, bucket)| bucket.n > 0)
            };
            let bars = filled().map(|(index, bucket)| bar(run, index, length, bucket));
            let mean = |bucket: &Bucket| us(bucket.sum as f64 / bucket.n as f64);
            let middle = |index: usize| (index as f64 + 0.5) * length;
            let means = filled().map(|(index, bucket)| (middle(index), mean(bucket)));
            let means = MarkShape::Line(means.collect(), LineStep::None);
            let line = filled()
                .next()
                .map(|_| FigureMark::new(means, MarkLook::toned(MarkTone::Ink)));
            let failed = buckets
                .iter()
                .enumerate()
                .filter(|(_, bucket)| bucket.failed > 0);
            let failed = failed.map(|(index, bucket)| cross(middle(index), bucket.failed));
            bars.chain(line).chain(failed).collect()
        }
    }
}

fn bar(run: &RunDetails<'_>, index: usize, length: f64, bucket: &Bucket) -> FigureMark {
    let from = index as f64 * length;
    let shape = MarkShape::Rect {
        x: (from, from + length),
        y: (time(bucket.min), time(bucket.max)),
    };
    let look = MarkLook::toned(MarkLook::of(run.index).tone).filled(MarkFill::Soft);
    let mean = Format::Time.value(us(bucket.sum as f64 / bucket.n as f64));
    FigureMark::new(shape, look).with_row([
        run.name.to_owned(),
        moment(from + length / 2.0),
        mean,
        human_range((bucket.min as f64, bucket.max as f64)),
        bucket.n.to_string(),
    ])
}

fn moment(at: f64) -> String {
    format!("{} s", figures::digits(at))
}
