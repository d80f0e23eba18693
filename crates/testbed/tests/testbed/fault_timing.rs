//! How precise the fault server's delays are, and how true its records.
//!
//! A file of its own, so that no other test runs at the same time. On a machine that others use as
//! well a measurement can still be spoilt, never improved: so a few attempts are allowed.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{LOOPBACK, connect, read_response, request};
use testbed::fault::{Fault, ServedExchange};
use testbed::{DemoServer, FaultServer, Root};

const ATTEMPTS: usize = 10;
const REQUESTS: usize = 50;
const TOLERANCE_MS: f64 = 0.15;

/// Medians of fifty requests, in milliseconds.
#[derive(Debug)]
struct Medians {
    /// From the request's first byte to the answer's, as the client sees it.
    seen: f64,
    /// From the request's last byte to the answer's first, as the server recorded it.
    recorded: f64,
    /// How long the server says it held answers back.
    slept: f64,
}

fn measure(fault: Fault) -> (Medians, Vec<ServedExchange>) {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    let builder = FaultServer::builder().upstream(demo.addr());
    let server = builder.fault(fault).start().unwrap();
    let mut stream = connect(server.addr().unwrap());
    let seen = (0..REQUESTS).map(|_| first_byte_ms(&mut stream)).collect();
    let exchanges = server.exchanges();
    let recorded = exchanges.iter().map(|e| millis(e.service_time().unwrap()));
    let medians = Medians {
        seen: median(seen),
        recorded: median(recorded.collect()),
        slept: median(exchanges.iter().map(|e| millis(e.delay)).collect()),
    };
    (medians, exchanges)
}

fn first_byte_ms(stream: &mut TcpStream) -> f64 {
    let options = request("OPTIONS", "/", "", "");
    let start = Instant::now();
    stream.write_all(options.as_bytes()).unwrap();
    stream.peek(&mut [0]).unwrap();
    let time = start.elapsed();
    read_response(stream, false);
    millis(time)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Whether one of the attempts gives what is wanted.
fn some_attempt(fault: &Fault, good: impl Fn(&Medians) -> bool) {
    let mut bad = Vec::new();
    for _ in 0..ATTEMPTS {
        let (medians, _) = measure(fault.clone());
        if good(&medians) {
            return;
        }
        bad.push(medians);
    }
    panic!("{fault:?}: {bad:#?}");
}

fn near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() < TOLERANCE_MS
}

#[test]
fn a_delay_is_as_long_as_it_says_and_client_and_record_agree() {
    let fault = Fault::Delay(Duration::from_millis(3));
    some_attempt(&fault, |medians| {
        near(medians.slept, 3.0) && near(medians.seen, medians.recorded)
    });
}

#[test]
fn a_delay_is_never_shorter_than_it_says() {
    let delay = Duration::from_millis(2);
    let (_, exchanges) = measure(Fault::Delay(delay));
    assert_eq!(exchanges.len(), REQUESTS);
    for exchange in exchanges {
        assert!(exchange.service_time().unwrap() >= delay + exchange.upstream_time.unwrap());
    }
}

#[test]
fn an_answer_comes_exactly_after() {
    let fault = Fault::AnswerAfter(Duration::from_millis(5));
    some_attempt(&fault, |medians| near(medians.seen, 5.0));
}
