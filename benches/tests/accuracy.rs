//! A short version of `cargo xtask bench accuracy`: the kernel's clock compared with packets.
//!
//! Tolerances are wider than in the benchmark, because other tests and other guests of the machine
//! run at the same time. They can spoil a measurement, never improve it: so the best of three
//! counts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;

use testbed::{need, need_or};

use benches::accuracy::{Observed, observe_load};
use benches::comparison::{Attainment, Tolerance, judge};
use benches::load::{Closed, Prestan, RequestedClock};
use benches::observe::observe;
use benches::server::BenchServer;
use capture::available;
use trace::on_wire::{ReportedTime, pair};

const WANTED: Tolerance = Tolerance {
    p50: 5.0,
    p99: 50.0,
};
const ROUNDS: u32 = 3;

/// The program of the same build: `cargo test --workspace` builds it, `cargo test -p benches` only
/// finds it.
fn prestan() -> Option<Prestan> {
    let test = env::current_exe().unwrap();
    let directory = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program: PathBuf = directory.join("prestan");
    let missing = || format!("{} is not built", program.display());
    let found = program.is_file().then_some(&program).ok_or_else(missing);
    need_or(found).map(Prestan::at)
}

/// Everything that a comparison needs, or `None` if that is no failure.
fn needed(
    program: &str,
    start: fn() -> anyhow::Result<BenchServer>,
) -> Option<(Prestan, BenchServer)> {
    need_or(available())?;
    if !need(program) {
        return None;
    }
    Some((prestan()?, start().unwrap()))
}

/// Judges a run, and the same run with every time 20 us longer, which must not pass.
fn judged(observed: &Observed) -> (Attainment, Attainment, String) {
    let pairs = pair(&observed.reported, &observed.requests);
    let shifted: Vec<_> = observed
        .reported
        .iter()
        .map(|sample| ReportedTime {
            response_ns: sample.response_ns + 20_000,
            ..*sample
        })
        .collect();
    let wrong = judge(&pair(&shifted, &observed.requests), WANTED);
    let message = format!(
        "{} compared, {} unmatched, 99 % within {:?} us",
        pairs.difference.len(),
        pairs.unmatched,
        pairs.within()
    );
    (judge(&pairs, WANTED), wrong, message)
}

fn holds(prestan: &Prestan, load: Closed<'_>) {
    let rounds: Vec<(Attainment, String)> = (0..ROUNDS)
        .map(|_| {
            let observed = observe_load(prestan, load).unwrap();
            assert_eq!(observed.reported.len() as u64, load.requests, "{load:?}");
            let (right, wrong, message) = judged(&observed);
            assert_eq!(wrong, Attainment::Missed, "{load:?}: {message}");
            (right, message)
        })
        .collect();
    let is_right = rounds.iter().any(|(right, _)| *right == Attainment::Ok);
    assert!(is_right, "{load:?}: {rounds:#?}");
}

#[test]
fn times_of_the_kernel_are_those_of_the_wire() {
    let Some((prestan, nginx)) = needed("nginx", BenchServer::nginx) else {
        return;
    };
    for users in [1, 15] {
        holds(&prestan, nginx.get(users, 1_000, RequestedClock::Kernel));
    }
    holds(&prestan, nginx.put(1, 50, RequestedClock::Kernel));
}

#[test]
fn times_of_streams_are_those_of_their_frames_on_the_wire() {
    let servers: [(_, fn() -> _); 2] = [
        ("nginx", BenchServer::nginx_http2),
        ("apache2", BenchServer::apache_http2),
    ];
    for (program, start) in servers {
        let Some((prestan, server)) = needed(program, start) else {
            continue;
        };
        for users in [1, 15] {
            holds(&prestan, server.get(users, 1_000, RequestedClock::Kernel));
        }
        holds(&prestan, server.put(1, 50, RequestedClock::Kernel));
    }
}

/// Sends one response on one connection, in two pieces.
fn respond_once(listener: &TcpListener) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut request = [0; 1024];
    let mut taken = 0;
    while !request[..taken].ends_with(b"body") {
        taken += socket.read(&mut request[taken..]).unwrap();
    }
    socket.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
    socket.write_all(b"Content-Length: 0\r\n\r\n").unwrap();
}

fn request_once(server: SocketAddr) {
    let mut socket = TcpStream::connect(server).unwrap();
    socket.set_nodelay(true).unwrap();
    let head = b"PUT / HTTP/1.1\r\nX-Prestan: s: 7 (Put)\r\nContent-Length: 4\r\n\r\n";
    socket.write_all(head).unwrap();
    socket.write_all(b"body").unwrap();
    socket.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn the_filter_keeps_requests_and_responses_of_both_versions_of_ip() {
    if need_or(available()).is_none() {
        return;
    }
    for address in [
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, 0)),
    ] {
        let Ok(listener) = TcpListener::bind(address) else {
            eprintln!("skipped: this machine has no {}", address.ip());
            continue;
        };
        let server = listener.local_addr().unwrap();
        let responding = thread::spawn(move || respond_once(&listener));
        let act = || {
            request_once(server);
            Ok(())
        };
        let ((), requests) = observe(server.port(), act).unwrap();
        responding.join().unwrap();
        assert_eq!(requests.len(), 1, "{address}");
        let request = &requests[0];
        assert_eq!(request.number, Some(7), "{address}");
        assert!(request.request_first_ns < request.request_last_ns);
        assert!(
            request.response_time_ns().is_some_and(|ns| ns > 0),
            "{request:?}"
        );
        assert!(request.response_last_ns > request.response_first_ns);
    }
}
