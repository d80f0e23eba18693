//! Files that came as expected, in complete and incomplete visits: counted in the report of 1995.

use record::{Nanos, Sample};

/// Files that came, and their sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FilesCame {
    /// Bytes of the responses, heads included.
    pub size: BodySizes,
    /// Bytes of the bodies.
    pub body: BodySizes,
    /// The longest time that the files of one visit took, each with its connecting, added up.
    pub longest: Nanos,
    /// The longest time that one visit spent on connecting.
    pub longest_connect: Nanos,
}

impl FilesCame {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.size.add(sample.bytes_received);
        self.body.add(sample.body_received);
    }

    pub(super) fn merge(&mut self, other: &FilesCame) {
        self.size.merge(&other.size);
        self.body.merge(&other.body);
        self.longest = self.longest.max(other.longest);
        self.longest_connect = self.longest_connect.max(other.longest_connect);
    }
}

/// Number, sum and spread of sizes in bytes, kept as exact sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodySizes {
    /// How many there are.
    pub n: u64,
    /// All of them together.
    pub sum: u64,
    /// The least; 0 where there are none.
    pub min: u64,
    /// The greatest.
    pub max: u64,
    squares: u128,
}

impl BodySizes {
    fn add(&mut self, bytes: u64) {
        self.merge(&BodySizes {
            n: 1,
            sum: bytes,
            min: bytes,
            max: bytes,
            squares: u128::from(bytes).pow(2),
        });
    }

    fn merge(&mut self, other: &BodySizes) {
        if other.n == 0 {
            return;
        }
        self.min = match self.n {
            0 => other.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.n += other.n;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Arithmetic mean; 0 where there are none.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.n.max(1) as f64
    }

    /// Standard deviation (divisor n - 1); `None` for less than two.
    pub fn sd(&self) -> Option<f64> {
        let n = u128::from(self.n);
        // n times the squares is at least the square of the sum (Cauchy and Schwarz).
        let spread = (n * self.squares).saturating_sub(u128::from(self.sum).pow(2));
        (n > 1).then(|| (spread as f64 / (n * (n - 1)) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_add_up_however_they_are_merged() {
        let of = |values: &[u64]| {
            let mut sizes = BodySizes::default();
            values.iter().for_each(|bytes| sizes.add(*bytes));
            sizes
        };
        let all = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((all.n, all.sum, all.min, all.max), (8, 40, 2, 9));
        assert_eq!(all.mean(), 5.0);
        assert!((all.sd().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let mut merged = of(&[]);
        merged.merge(&of(&[2, 4, 4]));
        merged.merge(&of(&[]));
        merged.merge(&of(&[4, 5, 5, 7, 9]));
        assert_eq!(merged, all);
        assert_eq!((of(&[3]).sd(), of(&[]).mean()), (None, 0.0));
        assert_eq!(of(&[1 << 40; 3]).sd(), Some(0.0));
    }
}
