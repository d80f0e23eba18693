//! The contents of a run, and its place.

use std::path::PathBuf;
use std::sync::Arc;

use record::{BackgroundRecord, BesideRecord, Clock, InsideRecord, NoteRecord, Processors};
use serde::{Deserialize, Serialize};
use suite::Plan;

use crate::clock::stamps;
use crate::connection::route::{Endpoint, HttpOptions, Route};
use crate::drive::Drive;
use crate::drive::step::test_http;
use crate::site::publish::Publish;

/// The contents of a run, independent of its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSpec {
    /// Names the run.
    pub run_id: String,
    /// The plan, test by test.
    pub plan: Arc<Plan>,
    /// Seed of everything random.
    pub seed: u64,
    /// Users at the same time.
    pub users: u32,
    /// Decides when an operation begins, and for how long.
    pub drive: Drive,
    /// The server was started for this run, with this number among concurrent ones, from 1.
    pub start_place: Option<u32>,
    /// The command line, if reports repeat it, with redacted credentials.
    pub command: Option<String>,
    /// Notes about the run, for its reports.
    pub notes: Vec<NoteRecord>,
    /// The name of the server in reports, in place of all that identifies it.
    pub label: Option<String>,
    /// Concurrent loads, for the record: they are separate runs.
    pub beside: Vec<BesideRecord>,
    /// Concurrent background traffic, for the record: the engine does not send it.
    pub background: Option<BackgroundRecord>,
}

/// The place of a run: its servers, the settings of requests to them, and the resources of this
/// machine.
#[derive(Debug, Clone)]
pub struct RunPlace {
    /// The collection below which the run works.
    pub endpoint: Endpoint,
    /// Further targets of the plan, in its order; for a plan without targets further servers, or
    /// further routes to the same one: users are distributed over all of them.
    pub others: Vec<Endpoint>,
    /// How requests are sent.
    pub http: HttpOptions,
    /// Files that are put into the collection of the run before it measures.
    pub files: Vec<Publish>,
    /// Directory in which tokens of locks are kept while they are held, for `prestan clean`.
    pub lock_tokens: Option<PathBuf>,
    /// Directory in which resources without a marker are noted, for `prestan clean`.
    pub made_files: Option<PathBuf>,
    /// Number of worker threads.
    pub threads: u32,
    /// Clock of the times; [`choose_clock`] finds out which is available.
    pub clock: Clock,
    /// The kernel's stamps of acknowledgements are enabled as well.
    pub acks: bool,
    /// Processes of the server that are watched, for the record: the engine does not read them.
    pub inside: Option<InsideRecord>,
    /// The processors of worker threads and of the server; `None` leaves them to the system.
    pub processors: Option<Processors>,
}

impl RunPlace {
    /// The same for that run: a load uses connections as its tests specify, if they do.
    pub(crate) fn for_run(&self, spec: &RunSpec) -> RunPlace {
        let mut place = self.clone();
        if let (Drive::Load(_), Ok(http)) = (&spec.drive, spec.plan.http()) {
            let connections = &mut place.http.connections;
            *connections = test_http(*connections, http);
        }
        place
    }

    /// The note about a run that sends unusual requests.
    pub(crate) fn experiment(&self) -> Option<String> {
        let http = self.http.connections;
        let what = match (http.nagle, http.two_writes) {
            (false, false) => return None,
            (true, false) => "Nagle's algorithm is left on (--nagle)",
            (false, true) => "head and body of a request are sent in two writes (--two-writes)",
            (true, true) => {
                "Nagle's algorithm is left on (--nagle), and head and body of a request are sent in two writes \
                 (--two-writes)"
            }
        };
        Some(format!(
            "these are the figures of an experiment with the client: {what}; without these options, they describe the \
             server"
        ))
    }

    /// Most connections of all users of a run together.
    pub(crate) fn connections(&self, RunSpec { plan, users, .. }: &RunSpec) -> u32 {
        let uses_of_tests = plan.tests.iter().filter_map(|test| test.http);
        let all = uses_of_tests.chain([self.http.connections]);
        let most = all.map(|http| http.parallel).max().unwrap_or(1);
        let targets = u32::try_from(plan.targets.len().max(1)).unwrap_or(u32::MAX);
        users.saturating_mul(most).saturating_mul(targets)
    }

    /// All collections below which the run works.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.endpoint).chain(&self.others)
    }
}

/// Choice of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockChoice {
    /// The kernel's if the system has stamps, else that of user space, with a warning.
    #[default]
    Auto,
    /// The kernel's, or none.
    Kernel,
    /// The clock of user space.
    User,
}

/// The clock for a choice on this route, with a warning if it is the second best.
///
/// # Errors
/// The kernel's clock was requested and is not available.
pub fn choose_clock(choice: ClockChoice, route: &Route) -> Result<(Clock, Option<String>), String> {
    let without_stamps = match (choice, route) {
        (ClockChoice::User, _) => return Ok((Clock::User, None)),
        (_, Route::Unix(_)) => "a local socket has no time stamps of the kernel".to_owned(),
        (_, Route::Tcp(_)) => match stamps::try_out() {
            Ok(()) => return Ok((Clock::Kernel, None)),
            Err(error) => format!("this system gives no time stamps of the kernel: {error}"),
        },
    };
    match choice {
        ClockChoice::Kernel => Err(format!(
            "{without_stamps}; use --clock user, or auto for the best there is"
        )),
        _ => Ok((
            Clock::User,
            Some(format!(
                "{without_stamps}; the clock of user space is used, which adds the time this \
                 machine needs to wake up"
            )),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use record::{Arrivals, Stage};
    use suite::Overrides;

    use super::*;
    use crate::drive::{LoadDrive, Pacing, Rounds};

    #[test]
    fn what_a_run_does_can_be_written_down_and_read_again() {
        let text = "suite: s\ntests:\n  - name: T\n    loop:\n      - PUT: a\n        body: {size: 1KiB}\n        measure: Put\n";
        let spec = suite::parse("s", text).unwrap();
        let plan = Arc::new(suite::resolve("s", text, &spec, &Overrides::default()).unwrap());
        let open = Pacing::Open {
            arrivals: Arrivals::Poisson,
            stages: vec![Stage {
                rate: 12.5,
                duration_s: 3.0,
            }],
            max_waiting: 7,
            spin: Duration::from_micros(50),
        };
        let load = LoadDrive {
            pacing: open,
            ..LoadDrive::default()
        };
        for drive in [Drive::Rounds(Rounds::default()), Drive::Load(load)] {
            let spec = RunSpec {
                run_id: "r".to_owned(),
                plan: Arc::clone(&plan),
                seed: u64::MAX,
                users: 3,
                drive,
                start_place: Some(1),
                command: None,
                notes: Vec::new(),
                label: Some("A".to_owned()),
                beside: Vec::new(),
                background: None,
            };
            let written = serde_json::to_string(&spec).unwrap();
            let read: RunSpec = serde_json::from_str(&written).unwrap();
            assert_eq!(read.plan, plan);
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
        }
    }
}
