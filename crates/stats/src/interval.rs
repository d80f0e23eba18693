//! The 95 % interval of a mean, by batch means.
//!
//! Neighbouring operations are correlated: a garbage collection, a full queue or a cold cache
//! touches several in a row. The textbook interval, `mean +- t * sd / sqrt(n)`, takes them for
//! independent and is far too narrow. So the operations, in the order of time, are cut into
//! consecutive batches; the means of batches that are long compared with the correlation are
//! nearly independent, and the interval comes from their spread (Law and Kelton, *Simulation
//! Modeling and Analysis*, chapter on output data analysis, "batch means").
//!
//! Few long batches are better than many short ones: Schmeiser (*Batch size effects in the analysis
//! of simulation output*, Operations Research 30(3), 1982) shows that more than 30 gain next to
//! nothing, while fewer than 10 make the interval wide and unsteady. So there are [`MOST`] batches,
//! or fewer so that each has [`LONG`] operations, but at least [`LEAST`]; with fewer operations
//! than that each is its own batch, which is the textbook interval, without any protection against
//! correlation.
//!
//! Batches differ in size by at most one. With sizes `m`, batch means `y` and grand mean `Y` over
//! `n` operations in `k` batches the variance of the grand mean is estimated by
//!
//! ```text
//!     sum m (y - Y)^2
//!     ---------------        (the mean square between groups of a one-way analysis of variance,
//!        (k - 1) n            divided by n)
//! ```
//!
//! which for independent normal values is exact for every `n`: `k - 1` degrees of freedom. Its
//! coverage in truth, for known processes, is in `tests::coverage`.
//!
//! Where there are too many operations to keep, batches are pieces of *time* with about as many
//! operations each. Their sizes then depend on their content (while a server is slow, fewer
//! operations begin), and the mean is a ratio of two sums that vary, so the variance is that of a
//! ratio estimator (Cochran, *Sampling Techniques*, chapter 6). With sums `s`,
//!
//! ```text
//!      k     sum (s - m Y)^2
//!    ----- * ---------------
//!    k - 1         n^2
//! ```
//!
//! which for equal sizes is the formula above.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::bins::{Sum, total};

/// Most batches that operations are cut into.
pub const MOST: usize = 20;

/// Fewest batches, where there are as many operations.
pub const LEAST: usize = 10;

/// Operations in a batch that is long enough.
pub const LONG: usize = 10;

/// The 95 % interval of the mean of `values` in the order of time; `None` for fewer than two.
///
/// Same unit as the values. The mean lies in the middle, except that the lower end never falls
/// below zero when no value does: a negative time is no candidate, and cutting it off takes
/// nothing from the coverage.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let mean = mean(values);
    let batches = batches(n);
    let between: f64 = batch_bounds(n, batches)
        .map(|(from, to)| (to - from) as f64 * (self::mean(&values[from..to]) - mean).powi(2))
        .sum();
    let degrees = (batches - 1) as f64;
    let half = t_quantile(degrees) * (between / degrees / n as f64).sqrt();
    let low = if values.iter().any(|value| *value < 0.0) {
        mean - half
    } else {
        (mean - half).max(0.0)
    };
    Some((low, mean + half))
}

/// The 95 % interval of the mean of batches of time; `None` for fewer than two.
///
/// Nanoseconds, and never below zero.
pub(crate) fn interval_of_batches(batches: &[Sum]) -> Option<(f64, f64)> {
    let mean = total(batches).mean();
    let parts = batches
        .iter()
        .map(|batch| (batch.sum as f64, batch.n as f64));
    ratio_interval(parts, mean)
}

/// The 95 % interval of a ratio of two sums that are not negative, from the parts of both; `None`
/// for fewer than two parts. It never reaches below zero.
pub(crate) fn ratio_interval(
    parts: impl ExactSizeIterator<Item = (f64, f64)>,
    ratio: f64,
) -> Option<(f64, f64)> {
    (parts.len() > 1).then(|| {
        let half = ratio_half_width(parts, ratio);
        ((ratio - half).max(0.0), ratio + half)
    })
}

/// Half of the 95 % interval of a ratio of two sums, from those of at least two batches.
pub(crate) fn ratio_half_width(
    parts: impl ExactSizeIterator<Item = (f64, f64)>,
    ratio: f64,
) -> f64 {
    t_quantile(parts.len() as f64 - 1.0) * ratio_error(parts, ratio)
}

/// The standard error of a ratio of two sums, from those of at least two batches.
pub(crate) fn ratio_error(parts: impl ExactSizeIterator<Item = (f64, f64)>, ratio: f64) -> f64 {
    let k = parts.len() as f64;
    let (mut whole, mut squares) = (0.0, 0.0);
    for (over, under) in parts {
        whole += under;
        squares += (over - under * ratio).powi(2);
    }
    (k / (k - 1.0) * squares).sqrt() / whole
}

/// The standard error of a mean of this number of operations, from the half of its 95 % interval.
pub(crate) fn error_of(half: f64, operations: u64) -> f64 {
    let batches = batches(operations as usize).max(2);
    half / t_quantile((batches - 1) as f64)
}

fn batches(n: usize) -> usize {
    (n / LONG).clamp(LEAST, MOST).min(n)
}

/// The batches that `n` operations are cut into, as half-open ranges.
pub(crate) fn batches_of(n: usize) -> impl Iterator<Item = (usize, usize)> {
    batch_bounds(n, batches(n))
}

/// Arithmetic mean; not a number for no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sample variance; not a number for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// The middle value, or the mean of the two in the middle; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some(f64::midpoint(sorted[low], sorted[high]))
}

/// Cuts `0..n` into consecutive half-open batches whose sizes differ by at most one.
fn batch_bounds(n: usize, batches: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..batches).map(move |batch| (batch * n / batches, (batch + 1) * n / batches))
}

/// How probable an estimate so far from zero is, on either side, where the truth is zero: `t` is
/// how it is distributed in its standard errors.
pub(crate) fn two_sided_p(estimate: f64, error: f64, t: &StudentsT) -> f64 {
    match (estimate == 0.0, error > 0.0) {
        (true, _) => 1.0,
        (false, true) => 2.0 * t.sf(estimate.abs() / error),
        (false, false) => 0.0,
    }
}

/// The chance of an estimate at least this number of standard errors above zero where the truth is
/// zero, by Student's t: the one-sided p-value. It is 1/2 for no estimate at all. `None` without
/// degrees of freedom, and for values that are no numbers.
pub fn upper_tail(estimate: f64, error: f64, degrees: f64) -> Option<f64> {
    let t = students(degrees)?;
    let errors = if estimate == 0.0 {
        0.0
    } else {
        estimate / error
    };
    match errors {
        _ if error.is_nan() || errors.is_nan() => None,
        f64::INFINITY => Some(0.0),
        f64::NEG_INFINITY => Some(1.0),
        errors => Some(t.sf(errors)),
    }
}

/// The last point from `from` to `to` for which `is_so` is true, as it is for all before.
pub(crate) fn border(from: f64, to: f64, halvings: u32, is_so: impl Fn(f64) -> bool) -> f64 {
    let (mut so, mut not) = (from, to);
    for _ in 0..halvings {
        let middle = f64::midpoint(so, not);
        if is_so(middle) {
            so = middle;
        } else {
            not = middle;
        }
    }
    so
}

/// Student's distribution; `None` without degrees of freedom.
pub(crate) fn students(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees).ok()
}

/// A quantile of Student's t.
///
/// # Panics
/// Without degrees of freedom.
pub fn t_at(share: f64, degrees: f64) -> f64 {
    let t = students(degrees).expect("two values or more, so one degree of freedom or more");
    t.inverse_cdf(share)
}

/// The 97.5 % quantile of Student's t.
pub(crate) fn t_quantile(degrees: f64) -> f64 {
    t_at(0.975, degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_table() {
        let table = [
            (1.0, 12.7062),
            (2.0, 4.3027),
            (9.0, 2.2622),
            (19.0, 2.0930),
            (29.0, 2.0452),
        ];
        for (degrees, expected) in table {
            let found = t_quantile(degrees);
            assert!(
                (found - expected).abs() < 5e-5,
                "{degrees}: {found}, not {expected}"
            );
        }
    }

    #[test]
    fn tails_are_those_of_the_printed_table() {
        let table = [
            ((4.3027, 1.0, 2.0), Some(0.025)),
            ((-2.0, 0.5, 4.0), Some(0.99194)),
            ((0.0, 0.0, 4.0), Some(0.5)),
            ((1.0, 0.0, 4.0), Some(0.0)),
            ((-1.0, 0.0, 4.0), Some(1.0)),
            ((1e308, 1e-308, 4.0), Some(0.0)),
            ((1.0, f64::INFINITY, 4.0), Some(0.5)),
            ((f64::NAN, 1.0, 4.0), None),
            ((0.0, f64::NAN, 4.0), None),
            ((1.0, 1.0, 0.0), None),
        ];
        for ((estimate, error, degrees), expected) in table {
            let found = upper_tail(estimate, error, degrees);
            let is_right = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-5,
                (found, expected) => found == expected,
            };
            assert!(is_right, "{estimate} {error} {degrees}: {found:?}");
        }
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        let table: [(&[f64], Option<f64>); 4] = [
            (&[], None),
            (&[7.0], Some(7.0)),
            (&[9.0, 1.0], Some(5.0)),
            (&[9.0, -1.0, 2.0], Some(2.0)),
        ];
        for (values, expected) in table {
            assert_eq!(median(values), expected, "{values:?}");
        }
    }

    #[test]
    fn there_are_ten_to_twenty_batches_of_ten_or_more_where_there_can_be() {
        let table = [
            (2, 2),
            (9, 9),
            (10, 10),
            (99, 10),
            (119, 11),
            (150, 15),
            (200, 20),
            (10_000, 20),
        ];
        for (n, expected) in table {
            assert_eq!(batches(n), expected, "{n}");
        }
    }

    #[test]
    fn batches_cover_everything_once_and_are_even() {
        for n in 2..200 {
            let bounds: Vec<_> = batch_bounds(n, batches(n)).collect();
            assert_eq!(bounds[0].0, 0);
            assert_eq!(bounds[bounds.len() - 1].1, n);
            assert!(bounds.windows(2).all(|pair| pair[0].1 == pair[1].0));
            let sizes: Vec<_> = bounds.iter().map(|(from, to)| to - from).collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(*least >= 1 && most - least <= 1, "{n}: {sizes:?}");
        }
    }

    #[test]
    fn below_the_number_of_batches_it_is_the_textbook_interval() {
        // Mean 4, sd 2, n 3: 4 +- 4.3027 * 2 / sqrt(3), the lower end cut at zero.
        let (low, high) = mean_interval(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!(low, 0.0);
        assert!((high - 8.9683).abs() < 1e-3, "{high}");
        let (low, high) = mean_interval(&[-2.0, 0.0, 2.0]).unwrap();
        assert!((low + 4.9683).abs() < 1e-3 && (high - 4.9683).abs() < 1e-3);
    }

    #[test]
    fn an_interval_gives_its_error_back() {
        // Mean 4, sd 2, n 3; and twenty batches of ten.
        let (_, high) = mean_interval(&[2.0, 4.0, 6.0]).unwrap();
        assert!((error_of(high - 4.0, 3) - 2.0 / 3.0_f64.sqrt()).abs() < 1e-9);
        let values: Vec<f64> = (0..200).map(|i| f64::from(i / 10 % 2)).collect();
        let (_, high) = mean_interval(&values).unwrap();
        let error = (0.25 * 20.0 / 19.0 / 20.0_f64).sqrt();
        assert!((error_of(high - 0.5, 200) - error).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_interval_and_equal_values_have_one_of_no_width() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[5.0]), None);
        assert_eq!(mean_interval(&[5.0; 40]), Some((5.0, 5.0)));
    }
}
