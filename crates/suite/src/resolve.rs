//! From the spec to the plan: names checked, templates evaluated, trees expanded.

mod adapt;
mod beside;
mod conditions;
mod constraints;
mod headers;
mod http;
mod labels;
mod loops;
mod pages;
mod params;
mod query;
mod request;
mod select;
mod steps;
mod targets;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use record::{MeasureId, MeasureRecord, SuiteRecord, TestId, Verify};
use sha2::{Digest, Sha256};

use crate::error::SuiteError;
use crate::plan::{Limit, NeedsClass, Plan, TestPlan, Workspace};
use crate::position::{Located, Position};
use crate::saved::{SavedName, SavedSlots};
use crate::spec::{AcrossSpec, NeedsSpec, StepSpec, SuiteSpec, TestSpec};
use crate::template::{TemplateBounds, Templates, is_name};

use conditions::WrittenConditions;
use constraints::Nameable;
pub use constraints::{constraint_for, constraint_for_recorded, constraints_for};
pub use headers::{KEYED_HEADERS, METHOD_HEADERS, OWN_HEADERS};
use loops::measures_of;
pub(crate) use params::Params;
use params::{Variant, variants};
pub use query::check_query;
pub use request::READING;
pub use select::Selection;
use steps::StepResolver;

/// Changes of a suite by the command line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// New values of parameters, as written; each has the type of the default.
    pub params: BTreeMap<String, String>,
    /// Measure every test this long instead of a number of requests.
    pub duration: Option<Duration>,
    /// Selected tests.
    pub selection: Selection,
    /// Verification of the responses of measured steps, in place of that of the suite.
    pub verify: Option<Verify>,
    /// Requests have the X-Prestan that was printed in 2004, for the suite of 2004.
    pub labels_of_2004: bool,
    /// A suite with `needs: cgi` may send POST.
    pub may_post: bool,
}

/// Makes the plan of a suite. `name` and `text` are those passed to [`parse`](crate::parse).
///
/// # Errors
/// A [`SuiteError`] that points at the defect in the file, or names the wrong override.
pub fn resolve(
    name: &str,
    text: &str,
    spec: &SuiteSpec,
    overrides: &Overrides,
) -> Result<Plan, SuiteError> {
    let file = SuiteSource::new(name, text);
    check_name(&file, &spec.suite)?;
    let params = params::merged(&file, spec, &overrides.params)?;
    let workspace = match spec.needs {
        NeedsSpec::Webdav => Workspace::Collection,
        NeedsSpec::Http => Workspace::ReadOnly,
        NeedsSpec::Cgi if overrides.may_post => Workspace::ReadOnly,
        NeedsSpec::Cgi => {
            let why = "the suite says `needs: cgi`: it sends POST to programs of the server, and what these change \
                       cannot be undone; if that is intended, give --writes";
            return Err(file.error_anywhere(why));
        }
    };
    loops::check_declared(&file, spec)?;
    let variants = variants(&file, spec, &params)?;
    check_tests(&file, spec, &variants)?;
    pages::check(&file, &variants)?;
    targets::check(&file, spec, &variants)?;
    let selected = overrides.selection.apply(&file, &variants)?;

    let recorded = params::recorded(&params);
    let mut plan = Plan {
        suite: suite_record(spec, text),
        workspace,
        targets: targets::names(spec),
        written_params: params::written(&params, &recorded),
        params: recorded,
        tests: Vec::new(),
        measures: Vec::new(),
        pages: Vec::new(),
        constraints: Vec::new(),
        roles: Vec::new(),
        stop_watches: Vec::new(),
        conditions: Vec::new(),
        adapt: None,
        background: None,
        capture: None,
    };
    let conditions = WrittenConditions::default();
    for variant in &variants {
        let wanted: Vec<_> = measures_of(&variant.test)
            .into_iter()
            .filter(|measure| selected.contains(measure.name))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let id = TestId(index(plan.tests.len()));
        let has_roles = !variant.test.roles.is_empty();
        for measure in wanted {
            let is_stop_watch = measure.is_stop_watch();
            let role = if has_roles && !is_stop_watch {
                plan.roles.len() + measure.in_loop + 1
            } else {
                0
            };
            let stop_watch = is_stop_watch.then(|| spec.stop_watch(measure.name, &variant.suffix));
            plan.measures.push(MeasureRecord {
                name: measure.name.to_owned(),
                test: id,
                method: measure.method.to_owned(),
                by_chance: measure.by_chance,
                conditional: measure.conditional,
                stop_watch: is_stop_watch,
                unit: stop_watch.and_then(|stop_watch| stop_watch.unit),
                role: index(role),
                target: 0,
                verify: Verify::default(),
            });
        }
        resolve_test(
            &file,
            spec,
            variant,
            &mut plan,
            overrides.duration,
            &conditions,
        )?;
    }
    match overrides.verify {
        Some(verify) => plan.set_verify(verify),
        None => plan.note_requests(),
    }
    if overrides.labels_of_2004 {
        labels::of_2004(&file, &mut plan)?;
    }
    plan.pages = pages::records(&plan.tests);
    let steps = adapt::steps_of(spec);
    match (&spec.adapt, steps.first()) {
        (Some(adapt), _) => {
            plan.adapt = Some(adapt::plan(&file, adapt, &steps, &params, &conditions)?);
            if !plan.roles.is_empty() {
                let why = "`adapt` changes the number of users, and `roles` fix it";
                return Err(file.error(adapt.position, why));
            }
        }
        (None, Some(first)) => {
            let why = "`users` changes the load of a suite with `adapt`, which says between which numbers";
            return Err(file.error(first.position, why));
        }
        (None, None) => {}
    }
    beside::add(&file, spec, &params, &mut plan)?;
    let nameable = Nameable::of_suite(&variants, &plan);
    let constraints = constraints::records(&file, &spec.constraints, &nameable)?;
    let conditions = conditions.checked(&file, &nameable)?;
    plan.constraints = constraints;
    plan.conditions = conditions;
    Ok(plan)
}

/// The file being resolved, for error messages.
struct SuiteSource<'a> {
    name: &'a str,
    text: &'a str,
    /// Remaining limits of its templates.
    bounds: TemplateBounds,
    /// Remaining bytes for requests of trees.
    left_for_trees: Cell<usize>,
}

/// Most bytes of all requests of the trees of a suite: two trees of a million resources each.
const LARGEST_TREES: usize = 1 << 30;

impl<'a> SuiteSource<'a> {
    fn new(name: &'a str, text: &'a str) -> Self {
        SuiteSource {
            name,
            text,
            bounds: TemplateBounds::default(),
            left_for_trees: Cell::new(LARGEST_TREES),
        }
    }

    /// Takes the bytes of a tree, before their memory is allocated.
    fn plans_trees(&self, position: Position, bytes: usize) -> Result<(), SuiteError> {
        let left = self.left_for_trees.get().checked_sub(bytes);
        let left = left.ok_or_else(|| {
            let limit = LARGEST_TREES >> 20;
            let why = format!("the trees of this suite take more than {limit} MiB of memory");
            self.error(position, why)
        })?;
        self.left_for_trees.set(left);
        Ok(())
    }

    fn error(&self, position: Position, message: impl Into<String>) -> SuiteError {
        SuiteError::at(self.name, self.text, Some(position), message)
    }

    fn error_anywhere(&self, message: impl Into<String>) -> SuiteError {
        SuiteError::at(self.name, self.text, None, message)
    }
}

fn suite_record(spec: &SuiteSpec, text: &str) -> SuiteRecord {
    SuiteRecord {
        name: spec.suite.value.clone(),
        version: spec.version,
        title: spec.title.clone(),
        sha256: sha256(text.as_bytes()),
    }
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn resolve_test(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    variant: &Variant<'_>,
    plan: &mut Plan,
    duration: Option<Duration>,
    conditions: &WrittenConditions,
) -> Result<(), SuiteError> {
    let Variant {
        test,
        params,
        suffix,
    } = variant;
    let id = TestId(index(plan.tests.len()));
    let saved = saved_names(file, test, params)?;
    let templates = Templates::new(params, &saved, &file.bounds);
    let targets = plan.targets.clone();
    let limit = match duration {
        Some(duration) => Limit::Duration(duration),
        None => Limit::Requests(requests(file, test, &templates)?),
    };
    let measure_ids: BTreeMap<&str, MeasureId> = plan
        .measures
        .iter()
        .enumerate()
        .rev()
        .take_while(|(_, measure)| measure.test == id)
        .map(|(position, measure)| (measure.name.as_str(), MeasureId(index(position))))
        .collect();
    let stop_watches = loops::stop_watches(spec, variant, &measure_ids);
    let measure_names: Vec<&str> = measures_of(test)
        .iter()
        .map(|measure| measure.name)
        .collect();
    let resolver = StepResolver {
        file,
        templates: &templates,
        measure_ids: &measure_ids,
        workspace: plan.workspace,
        may_post: spec.needs != NeedsSpec::Http,
        stop_watches: &stop_watches,
        watches_before: plan.stop_watches.len(),
        conditions,
        suffix,
        measure_names: &measure_names,
        verify: test.verify.or(spec.verify).unwrap_or_default(),
        targets: &targets,
    };
    let unmeasured = StepResolver {
        verify: Verify::default(),
        ..resolver
    };
    let mut roles = std::mem::take(&mut plan.roles);
    // Each part begins without saved values, but clean-up has those of the last iteration.
    templates.fill(SavedSlots::default());
    let setup = unmeasured.steps(&test.setup)?;
    let loops = resolver.loops(test, id, &mut roles)?;
    let cleanup = unmeasured.steps(&test.cleanup)?;
    let (http, needs) = (test.http.as_ref(), test.needs.as_ref());
    let resolved = TestPlan {
        id,
        name: test.name.value.clone(),
        title: test.title.clone(),
        needs: needs.map(|needs| needs_class(file, needs)).transpose()?,
        shared: test.shared,
        limit,
        http: http.map(|http| resolver.http(http, &loops)).transpose()?,
        setup,
        loops,
        cleanup,
        saved: saved.iter().map(|saved| saved.name.clone()).collect(),
        label: None,
    };
    plan.roles = roles;
    plan.tests.push(resolved);
    plan.stop_watches.extend(stop_watches);
    Ok(())
}

fn requests(
    file: &SuiteSource<'_>,
    test: &TestSpec,
    templates: &Templates<'_>,
) -> Result<u32, SuiteError> {
    let (source, position) = match &test.requests {
        Some(requests) => (requests.value.0.as_str(), requests.position),
        None => ("{{ requests }}", test.name.position),
    };
    let help = |what: String| file.error(position, format!("number of requests: {what}"));
    let text = templates.number(source).map_err(help)?;
    match text.trim().parse() {
        Ok(0) | Err(_) => Err(help(format!("`{text}` is no whole number from 1 on"))),
        Ok(requests) => Ok(requests),
    }
}

fn needs_class(file: &SuiteSource<'_>, needs: &Located<String>) -> Result<NeedsClass, SuiteError> {
    match needs.value.strip_prefix("class ").map(str::trim) {
        Some(class) if !class.is_empty() && !class.contains(char::is_whitespace) => {
            Ok(NeedsClass(class.to_owned()))
        }
        _ => {
            let why = format!("`{}` is not known; write `needs: class 2`", needs.value);
            Err(file.error(needs.position, why))
        }
    }
}

/// Checks the names of tests and measures: unique, and at least one measure in each test.
fn check_tests(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    variants: &[Variant<'_>],
) -> Result<(), SuiteError> {
    if spec.tests.is_empty() {
        return Err(file.error(spec.suite.position, "the suite has no tests"));
    }
    let mut tests = BTreeSet::new();
    let mut measures = BTreeSet::new();
    for Variant { test, suffix, .. } in variants {
        check_name(file, &test.name)?;
        if !tests.insert(test.name.value.to_lowercase()) {
            let why = format!("a second test `{}`", test.name.value);
            return Err(file.error(test.name.position, why));
        }
        let is_across = |watch: &str| {
            let written = watch.strip_suffix(suffix.as_str()).unwrap_or(watch);
            let watch = spec.stopwatches.get(written);
            watch.is_some_and(|watch| watch.value.across == AcrossSpec::Users)
        };
        loops::check(file, test, is_across)?;
        let outside = test.setup.iter().chain(&test.cleanup);
        let mut outside = outside.flat_map(StepSpec::and_inside);
        if let Some(measure) = outside.find_map(|step| step.with.measure.as_ref()) {
            return Err(file.error(measure.position, "only steps of the `loop` are measured"));
        }
        let of_test = measures_of(test);
        if of_test.is_empty() {
            let why = format!("nothing in the loop of `{}` has `measure`", test.name.value);
            return Err(file.error(test.name.position, why));
        }
        for measure in of_test {
            check_name(file, measure.located)?;
            if !measures.insert(measure.name) {
                let why = format!(
                    "`{}` is measured in another test or role already",
                    measure.name
                );
                return Err(file.error(measure.located.position, why));
            }
        }
    }
    Ok(())
}

fn saved_names(
    file: &SuiteSource<'_>,
    test: &TestSpec,
    params: &Params,
) -> Result<Vec<SavedName>, SuiteError> {
    let steps = test.setup.iter().map(|step| (step, "setup"));
    let steps = steps.chain(test.looped().map(|step| (step, "loop")));
    let steps = steps.chain(test.cleanup.iter().map(|step| (step, "cleanup")));
    let (mut known, mut saved) = (BTreeSet::new(), Vec::new());
    for (step, part) in steps {
        for (name, from) in step
            .and_inside()
            .into_iter()
            .flat_map(|step| &step.with.save)
        {
            let position = from.position;
            if !is_name(name) || name == "n" || name == "user" || params.contains_key(name) {
                let why =
                    format!("`{name}` cannot be saved: it is no name, or it is taken already");
                return Err(file.error(position, why));
            }
            if known.insert(name) {
                let name = name.clone();
                saved.push(SavedName {
                    name,
                    position,
                    part,
                });
            }
        }
    }
    Ok(saved)
}

fn check_name(file: &SuiteSource<'_>, name: &Located<String>) -> Result<(), SuiteError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.value.is_empty() && name.value.len() <= 64 && name.value.chars().all(fine) {
        return Ok(());
    }
    let why = format!(
        "`{}` is no name; use up to 64 letters, digits, - and _",
        name.value
    );
    Err(file.error(name.position, why))
}

/// Tests and measures are counted in 16 bits; `select` has refused longer suites.
fn index(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}
