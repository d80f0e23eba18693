//! How hard the load generator had to work: whether it was the server that was measured.

use record::{Exhausted, Generator, Lateness, Nanos, TestId};

use crate::Share;

/// Nanoseconds of measuring below which the share of processor time is not meaningful: the ticks
/// and hiccups of any system weigh too much in it.
pub const LEAST_WALL: Nanos = 200_000_000;

/// The share of all time of the workers from which on they had no idle time (percent): the rest is
/// the system calls that check for new data.
pub const SATURATED: u64 = 95;

/// The share from which on operations wait for each other in the generator now and then (percent).
/// At 80 % a queue with random arrivals is four operations long on average (M/M/1: 0.8 / 0.2).
pub const BUSY: u64 = 80;

/// The share of time in which workers could have run and had no processor, from which on another
/// program, perhaps the server, takes the time that they need (percent).
pub const QUEUED: u64 = 10;

/// A single stall that is worth a warning: 50 ms. No estimate need be in danger, a maximum is.
pub const LONG_STALL: Nanos = 50_000_000;

/// The greatest p99 of lateness with which a schedule was kept: 1 ms, a tick of the timer.
pub const LATE: Nanos = 1_000_000;

/// Records of the load generator about itself, by the names of tests.
#[derive(Debug, Default)]
pub(crate) struct Strain {
    tests: Vec<(String, Generator)>,
    /// The same, as far as there is enough of it to judge shares of time: tests that are too short
    /// to be judged by themselves have the sum of all short ones.
    judged: Vec<(String, Generator)>,
}

impl Strain {
    /// Sorts the records. Tests too short to be judged by themselves are judged together.
    pub(crate) fn of(generators: &[Generator], name: impl Fn(TestId) -> String) -> Strain {
        let is_short = |generator: &&Generator| generator.wall < LEAST_WALL;
        let short = generators.iter().filter(is_short).cloned();
        let short = short.reduce(|one, other| together(&one, &other));
        let short = short.filter(|short| short.wall >= LEAST_WALL);
        let tests = generators.iter();
        let tests = tests.map(|generator| (name(generator.test), generator.clone()));
        let tests: Vec<(String, Generator)> = tests.collect();
        let judged = |(name, generator): &(String, Generator)| {
            let is_short = generator.wall < LEAST_WALL;
            let judged = if is_short {
                short.clone()?
            } else {
                generator.clone()
            };
            Some((name.clone(), judged))
        };
        Strain {
            judged: tests.iter().filter_map(judged).collect(),
            tests,
        }
    }

    /// Tests in which a resource ran out, and the resources that did in all of them.
    pub(crate) fn exhausted(&self) -> (Vec<Share>, Exhausted) {
        let mut all = Exhausted::default();
        for (_, generator) in &self.tests {
            all.ports += generator.exhausted.ports;
            all.files += generator.exhausted.files;
            all.buffers += generator.exhausted.buffers;
        }
        let times = |what: &Exhausted| what.ports + what.files + what.buffers;
        let tests = self.tests.iter();
        let tests = tests.filter(|(_, generator)| generator.exhausted.any());
        let share = |(name, generator): &(String, Generator)| Share {
            name: name.clone(),
            count: times(&generator.exhausted),
            of: times(&all),
        };
        (tests.map(share).collect(), all)
    }

    /// How late operations of an open loop began, which is recorded once for all of them.
    pub(crate) fn lateness(&self) -> Option<&Lateness> {
        let mut tests = self.tests.iter();
        tests.find_map(|(_, generator)| generator.lateness.as_ref())
    }

    /// Tests in which the workers had no time, or little, to spare: time used and time wanted, of
    /// the time there was.
    pub(crate) fn used(&self, percent: std::ops::Range<u64>) -> Vec<Share> {
        self.shares(percent, |of| of.cpu + of.queued.unwrap_or(0))
    }

    pub(crate) fn queued(&self) -> Vec<Share> {
        self.shares(QUEUED..u64::MAX, |of| of.queued.unwrap_or(0))
    }

    pub(crate) fn hiccups(&self) -> Vec<Share> {
        let tests = self.tests.iter();
        let long = tests.filter(|(_, generator)| generator.longest_stall >= LONG_STALL);
        long.map(|(name, generator)| Share {
            name: name.clone(),
            count: generator.longest_stall,
            of: generator.wall,
        })
        .collect()
    }

    /// Tests in which a part of the workers' time has that many percent.
    fn shares(
        &self,
        percent: std::ops::Range<u64>,
        part: impl Fn(&Generator) -> Nanos,
    ) -> Vec<Share> {
        let shares = self.judged.iter().map(|(name, generator)| Share {
            name: name.clone(),
            count: part(generator),
            of: generator.wall * u64::from(generator.workers),
        });
        shares.filter(|share| share.is_within(&percent)).collect()
    }
}

/// Two pieces of measuring as one, each worker's time counted once. Lateness and exhausted
/// resources cannot be merged, and are those of the first.
pub fn together(one: &Generator, other: &Generator) -> Generator {
    Generator {
        workers: one.workers.max(other.workers),
        wall: one.wall + other.wall,
        cpu: one.cpu + other.cpu,
        queued: one.queued.zip(other.queued).map(|(a, b)| a + b),
        stalled: one.stalled + other.stalled,
        stalls: one.stalls + other.stalls,
        longest_stall: one.longest_stall.max(other.longest_stall),
        rested: one.rested + other.rested,
        waited: one.waited + other.waited,
        lateness: [one.lateness, other.lateness]
            .into_iter()
            .flatten()
            .max_by_key(|late| late.p99),
        exhausted: Exhausted {
            ports: one.exhausted.ports + other.exhausted.ports,
            files: one.exhausted.files + other.exhausted.files,
            buffers: one.exhausted.buffers + other.exhausted.buffers,
        },
        test: one.test,
    }
}
