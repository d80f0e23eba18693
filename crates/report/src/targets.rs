//! The servers of a run whose suite says what is sent to which.

use record::{Environment, PlanRecord, Server};

use crate::fields::fields;
use crate::lists::enumerated;
use crate::text::UNKNOWN_SOFTWARE;

/// A target of a suite, and what it is in a run.
pub(crate) struct TargetUse<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a str,
    /// What it said of itself; `None` when it was not reached.
    pub(crate) server: Option<&'a Server>,
    pub(crate) rows: Vec<&'a str>,
}

fields! {
    /// One of several servers of a suite.
    TargetUse<'_>, "Target", |of| {
        /// Its name in the suite.
        name = of.name,
        /// URL of the collection below which the run worked there.
        url = of.url,
        /// What it tells about itself; null when it was never reached.
        server = of.server,
        /// Names of the rows that are measured there.
        rows = &of.rows,
    }
}

impl TargetUse<'_> {
    pub(crate) fn software(&self) -> &str {
        let said = self.server.and_then(|server| server.software.as_deref());
        said.unwrap_or(UNKNOWN_SOFTWARE)
    }
}

/// The targets of a plan, in its order; nothing where its suite names none.
pub(crate) fn targets<'a>(plan: &'a PlanRecord, env: &'a Environment) -> Vec<TargetUse<'a>> {
    let mut servers = env.servers();
    let target = |(number, (name, url)): (u16, (&'a str, &'a str))| {
        let is_of_target =
            |measure: &&record::MeasureRecord| measure.target == number && !measure.stop_watch;
        let rows = plan.measures.iter().filter(is_of_target);
        TargetUse {
            name,
            url,
            server: servers.next(),
            rows: rows.map(|measure| measure.name.as_str()).collect(),
        }
    };
    (0..).zip(plan.named_targets()).map(target).collect()
}

/// All of them, in a sentence: `origin http://a/ (nginx) and cache http://b/ (Varnish)`; `None`
/// where the suite names none.
pub(crate) fn all_targets(plan: &PlanRecord, env: &Environment) -> Option<String> {
    let all: Vec<String> = targets(plan, env)
        .iter()
        .map(|of| format!("{} {} ({})", of.name, of.url, of.software()))
        .collect();
    (!all.is_empty()).then(|| enumerated(&all))
}
