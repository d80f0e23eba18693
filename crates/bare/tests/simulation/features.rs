//! Effects of each feature, seen from outside: segments and their times.

use bare::{CongestionControl, SenderSettings, TimeoutResend};
use trace::rto::{PAPER_WEIGHTS, RtoEstimator, RtoFormula, SamplingStrategy};

use crate::client::ClientSettings;
use crate::link::{LinkSettings, delayed};
use crate::world::{SentData, World};

const MS: u64 = 1_000_000;
const ONE_WAY: u64 = 20 * MS;
const MSS: u64 = 1460;

fn bare() -> SenderSettings {
    SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One)
}

/// Without time stamps, so that segments are full.
fn conventional(control: CongestionControl) -> SenderSettings {
    SenderSettings {
        timestamps: false,
        ..SenderSettings::conventional(control)
    }
}

/// Transfers a file over a link that loses these frames of the server (SYN is 1).
fn transfer(sender: SenderSettings, size: usize, window: u64, lost: &[u64]) -> World {
    let to_client = LinkSettings {
        delay_ns: ONE_WAY,
        lost: lost.iter().copied().collect(),
        ..LinkSettings::default()
    };
    let to_server = delayed(ONE_WAY);
    let client = ClientSettings {
        window,
        ..ClientSettings::default()
    };
    let mut world = World::new(sender, size, client, to_client, to_server);
    assert!(world.run(3_600_000 * MS));
    assert_eq!(world.body().len(), size);
    world
}

/// Segments that were sent again, with their order.
fn resent(world: &World) -> Vec<SentData> {
    let mut highest = 0;
    let mut resent = Vec::new();
    for sent in &world.sent {
        if sent.offset < highest {
            resent.push(*sent);
        }
        highest = highest.max(sent.offset + sent.length);
    }
    resent
}

#[test]
fn without_congestion_control_the_window_of_the_client_is_filled_at_once() {
    let world = transfer(bare(), 100 * 1024, 64 * 1024, &[]);
    let first_ns = world.sent[0].at_ns;
    let burst = world.sent.iter().take_while(|sent| sent.at_ns == first_ns);
    let bytes: u64 = burst.map(|sent| sent.length).sum();
    assert_eq!(bytes, 64 * 1024 / MSS * MSS);
}

/// One segment of a window is lost. The bare server waits for the timeout, and sends everything
/// again.
#[test]
fn after_a_timeout_everything_is_sent_again_or_the_first_segment() {
    let (size, window) = (100 * 1024, 64 * 1024);
    let in_window = window / MSS;
    // Frame 1 is SYN, frame 2 acknowledges nothing: data begins with frame 2.
    let lost = 6;
    let world = transfer(bare(), size, window, &[lost]);
    let offset = (lost - 2) * MSS;
    let again = resent(&world);
    let at_ns = again[0].at_ns;
    // Handshake and four segments, R = 40 ms: none of these segments gives a round trip other than
    // 40 ms.
    let offsets: Vec<u64> = again.iter().map(|sent| sent.offset).collect();
    let expected: Vec<u64> = (0..in_window).map(|index| offset + index * MSS).collect();
    assert_eq!(offsets[..expected.len()], expected);
    assert!(again.iter().all(|sent| sent.at_ns == at_ns), "all at once");

    let first_only = SenderSettings {
        timeout_resend: TimeoutResend::FirstSegment,
        ..bare()
    };
    let mut world = transfer(first_only, size, window, &[lost]);
    let again = resent(&world);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].offset, offset);
    assert_eq!(world.ended().sender.timeouts, 1);
}

#[test]
fn three_duplicate_acknowledgments_cause_a_fast_retransmit_where_it_is_on() {
    for control in [
        CongestionControl::None,
        CongestionControl::Reno,
        CongestionControl::Cubic,
    ] {
        for (fast_recovery, sack) in [(false, false), (true, false), (true, true)] {
            let sender = SenderSettings {
                fast_retransmit: true,
                fast_recovery,
                sack,
                congestion_control: control,
                ..bare()
            };
            let mut world = transfer(sender, 100 * 1024, 64 * 1024, &[6]);
            let again = resent(&world);
            assert_eq!(again.len(), 1, "{sender:?}");
            // One round trip after the segments behind it.
            assert_eq!(again[0].at_ns, world.sent[0].at_ns + 2 * ONE_WAY);
            let counters = world.ended().sender;
            assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
        }
    }
    let mut world = transfer(bare(), 100 * 1024, 64 * 1024, &[6]);
    let counters = world.ended().sender;
    assert_eq!((counters.fast_retransmits, counters.timeouts), (0, 1));
    assert!(counters.duplicate_acks > 3);
}

#[test]
fn two_duplicate_acknowledgments_are_not_enough() {
    let sender = SenderSettings {
        fast_retransmit: true,
        ..bare()
    };
    // Six segments; the fourth is lost, two follow.
    let mut world = transfer(sender, 6 * 1460 - 150, 64 * 1024, &[5]);
    let counters = world.ended().sender;
    assert_eq!((counters.duplicate_acks, counters.fast_retransmits), (2, 0));
    assert_eq!(counters.timeouts, 1);
}

/// Three losses in a window: NewReno repairs one of them in each round trip, SACK all in the first.
#[test]
fn recovery_takes_a_round_trip_for_each_loss_without_sack() {
    let lost = [6, 9, 12];
    let resent_with = |sack| {
        let sender = SenderSettings {
            sack,
            initial_window_segments: 40,
            ..conventional(CongestionControl::Reno)
        };
        let mut world = transfer(sender, 100 * 1024, 64 * 1024, &lost);
        let counters = world.ended().sender;
        let counts = (counters.timeouts, counters.fast_retransmits);
        assert_eq!(counts, (0, 1), "sack: {sack}");
        assert_eq!(counters.resent_segments, 3);
        resent(&world)
    };
    let without = resent_with(false);
    assert_eq!(without[1].at_ns - without[0].at_ns, 2 * ONE_WAY);
    assert_eq!(without[2].at_ns - without[1].at_ns, 2 * ONE_WAY);
    let with = resent_with(true);
    assert!(with[2].at_ns - with[0].at_ns < ONE_WAY);
}

/// The bytes in flight just before a loss is detected, and after the recovery.
#[test]
fn reno_halves_and_cubic_takes_seven_tenths() {
    for (control, factor) in [
        (CongestionControl::Reno, 0.5),
        (CongestionControl::Cubic, 0.7),
    ] {
        let sender = SenderSettings {
            initial_window_segments: 40,
            ..conventional(control)
        };
        // A window that the client does not limit.
        let world = transfer(sender, 400 * 1024, 1 << 20, &[6]);
        let again = resent(&world);
        assert_eq!(again.len(), 1);
        let in_flight = |at_ns: u64| {
            let sent = world.sent.iter().filter(|sent| sent.at_ns < at_ns);
            let sent = sent.map(|sent| sent.offset + sent.length).max().unwrap();
            let acknowledged = world.acknowledged.iter().filter(|(ns, _)| *ns < at_ns);
            let offsets = acknowledged.map(|(_, offset)| *offset);
            sent - offsets.filter(|offset| *offset < 1 << 30).max().unwrap()
        };
        let before = in_flight(again[0].at_ns) as f64;
        let after = in_flight(again[0].at_ns + 2 * ONE_WAY + 1) as f64;
        let ratio = after / before;
        let error = (ratio - factor).abs();
        assert!(error < 0.08, "{control:?}: {before} to {after}");
    }
}

/// After a timeout, a sender with congestion control begins with one segment, and doubles.
#[test]
fn slow_start_follows_a_timeout() {
    let sender = SenderSettings {
        fast_retransmit: false,
        fast_recovery: false,
        sack: false,
        initial_window_segments: 40,
        ..conventional(CongestionControl::Reno)
    };
    let lost: Vec<u64> = (6..15).collect();
    let world = transfer(sender, 100 * 1024, 64 * 1024, &lost);
    let again = resent(&world);
    let at = |at_ns| again.iter().filter(|sent| sent.at_ns == at_ns).count();
    let first_ns = again[0].at_ns;
    let count = |round: u64| at(first_ns + round * 2 * ONE_WAY);
    let counts: Vec<usize> = (0..3).map(count).collect();
    assert_eq!(counts, [1, 2, 4]);
}

/// The timeout of each entry is that of `trace::rto` over the same round trips; and the first
/// timeout happens then.
#[test]
fn timeouts_are_those_of_the_formula() {
    for (weights, sampling) in PAPER_WEIGHTS.into_iter().flat_map(|weights| {
        [
            SamplingStrategy::One,
            SamplingStrategy::Some,
            SamplingStrategy::All,
        ]
        .map(|strategy| (weights, strategy))
    }) {
        let to_client = LinkSettings {
            delay_ns: ONE_WAY,
            rate: 10_000_000,
            queue: 1000,
            ..LinkSettings::default()
        };
        let to_server = delayed(ONE_WAY);
        let client = ClientSettings {
            window: 20_000,
            ..ClientSettings::default()
        };
        let sender = SenderSettings::bare(weights, sampling);
        let mut world = World::new(sender, 320 * 1024, client, to_client, to_server);
        assert!(world.run(600_000 * MS));
        let log = world.ended().round_trips;
        let mut estimator = RtoEstimator::new(RtoFormula::paper(weights));
        for entry in log.entries() {
            estimator.add(entry.sample.rtt_ns as f64);
            assert_eq!(Some(entry.srtt_ns), estimator.srtt_ns());
            assert_eq!(Some(entry.rttvar_ns), estimator.rttvar_ns());
            assert_eq!(entry.rto_ns, estimator.rto_ns() as u64);
        }
        let samples: Vec<_> = log.entries().iter().map(|entry| entry.sample).collect();
        // Windows of 13 segments: 17 of them, and the handshake.
        let segments = world.sent.len();
        let expected = match sampling {
            SamplingStrategy::All => segments..=segments + 1,
            SamplingStrategy::Some => segments / 2..=segments * 6 / 10,
            SamplingStrategy::One => segments / 14..=segments / 12 + 4,
        };
        let count = samples.len();
        assert!(
            expected.contains(&count),
            "{sampling:?}: {count} of {segments}"
        );
        if sampling != SamplingStrategy::Some {
            assert_eq!(sampling.select(&samples).len(), count);
        }
    }
}

/// Timeouts of a segment that is lost repeatedly: each is twice as long as the one before.
#[test]
fn timeouts_back_off() {
    let world = transfer(bare(), 1000, 64 * 1024, &[2, 3, 4, 5]);
    let times: Vec<u64> = world.sent.iter().map(|sent| sent.at_ns).collect();
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // R = 40 ms of the handshake: SRTT + 4 RTTVAR = 120 ms.
    assert_eq!(waits, [120 * MS, 240 * MS, 480 * MS, 960 * MS]);
    let steady = SenderSettings {
        backoff: false,
        ..bare()
    };
    let world = transfer(steady, 1000, 64 * 1024, &[2, 3, 4, 5]);
    let times: Vec<u64> = world.sent.iter().map(|sent| sent.at_ns).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 120 * MS));
}

/// Karn's rule: a segment that was sent twice gives no round trip, unless a time stamp shows which
/// one was acknowledged.
#[test]
fn segments_sent_twice_give_no_round_trip() {
    let mut world = transfer(bare(), 1000, 64 * 1024, &[2]);
    let log = world.ended().round_trips;
    // The handshake alone.
    assert_eq!(log.count(), 1);
    let stamped = SenderSettings {
        timestamps: true,
        ..bare()
    };
    let mut world = transfer(stamped, 1000, 64 * 1024, &[2]);
    let log = world.ended().round_trips;
    let last = log.entries().last().unwrap();
    assert_eq!(log.count(), 2);
    assert_eq!(last.sample.rtt_ns, 2 * ONE_WAY as i64);
}

/// A sender whose timeout has backed off to a minute does not give up at the second one.
#[test]
fn a_sender_gives_up_after_several_timeouts() {
    let sender = SenderSettings {
        initial_rto_ns: 60_000 * MS,
        rto: RtoFormula {
            minimum_ns: 60e9,
            ..bare().rto
        },
        backoff: false,
        ..bare()
    };
    // Seven of the same segment are lost. Frame 3 acknowledges the request, which the client has
    // sent again.
    let mut world = transfer(sender, 1000, 64 * 1024, &[2, 4, 5, 6, 7, 8, 9]);
    let ended = world.ended();
    assert_eq!((ended.is_complete, ended.sender.timeouts), (true, 7));
}
