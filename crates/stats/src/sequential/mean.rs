//! The mean of normal observations whose variance is unknown, tested after every one of them.
//!
//! The likelihood of the observations under an effect (mean over standard deviation) that is itself
//! drawn from `N(0, g)`, over their likelihood without an effect, both averaged over all standard
//! deviations, depends on Student's statistic alone:
//!
//! ```text
//! E = (1 + n g)^(-1/2) * ((1 + t² / v) / (1 + t² / (v (1 + n g))))^((v + 1) / 2)      v = n - 1
//! ```
//!
//! The ratio is a martingale where there is no effect, whatever the standard deviation (Lai, *On
//! confidence sequences*, Annals of Statistics 4, 1976; Pérez-Ortiz, Lardy, de Heide and Grünwald,
//! *E-statistics, group invariance and anytime-valid testing*, Annals of Statistics 52, 2024), so
//! that it ever exceeds `1 / alpha` with a probability of at most `alpha`. An average of several
//! such ratios is one, too: small `g` find small effects soon, large ones find large effects after
//! few observations.

use crate::interval::border;

/// Variances of the effect that are averaged over, in units of the variance of an observation.
const EFFECTS: [f64; 2] = [1.0, 100.0];

/// Halvings of an interval: far below any digit that is printed.
const HALVINGS: u32 = 40;

/// Squares of Student's statistic beyond which no observations are expected to go.
const LARGEST: f64 = 1e12;

/// The sums of a sequence of observations.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequence {
    n: f64,
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Sequence {
    /// One more observation (Welford 1962).
    pub(crate) fn add(&mut self, observation: f64) {
        self.n += 1.0;
        let distance = observation - self.mean;
        self.mean += distance / self.n;
        self.squares += distance * (observation - self.mean);
    }

    pub(crate) fn mean(&self) -> f64 {
        self.mean
    }

    /// An upper bound, at any time, of how improbable the observations are where the true mean is
    /// 0: below `alpha` at some time with a probability of at most `alpha`.
    pub(crate) fn p(&self) -> f64 {
        if self.n < 2.0 || self.mean == 0.0 {
            return 1.0;
        }
        let squared = self.n * self.mean.powi(2) / (self.squares / (self.n - 1.0));
        (-self.log_evidence(squared.min(LARGEST))).exp().min(1.0)
    }

    /// Half the width of the confidence sequence of level `1 - alpha`: the interval around the mean
    /// contains the true one at all times with that probability. Infinite where there are too few
    /// observations to exclude anything.
    pub(crate) fn half_width(&self, alpha: f64) -> f64 {
        let is_excluded = |squared: f64| self.log_evidence(squared) >= -alpha.ln();
        if self.n < 2.0 || !is_excluded(LARGEST) {
            return f64::INFINITY;
        }
        let squared = |logarithm: f64| logarithm.exp_m1();
        let is_outside = |logarithm: f64| is_excluded(squared(logarithm));
        let outside = border(LARGEST.ln_1p(), 0.0, HALVINGS, is_outside);
        (squared(outside) * self.squares / (self.n - 1.0) / self.n).sqrt()
    }

    /// The logarithm of the ratio, for a square of Student's statistic.
    fn log_evidence(&self, squared: f64) -> f64 {
        let degrees = self.n - 1.0;
        let of_effect = |g: f64| {
            let grown = 1.0 + self.n * g;
            let null = (squared / degrees).ln_1p();
            let effect = (squared / (degrees * grown)).ln_1p();
            self.n / 2.0 * (null - effect) - grown.ln() / 2.0
        };
        let all = EFFECTS.map(of_effect);
        let largest = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = all.iter().map(|one| (one - largest).exp()).sum();
        largest + (sum / EFFECTS.len() as f64).ln()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal, StudentT};

    use super::*;

    fn of(observations: &[f64]) -> Sequence {
        let mut sequence = Sequence::default();
        observations.iter().for_each(|value| sequence.add(*value));
        sequence
    }

    /// The share of sequences of 100 observations in which the condition is ever true.
    fn ever(
        draw: impl Fn(&mut ChaCha8Rng) -> f64,
        is_so: impl Fn(&Sequence) -> bool,
        sequences: u32,
    ) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut found = 0;
        for _ in 0..sequences {
            let mut sequence = Sequence::default();
            let is_found = (0..100).any(|_| {
                sequence.add(draw(&mut rng));
                is_so(&sequence)
            });
            found += u32::from(is_found);
        }
        f64::from(found) / f64::from(sequences)
    }

    #[test]
    fn the_ratio_is_the_published_one() {
        // Eight observations with t = 3 and g = 1, by hand.
        let by_hand = |g: f64, n: f64, t: f64| {
            let v = n - 1.0;
            let ratio = (1.0 + t * t / v) / (1.0 + t * t / (v * (1.0 + n * g)));
            (1.0 + n * g).powf(-0.5) * ratio.powf((v + 1.0) / 2.0)
        };
        let sequence = Sequence {
            n: 8.0,
            mean: 3.0,
            squares: 7.0 * 8.0,
        };
        let expected = (by_hand(1.0, 8.0, 3.0) + by_hand(100.0, 8.0, 3.0)) / 2.0;
        assert!((sequence.p() - (1.0 / expected).min(1.0)).abs() < 1e-12);
        assert!(of(&[]).p() == 1.0 && of(&[2.0]).p() == 1.0);
        assert_eq!(of(&[1.0]).half_width(0.05), f64::INFINITY);
        assert_eq!(of(&[0.5; 30]).half_width(0.05), 0.0);
        assert!(of(&[0.5; 30]).p() < 1e-9);
    }

    #[test]
    fn the_interval_ends_where_the_test_decides() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in [3, 5, 12, 60] {
            let normal = (0..n).map(|_| -> f64 { StandardNormal.sample(&mut rng) });
            let observations: Vec<f64> = normal.collect();
            let sequence = of(&observations);
            let half = sequence.half_width(0.05);
            if half.is_infinite() {
                continue;
            }
            let p_beside = |distance: f64| {
                let shift = sequence.mean() - distance;
                of(&observations
                    .iter()
                    .map(|value| value - shift)
                    .collect::<Vec<_>>())
                .p()
            };
            assert!(
                p_beside(half * 1.001) < 0.05 && p_beside(half * 0.999) > 0.05,
                "{n}"
            );
        }
    }

    #[test]
    fn errors_stay_rare_however_often_one_looks() {
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let heavy = |rng: &mut ChaCha8Rng| StudentT::new(2.0).unwrap().sample(rng);
        for draw in [&normal as &dyn Fn(&mut ChaCha8Rng) -> f64, &heavy] {
            assert!(ever(draw, |sequence| sequence.p() < 0.05, 2_000) < 0.05);
            assert!(
                ever(
                    draw,
                    |sequence| sequence.half_width(0.05) < sequence.mean().abs(),
                    500
                ) < 0.05
            );
        }
        // The fixed test, applied as often, errs in four sequences of ten.
        let students = |sequence: &Sequence| {
            let error = (sequence.squares / (sequence.n - 1.0) / sequence.n).sqrt();
            sequence.n >= 3.0 && sequence.mean().abs() > 2.2 * error
        };
        assert!(ever(normal, students, 500) > 0.2);
        // And an existing effect is found.
        let shifted = |rng: &mut ChaCha8Rng| normal(rng) + 1.0;
        assert!(ever(shifted, |sequence| sequence.p() < 0.002, 500) > 0.99);
    }
}
