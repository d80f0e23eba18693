//! Probability laws in numbers: drawing, distribution function, mean.
//!
//! Numbers are drawn by inversion of the distribution function, the gamma distribution by Marsaglia
//! and Tsang (2000). All drawn numbers are computed with `libm` and with operations that IEEE 754
//! rounds correctly, so that a seed gives the same numbers on every machine: the mathematical
//! library of a system does not guarantee that.

pub(crate) mod normal;

use rand::Rng;
use statrs::function::gamma::{gamma_lr, ln_gamma};

/// The law of a random variable that is never negative, optionally cut to an interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbabilityLaw {
    curve: Curve,
    /// Only values between these are drawn: the law is the conditional one, given that the value
    /// lies between them.
    low: f64,
    high: f64,
    /// For the uncut law: P(X < low) and P(low <= X <= high).
    below: f64,
    within: f64,
}

/// The laws before they are cut.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Curve {
    Constant(f64),
    Uniform {
        min: f64,
        max: f64,
    },
    Exponential {
        mean: f64,
    },
    Normal {
        mean: f64,
        sd: f64,
    },
    Lognormal {
        median: f64,
        sigma: f64,
    },
    Pareto {
        min: f64,
        shape: f64,
    },
    Gamma {
        shape: f64,
        scale: f64,
    },
    Weibull {
        shape: f64,
        scale: f64,
    },
    /// Values in ascending order, each with the probability of itself and all before it.
    Empirical(Vec<(f64, f64)>),
}

/// A law of which less than this lies in its interval is refused: almost only its cut would remain.
const LEAST_WITHIN: f64 = 0.001;
/// Up to this number, the mean of a law that is rounded to whole numbers is computed number by
/// number.
const EXACT_CELLS: u32 = 1000;

impl ProbabilityLaw {
    /// A law cut to an interval; an error if almost nothing of the law lies in it.
    pub(crate) fn new(curve: Curve, low: f64, high: f64) -> Result<Self, String> {
        let low = low.max(0.0);
        if low >= high {
            return Err("min is not below max".to_owned());
        }
        let is_point = matches!(curve, Curve::Constant(_) | Curve::Empirical(_));
        let (below, within) = if is_point {
            (0.0, 1.0)
        } else {
            let below = curve.cdf(low);
            (below, curve.cdf(high) - below)
        };
        if within < LEAST_WITHIN {
            let percent = 100.0 * within;
            return Err(format!(
                "only {percent:.2} % of it lies between min (or 0) and max; choose other parameters"
            ));
        }
        Ok(ProbabilityLaw {
            curve,
            low,
            high,
            below,
            within,
        })
    }

    pub(crate) fn constant(value: f64) -> Self {
        ProbabilityLaw {
            curve: Curve::Constant(value),
            low: 0.0,
            high: f64::INFINITY,
            below: 0.0,
            within: 1.0,
        }
    }

    pub(crate) fn exponential(mean: f64) -> Self {
        ProbabilityLaw {
            curve: Curve::Exponential { mean },
            ..ProbabilityLaw::constant(0.0)
        }
    }

    /// Draws a number.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        match &self.curve {
            Curve::Constant(value) => *value,
            Curve::Gamma { shape, scale } => self.draw_gamma(*shape, *scale, rng),
            curve => {
                let p = self.below + self.within * open_unit(rng);
                curve.quantile(p).clamp(self.low, self.high)
            }
        }
    }

    /// Draws a whole number: rounded, and at least 1.
    pub fn draw_whole(&self, rng: &mut impl Rng) -> u64 {
        (libm::round(self.draw(rng)) as u64).max(1)
    }

    fn draw_gamma(&self, shape: f64, scale: f64, rng: &mut impl Rng) -> f64 {
        // At least one in a thousand lies within, so that this many attempts fail once in 10^43.
        for _ in 0..100_000 {
            let drawn = scale * standard_gamma(shape, rng);
            if drawn >= self.low && drawn <= self.high {
                return drawn;
            }
        }
        self.low
    }

    /// P(X <= x).
    pub fn cdf(&self, x: f64) -> f64 {
        if x < self.low {
            return 0.0;
        }
        if x >= self.high {
            return 1.0;
        }
        ((self.curve.cdf(x) - self.below) / self.within).clamp(0.0, 1.0)
    }

    /// P(K <= k) of the whole numbers of [`draw_whole`](Self::draw_whole).
    pub fn whole_cdf(&self, k: u64) -> f64 {
        match (k, &self.curve) {
            (0, _) => 0.0,
            (_, Curve::Constant(_) | Curve::Empirical(_)) => {
                // Half is rounded up, so that P(K <= k) is P(X < k + 1/2).
                self.cdf((k as f64 + 0.5).next_down())
            }
            _ => self.cdf(k as f64 + 0.5),
        }
    }

    /// The mean; infinite for a Pareto law with a shape of at most 1 that is not cut.
    pub fn mean(&self) -> f64 {
        let (low, high) = (self.low, self.high);
        let part = match &self.curve {
            Curve::Constant(value) => return *value,
            Curve::Empirical(values) => return steps(values).map(|(value, p)| value * p).sum(),
            // x^2 / 2 between the ends.
            Curve::Uniform { min, max } => {
                let (a, b) = (low.max(*min), high.min(*max));
                (b * b - a * a) / (2.0 * (max - min))
            }
            Curve::Exponential { mean } => {
                let part = |x: f64| {
                    if x.is_finite() {
                        (x + mean) * libm::exp(-x / mean)
                    } else {
                        0.0
                    }
                };
                part(low) - part(high)
            }
            Curve::Normal { mean, sd } => {
                let [a, b] = [low, high].map(|x| (x - mean) / sd);
                mean * self.within + sd * (normal::density(a) - normal::density(b))
            }
            Curve::Lognormal { median, sigma } => {
                let part = |x: f64| normal::cdf(libm::log(x / median) / sigma - sigma);
                median * libm::exp(0.5 * sigma * sigma) * (part(high) - part(low))
            }
            Curve::Pareto { min, shape } => pareto_part(*min, *shape, low.max(*min), high),
            Curve::Gamma { shape, scale } => {
                let part = |x: f64| gamma_below(shape + 1.0, x / scale);
                shape * scale * (part(high) - part(low))
            }
            Curve::Weibull { shape, scale } => {
                let one_more = 1.0 + 1.0 / shape;
                let part = |x: f64| gamma_below(one_more, libm::pow(x / scale, *shape));
                scale * libm::exp(ln_gamma(one_more)) * (part(high) - part(low))
            }
        };
        part / self.within
    }

    /// The mean of the whole numbers of [`draw_whole`](Self::draw_whole).
    pub fn mean_whole(&self) -> f64 {
        let whole = |value: f64| libm::round(value).max(1.0);
        match &self.curve {
            Curve::Constant(value) => return whole(*value),
            Curve::Empirical(values) => {
                return steps(values).map(|(value, p)| whole(value) * p).sum();
            }
            _ => {}
        }
        // E[K] is the sum of P(X >= k - 1/2) over k, and E[X] the integral of P(X >= x): they
        // differ cell by cell, and by the numbers below 1/2, which become 1. Far out, the function
        // is straight within a cell.
        let survival = |x: f64| 1.0 - self.cdf(x);
        let difference = |k: u32| {
            let begin = f64::from(k) - 1.0;
            survival(begin + 0.5) - simpson(survival, begin)
        };
        self.mean() + self.cdf(0.5) + (1..=EXACT_CELLS).map(difference).sum::<f64>()
    }

    /// P(K < least or K > most) of the whole numbers.
    pub(crate) fn chance_outside(&self, least: u64, most: u64) -> f64 {
        self.whole_cdf(least.saturating_sub(1)) + 1.0 - self.whole_cdf(most)
    }
}

impl Curve {
    fn cdf(&self, x: f64) -> f64 {
        if x == f64::INFINITY {
            return 1.0;
        }
        match self {
            Curve::Constant(value) => f64::from(u8::from(x >= *value)),
            Curve::Uniform { min, max } => ((x - min) / (max - min)).clamp(0.0, 1.0),
            Curve::Exponential { mean } => -libm::expm1(-x.max(0.0) / mean),
            Curve::Normal { mean, sd } => normal::cdf((x - mean) / sd),
            Curve::Lognormal { median, sigma } if x > 0.0 => {
                normal::cdf(libm::log(x / median) / sigma)
            }
            Curve::Pareto { min, shape } if x > *min => 1.0 - libm::pow(min / x, *shape),
            Curve::Lognormal { .. } | Curve::Pareto { .. } => 0.0,
            Curve::Gamma { shape, scale } => gamma_below(*shape, x / scale),
            Curve::Weibull { shape, scale } => -libm::expm1(-libm::pow(x.max(0.0) / scale, *shape)),
            Curve::Empirical(values) => {
                let count = values.partition_point(|(value, _)| *value <= x);
                count.checked_sub(1).map_or(0.0, |last| values[last].1)
            }
        }
    }

    /// The number below which a part `p` lies. The gamma distribution is not drawn by inversion.
    fn quantile(&self, p: f64) -> f64 {
        match self {
            Curve::Constant(value) => *value,
            Curve::Uniform { min, max } => min + (max - min) * p,
            Curve::Exponential { mean } | Curve::Gamma { scale: mean, .. } => {
                -mean * libm::log1p(-p)
            }
            Curve::Normal { mean, sd } => mean + sd * normal::quantile(p),
            Curve::Lognormal { median, sigma } => median * libm::exp(sigma * normal::quantile(p)),
            Curve::Pareto { min, shape } => min * libm::exp(-libm::log1p(-p) / shape),
            Curve::Weibull { shape, scale } => scale * libm::pow(-libm::log1p(-p), 1.0 / shape),
            Curve::Empirical(values) => {
                let index = values.partition_point(|(_, until)| *until < p);
                let found = values.get(index).or(values.last());
                found.map_or(0.0, |(value, _)| *value)
            }
        }
    }
}

/// The integral over one unit from `begin` on: Simpson's rule in four parts.
fn simpson(function: impl Fn(f64) -> f64, begin: f64) -> f64 {
    const WEIGHTS: [f64; 9] = [1.0, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0, 4.0, 1.0];
    let weights = WEIGHTS.iter().enumerate();
    let parts = weights.map(|(index, weight)| weight * function(begin + index as f64 / 8.0));
    parts.sum::<f64>() / 24.0
}

/// Values with their own probabilities.
fn steps(values: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let before = std::iter::once(0.0).chain(values.iter().map(|(_, until)| *until));
    let values = values.iter().zip(before);
    values.map(|((value, until), before)| (*value, until - before))
}

/// The integral of x times the density of a Pareto law.
fn pareto_part(min: f64, shape: f64, low: f64, high: f64) -> f64 {
    let scale = shape * libm::pow(min, shape);
    if (shape - 1.0).abs() < 1e-9 {
        return scale * (libm::log(high) - libm::log(low));
    }
    let power = 1.0 - shape;
    scale * (libm::pow(high, power) - libm::pow(low, power)) / power
}

/// The regularised lower incomplete gamma function, with its limits.
fn gamma_below(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        0.0
    } else if x == f64::INFINITY {
        1.0
    } else {
        gamma_lr(shape, x)
    }
}

/// A number between 0 and 1, never one of them.
pub(crate) fn open_unit(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) * (0.5 / (1u64 << 52) as f64)
}

/// Marsaglia and Tsang (2000), ACM Transactions on Mathematical Software 26, 363-372, with their
/// step for shapes below 1, where a gamma variable is one of shape + 1 times a power of a uniform
/// one.
fn standard_gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    if shape < 1.0 {
        let power = libm::pow(open_unit(rng), 1.0 / shape);
        return standard_gamma(shape + 1.0, rng) * power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let z = normal::quantile(open_unit(rng));
        let cube = 1.0 + c * z;
        let v = cube * cube * cube;
        if cube > 0.0 && libm::log(open_unit(rng)) < 0.5 * z * z + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}
