//! Pages: files that are fetched together.

use std::collections::BTreeSet;
use std::sync::Arc;

use record::PageRecord;

use super::steps::StepResolver;
use super::{SuiteSource, Variant};
use crate::error::SuiteError;
use crate::plan::{Alternative, PagePlan, RequestPlan, Step, TestPlan};
use crate::position::{Located, Scalar};
use crate::spec::{ActionSpec, PartsSpec, StepSpec, TestSpec};

/// Methods that fetch a file.
const FETCHING: [&str; 3] = ["GET", "HEAD", "POST"];

impl StepResolver<'_> {
    pub(super) fn page(&self, name: &Located<String>, step: &StepSpec) -> Result<Step, SuiteError> {
        super::check_name(self.file, name)?;
        if step.with.steps.is_empty() {
            return Err(self.file.error(step.position, "`page` needs `steps`"));
        }
        let mut files = Vec::with_capacity(step.with.steps.len());
        for file in &step.with.steps {
            files.push(self.page_file(file)?);
        }
        let mut of_parts = files
            .iter()
            .enumerate()
            .filter(|(_, file)| file.is_for_parts);
        if let Some((position, _)) = of_parts.next() {
            let help = |message| Err(self.file.error(step.with.steps[position].position, message));
            if of_parts.next().is_some() {
                return help(
                    "a page has one step `parts`, for all parts that its first file names",
                );
            }
            if position == 0 || files[0].method != "GET" {
                return help("`parts` are named by the first file of the page, which is a GET");
            }
        }
        Ok(Step::Page(Arc::new(PagePlan {
            name: name.value.clone(),
            files,
        })))
    }

    fn page_file(&self, step: &StepSpec) -> Result<Arc<RequestPlan>, SuiteError> {
        let help = |message: &str| Err(self.file.error(step.position, message));
        match &step.action {
            ActionSpec::Request { method, .. } if !FETCHING.contains(&method.as_str()) => {
                return help("a page is fetched: its steps are GET, HEAD and POST");
            }
            ActionSpec::Request { .. } | ActionSpec::Parts(_) => {}
            _ => {
                return help(
                    "the steps of a page are its files: GET, HEAD or POST, one for each, and `parts` for those that the \
                     first one names",
                );
            }
        }
        if step.with.measure.is_none() {
            return help("every file of a page has `measure`");
        }
        if !step.with.save.is_empty() {
            return help(
                "a file of a page cannot save values, because the order of the files is not defined",
            );
        }
        let mut resolved = Vec::new();
        match &step.action {
            ActionSpec::Parts(PartsSpec::Html) => {
                self.only_keys(step, &["headers", "expect", "measure", "verify", "target"])?;
                resolved.push(self.parts(step)?);
            }
            _ => self.step(step, &mut resolved)?,
        }
        match resolved.pop() {
            Some(Step::Request(request)) => Ok(request),
            _ => unreachable!("a request is resolved to a request"),
        }
    }

    /// Common properties of the parts of a page; their paths are known only with the page.
    fn parts(&self, step: &StepSpec) -> Result<Step, SuiteError> {
        let nowhere = Located {
            value: Scalar(String::new()),
            position: step.position,
        };
        match self.request(step, "GET", &nowhere)? {
            Step::Request(request) => Ok(Step::Request(Arc::new(RequestPlan {
                is_for_parts: true,
                ..Arc::unwrap_or_clone(request)
            }))),
            other => Ok(other),
        }
    }
}

/// Checks that names of pages are unique, and that a measure of a page is used nowhere else: a
/// sample belongs to a page by its measure.
pub(super) fn check(file: &SuiteSource<'_>, variants: &[Variant<'_>]) -> Result<(), SuiteError> {
    let mut named = Named::default();
    let looped = variants.iter().flat_map(|variant| variant.test.looped());
    looped.for_each(|step| named.add(step, None));
    let mut pages = BTreeSet::new();
    let is_twice = |page: &&&Located<String>| !pages.insert(page.value.to_lowercase());
    if let Some(page) = named.pages.iter().find(is_twice) {
        let message = format!("a second page `{}`", page.value);
        return Err(file.error(page.position, message));
    }
    let mut taken: BTreeSet<&str> = named.others.iter().copied().collect();
    let Some(name) = named.files.iter().find(|name| !taken.insert(&name.value)) else {
        return Ok(());
    };
    let message = format!(
        "`{}` is measured elsewhere; the files of a page have names that nothing else has",
        name.value
    );
    Err(file.error(name.position, message))
}

/// The names in the loops of a suite.
#[derive(Default)]
struct Named<'a> {
    pages: Vec<&'a Located<String>>,
    /// Measures of files of pages, once for each page.
    files: Vec<&'a Located<String>>,
    others: Vec<&'a str>,
}

impl<'a> Named<'a> {
    /// Adds a step; `page` is the number of files before the current page.
    fn add(&mut self, step: &'a StepSpec, page: Option<usize>) {
        match (&step.with.measure, page) {
            (Some(name), Some(before)) => {
                let mut page_files = self.files[before..].iter();
                if !page_files.any(|known| known.value == name.value) {
                    self.files.push(name);
                }
            }
            (Some(name), None) => self.others.push(&name.value),
            (None, _) => {}
        }
        let page = match &step.action {
            ActionSpec::Page(name) => {
                self.pages.push(name);
                Some(self.files.len())
            }
            _ => None,
        };
        step.inside().for_each(|inner| self.add(inner, page));
    }
}

/// Names of the pages in the loops of a test.
pub(super) fn pages_of(test: &TestSpec) -> Vec<&str> {
    let mut named = Named::default();
    test.looped().for_each(|step| named.add(step, None));
    named.pages.iter().map(|name| name.value.as_str()).collect()
}

/// The pages in the loops of all tests, with their frequencies.
pub(super) fn records(tests: &[TestPlan]) -> Vec<PageRecord> {
    let mut pages = Vec::new();
    for test in tests {
        let loops = test.loops.iter();
        loops.for_each(|test_loop| collect(&test_loop.steps, 1.0, &mut pages));
    }
    pages
}

fn collect(steps: &[Step], weight: f64, pages: &mut Vec<PageRecord>) {
    for step in steps {
        match step {
            Step::Page(page) => pages.extend(record(page, weight)),
            Step::Repeat { times, steps, .. } => collect(steps, weight * f64::from(*times), pages),
            Step::Choose(alternatives) => {
                for Alternative {
                    weight: share,
                    steps,
                } in alternatives
                {
                    collect(steps, weight * share, pages);
                }
            }
            other => {
                let inside = other.inside().into_iter();
                inside.for_each(|steps| collect(steps, weight, pages));
            }
        }
    }
}

/// `None` if none of its files is selected.
fn record(page: &PagePlan, weight: f64) -> Option<PageRecord> {
    let measured = || page.files.iter().filter(|file| file.measure.is_some());
    let lengths = measured().map(|file| file.expect.length());
    let record = PageRecord {
        name: page.name.clone(),
        weight,
        files: measured().filter_map(|file| file.measure).collect(),
        parts: page.parts().and_then(|parts| parts.measure),
        bytes: lengths.sum(),
    };
    (!record.files.is_empty()).then_some(record)
}
