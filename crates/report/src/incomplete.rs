//! A series of runs that ended early.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clean;
use crate::document::{Block, Tone, Words};
use crate::fields::{IfAny, fields, plain};

/// Why a report rests on fewer runs than were planned, and which runs are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// Name of the series of runs: `sweep`.
    pub series: &'static str,
    /// Why it ended; `None` where the user interrupted it.
    pub failure: Option<String>,
    /// How far it came: `in repeat 2 of 3`; `None` where the runs show it.
    pub place: Option<String>,
    /// The planned runs that were not measured to their end, where they have names.
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
    /// The run would have repeated rows of a suite that was measured already.
    #[serde(rename = "repeat")]
    pub is_repeat: bool,
}

fields! {
    /// Why fewer runs were measured than were planned.
    Incomplete, "Incomplete", |of| {
        /// The event that ended the series of runs.
        reason = if of.failure.is_none() { Reason::Interrupted } else { Reason::Failed },
        /// The same in words, and which runs are missing.
        text = of.sentence(),
        /// The planned runs that were not measured to their end; absent where they have no names.
        not_measured = IfAny(&of.not_measured),
    }
}

/// An event that ended a series of runs.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reason {
    /// The user interrupted it.
    Interrupted,
    /// The series failed.
    Failed,
}

plain!(NotMeasured, Reason);

/// Precedes everything else.
pub(crate) const HEADING: &str = "Incomplete:";

impl Incomplete {
    pub(crate) fn alert(&self) -> Block {
        alert(&self.sentence())
    }

    /// The sentence behind the heading: how the series ended, and what is missing.
    pub(crate) fn sentence(&self) -> String {
        let series = self.series;
        let place = self.place.iter().map(|place| format!(" {place}"));
        let place: String = place.collect();
        let ended = match &self.failure {
            None => format!("the {series} was interrupted{place}"),
            Some(failure) => format!("the {series} ended early{place}: {}", clean(failure)),
        };
        match &self.not_measured[..] {
            [] => format!("{ended}."),
            missing => {
                let missing: Vec<String> = missing.iter().map(named).collect();
                format!("{ended}. Not measured: {}.", missing.join(", "))
            }
        }
    }
}

/// The first paragraph of a report that is incomplete for the reason in this sentence.
pub(crate) fn alert(sentence: &str) -> Block {
    let words = Words::default().strong(HEADING);
    Block::Alert(Tone::Bad, words.plain(format!(" {sentence}")))
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
