//! What is asked of a campaign.

use std::path::PathBuf;

/// What is asked of a campaign.
#[derive(Debug, Clone, Default)]
pub struct CampaignRequest {
    /// Name of a built-in experiment, or an experiment file.
    pub experiment: String,
    /// Only cells with these levels, each `[FACTOR=]LEVEL[,LEVEL]`.
    pub scenarios: Vec<String>,
    /// Servers in place of those of the experiment.
    pub servers: Vec<String>,
    /// Measured in place of what the experiment measures.
    pub suite: Option<SuiteRequest>,
    /// Repetitions of each cell, where they are not those of the experiment.
    pub repeat: Option<u32>,
    /// All cells, not only those of the short version.
    pub full: bool,
    /// A campaign that is not finished is not resumed.
    pub new: bool,
    /// Seed of the order of trials, and of everything random in them.
    pub seed: Option<u64>,
    /// Where the campaign is kept, if not where all are.
    pub save: Option<PathBuf>,
    /// The captures of all trials are kept, not those of the last repetitions only.
    pub keep_captures: bool,
}

/// A suite that is measured.
#[derive(Debug, Clone)]
pub struct SuiteRequest {
    /// Name of a built-in suite, or a suite file.
    pub name: String,
    /// Only these tests, by name or pattern; all, if there are none.
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
