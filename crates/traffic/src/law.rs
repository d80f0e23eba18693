//! Probability laws of a traffic file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probability::{Curve, ProbabilityLaw};
use crate::quantity::DrawnQuantity;

/// A law of times, sizes or numbers of blocks. `min` and `max` cut a law: what lies outside is
/// drawn again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[schemars(rename = "LawOf{Q}")]
pub enum LawSpec<Q> {
    /// Always this.
    Constant(Q),
    /// Between two values, each equally likely.
    Uniform {
        /// Smallest.
        min: Q,
        /// Largest.
        max: Q,
    },
    /// Exponential.
    Exponential {
        /// Mean, before it is cut.
        mean: Q,
        /// Smallest.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Normal, cut at 0 unless `min` is larger.
    Normal {
        /// Mean, before it is cut.
        mean: Q,
        /// Standard deviation, before it is cut.
        sd: Q,
        /// Smallest; default 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Log-normal.
    Lognormal {
        /// Median, before it is cut: e to the power of the mean of the logarithm.
        median: Q,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Smallest.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Pareto: P(X > x) = (min / x) to the power of `shape`.
    Pareto {
        /// Smallest.
        min: Q,
        /// Shape; the mean is infinite up to 1, the variance up to 2, unless there is a `max`.
        shape: f64,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Gamma, with the mean `shape` times `scale`.
    Gamma {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: Q,
        /// Smallest.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Weibull: P(X > x) = exp(-(x / scale) to the power of `shape`).
    Weibull {
        /// Shape.
        shape: f64,
        /// Scale.
        scale: Q,
        /// Smallest.
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<Q>,
        /// Largest.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<Q>,
    },
    /// Values that were measured, as CSV: a line is `value` or `value,weight`; lines with `#` are
    /// comments.
    Empirical(String),
}

/// Most values of an empirical law.
const MOST_VALUES: usize = 1_000_000;

impl<Q: DrawnQuantity> LawSpec<Q> {
    /// The law in numbers (nanoseconds, bytes, blocks).
    ///
    /// # Errors
    /// A sentence that names the impossible parameter. An infinite mean is impossible, too.
    pub fn law(&self) -> Result<ProbabilityLaw, String> {
        let (min, max) = self.limits();
        let number = |quantity: Option<&Q>, default: f64| quantity.map_or(default, Q::number);
        let (min, max) = (number(min, 0.0), number(max, f64::INFINITY));
        let law = ProbabilityLaw::new(self.curve()?, min, max)?;
        if law.mean().is_finite() {
            return Ok(law);
        }
        Err("the mean of this Pareto law is infinite; give a shape above 1, or max".to_owned())
    }

    /// The ends at which the curve is cut.
    fn limits(&self) -> (Option<&Q>, Option<&Q>) {
        match self {
            LawSpec::Constant(_) | LawSpec::Uniform { .. } | LawSpec::Empirical(_) => (None, None),
            LawSpec::Pareto { max, .. } => (None, max.as_ref()),
            LawSpec::Exponential { min, max, .. }
            | LawSpec::Normal { min, max, .. }
            | LawSpec::Lognormal { min, max, .. }
            | LawSpec::Gamma { min, max, .. }
            | LawSpec::Weibull { min, max, .. } => (min.as_ref(), max.as_ref()),
        }
    }

    fn curve(&self) -> Result<Curve, String> {
        Ok(match self {
            LawSpec::Constant(value) => Curve::Constant(value.number()),
            LawSpec::Uniform { min, max } => {
                let (min, max) = (min.number(), max.number());
                if min >= max {
                    return Err("min is not below max".to_owned());
                }
                Curve::Uniform { min, max }
            }
            LawSpec::Exponential { mean, .. } => {
                let mean = positive("mean", mean.number())?;
                Curve::Exponential { mean }
            }
            LawSpec::Normal { mean, sd, .. } => {
                let (mean, sd) = (mean.number(), positive("sd", sd.number())?);
                Curve::Normal { mean, sd }
            }
            LawSpec::Lognormal { median, sigma, .. } => {
                let median = positive("median", median.number())?;
                let sigma = exponent("sigma", *sigma)?;
                Curve::Lognormal { median, sigma }
            }
            LawSpec::Pareto { min, shape, .. } => {
                let min = positive("min", min.number())?;
                let shape = exponent("shape", *shape)?;
                Curve::Pareto { min, shape }
            }
            LawSpec::Gamma { shape, scale, .. } => {
                let shape = exponent("shape", *shape)?;
                let scale = positive("scale", scale.number())?;
                Curve::Gamma { shape, scale }
            }
            LawSpec::Weibull { shape, scale, .. } => {
                let shape = exponent("shape", *shape)?;
                let scale = positive("scale", scale.number())?;
                Curve::Weibull { shape, scale }
            }
            LawSpec::Empirical(csv) => Curve::Empirical(empirical::<Q>(csv)?),
        })
    }
}

fn positive(key: &str, number: f64) -> Result<f64, String> {
    if number > 0.0 {
        return Ok(number);
    }
    Err(format!("{key} is 0; it must be larger"))
}

/// Beyond these, powers exceed the range of numbers.
fn exponent(key: &str, number: f64) -> Result<f64, String> {
    if (0.05..=100.0).contains(&number) {
        return Ok(number);
    }
    Err(format!(
        "{key} is {number}; it must be between 0.05 and 100"
    ))
}

/// Reads `value` or `value,weight` lines, and converts them to values with cumulated probabilities.
fn empirical<Q: DrawnQuantity>(csv: &str) -> Result<Vec<(f64, f64)>, String> {
    let mut values = Vec::new();
    for (index, line) in csv.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |why: String| format!("line {} of the CSV: {why}", index + 1);
        let (value, weight) = line.split_once(',').unwrap_or((line, "1"));
        let value: Q = value.trim().parse().map_err(fail)?;
        let weight = weight.trim().parse::<f64>().ok();
        let weight = weight.filter(|weight| (0.0..=1e15).contains(weight));
        let weight = weight.ok_or_else(|| fail(format!("`{line}` has no weight of 0 or more")))?;
        if values.len() == MOST_VALUES {
            return Err(fail(format!("{MOST_VALUES} values are the most")));
        }
        values.push((value.number(), weight));
    }
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return Err("the CSV has no value with a weight above 0".to_owned());
    }
    values.retain(|(_, weight)| *weight > 0.0);
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = 0.0;
    for (_, weight) in &mut values {
        until += *weight;
        *weight = until / total;
    }
    // The sum of the parts may miss 1 by a rounding error.
    if let Some(last) = values.last_mut() {
        last.1 = 1.0;
    }
    Ok(values)
}
