//! `prestan search`: servers with a known truth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::Outcome;
use crate::support::heads::answering;
use crate::support::load::{file, plain};
use testbed::FaultServer;
use testbed::fault::{Fault, Rule};

/// Rank of a connection among those with concurrent requests; a copy has none yet.
struct ActiveConnection {
    all: Arc<AtomicU32>,
    rank: u32,
}

impl Clone for ActiveConnection {
    fn clone(&self) -> ActiveConnection {
        let all = Arc::clone(&self.all);
        ActiveConnection { all, rank: 0 }
    }
}

impl Drop for ActiveConnection {
    fn drop(&mut self) {
        let is_counted = u32::from(self.rank > 0);
        self.all.fetch_sub(is_counted, Ordering::SeqCst);
    }
}

/// A server that responds with 503 on every connection beyond this number of active ones. A
/// connection with only OPTIONS does not count.
fn crowded(limit: u32) -> FaultServer {
    let all = Arc::new(AtomicU32::new(0));
    let mut connection = ActiveConnection { all, rank: 0 };
    let server = answering(move |head| {
        let connection = &mut connection;
        if connection.rank == 0 && head.starts_with(b"GET") {
            connection.rank = connection.all.fetch_add(1, Ordering::SeqCst) + 1;
        }
        let status = if connection.rank <= limit { 200 } else { 503 };
        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        (head.into_bytes(), true)
    });
    let delay = Rule::new(Fault::Delay(Duration::from_millis(3)));
    let builder = FaultServer::builder().upstream(server).rule(delay);
    builder.start().unwrap()
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
    let outcome = search(&format!("{url} --find users --while '{condition}'")).ended(0);
    // A machine that is too busy for three trials in a row ends it, with a message.
    if outcome.inconclusive {
        return;
    }
    let document = outcome.json();
    let points = document["points"].as_array().unwrap();
    for point in points {
        let failed = point["failures"].as_u64().unwrap() > 0;
        assert_eq!(point["held"].as_bool().unwrap(), !failed, "{point}");
        assert_eq!(failed, point["load"].as_f64().unwrap() > 11.0, "{point}");
    }
    let answer = &document["answer"];
    let (holds, fails) = (&answer["holds"], &answer["fails"]);
    for (end, load, held, trials) in [(holds, 11.0, 20, 20), (fails, 12.0, 0, 3)] {
        assert_eq!(end["load"], load, "{outcome}");
        assert_eq!(end["held"], held, "{outcome}");
        assert_eq!(end["trials"], trials, "{outcome}");
    }
    assert_eq!(answer["confirmed"], true);
    for says in ["12 users: fails", "held in 20 of 20", " left, at most "] {
        outcome.stderr_has(says);
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let server = plain();
    let url = file(&server, "file");
    let table = "
        --find rate --while 'p99 < 1ms' --from 10 => too few requests
        --find users --while 'p99 < 1ms' --connections 8 => --connections is for --find rate
        --find users => --while
        --find users --while 'p99 < 50' => no unit; write 50 ms
        --find users --while 'p999 < 1ms' => did you mean `p99.9`?
        --find users --while 'p99 < 1ms' --from 9 --to 3 => more than --to
        --find users --while 'p99 < 1ms' --from 1.5 => is a whole number from 1
        --find luck --while 'p99 < 1ms' => luck
        --find users --while 'p99 < 1ms' --mix nonsense => no suite and no file is called `nonsense`
        --find rate --while p99 --from 50 => a constraint compares something
    ";
    for [arguments, says] in cases::rows(table) {
        let outcome = search(&format!("{url} {arguments}")).ended(2);
        outcome.stderr_has(says);
    }
    let put = search(&format!("PUT {url} --find users --while 'p99 < 1ms'")).ended(2);
    put.stderr_has("allow that with --writes");
    assert!(server.exchanges().is_empty());
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let outcome = search("http://127.0.0.1:1/x --find users --while 'p99 < 1s'").ended(4);
    outcome.stderr_has("connection refused");
}
