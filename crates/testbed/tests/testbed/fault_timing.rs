//! How precise the fault server's delays are, and how true its records.
//!
//! A busy machine makes some times longer, and none shorter: the shortest of many are compared.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::support::{LOOPBACK, connect, read_response, request};
use testbed::fault::{Fault, ServedExchange};
use testbed::{DemoServer, FaultServer, Root};

const REQUESTS: usize = 50;
const TOLERANCE_MS: f64 = 0.15;

/// The shortest of fifty requests, in milliseconds.
#[derive(Debug)]
struct ShortestTimes {
    /// From the request's first byte to the response's, as seen by the client.
    seen: f64,
    /// Difference to the time from the request's last byte to the response's first, as recorded by
    /// the server.
    beyond_recorded: f64,
    /// Delay of responses, as recorded by the server.
    slept: f64,
}

fn measure(fault: Fault) -> (ShortestTimes, Vec<ServedExchange>) {
    let demo = DemoServer::start(Root::Temporary, LOOPBACK).unwrap();
    let builder = FaultServer::builder().upstream(demo.addr());
    let server = builder.fault(fault).start().unwrap();
    let mut stream = connect(server.addr().unwrap());
    let seen: Vec<f64> = (0..REQUESTS).map(|_| first_byte_ms(&mut stream)).collect();
    let exchanges = server.exchanges();
    let recorded = exchanges.iter().map(|e| millis(e.service_time().unwrap()));
    let beyond = seen.iter().zip(recorded);
    let beyond = beyond.map(|(seen, recorded)| seen - recorded);
    let times = ShortestTimes {
        beyond_recorded: shortest(beyond),
        seen: shortest(seen.into_iter()),
        slept: shortest(exchanges.iter().map(|e| millis(e.delay))),
    };
    (times, exchanges)
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

fn shortest(times: impl Iterator<Item = f64>) -> f64 {
    times.fold(f64::INFINITY, f64::min)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn near(value: f64, wanted: f64) -> bool {
    (value - wanted).abs() < TOLERANCE_MS
}

#[test]
fn a_delay_is_as_long_as_it_says_and_client_and_record_agree() {
    let fault = Fault::Delay(Duration::from_millis(3));
    let (times, _) = measure(fault);
    assert!(near(times.slept, 3.0), "{times:?}");
    assert!(near(times.beyond_recorded, 0.0), "{times:?}");
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
fn a_response_comes_exactly_after() {
    let fault = Fault::AnswerAfter(Duration::from_millis(5));
    let (times, _) = measure(fault);
    assert!(near(times.seen, 5.0), "{times:?}");
}
