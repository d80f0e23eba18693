//! Statistics of sinks, of sequences made by hand.

use proptest::prelude::*;
use traffic::sink::{
    DatagramArrival, DatagramFigures, DatagramSink, LONGEST_SERIES_S, SequenceWidth, StreamSink,
};

const MS: u64 = 1_000_000;

/// Packets of 100 bytes, one each millisecond, with a delay of 5 ms.
fn arrivals(numbers: &[u64]) -> Vec<DatagramArrival> {
    let packet = |(index, sequence): (usize, &u64)| DatagramArrival {
        sequence: *sequence,
        sent_ns: index as u64 * MS,
        received_ns: (index as u64 + 5) * MS,
        bytes: 100,
    };
    numbers.iter().enumerate().map(packet).collect()
}

fn sink(width: SequenceWidth, first: u64, packets: &[DatagramArrival]) -> DatagramSink {
    let mut sink = DatagramSink::new(0, first, width);
    packets.iter().for_each(|packet| sink.arrive(packet));
    sink
}

fn figures(numbers: &[u64]) -> DatagramFigures {
    sink(SequenceWidth::Bits64, 0, &arrivals(numbers)).figures(None)
}

#[test]
fn loss_order_and_duplicates() {
    // Numbers; then unique, lost, duplicates, reordered, largest extent, longest gap.
    let table: &[(&[u64], [u64; 6])] = &[
        (&[], [0, 0, 0, 0, 0, 0]),
        (&[0, 1, 2, 3], [4, 0, 0, 0, 0, 0]),
        (&[0, 1, 4, 5], [4, 2, 0, 0, 0, 2]),
        // The first ones are missing.
        (&[3, 4], [2, 3, 0, 0, 0, 3]),
        (&[0, 0, 1, 1, 1], [2, 0, 3, 0, 0, 0]),
        // RFC 4737, section 7.1, examples 1 and 2: one packet arrives late, and one early.
        (&[0, 1, 2, 4, 5, 6, 3, 7], [8, 0, 0, 1, 3, 1]),
        (&[0, 1, 6, 2, 3, 4, 5, 7], [8, 0, 0, 4, 4, 4]),
        (&[3, 2, 1, 0], [4, 0, 0, 3, 3, 3]),
        // Late, late again.
        (&[0, 2, 1, 1], [3, 0, 1, 1, 1, 1]),
        // A gap that is filled from its middle, and partly.
        (&[0, 6, 3, 1, 5], [5, 2, 0, 3, 3, 5]),
    ];
    for (numbers, expected) in table {
        let found = figures(numbers);
        let seen = [
            found.unique,
            found.lost,
            found.duplicates,
            found.reordered,
            found.largest_extent,
            found.longest_gap,
        ];
        assert_eq!(seen, *expected, "{numbers:?}");
        assert_eq!(found.packets, numbers.len() as u64);
        assert_eq!(found.bytes, 100 * found.packets);
    }
    let late = figures(&[0, 1, 2, 4, 5, 6, 3, 7]);
    assert_eq!((late.longest_late_ns, late.mean_extent), (3 * MS, 3.0));
    // Only the source can report packets after the last one that arrived.
    let cut = sink(SequenceWidth::Bits64, 0, &arrivals(&[0, 1, 2]));
    assert_eq!((cut.figures(None).lost, cut.figures(Some(10)).lost), (0, 7));
}

#[test]
fn percentiles_of_delays_are_those_of_the_nearest_rank() {
    // Delays of 1 to n milliseconds; then the median, the 95th and the 99th percentile above the
    // shortest.
    for (count, expected) in [(1, [0, 0, 0]), (2, [0, 1, 1]), (100, [49, 94, 98])] {
        let packet = |number: u64| DatagramArrival {
            sequence: number,
            sent_ns: number * 1000 * MS,
            received_ns: number * 1000 * MS + (number + 1) * MS,
            bytes: 100,
        };
        let packets: Vec<DatagramArrival> = (0..count).map(packet).collect();
        let found = sink(SequenceWidth::Bits64, 0, &packets).figures(None);
        let delay = found.delay.unwrap();
        let found = [delay.p50_ns, delay.p95_ns, delay.p99_ns].map(|ns| ns / MS);
        assert_eq!(found, expected, "{count}");
    }
}

#[test]
fn numbers_begin_again_after_the_largest() {
    let near_32 = u64::from(u32::MAX);
    let numbers = [near_32 - 1, near_32, 0, 2, 1, 2];
    for (width, first, offset) in [
        (SequenceWidth::Bits32, near_32 - 1, 0),
        // The upper bits are not read.
        (SequenceWidth::Bits32, near_32 - 1, 0xABCD << 32),
        (SequenceWidth::Bits64, u64::MAX - 1, 0),
    ] {
        let numbers: Vec<u64> = numbers
            .iter()
            .map(|number| {
                let is_high = *number > 10 && width == SequenceWidth::Bits64;
                let number = if is_high { number | !near_32 } else { *number };
                number | offset
            })
            .collect();
        let found = sink(width, first, &arrivals(&numbers)).figures(None);
        let seen = [found.unique, found.lost, found.reordered, found.duplicates];
        assert_eq!(seen, [5, 0, 1, 1], "{width:?}");
        assert_eq!(found.wrong_number, 0);
    }
    // Numbers of 64 bits do not begin again after 32.
    let packets = arrivals(&[near_32, 0, near_32 + 1]);
    let found = sink(SequenceWidth::Bits64, near_32, &packets).figures(None);
    assert_eq!((found.unique, found.wrong_number), (2, 1));
}

#[test]
fn wrong_numbers_are_no_loss_and_a_restart_is_recognised() {
    let far = 1 << 40;
    // Unique, lost, wrong numbers, restarts.
    let counts = |numbers: &[u64]| {
        let seen = figures(numbers);
        [seen.unique, seen.lost, seen.wrong_number, seen.restarts]
    };
    // One wrong number.
    assert_eq!(counts(&[0, 1, far, 2, 3]), [4, 0, 1, 0]);
    // The second of two in order begins anew: RFC 3550, section A.1.
    assert_eq!(
        counts(&[0, 1, far, far + 1, far + 2, far + 4]),
        [5, 1, 1, 1]
    );
    // Two that do not follow each other do not.
    assert_eq!(counts(&[0, 1, far, 2 * far, 3 * far, 2]), [3, 0, 3, 0]);
}

#[test]
fn too_many_gaps_leave_old_packets_undecided() {
    let even: Vec<u64> = (0..10_000).map(|index| 2 * index).collect();
    let with_late = |late: u64| {
        let numbers: Vec<u64> = even.iter().copied().chain([late]).collect();
        let found = figures(&numbers);
        [found.reordered, found.lost, found.undecided]
    };
    assert_eq!(with_late(19_997), [1, 9_998, 0]);
    // The packet may be a duplicate, and is none.
    assert_eq!(with_late(1), [0, 9_999, 1]);
}

#[test]
fn seconds_have_the_loss_that_was_found_in_them() {
    let at = |sequence, second: u64| DatagramArrival {
        sequence,
        sent_ns: 0,
        received_ns: 1_000_000_000 * second,
        bytes: 10,
    };
    let mut sink = DatagramSink::new(0, 0, SequenceWidth::Bits64);
    for packet in [at(0, 0), at(4, 1), at(1, 3), at(4, 3), at(5, 3)] {
        sink.arrive(&packet);
    }
    let seen: Vec<_> = sink
        .seconds()
        .iter()
        .map(|second| {
            (
                second.packets,
                second.bytes,
                second.lost,
                second.reordered,
                second.duplicates,
            )
        })
        .collect();
    // The loss of second 1 becomes reordering when one of its packets arrives in second 3.
    assert_eq!(
        seen,
        [
            (1, 10, 0, 0, 0),
            (1, 10, 2, 0, 0),
            (0, 0, 0, 0, 0),
            (3, 30, 0, 1, 1)
        ]
    );
    assert_eq!(sink.seconds()[2].delays_ns, None);
    let figures = sink.figures(None);
    let lost: u64 = sink.seconds().iter().map(|second| second.lost).sum();
    assert_eq!(figures.lost, lost);
    let (first_ns, last_ns) = figures.arrived_ns.unwrap();
    assert_eq!(last_ns - first_ns, 3_000_000_000);
}

#[test]
fn jitter_is_that_of_rfc_3550() {
    let delay_us = |index: u64| 1000 + (index * index * 37) % 900;
    let delays_us: Vec<u64> = (0..2000).map(delay_us).collect();
    let mut sink = DatagramSink::new(0, 0, SequenceWidth::Bits64);
    // The forms of section A.8: in floating point, and scaled by 16 in integers.
    let (mut float, mut scaled) = (0.0, 0i64);
    let mut last = None;
    for (sequence, delay_us) in delays_us.iter().enumerate() {
        let sent_ns = sequence as u64 * 20 * MS;
        // A clock that is two hours off has no influence.
        let received_ns = sent_ns + 7_200_000 * MS + delay_us * 1000;
        sink.arrive(&DatagramArrival {
            sequence: sequence as u64,
            sent_ns,
            received_ns,
            bytes: 160,
        });
        let transit = received_ns as i64 - sent_ns as i64;
        if let Some(last) = last {
            let difference = (transit - last as i64).abs();
            float += (difference as f64 - float) / 16.0;
            scaled += difference - ((scaled + 8) >> 4);
        }
        last = Some(transit as u64);
    }
    let found = sink.figures(None);
    assert!((found.jitter_ns - float).abs() < 1e-6);
    assert!((found.jitter_ns - (scaled >> 4) as f64).abs() < 2.0);
    let delay = found.delay.unwrap();
    let mut sorted = delays_us.clone();
    sorted.sort_unstable();
    assert_eq!(delay.p50_ns, 1000 * (sorted[999] - sorted[0]));
    assert_eq!(delay.max_ns, 1000 * (sorted[1999] - sorted[0]));
    let mean: u64 = sorted.iter().map(|delay| delay - sorted[0]).sum();
    assert!((delay.mean_ns - mean as f64 / 2.0).abs() < 1e-3);
    // Duplicates are not part of it.
    let again = DatagramArrival {
        sequence: 1999,
        sent_ns: 0,
        received_ns: 9_000_000 * MS,
        bytes: 160,
    };
    sink.arrive(&again);
    assert_eq!(sink.figures(None).jitter_ns, found.jitter_ns);
}

#[test]
fn percentiles_of_many_delays_are_those_of_a_sample() {
    let mut sink = DatagramSink::new(0, 0, SequenceWidth::Bits64);
    for sequence in 0..200_000 {
        // 0 to 999 us, each as often, in a scrambled order.
        let delay_us = sequence * 7919 % 1000;
        sink.arrive(&DatagramArrival {
            sequence,
            sent_ns: sequence * 10_000,
            received_ns: sequence * 10_000 + delay_us * 1000,
            bytes: 100,
        });
    }
    let delay = sink.figures(None).delay.unwrap();
    for (found, exact, tolerance) in [
        (delay.p50_ns, 500_000, 30_000),
        (delay.p95_ns, 950_000, 13_000),
        (delay.p99_ns, 990_000, 6_000),
    ] {
        assert!(u64::abs_diff(found, exact) < tolerance, "{found} {exact}");
    }
    assert_eq!(delay.max_ns, 999_000);
    assert_eq!(delay.drift_ppm, None, "it takes 2 s");
}

#[test]
fn clocks_that_drift_are_noticed() {
    for ppm in [-50i64, 0, 20] {
        let mut sink = DatagramSink::new(0, 0, SequenceWidth::Bits64);
        for sequence in 0..6_000u64 {
            let sent_ns = sequence * 10 * MS;
            let drift_ns = sent_ns as i64 / 1_000_000 * ppm;
            // Queues of up to 3 ms.
            let queue_ns = sequence * 7919 % 97 * 31_000;
            let received_ns = (sent_ns + 50 * MS + queue_ns).saturating_add_signed(drift_ns);
            sink.arrive(&DatagramArrival {
                sequence,
                sent_ns,
                received_ns,
                bytes: 100,
            });
        }
        let found = sink.figures(None).delay.unwrap().drift_ppm.unwrap();
        assert!((found - ppm as f64).abs() < 2.0, "{ppm}: {found}");
    }
}

#[test]
fn streams_have_rates_and_stalls() {
    let mut sink = StreamSink::new(1_000 * MS, 200 * MS);
    // The time before the first byte is no stall.
    for (at_ms, bytes) in [(1500, 10), (1600, 20), (1800, 30), (2100, 40), (2101, 50)] {
        sink.arrive(at_ms * MS, bytes);
    }
    let found = sink.figures(2_101 * MS);
    assert_eq!((found.bytes, found.reads), (150, 5));
    let pauses = (found.stalls, found.stalled_ns, found.longest_pause_ns);
    assert_eq!(pauses, (1, 300 * MS, 300 * MS));
    assert_eq!(found.arrived_ns, Some((500 * MS, 1_101 * MS)));
    let seen: Vec<_> = sink
        .seconds()
        .iter()
        .map(|second| (second.bytes, second.packets))
        .collect();
    assert_eq!(seen, [(60, 3), (90, 2)]);
    // A stall that still goes on counts, and is not counted twice.
    assert_eq!(sink.figures(9_101 * MS).stalls, 2);
    assert_eq!(sink.figures(9_102 * MS).longest_pause_ns, 7_001 * MS);
    assert_eq!(StreamSink::new(0, 1).figures(99).stalls, 0);
}

#[test]
fn the_series_of_seconds_is_bounded() {
    let mut sink = StreamSink::new(0, MS);
    sink.arrive(u64::MAX, u64::MAX);
    sink.arrive(u64::MAX, u64::MAX);
    let found = sink.figures(u64::MAX);
    assert!(found.is_series_cut && sink.seconds().is_empty());
    assert_eq!(found.bytes, u64::MAX);
    sink.arrive((LONGEST_SERIES_S as u64 - 1) * 1_000 * MS, 1);
    assert_eq!(sink.seconds().len(), LONGEST_SERIES_S);
}

proptest! {
    /// Against a model that keeps everything.
    #[test]
    fn any_order_is_counted_right(numbers in prop::collection::vec(0u64..60, 0..200)) {
        let found = figures(&numbers);
        let (mut seen, mut next) = (std::collections::BTreeSet::new(), 0);
        let (mut reordered, mut duplicates) = (0, 0);
        for number in &numbers {
            if !seen.insert(*number) {
                duplicates += 1;
            } else if *number < next {
                reordered += 1;
            }
            next = next.max(number + 1);
        }
        prop_assert_eq!(found.unique, seen.len() as u64);
        prop_assert_eq!(found.reordered, reordered);
        prop_assert_eq!(found.duplicates, duplicates);
        prop_assert_eq!(found.lost, next - seen.len() as u64);
    }

    #[test]
    fn hostile_packets_do_no_harm(
        packets in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()), 0..200),
        is_short in any::<bool>(),
        first in any::<u64>(),
    ) {
        let width = if is_short { SequenceWidth::Bits32 } else { SequenceWidth::Bits64 };
        let packets: Vec<_> = packets.into_iter().map(|(sequence, sent_ns, received_ns, bytes)| {
            DatagramArrival { sequence, sent_ns, received_ns, bytes }
        }).collect();
        let sink = sink(width, first, &packets);
        let found = sink.figures(Some(u64::MAX));
        prop_assert_eq!(found.packets, packets.len() as u64);
        prop_assert!(found.jitter_ns.is_finite());
        prop_assert!(sink.seconds().len() <= LONGEST_SERIES_S);
    }
}
