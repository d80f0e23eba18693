//! `prestan lab run`, `experiments` and `report`: experiments in laboratories.
//!
//! ```text
//! file -> cells -> trials --(each in a laboratory of its own)--> lines of trials.jsonl -> summary -> text, page
//! ```

mod bottleneck;
mod directory;
mod facts;
mod policy;
mod progress;
mod report_of;
mod series;
mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use engine::Cancel;
use experiment::{
    BUILTIN_EXPERIMENTS, BuiltinExperiment, CampaignRecord, ChosenSuite, ExperimentError,
    ExperimentSpec, LevelCombination, PlannedTrial, TrialRecord, TrialSetup, TrialSpec,
    planned_trials,
};
use runner::suite_text::SuiteText;
use runner::{RunnerError, state, text_file};
use suite::Overrides;
use topology::LabSpec;

use super::{become_root, text_of};
use crate::args::LabRunArgs;
use crate::exit::ExitStatus;
use crate::forecast::roughly;
use crate::output::{check_documents, number_of, print_described, print_list, tell};
use crate::signals::on_interrupt;

use directory::{FORMAT, KeptCampaign, OpenCampaign};
use policy::CampaignPolicy;
use progress::{CampaignForecast, CampaignProgress};
use series::Runner;
use trial::{TrialFailure, TrialOutcome, TrialTask};

pub(super) use report_of::report;

/// Lists the built-in experiments.
pub(super) fn list() -> Result<(), RunnerError> {
    let lengths = BUILTIN_EXPERIMENTS.iter().map(|own| own.name.len());
    let width = lengths.max().unwrap_or(0);
    let item = |own: &BuiltinExperiment| {
        let spec = ExperimentSpec::read(own.name, own.text).map_err(|error| usage(&error))?;
        Ok(format!("{:width$} {}", own.name, spec.title))
    };
    let items: Result<Vec<String>, RunnerError> = BUILTIN_EXPERIMENTS.iter().map(item).collect();
    print_list(items?, &" ".repeat(width + 1))
}

/// Measures an experiment.
pub(super) fn run(args: &LabRunArgs) -> Result<ExitStatus, RunnerError> {
    let documents = &args.documents;
    check_documents(&documents.places(), documents.html.as_ref())?;
    let asked = AskedCampaign::of(args)?;
    if args.dry_run {
        return asked.print_trials();
    }
    become_root()?;
    let cancel = Cancel::default();
    let _interruptible = on_interrupt(cancel.clone(), None)?;
    let mut campaign = asked.open(args, &cancel)?;
    let ended = asked.measure(&mut campaign, args, &cancel);
    let kept = &campaign.kept;
    let place = kept.directory.display();
    match ended {
        Err(RunnerError::Interrupted(what)) => {
            let (done, all) = (kept.measured().len(), kept.planned());
            return Err(RunnerError::Interrupted(format!(
                "{what} after {done} of {all} trials; the same command goes on with it (the record is in {place})"
            )));
        }
        Err(error) if kept.measured().is_empty() => return Err(resumable(error, kept)),
        Err(error) => {
            report_of::print(kept, documents)?;
            return Err(resumable(error, kept));
        }
        Ok(()) => {}
    }
    report_of::print(kept, documents)?;
    if kept.measured().is_empty() {
        let trial = kept.trials.iter().find_map(|trial| trial.failed.as_ref());
        let why = trial.map_or("there is no trial", String::as_str);
        return Err(RunnerError::Target(format!(
            "nothing could be measured: {why}"
        )));
    }
    Ok(ExitStatus::Done)
}

/// A failure of trials, with how the campaign goes on.
fn resumable(error: RunnerError, kept: &KeptCampaign) -> RunnerError {
    match error {
        RunnerError::Target(_) => error.followed_by(&format!(
            "; the same command goes on with the campaign in {}",
            kept.directory.display()
        )),
        error => error,
    }
}

/// What is to be measured.
struct AskedCampaign {
    experiment: ExperimentSpec,
    cells: Vec<LevelCombination>,
    /// By cell.
    setups: Vec<TrialSetup>,
    repetitions: u32,
}

impl AskedCampaign {
    /// Reads the experiment, and checks the trials of all cells before anything is built.
    fn of(args: &LabRunArgs) -> Result<AskedCampaign, RunnerError> {
        let usage = |error: ExperimentError| usage(&error);
        let mut experiment = find(&args.experiment)?;
        if !args.server.is_empty() {
            experiment = experiment.with_servers(&args.server).map_err(usage)?;
        }
        if let Some(suite) = &args.suite {
            experiment = with_suite(&experiment, suite, args)?;
        }
        let cells = experiment.chosen_cells(args.full, &args.scenario);
        let cells = cells.map_err(usage)?;
        let setups = cells.iter().map(|cell| experiment.setup(cell));
        let setups: Result<Vec<TrialSetup>, ExperimentError> = setups.collect();
        let setups = setups.map_err(|error| text_file::defect(&args.experiment, &error))?;
        facts::recipes(&setups)?;
        Ok(AskedCampaign {
            repetitions: args.repeat.unwrap_or(experiment.repeat),
            setups,
            experiment,
            cells,
        })
    }

    fn trials(&self) -> usize {
        self.cells.len() * self.repetitions as usize
    }

    /// Time for which background lasts before something is measured, on average, in seconds.
    fn settle(&self) -> f64 {
        self.mean(|trial| trial.settle.nanos())
    }

    /// Time that all trials take if nothing that is measured ends by itself, in seconds.
    fn longest(&self) -> f64 {
        let each = self.mean(|trial| trial.settle.nanos() + trial.longest.nanos());
        CampaignForecast::new(self.trials(), 0, each).left(0.0)
    }

    /// The mean of a time over all trials, in seconds.
    fn mean(&self, nanos: impl Fn(&TrialSpec) -> u64) -> f64 {
        let all = self.setups.iter().map(|setup| nanos(&setup.trial));
        all.sum::<u64>() as f64 / 1e9 / self.setups.len().max(1) as f64
    }

    /// Lists the cells, and how long all trials will take.
    fn print_trials(&self) -> Result<ExitStatus, RunnerError> {
        let mut text = format!("{}\n\n", self.experiment.title);
        for cell in &self.cells {
            text += &format!("{}\n", self.name_of(cell));
        }
        let forecast = CampaignForecast::new(self.trials(), 0, self.settle());
        let mut measured = self
            .setups
            .iter()
            .flat_map(|setup| setup.trial.measured.values());
        let (about, note) = if measured.any(|own| own.suite.is_some()) {
            (
                "more than",
                "How long suites take is known after the first trials, whose lines then have the time that is left.\n",
            )
        } else {
            ("about", "")
        };
        text += &format!(
            "\n{} with {} each: {}, {about} {}, and up to {} if nothing that is measured ends by itself\n{note}",
            number_of(self.cells.len(), "cell"),
            number_of(self.repetitions as usize, "repetition"),
            number_of(self.trials(), "trial"),
            roughly(forecast.left(0.0)),
            roughly(self.longest())
        );
        print_described(&text)?;
        Ok(ExitStatus::Done)
    }

    /// A cell in words: its levels in the order of the factors.
    fn name_of(&self, cell: &LevelCombination) -> String {
        let factors = self.experiment.factors.iter();
        let levels: Vec<String> = factors
            .map(|factor| format!("{} {}", factor.name, cell.level(&factor.name)))
            .collect();
        levels.join(", ")
    }

    /// What stands in the record of the campaign.
    fn record(&self, args: &LabRunArgs) -> Result<CampaignRecord, RunnerError> {
        let seed = args.seed.unwrap_or_else(state::new_seed);
        Ok(CampaignRecord {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            name: args.experiment.clone(),
            experiment: self.experiment.clone(),
            cells: self.cells.clone(),
            repetitions: self.repetitions,
            seed,
            command: self.command(args, seed),
            started: engine::time_of_day(),
            facts: facts::facts(&self.setups)?,
        })
    }

    /// Goes on with a campaign, or begins one, behind a check of the laboratory's links.
    fn open(&self, args: &LabRunArgs, cancel: &Cancel) -> Result<OpenCampaign, RunnerError> {
        let mut record = self.record(args)?;
        if let Some(kept) = self.kept(args, &record)? {
            let (done, all) = (kept.measured().len(), kept.planned());
            tell(&format!(
                "prestan: going on with the campaign in {}: {done} of {all} trials are measured (--new begins another)",
                kept.directory.display()
            ));
            // Two at once would measure each other.
            let campaign = OpenCampaign::open(kept)?;
            self.verify(cancel)?;
            return Ok(campaign);
        }
        record.facts.extend(self.verify(cancel)?);
        let directory = match &args.save {
            Some(directory) => directory.clone(),
            None => state::campaigns_directory()?.join(state::new_run_id()),
        };
        OpenCampaign::create(&directory, record)
    }

    /// A campaign to go on with.
    fn kept(
        &self,
        args: &LabRunArgs,
        record: &CampaignRecord,
    ) -> Result<Option<KeptCampaign>, RunnerError> {
        let is_asked = |kept: &KeptCampaign| args.seed.is_none_or(|seed| seed == kept.record.seed);
        let Some(directory) = args.save.as_ref().filter(|path| path.exists()) else {
            if args.new || args.save.is_some() {
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
        let problem = if args.new || !kept.is_like(record) || !is_asked(&kept) {
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

    /// Measures what is not measured yet.
    fn measure(
        &self,
        campaign: &mut OpenCampaign,
        args: &LabRunArgs,
        cancel: &Cancel,
    ) -> Result<(), RunnerError> {
        let seed = campaign.kept.record.seed;
        let all = planned_trials(&self.cells, self.repetitions, seed, &[]);
        let measured = campaign.kept.measured();
        let open = planned_trials(&self.cells, self.repetitions, seed, &measured);
        let forecast = CampaignForecast::new(all.len(), all.len() - open.len(), self.settle());
        let mut laboratory = LaboratoryRunner {
            asked: self,
            captures: campaign.kept.captures(),
            keeps_captures: args.keep_captures,
            campaign,
            all,
            progress: CampaignProgress::new(forecast),
            cancel,
        };
        series::perform(&mut CampaignPolicy::new(open), &mut laboratory)
    }

    /// What a trial of this cell is like.
    fn setup(&self, cell: &LevelCombination) -> &TrialSetup {
        let place = self.cells.iter().position(|own| own == cell);
        &self.setups[place.expect("a trial is planned for a cell of the campaign")]
    }

    /// The command that repeats the campaign.
    fn command(&self, args: &LabRunArgs, seed: u64) -> String {
        let mut command = format!("prestan lab run {}", args.experiment);
        for scenario in &args.scenario {
            command += &format!(" --scenario {scenario}");
        }
        if !args.server.is_empty() {
            command += &format!(" --server {}", args.server.join(","));
        }
        if let Some(suite) = &args.suite {
            command += &format!(" --suite {suite} --requests {}", args.requests);
        }
        if !args.only.is_empty() {
            command += &format!(" --only {}", args.only.join(","));
        }
        if args.full {
            command += " --full";
        }
        command + &format!(" --repeat {} --seed {seed}", self.repetitions)
    }
}

/// Makes each trial in a laboratory of its own, shows how far the campaign is, and keeps what came of the trial.
struct LaboratoryRunner<'a> {
    asked: &'a AskedCampaign,
    campaign: &'a mut OpenCampaign,
    /// All trials of the campaign.
    all: Vec<PlannedTrial>,
    /// Where captures are kept.
    captures: PathBuf,
    /// Those of all trials, not of the last repetitions only.
    keeps_captures: bool,
    progress: CampaignProgress,
    cancel: &'a Cancel,
}

impl Runner for LaboratoryRunner<'_> {
    type Step = PlannedTrial;
    type Outcome = TrialRecord;

    fn run(&mut self, planned: &PlannedTrial) -> Result<TrialRecord, RunnerError> {
        let setup = self.asked.setup(&planned.cell);
        let cell = self.asked.name_of(&planned.cell);
        self.progress
            .begin(&format!("{cell}, repetition {}", planned.repetition));
        let begun = Instant::now();
        let record = record_of(&self.task(setup, planned), planned)?;
        debug_assert!(
            record.figures.keys().all(|name| setup.has_figure(name)),
            "figures that an experiment cannot name: {:?}",
            record.figures.keys()
        );
        self.progress.end(begun.elapsed(), &remarks(&record));
        self.campaign.add(record.clone())?;
        Ok(record)
    }
}

impl LaboratoryRunner<'_> {
    fn task<'a>(&'a self, setup: &'a TrialSetup, planned: &PlannedTrial) -> TrialTask<'a> {
        let seed = self.campaign.kept.record.seed;
        let number = self.all.iter().position(|own| own == planned).unwrap_or(0);
        let is_kept = self.keeps_captures || planned.repetition == self.asked.repetitions;
        TrialTask {
            spec: &setup.trial,
            network: &setup.network,
            // Trials differ in everything random, and each is the same in every campaign of this seed.
            seed: seed.wrapping_add(number as u64) & (u64::MAX >> 1),
            cancel: self.cancel,
            kept_captures: is_kept.then(|| (&*self.captures, file_name(planned))),
        }
    }
}

/// Carries a trial out.
fn record_of(task: &TrialTask<'_>, planned: &PlannedTrial) -> Result<TrialRecord, RunnerError> {
    let (begun, started) = (Instant::now(), engine::time_of_day());
    let (outcome, failed) = match task.run() {
        Ok(outcome) => (outcome, None),
        Err(TrialFailure::Failed(why)) => (TrialOutcome::default(), Some(why)),
        Err(TrialFailure::Interrupted) => {
            return Err(RunnerError::Interrupted("interrupted".to_owned()));
        }
    };
    Ok(TrialRecord {
        cell: planned.cell.clone(),
        repetition: planned.repetition,
        started,
        seconds: begun.elapsed().as_secs_f64(),
        figures: outcome.figures,
        facts: outcome.facts,
        warnings: outcome.warnings,
        failed,
    })
}

/// What is to be said of a trial that has ended.
fn remarks(trial: &TrialRecord) -> String {
    let warnings = trial.warnings.iter().map(|own| format!("; warning: {own}"));
    let failed = trial.failed.iter().map(|why| format!("; failed: {why}"));
    warnings.chain(failed).collect()
}

/// The beginning of the names of a trial's files.
fn file_name(trial: &PlannedTrial) -> String {
    let levels = trial.cell.0.values();
    let levels: Vec<String> = levels
        .map(|level| {
            let plain = |c: char| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '_'
                }
            };
            level.chars().map(plain).collect()
        })
        .collect();
    format!("{}-{}", levels.join("-"), trial.repetition)
}

/// A built-in experiment by its name, or a file.
fn find(name: &str) -> Result<ExperimentSpec, RunnerError> {
    let builtin = BuiltinExperiment::find(name).map(|own| own.text);
    let nearest = BuiltinExperiment::nearest;
    let text = text_of(name, builtin, "experiment", "experiments", nearest)?;
    ExperimentSpec::read(name, &text).map_err(|error| text_file::defect(name, &error))
}

/// The experiment with a suite in place of what it measures.
fn with_suite(
    experiment: &ExperimentSpec,
    name: &str,
    args: &LabRunArgs,
) -> Result<ExperimentSpec, RunnerError> {
    let mut overrides = Overrides::default();
    overrides.selection.only.clone_from(&args.only);
    let plan = SuiteText::find(name)?.resolved(&overrides)?;
    let mut arguments = vec!["-r".to_owned(), args.requests.to_string()];
    if !args.only.is_empty() {
        arguments.extend(["--only".to_owned(), args.only.join(",")]);
    }
    let rows: Vec<String> = plan.measures.iter().map(|own| own.name.clone()).collect();
    let suite = ChosenSuite {
        name,
        arguments: &arguments,
        rows: &rows,
    };
    experiment.with_suite(suite).map_err(|error| usage(&error))
}

fn usage(error: &ExperimentError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}
