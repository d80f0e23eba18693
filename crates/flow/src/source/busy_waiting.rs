//! Waking up before a moment, and busy-waiting for it.
//!
//! A thread is awake 20 to 30 µs after its timer has expired, in virtual machines. Blocks that are
//! due meanwhile would be sent at once, and shorter distances would be missing: 2.5 % of those of a
//! Poisson process of 1,000 blocks per second. So it wakes up earlier. Measured programs need the
//! processor, too: the time for busy-waiting is limited.

use crate::clock::monotonic_ns;

/// Lead of waking up before a moment.
const EARLY_NS: u64 = 60_000;

/// Inverse of the largest share of its time for which a thread may busy-wait.
const PART: u64 = 20;

/// Most busy-waiting time that it saves for busier times.
const MOST_NS: u64 = 5_000_000;

/// Budget of busy-waiting.
#[derive(Debug, Default)]
pub(super) struct BusyWaiting {
    left_ns: u64,
    /// When the budget was computed.
    at: u64,
}

impl BusyWaiting {
    /// When to wake up for a moment.
    pub(super) fn wake_up_for(&self, moment: u64) -> u64 {
        if self.left_at(moment) < EARLY_NS {
            return moment;
        }
        moment.saturating_sub(EARLY_NS)
    }

    /// Waits for a moment, if it is very near.
    pub(super) fn wait(&mut self, moment: u64) {
        let begun = monotonic_ns();
        if moment <= begun || moment > begun + EARLY_NS {
            return;
        }
        let mut now = begun;
        while now < moment {
            std::hint::spin_loop();
            now = monotonic_ns();
        }
        self.waited(begun, now);
    }

    fn waited(&mut self, begun: u64, now: u64) {
        self.left_ns = self.left_at(now).saturating_sub(now - begun);
        self.at = now;
    }

    fn left_at(&self, now: u64) -> u64 {
        let earned = now.saturating_sub(self.at) / PART;
        self.left_ns.saturating_add(earned).min(MOST_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of a second that a thread busy-waits at 40 µs before each of so many moments.
    fn busy_share(moments: u64) -> f64 {
        let mut waiting = BusyWaiting::default();
        let mut total = 0;
        for number in 1..=moments {
            let moment = 1_000_000_000 + number * 1_000_000_000 / moments;
            if waiting.wake_up_for(moment) < moment {
                waiting.waited(moment - 40_000, moment);
                total += 40_000;
            }
        }
        total as f64 / 1e9
    }

    #[test]
    fn it_is_for_every_moment_of_rare_ones_and_limited_with_frequent_ones() {
        assert!((busy_share(100) - 0.004).abs() < 1e-9);
        assert!((busy_share(1_000) - 0.04).abs() < 1e-9);
        for moments in [2_000, 20_000] {
            let share = busy_share(moments);
            assert!((0.045..0.056).contains(&share), "{moments}: {share}");
        }
    }
}
