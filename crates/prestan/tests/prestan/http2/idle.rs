//! Frames of a server on an idle connection.

use super::run_at;
use crate::support::load::ended;
use crate::support::peer::{Asked, PING, Peer, Script, WINDOW_UPDATE, scripted};
use record::{Outcome as Ended, Sample};

/// Between requests there are 200 ms.
const PACE: [&str; 6] = ["--rate", "5", "--arrivals", "constant", "-c", "1"];

/// A client that sends a request after GOAWAY gets no response.
fn end_of_idle_time(peer: &mut Peer, asked: Asked) -> bool {
    peer.respond(asked.stream);
    if !peer.is_read_in_a_pause() {
        return true;
    }
    peer.go_away(asked.stream);
    assert!(peer.asked().is_none(), "a request after GOAWAY");
    false
}

#[test]
fn a_request_after_a_pause_in_which_the_server_said_goaway_goes_to_a_new_connection() {
    let table: [(&str, Script); 2] = [
        ("the connection stays open", end_of_idle_time),
        ("the connection ends", |peer, asked| {
            peer.respond(asked.stream);
            let is_over = peer.is_read_in_a_pause();
            if is_over {
                peer.go_away(asked.stream);
            }
            !is_over
        }),
    ];
    for (what, script) in table {
        for (method, clock) in [("GET", "kernel"), ("POST", "kernel"), ("POST", "user")] {
            let url = scripted(&[], script);
            let options = [&PACE[..], &["--writes", "--clock", clock]].concat();
            let (outcome, run) = run_at(&url, method, &options);
            assert_eq!(ended(&run, Ended::Ok), 6, "{what}, {method}: {outcome}");
            let resent = run.samples.iter().any(|sample| sample.resent);
            assert!(!resent, "{what}, {method}: {outcome}");
            // Without GOAWAY there would be one connection.
            let is_first = |sample: &&Sample| sample.stream == Some(1);
            let connections = run.samples.iter().filter(is_first).count();
            assert!(connections >= 3, "{what}, {method}: {outcome}");
        }
    }
}

#[test]
fn control_frames_in_a_pause_are_acknowledged_with_the_next_request() {
    let url = scripted(&[], |peer, asked| {
        // Each request arrives with one for the pause before it.
        assert_eq!(peer.pongs, peer.pings, "{asked:?}");
        assert!(asked.number < Some(5) || peer.pings >= 2, "{asked:?}");
        peer.respond(asked.stream);
        if peer.is_read_in_a_pause() {
            peer.send(PING, 0, 0, b"12345678");
            peer.settings(&[(4, 100_000)]);
            peer.send(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]);
            peer.pings += 1;
        }
        true
    });
    let (outcome, run) = run_at(&url, "POST", &[&PACE[..], &["--writes"]].concat());
    assert_eq!(ended(&run, Ended::Ok), 6, "{outcome}");
    // A request that failed would have begun a connection, and with it the numbers of streams,
    // anew.
    let streams = run.samples.iter().map(|sample| sample.stream);
    let expected = [1, 3, 5, 7, 9, 11].map(Some);
    assert!(streams.eq(expected), "{outcome}");
    assert!(!run.samples.iter().any(|sample| sample.resent), "{outcome}");
}
