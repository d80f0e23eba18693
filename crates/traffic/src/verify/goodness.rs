//! Goodness of fit.

use statrs::function::gamma::gamma_ur;

/// Agreement of numbers with a law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Kolmogorov-Smirnov: the largest distance of the distribution functions, 0 to 1. Chi-square:
    /// the statistic.
    pub statistic: f64,
    /// Probability of a statistic that large or larger if the numbers have this law.
    pub p_value: f64,
    /// Numbers compared.
    pub count: usize,
}

/// Compares numbers with a continuous distribution function by the test of Kolmogorov and Smirnov.
/// The p-value is that of Stephens (1970), Journal of the Royal Statistical Society B 32, 115-122,
/// which is right to two digits from 5 numbers on. None for no numbers.
pub fn kolmogorov_smirnov(numbers: &[f64], cdf: impl Fn(f64) -> f64) -> Option<Agreement> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let n = count as f64;
    let distance = |(index, number): (usize, &f64)| {
        let (below, expected) = (index as f64 / n, cdf(*number));
        (expected - below).max(below + 1.0 / n - expected)
    };
    let statistic = sorted.iter().enumerate().map(distance).reduce(f64::max)?;
    let root = libm::sqrt(n);
    Some(Agreement {
        statistic,
        p_value: kolmogorov_survival((root + 0.12 + 0.11 / root) * statistic),
        count,
    })
}

/// P(K > x) of Kolmogorov's distribution, by the series that converges quickly at x.
fn kolmogorov_survival(x: f64) -> f64 {
    if x < 0.05 {
        return 1.0;
    }
    if x < 1.18 {
        let term = |k: i32| {
            let odd = f64::from(2 * k - 1) * std::f64::consts::PI;
            libm::exp(-odd * odd / (8.0 * x * x))
        };
        let sum: f64 = (1..=20).map(term).sum();
        return 1.0 - libm::sqrt(2.0 * std::f64::consts::PI) / x * sum;
    }
    let term = |k: i32| {
        let k = f64::from(k);
        libm::exp(-2.0 * k * k * x * x)
    };
    let sum: f64 = (1..=20)
        .map(|k| if k % 2 == 1 { term(k) } else { -term(k) })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// Most cells of the chi-square test, and fewest numbers expected in each.
const CELLS: usize = 50;
const LEAST_EXPECTED: f64 = 10.0;

/// Compares whole numbers with P(K <= k) by Pearson's chi-square test. The cells follow from the
/// law and not from the numbers, and are about equally likely. None if the law has only one cell:
/// then there is nothing to compare, except that all numbers are in it.
pub fn discrete_agreement(numbers: &[u64], cdf: impl Fn(u64) -> f64) -> Option<Agreement> {
    let count = numbers.len();
    let cells = CELLS.min((count as f64 / LEAST_EXPECTED) as usize);
    // The last number of each cell.
    let end = |cell: usize| smallest_with(&cdf, cell as f64 / cells as f64);
    let mut ends: Vec<u64> = (1..cells).map(end).collect();
    // A rest that is expected too rarely to be a cell of its own belongs to the last one.
    let is_rare = |end: &u64| (1.0 - cdf(*end)) * (count as f64) < LEAST_EXPECTED;
    while ends.last().is_some_and(is_rare) {
        ends.pop();
    }
    ends.dedup();
    ends.push(u64::MAX);
    if ends.len() < 2 {
        return None;
    }
    let mut observed = vec![0u64; ends.len()];
    for number in numbers {
        observed[ends.partition_point(|end| end < number)] += 1;
    }
    let mut below = 0.0;
    let mut statistic = 0.0;
    for (end, observed) in ends.iter().zip(observed) {
        let until = if *end == u64::MAX { 1.0 } else { cdf(*end) };
        let expected = (until - below) * count as f64;
        below = until;
        statistic += (observed as f64 - expected) * (observed as f64 - expected) / expected;
    }
    let freedom = (ends.len() - 1) as f64;
    let p_value = if statistic > 0.0 {
        gamma_ur(freedom / 2.0, statistic / 2.0)
    } else {
        1.0
    };
    Some(Agreement {
        statistic,
        p_value,
        count,
    })
}

/// The smallest number with at least this much of a law at or below it.
fn smallest_with(cdf: &impl Fn(u64) -> f64, p: f64) -> u64 {
    let (mut low, mut high) = (0, 1u64 << 52);
    while low < high {
        let middle = u64::midpoint(low, high);
        if cdf(middle) < p {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kolmogorovs_distribution_has_its_known_values() {
        // The quantiles of all tables.
        for (x, p) in [
            (0.827_57, 0.5),
            (1.223_85, 0.1),
            (1.358_10, 0.05),
            (1.627_62, 0.01),
        ] {
            let found = kolmogorov_survival(x);
            assert!((found - p).abs() < 1e-5, "{x}: {found}");
        }
        // Where one series takes over from the other.
        let step = kolmogorov_survival(1.18 - 1e-9) - kolmogorov_survival(1.18);
        assert!(step.abs() < 1e-8, "{step}");
        assert_eq!(kolmogorov_survival(0.0), 1.0);
        assert!(kolmogorov_survival(9.0) < 1e-60);
    }

    #[test]
    fn distances_by_hand() {
        let uniform = |x: f64| x.clamp(0.0, 1.0);
        let found = kolmogorov_smirnov(&[0.7, 0.1, 0.3], uniform).unwrap();
        // After 0.3, two thirds were seen.
        assert!((found.statistic - (2.0 / 3.0 - 0.3)).abs() < 1e-12);
        assert_eq!(kolmogorov_smirnov(&[], uniform), None);
        let all_wrong = kolmogorov_smirnov(&[2.0; 20], uniform).unwrap();
        assert!(all_wrong.statistic == 1.0 && all_wrong.p_value < 1e-9);
    }

    #[test]
    fn chi_square_by_hand() {
        // Two cells: 60 and 40 where 50 and 50 are expected: 100/50 + 100/50 = 4, p = 0.0455.
        let coin = |k: u64| [0.0, 0.5, 1.0][k.min(2) as usize];
        let numbers: Vec<u64> = (0..100).map(|index| 1 + u64::from(index < 40)).collect();
        let found = discrete_agreement(&numbers, coin).unwrap();
        assert!((found.statistic - 4.0).abs() < 1e-9, "{found:?}");
        assert!((found.p_value - 0.0455).abs() < 1e-4, "{found:?}");
        let certain = |k| f64::from(u8::from(k >= 1));
        assert_eq!(discrete_agreement(&numbers, certain), None);
    }
}
