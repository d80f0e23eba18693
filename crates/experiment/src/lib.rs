//! Experiments in laboratories: an experiment file -> cells and trials; the figures of trials -> tables, charts, findings.
//!
//! ```text
//! YAML --> ExperimentSpec --plan--> cell x repetition --(the laboratory)--> TrialRecord
//!               |                                                              |
//!               `------------------ summarise ---------------------------------'--> CampaignSummary
//! ```
//!
//! Nothing here touches the system. The language of the file is described in `docs/EXPERIMENTS.md`.

mod file;
mod record;
mod summary;
mod trial;

pub use file::{
    ChartSpec, ColumnSpec, ExperimentSpec, FactorSpec, FigureSpec, FindingSpec, LabChoice,
    LevelSpec, OneOrMore, Relation, ShownUnit, TableSpec, Where,
};
pub use record::{CampaignRecord, LevelCombination, TrialRecord};
pub use summary::{
    CampaignSummary, CellEstimate, CellFigure, ChartSummary, FigureRange, FindingPart,
    FindingSummary, OrderingCount, PairVerdict, TableSummary,
};
pub use trial::{MeasuredSpec, RequestsSpec, ServerSpec, TrialSpec, TrialTrafficSpec};
