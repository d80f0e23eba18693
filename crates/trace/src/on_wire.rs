//! Response times as reported by a load generator beside those on the wire, operation by operation.
//! Pure.

use crate::transaction::TracedRequest;

/// Operations that are compared: more than a capture of a GiB has, in 64 MiB.
pub const MOST_OPERATIONS: usize = 1 << 21;

/// One operation as reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedTime {
    /// Its number, as in `X-Prestan`.
    pub number: u64,
    /// Response time: *first* minus *sent*.
    pub response_ns: i64,
}

/// Operations that were both reported and captured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimePairs {
    /// Response times on the wire, in nanoseconds.
    pub wire: Vec<i64>,
    /// The same operations as reported.
    pub reported: Vec<i64>,
    /// Reported minus wire.
    pub difference: Vec<i64>,
    /// Operations that were reported, and for which the capture has no time.
    pub unmatched: u64,
    /// Operations that were reported after the first [`MOST_OPERATIONS`], and were not compared.
    pub left_out: u64,
    /// Requests of the capture that have a number.
    pub numbered: u64,
}

/// An operation, and its last request so far.
#[derive(Debug, Clone, Copy)]
struct JoinRow {
    number: u64,
    response_ns: i64,
    /// First byte of the request.
    first_ns: i64,
    /// `i64::MIN` if there is none.
    wire_ns: i64,
}

/// Finds for each reported operation the request with its number, while a capture is read. Requests
/// are not kept.
///
/// A number can pass twice: on a connection that had died, and on the next. The request that began
/// last counts.
#[derive(Debug, Default)]
pub struct WireJoin {
    rows: Vec<JoinRow>,
    is_sorted: bool,
    left_out: u64,
    numbered: u64,
}

impl WireJoin {
    /// Adds a reported operation. All of them come before the first request.
    pub fn reported(&mut self, time: ReportedTime) {
        if self.rows.len() >= MOST_OPERATIONS {
            self.left_out += 1;
            return;
        }
        self.is_sorted = false;
        self.rows.push(JoinRow {
            number: time.number,
            response_ns: time.response_ns,
            first_ns: i64::MIN,
            wire_ns: i64::MIN,
        });
    }

    /// Adds a request of the capture.
    pub fn captured(&mut self, request: &TracedRequest) {
        let Some(number) = request.number else {
            return;
        };
        self.numbered += 1;
        if !self.is_sorted {
            self.rows.sort_unstable_by_key(|row| row.number);
            self.is_sorted = true;
        }
        let start = self.rows.partition_point(|row| row.number < number);
        let rows = self.rows[start..].iter_mut();
        for row in rows.take_while(|row| row.number == number) {
            if request.request_first_ns >= row.first_ns {
                row.first_ns = request.request_first_ns;
                row.wire_ns = request.response_time_ns().unwrap_or(i64::MIN);
            }
        }
    }

    /// The pairs, by number.
    pub fn finish(mut self) -> TimePairs {
        self.rows.sort_by_key(|row| row.number);
        let mut pairs = TimePairs {
            left_out: self.left_out,
            numbered: self.numbered,
            ..TimePairs::default()
        };
        for row in self.rows {
            if row.wire_ns == i64::MIN {
                pairs.unmatched += 1;
                continue;
            }
            pairs.wire.push(row.wire_ns);
            pairs.reported.push(row.response_ns);
            pairs
                .difference
                .push(row.response_ns.saturating_sub(row.wire_ns));
        }
        pairs
    }
}

/// The same for existing operations and requests.
pub fn pair<'a>(
    reported: &[ReportedTime],
    captured: impl IntoIterator<Item = &'a TracedRequest>,
) -> TimePairs {
    let mut join = WireJoin::default();
    for time in reported {
        join.reported(*time);
    }
    for request in captured {
        join.captured(request);
    }
    join.finish()
}

impl TimePairs {
    /// Bound of 99 of 100 absolute differences, in microseconds.
    pub fn within(&self) -> Option<f64> {
        let mut sizes: Vec<i64> = self
            .difference
            .iter()
            .map(|ns| ns.saturating_abs())
            .collect();
        sizes.sort_unstable();
        Some(*rank(&sizes, 0.99)? as f64 / 1000.0)
    }
}

/// The nearest rank: the smallest value that has this share of all at or below it.
pub fn rank<T>(sorted: &[T], share: f64) -> Option<&T> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u64, first_ns: i64, wire_ns: i64) -> TracedRequest {
        TracedRequest {
            number: Some(number),
            request_first_ns: first_ns,
            request_last_ns: first_ns + 1000,
            response_first_ns: Some(first_ns + 1000 + wire_ns),
            is_clean: true,
            ..TracedRequest::default()
        }
    }

    fn sample(number: u64, response_ns: i64) -> ReportedTime {
        ReportedTime {
            number,
            response_ns,
        }
    }

    #[test]
    fn operations_are_matched_by_number_and_the_last_attempt_counts() {
        // The first attempt ends last: with its connection.
        let requests = [
            request(1, 0, 7000),
            request(2, 10, 8000),
            request(2, 5, 9000),
        ];
        let pairs = pair(&[sample(2, 8200), sample(1, 7100)], &requests);
        assert_eq!(pairs.difference, [100, 200]);
        assert_eq!((pairs.unmatched, pairs.numbered), (0, 3));
        assert_eq!(pairs.within(), Some(0.2));
        assert_eq!(pair(&[], &[]).within(), None);
    }

    #[test]
    fn a_request_without_a_time_is_unmatched() {
        let mut incomplete = request(3, 0, 5000);
        incomplete.is_clean = false;
        let samples = [sample(1, 5000), sample(2, 5000), sample(3, 5000)];
        let pairs = pair(&samples, &[request(1, 0, 5000), incomplete]);
        assert_eq!((pairs.unmatched, pairs.wire.len()), (2, 1));
    }

    #[test]
    fn operations_beyond_the_limit_are_counted_and_take_no_memory() {
        let mut join = WireJoin::default();
        let many = MOST_OPERATIONS as u64 + 5;
        for number in 0..many {
            join.reported(sample(number, 1000));
        }
        for number in 0..many {
            join.captured(&request(number, 0, 900));
        }
        assert!(join.rows.len() * size_of::<JoinRow>() <= 64 << 20);
        let pairs = join.finish();
        assert_eq!((pairs.left_out, pairs.unmatched), (5, 0));
        assert_eq!(
            (pairs.difference.len(), pairs.numbered),
            (MOST_OPERATIONS, many)
        );
        assert!(pairs.difference.iter().all(|ns| *ns == 100));
    }
}
