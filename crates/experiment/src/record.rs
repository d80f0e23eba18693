//! Records of a campaign: one document at its beginning, and a line for each trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::file::ExperimentSpec;

/// A combination of levels: the level of each factor, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LevelCombination(pub BTreeMap<String, String>);

/// `campaign.json`: the plan, the program and the machine. It is written before the first trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CampaignRecord {
    /// Version of this format.
    pub format: u32,
    /// Version of the program.
    pub program: String,
    /// Name or file of the experiment, as given.
    pub name: String,
    /// The experiment, with the levels that `--server` gave it.
    pub experiment: ExperimentSpec,
    /// The cells to measure.
    pub cells: Vec<LevelCombination>,
    /// Repetitions of each.
    pub repetitions: u32,
    /// Seed of the order of trials, and of everything random in them.
    pub seed: u64,
    /// The command that repeats it; empty in records of programs that did not write it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Start (RFC 3339).
    pub started: String,
    /// Facts of the machine and its software, by name: `kernel`, `processor`, `apache`, ...
    pub facts: BTreeMap<String, String>,
}

/// A line of `trials.jsonl`: one trial that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its cell.
    pub cell: LevelCombination,
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Start (RFC 3339).
    pub started: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// Figures by name, in seconds, bit/s, shares from 0 to 1, and numbers. Those that it could not
    /// have are missing.
    ///
    /// | name | is |
    /// |---|---|
    /// | `MEASURED.delay` | s from the request to the last valid acknowledgment (docs/CAPTURES.md), at the server |
    /// | `MEASURED.response_time` | s, at the client |
    /// | `MEASURED.throughput`, `.goodput` | bit/s of payload of both directions over the delay, with and without what was sent again |
    /// | `MEASURED.retransmissions`, `.timeouts` | segments that the server sent again; timeouts |
    /// | `MEASURED.unfinished` | 1 if it did not end within `longest` (its delay is then that time), or else 0 |
    /// | `MEASURED.ROW.mean`, `.p50`, `.p99`, `.rate` | response times and rate of a row of a suite |
    /// | `MEASURED.PAGE.page.mean`, `.page.p50`, `.page.p99` | time to load a page of a suite |
    /// | `REQUESTS.throughput`, `.share`, `.failed` | bit/s of contents at the client, the same over the planned rate, share of failed requests |
    /// | `HOST.captured`, `HOST.new` | bit/s that this host sent from the first connection with a file to the end of its capture, with and without what was sent again |
    /// | `HOST.rtt` | s, median round trip of handshakes in its capture |
    /// | `HOST.rto.W1.one.within` | of round trips of what it sent, in its capture: share within the timeout of weight and strategy; also `.long` (timeout above 1 s), `.avoided.0.25` ... `.avoided.1`, and the columns of Table 6: `.short_within`, `.short_exceeded`, `.short_exceeded_long`, `.long_within`, `.long_exceeded` |
    /// | `HOST.timeouts`, `.resent`, `.fast-retransmits`, `.round-trips` | of a bare host, by its own report: timeouts, segments sent again, fast retransmits, round trips that were measured |
    /// | `HOST.round-trip`, `.srtt`, `.rto` | s, of a bare host, by its own report: means of the round trips that its estimator used, of the smoothed ones, and of the timeouts that followed |
    /// | `traffic.SET.rate`, `.loss` | bit/s that arrived of a flow set, share that was lost |
    /// | `link.FROM-TO.rate`, `.dropped` | of a link with a rate, from one node to the next: bit/s on the wire, with all that frames take of the rate; share of frames that its queue dropped |
    /// | `path.rtt` | s, round trip from the client to the server before anything else begins |
    pub figures: BTreeMap<String, f64>,
    /// Settings in force, by name: `congestion of server`, `server in server`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Warnings about its figures, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The reason, if it failed and has no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
