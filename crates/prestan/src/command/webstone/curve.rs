//! What a server does with one, two, four ... children: the load curve, and its knee.

use std::sync::Arc;

use engine::{Cancel, Settings};
use report::page::Common;
use report::{CountedUnit, Find, SearchResult, Tried};
use runner::RunnerError;
use runner::background::AskedBackground;
use runner::suite_text::SuiteText;
use stats::{Conclusion, SearchOutcome};
use suite::Plan;

use super::Loads;
use crate::args::{AnswerOptions, OutputOptions};
use crate::command::gates::add_gate;
use crate::command::kept::{KeptRun, origins};
use crate::command::planned::PlannedRun;
use crate::command::point_verdicts::{RunAtPoint, by_constraints};
use crate::command::search::shown_reason;
use crate::command::search::{knee, print, tried};
use crate::command::series::{SeriesProgress, name_of};
use crate::exit::ExitStatus;
use crate::output;
use crate::signals::on_interrupt;

/// A run for each number of children.
pub(super) struct ChildrenCurve<'a> {
    pub(super) suite: &'a SuiteText,
    /// Of all runs, but for the number of children.
    pub(super) settings: &'a Settings,
    pub(super) loads: &'a Loads<'a>,
    pub(super) background: Option<&'a AskedBackground>,
    pub(super) options: &'a OutputOptions,
}

/// Makes the runs, and says what all of them say.
pub(super) fn curve(curve: &ChildrenCurve<'_>, mut plan: Plan) -> Result<ExitStatus, RunnerError> {
    let ChildrenCurve { loads, options, .. } = curve;
    let answer = answer_options(options)?;
    output::check_answer(&answer, &[])?;
    add_gate(&options.gate, &mut plan)?;
    let settings = Settings {
        run_id: name_of(Some(&curve.settings.run_id))?,
        ..curve.settings.clone()
    };
    let (mut made, mut ran) = (Vec::new(), Vec::new());
    let curve = ChildrenCurve {
        settings: &settings,
        ..*curve
    };
    let ended = measure(&curve, &plan, |one: KeptRun, children| {
        made.push(tried(f64::from(children), true, &one.summary));
        ran.push(one);
    })
    .err();
    if !made.is_empty() {
        let found = found(&plan, &settings, &ran, made, ended.as_ref());
        let common = Common::of(&found.target, ran.iter().map(KeptRun::side));
        print(&found, common, &answer)?;
    }
    if let Some(why) = ended {
        return Err(why);
    }
    let points: Vec<RunAtPoint<'_>> = loads.children.iter().zip(&ran).map(at_point).collect();
    let by_constraints = by_constraints(&points);
    let worst = ran.iter().map(|one| one.summary.conclusion()).max();
    match (worst, inconclusive(&ran)) {
        (Some(Conclusion::Fail), _) => Ok(ExitStatus::TestFailed),
        // The reason of a constraint names the numbers of children.
        (_, Some(why)) if by_constraints.is_ok() => Err(RunnerError::inconclusive(why)),
        _ => by_constraints,
    }
}

/// A run, at its number of children.
fn at_point<'r>((children, ran): (&u32, &'r KeptRun)) -> RunAtPoint<'r> {
    RunAtPoint {
        point: CountedUnit::Pages.amount(Find::Users, f64::from(*children)),
        summary: &ran.summary,
    }
}

fn measure(
    curve: &ChildrenCurve<'_>,
    plan: &Plan,
    mut take: impl FnMut(KeptRun, u32),
) -> Result<(), RunnerError> {
    let ChildrenCurve {
        suite,
        settings,
        loads,
        background,
        options,
    } = curve;
    let cancel = Cancel::default();
    let _interruptible = on_interrupt(cancel.clone(), None)?;
    let shown = Arc::new(SeriesProgress::new(options.quiet));
    for (group, children) in loads.children.iter().enumerate() {
        shown.plan(group, plan, &loads.settings(settings, *children));
    }
    for (group, children) in loads.children.iter().enumerate() {
        let settings = Settings {
            run_id: format!("{}-{}", settings.run_id, group + 1),
            ..loads.settings(settings, *children)
        };
        let save = options.save.as_deref();
        let job = PlannedRun::of_series(plan, &suite.text, settings, save, *background)?;
        let ran = job
            .keep(&cancel, (&shown, group), None)
            .map_err(|ended| ended.why)?;
        shown.tell_left_behind(&[]);
        if !options.quiet {
            shown.say(&told(&ran, *children));
        }
        take(ran, *children);
    }
    Ok(())
}

fn told(ran: &KeptRun, children: u32) -> String {
    let number = ran.summary.pages.as_ref();
    let number = number.map_or(0.0, |pages| pages.per_minute);
    let why = report::inconclusive(&ran.summary);
    let why = why.map_or(String::new(), |why| format!("; inconclusive: {why}"));
    let amount = CountedUnit::Pages.amount(Find::Users, f64::from(children));
    format!(
        "prestan: {amount}: WEBSTONE number {:.0}, kept in {}{why}",
        number.floor(),
        ran.path
    )
}

/// In how many runs rows are inconclusive.
fn inconclusive(ran: &[KeptRun]) -> Option<String> {
    let why = ran
        .iter()
        .filter_map(|one| report::inconclusive(&one.summary));
    let why: Vec<String> = why.collect();
    let first = why.first()?;
    Some(format!("{} of {} runs: {first}", why.len(), ran.len()))
}

fn found(
    plan: &Plan,
    settings: &Settings,
    ran: &[KeptRun],
    made: Vec<Tried>,
    ended: Option<&RunnerError>,
) -> SearchResult {
    let server = ran.last().and_then(|ran| ran.run.env.server.as_ref());
    SearchResult {
        find: Find::Users,
        condition: None,
        counted: CountedUnit::Pages,
        target: settings
            .label
            .clone()
            .unwrap_or_else(|| settings.endpoint.target.url()),
        software: server.and_then(|server| server.software.clone()),
        what: format!("{}: {}", plan.suite.name, plan.suite.title),
        answer: SearchOutcome::default(),
        knee: knee(&made),
        inconclusive: ended
            .map(|why| shown_reason(why, settings))
            .or_else(|| inconclusive(ran)),
        caveats: origins(ran),
        notes: report::notes_of(ran.iter().map(|one| &one.run.plan)),
        trials: made,
    }
}

/// Where the curve goes. What is about a single run is refused.
fn answer_options(options: &OutputOptions) -> Result<AnswerOptions, RunnerError> {
    let formats = &options.formats;
    let of_one_run = [
        ("--csv", formats.csv.is_some()),
        ("--log", formats.log.is_some()),
        ("--junit", formats.junit.is_some()),
        ("--layout", formats.layout.is_some()),
        ("--no-save", options.no_save),
        ("--capture", options.capture.is_some()),
        ("--verbose", options.verbose),
        ("--debug", options.debug),
    ];
    match of_one_run.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(RunnerError::Usage(format!(
            "{option} is for one run, and several --children are a run each"
        ))),
        None => Ok(AnswerOptions {
            output: options.output.clone(),
            json: formats.json.clone(),
            figures: formats.figures.clone(),
            inconclusive: options.inconclusive,
            color: formats.color,
        }),
    }
}
