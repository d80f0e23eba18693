//! Steps: requests, trees, repetitions, choices, pauses.

use std::collections::BTreeMap;
use std::time::Duration;

use record::{MeasureId, Verify};

use super::SuiteSource;
use super::adapt::number_of_users;
use super::conditions::WrittenConditions;
use crate::error::SuiteError;
use crate::plan::{Alternative, Step, StopWatchPlan, Think, Workspace};
use crate::position::{Located, Position, Scalar};
use crate::quantity::duration_with_unit;
use crate::saved::SavedSlots;
use crate::spec::{ActionSpec, ChoiceSpec, EndSpec, StepOptions, StepSpec, ThinkSpec};
use crate::template::Templates;

/// Most resources of a tree, and most repetitions: a limit, not a recommendation.
pub(super) const MANY: u32 = 1_000_000;

/// Resolves the steps of one test.
pub(super) struct StepResolver<'a> {
    pub(super) file: &'a SuiteSource<'a>,
    pub(super) templates: &'a Templates<'a>,
    pub(super) measure_ids: &'a BTreeMap<&'a str, MeasureId>,
    pub(super) workspace: Workspace,
    pub(super) may_post: bool,
    /// Stop-watches of the test.
    pub(super) stop_watches: &'a [StopWatchPlan],
    /// Number of stop-watches of earlier tests.
    pub(super) watches_before: usize,
    pub(super) conditions: &'a WrittenConditions,
    /// Suffix of the names of the test.
    pub(super) suffix: &'a str,
    /// Measures of the test, selected or not.
    pub(super) measure_names: &'a [&'a str],
    /// Default verification of the responses of measured steps.
    pub(super) verify: Verify,
    /// Names of the servers, in the order of the plan.
    pub(super) targets: &'a [String],
}

impl StepResolver<'_> {
    pub(super) fn steps(&self, steps: &[StepSpec]) -> Result<Vec<Step>, SuiteError> {
        let mut resolved = Vec::with_capacity(steps.len());
        for step in steps {
            self.step(step, &mut resolved)?;
        }
        Ok(resolved)
    }

    pub(super) fn step(&self, step: &StepSpec, out: &mut Vec<Step>) -> Result<(), SuiteError> {
        match &step.action {
            ActionSpec::Request { method, path } => {
                self.only_keys(
                    step,
                    &[
                        "query",
                        "to",
                        "depth",
                        "overwrite",
                        "timeout",
                        "headers",
                        "body",
                        "expect",
                        "unsupported",
                        "save",
                        "measure",
                        "verify",
                        "target",
                    ],
                )?;
                out.push(self.request(step, method, path)?);
                self.saves_of(step);
            }
            ActionSpec::Tree(path) => {
                self.only_keys(step, &["depth", "width", "of", "body", "measure", "target"])?;
                self.tree(step, path, out)?;
            }
            ActionSpec::Repeat(times) => {
                self.only_keys(step, &["as", "steps"])?;
                let times = self.count(times, "number of repetitions", 0, MANY)?;
                if step.with.steps.is_empty() {
                    return Err(self.file.error(step.position, "`repeat` needs `steps`"));
                }
                out.push(self.repeat(times, step)?);
            }
            ActionSpec::Page(name) => {
                self.only_keys(step, &["steps"])?;
                out.push(self.page(name, step)?);
            }
            ActionSpec::Parts(_) => {
                let message = "`parts` is a step of a `page`, whose first file names them";
                return Err(self.file.error(step.position, message));
            }
            ActionSpec::Choose(choices) => {
                self.only_keys(step, &[])?;
                out.push(self.choose(step.position, choices)?);
            }
            ActionSpec::Think(think) => {
                self.only_keys(step, &[])?;
                out.push(Step::Think(self.think(step.position, think)?));
            }
            ActionSpec::Start(name) => {
                self.only_keys(step, &[])?;
                out.push(Step::Start(self.stop_watch(name)?));
            }
            ActionSpec::Stop(name) => {
                self.only_keys(step, &[])?;
                out.push(Step::Stop(self.stop_watch(name)?));
            }
            ActionSpec::When(condition) => {
                self.only_keys(step, &["steps", "else"])?;
                if step.with.steps.is_empty() && step.with.otherwise.is_empty() {
                    return Err(self.file.error(step.position, "`when` needs `steps`"));
                }
                let condition = self.condition(condition)?;
                let both = self.alternatives(&[&step.with.steps, &step.with.otherwise])?;
                let mut ways = both.into_iter();
                out.push(Step::When {
                    condition,
                    steps: ways.next().unwrap_or_default(),
                    otherwise: ways.next().unwrap_or_default(),
                });
            }
            ActionSpec::End(what) => {
                self.only_keys(step, &[])?;
                out.push(match what {
                    EndSpec::Test => Step::EndTest,
                    EndSpec::Run => Step::EndRun,
                });
            }
            ActionSpec::Users(users) => {
                self.only_keys(step, &[])?;
                let number = number_of_users(self.file, self.templates, users)?;
                out.push(Step::Users(number));
            }
        }
        Ok(())
    }

    fn stop_watch(&self, name: &Located<String>) -> Result<usize, SuiteError> {
        let mut all = self.stop_watches.iter();
        let position = all.position(|watch| watch.name == name.value);
        let position = position.ok_or_else(|| {
            self.file
                .error(name.position, "stop-watches start and stop in loops")
        })?;
        Ok(self.watches_before + position)
    }

    /// A condition, which names rows of its own test without their suffix.
    fn condition(&self, text: &Located<String>) -> Result<usize, SuiteError> {
        let renamed = |name: &str| {
            let renamed = format!("{name}{}", self.suffix);
            let is_of_test = self.measure_names.contains(&renamed.as_str());
            (!self.suffix.is_empty() && is_of_test).then_some(renamed)
        };
        self.conditions.add(self.file, text, renamed)
    }

    fn repeat(&self, times: u32, step: &StepSpec) -> Result<Step, SuiteError> {
        if times > 1 {
            // The next iteration can use values saved by a step at its end.
            self.saves_of(step);
        }
        let Some(name) = &step.with.counter else {
            return Ok(Step::Repeat {
                times,
                counter: None,
                steps: self.steps(&step.with.steps)?,
            });
        };
        let (templates, counter) = self
            .templates
            .inside(&name.value)
            .map_err(|message| self.file.error(name.position, message))?;
        let inside = StepResolver {
            templates: &templates,
            ..*self
        };
        Ok(Step::Repeat {
            times,
            counter: Some(counter),
            steps: inside.steps(&step.with.steps)?,
        })
    }

    /// Lists of steps of which one is executed: none can use values saved by another, and later
    /// steps can use all of them.
    fn alternatives(&self, ways: &[&[StepSpec]]) -> Result<Vec<Vec<Step>>, SuiteError> {
        let before = self.templates.fill(SavedSlots::default());
        let mut behind = before.clone();
        let mut resolved = Vec::with_capacity(ways.len());
        for way in ways {
            self.templates.fill(before.clone());
            resolved.push(self.steps(way)?);
            behind.join(&self.templates.fill(SavedSlots::default()));
        }
        self.templates.fill(behind);
        Ok(resolved)
    }

    /// Marks everything that a step and its inner steps save as having a value.
    fn saves_of(&self, step: &StepSpec) {
        for step in step.and_inside() {
            let names = step.with.save.keys();
            names.for_each(|name| self.templates.saves(name));
        }
    }

    fn choose(&self, position: Position, choices: &[ChoiceSpec]) -> Result<Step, SuiteError> {
        let mut alternatives = Vec::with_capacity(choices.len());
        let ways: Vec<&[StepSpec]> = choices
            .iter()
            .map(|choice| choice.steps.as_slice())
            .collect();
        for (choice, steps) in choices.iter().zip(self.alternatives(&ways)?) {
            let text = self.number(&choice.weight)?;
            let weight: f64 = text.trim().parse().unwrap_or(-1.0);
            if !weight.is_finite() || weight < 0.0 {
                let why = format!("`{text}` is no weight; write a number from 0 on");
                return Err(self.file.error(choice.weight.position, why));
            }
            alternatives.push(Alternative { weight, steps });
        }
        if alternatives.iter().map(|choice| choice.weight).sum::<f64>() <= 0.0 {
            let why = "`choose` needs an alternative with a weight";
            return Err(self.file.error(position, why));
        }
        Ok(Step::Choose(alternatives))
    }

    fn think(&self, position: Position, think: &ThinkSpec) -> Result<Think, SuiteError> {
        match (&think.constant, &think.uniform, &think.exponential) {
            (Some(time), None, None) => Ok(Think::Constant(self.duration(time)?)),
            (None, Some([from, to]), None) => {
                let (low, high) = (self.duration(from)?, self.duration(to)?);
                if low > high {
                    let why = "the second time is the longer one";
                    return Err(self.file.error(to.position, why));
                }
                Ok(Think::Uniform(low, high))
            }
            (None, None, Some(mean)) => Ok(Think::Exponential(self.duration(mean)?)),
            _ => {
                let why = "`think` needs one of constant: 1s, uniform: [1s, 5s], exponential: 1s";
                Err(self.file.error(position, why))
            }
        }
    }

    /// Refuses keys without a meaning beside this action.
    pub(super) fn only_keys(&self, step: &StepSpec, allowed: &[&str]) -> Result<(), SuiteError> {
        let StepOptions {
            query,
            to,
            depth,
            width,
            of,
            overwrite,
            timeout,
            headers,
            body,
            expect,
            unsupported,
            save,
            measure,
            verify,
            target,
            counter,
            steps,
            otherwise,
        } = &step.with;
        let present = [
            ("query", query.is_some()),
            ("to", to.is_some()),
            ("depth", depth.is_some()),
            ("width", width.is_some()),
            ("of", of.is_some()),
            ("overwrite", overwrite.is_some()),
            ("timeout", timeout.is_some()),
            ("headers", !headers.is_empty()),
            ("body", body.is_some()),
            ("expect", expect.is_some()),
            ("unsupported", !unsupported.is_empty()),
            ("save", !save.is_empty()),
            ("measure", measure.is_some()),
            ("verify", verify.is_some()),
            ("target", target.is_some()),
            ("as", counter.is_some()),
            ("steps", !steps.is_empty()),
            ("else", !otherwise.is_empty()),
        ];
        let mut present = present.into_iter();
        let Some((key, _)) = present.find(|(key, is)| *is && !allowed.contains(key)) else {
            return Ok(());
        };
        let action = match &step.action {
            ActionSpec::Request { .. } => "a request",
            ActionSpec::Tree(_) => "`tree`",
            ActionSpec::Repeat(_) => "`repeat`",
            ActionSpec::Page(_) => "`page`",
            ActionSpec::Parts(_) => "`parts`",
            ActionSpec::Choose(_) => "`choose`",
            ActionSpec::Think(_) => "`think`",
            ActionSpec::Start(_) => "`start`",
            ActionSpec::Stop(_) => "`stop`",
            ActionSpec::When(_) => "`when`",
            ActionSpec::End(_) => "`end`",
            ActionSpec::Users(_) => "`users`",
        };
        let why = format!("`{key}` has no effect with {action}");
        Err(self.file.error(step.position, why))
    }

    /// Verification of the response to a request. Unmeasured requests are verified, because others
    /// may depend on them.
    pub(super) fn verify(&self, step: &StepSpec) -> Verify {
        let usual = match step.with.measure {
            Some(_) => self.verify,
            None => Verify::default(),
        };
        step.with.verify.unwrap_or(usual)
    }

    /// Target of the requests of a step.
    pub(super) fn target(&self, step: &StepSpec) -> u16 {
        let named = step.with.target.as_ref();
        let position = named.and_then(|named| {
            self.targets
                .iter()
                .position(|target| *target == named.value)
        });
        super::index(position.unwrap_or(0))
    }

    /// A number, or one of a few words.
    pub(super) fn number(&self, scalar: &Located<Scalar>) -> Result<String, SuiteError> {
        self.templates
            .number(&scalar.value.0)
            .map_err(|message| self.file.error(scalar.position, message))
    }

    pub(super) fn count(
        &self,
        scalar: &Located<Scalar>,
        what: &str,
        least: u32,
        most: u32,
    ) -> Result<u32, SuiteError> {
        let text = self.number(scalar)?;
        match text.trim().parse::<u32>() {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            _ => Err(self.file.error(
                scalar.position,
                format!("{what}: `{text}` is no whole number from {least} to {most}"),
            )),
        }
    }

    pub(super) fn duration(&self, scalar: &Located<Scalar>) -> Result<Duration, SuiteError> {
        let text = self.number(scalar)?;
        duration_with_unit(&text).map_err(|message| self.file.error(scalar.position, message))
    }
}
