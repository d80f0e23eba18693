//! Input of background traffic from the network: control messages, datagrams, streams, and the
//! behaviour of sinks and limits. No panic, the same result however they are split, and figures
//! that add up. The first byte is the position of the split.

#![no_main]

use std::time::Duration;

use flow::FlowTransport;
use flow::external::ExternalReport;
use flow::message::{
    ControlFrameError, ControlMessage, FlowGroup, FrameDecoder, LONGEST_MESSAGE,
    LONGEST_UNAUTHENTICATED, ReadingOccasion, SinkCounts,
};
use flow::payload::{BlockReader, STREAM_HEADER, read_datagram, read_stream};
use flow::sink::{SinkLimits, exceeds};
use libfuzzer_sys::fuzz_target;
use traffic::sink::{DatagramArrival, DatagramSink, LONGEST_SERIES_S, SequenceWidth, StreamSink};

/// Integers read from the input; 0 after its end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// Most are small: the first byte is the number of bytes that follow.
    fn number(&mut self) -> u64 {
        let bytes = self.byte() % 9;
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.byte() % 2 == 1).then(|| value(self))
    }

    fn group(&mut self) -> FlowGroup {
        FlowGroup {
            transport: match self.byte() % 2 {
                0 => FlowTransport::Tcp,
                _ => FlowTransport::Udp,
            },
            flows: self.number() as u32,
            bytes_per_second: self.some(Self::number),
            duration_ms: self.number(),
            block_bytes: self.number() as u32,
            has_stamps: self.byte().is_multiple_of(2),
            port: self.some(|input| input.number() as u16),
            may_move: self.byte().is_multiple_of(2),
            window_bytes: self.some(|input| input.number() as u32),
            congestion_control: self.some(|input| format!("reno{}", char::from(input.byte()))),
        }
    }

    fn counts(&mut self) -> SinkCounts {
        SinkCounts {
            bytes: self.number(),
            packets: self.number(),
            lost: self.number(),
            duplicates: self.number(),
            ..SinkCounts::default()
        }
    }
}

fn messages<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    longest: usize,
) -> Result<Vec<ControlMessage>, ControlFrameError> {
    let mut decoder = FrameDecoder::new(longest);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(message) = decoder.next_message()? {
            found.push(message);
        }
    }
    Ok(found)
}

fn is_read_again(message: ControlMessage) {
    let mut decoder = FrameDecoder::new(4 * LONGEST_MESSAGE);
    decoder.push(&message.encode());
    assert_eq!(decoder.next_message(), Ok(Some(message)));
}

fn blocks<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<(u64, u32)>> {
    let mut reader = BlockReader::default();
    let mut found = Vec::new();
    for piece in pieces {
        let read = reader.push(piece, |stamp, bytes| found.push((stamp.sequence, bytes)));
        read.ok()?;
    }
    Some(found)
}

/// The flows that a sink accepts are within its limits.
fn request(groups: Vec<FlowGroup>) {
    let limits = SinkLimits {
        bytes_per_second: Some(1_000_000),
        ..SinkLimits::default()
    };
    if limits.check(&groups).is_ok() {
        let flows: u64 = groups.iter().map(|group| u64::from(group.flows)).sum();
        assert!((1..=u64::from(limits.flows)).contains(&flows));
        let rate = |group: &FlowGroup| group.bytes_per_second.map(|rate| (rate, group.flows));
        let rates: Option<Vec<_>> = groups.iter().map(rate).collect();
        let rates = rates.expect("each flow has a highest rate").into_iter();
        let all: u128 = rates
            .map(|(rate, flows)| u128::from(rate) * u128::from(flows))
            .sum();
        assert!(all <= 1_000_000);
    }
    is_read_again(ControlMessage::Request { groups, life: None });
}

/// Datagrams, or blocks of a stream, of a source that has agreed and may be hostile.
fn arrivals(mut numbers: Numbers<'_>) {
    let width = match numbers.byte() % 2 {
        0 => SequenceWidth::Bits32,
        _ => SequenceWidth::Bits64,
    };
    let origin_ns = numbers.number();
    let mut datagrams = DatagramSink::new(origin_ns, 0, width);
    let mut stream = StreamSink::new(origin_ns, 200_000_000);
    let (mut sequence, mut received_ns, mut bytes, mut count) = (0_u64, origin_ns, 0_u64, 0);
    while !numbers.0.is_empty() {
        sequence = match numbers.byte() {
            0 => numbers.number(),
            // Most are near the previous one.
            step => sequence.wrapping_add_signed(i64::from(step as i8)),
        };
        received_ns = received_ns.wrapping_add(numbers.number());
        let packet = DatagramArrival {
            sequence,
            sent_ns: numbers.number(),
            received_ns,
            bytes: u32::from(numbers.byte()),
        };
        datagrams.arrive(&packet);
        stream.arrive(received_ns, numbers.number());
        bytes += u64::from(packet.bytes);
        count += 1;
    }
    let figures = datagrams.figures(None);
    assert_eq!((figures.packets, figures.bytes), (count, bytes));
    let known = figures.unique + figures.duplicates + figures.undecided + figures.wrong_number;
    assert_eq!(known, count);
    assert!(figures.reordered <= figures.unique);
    assert!(figures.jitter_ns.is_finite() && figures.mean_extent.is_finite());
    if let Some(delay) = figures.delay {
        assert!(delay.p50_ns <= delay.p95_ns && delay.p95_ns <= delay.p99_ns);
        assert!(delay.p99_ns <= delay.max_ns && delay.mean_ns.is_finite());
    }
    let seconds = datagrams.seconds();
    assert!(seconds.len() <= LONGEST_SERIES_S);
    for second in 0..seconds.len() {
        datagrams.delay_variation_of(second);
    }
    let streamed = stream.figures(u64::MAX);
    assert_eq!(streamed.reads, count);
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let cut = usize::from(*cut) + 1;
    // Before and after the other side has proved that it has the token.
    for longest in [LONGEST_UNAUTHENTICATED, LONGEST_MESSAGE] {
        let whole = messages([bytes].into_iter(), longest);
        assert_eq!(messages(bytes.chunks(cut), longest), whole);
        whole.into_iter().flatten().for_each(is_read_again);
    }
    // A message within a frame of valid length.
    let mut frame = (bytes.len() as u32).to_be_bytes().to_vec();
    frame.extend(bytes);
    let framed = messages([&*frame].into_iter(), LONGEST_MESSAGE);
    for message in framed.into_iter().flatten() {
        match message {
            ControlMessage::Request { groups, .. } => request(groups),
            other => is_read_again(other),
        }
    }
    assert_eq!(blocks(bytes.chunks(cut)), blocks([bytes].into_iter()));
    read_datagram(bytes);
    if let Some(header) = bytes.first_chunk::<STREAM_HEADER>() {
        read_stream(header);
    }
    let mut numbers = Numbers(bytes);
    let groups: Vec<FlowGroup> = (0..numbers.byte() % 4).map(|_| numbers.group()).collect();
    let flows: Vec<SinkCounts> = (0..numbers.byte() % 4).map(|_| numbers.counts()).collect();
    exceeds(&groups, &flows, Duration::from_nanos(numbers.number()));
    request(groups);
    is_read_again(ControlMessage::Received {
        elapsed_ns: numbers.number(),
        occasion: ReadingOccasion::Second,
        flows,
    });
    arrivals(Numbers(bytes));
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = ExternalReport::Iperf3.read(text);
        let _ = ExternalReport::ItgDec.read(text);
    }
});
