//! Detects when a newly started server is warm.

use record::Nanos;

/// Rounds before the first check; after that, twice as many each time.
const FIRST_LOOK: usize = 8;

/// The share by which the later half of the rounds may be quicker than the earlier one for a steady
/// server. Medians of a few rounds differ by as much.
const QUICKER: f64 = 0.05;

/// The rounds of a user before it measures a test.
#[derive(Debug)]
pub(super) struct Warmup {
    least: u32,
    steady_within: Nanos,
    /// How long each round took.
    rounds: Vec<Nanos>,
    spent: Nanos,
    is_steady: bool,
}

impl Warmup {
    /// At least `least` rounds; then for a quarter of `steady_within` and until they get no
    /// quicker, but for no longer than all of it.
    pub(super) fn new(least: u32, steady_within: Nanos) -> Self {
        Warmup {
            least,
            steady_within,
            rounds: Vec::new(),
            spent: 0,
            is_steady: false,
        }
    }

    pub(super) fn add(&mut self, took: Nanos) {
        self.rounds.push(took);
        self.spent += took;
        let n = self.rounds.len();
        if n >= FIRST_LOOK && n.is_power_of_two() {
            self.is_steady = is_steady(&self.rounds);
        }
    }

    /// True if no further round is needed, or there is no time.
    pub(super) fn is_over(&self) -> bool {
        let enough = self.rounds.len() >= self.least as usize;
        let steady = self.is_steady && self.spent >= self.steady_within / 4;
        enough && (steady || self.spent >= self.steady_within)
    }
}

/// True if the later half is not quicker than the earlier one, by their medians: a single slow
/// round is no evidence.
fn is_steady(rounds: &[Nanos]) -> bool {
    let (earlier, later) = rounds.split_at(rounds.len() / 2);
    median(later) >= median(earlier) * (1.0 - QUICKER)
}

fn median(rounds: &[Nanos]) -> f64 {
    let mut sorted = rounds.to_vec();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    (sorted[(sorted.len() - 1) / 2] + sorted[middle]) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Rounds until it is over, for a server with these times of its rounds.
    fn rounds(mut warmup: Warmup, took: impl Fn(usize) -> Nanos) -> usize {
        while !warmup.is_over() {
            warmup.add(took(warmup.rounds.len()));
        }
        warmup.rounds.len()
    }

    #[test]
    fn a_server_that_gets_quicker_is_waited_for() {
        let steady = |_| MS;
        assert_eq!(rounds(Warmup::new(3, 40 * MS), steady), 10);
        assert_eq!(rounds(Warmup::new(20, 40 * MS), steady), 20);
        // A compiler at run time: three times as long for the first 40 rounds.
        let compiled = |n| if n < 40 { 3 * MS } else { MS };
        assert_eq!(rounds(Warmup::new(3, 640 * MS), compiled), 256);
        let slowly = |n| MS + 4 * MS * 20 / (20 + n as Nanos);
        assert!(rounds(Warmup::new(3, 2_000 * MS), slowly) > 1_024);
    }

    #[test]
    fn a_warm_up_ends_in_time() {
        let slowly = |n| 100 * MS / (1 + n as Nanos);
        let found = rounds(Warmup::new(3, 150 * MS), slowly);
        assert!((2..=4).contains(&found), "{found}");
        // Without a time, it is the number of rounds alone.
        assert_eq!(rounds(Warmup::new(3, 0), |_| MS), 3);
        assert_eq!(rounds(Warmup::new(0, 0), |_| MS), 0);
    }

    #[test]
    fn one_slow_round_says_nothing() {
        let first_is_slow = |n| if n == 0 { 50 * MS } else { MS };
        assert_eq!(rounds(Warmup::new(3, 200 * MS), first_is_slow), 8);
    }
}
