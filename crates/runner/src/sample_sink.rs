//! The destination of samples while a run goes on.
//!
//! ```text
//! samples --+--> file       segments of the run directory, or a temporary file
//!           +--> sums       load: added up in bounded memory; suite: held, up to HELD
//!           +--> live       figures of the last second
//!           '--> goal       --until: is the interval narrow enough?
//! ```
//!
//! A full disk does not end a run: a load is added up in memory anyway, and the samples of a suite
//! usually fit into memory. What was written before stays readable.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Conditions, Finished, Sink};
use record::{Environment, Event, Load, Pace, PlanRecord, Sample};
use report::{Diagnosed, DiagnosedRun};
use rundir::{Recorded, RunDir, RunDirError, Samples, SamplesWriter};
use stats::{
    Convergence, Details, LiveJudge, MeasurementWindow, PoolRun, Pooled, Resolution, Summariser,
    Summary, Until,
};

use crate::failing::{FailureLimit, MaxFailures};
use crate::live::LiveStatistics;
use crate::steering::{AdaptingLoad, BackgroundFeed, Steering};

/// Most samples of a suite held in memory: 100 MB. Beyond that they are read again from the file.
const HELD: usize = 500_000;
/// Interval between two checks of the goal.
const LOOK: Duration = Duration::from_secs(1);

/// Takes the samples of a run.
pub struct SampleSink {
    plan: PlanRecord,
    file: SampleFile,
    sums: RunningSummary,
    /// Most samples of a suite held in memory.
    most: usize,
    goal: Option<ConvergenceGoal>,
    /// Failures that end the run.
    limit: Option<FailureLimit>,
    /// Set from outside when the run has lasted long enough.
    enough: Option<Arc<AtomicBool>>,
    live: Arc<LiveStatistics>,
    steering: Option<Steering>,
}

enum SampleFile {
    /// Not wanted.
    None,
    Open(Box<SamplesWriter>),
    /// Could not be written, for this reason.
    Broken(String),
}

enum RunningSummary {
    /// A load: every sample is added when it arrives.
    Load(Box<Summariser>),
    /// A suite: its windows are known only at the end.
    Suite(HeldSamples),
}

/// The samples of a suite, if they are in memory.
enum HeldSamples {
    All(Vec<Sample>),
    /// Too many; they are in the file.
    OnDisk,
    /// Too many, and the file is broken.
    Lost,
}

/// Results of the samples of a run.
pub struct Concluded {
    /// An error if samples are missing in the file.
    pub written: Result<(), String>,
    /// Summary of the samples; the error is the reason why there is none.
    pub summary: Result<Summary, String>,
    /// The file, if there is one.
    pub samples: Option<Samples>,
    /// Measurement window of each measure; empty if unknown.
    pub windows: Vec<MeasurementWindow>,
}

impl SampleSink {
    /// For a run of that plan, kept in `kept`.
    pub fn new(
        plan: &PlanRecord,
        kept: Option<&RunDir>,
        until: Option<Until>,
        live: Arc<LiveStatistics>,
    ) -> SampleSink {
        let file = match kept {
            Some(kept) => SampleFile::Open(Box::new(kept.samples_writer(plan))),
            None => SampleFile::None,
        };
        let sums = match plan.load.pace {
            Pace::Rounds => RunningSummary::Suite(HeldSamples::All(Vec::new())),
            Pace::Closed | Pace::Open { .. } => {
                RunningSummary::Load(Box::new(Summariser::new(plan)))
            }
        };
        SampleSink {
            plan: plan.clone(),
            file,
            sums,
            most: HELD,
            goal: until.map(|until| ConvergenceGoal::new(until, plan, &live)),
            limit: None,
            enough: None,
            live,
            steering: None,
        }
    }

    /// For a run whose steps have these conditions, and which may end by a constraint.
    pub(crate) fn steering(
        self,
        expressions: &[String],
        load: Option<AdaptingLoad>,
        conditions: &Arc<Conditions>,
        background: &BackgroundFeed,
    ) -> SampleSink {
        let judge = LiveJudge::new(&self.plan, expressions);
        SampleSink {
            steering: Steering::new(judge, load, conditions, background),
            ..self
        }
    }

    pub(crate) fn is_steered(&self) -> bool {
        self.steering.is_some()
    }

    /// For a run that ends when too many operations fail.
    pub fn limited(self, limit: MaxFailures) -> SampleSink {
        SampleSink {
            limit: Some(FailureLimit::new(limit)),
            ..self
        }
    }

    /// The reason why the run ended early, if too many operations failed.
    pub(crate) fn failed_too_often(&self) -> Option<&str> {
        self.limit.as_ref()?.reached()
    }

    /// For a run that goes on until `enough` is set.
    pub(crate) fn until_enough(self, enough: Arc<AtomicBool>) -> SampleSink {
        SampleSink {
            enough: Some(enough),
            ..self
        }
    }

    /// Writes all samples to a file even if nothing is kept: for figures.
    pub(crate) fn with_file(mut self) -> Result<SampleSink, RunDirError> {
        if let SampleFile::None = self.file {
            self.file = SampleFile::Open(Box::new(SamplesWriter::temporary(&self.plan)?));
        }
        Ok(self)
    }

    fn write(&mut self, samples: &[Sample]) {
        self.on_file(|writer| writer.write(samples));
    }

    /// Applies `work` to the file, which is abandoned if that fails.
    fn on_file(&mut self, work: impl FnOnce(&mut SamplesWriter) -> Result<(), RunDirError>) {
        if let SampleFile::Open(writer) = &mut self.file
            && let Err(error) = work(writer)
        {
            self.file = SampleFile::Broken(error.to_string());
        }
    }

    /// Holds samples of a suite, up to the limit.
    fn hold(&mut self, samples: &[Sample]) {
        let RunningSummary::Suite(HeldSamples::All(held)) = &mut self.sums else {
            return;
        };
        if held.len() + samples.len() <= self.most {
            held.extend_from_slice(samples);
            return;
        }
        let held = std::mem::take(held);
        // Samples of a kept run are in the file already; otherwise they need one now.
        if matches!(self.file, SampleFile::None) {
            self.file = match SamplesWriter::temporary(&self.plan) {
                Ok(writer) => SampleFile::Open(Box::new(writer)),
                Err(error) => SampleFile::Broken(error.to_string()),
            };
            self.write(&held);
            self.write(samples);
        }
        self.sums = RunningSummary::Suite(match self.file {
            SampleFile::Open(_) => HeldSamples::OnDisk,
            SampleFile::None | SampleFile::Broken(_) => HeldSamples::Lost,
        });
    }

    /// Distance of the run from its goal, and a message if it was not reached.
    pub fn goal(&self) -> Option<(record::Goal, Option<String>)> {
        self.goal.as_ref().map(ConvergenceGoal::outcome)
    }

    /// Completes the file and summarises.
    pub fn conclude(self, finished: &Finished) -> Concluded {
        let SampleSink { file, sums, .. } = self;
        let samples = match file {
            SampleFile::None => Ok(None),
            SampleFile::Broken(why) => Err(why),
            SampleFile::Open(writer) => {
                writer.finish().map(Some).map_err(|error| error.to_string())
            }
        };
        let (plan, events, env) = (&finished.plan, &finished.events, &finished.env);
        let summarised = match sums {
            RunningSummary::Load(sums) => {
                // The windows of a load are known from events alone.
                let nothing = || Ok::<[Result<&[Sample], String>; 0], String>([]);
                let windows = stats::counting_windows(plan, events, nothing);
                windows.map(|windows| (sums.finish(events, env), windows))
            }
            RunningSummary::Suite(HeldSamples::All(held)) => {
                stats::summarise_from(plan, events, env, || Ok::<_, String>([Ok(&held[..])]))
            }
            RunningSummary::Suite(HeldSamples::OnDisk | HeldSamples::Lost) => match &samples {
                Ok(Some(samples)) => {
                    summarised(plan, events, env, samples).map_err(|error| lost(&error))
                }
                Ok(None) => unreachable!("what is not held is in a file"),
                Err(why) => Err(lost(why)),
            },
        };
        // If samples cannot be read, there are no windows either.
        let (summary, windows) = match summarised {
            Ok((summary, windows)) => (Ok(summary), windows),
            Err(why) => (Err(why), Vec::new()),
        };
        let (samples, written) = match samples {
            Ok(samples) => (samples, Ok(())),
            Err(why) => (None, Err(why)),
        };
        Concluded {
            written,
            summary,
            samples,
            windows,
        }
    }
}

fn lost(why: &str) -> String {
    format!(
        "there is no report, because what was measured is lost: {why}; there were more than {HELD} \
         operations, too many to hold in memory: make room or choose another disk with --save, and \
         run it again"
    )
}

/// Summary and windows of a run whose samples are on disk.
fn summarised(
    plan: &PlanRecord,
    events: &[Event],
    env: &Environment,
    samples: &Samples,
) -> Result<(Summary, Vec<MeasurementWindow>), String> {
    stats::summarise_from(plan, events, env, || samples.pieces()).map_err(|error| error.to_string())
}

/// Pools runs of one server, with the details for figures of a page that shows `rows` rows.
pub fn drawn(runs: &[Recorded], rows: usize) -> Result<Drawn, String> {
    let all = pooled(runs, Some(Resolution::for_rows(rows)))?;
    let run_id = all.material.plan.run_id.clone();
    Ok(Drawn {
        summary: all.summary().clone(),
        details: all.details,
        diagnosed: Diagnosed {
            runs: vec![DiagnosedRun::of(&all.material, run_id)],
            diagnosis: stats::diagnose_pooled(all.material, all.halves),
            incomplete: None,
        },
        base: all.base,
    })
}

/// Pools at least one run.
pub fn pooled(runs: &[Recorded], resolution: Option<Resolution>) -> Result<Pooled, String> {
    let runs = runs.iter().map(|run| PoolRun {
        plan: &run.plan,
        events: &run.events,
        env: &run.env,
        pieces: || run.samples.pieces(),
    });
    let runs: Vec<_> = runs.collect();
    stats::pool(&runs, resolution).map_err(|error| error.to_string())
}

/// Data of a page about runs of one server.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// Estimates of all runs together.
    pub summary: Summary,
    /// Details of each row.
    pub details: Vec<Details>,
    /// Findings, and the runs that they are about.
    pub diagnosed: Diagnosed,
    /// Index of the run whose rows these are.
    pub base: usize,
}

/// Summary of a recorded run, read in pieces: a long run is larger than the memory.
pub(crate) fn summary_of_kept(recorded: &Recorded) -> Result<Summary, String> {
    let Recorded {
        plan,
        env,
        events,
        samples,
    } = recorded;
    summarised(plan, events, env, samples).map(|(summary, _)| summary)
}

impl Sink for SampleSink {
    fn take(&mut self, samples: &[Sample], known: engine::KnownWindow) -> ControlFlow<()> {
        let window = counting(&self.plan.load, known);
        self.write(samples);
        self.hold(samples);
        if let RunningSummary::Load(sums) = &mut self.sums {
            sums.add(samples, window);
        }
        let requests = requests(&self.plan, samples);
        self.live.add(&requests);
        if let Some(limit) = &mut self.limit {
            limit.take(&requests)?;
        }
        if let Some(steering) = &mut self.steering {
            steering.take(samples, window, known.begun)?;
        }
        let enough = self.enough.as_ref();
        match &mut self.goal {
            _ if enough.is_some_and(|enough| enough.load(Ordering::Relaxed)) => {
                ControlFlow::Break(())
            }
            Some(goal) => goal.take(samples, window),
            None => ControlFlow::Continue(()),
        }
    }

    fn measured(&mut self) {
        self.on_file(SamplesWriter::seal);
    }
}

/// Samples that are requests: stop-watches are not.
fn requests<'s>(plan: &PlanRecord, samples: &'s [Sample]) -> Cow<'s, [Sample]> {
    let is_request = |sample: &&Sample| {
        let measure = plan.measures.get(usize::from(sample.measure.0));
        !measure.is_some_and(|measure| measure.stop_watch)
    };
    if plan.measures.iter().any(|measure| measure.stop_watch) {
        Cow::Owned(samples.iter().filter(is_request).cloned().collect())
    } else {
        Cow::Borrowed(samples)
    }
}

/// The current measurement window of a load.
fn counting(load: &Load, window: engine::KnownWindow) -> MeasurementWindow {
    let end = window.ended.unwrap_or(u64::MAX);
    match (&load.pace, window.begun) {
        (Pace::Open { .. } | Pace::Rounds, _) => MeasurementWindow::Everything,
        // The operations ended before the window began.
        (_, None) => MeasurementWindow::Nothing,
        (_, Some(start)) if load.requests.is_some() => MeasurementWindow::Asked { start, end },
        (_, Some(start)) => MeasurementWindow::Between { start, end },
    }
}

/// The goal of `--until`.
struct ConvergenceGoal {
    until: Until,
    convergence: Convergence,
    live: Arc<LiveStatistics>,
    looked: Instant,
    reached: bool,
}

impl ConvergenceGoal {
    fn new(until: Until, plan: &PlanRecord, live: &Arc<LiveStatistics>) -> ConvergenceGoal {
        ConvergenceGoal {
            until,
            convergence: Convergence::new(until, plan),
            live: Arc::clone(live),
            looked: Instant::now(),
            reached: false,
        }
    }

    fn take(&mut self, samples: &[Sample], window: MeasurementWindow) -> ControlFlow<()> {
        self.convergence.add(samples, window);
        if !self.reached && self.looked.elapsed() >= LOOK {
            let width = self.convergence.relative_half_width();
            self.reached = self.is_enough(width);
            self.live.set_goal(&self.until, width);
            self.looked = Instant::now();
        }
        if self.reached {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn is_enough(&self, width: Option<f64>) -> bool {
        width.is_some_and(|width| width <= self.until.percent / 100.0)
    }

    fn outcome(&self) -> (record::Goal, Option<String>) {
        let half_width = self.convergence.relative_half_width();
        let reached = self.reached || self.is_enough(half_width);
        let found = match half_width {
            Some(width) => format!("it was ±{:.1}% at the end", width * 100.0),
            None => "there were too few operations".to_owned(),
        };
        let missed = (!reached).then(|| {
            format!(
                "--until '{}' was not reached before the run ended: {found}; give it more time \
                 (--duration, or longer --stages), or relax the condition",
                self.until
            )
        });
        let goal = record::Goal {
            half_width,
            reached,
        };
        (goal, missed)
    }
}

#[cfg(test)]
mod tests {
    use record::{EventKind, Run};
    use stats::testing::RunBuilder;

    use super::*;

    const ROWS: [(&str, &str); 1] = [("Get", "GET")];

    /// A recorded run of two users.
    fn run(pace: Pace) -> Run {
        let builder = RunBuilder::new(2).with(|run| run.plan.load.pace = pace);
        let builder = builder
            .test("Get", &ROWS)
            .event_at(0, |test| EventKind::MeasuringStarted { test })
            .ok("Get", 40, |i| 100 + i);
        let samples = builder.clone().build().samples;
        let end = samples.last().unwrap().moments.done.unwrap();
        builder
            .event_at(end, |test| EventKind::MeasuringEnded { test })
            .build()
    }

    fn finished(run: &Run) -> Finished {
        Finished {
            plan: run.plan.clone(),
            env: run.env.clone(),
            events: run.events.clone(),
            error: None,
        }
    }

    /// Adds a run in pieces, holding at most `most` samples.
    fn concluded(run: &Run, most: usize, file: SampleFile) -> Concluded {
        let mut sink = SampleSink::new(&run.plan, None, None, Arc::default());
        sink.most = most;
        sink.file = file;
        let window = engine::KnownWindow {
            begun: Some(0),
            ended: None,
        };
        for piece in run.samples.chunks(7) {
            assert!(sink.take(piece, window).is_continue());
        }
        sink.conclude(&finished(run))
    }

    #[test]
    fn what_is_summed_up_while_it_comes_is_what_a_report_says_later() {
        for pace in [Pace::Rounds, Pace::Closed, stats::testing::open_loop()] {
            let run = run(pace);
            for most in [0, 30, 1_000] {
                let concluded = concluded(&run, most, SampleFile::None);
                assert_eq!(concluded.written, Ok(()));
                assert_eq!(concluded.summary.unwrap(), stats::summarise(&run), "{most}");
            }
        }
    }

    #[test]
    fn a_full_disk_costs_the_file_and_not_the_report() {
        let full = || SampleFile::Broken("no space left on device".to_owned());
        for (pace, most) in [(Pace::Rounds, 1_000), (Pace::Closed, 0)] {
            let run = run(pace);
            let concluded = concluded(&run, most, full());
            assert!(concluded.written.unwrap_err().contains("no space"));
            assert_eq!(concluded.summary.unwrap(), stats::summarise(&run));
        }
        // An error only if there was too much to hold.
        let lost = concluded(&run(Pace::Rounds), 30, full());
        let error = lost.summary.unwrap_err();
        assert!(error.contains("no space left"), "{error}");
        assert!(error.contains("--save"), "{error}");
    }

    #[test]
    fn a_goal_ends_the_run_or_is_said_to_be_missed() {
        let run = run(Pace::Closed);
        let goal = |text: &str| Some(text.parse().unwrap());
        let sink = SampleSink::new(&run.plan, None, goal("p99 ±5%"), Arc::default());
        let (goal, message) = sink.goal().unwrap();
        let message = message.unwrap();
        assert!(!goal.reached && goal.half_width.is_none());
        assert!(message.contains("--until 'p99 ±5%'"), "{message}");
        assert!(message.contains("too few"), "{message}");
        let sink = SampleSink::new(&run.plan, None, None, Arc::default());
        assert_eq!(sink.goal(), None);
    }
}
