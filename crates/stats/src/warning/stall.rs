//! Greatest possible effect of stalls of the load generator on the estimates of a row.
//!
//! The record has how often, how long in all and how long at most the worker threads of a test
//! stalled, but not when. A stall can prolong the operations that are under way in its worker
//! thread: at most one for each user of that thread, or as many as its pipeline holds. The worker
//! thread reads their responses after the stall, so the total time of each is at least that of the
//! shortest stall. The bound uses the slowest operations of the row for these, and subtracts from
//! each the length of the longest stall, or all of its time where that is less. So a row without a
//! slow operation was not affected, however long the load generator stalled.
//!
//! With the kernel's clock, the response time of an operation whose response arrives in one packet
//! does not contain a stall at all: both of its moments are the kernel's. In a longer response,
//! packets may have been merged before they were read, and the bound is the same as with the user
//! clock.

use record::{Clock, Generator, Load, Nanos, Pace};

use crate::times::{P99_NEEDS, Times, rank};

/// Percent of an estimate that the load generator may have added before the row is disqualified:
/// the difference that comparisons are to find.
pub const TOLERATED: u64 = 5;

/// Bytes that fit into one packet on any link (the least of IPv6 has 1,280, RFC 8200, section 5).
const ONE_PACKET: u64 = 1_200;

/// Normal quantile of a two-sided 95 % interval.
const Z95: f64 = 1.96;

/// A part of an estimate that may be the load generator's own, and the estimate, in nanoseconds.
pub(crate) type Part = (u64, u64);

/// Possible effect of stalls and late beginnings on the estimates of one row.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowFacts {
    /// The largest part of an estimate that stalls can be.
    pub(crate) stalled: Option<Part>,
    /// The part of the mean total time that they can be.
    pub(crate) total_stalled: Option<Part>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stalls {
    count: u64,
    /// Upper bound of the longest.
    longest: Nanos,
    /// Upper bound of all together, over all worker threads.
    total: Nanos,
    /// Time of all worker threads.
    time: Nanos,
    /// Operations that one stall can have prolonged.
    at_a_time: u64,
}

/// The times of a row that stalls may be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StalledTimes<'a> {
    pub(crate) clock: Clock,
    pub(crate) response: &'a Times,
    /// Of an open loop.
    pub(crate) planned: Option<&'a Times>,
    pub(crate) total: &'a Times,
    /// Bytes of a response, on average.
    pub(crate) bytes: u64,
}

impl Stalls {
    pub(crate) fn of(generator: &Generator, load: &Load) -> Option<Stalls> {
        if generator.stalled == 0 {
            return None;
        }
        // Records made before stalls were counted have their sum; none was shorter than this.
        let counted = match generator.stalls {
            0 => generator.stalled / Generator::HELD_UP,
            counted => counted,
        };
        let count = counted.max(1);
        let workers = u64::from(generator.workers.max(1));
        let users = u64::from(load.users).div_ceil(workers);
        Some(Stalls {
            count,
            // Each began at an unknown moment of the beat before it was noticed.
            longest: generator.longest_stall + Generator::BEAT,
            total: generator.stalled + count * Generator::BEAT,
            time: generator.wall.saturating_mul(workers),
            at_a_time: users * u64::from(load.http.pipeline.max(1)),
        })
    }

    /// The largest part of an estimate of times that clients wait for, or of the load, that stalls
    /// can account for.
    pub(crate) fn estimate_part(&self, row: &StalledTimes<'_>, load: &Load) -> Option<Part> {
        let is_seen = row.clock == Clock::User || row.bytes > ONE_PACKET;
        let late = row
            .planned
            .map_or(0, |planned| self.began_meanwhile(planned));
        let prolonged = self.prolonged(row) + late;
        let times = row.planned.or(is_seen.then_some(row.response));
        let of_times = times.and_then(|times| {
            let parts = [
                self.mean_part(times, prolonged),
                p99_part(times, prolonged, self.longest),
            ];
            parts.into_iter().flatten().max_by(by_share)
        });
        let parts = of_times.into_iter().chain(self.load_part(load));
        parts.max_by(by_share)
    }

    /// The part of the time in which users were not at work: the load was less than its name, and
    /// throughput by as much. A single user of a suite only has longer pauses.
    pub(crate) fn load_part(&self, load: &Load) -> Option<Part> {
        let is_load = load.users > 1 || load.pace != Pace::Rounds;
        is_load.then_some((self.total, self.time))
    }

    /// The part that the mean of the total times can have of them.
    pub(crate) fn total_part(&self, row: &StalledTimes<'_>) -> Option<Part> {
        self.mean_part(row.total, self.prolonged(row))
    }

    /// Operations that were under way during a stall, at most.
    fn prolonged(&self, row: &StalledTimes<'_>) -> u64 {
        let slow = row.total.count_from(Generator::HELD_UP);
        self.count.saturating_mul(self.at_a_time).min(slow)
    }

    /// Operations of an open loop that should have begun during a stall.
    fn began_meanwhile(&self, planned: &Times) -> u64 {
        let share = self.total as f64 / self.time.max(1) as f64;
        (planned.count() as f64 * share).ceil() as u64
    }

    fn mean_part(&self, times: &Times, prolonged: u64) -> Option<Part> {
        let n = times.count();
        let mean = times.describe()?.mean;
        let slowest = times.sum_of_slowest(prolonged, self.longest);
        Some(((slowest / u128::from(n)) as u64, mean as u64))
    }
}

/// The part that p99 can have where `prolonged` operations took at most `longest` more. A change
/// within the range of chance (its 95 % interval, by the binomial distribution) is no loss.
fn p99_part(times: &Times, prolonged: u64, longest: Nanos) -> Option<Part> {
    let n = times.count();
    let by_chance = (Z95 * (n as f64 * 0.99 * 0.01).sqrt()).ceil() as u64;
    if n < P99_NEEDS || prolonged <= by_chance {
        return None;
    }
    let rank_of_p99 = rank(n, 990);
    let below = |ranks: u64| rank_of_p99.saturating_sub(ranks).max(1);
    let [least, low, found] = times.at_ranks([below(prolonged), below(by_chance), rank_of_p99])?;
    let part = (found - least).min(longest);
    (part > found - low).then_some((part, found))
}

fn by_share(one: &Part, other: &Part) -> std::cmp::Ordering {
    share(one).total_cmp(&share(other))
}

fn share((part, of): &Part) -> f64 {
    *part as f64 / (*of).max(1) as f64
}

pub(crate) fn is_too_much(part: &Part) -> bool {
    share(part) * 100.0 > TOLERATED as f64
}
