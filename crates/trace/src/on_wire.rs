//! Response times as a load generator reports them beside those on the wire, operation by operation. Pure.

use std::collections::HashMap;

use crate::exchange::CapturedExchange;

/// One operation as it was reported.
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
}

/// Finds for each reported operation the exchange with its number.
///
/// A number can pass twice: on a connection that had died, and on the next. The last one counts.
pub fn pair(reported: &[ReportedTime], exchanges: &[CapturedExchange]) -> TimePairs {
    let numbered = exchanges.iter().filter_map(|exchange| {
        let number = exchange.number?;
        Some((number, exchange))
    });
    let by_number: HashMap<u64, &CapturedExchange> = numbered.collect();
    let mut pairs = TimePairs::default();
    for sample in reported {
        let exchange = by_number.get(&sample.number);
        let Some(wire) = exchange.and_then(|exchange| exchange.wire_ns()) else {
            pairs.unmatched += 1;
            continue;
        };
        pairs.wire.push(wire);
        pairs.reported.push(sample.response_ns);
        pairs
            .difference
            .push(sample.response_ns.saturating_sub(wire));
    }
    pairs
}

impl TimePairs {
    /// What 99 of 100 differences stay within, up or down, in microseconds.
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
    use core::net::{Ipv4Addr, SocketAddr};

    use super::*;

    fn exchange(number: u64, wire_ns: i64) -> CapturedExchange {
        CapturedExchange {
            client: SocketAddr::from((Ipv4Addr::LOCALHOST, 4000)),
            number: Some(number),
            request_first_ns: 0,
            request_last_ns: 1000,
            response_first_ns: Some(1000 + wire_ns),
            response_last_ns: Some(1000 + wire_ns),
            clean: true,
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
        let exchanges = [exchange(2, 9000), exchange(1, 7000), exchange(2, 8000)];
        let pairs = pair(&[sample(1, 7100), sample(2, 8200)], &exchanges);
        assert_eq!(pairs.difference, [100, 200]);
        assert_eq!(pairs.unmatched, 0);
        assert_eq!(pairs.within(), Some(0.2));
        assert_eq!(pair(&[], &[]).within(), None);
    }

    #[test]
    fn an_exchange_without_a_time_is_unmatched() {
        let mut unclear = exchange(3, 5000);
        unclear.clean = false;
        let samples = [sample(1, 5000), sample(2, 5000), sample(3, 5000)];
        let pairs = pair(&samples, &[exchange(1, 5000), unclear]);
        assert_eq!((pairs.unmatched, pairs.wire.len()), (2, 1));
    }
}
