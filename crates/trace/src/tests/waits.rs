//! Causes of the waiting times of connections, in connections made by hand.

use super::analysis::{Script, has};
use crate::findings::{FindingThresholds, SlownessCause, findings};
use crate::waits::ConnectionEnd::{Client, Server};

const REQUEST: &str = "GET / HTTP/1.1\r\n\r\n";

/// A response that is aborted: the part that the server had sent, and the end of the connection.
#[test]
fn a_response_that_never_came_is_the_servers_time() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    let whole = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n";
    let table = [
        ("", Some(SlownessCause::NoResponse)),
        (head, Some(SlownessCause::NoResponse)),
        // Neither end had anything to send.
        (whole, None),
    ];
    for (response, expected) in table {
        for is_reset in [false, true] {
            let mut script = Script::opened();
            script.text(20, Client, 0, REQUEST, 0);
            script.acknowledge(20, Server, 0, 18);
            let length = response.len() as u32;
            if length > 0 {
                script.text(21, Server, 0, response, 18);
                script.acknowledge(41, Client, 18, length);
            }
            // Keep-alives of the client.
            for at_ms in [1000, 2000] {
                script.data(at_ms, Client, 17, 0, length);
                script.acknowledge(at_ms, Server, length, 18);
            }
            script.close(3000, Client, 18, length, is_reset);
            let figures = script.figures();
            let found = findings(&figures, FindingThresholds { share: 0.05 });
            let found = found.first().map(|found| (found.cause, found.end));
            assert_eq!(
                found,
                expected.map(|cause| (cause, Server)),
                "{response:?} {is_reset}"
            );
            let transfer_ns = crate::findings::transfer_ns(&figures);
            assert_eq!(transfer_ns > 2_000_000_000, expected.is_some());
        }
    }
}

/// Captured at the client, 40 ms from the server. The server's data pass this long after a late
/// acknowledgment.
#[test]
fn what_an_acknowledgment_releases_passes_a_round_trip_later() {
    let table = [(40, true), (0, false), (38, false), (60, false)];
    for (after_ms, is_found) in table {
        let mut script = Script::at_client();
        script.text(40, Client, 0, REQUEST, 0);
        script.data(80, Server, 0, 100, 18);
        script.acknowledge(120, Client, 18, 100);
        script.data(120 + after_ms, Server, 100, 100, 18);
        script.acknowledge(120 + after_ms, Client, 18, 200);
        let causes = script.causes();
        let is_delayed = has(&causes, SlownessCause::DelayedAcknowledgment);
        assert_eq!(is_delayed, is_found, "{after_ms}: {causes:?}");
    }
}

/// A small response after a large one and a pause is sent at once: nothing waits for its congestion
/// window.
#[test]
fn a_small_response_behind_a_pause_is_no_slow_start() {
    for (second, is_found) in [(3000, false), (8000, true)] {
        let mut script = Script::opened();
        script.text(20, Client, 0, REQUEST, 0);
        for first in 0..20 {
            script.data(21, Server, first * 1000, 1000, 18);
        }
        script.acknowledge(41, Client, 18, 20_000);
        script.text(1041, Client, 18, REQUEST, 20_000);
        let mut at_ms = 1042;
        for round in 0..second / 4000 + 1 {
            let begin = 20_000 + round * 4000;
            let end = (begin + 4000).min(20_000 + second);
            for first in (begin..end).step_by(1000) {
                script.data(at_ms, Server, first, 1000, 36);
            }
            at_ms += 20;
            if begin < end {
                script.acknowledge(at_ms, Client, 36, end);
            }
        }
        let causes = script.causes();
        let is_slow = has(&causes, SlownessCause::SlowStartAfterIdle);
        assert_eq!(is_slow, is_found, "{second}: {causes:?}");
    }
}

/// Full segments, each right after an acknowledgment: of a program that writes 1000 bytes each
/// millisecond, and of a sender whose window grows.
#[test]
fn a_sender_that_sends_the_same_in_each_round_trip_has_a_pace_of_its_own() {
    let mut script = Script::opened();
    for at_ms in 20..520_u32 {
        let at = i64::from(at_ms);
        if at_ms >= 40 {
            script.acknowledge(at, Client, 0, (at_ms - 39) * 1000);
        }
        script.data(at, Server, (at_ms - 20) * 1000, 1000, 0);
    }
    let causes = script.causes();
    assert_eq!(causes[0].0, SlownessCause::SenderPace, "{causes:?}");
    assert!(causes[0].2 > 400, "{causes:?}");

    let mut script = Script::opened();
    let (mut at_ms, mut offset) = (20, 0);
    for segments in 2..30_u32 {
        for _ in 0..segments {
            script.data(at_ms, Server, offset, 1000, 0);
            offset += 1000;
        }
        at_ms += 20;
        script.acknowledge(at_ms, Client, 0, offset);
    }
    let causes = script.causes();
    assert_eq!(causes[0].0, SlownessCause::CongestionWindow, "{causes:?}");
    assert_eq!(causes.len(), 1, "{causes:?}");
}

/// Less than full segments: the program had written no more.
#[test]
fn small_segments_with_others_in_flight_have_a_pace_of_their_own() {
    let mut script = Script::opened();
    for at_ms in 20..120_u32 {
        let at = i64::from(at_ms);
        if at_ms >= 45 {
            script.acknowledge(at, Client, 0, (at_ms - 44) * 300);
        }
        script.data(at, Server, (at_ms - 20) * 300, 300, 0);
    }
    let causes = script.causes();
    assert_eq!(causes[0].0, SlownessCause::SenderPace, "{causes:?}");
}

/// A window without room for a segment, which opens without an acknowledgment of new bytes.
#[test]
fn a_window_that_opens_late_limits_the_sender() {
    for (is_at_client, rtt_ms) in [(false, 0), (true, 40)] {
        let mut script = if is_at_client {
            Script::at_client_with(3000)
        } else {
            Script::opened()
        };
        script.text(40, Client, 0, REQUEST, 0);
        let mut at_ms = 40 + rtt_ms;
        for round in 0..10 {
            let first = round * 3000;
            for part in 0..3 {
                script.data(at_ms, Server, first + part * 1000, 1000, 18);
            }
            script.window = 200;
            at_ms += 20;
            script.acknowledge(at_ms, Client, 18, first + 3000);
            script.window = 3000;
            at_ms += 30;
            script.acknowledge(at_ms, Client, 18, first + 3000);
            at_ms += rtt_ms;
        }
        let causes = script.causes();
        assert_eq!(causes[0].0, SlownessCause::WindowLimited, "{causes:?}");
        assert!(causes[0].2 >= 10 * (30 + rtt_ms) - 50, "{causes:?}");
        let is_other =
            has(&causes, SlownessCause::ServerPause) || has(&causes, SlownessCause::SenderPace);
        assert!(!is_other, "{causes:?}");
    }
}

/// Captured at the client: data after a silence show that bytes before it were lost.
#[test]
fn a_silence_that_ends_with_a_gap_is_no_pause() {
    for (gap, is_pause) in [(0, true), (1000, false)] {
        let mut script = Script::at_client();
        script.text(40, Client, 0, REQUEST, 0);
        script.data(80, Server, 0, 1000, 18);
        script.acknowledge(80, Client, 18, 1000);
        script.data(240, Server, 1000 + gap, 1000, 18);
        script.acknowledge(240, Client, 18, if gap > 0 { 1000 } else { 2000 });
        script.data(241, Server, 2000 + gap, 500, 18);
        let causes = script.causes();
        let has_pause = has(&causes, SlownessCause::ServerPause);
        assert_eq!(has_pause, is_pause, "{causes:?}");
    }
}

/// Captured at the server, with a long round trip: the pause is that of the program, however long
/// acknowledgments take.
#[test]
fn a_pause_at_the_sender_is_found_below_two_round_trips() {
    let mut script = Script::opened();
    script.text(20, Client, 0, REQUEST, 0);
    script.data(20, Server, 0, 1000, 18);
    script.acknowledge(40, Client, 18, 1000);
    script.data(60, Server, 1000, 1000, 18);
    script.acknowledge(80, Client, 18, 2000);
    let causes = script.causes();
    let pause = (SlownessCause::ServerPause, Server, 40);
    let first = causes.iter().find(|cause| cause.0 == pause.0);
    assert_eq!(first, Some(&pause), "{causes:?}");
}

/// Kind of every second of these segments, and number of the remaining ones.
#[test]
fn copies_of_packets_are_left_out() {
    let table = [
        // A copy has the identification of its packet.
        (Some(7), Some(7), 1),
        // A retransmission has another one, or none that identifies it.
        (Some(7), Some(8), 0),
        (Some(0), Some(0), 0),
        (None, None, 0),
    ];
    for (first, second, copies) in table {
        let mut script = Script::opened();
        script.identification = first;
        script.data(30, Server, 0, 1000, 0);
        script.identification = second;
        script.data(30, Server, 0, 1000, 0);
        script.identification = None;
        script.acknowledge(50, Client, 0, 1000);
        let traced = script.traced();
        assert_eq!(traced.copies, copies);
        let server = &traced.connections[0].from_server;
        assert_eq!(server.retransmissions.total(), 1 - copies);
    }
}

#[test]
fn a_small_part_behind_a_late_reaction_is_no_delayed_acknowledgment() {
    let mut script = Script::opened();
    script.data(40, Client, 0, 100, 0);
    script.acknowledge(120, Server, 0, 100);
    // The application waited, and not for the acknowledgment.
    script.data(400, Client, 100, 100, 0);
    let causes = script.causes();
    assert!(
        !has(&causes, SlownessCause::DelayedAcknowledgment),
        "{causes:?}"
    );
}

#[test]
fn turns_and_pauses_are_told_apart() {
    let mut script = Script::opened();
    script.text(20, Client, 0, "GET / HTTP/1.1\r\n\r\n", 0);
    script.acknowledge(60, Server, 0, 18);
    script.data(120, Server, 0, 500, 18);
    script.acknowledge(140, Client, 18, 500);
    // The server continues its response.
    script.data(340, Server, 500, 500, 18);
    script.acknowledge(360, Client, 18, 1000);
    // The next request.
    script.text(660, Client, 18, "GET / HTTP/1.1\r\n\r\n", 1000);
    script.data(670, Server, 1000, 10, 36);
    let causes = script.causes();
    let expected = [
        (SlownessCause::ClientPause, Client, 300),
        // The server had nothing more to send from its first part on.
        (SlownessCause::ServerPause, Server, 220),
        // 100 ms, without the 20 ms that are not the server's: it was captured there.
        (SlownessCause::ServerResponseTime, Server, 110),
    ];
    assert_eq!(causes, expected);
}

/// On loopback a segment can be longer than the window: a few bytes in flight do not fill it.
#[test]
fn a_window_smaller_than_a_segment_is_not_always_full() {
    for (bytes, is_found) in [(6, false), (900, true)] {
        let mut script = Script::at_client_with(900);
        script.text(40, Client, 0, REQUEST, 0);
        for round in 0..5 {
            let (at_ms, first) = (80 + i64::from(round) * 60, round * bytes);
            script.data(at_ms, Server, first, bytes, 18);
            script.acknowledge(at_ms + 15, Client, 18, first + bytes);
        }
        let causes = script.causes();
        let is_limited = has(&causes, SlownessCause::WindowLimited);
        assert_eq!(is_limited, is_found, "{bytes}: {causes:?}");
    }
}

/// Near the receiver, by time stamps: the time until the first response is no round trip.
#[test]
fn a_response_time_is_no_round_trip_of_a_path() {
    let mut script = Script::at_client();
    script.stamps = Some((1, 0));
    script.acknowledge(40, Client, 0, 0);
    script.text(40, Client, 0, REQUEST, 0);
    let mut offset = 0;
    for round in 0..8 {
        let at_ms = 580 + 40 * i64::from(round);
        script.stamps = Some((1000 + round, 1 + round));
        for _ in 0..=round {
            script.data(at_ms, Server, offset, 1000, 18);
            offset += 1000;
        }
        script.stamps = Some((2 + round, 1000 + round));
        script.acknowledge(at_ms, Client, 18, offset);
    }
    let figures = script.figures();
    let waits = figures.waits.iter();
    let rtts: Vec<i64> = waits
        .filter_map(|connection| Some(connection.path?.rtt_ns() / 1_000_000))
        .collect();
    assert_eq!(rtts, [40], "{:?}", figures.waits);
}

/// Within a connection, captured at the client, 40 ms from the server: with and without time
/// stamps.
#[test]
fn without_a_handshake_the_servers_round_trips_are_no_pauses() {
    for has_stamps in [false, true] {
        let mut script = Script::joined();
        let mut offset = 0;
        for round in 0..20 {
            let at_ms = 40 * i64::from(round);
            script.stamps = has_stamps.then_some((1000 + round, 1 + round));
            for _ in 0..3 {
                script.data(at_ms, Server, offset, 1000, 0);
                offset += 1000;
            }
            script.stamps = has_stamps.then_some((2 + round, 1000 + round));
            script.acknowledge(at_ms, Client, 0, offset);
        }
        let causes = script.causes();
        assert!(
            !has(&causes, SlownessCause::ServerPause),
            "{has_stamps}: {causes:?}"
        );
    }
}
