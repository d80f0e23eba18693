//! A bounded number of bins along the time axis, from which uncertainties are estimated.
//!
//! A value belongs to the time at which its operation began, so neither the order of recording nor
//! the number of threads that recorded leaves a trace, and two runs of bins merge exactly. A bin is
//! `2^shift` nanoseconds long, at multiples of its length; when the values need more bins than the
//! limit, neighbours are merged and bins are twice as long. The final length therefore follows from
//! the first and the last moment alone.

use record::Nanos;

pub(crate) trait Bin: Default + Clone {
    fn count(&self) -> u64;
    fn absorb(&mut self, other: &Self);
}

/// Number and sum of some values, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Values.
    pub n: u64,
    /// Their sum.
    pub sum: u128,
}

impl Sum {
    /// Their mean; not a number for no values.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.n as f64
    }

    pub(crate) fn add(&mut self, value: Nanos) {
        self.n += 1;
        self.sum += u128::from(value);
    }

    pub(crate) fn add_square(&mut self, value: Nanos) {
        self.n += 1;
        self.sum = self.sum.saturating_add(u128::from(value).pow(2));
    }
}

pub(crate) fn total<'a>(sums: impl IntoIterator<Item = &'a Sum>) -> Sum {
    let mut all = Sum::default();
    sums.into_iter().for_each(|sum| all.absorb(sum));
    all
}

impl Bin for Sum {
    fn count(&self) -> u64 {
        self.n
    }

    fn absorb(&mut self, other: &Sum) {
        self.n += other.n;
        self.sum = self.sum.saturating_add(other.sum);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Bins<B> {
    most: usize,
    shift: u32,
    /// Number of the first bin: it begins at `first << shift`.
    first: u64,
    bins: Vec<B>,
}

impl<B: Bin> Bins<B> {
    /// At most that many bins, of `2^shift` nanoseconds to begin with.
    pub(crate) fn new(most: usize, shift: u32) -> Bins<B> {
        Bins {
            most,
            shift,
            first: 0,
            bins: Vec::new(),
        }
    }

    pub(crate) fn at(&mut self, moment: Nanos) -> &mut B {
        let index = (moment >> self.shift).wrapping_sub(self.first);
        let index = match usize::try_from(index) {
            Ok(index) if index < self.bins.len() => index,
            _ => self.make_room(moment),
        };
        &mut self.bins[index]
    }

    /// Adds bins, and makes them longer, until one contains that moment; returns its index.
    fn make_room(&mut self, moment: Nanos) -> usize {
        if self.bins.is_empty() {
            self.first = moment >> self.shift;
            self.bins.push(B::default());
        }
        loop {
            let bin = moment >> self.shift;
            let last = self.first + (self.bins.len() as u64 - 1);
            let (low, high) = (self.first.min(bin), last.max(bin));
            if high - low < self.most as u64 {
                let before = (self.first - low) as usize;
                self.bins
                    .splice(0..0, std::iter::repeat_n(B::default(), before));
                self.first = low;
                self.bins.resize_with((high - low) as usize + 1, B::default);
                return (bin - low) as usize;
            }
            self.coarsen();
        }
    }

    /// Puts pairs of neighbours together.
    pub(crate) fn coarsen(&mut self) {
        let first = self.first >> 1;
        let mut bins: Vec<B> = Vec::with_capacity(self.most);
        for (index, bin) in std::mem::take(&mut self.bins).into_iter().enumerate() {
            let index = (((self.first + index as u64) >> 1) - first) as usize;
            match bins.get_mut(index) {
                Some(whole) => whole.absorb(&bin),
                None => bins.push(bin),
            }
        }
        (self.first, self.bins, self.shift) = (first, bins, self.shift + 1);
    }

    pub(crate) fn merge(&mut self, other: &Bins<B>) {
        for (index, bin) in other.bins.iter().enumerate() {
            if bin.count() == 0 {
                continue;
            }
            let begin = (other.first + index as u64) << other.shift;
            // The length of these bins may be less than that of the others; then it must grow
            // first, so that values that are spread over a bin do not fall into a part of it.
            while self.shift < other.shift {
                self.coarsen();
            }
            self.at(begin).absorb(bin);
        }
    }

    /// Neighbouring bins merged into about `parts` batches of about the same number of values, in
    /// the order of time. None is empty.
    pub(crate) fn batches(&self, parts: usize) -> Vec<B> {
        let total: u64 = self.bins.iter().map(B::count).sum();
        let mut batches: Vec<B> = Vec::new();
        let (mut before, mut latest) = (0, None);
        for bin in self.bins.iter().filter(|bin| bin.count() > 0) {
            // A bin belongs to the batch in which its middle value lies.
            let middle = u128::from(before + bin.count() / 2);
            let batch = middle * parts as u128 / u128::from(total);
            match batches.last_mut() {
                Some(whole) if latest == Some(batch) => whole.absorb(bin),
                _ => batches.push(bin.clone()),
            }
            (before, latest) = (before + bin.count(), Some(batch));
        }
        batches
    }

    pub(crate) fn map<C>(self, of: impl FnMut(B) -> C) -> Bins<C> {
        Bins {
            most: self.most,
            shift: self.shift,
            first: self.first,
            bins: self.bins.into_iter().map(of).collect(),
        }
    }

    /// All bins with the moments at which they begin, in the order of time; some may be empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Nanos, &B)> {
        let begin = |index: usize| (self.first + index as u64) << self.shift;
        let bins = self.bins.iter().enumerate();
        bins.map(move |(index, bin)| (begin(index), bin))
    }

    /// The bins that are not empty, each with the moment at which it begins.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (Nanos, &B)> {
        self.iter().filter(|(_, bin)| bin.count() > 0)
    }

    /// How many there are, the empty ones between others too.
    pub(crate) fn len(&self) -> usize {
        self.bins.len()
    }

    /// Nanoseconds of a bin.
    pub(crate) fn length(&self) -> Nanos {
        1 << self.shift
    }

    /// Nanoseconds that the bins span.
    pub(crate) fn span(&self) -> Nanos {
        (self.bins.len() as u64).saturating_mul(1 << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(most: usize, moments: &[Nanos]) -> Bins<Sum> {
        let mut bins: Bins<Sum> = Bins::new(most, 0);
        for moment in moments {
            bins.at(*moment).add(*moment);
        }
        bins
    }

    fn content(bins: &Bins<Sum>) -> (u32, u64, Vec<Sum>) {
        (bins.shift, bins.first, bins.bins.clone())
    }

    #[test]
    fn bins_double_when_there_would_be_too_many() {
        let bins = filled(4, &[8, 9, 11]);
        assert_eq!((bins.shift, bins.first, bins.bins.len()), (0, 8, 4));
        let bins = filled(4, &[8, 9, 11, 12]);
        assert_eq!((bins.shift, bins.first, bins.bins.len()), (1, 4, 3));
        assert_eq!(bins.bins[0], Sum { n: 2, sum: 17 });
        let bins = filled(4, &[u64::MAX, 0]);
        assert_eq!(bins.bins.len(), 4);
    }

    #[test]
    fn batches_have_about_the_same_number_of_values() {
        let moments: Vec<Nanos> = (0..10_000).map(|i| 5_000_000 + i * 1_000).collect();
        let batches = filled(128, &moments).batches(20);
        assert_eq!(batches.len(), 20);
        assert_eq!(batches.iter().map(|batch| batch.n).sum::<u64>(), 10_000);
        assert!(
            batches.iter().all(|batch| (350..650).contains(&batch.n)),
            "{batches:?}"
        );
        assert_eq!(filled(128, &[]).batches(20), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn neither_order_nor_merging_leaves_a_trace(
            (moments, shuffled) in proptest::collection::vec(any::<u64>(), 1..60)
                .prop_flat_map(|moments| (Just(moments.clone()), Just(moments).prop_shuffle())),
            cut in 0..60_usize,
            narrow in 0..60_u32,
        ) {
            let narrowed = |moments: &[u64]| moments.iter().map(|m| m >> narrow).collect::<Vec<_>>();
            let (moments, shuffled) = (narrowed(&moments), narrowed(&shuffled));
            let all = filled(8, &moments);
            prop_assert!(all.bins.len() <= 8);
            prop_assert_eq!(content(&all), content(&filled(8, &shuffled)));
            let (left, right) = shuffled.split_at(cut.min(shuffled.len()));
            let mut merged = filled(8, left);
            merged.merge(&filled(8, right));
            prop_assert_eq!(content(&all), content(&merged));
        }
    }
}
