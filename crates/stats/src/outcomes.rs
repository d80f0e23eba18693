//! How often each outcome occurred.

use record::Outcome;

/// A count for each [`Outcome`]. Every operation ends in exactly one of them, so the counts add
/// up to the number of operations; that number is not kept a second time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    /// Counts one more operation that ended so.
    pub fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Operations that ended so.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// All operations.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Operations that were as expected.
    pub fn ok(&self) -> u64 {
        self.of(Outcome::Ok)
    }

    /// Operations that failed: all but the expected ones and those that the user cut off.
    pub fn failed(&self) -> u64 {
        let failed = self.iter().filter(|(outcome, _)| outcome.is_failure());
        failed.map(|(_, n)| n).sum()
    }

    /// Every outcome with its count, zeros too, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL.into_iter().zip(self.0)
    }

    /// Both counts together.
    #[must_use]
    pub fn plus(&self, other: &Outcomes) -> Outcomes {
        Outcomes(std::array::from_fn(|i| self.0[i] + other.0[i]))
    }
}

impl FromIterator<Outcome> for Outcomes {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Outcomes {
        let mut counts = Outcomes::default();
        for outcome in outcomes {
            counts.add(outcome);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_place_in_the_order_of_reports() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
    }

    #[test]
    fn counts_add_up_and_cancelled_is_no_failure() {
        let counts: Outcomes = Outcome::ALL.into_iter().chain([Outcome::Ok]).collect();
        assert_eq!((counts.total(), counts.ok()), (12, 2));
        assert_eq!(counts.failed(), 9);
        assert_eq!(counts.plus(&counts).total(), 24);
        assert_eq!(counts.iter().map(|(_, n)| n).sum::<u64>(), 12);
    }
}
