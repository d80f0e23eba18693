//! Series of points over time with a bounded number of points. Pure.
//!
//! A series that is full keeps every second point, and from then on takes every second, fourth, ...
//! new one. A histogram over time that is full doubles the width of its bins.

/// Points over time, at most a given number of them.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeSeries<P> {
    points: Vec<P>,
    limit: usize,
    /// Distance of the points that are kept.
    stride: u64,
    offered: u64,
}

impl<P> TimeSeries<P> {
    pub(crate) fn new(limit: usize) -> TimeSeries<P> {
        TimeSeries {
            points: Vec::new(),
            limit: limit.max(2),
            stride: 1,
            offered: 0,
        }
    }

    pub(crate) fn push(&mut self, point: P) {
        if self.offered.is_multiple_of(self.stride) {
            if self.points.len() >= self.limit {
                let mut index = 0;
                self.points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride = self.stride.saturating_mul(2);
            }
            // A point that is not a multiple of the new stride would crowd the end.
            if self.offered.is_multiple_of(self.stride) {
                self.points.push(point);
            }
        }
        self.offered += 1;
    }

    /// The points that were kept, in the order of capture.
    pub fn points(&self) -> &[P] {
        &self.points
    }

    /// Number of all points.
    pub fn offered(&self) -> u64 {
        self.offered
    }
}

/// Bytes per bin of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytesOverTime {
    start_ns: Option<i64>,
    width_ns: i64,
    bins: Vec<u64>,
    limit: usize,
}

impl BytesOverTime {
    pub(crate) fn new(limit: usize, width_ns: i64) -> BytesOverTime {
        BytesOverTime {
            start_ns: None,
            width_ns: width_ns.max(1),
            bins: Vec::new(),
            limit: limit.max(2),
        }
    }

    pub(crate) fn add(&mut self, at_ns: i64, bytes: u64) {
        let start_ns = *self.start_ns.get_or_insert(at_ns);
        // A clock that was set back: the first bin.
        let since_ns = at_ns.saturating_sub(start_ns).max(0);
        while since_ns / self.width_ns >= self.limit as i64 {
            self.width_ns = self.width_ns.saturating_mul(2);
            let pairs = self.bins.chunks(2);
            self.bins = pairs.map(|pair| pair.iter().sum()).collect();
        }
        let bin = (since_ns / self.width_ns) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
    }

    /// Width of a bin, in nanoseconds.
    pub fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// Start of each bin and its bytes, including bins without bytes.
    pub fn bins(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let start_ns = self.start_ns.unwrap_or(0);
        let bins = self.bins.iter().enumerate();
        bins.map(move |(bin, bytes)| {
            let offset_ns = self.width_ns.saturating_mul(bin as i64);
            (start_ns.saturating_add(offset_ns), *bytes)
        })
    }
}
