//! The JSON document of a campaign: its types. Figures are in seconds, bit/s, shares from 0 to 1,
//! and numbers, whatever people see; the unit stands beside them.

use std::collections::BTreeMap;

use experiment::ShownUnit;
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::SeedJson;

/// Version of the document. It grows when something is renamed or changes its meaning.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// A campaign.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan campaign")]
pub(super) struct CampaignDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    pub(super) schema_version: u32,
    /// Version of the program that measured.
    pub(super) program: String,
    /// Name or file of the experiment.
    pub(super) experiment: String,
    /// Title, in one line.
    pub(super) title: String,
    /// Where it comes from; null where the experiment has no source.
    pub(super) source: Option<String>,
    /// The command that repeats it; null where it is not known.
    pub(super) command: Option<String>,
    /// When it began (RFC 3339).
    pub(super) started: String,
    /// Seed of the order of trials, and of everything random in them.
    pub(super) seed: SeedJson,
    /// Planned repetitions of each cell.
    pub(super) repetitions: u32,
    /// Facts of the machine and its software, by what they are.
    pub(super) facts: BTreeMap<String, String>,
    /// Trials that were planned.
    pub(super) planned_trials: usize,
    /// Trials that ended with figures.
    pub(super) ended_trials: usize,
    /// Trials that failed, by reason.
    pub(super) failures: Vec<OfTrials>,
    /// Warnings of trials.
    pub(super) warnings: Vec<OfTrials>,
    /// Cells that were not measured, in sentences.
    pub(super) missing: Vec<String>,
    /// The conclusion that the repetitions support, or the absence of one, in a sentence.
    pub(super) conclusion: String,
    /// Factors, in the order of tables.
    pub(super) factors: Vec<FactorJson>,
    /// The figures that the experiment is about. Trials have others, too.
    pub(super) figures: Vec<CampaignFigureJson>,
    /// Each figure of each measured cell.
    pub(super) cells: Vec<CellJson>,
    /// Tables.
    pub(super) tables: Vec<TableJson>,
    /// Charts.
    pub(super) charts: Vec<ChartJson>,
    /// Findings.
    pub(super) findings: Vec<CampaignFindingJson>,
    /// Differences from the source, with their reasons.
    pub(super) differences: Vec<String>,
    /// How another campaign compares with this one; null without another.
    pub(super) beside: Option<BesideCampaignJson>,
    /// The trials.
    pub(super) trials: Vec<TrialJson>,
}

/// A text, and how many trials have it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct OfTrials {
    /// The text.
    pub(super) text: String,
    /// Number of trials.
    pub(super) trials: usize,
}

/// A factor.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Factor", deny_unknown_fields)]
pub(super) struct FactorJson {
    /// Its name.
    pub(super) name: String,
    /// How people call it.
    pub(super) title: String,
    /// Its levels, in order.
    pub(super) levels: Vec<LevelJson>,
}

/// A level of a factor.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Level", deny_unknown_fields)]
pub(super) struct LevelJson {
    /// Its name.
    pub(super) name: String,
    /// How people call it.
    pub(super) title: String,
}

/// A figure.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Figure", deny_unknown_fields)]
pub(super) struct CampaignFigureJson {
    /// Its name.
    pub(super) name: String,
    /// Title of the figure.
    pub(super) title: String,
    /// Unit of its numbers.
    pub(super) unit: BaseUnit,
    /// Larger values are better; null where neither larger nor smaller ones are.
    pub(super) more_is_better: Option<bool>,
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

/// Estimate of a figure in a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Estimate", deny_unknown_fields)]
pub(super) struct EstimateJson {
    /// Number of repetitions.
    pub(super) repetitions: usize,
    /// Repetitions that did not end in time: the mean of a time is then a lower bound.
    pub(super) unfinished: usize,
    /// Their mean; null without any.
    pub(super) mean: Option<f64>,
    /// The 95 % interval of the mean; null with fewer than two repetitions, and where it is
    /// undetermined.
    pub(super) ci95: Option<[f64; 2]>,
    /// Where the mean of as many further repetitions lies with 95 % confidence; null where that is
    /// not known.
    pub(super) predicted: Option<[f64; 2]>,
    /// The published figure; null where there is none.
    pub(super) published: Option<f64>,
    /// Reasons why the interval and the prediction are unreliable.
    pub(super) warnings: Vec<EstimateWarningJson>,
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

/// A figure of a cell.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CellFigure", deny_unknown_fields)]
pub(super) struct CellJson {
    /// The level of each factor, by its name.
    pub(super) cell: BTreeMap<String, String>,
    /// Name of the figure.
    pub(super) figure: String,
    /// Unit of its numbers.
    pub(super) unit: BaseUnit,
    /// The measured estimate.
    pub(super) estimate: EstimateJson,
}

/// A table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Table", deny_unknown_fields)]
pub(super) struct TableJson {
    /// Its name in the source.
    pub(super) name: String,
    /// Title of the table.
    pub(super) title: String,
    /// The factors of its rows.
    pub(super) row_factors: Vec<String>,
    /// Its columns.
    pub(super) columns: Vec<ColumnJson>,
    /// Its rows.
    pub(super) rows: Vec<TableRowJson>,
    /// Explanation of the differences from the published table, or the remark that they are
    /// unexplained; null without known differences.
    pub(super) note: Option<String>,
}

/// A column of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Column", deny_unknown_fields)]
pub(super) struct ColumnJson {
    /// Its heading.
    pub(super) title: String,
    /// Unit of its numbers.
    pub(super) unit: BaseUnit,
    /// How the orders of its rows compare with the published ones.
    pub(super) orders: OrdersJson,
}

/// Pairs of rows whose published figures differ by more than a twentieth.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Orders", deny_unknown_fields)]
pub(super) struct OrdersJson {
    /// In the published order.
    pub(super) as_published: usize,
    /// In the other order.
    pub(super) reversed: usize,
    /// Not distinguished by these repetitions.
    pub(super) inconclusive: usize,
}

/// A row of a table.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TableRow", deny_unknown_fields)]
pub(super) struct TableRowJson {
    /// Titles of its levels.
    pub(super) levels: Vec<String>,
    /// A figure for each column.
    pub(super) cells: Vec<EstimateJson>,
}

/// A chart.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Chart", deny_unknown_fields)]
pub(super) struct ChartJson {
    /// Its name in the source.
    pub(super) name: String,
    /// Title of the chart.
    pub(super) title: String,
    /// Title of its figure.
    pub(super) figure: String,
    /// Unit of its numbers.
    pub(super) unit: BaseUnit,
    /// Titles of the groups of bars.
    pub(super) groups: Vec<String>,
    /// Titles of the bars of each group.
    pub(super) bars: Vec<String>,
    /// The figures: a list of bars for each group.
    pub(super) values: Vec<Vec<EstimateJson>>,
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

/// A finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Finding", deny_unknown_fields)]
pub(super) struct CampaignFindingJson {
    /// The claim.
    pub(super) claim: String,
    /// Where the source has it; null where that is not known.
    pub(super) source: Option<String>,
    /// Verdict about the finding.
    pub(super) verdict: PairVerdictJson,
    /// Unit of its numbers; null where the experiment does not have its figure.
    pub(super) unit: Option<BaseUnit>,
    /// The parts on which the verdict rests.
    pub(super) parts: Vec<FindingPartJson>,
    /// The reason why it does not hold, or the remark that the reason is unknown; null where it
    /// holds or is inconclusive.
    pub(super) note: Option<String>,
}

/// A part of a finding.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FindingPart", deny_unknown_fields)]
pub(super) struct FindingPartJson {
    /// The levels of the other factors.
    pub(super) cell: String,
    /// The first side.
    pub(super) of: EstimateJson,
    /// The second.
    pub(super) than: EstimateJson,
    /// Verdict about the relation.
    pub(super) verdict: PairVerdictJson,
}

/// How the means of another campaign compare with the predictions of this one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Beside", deny_unknown_fields)]
pub(super) struct BesideCampaignJson {
    /// Figures of cells of which this campaign has a prediction, and the other a mean.
    pub(super) compared: usize,
    /// Those within the prediction.
    pub(super) within: usize,
    /// The others.
    pub(super) outside: Vec<OutsideJson>,
}

/// A mean of the other campaign that does not lie where it was predicted.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Outside", deny_unknown_fields)]
pub(super) struct OutsideJson {
    /// The level of each factor, by its name.
    pub(super) cell: BTreeMap<String, String>,
    /// Name of the figure.
    pub(super) figure: String,
    /// Unit of its numbers; null where the experiment does not have the figure.
    pub(super) unit: Option<BaseUnit>,
    /// Where it was predicted; null where an end is no number.
    pub(super) predicted: Option<[f64; 2]>,
    /// Mean of the other campaign. It has no interval here; the report of that campaign has one.
    pub(super) mean: Option<f64>,
}

/// A trial.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Trial", deny_unknown_fields)]
pub(super) struct TrialJson {
    /// The level of each factor, by its name.
    pub(super) cell: BTreeMap<String, String>,
    /// Which repetition, from 1.
    pub(super) repetition: u32,
    /// When it began (RFC 3339).
    pub(super) started: String,
    /// How long it took; null where that is not known.
    pub(super) seconds: Option<f64>,
    /// Figures by name, in seconds, bit/s, shares from 0 to 1, and numbers.
    pub(super) figures: BTreeMap<String, Option<f64>>,
    /// Settings that were in force in it, by name.
    pub(super) facts: BTreeMap<String, String>,
    /// Warnings about its figures.
    pub(super) warnings: Vec<String>,
    /// Why it has none; null where it ended.
    pub(super) failed: Option<String>,
}
