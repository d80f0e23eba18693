//! A campaign for programs. Figures are in seconds, bit/s, shares from 0 to 1, and numbers, whatever people see; the unit
//! stands beside them.

use std::collections::BTreeMap;

use experiment::{
    BesideSummary, CellEstimate, CellFigure, ChartSummary, EstimateWarning, FigureRange,
    FigureSpec, FindingPart, FindingSummary, OrderingCount, OutsideFigure, PairVerdict, ShownUnit,
    TableSummary, TrialRecord,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::numbers::in_base;
use super::{CampaignReport, explained, words};
use crate::json::{pretty, schema_of};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

/// A campaign.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan campaign")]
struct CampaignDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Version of the program that measured.
    program: String,
    /// Name or file of the experiment.
    experiment: String,
    /// What it is, in one line.
    title: String,
    /// Where it comes from; null where the experiment has no source.
    source: Option<String>,
    /// The command that repeats it; null where it is not known.
    command: Option<String>,
    /// When it began (RFC 3339).
    started: String,
    /// Seed of the order of trials, and of everything random in them.
    seed: u64,
    /// Planned repetitions of each cell.
    repetitions: u32,
    /// Facts of the machine and its software, by what they are.
    facts: BTreeMap<String, String>,
    /// Trials that were planned.
    planned_trials: usize,
    /// Trials that ended with figures.
    ended_trials: usize,
    /// Trials that failed, by reason.
    failures: Vec<OfTrials>,
    /// Warnings of trials.
    warnings: Vec<OfTrials>,
    /// What was not measured, in sentences.
    missing: Vec<String>,
    /// Whether the repetitions support conclusions, in a sentence.
    conclusion: String,
    /// Factors, in the order of tables.
    factors: Vec<FactorJson>,
    /// The figures that the experiment is about. Trials have others, too.
    figures: Vec<CampaignFigureJson>,
    /// Each figure of each measured cell.
    cells: Vec<CellJson>,
    /// Tables.
    tables: Vec<TableJson>,
    /// Charts.
    charts: Vec<ChartJson>,
    /// Findings.
    findings: Vec<CampaignFindingJson>,
    /// What differs from the source, and why.
    differences: Vec<String>,
    /// How another campaign compares with this one; null without another.
    beside: Option<BesideCampaignJson>,
    /// The trials.
    trials: Vec<TrialJson>,
}

/// A text, and how many trials have it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct OfTrials {
    /// The text.
    text: String,
    /// Number of trials.
    trials: usize,
}

/// A factor.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Factor", deny_unknown_fields)]
struct FactorJson {
    /// Its name.
    name: String,
    /// How people call it.
    title: String,
    /// Its levels, in order.
    levels: Vec<LevelJson>,
}

/// A level of a factor.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Level", deny_unknown_fields)]
struct LevelJson {
    /// Its name.
    name: String,
    /// How people call it.
    title: String,
}

/// A figure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Figure", deny_unknown_fields)]
struct CampaignFigureJson {
    /// Its name.
    name: String,
    /// What it is.
    title: String,
    /// Unit of its numbers.
    unit: BaseUnit,
    /// Whether more is better; null where neither is.
    more_is_better: Option<bool>,
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
    /// As it is written in documents.
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

/// What was measured of a figure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Estimate", deny_unknown_fields)]
struct EstimateJson {
    /// Number of repetitions.
    repetitions: usize,
    /// Repetitions that did not end in time: the mean of a time is then a lower bound.
    unfinished: usize,
    /// Their mean; null without any.
    mean: Option<f64>,
    /// The 95 % interval of the mean; null with fewer than two repetitions.
    ci95: Option<[f64; 2]>,
    /// Where the mean of as many further repetitions lies with 95 % confidence; null where that is not known.
    predicted: Option<[f64; 2]>,
    /// The published figure; null where there is none.
    published: Option<f64>,
    /// What makes the interval and the prediction doubtful.
    warnings: Vec<EstimateWarningJson>,
}

/// What makes an interval doubtful.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "EstimateWarning")]
#[serde(rename_all = "snake_case")]
enum EstimateWarningJson {
    /// Now and then a repetition differs by much: the interval is of the spread of all cells together.
    HeavyTail,
    /// All cells changed together from one repetition to another.
    Changing,
}

/// A figure of a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellFigure", deny_unknown_fields)]
struct CellJson {
    /// The level of each factor, by its name.
    cell: BTreeMap<String, String>,
    /// Name of the figure.
    figure: String,
    /// Unit of its numbers.
    unit: BaseUnit,
    /// What was measured.
    estimate: EstimateJson,
}

/// A table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Table", deny_unknown_fields)]
struct TableJson {
    /// Its name in the source.
    name: String,
    /// What it shows.
    title: String,
    /// The factors of its rows.
    row_factors: Vec<String>,
    /// Its columns.
    columns: Vec<ColumnJson>,
    /// Its rows.
    rows: Vec<TableRowJson>,
    /// What differs from the published table: explained, or said to be unexplained; null where nothing is known to.
    note: Option<String>,
}

/// A column of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Column", deny_unknown_fields)]
struct ColumnJson {
    /// Its heading.
    title: String,
    /// Unit of its numbers.
    unit: BaseUnit,
    /// How the orders of its rows compare with the published ones.
    orders: OrdersJson,
}

/// Pairs of rows whose published figures differ by more than a twentieth.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Orders", deny_unknown_fields)]
struct OrdersJson {
    /// In the published order.
    as_published: usize,
    /// In the other order.
    reversed: usize,
    /// Not told apart by these repetitions.
    inconclusive: usize,
}

/// A row of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TableRow", deny_unknown_fields)]
struct TableRowJson {
    /// Titles of its levels.
    levels: Vec<String>,
    /// A figure for each column.
    cells: Vec<EstimateJson>,
}

/// A chart.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Chart", deny_unknown_fields)]
struct ChartJson {
    /// Its name in the source.
    name: String,
    /// What it shows.
    title: String,
    /// Title of its figure.
    figure: String,
    /// Unit of its numbers.
    unit: BaseUnit,
    /// Titles of the groups of bars.
    groups: Vec<String>,
    /// Titles of the bars of each group.
    bars: Vec<String>,
    /// The figures: a list of bars for each group.
    values: Vec<Vec<EstimateJson>>,
}

/// Whether a relation holds.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "lowercase")]
enum PairVerdictJson {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// The repetitions do not tell.
    Inconclusive,
}

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding", deny_unknown_fields)]
struct CampaignFindingJson {
    /// The claim.
    claim: String,
    /// Where the source has it; null where that is not known.
    source: Option<String>,
    /// Whether it holds.
    verdict: PairVerdictJson,
    /// Unit of its numbers; null where the experiment does not have its figure.
    unit: Option<BaseUnit>,
    /// What the verdict rests on.
    parts: Vec<FindingPartJson>,
    /// Why it does not hold, or that nobody knows; null where it holds or is inconclusive.
    note: Option<String>,
}

/// A part of a finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FindingPart", deny_unknown_fields)]
struct FindingPartJson {
    /// The levels of the other factors.
    cell: String,
    /// The first side.
    of: EstimateJson,
    /// The second.
    than: EstimateJson,
    /// Whether the relation holds.
    verdict: PairVerdictJson,
}

/// How the means of another campaign compare with the predictions of this one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Beside", deny_unknown_fields)]
struct BesideCampaignJson {
    /// Figures of cells of which this campaign has a prediction, and the other a mean.
    compared: usize,
    /// Those within the prediction.
    within: usize,
    /// The others.
    outside: Vec<OutsideJson>,
}

/// A mean of the other campaign that does not lie where it was predicted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Outside", deny_unknown_fields)]
struct OutsideJson {
    /// The level of each factor, by its name.
    cell: BTreeMap<String, String>,
    /// Name of the figure.
    figure: String,
    /// Unit of its numbers; null where the experiment does not have the figure.
    unit: Option<BaseUnit>,
    /// Where it was predicted; null where an end is no number.
    predicted: Option<[f64; 2]>,
    /// Mean of the other campaign. It has no interval here; the report of that campaign has one.
    mean: Option<f64>,
}

/// A trial.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Trial", deny_unknown_fields)]
struct TrialJson {
    /// The level of each factor, by its name.
    cell: BTreeMap<String, String>,
    /// Which repetition, from 1.
    repetition: u32,
    /// When it began (RFC 3339).
    started: String,
    /// How long it took; null where that is not known.
    seconds: Option<f64>,
    /// Figures by name, in seconds, bit/s, shares from 0 to 1, and numbers.
    figures: BTreeMap<String, Option<f64>>,
    /// What makes them doubtful.
    warnings: Vec<String>,
    /// Why it has none; null where it ended.
    failed: Option<String>,
}

/// The campaign for programs: one JSON document, for which [`campaign_schema`] is published. Ends with a newline.
pub fn campaign_json(of: &CampaignReport<'_>) -> String {
    let (record, spec, summary) = (of.record, of.experiment, of.summary);
    pretty(&CampaignDocument {
        schema_version: SCHEMA_VERSION,
        program: record.program.clone(),
        experiment: record.name.clone(),
        title: spec.title.clone(),
        source: spec.source.clone(),
        command: Some(of.command.to_owned()).filter(|command| !command.is_empty()),
        started: record.started.clone(),
        seed: record.seed,
        repetitions: record.repetitions,
        facts: record.facts.clone(),
        planned_trials: summary.planned_trials,
        ended_trials: summary.ended_trials,
        failures: of_trials(&summary.failures),
        warnings: of_trials(&summary.warnings),
        missing: explained::missing(of),
        conclusion: words::conclusion(of),
        factors: factors(of),
        figures: spec.figures.iter().map(CampaignFigureJson::from).collect(),
        cells: summary.cells.iter().map(CellJson::from).collect(),
        tables: summary.tables.iter().map(table).collect(),
        charts: summary.charts.iter().map(chart).collect(),
        findings: summary
            .findings
            .iter()
            .map(|one| finding(of, one))
            .collect(),
        differences: spec.differences.clone(),
        beside: of.beside.map(|other| beside(of, other)),
        trials: of.trials.iter().map(TrialJson::from).collect(),
    })
}

/// The JSON schema of [`campaign_json`]: the content of `docs/campaign.schema.json`.
pub fn campaign_schema() -> String {
    schema_of::<CampaignDocument>()
}

/// Rounded to twelve digits: what a conversion between decimal units adds behind them is not part of a figure.
pub(super) fn decimal(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fn of_trials(texts: &[(String, usize)]) -> Vec<OfTrials> {
    let texts = texts.iter();
    texts
        .map(|(text, trials)| OfTrials {
            text: text.clone(),
            trials: *trials,
        })
        .collect()
}

fn factors(of: &CampaignReport<'_>) -> Vec<FactorJson> {
    let titled = |name: &String, title: &Option<String>| title.as_ref().unwrap_or(name).clone();
    let factors = of.experiment.factors.iter();
    factors
        .map(|factor| FactorJson {
            name: factor.name.clone(),
            title: titled(&factor.name, &factor.title),
            levels: factor
                .levels
                .iter()
                .map(|level| LevelJson {
                    name: level.name.clone(),
                    title: titled(&level.name, &level.title),
                })
                .collect(),
        })
        .collect()
}

fn estimate(of: &CellEstimate, unit: Option<ShownUnit>) -> EstimateJson {
    // Without a known unit they stay as people see them.
    let base = |value: f64| in_base(value, unit.unwrap_or(ShownUnit::Number)).map(decimal);
    let ends = |range: FigureRange| Some([base(range.low)?, base(range.high)?]);
    EstimateJson {
        repetitions: of.count,
        unfinished: of.unfinished,
        mean: of.mean.and_then(base),
        ci95: of.interval.and_then(ends),
        predicted: of.prediction.and_then(ends),
        published: of.published.and_then(base),
        warnings: of
            .warnings
            .iter()
            .map(|warning| (*warning).into())
            .collect(),
    }
}

fn table(of: &TableSummary) -> TableJson {
    let units: Vec<ShownUnit> = of.columns.iter().map(|(_, unit)| *unit).collect();
    let columns = of
        .columns
        .iter()
        .enumerate()
        .map(|(place, (title, unit))| ColumnJson {
            title: title.clone(),
            unit: (*unit).into(),
            orders: of.orders.get(place).copied().unwrap_or_default().into(),
        });
    let rows = of
        .rows
        .iter()
        .zip(&of.cells)
        .map(|(levels, cells)| TableRowJson {
            levels: levels.clone(),
            cells: cells
                .iter()
                .zip(&units)
                .map(|(cell, unit)| estimate(cell, Some(*unit)))
                .collect(),
        });
    TableJson {
        name: of.name.clone(),
        title: of.title.clone(),
        row_factors: of.row_factors.clone(),
        columns: columns.collect(),
        rows: rows.collect(),
        note: explained::of_table(of),
    }
}

fn chart(of: &ChartSummary) -> ChartJson {
    let (figure, unit) = &of.figure;
    let group = |values: &Vec<CellEstimate>| {
        let values = values.iter();
        values.map(|value| estimate(value, Some(*unit))).collect()
    };
    ChartJson {
        name: of.name.clone(),
        title: of.title.clone(),
        figure: figure.clone(),
        unit: (*unit).into(),
        groups: of.groups.clone(),
        bars: of.bars.clone(),
        values: of.values.iter().map(group).collect(),
    }
}

fn finding(of: &CampaignReport<'_>, finding: &FindingSummary) -> CampaignFindingJson {
    let unit = words::unit_of(of, finding);
    let part = |part: &FindingPart| FindingPartJson {
        cell: part.cell.clone(),
        of: estimate(&part.of, unit),
        than: estimate(&part.than, unit),
        verdict: part.verdict.into(),
    };
    CampaignFindingJson {
        claim: finding.claim.clone(),
        source: finding.source.clone(),
        verdict: finding.verdict.into(),
        unit: unit.map(BaseUnit::from),
        parts: finding.parts.iter().map(part).collect(),
        note: explained::of_finding(of, finding),
    }
}

fn beside(of: &CampaignReport<'_>, other: &BesideSummary) -> BesideCampaignJson {
    let outside = |figure: &OutsideFigure| {
        let unit = of.figure(&figure.figure).map(|spec| spec.unit);
        let numbers = CellEstimate {
            mean: Some(figure.mean),
            prediction: Some(figure.prediction),
            ..CellEstimate::default()
        };
        let numbers = estimate(&numbers, unit);
        OutsideJson {
            cell: figure.cell.0.clone(),
            figure: figure.figure.clone(),
            unit: unit.map(BaseUnit::from),
            predicted: numbers.predicted,
            mean: numbers.mean,
        }
    };
    BesideCampaignJson {
        compared: other.compared,
        within: other.within,
        outside: other.outside.iter().map(outside).collect(),
    }
}

impl From<EstimateWarning> for EstimateWarningJson {
    fn from(of: EstimateWarning) -> EstimateWarningJson {
        match of {
            EstimateWarning::HeavyTail => EstimateWarningJson::HeavyTail,
            EstimateWarning::Changing => EstimateWarningJson::Changing,
        }
    }
}

impl From<(&String, &FigureSpec)> for CampaignFigureJson {
    fn from((name, spec): (&String, &FigureSpec)) -> CampaignFigureJson {
        CampaignFigureJson {
            name: name.clone(),
            title: spec.title.clone(),
            unit: spec.unit.into(),
            more_is_better: spec.more_is_better,
        }
    }
}

impl From<&CellFigure> for CellJson {
    fn from(of: &CellFigure) -> CellJson {
        CellJson {
            cell: of.cell.0.clone(),
            figure: of.figure.clone(),
            unit: of.unit.into(),
            estimate: estimate(&of.estimate, Some(of.unit)),
        }
    }
}

impl From<OrderingCount> for OrdersJson {
    fn from(of: OrderingCount) -> OrdersJson {
        OrdersJson {
            as_published: of.same,
            reversed: of.reversed,
            inconclusive: of.inconclusive,
        }
    }
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

impl From<&TrialRecord> for TrialJson {
    fn from(of: &TrialRecord) -> TrialJson {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let figures = of.figures.iter();
        TrialJson {
            cell: of.cell.0.clone(),
            repetition: of.repetition,
            started: of.started.clone(),
            seconds: finite(of.seconds),
            figures: figures
                .map(|(name, value)| (name.clone(), finite(*value)))
                .collect(),
            warnings: of.warnings.clone(),
            failed: of.failed.clone(),
        }
    }
}
