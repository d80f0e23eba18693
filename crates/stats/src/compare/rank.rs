//! The rank test, and the correction for many tests.

use statrs::distribution::{ContinuousCDF, Normal};

/// Whether values of B tend to be larger or smaller than those of A, pair of runs by pair of runs:
/// the two-sided p-value of the stratified rank sum test (van Elteren, *On the combination of
/// independent two sample tests of Wilcoxon*, Bulletin of the International Statistical Institute
/// 37, 1960), with mid-ranks and the variance for ties. With one pair it is the test of Wilcoxon,
/// Mann and Whitney.
pub(super) fn rank_test(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    let (mut sum, mut variance) = (0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (m, n) = (a.len() as f64, b.len() as f64);
        let all = m + n;
        let (ranks_of_b, ties) = rank_sum(a, b);
        let weight = 1.0 / (all + 1.0);
        sum += weight * (ranks_of_b - n * (all + 1.0) / 2.0);
        let tied = ties / (all * (all - 1.0));
        variance += weight * weight * m * n / 12.0 * (all + 1.0 - tied);
    }
    if variance <= 0.0 {
        return 1.0;
    }
    2.0 * Normal::standard().sf(sum.abs() / variance.sqrt())
}

/// Sum of the ranks of `b` among both, and the sum of `t^3 - t` over groups of `t` equal values.
fn rank_sum(a: &[f64], b: &[f64]) -> (f64, f64) {
    let of_a = a.iter().map(|value| (*value, 0.0));
    let mut all: Vec<(f64, f64)> = of_a.chain(b.iter().map(|value| (*value, 1.0))).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut ranks, mut ties, mut before) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|one, other| one.0 == other.0) {
        let size = group.len() as f64;
        let rank = before + (size + 1.0) / 2.0;
        ranks += rank * group.iter().map(|(_, is_b)| is_b).sum::<f64>();
        ties += size.powi(3) - size;
        before += size;
    }
    (ranks, ties)
}

/// Corrects p-values for their number, so that the chance of any false alarm stays what it is
/// called (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal
/// of Statistics 6(2), 1979).
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let (mut corrected, mut least) = (vec![1.0; p.len()], 0.0_f64);
    for (place, of) in order.into_iter().enumerate() {
        least = least.max((p[of] * (p.len() - place) as f64).min(1.0));
        corrected[of] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_test_is_that_of_the_books() {
        // Hollander and Wolfe's example: W = 35 with 10 and 5 values, normal approximation.
        let a = vec![0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let b = vec![1.15, 0.88, 0.90, 0.74, 1.21];
        let p = rank_test(std::slice::from_ref(&a), std::slice::from_ref(&b));
        assert!((p - 0.2207).abs() < 1e-3, "{p}");
        assert_eq!(
            p,
            rank_test(std::slice::from_ref(&b), std::slice::from_ref(&a))
        );
        // Twice the same evidence is more.
        assert!(rank_test(&[a.clone(), a.clone()], &[b.clone(), b]) < p);
        assert_eq!(rank_test(&[vec![1.0, 1.0]], &[vec![1.0, 1.0]]), 1.0);
        assert_eq!(
            rank_test(std::slice::from_ref(&a), std::slice::from_ref(&a)),
            1.0
        );
    }

    #[test]
    fn corrected_p_values_are_holms() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.6]);
        let percent: Vec<f64> = corrected.iter().map(|p| (p * 100.0).round()).collect();
        assert_eq!(percent, [4.0, 9.0, 9.0, 60.0]);
    }
}
