//! Suites with several targets.

use std::collections::BTreeMap;

use super::params::Variant;
use super::{SuiteSource, check_name};
use crate::error::SuiteError;
use crate::position::Located;
use crate::spec::{ActionSpec, StepSpec, SuiteSpec};

const MANY: usize = 16;

/// Names of targets in written order: the first is that of the URL.
pub(super) fn names(spec: &SuiteSpec) -> Vec<String> {
    let mut all: Vec<_> = spec.targets.iter().collect();
    all.sort_by_key(|(_, about)| about.position);
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
        let position = about.position;
        check_name(
            file,
            &Located {
                value: name.clone(),
                position,
            },
        )?;
        if names.len() > MANY {
            let message = format!("a suite has at most {MANY} targets");
            return Err(file.error(position, message));
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
        let before = test.setup.iter().chain(test.looped());
        let mut steps = before.chain(&test.cleanup).flat_map(StepSpec::and_inside);
        steps.try_for_each(|step| walk.step(step))?;
    }
    match walk.used.iter().position(|is_used| !is_used) {
        None => Ok(()),
        Some(unused) => {
            let name = &names[unused];
            let position = spec.targets[name].position;
            Err(file.error(position, format!("no step is sent to the target `{name}`")))
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
            return Err(self.file.error(measure.position, message));
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
                    return Err(self.file.error(other.position, message));
                }
            }
        }
        Ok(())
    }

    /// Index of the target of a step; the first without a name.
    fn target(&mut self, step: &StepSpec) -> Result<usize, SuiteError> {
        let Some(named) = &step.with.target else {
            return Ok(0);
        };
        let position = self.names.iter().position(|name| *name == named.value);
        let position = position.ok_or_else(|| {
            let message = if self.names.is_empty() {
                "the suite has no `targets`".to_owned()
            } else {
                let known = self.names.iter().map(String::as_str);
                let hint = nearest::hint(&named.value, known, "the suite has");
                format!("there is no target `{}`; {hint}", named.value)
            };
            self.file.error(named.position, message)
        })?;
        self.used[position] = true;
        Ok(position)
    }
}
