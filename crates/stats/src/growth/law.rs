//! A constant plus power laws: `base + per_unit * x^exponent + ...`, least squares of logarithms.
//!
//! For given exponents the other coefficients, none of them negative, follow by Gauss-Newton steps
//! that are linear least squares. The exponents are found by a search over each in turn (variable
//! projection: Golub and Pereyra, SIAM Journal on Numerical Analysis 10(2), 1973); the interval of
//! an exponent is where the sum of squares, with all others fitted anew, is not worse than chance
//! allows (profile likelihood: Bates and Watts, *Nonlinear Regression Analysis*, section 6.1).
//! Those of the other coefficients come from the curvature.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::Growing;
use super::cells::CellMeans;
use crate::interval::students;
use crate::least_squares::{LeastSquares, MatrixColumns};

/// How a time grows: `base + sum of per_unit * x^exponent`.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// The part that does not depend on any parameter, in nanoseconds.
    pub base: Fitted,
    /// The parts that grow, for each parameter that matters.
    pub terms: Vec<Term>,
    /// Typical distance of points from the law, as a share.
    pub misfit: f64,
    /// The points significantly miss the law: by more than repeats differ, and than a tenth.
    pub missed: bool,
}

/// Part of a law that a parameter adds.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Which parameter: an index.
    pub of: usize,
    /// Nanoseconds for each unit, or for each unit to the power of the exponent.
    pub per_unit: Fitted,
    /// The exponent that is used.
    pub exponent: f64,
    /// The exponent as it was found; `None` where there are too few points to find one.
    pub found: Option<Fitted>,
    /// Meaning of the exponent.
    pub shape: Shape,
}

/// An estimate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The estimate.
    pub value: f64,
    /// Its interval.
    pub ci95: (f64, f64),
}

/// Shape of a growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// In proportion.
    Linear,
    /// Taken as linear, because the points do not say otherwise.
    Open,
    /// Less and less.
    Less,
    /// More and more.
    More,
    /// Decreases.
    Falling,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 5] = [
        Shape::Linear,
        Shape::Open,
        Shape::Less,
        Shape::More,
        Shape::Falling,
    ];
}

/// Exponents that are tried: an interval that ends with one of them may go on beyond it.
pub const EXPONENTS: (f64, f64) = (-3.0, 4.0);
/// Distance between those that are tried first.
const STEP: f64 = 0.25;
/// An exponent nearer to zero is a constant, and the law has one already.
const CONSTANT: f64 = 0.02;
/// An exponent that is this near to 1 is called linear: the difference has no consequence.
const NEARLY_LINEAR: f64 = 0.1;
/// Provided that its interval ends this near to 1, too.
const SURELY_NEARLY: f64 = 0.25;
/// Distance of points from a law, as a share, up to which the law is reported.
const MISSES: f64 = 0.1;
/// Precision of an exponent.
const PRECISE: f64 = 1e-4;
/// Rounds over all exponents.
const ROUNDS: usize = 20;
/// Gauss-Newton steps for given exponents.
const STEPS: usize = 12;
/// Columns that differ less than that, as a share of their lengths, are the same.
const DISTINCT: f64 = 1e-9;

/// The exponent of a falling term where its own cannot be found: that of work that is shared.
const SHARED: f64 = -1.0;

/// The law of these parameters, each with its effect; `None` where there are none, too few points,
/// or a parameter reduces the time from its value at zero, which no power describes.
pub(super) fn fit(
    cells: &CellMeans,
    values: &[Vec<f64>],
    matter: &[(usize, Growing)],
) -> Option<Law> {
    let of: Vec<usize> = matter.iter().map(|(of, _)| *of).collect();
    let all = Points::of(cells, values, &of)?;
    let falls: Vec<bool> = matter
        .iter()
        .map(|(_, does)| *does == Growing::Falls)
        .collect();
    let begins_at_zero = |index: usize| all.x.iter().any(|x| x[index] == 0.0);
    if (0..of.len()).any(|index| falls[index] && begins_at_zero(index)) {
        return None;
    }
    let start: Vec<f64> = falls
        .iter()
        .map(|falls| if *falls { SHARED } else { 1.0 })
        .collect();
    let found = all.exponents(&start);
    let shapes: Vec<Shape> = found
        .iter()
        .zip(&falls)
        .map(|(found, falls)| {
            if *falls {
                Shape::Falling
            } else {
                shape(*found)
            }
        })
        .collect();
    let exponents: Vec<f64> = found
        .iter()
        .zip(&shapes)
        .map(|(found, shape)| match (found, shape) {
            (Some(found), Shape::Falling) if found.value < 0.0 => found.value,
            (_, Shape::Falling) => SHARED,
            (Some(found), Shape::Less | Shape::More) => found.value,
            _ => 1.0,
        })
        .collect();
    let is_own = |(exponent, found): (&f64, &Option<Fitted>)| {
        found.is_some_and(|found| found.value == *exponent)
    };
    let free: Vec<bool> = exponents.iter().zip(&found).map(is_own).collect();
    let squares = all.squares(&exponents);
    let mut coefficients = all.intervals(&exponents, &free, &squares).into_iter();
    let base = coefficients.next()?;
    let terms = of
        .iter()
        .zip(coefficients)
        .zip(found)
        .zip(shapes)
        .zip(exponents);
    Some(Law {
        base,
        terms: terms
            .map(|((((of, per_unit), found), shape), exponent)| Term {
                of: *of,
                per_unit,
                exponent,
                found,
                shape,
            })
            .collect(),
        misfit: all.misfit(&squares),
        missed: all.is_missed(
            &squares,
            1 + matter.len() + free.iter().filter(|free| **free).count(),
        ),
    })
}

fn shape(found: Option<Fitted>) -> Shape {
    let Some(Fitted {
        value,
        ci95: (low, high),
    }) = found
    else {
        return Shape::Open;
    };
    let is_near = |exponent: f64, by: f64| (exponent - 1.0).abs() <= by;
    let ends_near = [low, high].iter().all(|end| is_near(*end, SURELY_NEARLY));
    if high < 0.0 {
        Shape::Falling
    } else if ends_near && is_near(value, NEARLY_LINEAR) {
        Shape::Linear
    } else if low > 1.0 {
        Shape::More
    } else if high < 1.0 {
        Shape::Less
    } else {
        Shape::Open
    }
}

struct Points {
    /// For each point, the values of the parameters that matter.
    x: Vec<Vec<f64>>,
    logs: Vec<f64>,
    weights: Vec<f64>,
    /// Variance between repeats, and its degrees of freedom.
    noise: (f64, usize),
    /// Variance of the logarithm of the level of all, and its degrees of freedom.
    level: (f64, usize),
}

#[derive(Debug, Clone)]
struct Squares {
    /// Weighted sum of the squares of the distances.
    sum: f64,
    /// Base, then the part of each parameter.
    coefficients: Vec<f64>,
}

impl Points {
    fn of(cells: &CellMeans, values: &[Vec<f64>], matter: &[usize]) -> Option<Points> {
        let enough = cells.points.len() > matter.len() && cells.degrees > 0;
        if matter.is_empty() || !enough {
            return None;
        }
        let value =
            |levels: &Vec<usize>| matter.iter().map(|of| values[*of][levels[*of]]).collect();
        let x: Vec<Vec<f64>> = cells.points.keys().map(value).collect();
        let is_positive = x.iter().flatten().all(|value| *value >= 0.0);
        is_positive.then(|| Points {
            x,
            logs: cells.points.values().map(|cell| cell.log).collect(),
            weights: cells.points.values().map(|cell| cell.runs as f64).collect(),
            noise: (cells.noise, cells.degrees),
            level: cells.level,
        })
    }

    /// Parameters whose exponents can be found: two values do not show a shape, and there must be
    /// points for everything that is fitted.
    fn with_shape(&self) -> Vec<usize> {
        let has_three = |of: &usize| {
            let mut values: Vec<f64> = self.x.iter().map(|x| x[*of]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values.len() >= 3
        };
        let count = self.x[0].len();
        let shaped: Vec<usize> = (0..count).filter(has_three).collect();
        if self.x.len() >= 1 + count + shaped.len() {
            shaped
        } else {
            Vec::new()
        }
    }

    /// Typical distance from a fit, as a share: runs at a point count once.
    fn misfit(&self, squares: &Squares) -> f64 {
        (squares.sum / self.weights.iter().sum::<f64>()).sqrt()
    }

    /// True if points miss a fit of this number of coefficients by more than repeats differ (the F
    /// test of the lack of fit).
    fn is_missed(&self, squares: &Squares, coefficients: usize) -> bool {
        let free = self.x.len().saturating_sub(coefficients) as f64;
        let within = self.noise.0 / self.noise.1 as f64;
        let Ok(f) = FisherSnedecor::new(free, self.noise.1 as f64) else {
            return false;
        };
        self.misfit(squares) > MISSES && squares.sum / free > within * f.inverse_cdf(0.99)
    }

    /// Degrees of freedom of the residuals, with this number of coefficients fitted.
    fn degrees(&self, coefficients: usize) -> f64 {
        let lack_of_fit = self.x.len().saturating_sub(coefficients);
        (lack_of_fit + self.noise.1) as f64
    }

    /// Each exponent with its interval, sought from these on.
    fn exponents(&self, start: &[f64]) -> Vec<Option<Fitted>> {
        let count = start.len();
        let shaped = self.with_shape();
        let best = self.best(start.to_vec(), &shaped, None);
        let least = self.squares(&best).sum;
        let degrees = self.degrees(1 + count + shaped.len());
        let Ok(f) = FisherSnedecor::new(1.0, degrees) else {
            return vec![None; count];
        };
        let limit = least + f.inverse_cdf(0.95) * (least + self.noise.0) / degrees;
        let interval = |of: usize| {
            if !shaped.contains(&of) {
                return None;
            }
            let is_inside = |exponent: f64| {
                let mut with = best.clone();
                with[of] = exponent;
                let with = self.best(with, &shaped, Some(of));
                self.squares(&with).sum <= limit
            };
            let value = best[of];
            Some(Fitted {
                value,
                ci95: (
                    last_inside(value, EXPONENTS.0, is_inside),
                    last_inside(value, EXPONENTS.1, is_inside),
                ),
            })
        };
        (0..count).map(interval).collect()
    }

    /// The best exponents of `shaped`, from these on; `held` stays as it is.
    fn best(&self, mut exponents: Vec<f64>, shaped: &[usize], held: Option<usize>) -> Vec<f64> {
        for round in 0..ROUNDS {
            let before = exponents.clone();
            for of in shaped.iter().copied().filter(|of| Some(*of) != held) {
                let cost = |exponent: f64| {
                    let mut with = exponents.clone();
                    with[of] = exponent;
                    self.squares(&with).sum
                };
                // Once it is known where, it is enough to look nearby.
                let around = match (round, held) {
                    (0, None) => least_of_grid(cost),
                    _ => exponents[of],
                };
                exponents[of] = least_between(around - STEP, around + STEP, cost);
            }
            let moved = exponents
                .iter()
                .zip(&before)
                .map(|(now, before)| (now - before).abs());
            if moved.fold(0.0, f64::max) < PRECISE {
                break;
            }
        }
        exponents
    }

    fn columns(&self, exponents: &[f64]) -> MatrixColumns {
        let value = |point: usize, column: usize| match column.checked_sub(1) {
            None => 1.0,
            Some(of) => power(self.x[point][of], exponents[of]),
        };
        MatrixColumns::of(self.x.len(), 1 + exponents.len(), value)
    }

    /// The best other coefficients for these exponents.
    fn squares(&self, exponents: &[f64]) -> Squares {
        let columns = self.columns(exponents);
        let times: Vec<f64> = self.logs.iter().map(|log| log.exp()).collect();
        let mut coefficients = non_negative(&columns, &times, &times, &self.weights);
        let mut best = self.judged(&columns, coefficients.clone());
        for _ in 0..STEPS {
            let fitted = columns.times(&coefficients);
            // ln y = ln f + (g - f) / f, to first order: g is the new fit.
            let points = fitted.iter().zip(&times);
            let goal: Vec<f64> = points
                .map(|(fitted, time)| fitted * (1.0 + (time / fitted).ln()))
                .collect();
            coefficients = non_negative(&columns, &goal, &fitted, &self.weights);
            let next = self.judged(&columns, coefficients.clone());
            let gained = best.sum - next.sum;
            if gained > 0.0 {
                best = next;
            }
            if gained.is_nan() || gained <= 1e-10 * best.sum {
                break;
            }
        }
        best
    }

    fn judged(&self, columns: &MatrixColumns, coefficients: Vec<f64>) -> Squares {
        let fitted = columns.times(&coefficients);
        let points = self.logs.iter().zip(&self.weights).zip(&fitted);
        let sum = points
            .map(|((log, weight), fitted)| weight * (log - fitted.ln()).powi(2))
            .sum::<f64>();
        Squares {
            sum: if sum.is_nan() { f64::INFINITY } else { sum },
            coefficients,
        }
    }

    /// The other coefficients with intervals that account for the uncertainty of free exponents.
    fn intervals(&self, exponents: &[f64], free: &[bool], squares: &Squares) -> Vec<Fitted> {
        let columns = self.columns(exponents);
        let found = &squares.coefficients;
        let fitted = columns.times(found);
        let free: Vec<usize> = (0..free.len()).filter(|of| free[*of]).collect();
        let count = columns.0.len();
        let width = count + free.len();
        let slopes = MatrixColumns::of(self.x.len(), width, |point, column| {
            let scale = self.weights[point].sqrt() / fitted[point];
            match column.checked_sub(count) {
                None => columns.0[column][point] * scale,
                Some(index) => {
                    let of = free[index];
                    let x = self.x[point][of].max(f64::MIN_POSITIVE);
                    found[1 + of] * power(x, exponents[of]) * x.ln() * scale
                }
            }
        });
        let degrees = self.degrees(width);
        let variance = (squares.sum + self.noise.0) / degrees;
        let variances = LeastSquares::of(&slopes).variances(DISTINCT);
        let half = |index: usize, value: f64| -> f64 {
            let Some(variances) = &variances else {
                return f64::INFINITY;
            };
            // The machine makes everything slower or faster alike, by an amount with its own
            // variance: Welch and Satterthwaite's degrees of freedom of both.
            let alone = variance * variances[index];
            let common = self.level.0 * value.powi(2);
            let together = (alone + common).powi(2)
                / (alone.powi(2) / degrees + common.powi(2) / self.level.1 as f64);
            let quantile = students(together).map_or(0.0, |t| t.inverse_cdf(0.975));
            quantile * (alone + common).sqrt()
        };
        let values = squares.coefficients.iter().enumerate();
        values
            .map(|(index, value)| {
                let half = half(index, *value);
                Fitted {
                    value: *value,
                    ci95: ((value - half).max(0.0), value + half),
                }
            })
            .collect()
    }
}

fn power(x: f64, exponent: f64) -> f64 {
    if x == 0.0 {
        // A parameter of zero adds nothing, and a law that falls has no point at zero.
        0.0
    } else {
        x.powf(exponent)
    }
}

/// Linear least squares for relative distances, with no coefficient below zero: the best of those
/// with some of them left out (there are few).
fn non_negative(columns: &MatrixColumns, goal: &[f64], scale: &[f64], weights: &[f64]) -> Vec<f64> {
    let count = columns.0.len();
    let row = |point: usize| weights[point].sqrt() / scale[point];
    let right: Vec<f64> = (0..goal.len())
        .map(|point| goal[point] * row(point))
        .collect();
    let mut best = (f64::INFINITY, vec![0.0; count]);
    for kept in 1..1_usize << count {
        let kept: Vec<usize> = (0..count)
            .filter(|column| kept & (1 << column) != 0)
            .collect();
        let left = MatrixColumns::of(goal.len(), kept.len(), |point, index| {
            columns.0[kept[index]][point] * row(point)
        });
        let Some(solution) = LeastSquares::of(&left).solve(&right, DISTINCT) else {
            continue;
        };
        if solution.iter().any(|value| value.is_nan() || *value < 0.0) {
            continue;
        }
        let nearest = left.times(&solution);
        let points = nearest.iter().zip(&right);
        let distance: f64 = points.map(|(found, right)| (found - right).powi(2)).sum();
        if distance < best.0 {
            let mut all = vec![0.0; count];
            for (column, value) in kept.iter().zip(solution) {
                all[*column] = value;
            }
            best = (distance, all);
        }
    }
    best.1
}

/// The exponent of a coarse grid with the least cost.
fn least_of_grid(cost: impl Fn(f64) -> f64) -> f64 {
    let steps = ((EXPONENTS.1 - EXPONENTS.0) / STEP) as usize;
    let tried = (0..=steps).map(|step| EXPONENTS.0 + step as f64 * STEP);
    let costs = tried
        .filter(|exponent| exponent.abs() > CONSTANT)
        .map(|exponent| (exponent, cost(exponent)));
    let least = costs.min_by(|(_, one), (_, other)| one.total_cmp(other));
    least.map_or(1.0, |(exponent, _)| exponent)
}

/// The least of a function with one valley between two places (golden section).
fn least_between(from: f64, to: f64, cost: impl Fn(f64) -> f64) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (from.max(EXPONENTS.0), to.min(EXPONENTS.1));
    while high - low > PRECISE {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if cost(left) <= cost(right) {
            high = right
        } else {
            low = left
        }
    }
    let middle = f64::midpoint(low, high);
    if middle.abs() < CONSTANT {
        CONSTANT.copysign(middle)
    } else {
        middle
    }
}

/// The last point on the way from one that is inside to an end that may be.
fn last_inside(from: f64, end: f64, is_inside: impl Fn(f64) -> bool) -> f64 {
    let (mut inside, mut outside) = (from, end);
    let step = STEP.copysign(end - from);
    // The nearest place outside first: farther away it may be inside again.
    let mut point = from;
    loop {
        point += step;
        if (point - end) * step >= 0.0 {
            if is_inside(end) { return end } else { break }
        }
        if !is_inside(point) {
            outside = point;
            break;
        }
        inside = point;
    }
    while (outside - inside).abs() > PRECISE {
        let middle = f64::midpoint(inside, outside);
        if is_inside(middle) {
            inside = middle
        } else {
            outside = middle
        }
    }
    f64::midpoint(inside, outside)
}
