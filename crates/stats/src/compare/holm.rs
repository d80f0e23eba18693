//! The correction of p-values for the number of tests.

/// Corrects p-values for their number, so that the chance of any false rejection stays what it is
/// called (Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal
/// of Statistics 6(2), 1979). Tests may depend on each other in any way.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|one, other| p[*one].total_cmp(&p[*other]));
    let (mut corrected, mut least) = (vec![1.0; p.len()], 0.0_f64);
    for (index, of) in order.into_iter().enumerate() {
        least = least.max((p[of] * (p.len() - index) as f64).min(1.0));
        corrected[of] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrected_p_values_are_holms() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.6]);
        let percent: Vec<f64> = corrected.iter().map(|p| (p * 100.0).round()).collect();
        assert_eq!(percent, [4.0, 9.0, 9.0, 60.0]);
    }
}
