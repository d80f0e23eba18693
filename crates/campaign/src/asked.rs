//! Resolves a request: an experiment with the changes of the request.

use std::collections::BTreeMap;
use std::fs;

use engine::Cancel;
use experiment::{
    CampaignRecord, ChosenSuite, ExperimentSpec, FileError, LevelCombination, TrialSetup, TrialSpec,
};
use runner::suite_text::SuiteText;
use runner::{RunnerError, state, text_file};
use suite::Overrides;
use topology::LabSpec;

use crate::directory::{self, FORMAT, KeptCampaign, OpenCampaign};
use crate::forecast::CampaignForecast;
use crate::request::{CampaignRequest, SuiteRequest};
use crate::{bottleneck, facts};

/// A campaign ready to measure. All its trials were checked.
#[derive(Debug)]
pub struct ResolvedCampaign {
    pub(crate) request: CampaignRequest,
    pub(crate) experiment: ExperimentSpec,
    pub(crate) cells: Vec<LevelCombination>,
    /// By cell.
    setups: Vec<TrialSetup>,
    pub(crate) repetitions: u32,
}

impl ResolvedCampaign {
    /// Reads the experiment, and checks the trials of all cells before anything is built.
    ///
    /// # Errors
    ///
    /// The experiment, the suite or a server is unknown or invalid, or nothing is left to measure.
    pub fn of(request: CampaignRequest) -> Result<ResolvedCampaign, RunnerError> {
        let usage = |error: FileError| usage(&error);
        let mut experiment = find_experiment(&request.experiment)?;
        if !request.servers.is_empty() {
            experiment = experiment.with_servers(&request.servers).map_err(usage)?;
        }
        if let Some(suite) = &request.suite {
            experiment = with_suite(&experiment, suite)?;
        }
        let cells = experiment.chosen_cells(request.full, &request.scenarios);
        let cells = cells.map_err(usage)?;
        let setups = cells.iter().map(|cell| experiment.setup(cell));
        let setups: Result<Vec<TrialSetup>, FileError> = setups.collect();
        let setups = setups.map_err(|error| text_file::defect(&request.experiment, &error))?;
        facts::recipes(&setups)?;
        Ok(ResolvedCampaign {
            repetitions: request.repeat.unwrap_or(experiment.repeat),
            setups,
            experiment,
            cells,
            request,
        })
    }

    /// The title of its experiment.
    pub fn title(&self) -> &str {
        &self.experiment.title
    }

    /// Names of its cells.
    pub fn cells(&self) -> impl ExactSizeIterator<Item = String> {
        self.cells.iter().map(|cell| self.name_of(cell))
    }

    /// Repetitions of each cell.
    pub fn repetitions(&self) -> usize {
        self.repetitions as usize
    }

    /// It measures suites, whose duration is unknown.
    pub fn measures_suites(&self) -> bool {
        let mut setups = self.setups.iter();
        setups.any(|setup| {
            setup
                .trial
                .measured
                .values()
                .any(|measured| measured.suite.is_some())
        })
    }

    /// Forecast of the duration of all its trials, `done` of which have ended.
    pub fn forecast(&self, done: usize) -> CampaignForecast {
        let settle = self.mean(|trial| trial.settle.nanos());
        CampaignForecast::new(self.trials(), done, settle)
    }

    /// Duration in seconds of all trials if no measurement ends by itself.
    pub fn longest(&self) -> f64 {
        let each = self.mean(|trial| trial.settle.nanos() + trial.longest.nanos());
        CampaignForecast::new(self.trials(), 0, each).left(0.0)
    }

    /// Number of its trials.
    pub fn trials(&self) -> usize {
        self.cells.len() * self.repetitions()
    }

    /// The mean of a time over all trials, in seconds.
    fn mean(&self, nanos: impl Fn(&TrialSpec) -> u64) -> f64 {
        let all = self.setups.iter().map(|setup| nanos(&setup.trial));
        all.sum::<u64>() as f64 / 1e9 / self.setups.len().max(1) as f64
    }

    /// The name of a cell: its levels in the order of the factors.
    pub(crate) fn name_of(&self, cell: &LevelCombination) -> String {
        let factors = self.experiment.factors.iter();
        let levels: Vec<String> = factors
            .map(|factor| format!("{} {}", factor.name, cell.level(&factor.name)))
            .collect();
        levels.join(", ")
    }

    fn record(&self) -> Result<CampaignRecord, RunnerError> {
        let seed = self.request.seed.unwrap_or_else(state::new_seed);
        Ok(CampaignRecord {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.request.experiment.clone(),
            experiment: self.experiment.clone(),
            cells: self.cells.clone(),
            repetitions: self.repetitions,
            seed,
            command: self.request.command(self.repetitions, seed),
            started: engine::time_of_day(),
            facts: facts::facts(&self.setups)?,
        })
    }

    /// Resumes a campaign, or begins one after checking the links of the laboratory.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<OpenCampaign, RunnerError> {
        let mut record = self.record()?;
        if let Some(kept) = self.kept(&record)? {
            let (done, all) = (kept.measured().len(), kept.planned());
            log::info!(
                "going on with the campaign in {}: {done} of {all} trials are measured (--new begins another)",
                kept.directory.display()
            );
            // Two at the same time would disturb each other.
            let campaign = OpenCampaign::open(kept)?;
            self.verify(cancel)?;
            return Ok(campaign);
        }
        record.facts.extend(self.verify(cancel)?);
        let directory = match &self.request.save {
            Some(directory) => directory.clone(),
            None => state::campaigns_directory()?.join(state::new_run_id()),
        };
        OpenCampaign::create(&directory, record)
    }

    fn kept(&self, record: &CampaignRecord) -> Result<Option<KeptCampaign>, RunnerError> {
        let CampaignRequest {
            seed, save, new, ..
        } = &self.request;
        let is_asked = |kept: &KeptCampaign| seed.is_none_or(|seed| seed == kept.record.seed);
        let Some(directory) = save.as_ref().filter(|path| path.exists()) else {
            if *new || save.is_some() {
                return Ok(None);
            }
            return Ok(directory::unfinished(record)?.filter(is_asked));
        };
        let is_empty = fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
        if is_empty {
            return Ok(None);
        }
        let kept = KeptCampaign::read(directory)?;
        let place = directory.display();
        let problem = if *new || !kept.is_like(record) || !is_asked(&kept) {
            "has another campaign"
        } else if kept.is_finished() {
            "has a campaign that is finished"
        } else {
            return Ok(Some(kept));
        };
        Err(RunnerError::Usage(format!(
            "{place} {problem}; choose another directory (`prestan lab report {place}` prints it)"
        )))
    }

    /// Checks the links of all its laboratories. Returns the results as facts.
    fn verify(&self, cancel: &Cancel) -> Result<BTreeMap<String, String>, RunnerError> {
        let mut facts = BTreeMap::new();
        let mut verified: Vec<LabSpec> = Vec::new();
        for setup in &self.setups {
            // Hosts of trials differ, and links do not matter for them.
            let links = LabSpec {
                hosts: BTreeMap::new(),
                ..setup.lab.clone()
            };
            if !verified.contains(&links) {
                facts.extend(bottleneck::verify(&setup.network, cancel)?);
                verified.push(links);
            }
        }
        Ok(facts)
    }

    pub(crate) fn setup(&self, cell: &LevelCombination) -> &TrialSetup {
        let index = self.cells.iter().position(|planned| planned == cell);
        &self.setups[index.expect("a trial is planned for a cell of the campaign")]
    }
}

/// A built-in experiment by its name, or a file.
///
/// # Errors
///
/// It does not exist, or is invalid.
pub fn find_experiment(name: &str) -> Result<ExperimentSpec, RunnerError> {
    let kind = ("experiment", "experiments");
    let text = text_file::builtin_or_read(name, builtin::EXPERIMENTS, kind)?;
    ExperimentSpec::read(name, &text).map_err(|error| text_file::defect(name, &error))
}

/// The experiment with a suite in place of its own measurements.
fn with_suite(
    experiment: &ExperimentSpec,
    suite: &SuiteRequest,
) -> Result<ExperimentSpec, RunnerError> {
    let mut overrides = Overrides::default();
    overrides.selection.only.clone_from(&suite.only);
    let plan = SuiteText::find(&suite.name)?.resolved(&overrides)?;
    let rows: Vec<String> = plan
        .measures
        .into_iter()
        .map(|measure| measure.name)
        .collect();
    let mut arguments = vec!["-r".to_owned(), suite.requests.to_string()];
    if !suite.only.is_empty() {
        arguments.extend(["--only".to_owned(), suite.only.join(",")]);
    }
    let suite = ChosenSuite {
        name: &suite.name,
        arguments: &arguments,
        rows: &rows,
    };
    experiment.with_suite(suite).map_err(|error| usage(&error))
}

fn usage(error: &FileError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}
