//! Rates of open loops, and notes about schedules with few operations.

use crate::support::load::{file, plain};
use crate::support::rows::row;

#[test]
fn the_rate_is_over_the_schedule_and_not_over_one_operation_less() {
    let server = plain();
    let url = file(&server, "doc");
    let outcome =
        prestan!("load GET {url} --json - --rate 1 --arrivals constant --duration 3s").ends(0);
    let result = outcome.json();
    let get = row(&result, "GET");
    assert_eq!(get["operations"], 3, "{outcome}");
    // The third begins after two seconds, and is over at once.
    let rate = get["per_second"].as_f64().unwrap();
    assert!((0.95..=1.0).contains(&rate), "{rate}");
}

#[test]
fn a_schedule_without_an_operation_is_inconclusive() {
    let server = plain();
    let url = file(&server, "doc");
    let outcome = prestan!("load GET {url} --json - --rate 0.001 --duration 1s --seed 1").run();
    assert!(outcome.inconclusive, "{outcome}");
    outcome.stdout_has("no request was due");
    assert_eq!(row(&outcome.json(), "GET")["status"], "not_drawn");
}
