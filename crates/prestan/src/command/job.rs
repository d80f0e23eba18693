//! Something to be measured: run it, keep it, print it.

use std::sync::Arc;

use engine::rundir::RunDir;
use engine::{Cancel, Finished, Observer, Progress, Settings, Watch};
use record::{Environment, Event, PlanRecord, Run, Sample};
use suite::Plan;

use crate::args::OutputOptions;
use crate::exit::{Code, Failed};
use crate::output;
use crate::state;
use crate::watch::{Console, on_interrupt};

/// Something to be measured, with everything decided.
pub(crate) struct Job<'a> {
    /// What the plan was made from; kept with the run.
    pub(crate) suite_text: String,
    pub(crate) plan: Plan,
    pub(crate) settings: Settings,
    pub(crate) output: &'a OutputOptions,
}

impl Job<'_> {
    /// Runs it on the server, keeps the run, prints the report.
    pub(crate) fn perform(self) -> Result<Code, Failed> {
        let Job {
            suite_text,
            plan,
            settings,
            output,
        } = self;
        let record = engine::plan_record(&plan, &settings);
        let kept = keep(&record, &suite_text, output)?;

        let cancel = Cancel::default();
        let progress = Arc::new(Progress::default());
        let console = Arc::new(Console::new(
            output,
            Arc::clone(&progress),
            record.tests.clone(),
            record.measures.clone(),
        ));
        let collection = (plan.workspace == suite::Workspace::Collection).then(|| {
            let name = engine::collection_name(&settings.run_id);
            format!("{}{name}/", settings.target.url())
        });
        on_interrupt(cancel.clone(), collection)?;
        let observers = Arc::new(Observers {
            console: Arc::clone(&console),
            kept,
        });
        let following = console.follow();
        let watch = Watch {
            cancel,
            progress,
            observer: Arc::clone(&observers) as Arc<dyn Observer>,
        };
        let mut samples: Vec<Sample> = Vec::new();
        let finished = engine::run(plan, &settings, &watch, &mut samples);
        drop(following);

        finish(finished, samples, observers.kept.as_ref(), output)
    }
}

/// Opens the run directory, unless nothing is to be kept.
fn keep(
    record: &PlanRecord,
    suite_text: &str,
    output: &OutputOptions,
) -> Result<Option<RunDir>, Failed> {
    if output.no_save {
        return Ok(None);
    }
    let path = match &output.save {
        Some(path) => path.clone(),
        None => state::run_directory(&record.run_id)?,
    };
    let env = Environment {
        machine: engine::machine(),
        server: None,
        started_at: engine::time_of_day(),
        ended_at: None,
    };
    Ok(Some(RunDir::create(&path, record, suite_text, &env)?))
}

/// Whoever wants to know what happens.
struct Observers {
    console: Arc<Console>,
    kept: Option<RunDir>,
}

impl Observer for Observers {
    fn event(&self, event: &Event) {
        self.console.event(event);
        if let Some(kept) = &self.kept {
            // A full disk is reported when the run is written as a whole.
            let _ = kept.append(event);
        }
    }
}

/// Keeps and prints what was measured, and says how it went.
fn finish(
    finished: Finished,
    samples: Vec<Sample>,
    kept: Option<&RunDir>,
    output: &OutputOptions,
) -> Result<Code, Failed> {
    let run = &Run {
        plan: finished.plan,
        env: finished.env,
        events: finished.events,
        samples,
    };
    let keeping = kept.map(|kept| kept.finish(run));
    if let Some(Err(error)) = &keeping {
        output::tell(&format!("prestan: warning: the run is not kept: {error}"));
    }
    let saved_to = kept
        .filter(|_| matches!(keeping, Some(Ok(()))))
        .map(|kept| kept.path().display().to_string());
    if let Some(error) = &finished.error {
        if let Some(path) = &saved_to {
            output::tell(&format!("prestan: what is known of the run is in {path}"));
        }
        return Err(Failed::from(error.clone()));
    }
    let summary = stats::summarise(run);
    output::print(
        run,
        &summary,
        &output.formats,
        output.output.as_deref(),
        saved_to,
    )?;
    code_of(&summary)
}

fn code_of(summary: &stats::Summary) -> Result<Code, Failed> {
    match &summary.complete {
        stats::Completeness::Interrupted => Err(Failed::Interrupted(
            "the run was interrupted; the report is of what was done".to_owned(),
        )),
        stats::Completeness::Aborted(reason) => Err(Failed::Local(format!(
            "the run could not be finished: {reason}"
        ))),
        stats::Completeness::Complete if summary.any_failed() => Ok(Code::TestFailed),
        stats::Completeness::Complete => Ok(Code::Done),
    }
}
