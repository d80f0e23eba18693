//! `prestan search`: servers of which the truth is known.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::faulty::status;
use crate::support::load::{file, plain};
use crate::support::{Outcome, attempts};
use serde_json::Value;
use testbed::FaultServer;
use testbed::fault::{Fault, Rule};

/// A server that answers 503 on every connection that first asks for something when so many do
/// already. The one that only asks for its OPTIONS does not count.
fn crowded(limit: u32) -> FaultServer {
    let asking = Arc::new(AtomicU32::new(0));
    let server = serve(move |stream| {
        let mut number = 0;
        answer(stream, |line| {
            if number == 0 && line.starts_with("GET") {
                number = asking.fetch_add(1, Ordering::SeqCst) + 1;
            }
            if number <= limit {
                "200 OK"
            } else {
                "503 Service Unavailable"
            }
        });
        if number > 0 {
            asking.fetch_sub(1, Ordering::SeqCst);
        }
    });
    let delay = Rule::new(Fault::Delay(Duration::from_millis(3)));
    let builder = FaultServer::builder().upstream(server).rule(delay);
    builder.start().unwrap()
}

/// A server that does one request after the other, each in that time: it asks a slow server over one connection.
fn one_by_one(time: Duration) -> String {
    let delay = Rule::new(Fault::Delay(time));
    let builder = FaultServer::builder().rule(delay);
    let slow = builder
        .rule(Rule::new(status(200, &[], "")))
        .start()
        .unwrap();
    let connection = TcpStream::connect(slow.addr().unwrap()).unwrap();
    let one = Arc::new(Mutex::new((connection, slow)));
    let address = serve(move |stream| {
        answer(stream, |_| {
            let (connection, _) = &mut *one.lock().unwrap();
            connection
                .write_all(b"GET / HTTP/1.1\r\nHost: slow\r\n\r\n")
                .unwrap();
            let head = BufReader::with_capacity(1, connection).lines();
            assert!(head.map(Result::unwrap).any(|line| line.is_empty()));
            "200 OK"
        });
    });
    format!("http://{address}/")
}

/// Serves every connection on a thread of its own; it ends with the test.
fn serve(connection: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = connection.clone();
            thread::spawn(move || connection(stream));
        }
    });
    address
}

/// Answers every request on a connection, whose first line decides, until the client goes.
fn answer(mut stream: TcpStream, mut status: impl FnMut(&str) -> &'static str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut first = String::new();
    while let Some(Ok(line)) = lines.next() {
        if first.is_empty() {
            first = line;
        } else if line.is_empty() {
            let status = status(&first);
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if stream.write_all(head.as_bytes()).is_err() {
                return;
            }
            first.clear();
        }
    }
}

/// A search that came to an end: one may be inconclusive for what else the machine does, all of them are
/// not.
fn conclusive(arguments: &str) -> (Outcome, Value) {
    for _ in attempts() {
        let outcome = search(arguments);
        assert_eq!(outcome.code, 0, "{outcome}");
        let document = outcome.json();
        if document["inconclusive"].is_null() {
            return (outcome, document);
        }
    }
    panic!("all searches were inconclusive");
}

fn search(arguments: &str) -> Outcome {
    let is_given = arguments.contains("--duration");
    let duration = if is_given { "" } else { "--duration 200ms" };
    let prestan = prestan!("search --json -").words(arguments);
    prestan.words(duration).run()
}

#[test]
fn the_largest_number_of_users_is_found() {
    let server = crowded(11);
    let url = server.url();
    let condition = "failures == 0";
    let (outcome, document) = conclusive(&format!("{url} --find users --while '{condition}'"));
    let answer = &document["answer"];
    let (holds, fails) = (&answer["holds"], &answer["fails"]);
    assert_eq!(
        (&holds["load"], &fails["load"]),
        (&11.0.into(), &12.0.into()),
        "{outcome}"
    );
    assert_eq!((&holds["held"], &holds["trials"]), (&20.into(), &20.into()));
    assert_eq!((&fails["held"], &fails["trials"]), (&0.into(), &3.into()));
    assert_eq!(answer["confirmed"], true);
    let points = document["points"].as_array().unwrap();
    for point in points {
        let failed = point["failures"].as_u64().unwrap() > 0;
        assert_eq!(point["held"].as_bool().unwrap(), !failed, "{point}");
        assert_eq!(failed, point["load"].as_f64().unwrap() > 11.0, "{point}");
    }
    for says in ["12 users: fails", "held in 20 of 20", " left, at most "] {
        assert!(outcome.stderr.contains(says), "{says}: {outcome}");
    }
}

#[test]
fn the_largest_rate_is_found() {
    // It can do two hundred a second at most, and its queue grows some time before that. But a trial of
    // 100 ms is over before a queue of that length is there, up to twice the rate.
    let url = one_by_one(Duration::from_millis(5));
    let (_, document) = conclusive(&format!(
        "{url} --find rate --while 'p99 < 100ms' --from 100 --to 2000 --connections 4 --duration 100ms"
    ));
    let held = document["answer"]["holds"]["load"].as_f64().unwrap();
    assert!((10.0..600.0).contains(&held), "{document:#}");
    assert_eq!(document["find"], "rate");
    assert_eq!(document["while"], "p99 < 100 ms");
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let server = plain();
    let url = file(&server, "file");
    let table: [(&str, &str); 10] = [
        (
            "--find rate --while 'p99 < 1ms' --from 10",
            "too few requests",
        ),
        (
            "--find users --while 'p99 < 1ms' --connections 8",
            "--connections is for --find rate",
        ),
        ("--find users", "--while"),
        ("--find users --while 'p99 < 50'", "no unit; write 50 ms"),
        ("--find users --while 'p999 < 1ms'", "did you mean `p99.9`?"),
        (
            "--find users --while 'p99 < 1ms' --from 9 --to 3",
            "more than --to",
        ),
        (
            "--find users --while 'p99 < 1ms' --from 1.5",
            "is a whole number from 1",
        ),
        ("--find luck --while 'p99 < 1ms'", "luck"),
        (
            "--find users --while 'p99 < 1ms' --mix nonsense",
            "no suite and no file is called `nonsense`",
        ),
        (
            "--find rate --while p99 --from 50",
            "a constraint compares something",
        ),
    ];
    for (arguments, says) in table {
        let outcome = search(&format!("{url} {arguments}"));
        assert_eq!(outcome.code, 2, "{outcome}");
        assert!(outcome.stderr.contains(says), "{says}: {outcome}");
    }
    let put = search(&format!("PUT {url} --find users --while 'p99 < 1ms'"));
    assert_eq!(put.code, 2, "{put}");
    assert!(put.stderr.contains("allow that with --writes"), "{put}");
    assert!(server.server.exchanges().is_empty());
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let outcome = search("http://127.0.0.1:1/x --find users --while 'p99 < 1s'");
    assert_eq!(outcome.code, 4, "{outcome}");
    assert!(outcome.stderr.contains("connection refused"), "{outcome}");
}
