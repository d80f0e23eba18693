//! A diagnosis whose series of runs ended early.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clean;

/// Why a diagnosis rests on fewer runs than were planned, and which runs are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// Why the series of runs failed; `None` where the user interrupted it.
    pub failure: Option<String>,
    /// The planned runs that were not measured to their end.
    pub not_measured: Vec<NotMeasured>,
}

/// A planned run that was not measured to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NotMeasured {
    /// Name of its suite.
    pub suite: String,
    /// Number of users that was planned.
    pub users: u32,
    /// Whether it would have repeated rows of a suite that was measured already.
    #[serde(rename = "repeat")]
    pub is_repeat: bool,
}

/// What stands before everything else.
pub(crate) const HEADING: &str = "Incomplete:";

/// What follows the heading: how the series ended, and what is missing.
pub(crate) fn sentence(incomplete: &Incomplete) -> String {
    let ended = match &incomplete.failure {
        None => "the diagnosis was interrupted".to_owned(),
        Some(failure) => format!("the diagnosis failed ({})", clean(failure)),
    };
    match &incomplete.not_measured[..] {
        [] => format!("{ended}."),
        missing => {
            let missing: Vec<String> = missing.iter().map(named).collect();
            format!("{ended}. Not measured: {}.", missing.join(", "))
        }
    }
}

fn named(missing: &NotMeasured) -> String {
    let suite = format!("suite {}", clean(&missing.suite));
    let users = match missing.users {
        1 => String::new(),
        users => format!(" with {users} users"),
    };
    if missing.is_repeat {
        format!("{suite}{users} (second run)")
    } else {
        format!("{suite}{users}")
    }
}
