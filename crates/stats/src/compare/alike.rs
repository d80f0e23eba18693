//! Conditions under which runs did the same, so that their times may be compared.

use record::{
    BackgroundComponent, BackgroundGenerator, BesideRecord, Clock, Environment, Http, Pace,
    PlanRecord, Verify,
};

use super::{Side, TotalTimes};
use crate::warning::{Warning, origin_warnings};

/// Why runs cannot be compared.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// Nothing to pair: the numbers of runs of A, and of B.
    Pairs(usize, usize),
    /// This run is there more than once, and would count for as many.
    Twice(String),
    /// A setting on which times depend: as it is in A, or in the first run, and in the other.
    Plan(Setting, Setting),
}

/// Reason for caution about a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Caveat {
    /// Number of runs with rows that warnings disqualify.
    Disqualified(usize),
    /// Number of runs that did not go through to their end.
    Incomplete(usize),
    /// One run of each, which does not show how much runs differ.
    OneRun,
    /// Servers were not started anew for each run.
    OneProcess,
    /// Number of pairs in which a run is compared with itself.
    SameRun(usize),
    /// Number of pairs whose runs were not made at the same time.
    Apart(usize),
    /// The processes that were watched of this server, A or B, used no processor time.
    OtherProcesses(char),
    /// Where responses of this server, A or B, came from: a cache, or several addresses.
    Origins(char, Warning),
    /// Total times of these rows differ by more than their response times.
    TotalTimes(Vec<TotalTimes>),
    /// A setting that should do no harm: as it is in A, or in the first run, and in the other.
    Differs(Setting, Setting),
}

/// A setting of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// The name of the suite and its checksum.
    Suite(String, String),
    /// The parameters of the suite, as JSON.
    Params(String),
    /// The clock.
    Clock(Clock),
    /// Users.
    Users(u32),
    /// Servers.
    Servers(usize),
    /// The load.
    Load {
        /// The pace at which operations begin.
        pace: Pace,
        /// In the order of the suite.
        in_turn: bool,
    },
    /// How HTTP is spoken.
    Http(Http),
    /// The loads that went on beside it: suite, its checksum, users, and pace.
    Beside(Vec<(String, String, u32, Pace)>),
    /// The components and generators of the background traffic.
    Background(Vec<BackgroundComponent>, Vec<BackgroundGenerator>),
    /// The rows.
    Tests(Vec<String>),
    /// Requests, where their number is limited.
    Requests(Option<u64>),
    /// Seconds, where the time is limited.
    Duration(Option<f64>),
    /// The version of Prestan.
    Version(String),
    /// The machine that measured.
    Machine {
        /// Model name of the processor.
        cpu: String,
        /// Logical processors.
        cores: u32,
        /// Operating system.
        os: String,
    },
    /// Rounds to warm up.
    Warmup(u32),
    /// The scheme of the URL.
    Scheme(Option<String>),
    /// Stamps of acknowledgements were requested.
    Acks(bool),
    /// The time limit in seconds.
    Timeout(f64),
    /// The ways in which responses are verified, each once.
    Verify(Vec<Verify>),
    /// The server was traced, which makes fast operations slower.
    Inside(bool),
}

/// Settings on which times depend.
fn essentials(plan: &PlanRecord) -> Vec<Setting> {
    let load = &plan.load;
    let mut params = plan.params_as_written();
    // The number of requests does not change how long each takes.
    params.remove("requests");
    let PlanRecord { suite, .. } = plan;
    vec![
        Setting::Suite(suite.name.clone(), suite.sha256.clone()),
        Setting::Params(serde_json::Value::from_iter(params).to_string()),
        Setting::Clock(plan.clock),
        Setting::Users(load.users),
        Setting::Servers(1 + plan.others.len()),
        Setting::Load {
            pace: load.pace.clone(),
            in_turn: load.in_turn,
        },
        Setting::Http(load.http),
        Setting::Beside(plan.beside.iter().map(load_beside).collect()),
        background(plan),
    ]
}

fn background(plan: &PlanRecord) -> Setting {
    let background = plan.background.as_ref();
    let (components, generators) = background.map_or_else(Default::default, |background| {
        (background.components.clone(), background.generators.clone())
    });
    Setting::Background(components, generators)
}

fn load_beside(beside: &BesideRecord) -> (String, String, u32, Pace) {
    let BesideRecord { suite, load, .. } = beside;
    let (name, sha256) = (suite.name.clone(), suite.sha256.clone());
    (name, sha256, load.users, load.pace.clone())
}

/// Settings of the work of a run, which may differ from pair to pair.
fn tests_of(plan: &PlanRecord) -> Vec<Setting> {
    let names = plan.measures.iter().map(|row| row.name.clone());
    vec![Setting::Tests(names.collect())]
}

/// How much a run does. It may differ from pair to pair.
fn amounts(side: &Side<'_>) -> Vec<Setting> {
    let load = &side.plan.load;
    vec![
        Setting::Requests(load.requests),
        Setting::Duration(load.duration_s),
    ]
}

/// Settings that should do no harm, or that cannot be controlled.
fn harmless(side: &Side<'_>) -> Vec<Setting> {
    let (plan, load, machine) = (side.plan, &side.plan.load, &side.env.machine);
    let scheme = plan.target.split_once("://");
    vec![
        Setting::Version(plan.prestan.clone()),
        Setting::Machine {
            cpu: machine.cpu.clone(),
            cores: machine.cores,
            os: machine.os.clone(),
        },
        Setting::Warmup(load.warmup),
        Setting::Scheme(scheme.map(|(scheme, _)| scheme.to_owned())),
        Setting::Acks(plan.acks),
        Setting::Timeout(load.timeout_s),
        // It takes place after the last moment of an operation.
        Setting::Verify(plan.verified()),
        Setting::Inside(plan.inside.is_some()),
    ]
}

fn differing(one: Vec<Setting>, other: Vec<Setting>) -> impl Iterator<Item = (Setting, Setting)> {
    one.into_iter()
        .zip(other)
        .filter(|(one, other)| one != other)
}

fn is_same_run(one: &Side<'_>, other: &Side<'_>) -> bool {
    one.plan.run_id == other.plan.run_id && one.env.started_at == other.env.started_at
}

/// True if the two runs overlap. Times of day of this format are in the order of their letters.
fn is_beside(one: &Side<'_>, other: &Side<'_>) -> bool {
    let ((begin, end), (begins, ends)) = (times(one.env), times(other.env));
    begin == begins || (begin < ends && begins < end)
}

fn times(env: &Environment) -> (&str, &str) {
    let end = env.ended_at.as_ref().unwrap_or(&env.started_at);
    (&env.started_at, end)
}

/// A run that is there more than once.
fn twice<'a>(runs: &[Side<'a>]) -> Option<&'a str> {
    let mut later = runs.iter().enumerate();
    let found =
        later.find(|(index, run)| runs[..*index].iter().any(|other| is_same_run(run, other)));
    found.map(|(_, run)| run.plan.run_id.as_str())
}

/// True if processes were watched, and none of them used any processor time. Rows that exist only
/// because they were traced are left out.
fn is_processor_unused(side: &Side<'_>) -> bool {
    let inside = side.summary.inside.as_ref();
    let rows = inside.into_iter().flat_map(|inside| &inside.rows);
    let mut counted = rows.filter(|row| row.operations > 0).peekable();
    counted.peek().is_some() && counted.all(|row| row.counted.processor == 0)
}

/// Checks that runs did the same, and returns the caveats about them.
pub(super) fn check(a: &[Side<'_>], b: &[Side<'_>]) -> Result<Vec<Caveat>, Difference> {
    if a.len() != b.len() || a.is_empty() {
        return Err(Difference::Pairs(a.len(), b.len()));
    }
    if let Some(run) = twice(a).or_else(|| twice(b)) {
        return Err(Difference::Twice(run.to_owned()));
    }
    let first = a[0].plan;
    let all = || a.iter().chain(b);
    let pairs = || a.iter().zip(b);
    let of_all = all().map(|side| differing(essentials(first), essentials(side.plan)).next());
    let of_pairs = pairs().map(|(a, b)| differing(tests_of(a.plan), tests_of(b.plan)).next());
    if let Some((one, other)) = of_all.chain(of_pairs).flatten().next() {
        return Err(Difference::Plan(one, other));
    }
    let mut caveats = Vec::new();
    let some = |count: usize, caveat: fn(usize) -> Caveat| (count > 0).then(|| caveat(count));
    let is_disqualified = |side: &&Side<'_>| side.summary.disqualified().next().is_some();
    let disqualified = all().filter(is_disqualified).count();
    caveats.extend(some(disqualified, Caveat::Disqualified));
    let is_incomplete = |side: &&Side<'_>| side.summary.complete != crate::Completeness::Complete;
    let incomplete = all().filter(is_incomplete).count();
    caveats.extend(some(incomplete, Caveat::Incomplete));
    if a.len() == 1 {
        caveats.push(Caveat::OneRun);
    }
    let same = pairs().filter(|(a, b)| is_same_run(a, b)).count();
    caveats.extend(some(same, Caveat::SameRun));
    if all().any(|side| !side.plan.fresh_start) && same < a.len() && a.len() > 1 {
        caveats.push(Caveat::OneProcess);
    }
    let is_apart = |(a, b): &(&Side<'_>, &Side<'_>)| !is_same_run(a, b) && !is_beside(a, b);
    caveats.extend(some(pairs().filter(is_apart).count(), Caveat::Apart));
    let servers = [('A', a), ('B', b)];
    let watched = servers
        .iter()
        .filter(|(_, sides)| sides.iter().any(is_processor_unused));
    caveats.extend(watched.map(|(name, _)| Caveat::OtherProcesses(*name)));
    for (name, sides) in servers {
        let warnings = origin_warnings(sides.iter().flat_map(|side| &side.summary.tests));
        let origins = |warning| Caveat::Origins(name, warning);
        caveats.extend(warnings.into_iter().map(origins));
    }
    let of_all = all().flat_map(|side| differing(harmless(&a[0]), harmless(side)));
    let of_pairs = pairs().flat_map(|(a, b)| differing(amounts(a), amounts(b)));
    for (one, other) in of_all.chain(of_pairs) {
        let caveat = Caveat::Differs(one, other);
        if !caveats.contains(&caveat) {
            caveats.push(caveat);
        }
    }
    Ok(caveats)
}
