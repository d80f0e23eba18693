//! From what is written to what is done: names checked, templates evaluated, trees laid out.

mod constraints;
mod http;
mod pages;
mod params;
mod request;
mod select;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use record::{MeasureId, MeasureRecord, SuiteRecord, TestId, Verify};
use sha2::{Digest, Sha256};

use crate::error::SuiteError;
use crate::place::{Place, Placed};
use crate::plan::{Limit, NeedsClass, Plan, TestPlan, Workspace};
use crate::spec::{ActionSpec, NeedsSpec, StepSpec, SuiteSpec, TestSpec};
use crate::template::{Templates, is_name};

use constraints::Nameable;
pub use constraints::{constraint_for, constraints_for};
pub use params::param_value;
use params::{Params, Variant, variants};
pub use request::{KEYED_HEADERS, METHOD_HEADERS, OWN_HEADERS, READING};
pub use select::Selection;
use steps::StepResolver;

/// What the command line changes in a suite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// New values of parameters.
    pub params: BTreeMap<String, serde_json::Value>,
    /// Measure every test this long instead of a number of requests.
    pub duration: Option<Duration>,
    /// Which tests.
    pub selection: Selection,
    /// How much of the responses of measured steps is verified, whatever the suite says.
    pub verify: Option<Verify>,
}

/// Makes the plan of a suite. `name` and `text` are those given to [`parse`](crate::parse).
///
/// # Errors
/// A [`SuiteError`] that points at the place in the file, or says which override is wrong.
pub fn resolve(
    name: &str,
    text: &str,
    spec: &SuiteSpec,
    overrides: &Overrides,
) -> Result<Plan, SuiteError> {
    let file = SuiteSource { name, text };
    check_name(&file, &spec.suite)?;
    let params = params::merged(&file, spec, &overrides.params)?;
    let workspace = match spec.needs {
        NeedsSpec::Webdav => Workspace::Collection,
        NeedsSpec::Http => Workspace::ReadOnly,
    };
    let variants = variants(&file, spec, &params)?;
    check_tests(&file, spec, &variants)?;
    pages::check(&file, &variants)?;
    let selected = overrides.selection.apply(&file, &variants)?;

    let mut plan = Plan {
        suite: suite_record(spec, text),
        workspace,
        params: params.clone(),
        tests: Vec::new(),
        measures: Vec::new(),
        pages: Vec::new(),
        constraints: Vec::new(),
    };
    for variant in &variants {
        let wanted: Vec<_> = measures_of(&variant.test.body)
            .into_iter()
            .filter(|measure| selected.contains(measure.name))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let id = TestId(index(plan.tests.len()));
        for measure in wanted {
            plan.measures.push(MeasureRecord {
                name: measure.name.to_owned(),
                test: id,
                method: measure.method.to_owned(),
                by_chance: measure.by_chance,
                verify: Verify::default(),
            });
        }
        let resolved = resolve_test(&file, (spec.verify, variant), id, &plan, overrides.duration)?;
        plan.tests.push(resolved);
    }
    match overrides.verify {
        Some(verify) => plan.set_verify(verify),
        None => plan.note_verify(),
    }
    plan.pages = pages::records(&plan.tests);
    plan.constraints = constraints::records(
        &file,
        &spec.constraints,
        &Nameable::of_suite(&variants, &plan),
    )?;
    Ok(plan)
}

/// The file being resolved, for error messages.
struct SuiteSource<'a> {
    name: &'a str,
    text: &'a str,
}

impl SuiteSource<'_> {
    fn error(&self, place: Place, message: impl Into<String>) -> SuiteError {
        SuiteError::at(self.name, self.text, Some(place), message)
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
    (verify, variant): (Option<Verify>, &Variant<'_>),
    id: TestId,
    plan: &Plan,
    duration: Option<Duration>,
) -> Result<TestPlan, SuiteError> {
    let Variant { test, params } = variant;
    let saved = saved_names(file, test, params)?;
    let templates = Templates::new(params, &saved);
    let limit = match duration {
        Some(duration) => Limit::Duration(duration),
        None => Limit::Requests(requests(file, test, &templates)?),
    };
    let measure_ids: BTreeMap<&str, MeasureId> = plan
        .measures
        .iter()
        .enumerate()
        .filter(|(_, measure)| measure.test == id)
        .map(|(position, measure)| (measure.name.as_str(), MeasureId(index(position))))
        .collect();
    let resolver = StepResolver {
        file,
        templates: &templates,
        saved: &saved,
        measure_ids: &measure_ids,
        workspace: plan.workspace,
        verify: test.verify.or(verify).unwrap_or_default(),
    };
    let unmeasured = StepResolver {
        verify: Verify::default(),
        ..resolver
    };
    let body = resolver.steps(&test.body)?;
    let http = test.http.as_ref();
    Ok(TestPlan {
        id,
        name: test.name.value.clone(),
        needs: test
            .needs
            .as_ref()
            .map(|needs| needs_class(file, needs))
            .transpose()?,
        shared: test.shared,
        limit,
        http: http.map(|http| resolver.http(http, &body)).transpose()?,
        setup: unmeasured.steps(&test.setup)?,
        body,
        cleanup: unmeasured.steps(&test.cleanup)?,
        saved,
    })
}

fn requests(
    file: &SuiteSource<'_>,
    test: &TestSpec,
    templates: &Templates<'_>,
) -> Result<u32, SuiteError> {
    let (source, place) = match &test.requests {
        Some(requests) => (requests.value.0.as_str(), requests.place),
        None => ("{{ requests }}", test.name.place),
    };
    let help = |what: String| file.error(place, format!("number of requests: {what}"));
    let text = templates.fixed(source).map_err(help)?;
    match text.trim().parse() {
        Ok(0) | Err(_) => Err(help(format!("`{text}` is no whole number from 1 on"))),
        Ok(requests) => Ok(requests),
    }
}

fn needs_class(file: &SuiteSource<'_>, needs: &Placed<String>) -> Result<NeedsClass, SuiteError> {
    match needs.value.strip_prefix("class ").map(str::trim) {
        Some(class) if !class.is_empty() && !class.contains(char::is_whitespace) => {
            Ok(NeedsClass(class.to_owned()))
        }
        _ => Err(file.error(
            needs.place,
            format!("`{}` is not known; write `needs: class 2`", needs.value),
        )),
    }
}

/// Names of tests and measures: unique, and something is measured in each test.
fn check_tests(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    variants: &[Variant<'_>],
) -> Result<(), SuiteError> {
    if spec.tests.is_empty() {
        return Err(file.error(spec.suite.place, "the suite has no tests"));
    }
    let mut tests = BTreeSet::new();
    let mut measures = BTreeSet::new();
    for Variant { test, .. } in variants {
        check_name(file, &test.name)?;
        if !tests.insert(test.name.value.to_lowercase()) {
            return Err(file.error(
                test.name.place,
                format!("a second test `{}`", test.name.value),
            ));
        }
        for step in test.setup.iter().chain(&test.cleanup) {
            if let Some(place) = measure_place(step) {
                return Err(file.error(place, "only steps of the `loop` are measured"));
            }
        }
        let own = measures_of(&test.body);
        if own.is_empty() {
            return Err(file.error(
                test.name.place,
                format!("nothing in the loop of `{}` has `measure`", test.name.value),
            ));
        }
        for measure in own {
            check_name(file, measure.placed)?;
            if !measures.insert(measure.name) {
                return Err(file.error(
                    measure.placed.place,
                    format!("`{}` is measured in another test already", measure.name),
                ));
            }
        }
    }
    Ok(())
}

fn measure_place(step: &StepSpec) -> Option<Place> {
    let own = step.with.measure.as_ref().map(|measure| measure.place);
    own.or_else(|| nested(step).find_map(measure_place))
}

/// A name under which steps are measured.
struct MeasuredName<'a> {
    name: &'a str,
    placed: &'a Placed<String>,
    method: &'a str,
    /// It is only done when it is chosen.
    by_chance: bool,
}

/// What a list of steps measures, each name once, in order.
fn measures_of(steps: &[StepSpec]) -> Vec<MeasuredName<'_>> {
    let mut found: Vec<MeasuredName<'_>> = Vec::new();
    for step in steps {
        let own = step.with.measure.as_ref().map(|placed| MeasuredName {
            name: &placed.value,
            placed,
            method: match &step.action {
                ActionSpec::Request { method, .. } => method,
                _ => "MKCOL",
            },
            by_chance: false,
        });
        let is_choice = matches!(step.action, ActionSpec::Choose(_));
        let inner = nested(step).flat_map(|step| measures_of(std::slice::from_ref(step)));
        let inner = inner.map(|inner| MeasuredName {
            by_chance: inner.by_chance || is_choice,
            ..inner
        });
        for measure in own.into_iter().chain(inner) {
            match found.iter_mut().find(|known| known.name == measure.name) {
                Some(known) => known.by_chance &= measure.by_chance,
                None => found.push(measure),
            }
        }
    }
    found
}

fn nested(step: &StepSpec) -> impl Iterator<Item = &StepSpec> {
    let choices = match &step.action {
        ActionSpec::Choose(choices) => choices.as_slice(),
        _ => &[],
    };
    step.with
        .steps
        .iter()
        .chain(choices.iter().flat_map(|choice| &choice.steps))
}

fn saved_names(
    file: &SuiteSource<'_>,
    test: &TestSpec,
    params: &Params,
) -> Result<Vec<String>, SuiteError> {
    fn collect<'a>(step: &'a StepSpec, names: &mut Vec<(&'a String, Place)>) {
        names.extend(step.with.save.iter().map(|(name, from)| (name, from.place)));
        nested(step).for_each(|step| collect(step, names));
    }
    let mut names = Vec::new();
    let steps = test.setup.iter().chain(&test.body).chain(&test.cleanup);
    steps.for_each(|step| collect(step, &mut names));
    let mut saved: Vec<String> = Vec::new();
    for (name, place) in names {
        if !is_name(name) || name == "n" || name == "user" || params.contains_key(name) {
            return Err(file.error(
                place,
                format!("`{name}` cannot be saved: it is no name, or it is taken already"),
            ));
        }
        if !saved.contains(name) {
            saved.push(name.clone());
        }
    }
    Ok(saved)
}

fn check_name(file: &SuiteSource<'_>, name: &Placed<String>) -> Result<(), SuiteError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.value.is_empty() && name.value.len() <= 64 && name.value.chars().all(fine) {
        return Ok(());
    }
    Err(file.error(
        name.place,
        format!(
            "`{}` is no name; use up to 64 letters, digits, - and _",
            name.value
        ),
    ))
}

/// Tests and measures are counted in 16 bits; `select` has refused longer suites.
fn index(position: usize) -> u16 {
    u16::try_from(position).unwrap_or(u16::MAX)
}
