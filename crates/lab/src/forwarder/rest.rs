//! Budget of busy-waiting, after which the thread has to rest.
//!
//! The kernel stops a thread of real-time priority for 50 ms in every second in which it did not
//! rest for as long (sched(7), `sched_rt_runtime_us`): a thousand times the gain of busy-waiting.

/// Nanoseconds of busy-waiting for each nanosecond without the processor.
const USE_PER_REST: i64 = 5;

/// Most time that can be saved up, in ns. With both figures, a thread that uses its whole budget
/// rests for 150 ms in a second.
const MOST_CREDIT: i64 = 100_000_000;

/// The budget of using the processor without need.
#[derive(Debug)]
pub(super) struct RestAccount {
    /// In ns.
    credit: i64,
}

impl RestAccount {
    pub(super) fn new() -> RestAccount {
        RestAccount {
            credit: MOST_CREDIT,
        }
    }

    /// Of these `elapsed` ns, the thread used the processor for `used` ns. Necessary work makes no
    /// debts.
    pub(super) fn count(&mut self, elapsed: u64, used: u64) {
        let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
        let rest = signed(elapsed.saturating_sub(used)).saturating_mul(USE_PER_REST);
        let credit = self
            .credit
            .saturating_add(rest)
            .saturating_sub(signed(used));
        self.credit = credit.clamp(0, MOST_CREDIT);
    }

    pub(super) fn allows_busy_waiting(&self) -> bool {
        self.credit > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rest in ms of each second, of a thread that busy-waits whenever it may, and works for `work`
    /// of each millisecond otherwise.
    fn rests(work: u64) -> Vec<u64> {
        let mut account = RestAccount::new();
        let mut rest_of = |_| {
            let used = if account.allows_busy_waiting() {
                1_000_000
            } else {
                work
            };
            account.count(1_000_000, used);
            1_000_000 - used
        };
        (0..5)
            .map(|_| (0..1000).map(&mut rest_of).sum::<u64>() / 1_000_000)
            .collect()
    }

    #[test]
    fn a_thread_that_busy_waits_rests_long_enough() {
        for work in [0, 300_000, 800_000] {
            let rests = rests(work);
            assert!(
                rests.iter().all(|rest| (75..=200).contains(rest)),
                "{work}: {rests:?}"
            );
        }
        // Necessary work is always done.
        assert_eq!(rests(1_000_000), [0; 5]);
    }
}
