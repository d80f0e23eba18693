//! Summary of the trials of a campaign: means with intervals, published figures, orders and
//! findings.

use serde::Serialize;

use crate::file::ShownUnit;
use crate::record::LevelCombination;

/// A summary of a campaign. Figures are in the units of reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CampaignSummary {
    /// Number of planned trials.
    pub planned_trials: usize,
    /// Number of trials that have ended with figures.
    pub ended_trials: usize,
    /// Reasons of failed trials, each once, with the number of trials.
    pub failures: Vec<(String, usize)>,
    /// Warnings of trials, each once, with the number of trials.
    pub warnings: Vec<(String, usize)>,
    /// The figures of the experiment in each measured cell, in the order of the cells.
    pub cells: Vec<CellFigure>,
    /// Tables that have at least one measured figure.
    pub tables: Vec<TableSummary>,
    /// Charts that have at least one measured figure.
    pub charts: Vec<ChartSummary>,
    /// Findings whose cells were measured, at least in part.
    pub findings: Vec<FindingSummary>,
}

/// A range with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureRange {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Estimate of a figure in some cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CellEstimate {
    /// Number of repetitions.
    pub count: usize,
    /// Their mean; `None` if there are none.
    pub mean: Option<f64>,
    /// Range of the mean; `None` with fewer than two repetitions, and if they determine none
    /// ([`EstimateWarning::Undetermined`]).
    pub interval: Option<FigureRange>,
    /// Range of the mean of as many further repetitions; `None` if all repetitions are the same.
    pub prediction: Option<FigureRange>,
    /// The published figure.
    pub published: Option<f64>,
    /// Number of repetitions of a time that did not end. If there are any, the mean is a lower
    /// bound, because they count with the time after which they were ended. 0 for figures that are
    /// no times.
    pub unfinished: usize,
    /// Reasons to distrust its ranges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<EstimateWarning>,
}

/// A reason to distrust the ranges of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EstimateWarning {
    /// A repetition sometimes differs much, as with or without a retransmission timeout. Few
    /// repetitions of a cell do not show how often, so the ranges are those of the spread of all
    /// cells of the figure together, and a relation with overlapping ranges does not hold.
    HeavyTail,
    /// All cells change together from one repetition to another: the conditions on the machine
    /// changed. The ranges are about this time only.
    Changing,
    /// The repetitions differ so much that the mean may be a thousand times the largest of them, so
    /// it has no range.
    Undetermined,
}

/// A figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellFigure {
    /// The cell.
    pub cell: LevelCombination,
    /// Name of the figure.
    pub figure: String,
    /// Its unit.
    pub unit: ShownUnit,
    /// Its estimate.
    pub estimate: CellEstimate,
}

/// A table: `cells[row][column]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableSummary {
    /// Its name in the source.
    pub name: String,
    /// Title.
    pub title: String,
    /// Headings of the leading columns: titles of the factors.
    pub row_factors: Vec<String>,
    /// Titles of the levels of each row.
    pub rows: Vec<Vec<String>>,
    /// Heading and unit of each column.
    pub columns: Vec<(String, ShownUnit)>,
    /// The figures.
    pub cells: Vec<Vec<CellEstimate>>,
    /// Orders of the rows of each column, compared with the published ones.
    pub orders: Vec<OrderingCount>,
    /// Difference from the published table, and its reason.
    pub note: Option<String>,
}

/// Orders of pairs of rows of a column whose published figures differ by more than a twentieth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OrderingCount {
    /// In the published order.
    pub same: usize,
    /// In the other order.
    pub reversed: usize,
    /// Inconclusive.
    pub inconclusive: usize,
}

/// A chart: `values[group][bar]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChartSummary {
    /// Its name in the source.
    pub name: String,
    /// Title.
    pub title: String,
    /// Title of the figure, and its unit.
    pub figure: (String, ShownUnit),
    /// Titles of the groups.
    pub groups: Vec<String>,
    /// Titles of the bars of each group; one without a title if there is one bar.
    pub bars: Vec<String>,
    /// The figures.
    pub values: Vec<Vec<CellEstimate>>,
}

/// A finding, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingSummary {
    /// The claim.
    pub claim: String,
    /// Its position in the source.
    pub source: Option<String>,
    /// It holds if all of its parts do, and fails if one does.
    pub verdict: PairVerdict,
    /// Its parts: one for each combination of the other factors.
    pub parts: Vec<FindingPart>,
}

/// A part of a finding. *Holds* is wrong for at most 2.5 % of false parts, and so it is for the
/// finding, which needs all of them. *Fails* is corrected for the number of parts (Holm): a true
/// finding fails with a probability of at most 5 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingPart {
    /// The levels of the other factors.
    pub cell: String,
    /// The first side.
    pub of: CellEstimate,
    /// The second.
    pub than: CellEstimate,
    /// Verdict on the relation.
    pub verdict: PairVerdict,
}

/// Verdict on a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PairVerdict {
    /// The relation holds.
    Holds,
    /// The relation does not hold.
    Fails,
    /// The repetitions do not decide.
    Inconclusive,
}
