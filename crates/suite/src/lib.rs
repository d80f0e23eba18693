//! The suite language: from the text of a suite file to a plan in which everything is resolved.
//!
//! ```text
//! YAML text --parse--> Spec (as written, with positions) --resolve--> Plan (everything resolved)
//! ```
//!
//! A [`Spec`](spec::SuiteSpec) can be wrong in many ways; a [`Plan`] cannot: names are unique,
//! templates are compiled, numbers are numbers. Errors point into the file ([`SuiteError`]). The
//! language is described in `docs/SUITES.md`.

mod arithmetic;
mod bytes;
mod error;
mod fill;
mod format;
mod operations;
mod plan;
mod position;
mod quantity;
mod resolve;
mod saved;
#[cfg(feature = "schema")]
mod schema;
mod single;
pub mod spec;
mod template;
mod user_work;

pub use arithmetic::Arithmetic;
pub use error::SuiteError;
pub use fill::{Fill, filled, mixed, random_part};
pub use format::formatted;
pub use operations::{OperationKind, OperationPlan};
pub use plan::{
    AdaptPlan, AdaptRule, Alternative, BackgroundPlan, Body, BodyText, CapturePlan, Expect,
    HeaderPlan, Limit, LoopPlan, Missing, NeedsClass, PagePlan, Plan, RequestPlan, Save, SaveFrom,
    StatusSet, StatusTest, Step, StopWatchPlan, TestPlan, Think, TrafficOrigin, Workspace,
};
pub use quantity::{parse_duration, parse_size};
pub use resolve::{
    KEYED_HEADERS, METHOD_HEADERS, OWN_HEADERS, Overrides, READING, Selection, check_query,
    constraint_for, constraint_for_recorded, constraints_for, resolve,
};
pub use single::{RequestedPath, RequestedPaths, Single, single};
pub use template::{LiveText, Piece, Text, Variable};
pub use user_work::UserWork;

/// JSON schema of suite files, for editors. A test compares it with the types that parse them.
pub const SCHEMA: &str = include_str!("../../../docs/suite.schema.json");

/// Parses a suite file and checks everything that does not depend on parameters.
///
/// `name` is the name of the file in errors.
pub fn parse(name: &str, text: &str) -> Result<spec::SuiteSpec, SuiteError> {
    spec::parse(name, text)
}
