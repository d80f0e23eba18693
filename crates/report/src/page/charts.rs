//! The figures of a page, and their names: each is a value, built from what the page shows.

mod background;
mod bars;
mod details;
mod loads;
mod over_time;
mod ratios;
mod search;
mod sweep;

use figures::{Figure, LegendKey, MarkLook, Range, Swatch, extent};
use stats::Details;

use super::figure_parts::FigurePart;
use super::tables::test_names;
use super::{PageRun, ReportPage};
use crate::FileNames;
use bars::TestGroup;

/// An interval may reach this factor beyond all means on a logarithmic axis; what is longer is cut,
/// and marked.
const REACH: f64 = 5.0;

/// A kind of figures: their names begin with that of the kind, and a test, a parameter or a number
/// follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// Background traffic over the time of a run.
    Background,
    /// Mean response times.
    Bars,
    /// The distribution function of response times.
    Ecdf,
    /// Ratios of a comparison with one server.
    Forest,
    /// Response times in ranges.
    Histogram,
    /// All ratios of a comparison.
    Matrix,
    /// Times of whole pages.
    Pages,
    /// Percentiles over the time of a load.
    Percentiles,
    /// Times and throughput by load.
    Search,
    /// How operations of a load ended.
    Status,
    /// Response times by a parameter.
    Sweep,
    /// Operations per second over the time of a load.
    Throughput,
    /// Response times in the order of time.
    TimeLine,
}

impl FigureKind {
    /// All of them.
    pub const ALL: [FigureKind; 13] = [
        FigureKind::Background,
        FigureKind::Bars,
        FigureKind::Ecdf,
        FigureKind::Forest,
        FigureKind::Histogram,
        FigureKind::Matrix,
        FigureKind::Pages,
        FigureKind::Percentiles,
        FigureKind::Search,
        FigureKind::Status,
        FigureKind::Sweep,
        FigureKind::Throughput,
        FigureKind::TimeLine,
    ];

    /// The part of a page that figures of this kind belong to; `None` for files alone.
    fn part(self) -> Option<FigurePart> {
        match self {
            FigureKind::Background => Some(FigurePart::Background),
            FigureKind::Bars => Some(FigurePart::Bars),
            FigureKind::Ecdf | FigureKind::Histogram => Some(FigurePart::Distribution),
            FigureKind::Forest => Some(FigurePart::Ratios),
            FigureKind::Matrix => None,
            FigureKind::Pages => Some(FigurePart::Retrieval),
            FigureKind::Percentiles
            | FigureKind::Status
            | FigureKind::Throughput
            | FigureKind::TimeLine => Some(FigurePart::Course),
            FigureKind::Search => Some(FigurePart::Capacity),
            FigureKind::Sweep => Some(FigurePart::Growth),
        }
    }

    /// The beginning of the names of its figures.
    pub fn name(self) -> &'static str {
        match self {
            FigureKind::Background => "background",
            FigureKind::Bars => "bars",
            FigureKind::Ecdf => "ecdf",
            FigureKind::Forest => "forest",
            FigureKind::Histogram => "histogram",
            FigureKind::Matrix => "matrix",
            FigureKind::Pages => "pages",
            FigureKind::Percentiles => "percentiles",
            FigureKind::Search => "search",
            FigureKind::Status => "status",
            FigureKind::Sweep => "sweep",
            FigureKind::Throughput => "throughput",
            FigureKind::TimeLine => "timeline",
        }
    }
}

/// The figures of a page, in the order of files. Those that show nothing are not among them.
#[derive(Default)]
pub(super) struct Charts {
    all: Vec<PlacedFigure>,
    ids: FileNames,
}

/// A figure, and where on a page it belongs.
pub(super) struct PlacedFigure {
    kind: FigureKind,
    /// The test or the parameter that it is about; empty for all of them.
    pub(super) about: String,
    /// The same on several scales, the usual one first.
    pub(super) scales: Vec<Figure>,
}

impl PlacedFigure {
    /// The figure on its usual scale.
    pub(super) fn usual(&self) -> &Figure {
        &self.scales[0]
    }
}

/// A run with the details of one of its tests.
pub(super) struct RunDetails<'a> {
    pub(super) name: &'a str,
    /// Its place among all runs, which decides how it looks.
    pub(super) index: usize,
    pub(super) details: &'a Details,
}

/// The runs that have details of a test.
pub(super) fn with_details<'a>(
    page: &'a ReportPage<'_>,
    names: &'a [String],
    test: &str,
) -> Vec<RunDetails<'a>> {
    let runs = page.runs.iter().zip(names).enumerate();
    let details_of = |(index, (run, name)): (usize, (&'a PageRun<'_>, &'a String))| {
        let row = run.summary.tests.iter().position(|row| row.name == test)?;
        Some(RunDetails {
            name,
            index,
            details: run.details.as_ref()?.get(row)?,
        })
    };
    runs.filter_map(details_of).collect()
}

impl Charts {
    pub(super) fn of(page: &ReportPage<'_>, names: &[String]) -> Charts {
        let mut charts = Charts::default();
        let mut add = |kind, about: &str, scales: Vec<Figure>| charts.add(kind, about, scales);
        if let Some(pages) = bars::pages(page, names) {
            add(FigureKind::Pages, "", vec![pages]);
        }
        for group in TestGroup::all(page) {
            let scales = group.scales(page).iter();
            let drawn = scales.map(|scale| bars::bars(page, names, &group, *scale));
            add(FigureKind::Bars, "", drawn.collect());
        }
        for test in test_names(page) {
            let runs = with_details(page, names, test);
            for (kind, figure) in loads::all(test, &runs) {
                add(kind, test, vec![figure]);
            }
            add(
                FigureKind::TimeLine,
                test,
                vec![details::time_line(test, &runs)],
            );
            add(
                FigureKind::Histogram,
                test,
                vec![details::histogram(test, &runs)],
            );
            add(FigureKind::Ecdf, test, vec![details::ecdf(test, &runs)]);
        }
        for (index, (run, name)) in page.runs.iter().zip(names).enumerate() {
            let (id, name) = match page.runs.len() {
                1 => (String::new(), None),
                _ => ((index + 1).to_string(), Some(&**name)),
            };
            if let Some(figure) = background::background(run, id, name) {
                add(FigureKind::Background, "", vec![figure]);
            }
        }
        if let Some(all) = page.comparison {
            add(FigureKind::Matrix, "", vec![ratios::matrix(all)]);
            for (index, versus) in all.versus.iter().enumerate() {
                let ratios = ratios::ratios(&all.name, versus, index + 1);
                add(FigureKind::Forest, "", vec![ratios]);
            }
        }
        if let Some(sweep) = page.sweep {
            for (param, varied) in sweep.vary.iter().enumerate() {
                for row in &sweep.rows {
                    let scales = sweep::sweep(sweep, row, param).into();
                    add(FigureKind::Sweep, &varied.name, scales);
                }
            }
        }
        if let Some(found) = page.search {
            add(FigureKind::Search, "", vec![search::search(found)]);
        }
        charts
    }

    /// Adds a figure on several scales, without those that show nothing.
    fn add(&mut self, kind: FigureKind, about: &str, scales: Vec<Figure>) {
        let drawn = scales.into_iter().filter(|figure| !figure.is_empty());
        let named = drawn.map(|figure| {
            let wanted = match &figure.id[..] {
                "" => kind.name().to_owned(),
                rest => format!("{}-{rest}", kind.name()),
            };
            Figure {
                id: self.ids.of(&wanted),
                ..figure
            }
        });
        let scales: Vec<Figure> = named.collect();
        if !scales.is_empty() {
            self.all.push(PlacedFigure {
                kind,
                about: about.to_owned(),
                scales,
            });
        }
    }

    pub(super) fn part(&self, part: FigurePart) -> impl Iterator<Item = &PlacedFigure> {
        self.all
            .iter()
            .filter(move |figure| figure.kind.part() == Some(part))
    }

    pub(super) fn about<'a>(
        &'a self,
        part: FigurePart,
        test: &'a str,
    ) -> impl Iterator<Item = &'a Figure> {
        let figures = self.part(part).filter(move |figure| figure.about == test);
        figures.map(PlacedFigure::usual)
    }

    /// Those for files, in their order: a sweep has its usual scale there.
    pub(super) fn files(self) -> impl Iterator<Item = Figure> {
        self.all.into_iter().flat_map(|figure| {
            let most = match figure.kind {
                FigureKind::Sweep => 1,
                _ => figure.scales.len(),
            };
            figure.scales.into_iter().take(most)
        })
    }
}

fn key(name: &str, look: MarkLook, swatch: Swatch) -> LegendKey {
    LegendKey {
        name: name.to_owned(),
        look,
        swatch,
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// Nanoseconds in microseconds, the unit of axes of time.
fn us(ns: f64) -> f64 {
    ns / 1e3
}

/// The values that an axis shows for these means and the ends of their intervals: one long interval
/// must not push all others together, so on a logarithmic axis those that reach far beyond all
/// means are left out. A linear axis has room for all.
fn within(means: (f64, f64), ends: &[f64], is_log: bool) -> Range {
    let all = |more: Vec<f64>| Range::from_zero(extent([means.0, means.1].into_iter().chain(more)));
    if !is_log {
        return all(ends.to_vec());
    }
    let (low, high) = (means.0 / REACH, means.1 * REACH);
    let mut kept: Vec<f64> = ends.to_vec();
    kept.retain(|end| (low..=high).contains(end));
    // An arrow needs room beside the outermost mark.
    if ends.iter().any(|end| *end < low) {
        kept.push(means.0 / 2.0);
    }
    if ends.iter().any(|end| *end > high) {
        kept.push(means.1 * 2.0);
    }
    all(kept)
}
