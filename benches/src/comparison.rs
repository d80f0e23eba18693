//! Reported times beside those on the wire, operation by operation. Pure.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::numbers::{Spread, rank};
use crate::samples::Reported;
use trace::CapturedExchange;

/// How far reported times may be from those on the wire, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The median difference, up or down.
    pub p50: f64,
    /// What 99 of 100 differences stay within, up or down.
    pub p99: f64,
}

/// The pairs of a run.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Response times on the wire, in nanoseconds.
    pub wire: Vec<i64>,
    /// The same operations as reported.
    pub reported: Vec<i64>,
    /// Reported minus wire.
    pub difference: Vec<i64>,
    /// Operations reported as ok for which the capture has no time.
    pub unmatched: u64,
}

/// Finds for each reported operation the exchange with its number.
///
/// A number can pass twice: on a connection that had died, and on the next. The last one counts.
pub fn pair(reported: &[Reported], exchanges: &[CapturedExchange]) -> Pairs {
    let numbered = exchanges.iter().filter_map(|exchange| {
        let number = exchange.number?;
        Some((number, exchange))
    });
    let by_number: HashMap<u64, &CapturedExchange> = numbered.collect();
    let mut pairs = Pairs::default();
    for sample in reported {
        let exchange = by_number.get(&sample.number);
        let Some(wire) = exchange.and_then(|exchange| exchange.wire_ns()) else {
            pairs.unmatched += 1;
            continue;
        };
        pairs.wire.push(wire);
        pairs.reported.push(sample.response_ns);
        pairs.difference.push(sample.response_ns - wire);
    }
    pairs
}

/// Whether figures are what was wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attainment {
    /// They are.
    Ok,
    /// They are not.
    Missed,
    /// Nothing was demanded.
    None,
}

impl Attainment {
    /// Of a condition.
    pub fn of(holds: bool) -> Attainment {
        if holds {
            Attainment::Ok
        } else {
            Attainment::Missed
        }
    }

    /// For a table.
    pub fn name(self) -> &'static str {
        match self {
            Attainment::Ok => "ok",
            Attainment::Missed => "missed",
            Attainment::None => "",
        }
    }
}

impl Pairs {
    /// What 99 of 100 differences stay within, up or down, in microseconds.
    pub fn within(&self) -> Option<f64> {
        let mut sizes: Vec<i64> = self.difference.iter().map(|ns| ns.abs()).collect();
        sizes.sort_unstable();
        Some(*rank(&sizes, 0.99)? as f64 / 1000.0)
    }

    /// Every operation has its time on the wire, and the differences are small enough. Of nothing
    /// measured nothing good is said.
    pub fn judge(&self, wanted: Tolerance) -> Attainment {
        let median = Spread::of(&self.difference).map(|spread| spread.p50.abs());
        let holds = match (median, self.within()) {
            (Some(median), Some(within)) => median <= wanted.p50 && within <= wanted.p99,
            _ => false,
        };
        Attainment::of(holds && self.unmatched == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    const WANTED: Tolerance = Tolerance { p50: 1.5, p99: 5.0 };

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

    fn sample(number: u64, response_ns: i64) -> Reported {
        Reported {
            number,
            response_ns,
        }
    }

    /// A hundred operations of 50 us, each reported with this error.
    fn verdict(error_ns: impl Fn(u64) -> i64) -> Attainment {
        let exchanges: Vec<_> = (0..100).map(|number| exchange(number, 50_000)).collect();
        let samples: Vec<_> = (0..100)
            .map(|number| sample(number, 50_000 + error_ns(number)))
            .collect();
        pair(&samples, &exchanges).judge(WANTED)
    }

    #[test]
    fn errors_are_judged_in_the_middle_and_at_the_edge() {
        assert_eq!(verdict(|_| 0), Attainment::Ok);
        assert_eq!(verdict(|_| -1500), Attainment::Ok);
        assert_eq!(verdict(|_| 20_000), Attainment::Missed);
        assert_eq!(verdict(|_| -1501), Attainment::Missed);
        let some = |count| move |number| if number < count { 20_000 } else { 0 };
        assert_eq!(verdict(some(1)), Attainment::Ok);
        assert_eq!(verdict(some(2)), Attainment::Missed);
        let below = |number| if number < 2 { -20_000 } else { 0 };
        assert_eq!(verdict(below), Attainment::Missed);
    }

    #[test]
    fn operations_are_matched_by_number_and_the_last_attempt_counts() {
        let exchanges = [exchange(2, 9000), exchange(1, 7000), exchange(2, 8000)];
        let pairs = pair(&[sample(1, 7100), sample(2, 8200)], &exchanges);
        assert_eq!(pairs.difference, [100, 200]);
        assert_eq!(pairs.unmatched, 0);
    }

    #[test]
    fn what_the_capture_does_not_know_is_no_success() {
        assert_eq!(pair(&[], &[]).judge(WANTED), Attainment::Missed);
        let mut unclear = exchange(3, 5000);
        unclear.clean = false;
        let exchanges = [exchange(1, 5000), unclear];
        let samples = [sample(1, 5000), sample(2, 5000), sample(3, 5000)];
        let pairs = pair(&samples, &exchanges);
        assert_eq!((pairs.unmatched, pairs.wire.len()), (2, 1));
        assert_eq!(pairs.judge(WANTED), Attainment::Missed);
    }
}
