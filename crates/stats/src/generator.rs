//! How hard the generator had to work: whether it was the server that was measured.

use record::{Exhausted, Generator, Lateness, Nanos, TestId};

use crate::Share;

/// Nanoseconds of measuring below which the share of processor time says nothing: the ticks and
/// hiccups of any system weigh too much in it.
pub const LEAST_WALL: Nanos = 200_000_000;

/// Of all time of the workers, the share from which on they had none to spare (percent): what
/// remains is the system calls in which they look whether anything has come.
pub const SATURATED: u64 = 95;

/// The share from which on operations wait for each other in the generator now and then (percent).
/// At 80 % a queue with random arrivals is four operations long on average (M/M/1: 0.8 / 0.2).
pub const BUSY: u64 = 80;

/// The share of time in which workers could have run and had no processor, from which on somebody
/// else, perhaps the server, takes what they need (percent).
pub const QUEUED: u64 = 10;

/// The share of time in which workers did not look after their users, above which the slowest
/// operations, those that p99 is about, are theirs and not the server's (percent).
pub const STALLED: u64 = 1;

/// A single delay that is worth a word: 50 ms. No p99 is in danger below [`STALLED`], a maximum is.
pub const LONG_STALL: Nanos = 50_000_000;

/// The greatest p99 of lateness with which a schedule was kept: 1 ms, a tick of the timer.
pub const LATE: Nanos = 1_000_000;

/// Operations below which p99 of lateness is only its maximum, and a single hiccup.
const LATENESS_NEEDS: u64 = 100;

/// The marks that generators left, as far as there is enough of them to judge.
#[derive(Debug, Default)]
pub(crate) struct Strain {
    workers: Vec<(String, Generator)>,
    late: Vec<(String, Lateness)>,
    /// What ran out, of all tests.
    pub(crate) exhausted: Exhausted,
}

impl Strain {
    /// Sorts what generators reported. Tests too short to be judged alone are judged together.
    pub(crate) fn of(generators: &[Generator], name: impl Fn(TestId) -> String) -> Strain {
        let mut strain = Strain::default();
        let mut short: Option<Generator> = None;
        for generator in generators {
            let all = &mut strain.exhausted;
            all.ports += generator.exhausted.ports;
            all.files += generator.exhausted.files;
            all.buffers += generator.exhausted.buffers;
            let late = generator.lateness.filter(|late| late.n >= LATENESS_NEEDS);
            strain
                .late
                .extend(late.map(|late| (name(generator.test), late)));
            if generator.wall >= LEAST_WALL {
                strain
                    .workers
                    .push((name(generator.test), generator.clone()));
            } else {
                short = Some(match short {
                    None => generator.clone(),
                    Some(others) => together(&others, generator),
                });
            }
        }
        if let Some(short) = short.filter(|short| short.wall >= LEAST_WALL) {
            strain.workers.push(("short tests".into(), short));
        }
        strain
    }

    /// Tests in which the workers had no time, or little, to spare: time used and time wanted, of
    /// the time there was.
    pub(crate) fn used(&self, percent: std::ops::Range<u64>) -> Vec<Share> {
        self.shares(percent, |of| of.cpu + of.queued.unwrap_or(0))
    }

    /// Tests in which workers waited for a processor.
    pub(crate) fn queued(&self) -> Vec<Share> {
        self.shares(QUEUED..u64::MAX, |of| of.queued.unwrap_or(0))
    }

    /// Tests in which workers left their users waiting.
    pub(crate) fn stalled(&self) -> Vec<Share> {
        let mut stalled = self.shares(STALLED..u64::MAX, |of| of.stalled);
        stalled.retain(|share| share.percent() > STALLED as f64);
        stalled
    }

    /// Tests with a single long delay that are not [stalled](Strain::stalled) as a whole.
    pub(crate) fn hiccups(&self) -> Vec<Share> {
        let stalled = self.stalled();
        let long = self.workers.iter().filter(|(name, generator)| {
            generator.longest_stall >= LONG_STALL && stalled.iter().all(|share| share.name != *name)
        });
        long.map(|(name, generator)| Share {
            name: name.clone(),
            count: generator.longest_stall,
            of: generator.wall,
        })
        .collect()
    }

    /// Tests whose schedule was not kept.
    pub(crate) fn late(&self) -> Vec<Share> {
        let late = self.late.iter().filter(|(_, late)| late.p99 > LATE);
        late.map(|(name, late)| Share {
            name: name.clone(),
            count: late.p99,
            of: LATE,
        })
        .collect()
    }

    /// Tests in which a part of the workers' time has that many percent.
    fn shares(
        &self,
        percent: std::ops::Range<u64>,
        part: impl Fn(&Generator) -> Nanos,
    ) -> Vec<Share> {
        let shares = self.workers.iter().map(|(name, generator)| Share {
            name: name.clone(),
            count: part(generator),
            of: generator.wall * u64::from(generator.workers),
        });
        shares
            .filter(|share| {
                let found = share.percent();
                percent.start as f64 <= found && found < percent.end as f64
            })
            .collect()
    }
}

/// Two pieces of measuring as one, each worker's time counted once. What cannot be put together,
/// lateness and what ran out, is that of the first.
pub fn together(one: &Generator, other: &Generator) -> Generator {
    Generator {
        workers: one.workers.max(other.workers),
        wall: one.wall + other.wall,
        cpu: one.cpu + other.cpu,
        queued: one.queued.zip(other.queued).map(|(a, b)| a + b),
        stalled: one.stalled + other.stalled,
        longest_stall: one.longest_stall.max(other.longest_stall),
        rested: one.rested + other.rested,
        waited: one.waited + other.waited,
        ..one.clone()
    }
}
