//! Requests of campaigns.

use std::path::PathBuf;

/// Options of a campaign.
#[derive(Debug, Clone, Default)]
pub struct CampaignRequest {
    /// Name of a built-in experiment, or an experiment file.
    pub experiment: String,
    /// Only cells with these levels, each `[FACTOR=]LEVEL[,LEVEL]`.
    pub scenarios: Vec<String>,
    /// Servers in place of those of the experiment.
    pub servers: Vec<String>,
    /// Suite in place of the measurements of the experiment.
    pub suite: Option<SuiteRequest>,
    /// Repetitions of each cell; `None`: as in the experiment.
    pub repeat: Option<u32>,
    /// All cells, not only those of the short version.
    pub full: bool,
    /// Begins a new campaign even if an unfinished one could be resumed.
    pub new: bool,
    /// Seed of the order of trials, and of everything random in them.
    pub seed: Option<u64>,
    /// Directory of the campaign; `None`: the default directory.
    pub save: Option<PathBuf>,
    /// Keeps the captures of all trials, not only of the last repetitions.
    pub keep_captures: bool,
}

/// A suite to measure.
#[derive(Debug, Clone)]
pub struct SuiteRequest {
    /// Name of a built-in suite, or a suite file.
    pub name: String,
    /// Only these tests, by name or pattern; empty: all.
    pub only: Vec<String>,
    /// Requests of each test.
    pub requests: u32,
}

impl CampaignRequest {
    /// The command that repeats the campaign.
    pub(crate) fn command(&self, repetitions: u32, seed: u64) -> String {
        let mut command = format!("prestan lab run {}", self.experiment);
        for scenario in &self.scenarios {
            command += &format!(" --scenario {scenario}");
        }
        if !self.servers.is_empty() {
            command += &format!(" --server {}", self.servers.join(","));
        }
        if let Some(SuiteRequest {
            name,
            only,
            requests,
        }) = &self.suite
        {
            command += &format!(" --suite {name} --requests {requests}");
            if !only.is_empty() {
                command += &format!(" --only {}", only.join(","));
            }
        }
        if self.full {
            command += " --full";
        }
        command + &format!(" --repeat {repetitions} --seed {seed}")
    }
}
