//! A Poisson process whose rate follows a Markov chain in continuous time: Fischer and
//! Meier-Hellstern (1993), Performance Evaluation 18, 149-171.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{BlockSource, PlannedDeparture, ScheduleClock, block_length};
use crate::probability::{ProbabilityLaw, open_unit};

#[derive(Debug, Clone)]
pub(crate) struct ChainLaws {
    /// Blocks per second in each state.
    pub(crate) rates: Vec<f64>,
    /// Changes per second from a state to another; the diagonal is not used.
    pub(crate) changes: Vec<Vec<f64>>,
    /// Part of the time in each state.
    pub(crate) shares: Vec<f64>,
    /// Bytes of a block.
    pub(crate) size: ProbabilityLaw,
}

/// The chain is in its equilibrium from the beginning.
#[derive(Debug, Clone)]
pub(crate) struct ModulatedPoisson {
    laws: Arc<ChainLaws>,
    clock: ScheduleClock,
    state: Option<usize>,
}

impl ModulatedPoisson {
    pub(crate) fn new(laws: Arc<ChainLaws>) -> Self {
        ModulatedPoisson {
            laws,
            clock: ScheduleClock::default(),
            state: None,
        }
    }
}

impl BlockSource for ModulatedPoisson {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        let mut state = match self.state {
            Some(state) => state,
            None => chosen(&self.laws.shares, open_unit(rng)),
        };
        loop {
            let blocks = self.laws.rates[state];
            let mut changes = self.laws.changes[state].clone();
            changes[state] = 0.0;
            let total = blocks + changes.iter().sum::<f64>();
            // The time to the next event, a block or a change, is exponential.
            let wait_s = -libm::log(open_unit(rng)) / total;
            let at_ns = self.clock.advance(wait_s * 1e9)?;
            let event = open_unit(rng) * total;
            if event < blocks {
                self.state = Some(state);
                let bytes = block_length(self.laws.size.draw_whole(rng));
                return Some(PlannedDeparture { at_ns, bytes });
            }
            state = chosen(&changes, (event - blocks) / (total - blocks));
        }
    }
}

/// The index of a weight, for a number between 0 and 1.
fn chosen(weights: &[f64], unit: f64) -> usize {
    let mut left = unit * weights.iter().sum::<f64>();
    for (index, weight) in weights.iter().enumerate() {
        if left < *weight {
            return index;
        }
        left -= weight;
    }
    // A rounding error: the last that is possible.
    let last = weights.iter().rposition(|weight| *weight > 0.0);
    last.unwrap_or(0)
}

/// Part of the time in each state, from the changes per second between states: the solution of p Q
/// = 0 by the method of Grassmann, Taksar and Heyman (1985), which subtracts nothing. There is none
/// if a state cannot be reached from another.
pub(crate) fn shares_of_time(changes: &[Vec<f64>]) -> Option<Vec<f64>> {
    let count = changes.len();
    let mut rates = changes.to_vec();
    for state in (1..count).rev() {
        let leaving: f64 = rates[state][..state].iter().sum();
        if leaving <= 0.0 {
            return None;
        }
        let row = rates[state].clone();
        for rates_from in rates.iter_mut().take(state) {
            rates_from[state] /= leaving;
            let entering = rates_from[state];
            for other in 0..state {
                rates_from[other] += entering * row[other];
            }
        }
    }
    let mut shares = vec![0.0; count];
    shares[0] = 1.0;
    for state in 1..count {
        let entering = (0..state).map(|other| shares[other] * rates[other][state]);
        shares[state] = entering.sum();
    }
    let total: f64 = shares.iter().sum();
    let is_reached = shares.iter().all(|share| *share > 0.0) && total.is_finite();
    is_reached.then(|| shares.into_iter().map(|share| share / total).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_time_balance_the_changes() {
        let two = shares_of_time(&[vec![-1.0, 1.0], vec![3.0, -3.0]]).unwrap();
        assert!((two[0] - 0.75).abs() < 1e-12);
        let ring = [
            vec![0.0, 1.0, 0.0],
            vec![0.0, 0.0, 2.0],
            vec![4.0, 0.0, 0.0],
        ];
        let shares = shares_of_time(&ring).unwrap();
        for (share, expected) in shares.iter().zip([4.0 / 7.0, 2.0 / 7.0, 1.0 / 7.0]) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
        // Never left, and never entered.
        assert_eq!(shares_of_time(&[vec![0.0, 1.0], vec![0.0, 0.0]]), None);
        assert_eq!(shares_of_time(&[vec![0.0, 0.0], vec![1.0, 0.0]]), None);
    }
}
