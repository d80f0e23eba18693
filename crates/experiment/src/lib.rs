//! Experiments in laboratories: an experiment file -> cells and trials; the figures of trials ->
//! tables, charts, findings.
//!
//! ```text
//! YAML --> ExperimentSpec --plan--> cell x repetition --(the laboratory)--> TrialRecord
//!               |                                                              |
//!               `------------------ summarise ---------------------------------'--> CampaignSummary
//! ```
//!
//! Nothing here touches the system. The language of the file is described in `docs/EXPERIMENTS.md`.

mod beside;
mod cells;
mod changing;
mod check;
mod estimate;
mod figures;
mod file;
mod findings;
mod log;
mod order;
mod orders;
mod published;
mod read;
mod record;
mod relation;
mod series;
mod servers;
mod setup;
mod spread;
mod suites;
mod summarise;
mod summary;
mod template;
mod trial;
mod trial_check;
mod trial_figures;

pub use beside::{BesideSummary, OutsideFigure, beside};
pub use file::{
    ChartSpec, ColumnSpec, ExperimentSpec, FactorSpec, FigureSpec, FindingSpec, LabChoice,
    LevelSpec, OneOrMore, Relation, ShownUnit, TableSpec, Where,
};
pub use log::{RecordedTrials, last_of_each};
pub use order::{PlannedTrial, planned_trials};
pub use published::PublishedFigures;
pub use record::{CampaignRecord, LevelCombination, TrialRecord};
pub use setup::TrialSetup;
pub use suites::ChosenSuite;
pub use summarise::summarise;
pub use summary::{
    CampaignSummary, CellEstimate, CellFigure, ChartSummary, EstimateWarning, FigureRange,
    FindingPart, FindingSummary, OrderingCount, PairVerdict, TableSummary,
};
pub use trial::{BARE_RECIPE, MeasuredSpec, RequestsSpec, ServerSpec, TrialSpec, TrialTrafficSpec};
pub use yaml::FileError;

/// JSON schema of experiment files, for editors. A test compares it with the types that parse them.
pub const SCHEMA: &str = include_str!("../../../docs/experiment.schema.json");
