//! Every byte arrives, with all features and links.

use bare::{CongestionControl, SenderSettings, TimeoutResend, test_pattern};
use proptest::prelude::*;
use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};

use crate::client::ClientSettings;
use crate::link::{LinkSettings, delayed};
use crate::world::World;

const MS: u64 = 1_000_000;

fn senders() -> impl Strategy<Value = SenderSettings> {
    let controls = prop_oneof![
        Just(CongestionControl::None),
        Just(CongestionControl::Reno),
        Just(CongestionControl::Cubic),
        Just(CongestionControl::Compound),
    ];
    let strategies = prop_oneof![
        Just(SamplingStrategy::One),
        Just(SamplingStrategy::Some),
        Just(SamplingStrategy::All),
    ];
    let resends = prop_oneof![
        Just(TimeoutResend::Everything),
        Just(TimeoutResend::FirstSegment)
    ];
    let switches = prop::array::uniform5(any::<bool>());
    (
        controls,
        strategies,
        resends,
        switches,
        0..9_usize,
        1..20_u32,
    )
        .prop_map(
            |(
                congestion_control,
                sampling,
                timeout_resend,
                switches,
                weights,
                initial_window_segments,
            )| {
                let [fast_retransmit, fast_recovery, sack, timestamps, backoff] = switches;
                SenderSettings {
                    timeout_resend,
                    fast_retransmit,
                    fast_recovery: fast_retransmit && fast_recovery,
                    sack,
                    timestamps,
                    backoff,
                    congestion_control,
                    initial_window_segments,
                    ..SenderSettings::bare(PAPER_WEIGHTS[weights], sampling)
                }
            },
        )
}

fn clients() -> impl Strategy<Value = ClientSettings> {
    let window = prop_oneof![500_u64..3000, 3000_u64..200_000];
    let closed = prop::option::of((0_u64..20_000, 0..5000_u64));
    let delayed = prop::option::of(1..200_u64);
    let options = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::option::of(0_u8..8),
    );
    (
        any::<u32>(),
        536_u16..1461,
        window,
        closed,
        delayed,
        options,
    )
        .prop_map(
            |(
                first_sequence,
                mss,
                window,
                closed,
                delayed,
                (is_ipv6, has_sack, has_time_stamps, shift),
            )| {
                ClientSettings {
                    is_ipv6,
                    first_sequence,
                    mss,
                    shift,
                    // Limit of the field.
                    window: (window >> shift.unwrap_or(0)).min(65_535) << shift.unwrap_or(0),
                    has_sack,
                    has_time_stamps,
                    delayed_ack_ns: delayed.map(|ms| ms * MS),
                    closed_window: closed.map(|(behind, ms)| (behind, ms * MS)),
                    ..ClientSettings::default()
                }
            },
        )
}

fn links() -> impl Strategy<Value = LinkSettings> {
    let rate = prop_oneof![Just(0_u64), 1_000_000_u64..100_000_000];
    (
        0..50_u64,
        rate,
        1..50_usize,
        0.0..0.2_f64,
        0.0..0.2_f64,
        any::<u64>(),
    )
        .prop_map(
            |(delay_ms, rate, queue, loss, reordering, seed)| LinkSettings {
                delay_ns: delay_ms * MS,
                rate,
                queue,
                loss,
                reordering,
                seed,
                ..LinkSettings::default()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_arrives(
        sender in senders(),
        client in clients(),
        to_client in links(),
        to_server in links(),
        size in 0_usize..60_000,
    ) {
        let to_server = LinkSettings { rate: 0, ..to_server };
        let mut world = World::new(sender, size, client, to_client, to_server);
        // Days: where only the first segment is sent again, each of many losses can take a minute.
        prop_assert!(world.run(1_000_000_000 * MS), "{:?}", world.server.open_connections().next());
        let ended = world.ended();
        if world.client.is_served() {
            prop_assert!(world.body() == test_pattern(size));
        } else {
            // A link that loses a fifth can lose everything for as long as the server waits.
            prop_assert!(!ended.is_complete && ended.sender.timeouts >= 8, "{:?}", ended.sender);
        }
        prop_assert!(ended.sender.segments >= ended.sender.resent_segments);
        prop_assert_eq!(world.server.open_connections().count(), 0);
    }
}

/// 504, 320 and 160 KB, the presets, both versions: without loss nothing is sent twice.
#[test]
fn presets_transfer_the_files_of_the_dissertation() {
    let bare = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    let presets = [
        bare,
        SenderSettings::conventional(CongestionControl::Reno),
        SenderSettings::conventional(CongestionControl::Cubic),
        SenderSettings::not_iis(),
    ];
    for sender in presets {
        for (kib, is_ipv6) in [(504, false), (320, true), (160, false)] {
            let client = ClientSettings {
                is_ipv6,
                mss: if is_ipv6 { 1440 } else { 1460 },
                ..ClientSettings::default()
            };
            let size = kib * 1024;
            let mut world = World::new(sender, size, client, delayed(5 * MS), delayed(5 * MS));
            assert!(world.run(60_000 * MS));
            assert!(world.body() == test_pattern(size));
            let ended = world.ended();
            assert!(ended.is_complete);
            assert_eq!(ended.requests, 1);
            assert_eq!(ended.sender.resent_segments, 0, "{sender:?}");
            let length = world.client.received.len() as u64;
            assert_eq!(ended.sender.bytes, length);
            // SYN, full segments and a rest, with FIN.
            let options = if sender.timestamps { 12 } else { 0 };
            let payload = if is_ipv6 { 1440 } else { 1460 } - options;
            assert_eq!(ended.sender.segments, 1 + length.div_ceil(payload));
        }
    }
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let client = ClientSettings {
        closed_window: Some((30_000, 20_000 * MS)),
        window: 16_384,
        ..ClientSettings::default()
    };
    let sender = SenderSettings::conventional(CongestionControl::Reno);
    let mut world = World::new(sender, 100_000, client, delayed(MS), delayed(MS));
    assert!(world.run(120_000 * MS));
    assert!(world.body() == test_pattern(100_000));
    let ended = world.ended();
    // From 0.2 s on, doubling.
    let probes = ended.sender.window_probes;
    assert!((5..12).contains(&probes), "{probes}");
    assert_eq!(ended.sender.timeouts, 0);
    assert!(ended.ended_ns < 20_200 * MS, "{}", ended.ended_ns);
}

/// Requests on one connection, two in one segment, and the last one closes.
#[test]
fn a_connection_serves_several_requests() {
    let keep = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n";
    let close = "GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let head = "HEAD /no HTTP/1.1\r\nHost: a\r\n\r\n";
    let requests = [&keep.repeat(20), head, close].concat();
    let client = ClientSettings {
        request: requests.into_bytes(),
        ..ClientSettings::default()
    };
    let sender = SenderSettings::conventional(CongestionControl::Cubic);
    let mut world = World::new(sender, 5000, client, delayed(MS), delayed(MS));
    assert!(world.run(60_000 * MS));
    let received = String::from_utf8_lossy(&world.client.received).into_owned();
    assert_eq!(received.matches("HTTP/1.1 200 OK").count(), 21);
    assert_eq!(received.matches("HTTP/1.1 404 ").count(), 1);
    let ended = world.ended();
    assert_eq!(ended.requests, 22);
    assert!(ended.is_complete);
}

/// A client that is gone does not hold a connection for ever.
#[test]
fn silence_ends_a_connection() {
    let sender = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    // All frames but the first three are lost: the handshake, the first data.
    let mut lossy = delayed(MS);
    lossy.lost = (3..100_000).collect();
    let client = ClientSettings::default();
    let mut world = World::new(sender, 100_000, client, delayed(MS), lossy);
    world.run(300_000 * MS);
    let ended = world.ended();
    assert!(!ended.is_complete);
    assert!(ended.sender.timeouts > 5);
    assert_eq!(world.server.counters().aborted, 1);
    assert_eq!(world.server.next_deadline_ns(), None);
}
