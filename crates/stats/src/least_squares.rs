//! Linear least squares: Householder's QR decomposition with column pivoting (Businger and Golub,
//! Numerische Mathematik 7, 1965), of columns that have been scaled to length 1, so that units do
//! not decide about the rank.
//!
//! Unlike the normal equations it does not square the condition of the problem. There are a few
//! columns here, and some hundreds of rows at most.

/// A matrix, column by column. All columns have the same length.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MatrixColumns(pub(crate) Vec<Vec<f64>>);

/// The decomposition of a matrix with at least as many rows as columns.
#[derive(Debug, Clone)]
pub(crate) struct LeastSquares {
    /// On and below the diagonal the vector of each reflection, above it R. Columns are in `order`.
    reflected: Vec<Vec<f64>>,
    /// The diagonal of R: from the largest down, in absolute values.
    diagonal: Vec<f64>,
    /// Which column stands at each index.
    order: Vec<usize>,
    /// Lengths of the columns, in their own order.
    lengths: Vec<f64>,
}

impl MatrixColumns {
    pub(crate) fn of(
        rows: usize,
        columns: usize,
        value: impl Fn(usize, usize) -> f64,
    ) -> MatrixColumns {
        let column = |column| (0..rows).map(|row| value(row, column)).collect();
        MatrixColumns((0..columns).map(column).collect())
    }

    /// The product with a vector that has a value for each column.
    pub(crate) fn times(&self, coefficients: &[f64]) -> Vec<f64> {
        let rows = self.0.first().map_or(0, Vec::len);
        let mut product = vec![0.0; rows];
        for (column, coefficient) in self.0.iter().zip(coefficients) {
            add(&mut product, *coefficient, column);
        }
        product
    }
}

impl LeastSquares {
    pub(crate) fn of(columns: &MatrixColumns) -> LeastSquares {
        let count = columns.0.len();
        let lengths: Vec<f64> = columns.0.iter().map(|column| length(column)).collect();
        let scaled = |(column, length): (&Vec<f64>, &f64)| {
            let length = if *length > 0.0 { *length } else { 1.0 };
            column.iter().map(|value| value / length).collect()
        };
        let mut reflected: Vec<Vec<f64>> = columns.0.iter().zip(&lengths).map(scaled).collect();
        let mut order: Vec<usize> = (0..count).collect();
        let mut diagonal = Vec::with_capacity(count);
        for index in 0..count {
            let rest = |column: &Vec<f64>| length(column.get(index..).unwrap_or_default());
            let longest = (index..count)
                .max_by(|one, other| rest(&reflected[*one]).total_cmp(&rest(&reflected[*other])))
                .unwrap_or(index);
            reflected.swap(index, longest);
            order.swap(index, longest);
            let (column, others) = reflected.split_at_mut(index + 1);
            let Some(column) = column[index]
                .get_mut(index..)
                .filter(|column| !column.is_empty())
            else {
                diagonal.push(0.0);
                continue;
            };
            // The sign with which nothing is lost by a difference.
            let end = -length(column).copysign(column[0]);
            diagonal.push(end);
            column[0] -= end;
            let size = length(column);
            if size > 0.0 {
                column.iter_mut().for_each(|value| *value /= size);
                others
                    .iter_mut()
                    .for_each(|other| reflect(&mut other[index..], column));
            }
        }
        LeastSquares {
            reflected,
            diagonal,
            order,
            lengths,
        }
    }

    /// How many columns are linearly independent. Those that do not stick out of the space of the
    /// others by more than `tolerance` of their length are not.
    pub(crate) fn rank(&self, tolerance: f64) -> usize {
        let is_independent = |entry: &&f64| entry.abs() > tolerance;
        self.diagonal.iter().take_while(is_independent).count()
    }

    /// The coefficients for which the product is nearest to `goal`; `None` where the columns are
    /// linearly dependent.
    pub(crate) fn solve(&self, goal: &[f64], tolerance: f64) -> Option<Vec<f64>> {
        if self.rank(tolerance) < self.order.len() {
            return None;
        }
        let mut right = goal.to_vec();
        for (index, column) in self.reflected.iter().enumerate() {
            reflect(&mut right[index..], &column[index..]);
        }
        let mut solution = vec![0.0; self.order.len()];
        for index in (0..self.order.len()).rev() {
            let known = index + 1..self.order.len();
            let sum: f64 = known
                .map(|other| self.reflected[other][index] * solution[self.order[other]])
                .sum();
            solution[self.order[index]] = (right[index] - sum) / self.diagonal[index];
        }
        for (value, length) in solution.iter_mut().zip(&self.lengths) {
            *value /= length;
        }
        Some(solution)
    }

    /// The diagonal of the inverse of the product of the transposed matrix and itself: variances of
    /// the coefficients if that of each row is 1. `None` where the columns are linearly dependent.
    pub(crate) fn variances(&self, tolerance: f64) -> Option<Vec<f64>> {
        let count = self.order.len();
        if self.rank(tolerance) < count {
            return None;
        }
        let mut variances = vec![0.0; count];
        // Column by column of the inverse of R, which adds the square of each of its rows.
        for column in 0..count {
            let mut inverse = vec![0.0; count];
            for index in (0..=column).rev() {
                let known = index + 1..=column;
                let sum: f64 = known
                    .map(|other| self.reflected[other][index] * inverse[other])
                    .sum();
                let one = f64::from(u8::from(index == column));
                inverse[index] = (one - sum) / self.diagonal[index];
                variances[self.order[index]] += inverse[index].powi(2);
            }
        }
        for (value, length) in variances.iter_mut().zip(&self.lengths) {
            *value /= length.powi(2);
        }
        Some(variances)
    }
}

/// The reflection on the plane that this vector of length 1 is perpendicular to.
fn reflect(vector: &mut [f64], perpendicular: &[f64]) {
    let along: f64 = vector
        .iter()
        .zip(perpendicular)
        .map(|(one, other)| one * other)
        .sum();
    add(vector, -2.0 * along, perpendicular);
}

fn add(vector: &mut [f64], times: f64, other: &[f64]) {
    for (value, other) in vector.iter_mut().zip(other) {
        *value += times * other;
    }
}

/// The Euclidean length, computed without an overflow.
fn length(of: &[f64]) -> f64 {
    let most = largest(of);
    if most == 0.0 || !most.is_finite() {
        return most;
    }
    let squares: f64 = of.iter().map(|value| (value / most).powi(2)).sum();
    most * squares.sqrt()
}

/// The largest absolute value; 0 of nothing, NaN where there is one.
pub(crate) fn largest(of: &[f64]) -> f64 {
    of.iter().fold(0.0, |most: f64, value| {
        if value.is_nan() || most.is_nan() {
            f64::NAN
        } else {
            most.max(value.abs())
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXACT: f64 = 1e-12;

    fn assert_near(found: &[f64], expected: &[f64], share: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            let distance = (found - expected).abs();
            assert!(distance <= share * expected.abs(), "{found} for {expected}");
        }
    }

    /// The normal equations by Gauss, for comparison.
    fn by_normal_equations(columns: &MatrixColumns, goal: &[f64]) -> Vec<f64> {
        let product = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).map(|(one, other)| one * other).sum()
        };
        let count = columns.0.len();
        let row = |one: &Vec<f64>| {
            let left = columns.0.iter().map(|other| product(one, other));
            left.chain([product(one, goal)]).collect()
        };
        let mut rows: Vec<Vec<f64>> = columns.0.iter().map(row).collect();
        for index in 0..count {
            for other in 0..count {
                if other != index {
                    let times = -rows[other][index] / rows[index][index];
                    let row = rows[index].clone();
                    add(&mut rows[other], times, &row);
                }
            }
        }
        (0..count)
            .map(|index| rows[index][count] / rows[index][index])
            .collect()
    }

    /// J. W. Longley (1967), from NIST's Statistical Reference Datasets, with its certified values.
    #[test]
    fn longleys_data_have_their_certified_values() {
        const DATA: [[f64; 7]; 16] = [
            [60323.0, 83.0, 234289.0, 2356.0, 1590.0, 107608.0, 1947.0],
            [61122.0, 88.5, 259426.0, 2325.0, 1456.0, 108632.0, 1948.0],
            [60171.0, 88.2, 258054.0, 3682.0, 1616.0, 109773.0, 1949.0],
            [61187.0, 89.5, 284599.0, 3351.0, 1650.0, 110929.0, 1950.0],
            [63221.0, 96.2, 328975.0, 2099.0, 3099.0, 112075.0, 1951.0],
            [63639.0, 98.1, 346999.0, 1932.0, 3594.0, 113270.0, 1952.0],
            [64989.0, 99.0, 365385.0, 1870.0, 3547.0, 115094.0, 1953.0],
            [63761.0, 100.0, 363112.0, 3578.0, 3350.0, 116219.0, 1954.0],
            [66019.0, 101.2, 397469.0, 2904.0, 3048.0, 117388.0, 1955.0],
            [67857.0, 104.6, 419180.0, 2822.0, 2857.0, 118734.0, 1956.0],
            [68169.0, 108.4, 442769.0, 2936.0, 2798.0, 120445.0, 1957.0],
            [66513.0, 110.8, 444546.0, 4681.0, 2637.0, 121950.0, 1958.0],
            [68655.0, 112.6, 482704.0, 3813.0, 2552.0, 123366.0, 1959.0],
            [69564.0, 114.2, 502601.0, 3931.0, 2514.0, 125368.0, 1960.0],
            [69331.0, 115.7, 518173.0, 4806.0, 2572.0, 127852.0, 1961.0],
            [70551.0, 116.9, 554894.0, 4007.0, 2827.0, 130081.0, 1962.0],
        ];
        let coefficients = [
            -3_482_258.634_595_82,
            15.061_872_271_373_3,
            -0.035_819_179_292_591_0,
            -2.020_229_803_816_83,
            -1.033_226_867_173_59,
            -0.051_104_105_653_580_7,
            1_829.151_464_613_55,
        ];
        let deviations = [
            890_420.383_607_373,
            84.914_925_774_766_9,
            0.033_491_007_772_243_2,
            0.488_399_681_651_699,
            0.214_274_163_161_675,
            0.226_073_200_069_370,
            455.478_499_142_212,
        ];
        let columns = MatrixColumns::of(16, 7, |row, column| match column {
            0 => 1.0,
            _ => DATA[row][column],
        });
        let goal: Vec<f64> = DATA.iter().map(|row| row[0]).collect();
        let decomposed = LeastSquares::of(&columns);
        let found = decomposed.solve(&goal, EXACT).unwrap();
        assert_near(&found, &coefficients, 1e-8);
        let fitted = columns.times(&found);
        let residuals: f64 = goal
            .iter()
            .zip(&fitted)
            .map(|(one, other)| (one - other).powi(2))
            .sum();
        assert_near(&[(residuals / 9.0).sqrt()], &[304.854_073_561_965], 1e-9);
        let found: Vec<f64> = decomposed
            .variances(EXACT)
            .unwrap()
            .iter()
            .map(|variance| (variance * residuals / 9.0).sqrt())
            .collect();
        assert_near(&found, &deviations, 1e-8);
    }

    /// As NIST's Filip: a polynomial of degree 10 of numbers between -9 and -3. Its values are
    /// exact: they are calculated in whole numbers.
    #[test]
    fn a_polynomial_of_degree_ten_is_found_again() {
        let coefficients: [i128; 11] = [-1467, -2772, -2316, -1128, -354, -75, -11, 1, 3, -2, 1];
        let numbers: Vec<i128> = (-144..-48).collect();
        let value = |number: &i128| {
            let terms = coefficients.iter().zip(0_u32..);
            let sum: i128 = terms
                .map(|(coefficient, power)| {
                    coefficient * number.pow(power) * 16_i128.pow(10 - power)
                })
                .sum();
            sum as f64 / 16_f64.powi(10)
        };
        let goal: Vec<f64> = numbers.iter().map(value).collect();
        let columns = MatrixColumns::of(numbers.len(), 11, |row, column| {
            (numbers[row] as f64 / 16.0).powi(column as i32)
        });
        let decomposed = LeastSquares::of(&columns);
        assert_eq!(decomposed.rank(EXACT), 11);
        let found = decomposed.solve(&goal, EXACT).unwrap();
        let expected = coefficients.map(|coefficient| coefficient as f64);
        assert_near(&found, &expected, 1e-4);
        let lost = by_normal_equations(&columns, &goal);
        assert!((lost[7] - expected[7]).abs() > 0.01, "{lost:?}");
        // With less precision that cannot be distinguished.
        assert!(decomposed.rank(1e-6) < 11);
        assert_eq!(decomposed.solve(&goal, 1e-6), None);
    }

    #[test]
    fn dependent_columns_have_no_solution() {
        type Column = fn(f64) -> f64;
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        let of = |columns: &[Column]| {
            LeastSquares::of(&MatrixColumns::of(5, columns.len(), |row, column| {
                columns[column](x[row])
            }))
        };
        let cases: [(&[Column], usize); 6] = [
            (&[|_| 1.0, |x| x], 2),
            (&[|_| 1.0, |x| 1e-30 * x], 2),
            (&[|_| 1.0, |x| x, |x| 1e9 * x], 2),
            (&[|_| 1.0, |x| x, |x| 3.0 + 2.0 * x], 2),
            (&[|_| 1.0, |_| 0.0], 1),
            (&[|_| 0.0, |_| 0.0], 0),
        ];
        for (case, (columns, rank)) in cases.into_iter().enumerate() {
            let decomposed = of(columns);
            assert_eq!(decomposed.rank(EXACT), rank, "case {case}");
            let is_determined = rank == columns.len();
            assert_eq!(
                decomposed.solve(&x, EXACT).is_some(),
                is_determined,
                "case {case}"
            );
            assert_eq!(
                decomposed.variances(EXACT).is_some(),
                is_determined,
                "case {case}"
            );
        }
        // Fewer rows than columns.
        let wide = LeastSquares::of(&MatrixColumns::of(2, 3, |row, column| {
            (row + column * column) as f64
        }));
        assert!(wide.rank(EXACT) <= 2 && wide.solve(&[1.0, 2.0], EXACT).is_none());
        // Values that are no numbers have no rank.
        let none = of(&[|_| 1.0, |_| f64::NAN]);
        assert!(none.rank(EXACT) < 2);
        assert_eq!(
            LeastSquares::of(&MatrixColumns(Vec::new())).solve(&[], EXACT),
            Some(Vec::new())
        );
    }

    #[test]
    fn a_straight_line_has_its_textbook_values() {
        let columns = MatrixColumns(vec![vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]]);
        let decomposed = LeastSquares::of(&columns);
        let found = decomposed.solve(&[1.0, 3.0, 2.0, 5.0], EXACT).unwrap();
        assert_near(&found, &[1.1, 1.1], 1e-14);
        // 1/n + mean^2 / sum of squares; 1 / sum of squares.
        assert_near(&decomposed.variances(EXACT).unwrap(), &[0.7, 0.2], 1e-14);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The residuals are perpendicular to all columns: none is nearer. Units do not matter.
        #[test]
        fn no_other_coefficients_are_better(
            values in proptest::collection::vec(-100.0..100.0_f64, 60),
            goal in proptest::collection::vec(-100.0..100.0_f64, 12),
            count in 1..=5_usize,
            units in proptest::collection::vec(-12..12_i32, 5),
        ) {
            let unit = |column: usize| 10_f64.powi(units[column]);
            let columns = MatrixColumns::of(12, count, |row, column| values[12 * column + row] * unit(column));
            let decomposed = LeastSquares::of(&columns);
            prop_assume!(decomposed.rank(1e-3) == count);
            let found = decomposed.solve(&goal, EXACT).unwrap();
            let fitted = columns.times(&found);
            let residuals: Vec<f64> = goal.iter().zip(&fitted).map(|(one, other)| one - other).collect();
            for column in &columns.0 {
                let along: f64 = column.iter().zip(&residuals).map(|(one, other)| one * other).sum();
                prop_assert!(along.abs() <= 1e-9 * length(column) * length(&goal), "{along}");
            }
            // A variance is that of the coefficient that noise in each single row causes, added up.
            let mut expected = vec![0.0; count];
            for row in 0..12 {
                let mut one = vec![0.0; 12];
                one[row] = 1.0;
                let moved = decomposed.solve(&one, EXACT).unwrap();
                expected.iter_mut().zip(moved).for_each(|(sum, moved)| *sum += moved.powi(2));
            }
            for (found, expected) in decomposed.variances(EXACT).unwrap().iter().zip(expected) {
                prop_assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
            }
        }
    }
}
