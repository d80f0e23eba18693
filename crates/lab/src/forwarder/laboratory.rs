//! Tests of a forwarder, seen by its owner.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::ForwarderSettings;
use crate::TwoHosts;

/// Longest wait on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn a_reader_that_the_scheduler_stops_delays_the_counters_and_does_not_lose_them() {
    if let Err(error) = crate::check_requirements() {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    let receiver = hosts
        .server
        .run(|| UdpSocket::bind((TwoHosts::SERVER.ipv4, 0)).unwrap())
        .unwrap();
    receiver.set_read_timeout(Some(DEADLINE)).unwrap();
    let sender = hosts
        .client
        .run(|| UdpSocket::bind((TwoHosts::CLIENT.ipv4, 0)).unwrap())
        .unwrap();
    // A reader has the lock while the frame passes and until the thread would sleep.
    let read = hosts.forwarder.shared.counters.lock().unwrap();
    let address = receiver.local_addr().unwrap();
    sender.send_to(b"frame", address).unwrap();
    receiver.recv(&mut [0; 10]).unwrap();
    let received = Instant::now();
    while received.elapsed() < Duration::from_millis(50) {
        std::thread::yield_now();
    }
    assert_eq!(read.forth.delivered, 0);
    drop(read);
    let released = Instant::now();
    while hosts.forwarder.counters().forth.delivered == 0 {
        assert!(released.elapsed() < DEADLINE, "the counters stay old");
        std::thread::yield_now();
    }
}
