//! Runs made by hand, for the tests of `stats` and of `report` (feature `testing`).
//!
//! [`RunBuilder`] starts from a small, complete and fully successful plan with stable values; a
//! test then states the differences. Nothing here is random.

use std::collections::BTreeMap;
use std::convert::Infallible;

use record::{
    Arrivals, CallTarget, Clock, Connect, Environment, Event, EventKind, Exhausted, Generator,
    Http, Load, Machine, MeasureId, MeasureRecord, Moments, Nanos, Outcome, Pace, PlanRecord,
    RUN_FORMAT, Run, Sample, Server, Stage, SuiteRecord, TestId, TestRecord, TracedCall,
};

use crate::{Details, PoolRun, Resolution, pool};

/// One microsecond in [`Nanos`].
pub const US: Nanos = 1_000;

/// Moments of an operation that was planned for the moment at which it started.
pub fn moments(started: Nanos, sent: Nanos, first: Nanos, done: Nanos) -> Moments {
    Moments {
        planned: started,
        started,
        sent: Some(sent),
        acked: None,
        first: Some(first),
        done: Some(done),
    }
}

/// What figures show of a run, one for each of its measures.
pub fn details(run: &Run, resolution: Resolution) -> Vec<Details> {
    let run = PoolRun {
        plan: &run.plan,
        events: &run.events,
        env: &run.env,
        pieces: || Ok(run.samples.chunks(7).map(Ok::<_, Infallible>)),
    };
    let Ok(pooled) = pool(&[run], Some(resolution));
    pooled.details
}

/// A generator at its ease: two workers, ten seconds, a quarter of the time used.
pub fn generator(test: TestId) -> Generator {
    const S: Nanos = 1_000_000_000;
    Generator {
        test,
        workers: 2,
        wall: 10 * S,
        cpu: 5 * S,
        queued: Some(S / 10),
        rested: 0,
        waited: 0,
        stalled: S / 100,
        stalls: 4,
        longest_stall: 3_000 * US,
        lateness: None,
        exhausted: Exhausted::default(),
    }
}

/// A connection that was opened, without what is known of its handshake.
pub fn connect(tcp: Nanos, tls: Option<Nanos>) -> Option<Connect> {
    Some(Connect {
        tcp,
        tls,
        resumed: None,
    })
}

/// So many calls without data, which took no time.
pub fn traced_call(call: &str, target: CallTarget, count: u64) -> TracedCall {
    TracedCall {
        call: call.to_owned(),
        target,
        for_lock: false,
        synchronous: false,
        count,
        failed: 0,
        bytes: 0,
        lasted: 0,
    }
}

/// An open loop of 1000 operations a second for ten seconds.
pub fn open_loop() -> Pace {
    Pace::Open {
        arrivals: Arrivals::Poisson,
        stages: vec![Stage {
            rate: 1000.0,
            duration_s: 10.0,
        }],
        max_waiting: 10_000,
    }
}

/// An operation at moment 0: 10 us to send, 100 us of response time, 20 us of transfer. One that
/// did not succeed has only begun.
pub fn sample(measure: MeasureId, user: u32, outcome: Outcome) -> Sample {
    let ok = outcome == Outcome::Ok;
    let mut moments = moments(0, 10 * US, 110 * US, 130 * US);
    if !ok {
        moments = Moments {
            sent: None,
            first: None,
            done: None,
            ..moments
        };
    }
    Sample {
        measure,
        user,
        number: 1,
        outcome,
        status: ok.then_some(207),
        moments,
        bytes_sent: 300,
        bytes_received: if ok { 500 } else { 0 },
        body_received: if ok { 400 } else { 0 },
        ..Sample::blank()
    }
}

/// Builds a run step by step.
#[derive(Debug, Clone)]
pub struct RunBuilder {
    run: Run,
    clock: Nanos,
}

impl RunBuilder {
    /// A complete run of `users` users against an Apache, without tests yet.
    pub fn new(users: u32) -> RunBuilder {
        let plan = PlanRecord {
            format: RUN_FORMAT,
            run_id: "20261121-040600-k3f9".into(),
            series: None,
            side: None,
            label: None,
            prestan: "0.1.0".into(),
            suite: SuiteRecord {
                name: "prestan".into(),
                version: 1,
                title: "the 23 WebDAV tests of Prestan".into(),
                sha256: "3f1d5c0a9b7e24680f1e2d3c4b5a69788796a5b4c3d2e1f00864e7b9a0c5d1f3".into(),
            },
            target: "http://127.0.0.1:8080/dav/".into(),
            others: Vec::new(),
            targets: Vec::new(),
            clock: Clock::User,
            acks: false,
            fresh_start: false,
            start_place: None,
            processors: None,
            notes: Vec::new(),
            labels_of_2004: false,
            command: None,
            params: params(),
            written_params: BTreeMap::new(),
            load: Load {
                users,
                pace: Pace::Rounds,
                requests: Some(100),
                duration_s: None,
                until: None,
                warmup: 3,
                warmup_s: 0.0,
                timeout_s: 30.0,
                seed: 1,
                http: Http::default(),
                in_turn: false,
                adapt: None,
            },
            tests: Vec::new(),
            measures: Vec::new(),
            pages: Vec::new(),
            roles: Vec::new(),
            beside: Vec::new(),
            background: None,
            inside: None,
            constraints: Vec::new(),
        };
        let env = Environment {
            others: Vec::new(),
            machine: Machine {
                os: "Linux 6.1.0".into(),
                cpu: "Example CPU @ 2.10GHz".into(),
                cores: 2,
                memory_bytes: 8_589_934_592,
            },
            server: Some(Server {
                software: Some("Apache/2.4.66 (Debian)".into()),
                dav: vec!["1".into(), "2".into()],
                allow: ["OPTIONS", "GET", "PUT", "PROPFIND"]
                    .map(String::from)
                    .to_vec(),
                http: "1.1".into(),
                same_machine: None,
                round_trip: None,
                via: None,
                addresses: Vec::new(),
            }),
            started_at: "2026-11-21T04:06:00Z".into(),
            ended_at: Some("2026-11-21T04:07:30Z".into()),
            conclusion: None,
            samples: None,
            counted: Vec::new(),
        };
        let run = Run {
            plan,
            env,
            events: Vec::new(),
            samples: Vec::new(),
        };
        RunBuilder { run, clock: 0 }
    }

    /// Changes the run by a function.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Run)) -> RunBuilder {
        change(&mut self.run);
        self
    }

    /// Adds a test that measures these rows, each a name and a method.
    #[must_use]
    pub fn test(mut self, name: &str, rows: &[(&str, &str)]) -> RunBuilder {
        let test = TestId(self.run.plan.tests.len() as u16);
        self.run.plan.tests.push(TestRecord {
            name: name.into(),
            title: None,
            http: None,
        });
        let measures = rows.iter().map(|(name, method)| MeasureRecord {
            name: (*name).into(),
            test,
            method: (*method).into(),
            by_chance: false,
            conditional: false,
            stop_watch: false,
            unit: None,
            target: 0,
            role: 0,
            verify: record::Verify::default(),
        });
        self.run.plan.measures.extend(measures);
        self
    }

    /// Adds `n` operations of every user to the row of the latest test with this name, all users in
    /// step. The i-th has the response time `us(i)` microseconds, and each begins when the one
    /// before has ended.
    #[must_use]
    pub fn ok(self, row: &str, n: u64, us: impl Fn(u64) -> u64) -> RunBuilder {
        self.ops(row, n, Outcome::Ok, us)
    }

    /// Adds `n` operations of every user that ended so; see [`ok`](RunBuilder::ok).
    #[must_use]
    pub fn ops(
        mut self,
        row: &str,
        n: u64,
        outcome: Outcome,
        us: impl Fn(u64) -> u64,
    ) -> RunBuilder {
        let measure = self.measure(row);
        for i in 0..n {
            let took = us(i) * US;
            let (sent, first) = (self.clock + 10 * US, self.clock + 10 * US + took);
            for user in 0..self.run.plan.load.users.max(1) {
                let mut sample = sample(measure, user, outcome);
                sample.number =
                    self.run.samples.iter().filter(|s| s.user == user).count() as u64 + 1;
                sample.moments = match outcome {
                    Outcome::Ok => moments(self.clock, sent, first, first + 20 * US),
                    _ => Moments {
                        planned: self.clock,
                        started: self.clock,
                        ..sample.moments
                    },
                };
                self.run.samples.push(sample);
            }
            self.clock = first + 20 * US;
        }
        self
    }

    /// Adds one operation as it is, to the row of this name.
    #[must_use]
    pub fn sample(mut self, row: &str, sample: Sample) -> RunBuilder {
        let measure = self.measure(row);
        self.run.samples.push(Sample { measure, ..sample });
        self
    }

    /// Adds an event. The function is given the ids of the test and the measure of this row.
    #[must_use]
    pub fn event(self, row: &str, kind: impl FnOnce(TestId, MeasureId) -> EventKind) -> RunBuilder {
        let measure = self.measure(row);
        let test = self.run.plan.measures[usize::from(measure.0)].test;
        let (at, kind) = (self.clock, kind(test, measure));
        self.push(at, kind)
    }

    /// Adds an event about the latest test, at that moment.
    #[must_use]
    pub fn event_at(self, at: Nanos, kind: impl FnOnce(TestId) -> EventKind) -> RunBuilder {
        let test = TestId(self.run.plan.tests.len().saturating_sub(1) as u16);
        self.push(at, kind(test))
    }

    /// Adds an event about the run as a whole.
    #[must_use]
    pub fn run_event(self, kind: EventKind) -> RunBuilder {
        let at = self.clock;
        self.push(at, kind)
    }

    fn push(mut self, at: Nanos, kind: EventKind) -> RunBuilder {
        self.run.events.push(Event { at, kind });
        self
    }

    /// The run.
    pub fn build(self) -> Run {
        self.run
    }

    fn measure(&self, row: &str) -> MeasureId {
        let mut measures = self.run.plan.measures.iter();
        let index = measures.position(|measure| measure.name == row);
        MeasureId(index.expect("the row was added with `test`") as u16)
    }
}

fn params() -> BTreeMap<String, serde_json::Value> {
    [
        ("depth", 10),
        ("properties", 10),
        ("requests", 100),
        ("width", 100),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect()
}
