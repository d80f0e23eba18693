//! Rank test: do the values of one group tend to be larger than those of another?
//!
//! Student's t promises too much of a few numbers that have few values, as numbers of calls do:
//! seven of eight pairs with the same difference have hardly any spread. The rank sum asks only
//! that all values could as well have been in the other group (Wilcoxon, *Individual comparisons by
//! ranking methods*, Biometrics Bulletin 1, 1945), and counts all the ways in which they could,
//! with the mean of their ranks for equal values.

/// The two-sided p-value, exact, of two small groups: time and memory grow as the fourth power.
pub(super) fn p_value(one: &[f64], other: &[f64]) -> f64 {
    let mut values: Vec<(f64, bool)> = Vec::new();
    values.extend(one.iter().map(|value| (*value, true)));
    values.extend(other.iter().map(|value| (*value, false)));
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the ranks, which are integers for equal values, too: those at `first..end` share
    // `first + 1 ..= end`.
    let equal = values.chunk_by(|a, b| a.0 == b.0);
    let ranks = equal.scan(0, |end, values| {
        let first = *end;
        *end += values.len();
        Some(vec![first + 1 + *end; values.len()])
    });
    let ranks: Vec<usize> = ranks.flatten().collect();
    let ranked = ranks.iter().zip(&values);
    let sum: usize = ranked
        .filter_map(|(rank, (_, is_one))| is_one.then_some(rank))
        .sum();
    let ways = ways(&ranks, one.len());
    let expected = one.len() * (values.len() + 1);
    let is_as_far = |(of, _): &(usize, &f64)| of.abs_diff(expected) >= sum.abs_diff(expected);
    let as_far: f64 = ways
        .iter()
        .enumerate()
        .filter(is_as_far)
        .map(|(_, ways)| ways)
        .sum();
    as_far / ways.iter().sum::<f64>()
}

/// For each sum, the number of ways to choose `chosen` of these numbers with that sum.
fn ways(numbers: &[usize], chosen: usize) -> Vec<f64> {
    let most: usize = numbers.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; chosen + 1];
    ways[0][0] = 1.0;
    for number in numbers {
        for count in (1..=chosen).rev() {
            for sum in *number..=most {
                ways[count][sum] += ways[count - 1][sum - number];
            }
        }
    }
    ways.swap_remove(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of `scipy.stats.permutation_test` on the rank sums (`scipy.stats.rankdata`) of the
    /// same numbers, over all permutations.
    #[test]
    fn all_ways_are_counted() {
        let table: [(&[f64], &[f64], f64); 6] = [
            (&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 2.0 / 20.0),
            (&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 2.0 / 20.0),
            (&[1.0, 4.0], &[2.0, 3.0], 1.0),
            // Of ten ways to choose two of five, those with none and with two of the larger ones.
            (&[8.0, 8.0], &[8.0, 9.0, 9.0], 0.4),
            (&[8.0; 5], &[8.0; 5], 1.0),
            (&[8.0; 8], &[9.0; 8], 2.0 / 12_870.0),
        ];
        for (one, other, expected) in table {
            let found = p_value(one, other);
            assert!(
                (found - expected).abs() < 1e-12,
                "{one:?} {other:?}: {found}"
            );
        }
    }
}
