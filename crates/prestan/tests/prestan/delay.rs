//! A known delay is measured correctly, in every one of the 23 tests.
//!
//! A busy machine makes some times longer, and none shorter: the shortest ones of several rounds
//! are compared.

use std::time::Duration;

use crate::support::faulty::{Faulty, checked, run_of};
use crate::support::rows::{of_prestan, rows};
use testbed::fault::{Fault, Rule, ServedExchange};

/// The delay that is added, on top of [`BASE`].
const ADDED: Duration = Duration::from_millis(20);
/// Longer than any of the tests takes behind the fault server, with the small numbers here.
const BASE: Duration = Duration::from_millis(6);
const TOLERANCE_US: f64 = 300.0;
const ROUNDS: usize = 3;
const REQUESTS: u32 = 7;
/// Its last bytes have left long before the server has read the first of them from its kernel's
/// buffer. By definition that is response time, and by the server's record it is not.
const BUFFERED: &str = "Put1024K";

/// Measurement of a test against a server that responds after exactly this time, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Shortest time measured.
    shortest: f64,
    /// That minus the shortest of the server's own times. The wake-up times of both sides vary with
    /// the machine; an error in every single time shows here.
    surplus: f64,
    /// The measured median minus the server's own median.
    excess: f64,
}

impl Times {
    fn least(self, other: Times) -> Times {
        Times {
            shortest: self.shortest.min(other.shortest),
            surplus: self.surplus.min(other.surplus),
            excess: self.excess.min(other.excess),
        }
    }
}

fn measure(delay: Duration) -> Vec<Times> {
    let tests = of_prestan();
    let faulty = Faulty::new(|builder| {
        tests.iter().fold(builder, |builder, test| {
            // Only measured requests: the others may be as fast as possible.
            builder.rule(Rule::new(Fault::AnswerAfter(delay)).tag(&format!("({test})")))
        })
    });
    let outcome = run_of(&faulty.url(), &tests.join(","), REQUESTS).ends(0);
    let result = checked(&outcome);
    assert_eq!(rows(&result).len(), tests.len());
    let times = rows(&result).iter().map(|row| {
        let test = row["measure"].as_str().unwrap();
        let exchanges = faulty.measured(test);
        assert_eq!(row["operations"], exchanges.len() as u64, "{test}");
        let service_us = |one: &ServedExchange| one.service_time().unwrap().as_secs_f64() * 1e6;
        let mut truths: Vec<f64> = exchanges.iter().map(service_us).collect();
        truths.sort_by(f64::total_cmp);
        let measured = |what: &str| row["response_us"][what].as_f64().unwrap();
        Times {
            shortest: measured("min"),
            surplus: measured("min") - truths[0],
            excess: measured("p50") - truths[truths.len() / 2],
        }
    });
    times.collect()
}

/// A test, without the added delay and with it.
#[derive(Debug)]
struct Compared<'a> {
    test: &'a str,
    without: Times,
    with: Times,
}

impl Compared<'_> {
    /// The added delay is measured as such; no time is shorter than the server's; and a constant
    /// error is within the tolerance. The last condition is for the short delay only: after the
    /// long one, a sleeping machine takes a while to wake up.
    fn is_right(&self) -> bool {
        let added = self.with.shortest - self.without.shortest;
        let is_added = (added - ADDED.as_secs_f64() * 1e6).abs() <= TOLERANCE_US;
        let is_buffered = self.test == BUFFERED;
        let most = if is_buffered {
            f64::INFINITY
        } else {
            TOLERANCE_US
        };
        is_added && self.with.excess >= 0.0 && self.without.surplus <= most
    }
}

#[test]
fn an_added_delay_of_twenty_milliseconds_is_measured_as_such_in_every_test() {
    let rounds = [(); ROUNDS].map(|()| [measure(BASE), measure(BASE + ADDED)]);
    let least = |number: usize, side: usize| {
        let times = rounds.iter().map(|round| round[side][number]);
        times.reduce(Times::least).unwrap()
    };
    let tests = of_prestan();
    let compared = tests.iter().enumerate().map(|(number, test)| Compared {
        test,
        without: least(number, 0),
        with: least(number, 1),
    });
    let wrong: Vec<Compared<'_>> = compared.filter(|compared| !compared.is_right()).collect();
    assert!(wrong.is_empty(), "out of tolerance: {wrong:#?}");
}

#[test]
fn the_check_knows_a_wrong_time() {
    let compared = |test, without, with, surplus, excess| {
        let times = |shortest| Times {
            shortest,
            surplus,
            excess,
        };
        let (without, with) = (times(without), times(with));
        Compared {
            test,
            without,
            with,
        }
    };
    assert!(compared("Get1K", 6_050.0, 26_060.0, 55.0, 58.0).is_right());
    assert!(compared(BUFFERED, 6_400.0, 26_410.0, 400.0, 408.0).is_right());
    for (without, with, surplus, excess) in [
        (6_050.0, 25_740.0, 40.0, 40.0),   // less than was added
        (6_050.0, 26_360.0, 60.0, 60.0),   // more than was added
        (6_000.0, 26_000.0, 50.0, -10.0),  // shorter than the server's own
        (6_400.0, 26_400.0, 400.0, 400.0), // holds something that the server did not do
    ] {
        let compared = compared("Get1K", without, with, surplus, excess);
        assert!(!compared.is_right(), "{with}");
    }
}
