//! `--http 2`: against a server with permitted and forbidden behaviour, and real ones.

mod idle;
mod over_tls;

use std::fs;
use std::io::Write;

use crate::support::Outcome;
use crate::support::load::{counted, ended, kept, plain};
use crate::support::pages::{generate, webstone};
use crate::support::peer::{
    ACK, Asked, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INTERNAL_ERROR, OK, PADDED,
    PING, PRIORITISED, PUSH_PROMISE, Peer, REFUSED, Script, WINDOW_UPDATE, frame, scripted,
};
use crate::support::real::started;
use record::{HttpVersion, Outcome as Ended, Run, Sample};
use serde_json::Value;
use testbed::RealServer;
use testbed::real::{UrlScheme, recipes};

/// Six operations of one user against such a server.
fn run_of(script: Script, options: &[&str]) -> (Outcome, Run) {
    let url = scripted(&[], script);
    run_at(&url, "GET", options)
}

fn run_at(url: &str, method: &str, options: &[&str]) -> (Outcome, Run) {
    let outcome =
        prestan!("load {method} {url} --json - --http 2 --total 6 --warmup 0 --max-failures none")
            .args(options)
            .run();
    let run = kept(&outcome);
    assert_eq!(run.samples.len(), 6, "{outcome}");
    (outcome, run)
}

fn responds(peer: &mut Peer, asked: Asked) -> bool {
    peer.respond(asked.stream);
    true
}

#[test]
fn what_a_server_may_do_is_no_failure() {
    let table: [(&str, Script); 9] = [
        ("padding and priorities", |peer, asked| {
            let block = [&[3, 0, 0, 0, 0, 16][..], OK, &[0; 3]].concat();
            peer.send(
                HEADERS,
                END_HEADERS | PADDED | PRIORITISED,
                asked.stream,
                &block,
            );
            peer.send(DATA, PADDED, asked.stream, b"\x04hel\0\0\0\0");
            peer.send(DATA, PADDED, asked.stream, b"\x02\0\0");
            peer.send(DATA, 0, asked.stream, b"lo");
            peer.send(DATA, END_STREAM, asked.stream, b"");
            true
        }),
        ("a block in three frames", |peer, asked| {
            // content-length: 5, a byte at a time.
            peer.send(HEADERS, 0, asked.stream, OK);
            peer.send(CONTINUATION, 0, asked.stream, &[0x0f, 0x0d]);
            peer.send(CONTINUATION, END_HEADERS, asked.stream, b"\x015");
            peer.send(DATA, END_STREAM, asked.stream, b"hello");
            true
        }),
        ("interim responses and trailers", |peer, asked| {
            peer.send(HEADERS, END_HEADERS, asked.stream, b"\x08\x03103");
            peer.send(HEADERS, END_HEADERS, asked.stream, OK);
            peer.send(DATA, 0, asked.stream, b"hello");
            peer.send(
                HEADERS,
                END_HEADERS | END_STREAM,
                asked.stream,
                b"\x00\x01a\x01b",
            );
            true
        }),
        ("frames in between", |peer, asked| {
            let before = peer.pongs;
            peer.send(PING, 0, 0, b"12345678");
            peer.settings(&[(1, 0), (4, 100_000), (99, 1)]);
            peer.send(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]);
            peer.send(200, 0xff, asked.stream, b"unknown");
            while peer.pongs == before {
                let (kind, flags, ..) = peer.receive().unwrap();
                peer.pongs += usize::from(kind == PING && flags & ACK != 0);
            }
            peer.respond(asked.stream);
            // Of a stream that has ended.
            peer.send(WINDOW_UPDATE, 0, asked.stream, &[0, 0, 1, 0]);
            peer.reset(asked.stream, 0);
            true
        }),
        ("byte by byte", |peer, asked| {
            let head = frame(HEADERS, END_HEADERS, asked.stream, OK);
            let body = frame(DATA, END_STREAM, asked.stream, b"hello");
            for byte in [head, body].concat() {
                let _ = peer.socket.write_all(&[byte]);
            }
            true
        }),
        ("a stream that is refused once", |peer, asked| {
            if asked.number == Some(2) {
                peer.reset(asked.stream, REFUSED);
                return true;
            }
            responds(peer, asked)
        }),
        ("GOAWAY behind a response", |peer, asked| {
            peer.respond(asked.stream);
            peer.go_away(asked.stream);
            false
        }),
        ("GOAWAY instead of a response", |peer, asked| {
            // The first request of a connection has a response.
            if asked.stream == 1 {
                return responds(peer, asked);
            }
            peer.go_away(asked.stream - 2);
            false
        }),
        ("an end in silence", |peer, asked| {
            asked.stream == 1 && responds(peer, asked)
        }),
    ];
    for (what, script) in table {
        for clock in ["kernel", "user"] {
            let (outcome, run) = run_of(script, &["--clock", clock]);
            assert_eq!(ended(&run, Ended::Ok), 6, "{what}: {outcome}");
            for sample in &run.samples {
                assert_eq!(sample.protocol, Some(HttpVersion::Http2), "{what}");
                let response = (sample.status, sample.body_received);
                assert_eq!(response, (Some(200), 5), "{what}");
                let is_odd = sample.stream.is_some_and(|stream| stream % 2 == 1);
                assert!(is_odd, "{what}");
                assert!(sample.bytes_received >= 9 + 1 + 9 + 5, "{what}: {sample:?}");
            }
        }
    }
}

#[test]
fn what_a_server_must_not_do_is_a_failure_of_one_operation() {
    let table: [(&str, Script, Ended, &str); 12] = [
        (
            "RST_STREAM",
            |peer, asked| {
                peer.reset(asked.stream, INTERNAL_ERROR);
                true
            },
            Ended::Reset,
            "RST_STREAM, INTERNAL_ERROR",
        ),
        (
            "RST_STREAM in the body",
            |peer, asked| {
                peer.send(HEADERS, END_HEADERS, asked.stream, OK);
                peer.send(DATA, 0, asked.stream, b"hel");
                peer.reset(asked.stream, INTERNAL_ERROR);
                true
            },
            Ended::Reset,
            "RST_STREAM, INTERNAL_ERROR",
        ),
        (
            "an end in the body",
            |peer, asked| {
                peer.send(HEADERS, END_HEADERS, asked.stream, OK);
                peer.send(DATA, 0, asked.stream, b"hel");
                false
            },
            Ended::Reset,
            "the server ended the connection",
        ),
        (
            "a frame that is too large",
            |peer, asked| {
                peer.send(DATA, 0, asked.stream, &[0; 16385]);
                true
            },
            Ended::ProtocolError,
            "16385 bytes",
        ),
        (
            "a block that is none",
            |peer, asked| {
                peer.send(HEADERS, END_HEADERS, asked.stream, &[0xff; 20]);
                assert!(peer.asked().is_none());
                assert_eq!(peer.goodbyes, [9], "no COMPRESSION_ERROR");
                false
            },
            Ended::ProtocolError,
            "cannot be decoded",
        ),
        (
            "a wrong length",
            |peer, asked| {
                peer.send(HEADERS, END_HEADERS, asked.stream, b"\x88\x0f\x0d\x016");
                peer.send(DATA, END_STREAM, asked.stream, b"hello");
                true
            },
            Ended::ProtocolError,
            "Content-Length is 6",
        ),
        (
            "no status",
            |peer, asked| {
                peer.send(
                    HEADERS,
                    END_HEADERS | END_STREAM,
                    asked.stream,
                    b"\x00\x01a\x01b",
                );
                true
            },
            Ended::ProtocolError,
            ":status",
        ),
        (
            "a push",
            |peer, asked| {
                peer.send(PUSH_PROMISE, END_HEADERS, asked.stream, &[0, 0, 0, 2, 0x82]);
                true
            },
            Ended::ProtocolError,
            "SETTINGS_ENABLE_PUSH=0",
        ),
        (
            "DATA before HEADERS",
            |peer, asked| {
                peer.send(DATA, END_STREAM, asked.stream, b"hello");
                true
            },
            Ended::ProtocolError,
            "DATA came before",
        ),
        (
            "a stream of nobody",
            |peer, _| {
                peer.send(HEADERS, END_HEADERS, 7777, OK);
                true
            },
            Ended::ProtocolError,
            "stream 7777",
        ),
        (
            "a window beyond all bounds",
            |peer, _| {
                peer.send(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]);
                true
            },
            Ended::ProtocolError,
            "2^31-1",
        ),
        (
            "HTTP/1",
            |peer, _| {
                let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                let _ = peer.socket.write_all(response);
                true
            },
            Ended::ProtocolError,
            "a frame of",
        ),
    ];
    for (what, script, expected, said) in table {
        let (outcome, run) = run_of(script, &["--verbose"]);
        assert_eq!(ended(&run, expected), 6, "{what}: {outcome}");
        assert!(format!("{outcome}").contains(said), "{what}: {outcome}");
    }
}

#[test]
fn a_stream_that_fails_leaves_the_connection_to_others() {
    let (outcome, run) = run_of(
        |peer, asked| {
            match asked.number {
                Some(2) => peer.reset(asked.stream, INTERNAL_ERROR),
                _ => peer.respond(asked.stream),
            }
            true
        },
        &[],
    );
    let endings = [Ended::Ok, Ended::Reset].map(|outcome| ended(&run, outcome));
    assert_eq!(endings, [5, 1], "{outcome}");
    let mut connections: Vec<_> = run.samples.iter().map(|sample| sample.connection).collect();
    connections.dedup();
    assert_eq!(connections.len(), 1, "{outcome}");
}

#[test]
fn a_server_that_refuses_every_stream_is_not_asked_for_ever() {
    let (outcome, run) = run_of(
        |peer, asked| {
            peer.reset(asked.stream, REFUSED);
            true
        },
        &[],
    );
    assert_eq!(ended(&run, Ended::Reset), 6, "{outcome}");
}

#[test]
fn requests_above_the_last_stream_are_sent_elsewhere_whatever_they_do() {
    let url = scripted(&[], |peer, asked| {
        if asked.stream == 1 {
            return responds(peer, asked);
        }
        peer.go_away(1);
        // Unread bytes would turn the end into a reset.
        while peer.asked().is_some() {}
        false
    });
    let (outcome, run) = run_at(&url, "POST", &["--pipeline", "3", "--writes"]);
    assert_eq!(ended(&run, Ended::Ok), 6, "{outcome}");
    assert!(run.samples.iter().all(|sample| !sample.resent), "{outcome}");
}

#[test]
fn bodies_wait_for_windows_that_open_and_shrink() {
    let url = scripted(&[(4, 1000)], |peer, asked| {
        assert_eq!(asked.body, 50_000, "the whole body");
        // All streams from now on have less, and those under way would owe some of it.
        peer.settings(&[(4, 700)]);
        peer.window_step = Some(1000);
        responds(peer, asked)
    });
    let url = format!("{url}new.bin");
    let outcome = prestan!(
        "load PUT {url} --json - --http 2 --total 4 --warmup 0 --writes --body-size 50000"
    )
    .run();
    let run = kept(&outcome);
    assert_eq!(ended(&run, Ended::Ok), 4, "{outcome}");
    let is_whole = |sample: &Sample| sample.bytes_sent > 50_000;
    assert!(run.samples.iter().all(is_whole), "{outcome}");
}

/// The streams of four requests.
fn four_streams(peer: &mut Peer, asked: Asked) -> Vec<u32> {
    let mut streams = vec![asked.stream];
    while streams.len() < 4
        && let Some(asked) = peer.asked()
    {
        streams.push(asked.stream);
    }
    streams
}

/// Responds to four requests at a time, the last one first.
fn backwards(peer: &mut Peer, asked: Asked) -> bool {
    let streams = four_streams(peer, asked);
    streams
        .iter()
        .rev()
        .for_each(|stream| peer.respond(*stream));
    true
}

#[test]
fn streams_end_in_any_order() {
    let url = scripted(&[], backwards);
    for clock in ["kernel", "user"] {
        let outcome = prestan!(
            "load GET {url} --json - --http 2 --pipeline 4 --total 200 --warmup 0 --clock {clock}"
        )
        .run();
        let (result, run) = counted(&outcome);
        assert_eq!(ended(&run, Ended::Ok), 200, "{outcome}");
        assert_eq!(result["load"]["http"]["version"], "2");
        assert_eq!(result["load"]["http"]["window"], u32::MAX >> 1);
        let ends = |sample: &Sample| sample.moments.done.unwrap();
        let in_order = run.samples.iter().map(ends).is_sorted();
        assert!(in_order, "in the order in which they ended");
        for sample in &run.samples {
            let moments = &sample.moments;
            let in_order = moments.sent <= moments.first && moments.first <= moments.done;
            assert!(in_order, "{sample:?}");
        }
    }
}

/// Responds to four requests at a time, all in one segment.
fn together(peer: &mut Peer, asked: Asked) -> bool {
    let streams = four_streams(peer, asked);
    let responses = streams.iter().flat_map(|stream| {
        let head = frame(HEADERS, END_HEADERS, *stream, OK);
        [head, frame(DATA, END_STREAM, *stream, b"hello")]
    });
    let bytes = responses.collect::<Vec<_>>().concat();
    peer.socket.write_all(&bytes).is_ok()
}

#[test]
fn responses_that_arrive_together_are_marked() {
    for clock in ["kernel", "user"] {
        let url = scripted(&[], together);
        let outcome = prestan!(
            "load GET {url} --json - --http 2 --total 40 --warmup 0 --pipeline 4 --clock {clock}"
        )
        .run();
        let (result, run) = counted(&outcome);
        assert_eq!(ended(&run, Ended::Ok), 40, "{outcome}");
        let marked = run.samples.iter().filter(|sample| sample.shares_first);
        // All but the first of each four.
        assert_eq!(marked.count(), 30, "{clock}: {outcome}");
        let warnings = result["warnings"].as_array().unwrap();
        let of_streams = |warning: &&Value| warning["kind"] == "shared_stamps";
        let about: Vec<&Value> = warnings.iter().filter(of_streams).collect();
        assert_eq!(about.len(), 1, "{clock}: {result:#}");
        assert_eq!(about[0]["about"][0]["count"], 30, "{clock}: {result:#}");
    }
    let (outcome, run) = run_of(responds, &[]);
    assert!(!run.samples.iter().any(|sample| sample.shares_first));
    outcome.stdout_lacks("shared_stamps");
}

#[test]
fn a_server_may_allow_fewer_streams() {
    let url = scripted(&[(3, 1)], responds);
    let (outcome, run) = run_at(&url, "GET", &["--pipeline", "4"]);
    assert_eq!(ended(&run, Ended::Ok), 6, "{outcome}");
}

#[test]
fn one_late_stream_is_late_alone() {
    let url = scripted(&[], |peer, asked| {
        if asked.number != Some(0) {
            peer.respond(asked.stream);
        }
        true
    });
    let (outcome, run) = run_at(&url, "GET", &["--pipeline", "2", "--timeout", "300ms"]);
    let endings = [Ended::Timeout, Ended::Ok].map(|outcome| ended(&run, outcome));
    assert_eq!(endings, [1, 5], "{outcome}");
}

#[test]
fn a_server_without_http2_is_said_so() {
    let server = plain();
    let outcome = prestan!("load GET {server} --json - --http 2").ends(4);
    outcome.stderr_has("does not speak HTTP/2");
}

/// The servers with a switch for HTTP/2, those that are installed.
fn with_http2() -> impl Iterator<Item = RealServer> {
    let switched = recipes().iter().filter(|recipe| recipe.http2);
    let open = switched.filter(|recipe| recipe.auth == UrlScheme::None);
    open.filter_map(|recipe| started(&format!("{},http=2", recipe.name)))
}

#[test]
fn loads_of_real_servers() {
    for server in with_http2() {
        let recipe = &server.recipe().name;
        fs::write(server.storage().join("a.bin"), vec![7; 100_000]).unwrap();
        let url = format!("{}a.bin", server.url());
        for streams in ["1", "8"] {
            let outcome =
                prestan!("load GET {url} --json - --http 2 --pipeline {streams} -c 3 --total 1500")
                    .run();
            let (_, run) = counted(&outcome);
            let ok = ended(&run, Ended::Ok);
            assert_eq!(ok, 1500, "{recipe}, {streams}: {outcome}");
            let whole =
                |sample: &Sample| sample.body_received == 100_000 && sample.stream.is_some();
            assert!(run.samples.iter().all(whole), "{recipe}, {streams}");
        }
    }
}

#[test]
fn pages_of_real_servers() {
    for server in with_http2() {
        let recipe = &server.recipe().name;
        generate(&server.storage());
        for streams in ["1", "4"] {
            let outcome =
                prestan!(webstone(&server.url()) => "--http 2 --pipeline {streams}").run();
            assert_eq!(outcome.code, 0, "{recipe}: {outcome}");
            let (result, _) = crate::support::pages::counted(&outcome);
            let errors = &result["webstone"]["retrieved"]["errors"];
            assert_eq!(*errors, 0, "{recipe}: {outcome}");
        }
    }
}
