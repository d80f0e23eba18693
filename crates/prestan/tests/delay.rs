//! A delay that is known beforehand is measured as such, in every one of the 23 tests.
//!
//! A file of its own, so that no other test runs at the same time. On a machine that others use as
//! well a measurement can still be spoilt, never improved: so what is out of tolerance is measured
//! again, at most three times, and the test says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use support::faulty::{Faulty, checked, run_of};
use support::rows::{PRESTAN, rows};
use testbed::fault::{Fault, Rule};

const DELAY: Duration = Duration::from_millis(20);
const TOLERANCE_US: f64 = 300.0;
const ATTEMPTS: u32 = 4;
const REQUESTS: u32 = 11;

/// Median response times of these tests against a server that answers after exactly 20 ms, and
/// how far each is from what the server itself says.
fn measure(tests: &[&str]) -> Vec<Measured> {
    let faulty = Faulty::new(|builder| {
        tests.iter().fold(builder, |builder, test| {
            // Only what is measured: the rest may be as fast as it can.
            builder.rule(Rule::new(Fault::AnswerAfter(DELAY)).tag(&format!("({test})")))
        })
    });
    let outcome = run_of(&faulty.server.url(), &tests.join(","), REQUESTS).run();
    assert_eq!(outcome.code, 0, "{outcome}");
    let result = checked(&outcome);
    let measured = rows(&result).iter().map(|row| {
        let test = row["name"].as_str().unwrap();
        let exchanges = faulty.measured(test);
        assert_eq!(row["operations"], exchanges.len() as u64, "{test}");
        let truths = exchanges
            .iter()
            .map(|exchange| exchange.service_time().unwrap());
        Measured {
            test: test.to_owned(),
            p50_us: row["response_us"]["p50"].as_f64().unwrap(),
            truth_us: median(truths.map(|time| time.as_secs_f64() * 1e6).collect()),
        }
    });
    measured.collect()
}

#[derive(Debug)]
struct Measured {
    test: String,
    p50_us: f64,
    /// What the server says of itself: 20 ms, when it was not late itself.
    truth_us: f64,
}

impl Measured {
    /// Never less than the delay, and at most the tolerance more; the same against the server's
    /// own record.
    fn is_right(&self) -> bool {
        let delay_us = DELAY.as_secs_f64() * 1e6;
        let within = |reference: f64| (reference..=reference + TOLERANCE_US).contains(&self.p50_us);
        within(delay_us) && within(self.truth_us)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn twenty_milliseconds_are_twenty_milliseconds_in_every_test() {
    let mut left: Vec<String> = PRESTAN.map(str::to_owned).to_vec();
    for attempt in 1..=ATTEMPTS {
        let tests: Vec<&str> = left.iter().map(String::as_str).collect();
        let measured = measure(&tests);
        assert_eq!(measured.len(), tests.len());
        let wrong: Vec<Measured> = measured.into_iter().filter(|one| !one.is_right()).collect();
        if wrong.is_empty() {
            return;
        }
        eprintln!("attempt {attempt} of {ATTEMPTS}, out of tolerance: {wrong:#?}");
        left = wrong.into_iter().map(|one| one.test).collect();
    }
    panic!("out of tolerance {ATTEMPTS} times: {left:?}");
}

#[test]
fn the_check_knows_a_wrong_time() {
    let measured = |p50_us, truth_us| Measured {
        test: "Get1K".to_owned(),
        p50_us,
        truth_us,
    };
    assert!(measured(20_010.0, 20_002.0).is_right());
    for (p50_us, truth_us) in [
        (19_999.0, 19_990.0), // a time shorter than the delay
        (20_301.0, 20_250.0), // a time that holds something else
        (20_010.0, 20_020.0), // a time shorter than the server's own
    ] {
        assert!(!measured(p50_us, truth_us).is_right(), "{p50_us}");
    }
}
