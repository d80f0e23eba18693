//! A plain server, and how it can be made odd. Seeded: the figures are the same on every machine.

use std::convert::Infallible;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use record::{Event, EventKind, MeasureId, Nanos, Outcome, Run};

use crate::diagnose::{Material, material_from};
use crate::testing::{RunBuilder, connect, moments, sample};

/// Pattern in a row beside its noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Odd {
    Plain,
    /// Times become that share longer over the run.
    Grows(f64),
    /// This share of the operations, here and there, takes this many microseconds more.
    Slow(f64, f64),
    /// Every n-th takes this many microseconds more.
    Every(u64, f64),
    /// This share has a pause of this many microseconds between the first byte and the last.
    Pauses(f64, f64),
    /// One in so many operations opens a connection.
    Opens(u64),
    /// Every n-th gets a 401 first.
    Challenged(u64),
    /// Every n-th has another status, and takes this many microseconds more.
    Declined(u64, f64),
    /// One in so many operations fails.
    Fails(u64),
    /// Five of them take this many microseconds more.
    Few(f64),
    /// All from the middle of the row on take this many microseconds more.
    Switches(f64),
    /// All have a pause of this many microseconds, give or take 2 %, between first and last byte.
    Paused(f64),
}

/// How times scatter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    None,
    /// Log-normal, with this deviation of the logarithm.
    LogNormal(f64),
    /// The same, with this correlation of neighbours.
    Correlated(f64, f64),
    /// Log-normal, and one of a hundred is up to a hundred times as long (Pareto, exponent 1).
    HeavyTail(f64),
}

/// The path between the generator and the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Path {
    /// Nothing: both are on one machine.
    Loopback,
    /// Any request takes this many microseconds, give or take 2 %, before anything is done.
    Floor(f64),
    /// A wireless link: round trips of 3 ms that scatter, bursts in which they scatter more, a lost
    /// frame now and then, and each second 80 ms in which the radio looks for other networks.
    Wireless,
}

#[derive(Debug, Clone)]
pub(super) struct PlainRow {
    pub(super) name: String,
    method: &'static str,
    /// Median response time, microseconds.
    pub(super) us: f64,
    /// From the first byte to the last.
    pub(super) transfer_us: f64,
    pub(super) n: u64,
    pub(super) bytes: u64,
    /// Time of the first request, in the warm-up, as a multiple.
    pub(super) first: f64,
    pub(super) odd: Odd,
}

pub(super) fn row(name: &str, method: &'static str, us: f64, n: u64) -> PlainRow {
    PlainRow {
        name: name.to_owned(),
        method,
        us,
        transfer_us: 5.0,
        n,
        bytes: 500,
        first: 1.5,
        odd: Odd::Plain,
    }
}

/// All rows of the four suites, of a server that does everything well enough.
pub(super) fn plain() -> Vec<PlainRow> {
    let prestan = [
        ("ProppatchMult", "PROPPATCH", 432.0),
        ("ProppatchSingle", "PROPPATCH", 397.0),
        ("PropfindDeadMult", "PROPFIND", 230.0),
        ("PropfindDeadSingle", "PROPFIND", 214.0),
        ("PropfindLiveMult", "PROPFIND", 243.0),
        ("PropfindLiveSingle", "PROPFIND", 108.0),
        ("Put1K", "PUT", 284.0),
        ("Get1K", "GET", 60.0),
        ("Put64K", "PUT", 400.0),
        ("Get64K", "GET", 86.0),
        ("Put1024K", "PUT", 369.0),
        ("Get1024K", "GET", 122.0),
        ("Copy", "COPY", 222.0),
        ("Move", "MOVE", 225.0),
        // Unlinking takes 30 us for each member, and little more on its own.
        ("Delete", "DELETE", 45.0),
        ("MkCol", "MKCOL", 314.0),
        ("CopyCol", "COPY", 15_000.0),
        ("MoveCol", "MOVE", 3_550.0),
        ("DeleteCol", "DELETE", 3_315.0),
        ("Lock", "LOCK", 390.0),
        ("UnLock", "UNLOCK", 400.0),
        ("LockCol", "LOCK", 500.0),
        ("UnLockCol", "UNLOCK", 480.0),
        // Work that takes as long as a delayed acknowledgement.
        ("Report", "REPORT", 42_000.0),
    ];
    let mut rows: Vec<PlainRow> = Vec::new();
    rows.extend(prestan.map(|(name, method, us)| row(name, method, us, 100)));
    of(&mut rows, "Get64K").bytes = 65_800;
    of(&mut rows, "Get1024K").bytes = 1_048_900;
    for size in [10, 100, 1_000, 10_000] {
        let n = if size < 10_000 { 20 } else { 5 };
        rows.push(row(&format!("Depth0x{size}"), "PROPFIND", 150.0, n));
        let kinds = [
            ("Depth1", 10.0),
            ("Allprop", 14.0),
            ("Propname", 8.0),
            ("Collections", 11.0),
        ];
        rows.extend(kinds.map(|(kind, each)| PlainRow {
            transfer_us: each * f64::from(size),
            bytes: 500 * u64::from(size as u32),
            ..row(&format!("{kind}x{size}"), "PROPFIND", 250.0, n)
        }));
    }
    let locks = [
        ("LockHeld", "LOCK", 390.0),
        ("RefreshHeld", "LOCK", 100.0),
        ("DiscoveryHeld", "PROPFIND", 90.0),
        ("PutHeld", "PUT", 300.0),
        ("UnlockHeld", "UNLOCK", 400.0),
    ];
    for held in [0, 100, 1_000, 10_000] {
        let row = |(name, method, us)| row(&format!("{name}x{held}"), method, us, 30);
        rows.extend(locks.map(row));
    }
    rows.push(row("ContendedLock", "LOCK", 500.0, 30));
    for size in [10, 100, 1_000, 10_000] {
        let n = if size < 10_000 { 20 } else { 5 };
        rows.push(PlainRow {
            transfer_us: 12.0 * f64::from(size),
            bytes: 500 * u64::from(size as u32),
            ..row(&format!("Infinityx{size}"), "PROPFIND", 250.0, n)
        });
    }
    rows.push(row("GetUnchanged", "GET", 65.0, 20));
    for (name, bytes) in [("ListPlain", 500_000), ("ListGzip", 40_000)] {
        rows.push(PlainRow {
            transfer_us: 10_000.0,
            bytes,
            ..row(name, "PROPFIND", 250.0, 20)
        });
    }
    rows
}

pub(super) fn of<'a>(rows: &'a mut [PlainRow], name: &str) -> &'a mut PlainRow {
    let found = rows.iter_mut().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no row {name}"))
}

pub(super) fn run(rows: &[PlainRow], noise: Noise, users: u32, seed: u64) -> Run {
    run_over(Path::Loopback, rows, noise, users, seed)
}

pub(super) fn run_over(path: Path, rows: &[PlainRow], noise: Noise, users: u32, seed: u64) -> Run {
    let mut builder = RunBuilder::new(users);
    for row in rows {
        builder = builder.test(&row.name, &[(&row.name, row.method)]);
    }
    let mut run = builder.build();
    if path != Path::Loopback {
        run.plan.target = "http://server.example/dav/".into();
    }
    let mut server = OddServer {
        rng: ChaCha8Rng::seed_from_u64(seed),
        noise,
        path,
        burst_ends: 0,
        next_burst: 0,
        state: 0.0,
        clock: 0,
        number: 0,
    };
    for (row, index) in rows.iter().zip(0..) {
        server.measure(row, MeasureId(index), users, &mut run);
    }
    run
}

pub(super) fn material(run: &Run) -> Material {
    let samples = || Ok(std::iter::once(Ok::<_, Infallible>(&run.samples)));
    let Ok(material) = material_from(&run.plan, &run.events, &run.env, samples);
    material
}

struct OddServer {
    rng: ChaCha8Rng,
    noise: Noise,
    path: Path,
    /// When a burst on a wireless link ends, and the next one begins.
    burst_ends: Nanos,
    next_burst: Nanos,
    state: f64,
    clock: Nanos,
    number: u64,
}

impl OddServer {
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    fn chance(&mut self) -> f64 {
        use rand::RngExt;
        self.rng.random()
    }

    /// By how much a time is longer than its median.
    fn factor(&mut self) -> f64 {
        match self.noise {
            Noise::None => 1.0,
            Noise::LogNormal(sigma) => (sigma * self.normal()).exp(),
            Noise::Correlated(sigma, rho) => {
                self.state = rho * self.state + (1.0 - rho * rho).sqrt() * self.normal();
                (sigma * self.state).exp()
            }
            Noise::HeavyTail(sigma) => {
                let tail = if self.chance() < 0.01 {
                    (1.0 / self.chance().max(0.01)).min(100.0)
                } else {
                    1.0
                };
                tail * (sigma * self.normal()).exp()
            }
        }
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.chance().max(1e-9).ln()
    }

    /// Microseconds that the path takes now.
    fn on_the_way(&mut self) -> f64 {
        const MS: Nanos = 1_000_000;
        match self.path {
            Path::Loopback => 0.0,
            Path::Floor(us) => us * (0.02 * self.normal()).exp(),
            Path::Wireless => {
                if self.clock >= self.next_burst {
                    self.burst_ends = self.clock + (self.exponential(80.0) * 1e6) as Nanos;
                    self.next_burst = self.burst_ends + (self.exponential(500.0) * 1e6) as Nanos;
                }
                let mut us = 3_000.0 * (0.3 * self.normal()).exp();
                if self.clock < self.burst_ends {
                    us += self.exponential(10_000.0);
                }
                if self.chance() < 0.02 {
                    us += self.exponential(15_000.0);
                }
                let in_second = self.clock % (1_000 * MS);
                if in_second < 80 * MS {
                    us += (80 * MS - in_second) as f64 / 1e3;
                }
                us
            }
        }
    }

    fn measure(&mut self, row: &PlainRow, measure: MeasureId, users: u32, run: &mut Run) {
        let first = row.us * row.first * self.factor() + self.on_the_way();
        run.events.push(Event {
            at: self.clock,
            kind: EventKind::FirstAnswer {
                measure,
                took: (first * 1e3) as Nanos,
            },
        });
        for i in 0..row.n {
            for user in 0..users {
                let mut one = self.operation(row, i);
                (one.measure, one.user) = (measure, user);
                run.samples.push(one);
            }
            let end = run.samples.last().and_then(|one| one.moments.done);
            self.clock = end.unwrap_or(self.clock) + 20_000;
        }
    }

    fn operation(&mut self, row: &PlainRow, i: u64) -> record::Sample {
        let (mut us, mut transfer) = (row.us * self.factor(), row.transfer_us * self.factor());
        let nth = |every: u64| i % every == every - 1;
        match row.odd {
            Odd::Grows(share) => us *= 1.0 + share * i as f64 / row.n as f64,
            Odd::Slow(share, more) if self.chance() < share => us += more,
            Odd::Every(every, more) | Odd::Declined(every, more) if nth(every) => us += more,
            Odd::Pauses(share, more) if self.chance() < share => transfer += more,
            Odd::Few(more) if [7, 31, 44, 78, 95].contains(&i) => us += more,
            Odd::Switches(more) if i >= row.n / 2 => us += more,
            Odd::Paused(more) => transfer = more * (0.02 * self.normal()).exp(),
            _ => {}
        }
        us += self.on_the_way();
        self.number += 1;
        let fails = matches!(row.odd, Odd::Fails(every) if nth(every));
        let outcome = if fails {
            Outcome::WrongStatus
        } else {
            Outcome::Ok
        };
        let mut one = sample(MeasureId(0), 0, outcome);
        one.number = self.number;
        one.bytes_received = row.bytes;
        if matches!(row.odd, Odd::Declined(every, _) if nth(every)) {
            one.status = Some(423);
        }
        if matches!(row.odd, Odd::Opens(every) if nth(every)) {
            one.connect = connect(200_000, None);
        }
        one.resent = matches!(row.odd, Odd::Challenged(every) if nth(every));
        let sent = self.clock + 10_000;
        let first = sent + (us * 1e3) as Nanos;
        let done = first + (transfer * 1e3) as Nanos;
        one.moments = moments(self.clock, sent, first, done);
        one
    }
}
