//! Reported times compared with those on the wire, operation by operation. Pure.

use serde::{Deserialize, Serialize};

use crate::numbers::Spread;
use trace::on_wire::TimePairs;

/// Largest deviations of reported times from those on the wire, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Median difference, in either direction.
    pub p50: f64,
    /// Bound that 99 of 100 differences stay within, in either direction.
    pub p99: f64,
}

/// Result of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attainment {
    /// Met.
    Ok,
    /// Missed.
    Missed,
    /// No requirement.
    None,
}

impl Attainment {
    /// Result of a condition.
    pub(crate) fn of(holds: bool) -> Attainment {
        if holds {
            Attainment::Ok
        } else {
            Attainment::Missed
        }
    }

    /// Text for a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Attainment::Ok => "ok",
            Attainment::Missed => "missed",
            Attainment::None => "",
        }
    }
}

/// Met if every operation has its time on the wire, and the differences are small enough. Without
/// measurements, missed.
pub fn judge(pairs: &TimePairs, wanted: Tolerance) -> Attainment {
    let median = Spread::of(&pairs.difference).map(|spread| spread.p50.abs());
    let holds = (median.zip(pairs.within()))
        .is_some_and(|(median, within)| median <= wanted.p50 && within <= wanted.p99);
    Attainment::of(holds && pairs.unmatched == 0)
}

#[cfg(test)]
mod tests {
    use trace::TracedRequest;
    use trace::on_wire::{ReportedTime, pair};

    use super::*;

    const WANTED: Tolerance = Tolerance { p50: 1.5, p99: 5.0 };

    fn request(number: u64, wire_ns: i64) -> TracedRequest {
        TracedRequest {
            number: Some(number),
            request_last_ns: 1000,
            response_first_ns: Some(1000 + wire_ns),
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

    /// A hundred operations of 50 us, each reported with this error.
    fn verdict(error_ns: impl Fn(u64) -> i64) -> Attainment {
        let requests: Vec<_> = (0..100).map(|number| request(number, 50_000)).collect();
        let samples: Vec<_> = (0..100)
            .map(|number| sample(number, 50_000 + error_ns(number)))
            .collect();
        judge(&pair(&samples, &requests), WANTED)
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
    fn what_the_capture_does_not_know_is_no_success() {
        assert_eq!(judge(&pair(&[], &[]), WANTED), Attainment::Missed);
        let mut incomplete = request(3, 5000);
        incomplete.is_clean = false;
        let samples = [sample(1, 5000), sample(2, 5000), sample(3, 5000)];
        let pairs = pair(&samples, &[request(1, 5000), incomplete]);
        assert_eq!((pairs.unmatched, pairs.wire.len()), (2, 1));
        assert_eq!(judge(&pairs, WANTED), Attainment::Missed);
    }
}
