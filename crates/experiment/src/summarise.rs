//! From the trials of a campaign to tables, charts and findings.

use std::collections::BTreeMap;

use crate::changing::is_changing;
use crate::file::{ChartSpec, ColumnSpec, ExperimentSpec, ShownUnit, TableSpec, Where};
use crate::findings;
use crate::log::last_of_each;
use crate::orders::{self, OrderedRow};
use crate::published::PublishedFigures;
use crate::record::{CampaignRecord, LevelCombination, TrialRecord};
use crate::series::{FigureSeries, TrialTable};
use crate::spread::PooledSpread;
use crate::summary::{
    CampaignSummary, CellEstimate, CellFigure, ChartSummary, EstimateWarning, OrderingCount,
    TableSummary,
};

/// Summarises the trials of a campaign. `spec` is the experiment of the campaign, or a newer
/// version of it with other tables, findings and published figures.
pub fn summarise(
    spec: &ExperimentSpec,
    campaign: &CampaignRecord,
    trials: &[TrialRecord],
) -> CampaignSummary {
    let shown = spec.with_own_figures(trials);
    let figures = CampaignFigures::new(spec, &campaign.cells, &shown);
    let last = last_records(campaign, trials);
    let failed = last.iter().filter_map(|trial| trial.failed.as_ref());
    let warnings = last.iter().flat_map(|trial| &trial.warnings);
    CampaignSummary {
        planned_trials: campaign.cells.len() * campaign.repetitions as usize,
        ended_trials: last.iter().filter(|trial| trial.failed.is_none()).count(),
        failures: counted(failed),
        warnings: counted(warnings),
        cells: figures.cell_figures(),
        tables: spec
            .tables
            .iter()
            .filter_map(|spec| table(&figures, spec))
            .collect(),
        charts: spec
            .charts
            .iter()
            .filter_map(|spec| chart(&figures, spec))
            .collect(),
        findings: spec
            .findings
            .iter()
            .filter_map(|finding| findings::judge(&figures, finding))
            .collect(),
    }
}

/// The last record of each trial of the campaign.
fn last_records<'a>(campaign: &CampaignRecord, trials: &'a [TrialRecord]) -> Vec<&'a TrialRecord> {
    let is_planned = |trial: &&TrialRecord| campaign.cells.contains(&trial.cell);
    last_of_each(trials)
        .into_values()
        .filter(is_planned)
        .collect()
}

/// Texts, each once, most frequent first.
fn counted<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts
        .into_iter()
        .map(|(text, count)| (text.clone(), count))
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

pub(crate) struct CampaignFigures<'a> {
    pub(crate) spec: &'a ExperimentSpec,
    pub(crate) cells: &'a [LevelCombination],
    all_cells: Vec<LevelCombination>,
    trials: TrialTable<'a>,
    published: PublishedFigures,
    /// By figure, properties of all of its cells together.
    common: BTreeMap<&'a str, CommonFigures>,
}

#[derive(Default)]
struct CommonFigures {
    spread: PooledSpread,
    is_changing: bool,
}

/// Series that belong together, and their spread.
pub(crate) struct SeriesGroup {
    pub(crate) series: Vec<FigureSeries>,
    pub(crate) spread: PooledSpread,
}

impl<'a> CampaignFigures<'a> {
    fn new(
        spec: &'a ExperimentSpec,
        cells: &'a [LevelCombination],
        trials: &'a [TrialRecord],
    ) -> Self {
        let trials = TrialTable::new(spec, trials);
        let common = |figure: &'a String| {
            let series = |cell| trials.series(figure, &[cell]);
            let series: Vec<FigureSeries> = cells.iter().map(series).collect();
            let values: Vec<Vec<f64>> = series.iter().map(FigureSeries::figures).collect();
            let spread = PooledSpread::new(&values);
            let is_changing = is_changing(&paired_values(&series), spread.is_ratio);
            let common = CommonFigures {
                spread,
                is_changing,
            };
            (figure.as_str(), common)
        };
        CampaignFigures {
            common: spec.figures.keys().map(common).collect(),
            spec,
            cells,
            all_cells: spec.all_cells(),
            // An experiment that was checked has no defects here.
            published: PublishedFigures::read(spec).unwrap_or_default(),
            trials,
        }
    }

    fn cell_figures(&self) -> Vec<CellFigure> {
        let mut found = Vec::new();
        for cell in self.cells {
            for (name, figure) in &self.spec.figures {
                let cells = [cell];
                let group = self.group(name, &[&cells]);
                let series = group.series.first().cloned().unwrap_or_default();
                found.push(CellFigure {
                    cell: cell.clone(),
                    figure: name.clone(),
                    unit: figure.unit,
                    estimate: self.estimate(name, &cells, &series, &group),
                });
            }
        }
        found
    }

    /// The series of a figure over several sets of cells. If each set is one cell, their spread is
    /// that of the figure in all cells; means of several cells have less spread.
    pub(crate) fn group(&self, figure: &str, sets: &[&[&LevelCombination]]) -> SeriesGroup {
        let sets: Vec<(&str, &[&LevelCombination])> =
            sets.iter().map(|cells| (figure, *cells)).collect();
        self.group_of_figures(&sets)
    }

    /// The same of several figures of the same unit.
    pub(crate) fn group_of_figures(&self, sets: &[(&str, &[&LevelCombination])]) -> SeriesGroup {
        let series: Vec<FigureSeries> = sets
            .iter()
            .map(|(figure, cells)| self.trials.series(figure, cells))
            .collect();
        let first = sets.first().map_or("", |(figure, _)| *figure);
        let is_single = sets
            .iter()
            .all(|(figure, cells)| *figure == first && cells.len() == 1);
        let spread = match self.common.get(first) {
            Some(common) if is_single => common.spread.clone(),
            _ => {
                let values: Vec<Vec<f64>> = series.iter().map(FigureSeries::figures).collect();
                PooledSpread::new(&values)
            }
        };
        SeriesGroup { series, spread }
    }

    /// The estimate of the series of these cells, with the published figure.
    pub(crate) fn estimate(
        &self,
        figure: &str,
        cells: &[&LevelCombination],
        series: &FigureSeries,
        group: &SeriesGroup,
    ) -> CellEstimate {
        let (_, unit) = self.figure_title(figure);
        let mut estimate = CellEstimate::of(series, &group.spread, unit);
        let common = self.common.get(figure);
        let is_changing = common.is_some_and(|series| series.is_changing);
        if estimate.count > 1 && is_changing {
            estimate.warnings.push(EstimateWarning::Changing);
        }
        let cells: Vec<LevelCombination> = cells.iter().map(|cell| (*cell).clone()).collect();
        estimate.published = self.published.of(figure, &cells, &self.all_cells);
        estimate
    }

    fn matching(&self, conditions: &[&Where]) -> Vec<&'a LevelCombination> {
        let matches =
            |cell: &&LevelCombination| conditions.iter().all(|condition| condition.matches(cell));
        self.cells.iter().filter(matches).collect()
    }

    pub(crate) fn level_title(&self, factor: &str, level: &str) -> String {
        let found = self.spec.factor(factor).and_then(|spec| spec.level(level));
        let title = found.and_then(|found| found.title.clone());
        title.unwrap_or_else(|| level.to_owned())
    }

    fn factor_title(&self, name: &str) -> String {
        let title = self.spec.factor(name).and_then(|spec| spec.title.clone());
        title.unwrap_or_else(|| name.to_owned())
    }

    fn figure_title(&self, name: &str) -> (String, ShownUnit) {
        match self.spec.figures.get(name) {
            Some(figure) => (figure.title.clone(), figure.unit),
            None => (name.to_owned(), ShownUnit::Number),
        }
    }
}

/// The values of repetitions that all non-empty series have.
fn paired_values(series: &[FigureSeries]) -> Vec<Vec<f64>> {
    let filled: Vec<&FigureSeries> = series
        .iter()
        .filter(|series| !series.values.is_empty())
        .collect();
    let has = |series: &FigureSeries, repetition: u32| {
        let place = series
            .values
            .binary_search_by_key(&repetition, |(other, _)| *other);
        place.is_ok()
    };
    let is_common = |repetition: u32| filled.iter().all(|series| has(series, repetition));
    let values = |series: &&FigureSeries| {
        let values = series
            .values
            .iter()
            .filter(|(repetition, _)| is_common(*repetition));
        values.map(|(_, value)| *value).collect()
    };
    filled.iter().map(values).collect()
}

/// The combinations of levels of some factors in these cells, in the order of the file.
fn combinations<'a>(
    spec: &ExperimentSpec,
    factors: &[&str],
    cells: &[&'a LevelCombination],
) -> Vec<Vec<&'a str>> {
    let place = |factor: &str, level: &str| {
        let factor = spec.factor(factor);
        factor.and_then(|factor| factor.levels.iter().position(|known| known.name == level))
    };
    let mut rows: BTreeMap<Vec<Option<usize>>, Vec<&str>> = BTreeMap::new();
    for cell in cells {
        let levels: Vec<&str> = factors.iter().map(|factor| cell.level(factor)).collect();
        let places = factors.iter().zip(&levels);
        rows.insert(
            places.map(|(factor, level)| place(factor, level)).collect(),
            levels,
        );
    }
    rows.into_values().collect()
}

fn with_levels<'a>(
    cells: &[&'a LevelCombination],
    factors: &[&str],
    levels: &[&str],
) -> Vec<&'a LevelCombination> {
    let has = |cell: &&&LevelCombination| {
        let mut both = factors.iter().zip(levels);
        both.all(|(factor, level)| cell.level(factor) == *level)
    };
    cells.iter().filter(has).copied().collect()
}

fn table(figures: &CampaignFigures<'_>, spec: &TableSpec) -> Option<TableSummary> {
    let factors: Vec<&str> = spec.rows.iter().map(String::as_str).collect();
    let mut cells = figures.matching(&[&spec.within]);
    // A row that belongs to no column is left out.
    cells.retain(|cell| {
        spec.columns
            .iter()
            .any(|column| column.within.matches(cell))
    });
    let rows = combinations(figures.spec, &factors, &cells);
    let mut columns = Vec::new();
    let mut orders = Vec::new();
    for column_spec in &spec.columns {
        let (column, order) = column(figures, column_spec, &cells, &factors, &rows);
        columns.push(column);
        orders.push(order);
    }
    if columns
        .iter()
        .flatten()
        .all(|estimate| estimate.mean.is_none())
    {
        return None;
    }
    let of_row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
    let heading = |column: &ColumnSpec| {
        let (title, unit) = figures.figure_title(&column.figure);
        (column.title.clone().unwrap_or(title), unit)
    };
    let titles = |levels: &Vec<&str>| {
        let levels = factors.iter().zip(levels);
        levels
            .map(|(factor, level)| figures.level_title(factor, level))
            .collect()
    };
    let summary = TableSummary {
        name: spec.name.clone(),
        title: spec.title.clone(),
        row_factors: factors
            .iter()
            .map(|name| figures.factor_title(name))
            .collect(),
        rows: rows.iter().map(titles).collect(),
        columns: spec.columns.iter().map(heading).collect(),
        cells: (0..rows.len()).map(of_row).collect(),
        orders,
        note: spec.note.clone(),
    };
    Some(match &spec.turned {
        Some(heading) => turned(summary, heading),
        None => summary,
    })
}

/// Exchanges rows and columns of a table in one unit. Orders of columns are dropped.
fn turned(table: TableSummary, heading: &str) -> TableSummary {
    let unit = table
        .columns
        .first()
        .map_or(ShownUnit::Number, |column| column.1);
    let of_column = |column: usize| table.cells.iter().map(|row| row[column].clone()).collect();
    TableSummary {
        row_factors: vec![heading.to_owned()],
        cells: (0..table.columns.len()).map(of_column).collect(),
        orders: vec![OrderingCount::default(); table.rows.len()],
        columns: table
            .rows
            .iter()
            .map(|levels| (levels.join(", "), unit))
            .collect(),
        rows: table
            .columns
            .into_iter()
            .map(|(title, _)| vec![title])
            .collect(),
        ..table
    }
}

fn column(
    figures: &CampaignFigures<'_>,
    spec: &ColumnSpec,
    cells: &[&LevelCombination],
    factors: &[&str],
    rows: &[Vec<&str>],
) -> (Vec<CellEstimate>, OrderingCount) {
    let within: Vec<&LevelCombination> = cells
        .iter()
        .filter(|cell| spec.within.matches(cell))
        .copied()
        .collect();
    let sets: Vec<Vec<&LevelCombination>> = rows
        .iter()
        .map(|levels| with_levels(&within, factors, levels))
        .collect();
    let some: Vec<&[&LevelCombination]> = sets.iter().map(Vec::as_slice).collect();
    let group = figures.group(&spec.figure, &some);
    let estimates: Vec<CellEstimate> = sets
        .iter()
        .zip(&group.series)
        .map(|(cells, series)| figures.estimate(&spec.figure, cells, series, &group))
        .collect();
    let rows = estimates.iter().zip(&group.series);
    let rows: Vec<OrderedRow> = rows
        .map(|(estimate, series)| OrderedRow {
            published: estimate.published,
            series: series.clone(),
        })
        .collect();
    let orders = orders::orders(&rows, &group.spread);
    (estimates, orders)
}

fn chart(figures: &CampaignFigures<'_>, spec: &ChartSpec) -> Option<ChartSummary> {
    let cells = figures.matching(&[&spec.within]);
    let groups = combinations(figures.spec, &[spec.groups.as_str()], &cells);
    let bar_factors: Vec<&str> = spec.bars.iter().map(String::as_str).collect();
    let levels = combinations(figures.spec, &bar_factors, &cells);
    let names: Vec<&str> = std::iter::once(&spec.figure)
        .chain(&spec.also)
        .map(String::as_str)
        .collect();
    // Bars of the same figure are adjacent.
    let bars: Vec<(&str, &Vec<&str>)> = names
        .iter()
        .flat_map(|figure| levels.iter().map(move |levels| (*figure, levels)))
        .collect();
    let mut sets = Vec::new();
    for group in &groups {
        let cells = with_levels(&cells, &[spec.groups.as_str()], group);
        for (figure, levels) in &bars {
            sets.push((*figure, with_levels(&cells, &bar_factors, levels)));
        }
    }
    let mut estimates = Vec::new();
    let mut groups_of_figures = BTreeMap::new();
    for figure in &names {
        let figure_sets = sets.iter().filter(|(name, _)| name == figure);
        let figure_cells: Vec<&[&LevelCombination]> =
            figure_sets.map(|(_, cells)| cells.as_slice()).collect();
        groups_of_figures.insert(*figure, (figures.group(figure, &figure_cells), 0));
    }
    for (figure, cells) in &sets {
        let Some((group, next)) = groups_of_figures.get_mut(figure) else {
            continue;
        };
        let series = group.series[*next].clone();
        *next += 1;
        estimates.push(figures.estimate(figure, cells, &series, group));
    }
    if estimates.iter().all(|estimate| estimate.mean.is_none()) {
        return None;
    }
    let title = |factor: Option<&String>, levels: &Vec<&str>| {
        let level = factor.zip(levels.first());
        level.map_or_else(String::new, |(factor, level)| {
            figures.level_title(factor, level)
        })
    };
    let bar_title = |(figure, levels): &(&str, &Vec<&str>)| {
        let level = title(spec.bars.as_ref(), levels);
        let figure = figures.figure_title(figure).0;
        match (names.len(), level.is_empty()) {
            (1, _) => level,
            (_, true) => figure,
            (_, false) => format!("{level}, {figure}"),
        }
    };
    Some(ChartSummary {
        name: spec.name.clone(),
        title: spec.title.clone(),
        figure: figures.figure_title(&spec.figure),
        groups: groups
            .iter()
            .map(|levels| title(Some(&spec.groups), levels))
            .collect(),
        bars: bars.iter().map(bar_title).collect(),
        values: estimates
            .chunks(bars.len().max(1))
            .map(<[_]>::to_vec)
            .collect(),
    })
}
