//! Names of figures of trials. They are explained in docs/EXPERIMENTS.md.

use traffic::FlowDirection;

use crate::setup::TrialSetup;

/// First parts of names of figures that belong to no named measurement.
pub(crate) const OTHER_FIGURES: [&str; 3] = ["link", "path", "traffic"];

const OF_MEASURED: [&str; 1] = ["unfinished"];
const OF_SINGLE: [&str; 6] = [
    "delay",
    "response_time",
    "throughput",
    "goodput",
    "retransmissions",
    "timeouts",
];
/// Figures of a row of a suite, or of a page of it; they follow the names of measurement and row.
const OF_ROWS: [&str; 7] = [
    ".mean",
    ".p50",
    ".p99",
    ".rate",
    ".page.mean",
    ".page.p50",
    ".page.p99",
];
const OF_REQUESTS: [&str; 3] = ["throughput", "share", "failed"];
const OF_CAPTURED: [&str; 3] = ["captured", "new", "rtt"];
/// Figures of a study of timeouts, for certain weights and a certain strategy.
const OF_TIMEOUTS: [&str; 11] = [
    "within",
    "long",
    "short_within",
    "short_exceeded",
    "short_exceeded_long",
    "long_within",
    "long_exceeded",
    "avoided.0.25",
    "avoided.0.5",
    "avoided.0.75",
    "avoided.1",
];
/// Pairs of weights that are studied.
const WEIGHTS: usize = 9;
const STRATEGIES: [&str; 3] = ["one", "some", "all"];
const OF_BARE: [&str; 7] = [
    "timeouts",
    "resent",
    "fast-retransmits",
    "round-trips",
    "round-trip",
    "srtt",
    "rto",
];
const OF_COMPONENTS: [&str; 2] = ["rate", "loss"];
const OF_LINKS: [&str; 2] = ["rate", "dropped"];

impl TrialSetup {
    /// True if this trial can have a figure of that name.
    pub fn has_figure(&self, name: &str) -> bool {
        self.has_figure_of_row(name) || self.figures().iter().any(|figure| figure == name)
    }

    /// True if it measures a suite that can have this figure of a row: it alone knows its rows.
    pub(crate) fn has_figure_of_row(&self, name: &str) -> bool {
        let is_of = |measured: &str| {
            let figure = name.strip_prefix(measured)?.strip_prefix('.')?;
            let mut rows = OF_ROWS.iter().filter_map(|end| figure.strip_suffix(end));
            rows.find(|row| !row.is_empty())
        };
        let suites = self.trial.measured.iter();
        let mut suites = suites.filter(|(_, measured)| measured.suite.is_some());
        suites.any(|(measured, _)| is_of(measured).is_some())
    }

    /// Names of all figures that it can have, except those of rows of suites.
    pub(crate) fn figures(&self) -> Vec<String> {
        let mut names = vec!["path.rtt".to_owned()];
        let mut add = |source: &str, ends: &[&str]| {
            names.extend(ends.iter().map(|end| format!("{source}.{end}")))
        };
        for (name, measured) in &self.trial.measured {
            add(name, &OF_MEASURED);
            if measured.path.is_some() {
                add(name, &OF_SINGLE);
            }
        }
        self.trial
            .requests
            .keys()
            .for_each(|name| add(name, &OF_REQUESTS));
        for host in &self.trial.captures {
            add(host, &OF_CAPTURED);
            for weights in 1..=WEIGHTS {
                STRATEGIES.iter().for_each(|strategy| {
                    add(&format!("{host}.rto.W{weights}.{strategy}"), &OF_TIMEOUTS)
                });
            }
        }
        let nodes = &self.network.nodes;
        let bare = nodes.iter().filter(|node| self.is_bare(&node.name));
        bare.for_each(|node| add(&node.name, &OF_BARE));
        for file in self.trial.traffic.iter().map(|traffic| &traffic.file) {
            for name in file.components.keys() {
                add(&format!("traffic.{name}"), &OF_COMPONENTS);
            }
            let flows = file.loads.values().flat_map(|load| &load.flows);
            for flow in flows.filter(|flow| flow.direction != FlowDirection::Forward) {
                let name = format!("traffic.{}.backward", flow.component);
                add(&name, &OF_COMPONENTS);
            }
        }
        for link in &self.network.links {
            for from in [0, 1] {
                let [source, target] = [from, 1 - from].map(|end| &nodes[link.ends[end].node].name);
                if self.network.wire(link, from).rate.is_some() {
                    add(&format!("link.{source}-{target}"), &OF_LINKS);
                }
            }
        }
        names
    }
}
