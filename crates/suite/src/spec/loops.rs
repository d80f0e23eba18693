//! The loops of a test as written: one, or those of its roles; and its stop-watches.

use record::TimeUnit;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Located, Scalar, StepSpec, SuiteSpec, TestSpec};

/// Users of a test that have a loop of their own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// Number of users of the test with this role, of all roles together; default 1.
    pub users: Option<Located<Scalar>>,
    /// Least time from the beginning of one iteration to that of the next: `100ms`.
    pub pace: Option<Located<Scalar>>,
    /// Steps that are repeated.
    #[serde(rename = "loop")]
    pub body: Vec<StepSpec>,
}

/// A loop of a test.
#[derive(Debug, Clone, Copy)]
pub struct LoopSpec<'a> {
    /// The name of its role, and the role; `None` if the test has no roles.
    pub role: Option<(&'a str, &'a Located<RoleSpec>)>,
    /// Repeated steps.
    pub steps: &'a [StepSpec],
}

impl TestSpec {
    /// Its loops: one, or those of its roles in written order.
    pub fn loops(&self) -> Vec<LoopSpec<'_>> {
        if self.roles.is_empty() {
            let steps = self.body.as_slice();
            return vec![LoopSpec { role: None, steps }];
        }
        let mut loops = Vec::with_capacity(self.roles.len());
        for (name, role) in &self.roles {
            loops.push(LoopSpec {
                role: Some((name, role)),
                steps: &role.value.body,
            });
        }
        loops.sort_by_key(|test_loop| test_loop.role.map(|(_, role)| role.position));
        loops
    }

    /// All steps of its loops.
    pub(crate) fn looped(&self) -> impl Iterator<Item = &StepSpec> {
        self.loops()
            .into_iter()
            .flat_map(|test_loop| test_loop.steps)
    }

    /// The same, mutable.
    pub(crate) fn looped_mut(&mut self) -> impl Iterator<Item = &mut StepSpec> {
        let of_roles = self
            .roles
            .values_mut()
            .flat_map(|role| &mut role.value.body);
        self.body.iter_mut().chain(of_roles)
    }
}

impl SuiteSpec {
    /// Properties of a stop-watch, whose name has the suffix of a variant of its test.
    pub(crate) fn stop_watch(&self, name: &str, suffix: &str) -> StopWatchSpec {
        let written = name.strip_suffix(suffix).unwrap_or(name);
        let stop_watch = self.stopwatches.get(written);
        stop_watch.map(|located| located.value).unwrap_or_default()
    }
}

/// Properties of a stop-watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopWatchSpec {
    /// Users that share it.
    #[serde(default)]
    pub across: AcrossSpec,
    /// Unit of its times in reports; default: one that fits each time.
    pub unit: Option<TimeUnit>,
}

/// Users that share a stop-watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AcrossSpec {
    /// Each user has a stop-watch of its own.
    #[default]
    User,
    /// Any user stops what any user has started, oldest first.
    Users,
}

/// Format of the first file of a page, which names others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartsSpec {
    /// HTML.
    Html,
}
