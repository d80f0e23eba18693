//! The loops of a test: one, or those of its roles; and the stop-watches of their steps.

use std::collections::BTreeMap;

use record::{MeasureId, RoleRecord, STOP_WATCH, TestId};

use super::params::Variant;
use super::steps::StepResolver;
use super::{SuiteSource, check_name, index};
use crate::error::SuiteError;
use crate::plan::{LoopPlan, Step, StopWatchPlan};
use crate::position::Located;
use crate::saved::SavedSlots;
use crate::spec::{AcrossSpec, ActionSpec, LoopSpec, StepSpec, StopWatchSpec, SuiteSpec, TestSpec};

/// Most users of the roles of a test.
const MANY_USERS: u32 = 100_000;

/// A name under which steps are measured, or of a stop-watch.
pub(super) struct MeasuredName<'a> {
    pub(super) name: &'a str,
    pub(super) located: &'a Located<String>,
    pub(super) method: &'a str,
    /// Executed only when it is chosen.
    pub(super) by_chance: bool,
    /// Executed only under a condition.
    pub(super) conditional: bool,
    /// Index of the loop in its test.
    pub(super) in_loop: usize,
}

impl MeasuredName<'_> {
    pub(super) fn is_stop_watch(&self) -> bool {
        self.method == STOP_WATCH
    }
}

/// Measures of the loops of a test, each name once for each loop, in order.
pub(super) fn measures_of<'a>(test: &'a TestSpec) -> Vec<MeasuredName<'a>> {
    let loops = test.loops().into_iter().enumerate();
    let of_loop = |(in_loop, test_loop): (usize, LoopSpec<'a>)| {
        let found = steps_measures(test_loop.steps).into_iter();
        found.map(move |name| MeasuredName { in_loop, ..name })
    };
    let mut found: Vec<MeasuredName<'_>> = Vec::new();
    for measure in loops.flat_map(of_loop) {
        // A stop-watch may stop in several loops, and is one measure.
        let is_known =
            |known: &MeasuredName<'_>| known.name == measure.name && measure.is_stop_watch();
        if !found.iter().any(is_known) {
            found.push(measure);
        }
    }
    found
}

fn steps_measures(steps: &[StepSpec]) -> Vec<MeasuredName<'_>> {
    let mut found: Vec<MeasuredName<'_>> = Vec::new();
    for step in steps {
        let located = step.with.measure.as_ref();
        let name = match &step.action {
            ActionSpec::Stop(watch) => Some(measured(watch, STOP_WATCH)),
            ActionSpec::Request { method, .. } => located.map(|located| measured(located, method)),
            // Some pages have no name.
            ActionSpec::Parts(_) => located.map(|located| MeasuredName {
                by_chance: true,
                ..measured(located, "GET")
            }),
            _ => located.map(|located| measured(located, "MKCOL")),
        };
        let is_choice = matches!(step.action, ActionSpec::Choose(_) | ActionSpec::When(_));
        let is_condition = matches!(step.action, ActionSpec::When(_));
        let inner = step
            .inside()
            .flat_map(|step| steps_measures(std::slice::from_ref(step)));
        let inner = inner.map(|inner| MeasuredName {
            by_chance: inner.by_chance || is_choice,
            conditional: inner.conditional || is_condition,
            ..inner
        });
        for measure in name.into_iter().chain(inner) {
            match found.iter_mut().find(|known| known.name == measure.name) {
                Some(known) => {
                    known.by_chance &= measure.by_chance;
                    known.conditional &= measure.conditional;
                }
                None => found.push(measure),
            }
        }
    }
    found
}

fn measured<'a>(located: &'a Located<String>, method: &'a str) -> MeasuredName<'a> {
    MeasuredName {
        name: &located.value,
        located,
        method,
        by_chance: false,
        conditional: false,
        in_loop: 0,
    }
}

/// The stop-watches of a test, in the order in which they are named.
pub(super) fn stop_watches(
    spec: &SuiteSpec,
    variant: &Variant<'_>,
    measures: &BTreeMap<&str, MeasureId>,
) -> Vec<StopWatchPlan> {
    let mut found: Vec<StopWatchPlan> = Vec::new();
    for (name, _) in watches(variant.test.looped()) {
        if found.iter().all(|known| known.name != name.value) {
            let StopWatchSpec { across, .. } = spec.stop_watch(&name.value, &variant.suffix);
            found.push(StopWatchPlan {
                name: name.value.clone(),
                measure: measures.get(name.value.as_str()).copied(),
                is_shared: across == AcrossSpec::Users,
            });
        }
    }
    found
}

/// The names of stop-watches in steps; true for a start.
fn watches<'a>(steps: impl IntoIterator<Item = &'a StepSpec>) -> Vec<(&'a Located<String>, bool)> {
    let steps = steps.into_iter().flat_map(StepSpec::and_inside);
    let names = steps.filter_map(|step| match &step.action {
        ActionSpec::Start(name) => Some((name, true)),
        ActionSpec::Stop(name) => Some((name, false)),
        _ => None,
    });
    names.collect()
}

/// Checks the loops of a test: either one or roles, and stop-watches that both start and stop.
pub(super) fn check(
    file: &SuiteSource<'_>,
    test: &TestSpec,
    is_across: impl Fn(&str) -> bool,
) -> Result<(), SuiteError> {
    let name = &test.name;
    match (test.body.is_empty(), test.roles.is_empty()) {
        (true, true) => {
            let message = format!("`{}` needs `loop`, or `roles` with a loop each", name.value);
            return Err(file.error(name.position, message));
        }
        (false, false) => {
            let message = format!(
                "`{}` has `loop` and `roles`; move the loop into a role of its own",
                name.value
            );
            return Err(file.error(name.position, message));
        }
        _ => {}
    }
    for (role, located) in &test.roles {
        let role = Located {
            value: role.clone(),
            position: located.position,
        };
        check_name(file, &role)?;
        if located.value.body.is_empty() {
            let message = format!("the role `{}` has no steps in its `loop`", role.value);
            return Err(file.error(role.position, message));
        }
    }
    let outside = watches(test.setup.iter().chain(&test.cleanup));
    if let Some((watch, _)) = outside.first() {
        return Err(file.error(watch.position, "stop-watches start and stop in loops"));
    }
    let names = watches(test.looped());
    let steps = test.looped().flat_map(StepSpec::and_inside);
    let requests = steps.filter_map(|step| step.with.measure.as_ref());
    let requests: Vec<&str> = requests.map(|measure| measure.value.as_str()).collect();
    for (name, starts) in &names {
        check_name(file, name)?;
        if requests.contains(&name.value.as_str()) {
            let message = format!("`{}` is the name of a measured request already", name.value);
            return Err(file.error(name.position, message));
        }
        if !is_across(&name.value) && has_parted(test, &name.value) {
            let message = format!(
                "the users of one role start the stop-watch `{0}`, and those of another stop it; write \
                 `stopwatches: {{{0}: {{across: users}}}}`",
                name.value
            );
            return Err(file.error(name.position, message));
        }
        let has_other = names
            .iter()
            .any(|(other, is_start)| other.value == name.value && is_start != starts);
        if !has_other {
            let (does, other) = if *starts {
                ("starts", "stops")
            } else {
                ("stops", "starts")
            };
            let message = format!(
                "the stop-watch `{}` {does} here, and no step of `{}` {other} it",
                name.value, test.name.value
            );
            return Err(file.error(name.position, message));
        }
    }
    Ok(())
}

/// True if a role starts a stop-watch that it does not stop, or vice versa, and another role does.
fn has_parted(test: &TestSpec, watch: &str) -> bool {
    let does = |test_loop: &LoopSpec<'_>, wanted: bool| {
        let mut names = watches(test_loop.steps).into_iter();
        names.any(|(name, starts)| name.value == watch && starts == wanted)
    };
    let loops = test.loops();
    let both = loops
        .iter()
        .any(|test_loop| does(test_loop, true) && does(test_loop, false));
    let any = |wanted| loops.iter().any(|test_loop| does(test_loop, wanted));
    !both && any(true) && any(false)
}

/// Refuses stop-watches that are declared and not used.
pub(super) fn check_declared(file: &SuiteSource<'_>, spec: &SuiteSpec) -> Result<(), SuiteError> {
    let names = watches(spec.tests.iter().flat_map(|test| test.value.looped()));
    let is_used = |name: &str| names.iter().any(|(used, _)| used.value == name);
    match spec.stopwatches.iter().find(|(name, _)| !is_used(name)) {
        None => Ok(()),
        Some((name, located)) => {
            let why = format!("no step starts and stops the stop-watch `{name}`");
            Err(file.error(located.position, why))
        }
    }
}

impl StepResolver<'_> {
    /// The loops of a test, and its roles, after `before` roles of other tests.
    pub(super) fn loops(
        &self,
        test: &TestSpec,
        id: TestId,
        roles: &mut Vec<RoleRecord>,
    ) -> Result<Vec<LoopPlan>, SuiteError> {
        let mut loops = Vec::new();
        let mut saved = SavedSlots::default();
        for LoopSpec { role, steps } in test.loops() {
            self.templates.fill(SavedSlots::default());
            let mut steps = self.steps(steps)?;
            saved.join(&self.templates.fill(SavedSlots::default()));
            let Some((name, Located { value: role, .. })) = role else {
                loops.push(LoopPlan {
                    role: 0,
                    users: 1,
                    steps,
                });
                continue;
            };
            let users = role.users.as_ref();
            let users = users.map_or(Ok(1), |users| {
                self.count(users, "number of users", 1, MANY_USERS)
            })?;
            if let Some(pace) = &role.pace {
                steps.push(Step::Pace(self.duration(pace)?));
            }
            roles.push(RoleRecord {
                name: name.to_owned(),
                test: id,
                users,
            });
            loops.push(LoopPlan {
                role: index(roles.len()),
                users,
                steps,
            });
        }
        self.templates.fill(saved);
        Ok(loops)
    }
}
