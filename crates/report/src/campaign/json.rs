//! A campaign for programs. Figures are in seconds, bit/s, shares from 0 to 1,
//! and numbers, whatever people see; the unit stands beside them.

use std::collections::BTreeMap;

use experiment::{
    BesideSummary, CellEstimate, CellFigure, ChartSummary, EstimateWarning, FactorSpec,
    FigureRange, FigureSpec, FindingPart, FindingSummary, LevelSpec, OrderingCount, OutsideFigure,
    PairVerdict, ShownUnit, TableSummary, TrialRecord,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::numbers::in_base;
use super::{CampaignReport, caveats, words};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{DocumentVersion, each, fields, json_of, plain};
use crate::json::SeedJson;

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// The campaign for programs: one JSON document, for which `docs/campaign.schema.json` is
/// published. Ends with a newline.
pub fn campaign_json(of: &CampaignReport<'_>) -> String {
    json_of(of)
}

/// The JSON schema of [`campaign_json`]: the content of `docs/campaign.schema.json`.
#[cfg(feature = "schema")]
pub fn campaign_schema() -> String {
    schema_of::<CampaignReport<'_>>()
}

plain!(BaseUnit, EstimateWarningJson, PairVerdictJson);

fields! {
    /// A campaign.
    CampaignReport<'_>, "Document" "Prestan campaign", |of| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// Version of the program that measured.
        program = &of.record.program,
        /// Name or file of the experiment.
        experiment = &of.record.name,
        /// Title, in one line.
        title = &of.experiment.title,
        /// Where it comes from; null where the experiment has no source.
        source = &of.experiment.source,
        /// The command that repeats it; null where it is not known.
        command = Some(&of.record.command).filter(|command| !command.is_empty()),
        /// When it began (RFC 3339).
        started = &of.record.started,
        /// Seed of the order of trials, and of everything random in them.
        seed = SeedJson::from(of.record.seed),
        /// Planned repetitions of each cell.
        repetitions = of.record.repetitions,
        /// Facts of the machine and its software, by what they are.
        facts = &of.record.facts,
        /// Trials that were planned.
        planned_trials = of.summary.planned_trials,
        /// Trials that ended with figures.
        ended_trials = of.summary.ended_trials,
        /// Trials that failed, by reason.
        failures = &of.summary.failures,
        /// Warnings of trials.
        warnings = &of.summary.warnings,
        /// Cells that were not measured, in sentences.
        missing = caveats::missing(of),
        /// The conclusion that the repetitions support, or the absence of one, in a sentence.
        conclusion = words::conclusion(of),
        /// Factors, in the order of tables.
        factors = &of.experiment.factors,
        /// The figures that the experiment is about. Trials have others, too.
        figures = each(&of.experiment.figures, |(name, spec)| (name.as_str(), spec)),
        /// Each figure of each measured cell.
        cells = &of.summary.cells,
        /// Tables.
        tables = &of.summary.tables,
        /// Charts.
        charts = &of.summary.charts,
        /// Findings.
        findings = each(&of.summary.findings, |finding| (of, finding)),
        /// Differences from the source, with their reasons.
        differences = &of.experiment.differences,
        /// How another campaign compares with this one; null without another.
        beside = of.beside.map(|other| (of, other)),
        /// The trials.
        trials = of.trials,
    }
}

fields! {
    /// A text, and how many trials have it.
    (String, usize), "OfTrials", |(text, trials)| {
        /// The text.
        text = text,
        /// Number of trials.
        trials = *trials,
    }
}

fields! {
    /// A factor.
    FactorSpec, "Factor", |factor| {
        /// Its name.
        name = &factor.name,
        /// How people call it.
        title = factor.title.as_ref().unwrap_or(&factor.name),
        /// Its levels, in order.
        levels = &factor.levels,
    }
}

fields! {
    /// A level of a factor.
    LevelSpec, "Level", |level| {
        /// Its name.
        name = &level.name,
        /// How people call it.
        title = level.title.as_ref().unwrap_or(&level.name),
    }
}

fields! {
    /// A figure.
    (&str, &FigureSpec), "Figure", |(name, spec)| {
        /// Its name.
        name = *name,
        /// Title of the figure.
        title = &spec.title,
        /// Unit of its numbers.
        unit = BaseUnit::from(spec.unit),
        /// Larger values are better; null where neither larger nor smaller ones are.
        more_is_better = spec.more_is_better,
    }
}

/// The unit of figures in documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Unit")]
pub(super) enum BaseUnit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A number.
    #[serde(rename = "number")]
    Number,
}

impl BaseUnit {
    pub(super) fn name(self) -> &'static str {
        match self {
            BaseUnit::Seconds => "s",
            BaseUnit::BitsPerSecond => "bit/s",
            BaseUnit::Share => "share",
            BaseUnit::Number => "number",
        }
    }
}

impl From<ShownUnit> for BaseUnit {
    fn from(unit: ShownUnit) -> BaseUnit {
        match unit {
            ShownUnit::S | ShownUnit::Ms => BaseUnit::Seconds,
            ShownUnit::Mbit => BaseUnit::BitsPerSecond,
            ShownUnit::Percent => BaseUnit::Share,
            ShownUnit::Number => BaseUnit::Number,
        }
    }
}

/// An estimate, and the unit in which people see it; without a known unit it stays as they see it.
struct EstimateInUnit<'a> {
    estimate: &'a CellEstimate,
    unit: Option<ShownUnit>,
}

impl EstimateInUnit<'_> {
    fn new(estimate: &CellEstimate, unit: ShownUnit) -> EstimateInUnit<'_> {
        EstimateInUnit {
            estimate,
            unit: Some(unit),
        }
    }
}

fn base(value: f64, unit: Option<ShownUnit>) -> Option<f64> {
    in_base(value, unit.unwrap_or(ShownUnit::Number)).map(decimal)
}

fn base_range(range: FigureRange, unit: Option<ShownUnit>) -> Option<[f64; 2]> {
    Some([base(range.low, unit)?, base(range.high, unit)?])
}

/// Rounded to twelve digits: what a conversion between decimal units adds behind them is not part
/// of a figure.
pub(super) fn decimal(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fields! {
    /// Estimate of a figure in a cell.
    EstimateInUnit<'_>, "Estimate", |of| {
        /// Number of repetitions.
        repetitions = of.estimate.count,
        /// Repetitions that did not end in time: the mean of a time is then a lower bound.
        unfinished = of.estimate.unfinished,
        /// Their mean; null without any.
        mean = of.estimate.mean.and_then(|mean| base(mean, of.unit)),
        /// The 95 % interval of the mean; null with fewer than two repetitions, and where it is
        /// undetermined.
        ci95 = of.estimate.interval.and_then(|range| base_range(range, of.unit)),
        /// Where the mean of as many further repetitions lies with 95 % confidence; null where that
        /// is not known.
        predicted = of.estimate.prediction.and_then(|range| base_range(range, of.unit)),
        /// The published figure; null where there is none.
        published = of.estimate.published.and_then(|figure| base(figure, of.unit)),
        /// Reasons why the interval and the prediction are unreliable.
        warnings = each(&of.estimate.warnings, |warning| EstimateWarningJson::from(*warning)),
    }
}

/// A reason why an interval is unreliable.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "EstimateWarning")]
#[serde(rename_all = "snake_case")]
pub(super) enum EstimateWarningJson {
    /// Now and then a repetition differs by much: the interval is of the spread of all cells
    /// together.
    HeavyTail,
    /// All cells changed together from one repetition to another.
    Changing,
    /// The repetitions differ so much that the mean may be a thousand times the largest of them:
    /// there is no interval.
    Undetermined,
}

impl From<EstimateWarning> for EstimateWarningJson {
    fn from(of: EstimateWarning) -> EstimateWarningJson {
        match of {
            EstimateWarning::HeavyTail => EstimateWarningJson::HeavyTail,
            EstimateWarning::Changing => EstimateWarningJson::Changing,
            EstimateWarning::Undetermined => EstimateWarningJson::Undetermined,
        }
    }
}

fields! {
    /// A figure of a cell.
    CellFigure, "CellFigure", |of| {
        /// The level of each factor, by its name.
        cell = &of.cell.0,
        /// Name of the figure.
        figure = &of.figure,
        /// Unit of its numbers.
        unit = BaseUnit::from(of.unit),
        /// The measured estimate.
        estimate = EstimateInUnit::new(&of.estimate, of.unit),
    }
}

fields! {
    /// A table.
    TableSummary, "Table", |of| {
        /// Its name in the source.
        name = &of.name,
        /// Title of the table.
        title = &of.title,
        /// The factors of its rows.
        row_factors = &of.row_factors,
        /// Its columns.
        columns = each(0..of.columns.len(), |column| (of, column)),
        /// Its rows.
        rows = each(of.rows.iter().zip(&of.cells), |(levels, cells)| (of, levels, cells)),
        /// Explanation of the differences from the published table, or the remark that they are
        /// unexplained; null without known differences.
        note = caveats::table_reason(of),
    }
}

fields! {
    /// A column of a table.
    (&TableSummary, usize), "Column", |(of, column)| {
        /// Its heading.
        title = &of.columns[*column].0,
        /// Unit of its numbers.
        unit = BaseUnit::from(of.columns[*column].1),
        /// How the orders of its rows compare with the published ones.
        orders = of.orders.get(*column).copied().unwrap_or_default(),
    }
}

fields! {
    /// Pairs of rows whose published figures differ by more than a twentieth.
    OrderingCount, "Orders", |of| {
        /// In the published order.
        as_published = of.same,
        /// In the other order.
        reversed = of.reversed,
        /// Not distinguished by these repetitions.
        inconclusive = of.inconclusive,
    }
}

fields! {
    /// A row of a table.
    (&TableSummary, &Vec<String>, &Vec<CellEstimate>), "TableRow", |(of, levels, cells)| {
        /// Titles of its levels.
        levels = *levels,
        /// A figure for each column.
        cells = each(cells.iter().zip(&of.columns), |(cell, (_, unit))| EstimateInUnit::new(cell, *unit)),
    }
}

fields! {
    /// A chart.
    ChartSummary, "Chart", |of| {
        /// Its name in the source.
        name = &of.name,
        /// Title of the chart.
        title = &of.title,
        /// Title of its figure.
        figure = &of.figure.0,
        /// Unit of its numbers.
        unit = BaseUnit::from(of.figure.1),
        /// Titles of the groups of bars.
        groups = &of.groups,
        /// Titles of the bars of each group.
        bars = &of.bars,
        /// The figures: a list of bars for each group.
        values = each(&of.values, |bars| each(bars, |bar| EstimateInUnit::new(bar, of.figure.1))),
    }
}

/// Verdict about a relation.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "lowercase")]
pub(super) enum PairVerdictJson {
    /// The relation holds.
    Holds,
    /// The relation does not hold.
    Fails,
    /// The repetitions do not decide it.
    Inconclusive,
}

impl From<PairVerdict> for PairVerdictJson {
    fn from(of: PairVerdict) -> PairVerdictJson {
        match of {
            PairVerdict::Holds => PairVerdictJson::Holds,
            PairVerdict::Fails => PairVerdictJson::Fails,
            PairVerdict::Inconclusive => PairVerdictJson::Inconclusive,
        }
    }
}

fields! {
    /// A finding.
    (&CampaignReport<'_>, &FindingSummary), "Finding", |(of, finding)| {
        /// The claim.
        claim = &finding.claim,
        /// Where the source has it; null where that is not known.
        source = &finding.source,
        /// Verdict about the finding.
        verdict = PairVerdictJson::from(finding.verdict),
        /// Unit of its numbers; null where the experiment does not have its figure.
        unit = words::unit_of(of, finding).map(BaseUnit::from),
        /// The parts on which the verdict rests.
        parts = each(&finding.parts, |part| (part, words::unit_of(of, finding))),
        /// The reason why it does not hold, or the remark that the reason is unknown; null where it
        /// holds or is inconclusive.
        note = caveats::finding_reason(of, finding),
    }
}

fields! {
    /// A part of a finding.
    (&FindingPart, Option<ShownUnit>), "FindingPart", |(part, unit)| {
        /// The levels of the other factors.
        cell = &part.cell,
        /// The first side.
        of = EstimateInUnit { estimate: &part.of, unit: *unit },
        /// The second.
        than = EstimateInUnit { estimate: &part.than, unit: *unit },
        /// Verdict about the relation.
        verdict = PairVerdictJson::from(part.verdict),
    }
}

fields! {
    /// How the means of another campaign compare with the predictions of this one.
    (&CampaignReport<'_>, &BesideSummary), "Beside", |(of, other)| {
        /// Figures of cells of which this campaign has a prediction, and the other a mean.
        compared = other.compared,
        /// Those within the prediction.
        within = other.within,
        /// The others.
        outside = each(&other.outside, |figure| {
            (figure, of.figure(&figure.figure).map(|spec| spec.unit))
        }),
    }
}

fields! {
    /// A mean of the other campaign that does not lie where it was predicted.
    (&OutsideFigure, Option<ShownUnit>), "Outside", |(figure, unit)| {
        /// The level of each factor, by its name.
        cell = &figure.cell.0,
        /// Name of the figure.
        figure = &figure.figure,
        /// Unit of its numbers; null where the experiment does not have the figure.
        unit = unit.map(BaseUnit::from),
        /// Where it was predicted; null where an end is no number.
        predicted = base_range(figure.prediction, *unit),
        /// Mean of the other campaign. It has no interval here; the report of that campaign has
        /// one.
        mean = base(figure.mean, *unit),
    }
}

fields! {
    /// A trial.
    TrialRecord, "Trial", |of| {
        /// The level of each factor, by its name.
        cell = &of.cell.0,
        /// Which repetition, from 1.
        repetition = of.repetition,
        /// When it began (RFC 3339).
        started = &of.started,
        /// How long it took; null where that is not known.
        seconds = finite(of.seconds),
        /// Figures by name, in seconds, bit/s, shares from 0 to 1, and numbers.
        figures = of.figures.iter().map(|(name, value)| (name.clone(), finite(*value))).collect::<BTreeMap<_, _>>(),
        /// Settings that were in force in it, by name.
        facts = &of.facts,
        /// Warnings about its figures.
        warnings = &of.warnings,
        /// Why it has none; null where it ended.
        failed = &of.failed,
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
