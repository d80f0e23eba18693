//! Suites with several targets.

use std::collections::BTreeMap;

use super::params::Variant;
use super::{SuiteSource, check_name, nested};
use crate::error::SuiteError;
use crate::place::Placed;
use crate::spec::{ActionSpec, StepSpec, SuiteSpec};

/// Most targets.
const MANY: usize = 16;

/// Names of targets in written order: the first is that of the URL.
pub(super) fn names(spec: &SuiteSpec) -> Vec<String> {
    let mut all: Vec<_> = spec.targets.iter().collect();
    all.sort_by_key(|(_, about)| (about.place.line, about.place.column));
    all.into_iter().map(|(name, _)| name.clone()).collect()
}

/// Checks that steps name existing targets, and that a row or a page has one target.
pub(super) fn check(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    variants: &[Variant<'_>],
) -> Result<(), SuiteError> {
    let names = names(spec);
    for (name, about) in &spec.targets {
        let place = about.place;
        check_name(
            file,
            &Placed {
                value: name.clone(),
                place,
            },
        )?;
        if names.len() > MANY {
            let message = format!("a suite has at most {MANY} targets");
            return Err(file.error(place, message));
        }
    }
    let mut walk = Walk {
        file,
        names: &names,
        measures: BTreeMap::new(),
        used: vec![false; names.len()],
    };
    if let Some(first) = walk.used.first_mut() {
        *first = true;
    }
    for Variant { test, .. } in variants {
        let loops = test
            .loops()
            .into_iter()
            .flat_map(|test_loop| test_loop.steps);
        let steps = test.setup.iter().chain(loops).chain(&test.cleanup);
        steps.into_iter().try_for_each(|step| walk.step(step))?;
    }
    match walk.used.iter().position(|is_used| !is_used) {
        None => Ok(()),
        Some(unused) => {
            let name = &names[unused];
            let place = spec.targets[name].place;
            Err(file.error(place, format!("no step is sent to the target `{name}`")))
        }
    }
}

/// Visits the steps of a suite.
struct Walk<'a> {
    file: &'a SuiteSource<'a>,
    names: &'a [String],
    /// The target of each row.
    measures: BTreeMap<&'a str, usize>,
    used: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn step(&mut self, step: &'a StepSpec) -> Result<(), SuiteError> {
        let step_target = self.target(step)?;
        if let (
            Some(measure),
            ActionSpec::Request { .. } | ActionSpec::Parts(_) | ActionSpec::Tree(_),
        ) = (&step.with.measure, &step.action)
            && *self.measures.entry(&measure.value).or_insert(step_target) != step_target
        {
            let message = format!(
                "`{}` is measured at another target already, and a row is about one",
                measure.value
            );
            return Err(self.file.error(measure.place, message));
        }
        let files = match &step.action {
            ActionSpec::Page(_) => step.with.steps.as_slice(),
            _ => &[],
        };
        if let Some((first, others)) = files.split_first() {
            let page = self.target(first)?;
            for other in others {
                if self.target(other)? != page {
                    let message = "the files of a page are fetched from one target";
                    return Err(self.file.error(other.place, message));
                }
            }
        }
        nested(step).try_for_each(|inner| self.step(inner))
    }

    /// Index of the target of a step; the first without a name.
    fn target(&mut self, step: &StepSpec) -> Result<usize, SuiteError> {
        let Some(named) = &step.with.target else {
            return Ok(0);
        };
        let place = self.names.iter().position(|name| *name == named.value);
        let place = place.ok_or_else(|| {
            let message = if self.names.is_empty() {
                "the suite has no `targets`".to_owned()
            } else {
                let known = self.names.iter().map(String::as_str);
                let hint = nearest::hint(&named.value, known, "the suite has");
                format!("there is no target `{}`; {hint}", named.value)
            };
            self.file.error(named.place, message)
        })?;
        self.used[place] = true;
        Ok(place)
    }
}
