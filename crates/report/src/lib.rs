//! Summaries -> text, JSON, CSV: strings, made of a run and its summary and nothing else.
//!
//! ```text
//!                     +--> text   for people: the classic layout, and what a reader needs today
//! Run, Summary -------+--> json   for programs: one document with a published schema
//!                     +--> csv    for spreadsheets: a row a test
//!                     +--> junit  for CI systems: a test case a row and a constraint; annotations of GitHub
//! samples ----------------> log    for spreadsheets: a row an operation
//! Comparisons ------------> compare_text, compare_markdown, compare_json, compare_junit
//! Sweep, SearchResult ----> sweep_text, sweep_json; search_text, search_json
//! all of them, Details ---> page   for showing: one self-contained page, and the data of figures
//! Findings ---------------> diagnose_text, diagnose_json
//! CaptureContents --------> analysis_text, analysis_json, analysis_csv, analysis_page
//! CampaignReport ---------> campaign_text, campaign_json, campaign_csv, campaign_markdown, campaign_page
//! ```
//!
//! Pure: no clock, no terminal, no file. The caller says how wide the terminal is and whether it
//! has colours, and prints what comes back. Texts that a server wrote (its name, its messages)
//! reach people only with control characters made visible ([`clean()`]), Markdown only with its
//! markup escaped, and spreadsheets only where they cannot be taken for a formula.

mod analysis;
mod annotations;
mod background;
mod campaign;
mod compare;
mod conclusion;
mod constraints;
mod csv;
mod diagnose;
mod document;
mod fields;
mod figure;
mod file_names;
pub mod gallery;
mod generators;
mod incomplete;
mod inside;
mod json;
mod junit;
mod label;
mod lists;
mod load;
mod load_steps;
mod log;
mod markdown;
mod named_run;
mod notes;
pub mod page;
mod ranking;
mod reasons;
mod result;
mod row;
mod runs;
mod search;
mod server_view;
mod surroundings;
mod sweep;
mod table;
mod targets;
mod terminal;
mod text;
mod times;
mod warnings;
mod webstone;

use stats::units;

#[cfg(feature = "schema")]
pub use {
    analysis::analysis_schema, background::background_schema, campaign::campaign_schema,
    compare::compare_schema, diagnose::diagnose_schema, result::schema, runs::runs_schema,
    search::search_schema, sweep::sweep_schema,
};

pub use self::csv::csv;
pub use ::figures::clean;
pub use analysis::{
    CaptureAnalysis, FormulaName, RunOnWire, TimeoutStudy, analysis_csv, analysis_json,
    analysis_page, analysis_text,
};
pub use annotations::github_annotations;
pub use background::{
    BackgroundComponentJson, BackgroundJson, BackgroundSecondJson, background_json,
    background_lines, background_totals, bits, planned_table,
};
pub use campaign::{
    CampaignReport, campaign_charts, campaign_csv, campaign_json, campaign_markdown, campaign_page,
    campaign_text, campaign_trials_csv,
};
pub use compare::{
    Comparisons, Versus, compare_json, compare_markdown, compare_text, compared_in_words,
    cost_in_words, difference,
};
pub use conclusion::{inconclusive, inconclusive_briefly};
pub use constraints::{constraint_in_words, failed_constraints, failed_rows};
pub use diagnose::{Diagnosed, DiagnosedRun, diagnose_json, diagnose_text, findings_json};
pub use file_names::FileNames;
pub use generators::planned_generators;
pub use incomplete::{Incomplete, NotMeasured};
pub use junit::{CaseEnd, compare_junit, junit};
pub use label::{apply_label, labelled_text};
pub use log::{log, log_header};
pub use notes::notes_of;
pub use reasons::{abort_reason, ended_early, reason};
pub use result::{BesideResult, SCHEMA_VERSION, json};
pub use runs::{ListedGroup, ListedRun, ListedState, bytes, run_text, runs_json, runs_text};
pub use search::{
    CountedUnit, Find, SearchResult, Tried, answer_in_words, search_json, search_text,
};
pub use sweep::{Design, Sweep, SweepServer, Varied, sweep_json, sweep_text};
pub use terminal::{fold, wrap};
pub use text::{TextLayout, TextOptions, text};
pub use units::{human, human_range};
pub use warnings::warning;
