use proptest::prelude::*;

use super::*;

/// An Ethernet frame with a TCP segment, over IPv4 or IPv6.
fn segment(is_ipv6: bool, port: u16, flags: u8, sequence: u32, payload: usize) -> Vec<u8> {
    let mut tcp = Vec::new();
    tcp.extend(port.to_be_bytes());
    tcp.extend(80_u16.to_be_bytes());
    tcp.extend(sequence.to_be_bytes());
    tcp.extend([0, 0, 0, 0, 8 << 4, flags]);
    // Window, checksum, urgent pointer, options.
    tcp.extend([0; 6 + 12]);
    tcp.extend(vec![b'x'; payload]);
    let length = tcp.len() as u16;
    let mut frame = vec![2; 12];
    if is_ipv6 {
        frame.extend(IPV6.to_be_bytes());
        frame.extend([0x60, 0, 0, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([TCP, 64]);
        frame.extend([1; 32]);
    } else {
        frame.extend(IPV4.to_be_bytes());
        frame.extend([0x45, 0]);
        frame.extend((length + 20).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, TCP, 0, 0]);
        frame.extend([1; 8]);
    }
    frame.extend(tcp);
    frame
}

/// Faults of segments of 100 bytes of one connection, given by their sequence numbers.
fn faults(chosen: &[ChosenSegment], sequences: &[u32]) -> Vec<bool> {
    let mut counter = SegmentCounter::new(chosen.to_vec());
    let mut fault = |sequence: &u32| counter.fault(&segment(false, 1, 0x10, *sequence, 100));
    sequences
        .iter()
        .map(|sequence| fault(sequence).is_some())
        .collect()
}

fn lost(number: u64, times: u32) -> ChosenSegment {
    ChosenSegment {
        number,
        fault: SegmentFault::Lost { times },
    }
}

#[test]
fn segments_with_new_data_count_and_resent_ones_do_not() {
    let table: &[(&[ChosenSegment], &[u32], &[bool])] = &[
        // The second is lost; its retransmission passes.
        (
            &[lost(2, 1)],
            &[0, 100, 200, 100],
            &[false, true, false, false],
        ),
        // A retransmission of the first does not count.
        (&[lost(2, 1)], &[0, 0, 0, 100], &[false, false, false, true]),
        // Lost three times.
        (
            &[lost(1, 3)],
            &[0, 0, 100, 0, 0],
            &[true, true, false, true, false],
        ),
        // A part of the lost segment that does not have its first byte passes.
        (&[lost(1, 2)], &[0, 100, 50, 0], &[true, false, false, true]),
        // Resent together with the bytes before it.
        (&[lost(2, 2)], &[0, 100, 50], &[false, true, true]),
        // Sequence numbers wrap.
        (
            &[lost(2, 2)],
            &[u32::MAX - 49, 50, 150, 50],
            &[false, true, false, true],
        ),
        (&[lost(2, 0)], &[0, 100], &[false, false]),
        (&[], &[0, 100], &[false, false]),
    ];
    for (chosen, sequences, expected) in table {
        assert_eq!(
            faults(chosen, sequences),
            *expected,
            "{chosen:?} {sequences:?}"
        );
    }
}

#[test]
fn every_connection_counts_on_its_own_and_starts_again_with_syn() {
    for is_ipv6 in [false, true] {
        let mut counter = SegmentCounter::new(vec![lost(2, 1)]);
        let mut is_lost = |port, flags, sequence, payload| {
            let frame = segment(is_ipv6, port, flags, sequence, payload);
            counter.fault(&frame).is_some()
        };
        assert!(!is_lost(1, 0x10, 0, 100));
        assert!(!is_lost(2, 0x10, 0, 100));
        // An ACK without data.
        assert!(!is_lost(1, 0x10, 100, 0));
        assert!(is_lost(1, 0x10, 100, 100));
        assert!(is_lost(2, 0x10, 100, 100));
        assert!(!is_lost(1, SYN, 9_000, 0));
        assert!(!is_lost(1, 0x10, 9_001, 100));
        assert!(is_lost(1, 0x10, 9_101, 100));
    }
}

#[test]
fn faults_of_other_kinds_happen_once() {
    let held_back = SegmentFault::HeldBack {
        by: Duration::from_millis(3),
    };
    let chosen = [(1, held_back), (2, SegmentFault::Duplicated)];
    let chosen = chosen.map(|(number, fault)| ChosenSegment { number, fault });
    let mut counter = SegmentCounter::new(chosen.to_vec());
    let mut fault = |sequence| counter.fault(&segment(true, 1, 0x10, sequence, 100));
    assert_eq!(fault(0), Some(held_back));
    assert_eq!(fault(0), None);
    assert_eq!(fault(100), Some(SegmentFault::Duplicated));
    assert_eq!(fault(100), None);
}

#[test]
fn a_vlan_tag_is_skipped_and_fragments_and_other_protocols_are_not_counted() {
    let plain = segment(false, 1, 0x10, 7, 100);
    let expected = counted_segment(&plain).unwrap();
    assert_eq!((expected.sequence, expected.payload), (7, 100));
    let mut tagged = plain.clone();
    tagged.splice(12..12, [0x81, 0, 0, 5]);
    assert_eq!(counted_segment(&tagged), Some(expected));
    // Padding of a short frame is no data.
    let mut padded = segment(false, 1, 0x10, 7, 0);
    padded.extend([0; 20]);
    assert_eq!(counted_segment(&padded).unwrap().payload, 0);
    for (at, value) in [(12, 0x88), (14 + 6, 0x20), (14 + 7, 1), (14 + 9, 17)] {
        let mut other = plain.clone();
        other[at] = value;
        assert_eq!(counted_segment(&other), None, "byte {at}");
    }
}

proptest! {
    #[test]
    fn no_frame_is_too_strange(
        mut frame in prop::collection::vec(any::<u8>(), 0..120),
        kind in prop::sample::select(vec![IPV4, IPV6, VLAN, 0]),
    ) {
        if let Some(field) = frame.get_mut(12..14) {
            field.copy_from_slice(&kind.to_be_bytes());
        }
        let mut counter = SegmentCounter::new(vec![lost(1, 1)]);
        counter.fault(&frame);
    }
}
