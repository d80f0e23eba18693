//! The figures of a page, and their names: each is a value, built from what the page shows.

mod background;
mod bars;
mod details;
mod kind;
mod loads;
mod over_time;
mod ratios;
mod search;
mod sweep;

use figures::{Figure, LegendKey, MarkLook, Range, Swatch, extent};
use stats::Details;

use super::tables::test_names;
use super::{PageRun, ReportPage};
use crate::FileNames;
use bars::TestGroup;

pub use kind::FigureKind;

/// An interval may reach this factor beyond all means on a logarithmic axis; what is longer is cut, and marked.
const REACH: f64 = 5.0;

/// The figures of a page. Those that show nothing are not among them.
pub(super) struct Charts {
    /// Times of whole pages.
    pub(super) pages: Option<Figure>,
    /// Mean times of groups of tests, on each scale on which they can be seen; the first is the usual one.
    pub(super) bars: Vec<Vec<Figure>>,
    /// What each test looks like, by its name.
    pub(super) tests: Vec<(String, TestCharts)>,
    /// Background traffic beside each run that has it.
    pub(super) background: Vec<Figure>,
    /// All ratios of a comparison.
    pub(super) matrix: Option<Figure>,
    /// The ratios of each server of a comparison.
    pub(super) ratios: Vec<Figure>,
    /// For each parameter of a sweep and each test: the usual scale, then the other one.
    pub(super) sweeps: Vec<(String, Vec<[Figure; 2]>)>,
    /// The loads of a search.
    pub(super) search: Option<Figure>,
}

/// The figures of one test.
pub(super) struct TestCharts {
    /// How a load went.
    pub(super) load: Vec<Figure>,
    pub(super) time_line: Option<Figure>,
    pub(super) histogram: Option<Figure>,
    pub(super) ecdf: Option<Figure>,
}

/// A run with what one of its tests looks like.
pub(super) struct RunDetails<'a> {
    /// How it is called.
    pub(super) name: &'a str,
    /// Its place among all runs, which decides how it looks.
    pub(super) place: usize,
    pub(super) details: &'a Details,
}

/// The runs that have details of a test.
pub(super) fn with_details<'a>(
    page: &'a ReportPage<'_>,
    names: &'a [String],
    test: &str,
) -> Vec<RunDetails<'a>> {
    let runs = page.runs.iter().zip(names).enumerate();
    let own = |(place, (run, name)): (usize, (&'a PageRun<'_>, &'a String))| {
        let row = run.summary.tests.iter().position(|row| row.name == test)?;
        Some(RunDetails {
            name,
            place,
            details: run.details.as_ref()?.get(row)?,
        })
    };
    runs.filter_map(own).collect()
}

impl Charts {
    pub(super) fn of(page: &ReportPage<'_>, names: &[String]) -> Charts {
        let mut ids = FileNames::default();
        // A figure that shows nothing has no name.
        let mut named = |kind: FigureKind, figure: Figure| {
            let wanted = match &figure.id[..] {
                "" => kind.name().to_owned(),
                rest => format!("{}-{rest}", kind.name()),
            };
            (!figure.is_empty()).then(|| Figure {
                id: ids.of(&wanted),
                ..figure
            })
        };
        let pages = bars::pages(page, names);
        let pages = pages.and_then(|figure| named(FigureKind::Pages, figure));
        let mut groups = Vec::new();
        for group in TestGroup::all(page) {
            let scales = group.scales(page).iter();
            let drawn = scales.map(|scale| bars::bars(page, names, &group, *scale));
            let drawn: Vec<Figure> = drawn
                .filter_map(|figure| named(FigureKind::Bars, figure))
                .collect();
            if !drawn.is_empty() {
                groups.push(drawn);
            }
        }
        let mut tests = Vec::new();
        for test in test_names(page) {
            let runs = with_details(page, names, test);
            let load = loads::all(test, &runs).into_iter();
            let load = load
                .filter_map(|(kind, figure)| named(kind, figure))
                .collect();
            let histogram = named(FigureKind::Histogram, details::histogram(test, &runs));
            let ecdf = named(FigureKind::Ecdf, details::ecdf(test, &runs));
            let time_line = named(FigureKind::TimeLine, details::time_line(test, &runs));
            let drawn = TestCharts {
                load,
                time_line,
                histogram,
                ecdf,
            };
            tests.push((test.to_owned(), drawn));
        }
        let is_one = page.runs.len() == 1;
        let runs = page.runs.iter().zip(names).enumerate();
        let background = runs.filter_map(|(place, (run, name))| {
            let (id, name) = if is_one {
                (String::new(), None)
            } else {
                ((place + 1).to_string(), Some(&**name))
            };
            named(
                FigureKind::Background,
                background::background(run, id, name)?,
            )
        });
        let background = background.collect();
        let matrix = page.comparison.map(ratios::matrix);
        let matrix = matrix.and_then(|figure| named(FigureKind::Matrix, figure));
        let versus = page.comparison.iter().flat_map(|all| {
            let versus = all.versus.iter().enumerate();
            versus.map(|(place, own)| ratios::ratios(&all.name, own, place + 1))
        });
        let ratios = versus.filter_map(|figure| named(FigureKind::Forest, figure));
        let ratios = ratios.collect();
        let mut sweeps = Vec::new();
        for (param, varied) in page
            .sweep
            .iter()
            .flat_map(|sweep| sweep.vary.iter().enumerate())
        {
            let sweep = page.sweep.expect("it varies something");
            let mut drawn = Vec::new();
            for row in &sweep.rows {
                let [usual, other] = sweep::sweep(sweep, row, param);
                let usual = named(FigureKind::Sweep, usual);
                // It is on the page alone.
                let id = format!("{}-other", other.id);
                let other = named(FigureKind::Sweep, Figure { id, ..other });
                drawn.extend(usual.zip(other).map(|(usual, other)| [usual, other]));
            }
            sweeps.push((varied.name.clone(), drawn));
        }
        let search = page.search.map(search::search);
        let search = search.and_then(|figure| named(FigureKind::Search, figure));
        Charts {
            pages,
            bars: groups,
            tests,
            background,
            matrix,
            ratios,
            sweeps,
            search,
        }
    }

    /// Those for files, in their order.
    pub(super) fn all(self) -> impl Iterator<Item = Figure> {
        let bars = self.bars.into_iter().flatten();
        let tests = self.tests.into_iter().flat_map(|(_, of)| {
            let of_operations = [of.histogram, of.ecdf, of.time_line];
            of.load
                .into_iter()
                .chain(of_operations.into_iter().flatten())
        });
        let sweeps = self.sweeps.into_iter().flat_map(|(_, of)| of);
        let sweeps = sweeps.map(|[usual, _]| usual);
        let pages = self.pages.into_iter();
        let before = pages.chain(bars).chain(tests).chain(self.background);
        let after = self.matrix.into_iter().chain(self.ratios).chain(sweeps);
        before.chain(after).chain(self.search)
    }
}

/// An entry of the legend for a run.
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

/// The values that an axis shows for these means and the ends of their intervals: one long interval must not push all
/// others together, so on a logarithmic axis those that reach far beyond all means are left out. A linear axis has
/// room for all.
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
