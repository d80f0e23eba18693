//! Growth of costs inside of a server with the varied parameters: of processor time as of response
//! times, of numbers of system calls exactly.
//!
//! A number of calls that is the same in each repeat has no noise, and no interval: `base +
//! per_unit * x` is true at each point or it is not. It is solved by linear least squares, and
//! holds where it misses no point.

use std::collections::BTreeSet;

use constraint::StorageCall;
use record::AsyncInterface;

use super::{Swept, rows};
use crate::growth::{Growth, Observation};
use crate::inside::InsideFigure;
use crate::inside::storage::CallsInRun;
use crate::least_squares::{LeastSquares, MatrixColumns, largest};

/// Share of the greatest number by which a law may miss a point: the precision of the arithmetic.
const PRECISE: f64 = 1e-6;

/// How costs inside of a server grow.
#[derive(Debug, Clone, PartialEq)]
pub struct SweptInside {
    /// Processor time for each operation.
    pub processor: Growth,
    /// Numbers of system calls on the storage for each operation.
    pub calls: Vec<CallLaw>,
    /// By which interface the server makes calls that are not seen, in any run.
    pub unseen: Option<AsyncInterface>,
}

/// How a number of system calls on the storage grows.
#[derive(Debug, Clone, PartialEq)]
pub struct CallLaw {
    /// The kind.
    pub call: StorageCall,
    /// Its number at each point, the mean of all repeats; points by which of the values of each
    /// parameter they have.
    pub points: Vec<(Vec<usize>, f64)>,
    /// The law.
    pub growth: CallGrowth,
}

/// The law of a number of calls.
#[derive(Debug, Clone, PartialEq)]
pub enum CallGrowth {
    /// The same number at each point.
    Constant(f64),
    /// A number, and an increment for each unit of each parameter.
    Linear {
        /// The part that does not depend on a parameter.
        base: f64,
        /// For each parameter.
        per_unit: Vec<f64>,
        /// There are more points than coefficients, and all of them lie on it. Else it is assumed.
        is_exact: bool,
    },
    /// Another law; with a single parameter, the exponent between its two largest values.
    Other(Option<f64>),
    /// The number varied between the repeats of a point.
    Varying,
}

/// The observations for a fit of the growth of processor time.
pub(super) fn processors(name: &str, server: usize, runs: &[Swept<'_>]) -> Vec<Observation> {
    let runs = rows(name, server, runs);
    runs.filter_map(|(run, _)| {
        let inside = run.summary.inside_of(name)?;
        let mean = inside.mean(InsideFigure::Processor)?.mean;
        (mean > 0.0).then(|| Observation {
            levels: run.levels.to_vec(),
            repeat: run.repeat,
            mean,
        })
    })
    .collect()
}

/// By which interface a server makes calls that are not seen.
pub(super) fn unseen(name: &str, server: usize, runs: &[Swept<'_>]) -> Option<AsyncInterface> {
    rows(name, server, runs).find_map(|(run, _)| run.summary.inside.as_ref()?.unseen)
}

pub(super) fn calls(
    name: &str,
    server: usize,
    runs: &[Swept<'_>],
    values: &[Vec<f64>],
) -> Vec<CallLaw> {
    let runs = rows(name, server, runs);
    let traced: Vec<(&[usize], CallsInRun)> = runs
        .filter_map(|(run, _)| Some((run.levels, CallsInRun::of(run.summary.inside_of(name)?)?)))
        .collect();
    let kinds: BTreeSet<StorageCall> = traced
        .iter()
        .flat_map(|(_, run)| run.counts.keys().map(|(kind, ..)| *kind))
        .collect();
    let of_kind = |call: StorageCall| {
        let numbers = traced
            .iter()
            .map(|(levels, run)| (*levels, run.number(|(of, ..)| *of == call)));
        CallLaw::of(call, &numbers.collect::<Vec<_>>(), values)
    };
    kinds.into_iter().map(of_kind).collect()
}

impl CallLaw {
    fn of(call: StorageCall, numbers: &[(&[usize], f64)], values: &[Vec<f64>]) -> CallLaw {
        let levels: BTreeSet<&[usize]> = numbers.iter().map(|(levels, _)| *levels).collect();
        let mut is_varying = false;
        let points = levels.into_iter().map(|levels| {
            let repeats = numbers.iter().filter(|(of, _)| *of == levels);
            let repeats: Vec<f64> = repeats.map(|(_, number)| *number).collect();
            is_varying |= repeats.iter().any(|number| *number != repeats[0]);
            let mean = repeats.iter().sum::<f64>() / repeats.len() as f64;
            (levels.to_vec(), mean)
        });
        let points: Vec<(Vec<usize>, f64)> = points.collect();
        let growth = if is_varying {
            CallGrowth::Varying
        } else {
            CallGrowth::of(&points, values)
        };
        CallLaw {
            call,
            points,
            growth,
        }
    }
}

impl CallGrowth {
    fn of(points: &[(Vec<usize>, f64)], values: &[Vec<f64>]) -> CallGrowth {
        let first = points[0].1;
        if points.iter().all(|(_, number)| *number == first) {
            return CallGrowth::Constant(first);
        }
        let value = |levels: &[usize], of: usize| values[of][levels[of]];
        let is_varied = |of: &usize| {
            let mut all = points.iter().map(|(levels, _)| levels[*of]);
            let first = all.next();
            all.any(|level| Some(level) != first)
        };
        let varied: Vec<usize> = (0..values.len()).filter(is_varied).collect();
        let count = 1 + varied.len();
        let columns = MatrixColumns::of(points.len(), count, |point, column| match column {
            0 => 1.0,
            _ => value(&points[point].0, varied[column - 1]),
        });
        let numbers: Vec<f64> = points.iter().map(|(_, number)| *number).collect();
        let greatest = largest(&numbers);
        // Parameters that only varied together cannot be separated.
        let found = LeastSquares::of(&columns).solve(&numbers, PRECISE);
        let fitting = found.filter(|found| {
            let fitted = columns.times(found);
            let missed: Vec<f64> = fitted
                .iter()
                .zip(&numbers)
                .map(|(one, other)| one - other)
                .collect();
            largest(&missed) <= PRECISE * greatest
        });
        let Some(found) = fitting else {
            return CallGrowth::Other(exponent(points, values));
        };
        // A number that makes no difference at any point is none.
        let rounded = |column: usize| {
            let most = largest(&columns.0[column]) * found[column].abs();
            if most <= PRECISE * greatest {
                0.0
            } else {
                with_nine_digits(found[column])
            }
        };
        let mut per_unit = vec![0.0; values.len()];
        for (column, of) in varied.iter().enumerate() {
            per_unit[*of] = rounded(1 + column);
        }
        CallGrowth::Linear {
            base: rounded(0),
            per_unit,
            is_exact: points.len() > count,
        }
    }
}

/// A number of calls without errors of binary calculation: 4 in place of 3.999999999999775.
fn with_nine_digits(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

/// Of a single parameter: how steeply the number grows between its two largest values.
fn exponent(points: &[(Vec<usize>, f64)], values: &[Vec<f64>]) -> Option<f64> {
    let ([values], [.., (one, before), (other, last)]) = (values, points) else {
        return None;
    };
    let (from, to) = (values[one[0]], values[other[0]]);
    let is_positive = from > 0.0 && to > from && *before > 0.0 && *last > 0.0;
    is_positive.then(|| (last / before).ln() / (to / from).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(values: &[Vec<f64>], number: impl Fn(&[f64]) -> f64, repeats: usize) -> CallGrowth {
        let mut levels: Vec<Vec<usize>> = vec![Vec::new()];
        for of in values {
            let longer = |point: &Vec<usize>| {
                let point = point.clone();
                (0..of.len()).map(move |level| [&point[..], &[level]].concat())
            };
            levels = levels.iter().flat_map(longer).collect();
        }
        let at = |levels: &Vec<usize>| {
            let point = levels.iter().enumerate();
            let point: Vec<f64> = point.map(|(of, level)| values[of][*level]).collect();
            number(&point)
        };
        let numbers: Vec<(&[usize], f64)> = (0..repeats)
            .flat_map(|_| levels.iter().map(|levels| (&levels[..], at(levels))))
            .collect();
        CallLaw::of(StorageCall::Stat, &numbers, values).growth
    }

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-6
    }

    #[test]
    fn what_grows_in_proportion_is_exact() {
        let widths = || vec![10.0, 30.0, 100.0, 300.0];
        let of_one = growth(&[widths()], |of| 4.0 + 3.0 * of[0], 3);
        let CallGrowth::Linear {
            base,
            per_unit,
            is_exact,
        } = of_one
        else {
            panic!("{of_one:?}");
        };
        assert!(is_near(base, 4.0) && is_near(per_unit[0], 3.0) && is_exact);

        let both = growth(&[widths(), vec![1.0, 5.0]], |of| of[0] + 2.0 * of[1], 2);
        let CallGrowth::Linear { base, per_unit, .. } = both else {
            panic!("{both:?}");
        };
        assert!(is_near(base, 0.0) && is_near(per_unit[0], 1.0) && is_near(per_unit[1], 2.0));
    }

    #[test]
    fn sizes_in_bytes_have_laws_too() {
        let sizes = vec![1e3, 1e6, 1e9];
        let found = growth(
            &[sizes, vec![1.0, 2.0, 4.0]],
            |of| 2.0 + 1e-6 * of[0] + 3.0 * of[1],
            2,
        );
        let CallGrowth::Linear {
            base,
            per_unit,
            is_exact: true,
        } = &found
        else {
            panic!("{found:?}");
        };
        assert!(
            is_near(*base, 2.0) && is_near(per_unit[1], 3.0),
            "{found:?}"
        );
        assert!(is_near(1e6 * per_unit[0], 1.0), "{found:?}");
    }

    #[test]
    fn two_points_do_not_show_a_law() {
        let found = growth(&[vec![10.0, 100.0]], |of| 2.0 * of[0] * of[0], 2);
        assert!(
            matches!(
                found,
                CallGrowth::Linear {
                    is_exact: false,
                    ..
                }
            ),
            "{found:?}"
        );
    }

    #[test]
    fn another_law_has_an_exponent() {
        let widths = vec![10.0, 30.0, 100.0];
        let found = growth(std::slice::from_ref(&widths), |of| 2.0 * of[0] * of[0], 2);
        assert!(
            matches!(found, CallGrowth::Other(Some(exponent)) if is_near(exponent, 2.0)),
            "{found:?}"
        );
        // A product of two parameters is no sum.
        let found = growth(&[widths.clone(), vec![1.0, 2.0]], |of| of[0] * of[1], 2);
        assert_eq!(found, CallGrowth::Other(None));
        // One call too many at one point.
        let found = growth(
            &[widths],
            |of| of[0] + f64::from(u8::from(of[0] == 30.0)),
            2,
        );
        assert!(matches!(found, CallGrowth::Other(_)), "{found:?}");
    }

    #[test]
    fn what_does_not_grow_is_constant_and_what_varies_has_no_law() {
        let widths = vec![10.0, 30.0, 100.0];
        assert_eq!(
            growth(std::slice::from_ref(&widths), |_| 2.0, 3),
            CallGrowth::Constant(2.0)
        );
        let numbers: [(&[usize], f64); 4] = [(&[0], 1.0), (&[1], 2.0), (&[0], 1.2), (&[1], 2.0)];
        let law = CallLaw::of(StorageCall::Stat, &numbers, &[widths]);
        assert_eq!(law.growth, CallGrowth::Varying);
        assert!(is_near(law.points[0].1, 1.1));
    }

    #[test]
    fn parameters_that_only_varied_together_have_no_law() {
        let values = [vec![10.0, 100.0, 1000.0], vec![1.0, 10.0, 100.0]];
        let together: Vec<[usize; 2]> = (0..3).map(|level| [level, level]).collect();
        let numbers: Vec<(&[usize], f64)> = together
            .iter()
            .map(|levels| (&levels[..], 3.0 * values[0][levels[0]]))
            .collect();
        let law = CallLaw::of(StorageCall::Stat, &numbers, &values);
        assert_eq!(law.growth, CallGrowth::Other(None));
    }
}
