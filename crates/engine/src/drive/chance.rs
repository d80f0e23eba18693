//! Random choices: the same for a seed, on any machine and with any number of threads.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The sequences of one user: one for its operations and one for nonces, so that the requests do
/// not depend on the number of challenges of the server.
pub(crate) fn user_sequences(seed: u64, user: u32) -> (ChaCha8Rng, ChaCha8Rng) {
    let user = u64::from(user);
    (stream(seed, user * 2), stream(seed, user * 2 + 1))
}

/// One of the sequences of a seed.
pub(crate) fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Draws one of several by their weights, and returns its index. `total` is their sum.
pub(crate) fn draw(
    rng: &mut ChaCha8Rng,
    total: f64,
    weights: impl ExactSizeIterator<Item = f64>,
) -> usize {
    let last = weights.len().saturating_sub(1);
    let mut ball = rng.random_range(0.0..total);
    for (index, weight) in weights.enumerate() {
        if ball < weight {
            return index;
        }
        ball -= weight;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_kept_and_nothing_else_is_drawn() {
        let mut rng = stream(7, 0);
        let weights = [3.0, 0.0, 1.0];
        let mut counts = [0u32; 3];
        for _ in 0..40_000 {
            counts[draw(&mut rng, 4.0, weights.into_iter())] += 1;
        }
        // Four standard deviations.
        assert!(counts[0].abs_diff(30_000) < 350, "{counts:?}");
        assert_eq!(counts[1], 0);
    }

    #[test]
    fn users_have_sequences_of_their_own() {
        let first = |(mut one, mut two): (ChaCha8Rng, ChaCha8Rng)| -> (u64, u64) {
            (one.random(), two.random())
        };
        assert_eq!(first(user_sequences(1, 0)), first(user_sequences(1, 0)));
        let (script, nonces) = first(user_sequences(1, 0));
        let other = first(user_sequences(1, 1));
        assert!(script != nonces && script != other.0 && nonces != other.1);
    }
}
