//! Memory for reading a capture: bounded for all contents, and independent of the length.
//!
//! The counter is the peak of this process's allocations while a capture is read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use etherparse::PacketBuilder;
use trace::AnalysisLimits;
use trace::contents::{CaptureContents, ReadingOptions, read_capture};

struct CountingBytes;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn note(added: usize, removed: usize) {
    let held = HELD.fetch_add(added, Ordering::Relaxed) + added;
    HELD.fetch_sub(removed, Ordering::Relaxed);
    PEAK.fetch_max(held.saturating_sub(removed), Ordering::Relaxed);
}

// SAFETY: all calls are forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingBytes {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingBytes = CountingBytes;

/// A pcap file that is made while it is read: in every round each connection sends a packet.
struct MadeCapture<F> {
    connections: u32,
    packets: u32,
    made: u32,
    rest: Vec<u8>,
    at: usize,
    /// The packet of a connection in a round.
    packet: F,
}

impl<F: Fn(u32, u32) -> Vec<u8>> MadeCapture<F> {
    fn new(connections: u32, rounds: u32, packet: F) -> MadeCapture<F> {
        let mut rest = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
        rest.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
        MadeCapture {
            connections,
            packets: connections * rounds,
            made: 0,
            rest,
            at: 0,
            packet,
        }
    }

    fn make(&mut self) {
        let (round, connection) = (self.made / self.connections, self.made % self.connections);
        let bytes = (self.packet)(connection, round);
        let length = u32::try_from(bytes.len()).unwrap();
        self.rest.clear();
        self.rest.extend((self.made / 100_000).to_le_bytes());
        self.rest
            .extend((self.made % 100_000 * 10_000).to_le_bytes());
        self.rest.extend(length.to_le_bytes().repeat(2));
        self.rest.extend(bytes);
        self.at = 0;
        self.made += 1;
    }
}

impl<F: Fn(u32, u32) -> Vec<u8>> Read for MadeCapture<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.rest.len() && self.made < self.packets {
            self.make();
        }
        let count = (self.rest.len() - self.at).min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

fn tcp(connection: u32, is_request: bool, numbers: (u32, u32), payload: &[u8]) -> Vec<u8> {
    let client = ([10, 1, (connection >> 8) as u8, connection as u8], 40_000);
    let server = ([10, 0, 0, 1], 80);
    let (from, to) = if is_request {
        (client, server)
    } else {
        (server, client)
    };
    let mut bytes = Vec::new();
    PacketBuilder::ethernet2([1; 6], [2; 6])
        .ipv4(from.0, to.0, 64)
        .tcp(from.1, to.1, numbers.0, 60_000)
        .ack(numbers.1)
        .write(&mut bytes, payload)
        .unwrap();
    bytes
}

/// Requests and responses in turn.
fn exchange(connection: u32, round: u32) -> Vec<u8> {
    let head = b"GET /a/path/of/usual/length HTTP/1.1\r\nHost: h\r\n\r\n";
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let number = round / 2;
    let sent = number * head.len() as u32;
    let received = number * response.len() as u32;
    match round % 2 {
        0 => tcp(connection, true, (sent, received), head),
        _ => tcp(
            connection,
            false,
            (received, sent + head.len() as u32),
            response,
        ),
    }
}

/// Everything that is kept until a later packet that never comes: bytes behind holes, which are
/// never acknowledged and sent twice, and requests with long names.
fn hostile(connection: u32, round: u32) -> Vec<u8> {
    let path = format!("GET /{} HTTP/1.1\r\n\r\n", "p".repeat(1400));
    match round % 4 {
        0 => tcp(connection, true, (round / 4 * 1419, round), path.as_bytes()),
        1 => tcp(connection, false, (round, (round / 4 + 1) * 1419), b"H"),
        2 => tcp(
            connection,
            false,
            (1_000_000 + round * 700, 0),
            &[b'x'; 600],
        ),
        _ => tcp(connection, true, (900_000_000 + round * 9, 0), b"G /"),
    }
}

/// The contents, and the peak of allocated bytes.
fn read(source: impl Read, limits: AnalysisLimits) -> (CaptureContents, usize) {
    let options = ReadingOptions {
        limits,
        ..ReadingOptions::default()
    };
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let contents = read_capture(source, &options, |_| ()).unwrap();
    assert!(contents.damage.is_none(), "{:?}", contents.damage);
    (contents, PEAK.load(Ordering::Relaxed) - before)
}

/// One test, because all allocations of the process are counted.
#[test]
fn memory_is_bounded_and_does_not_grow_with_the_length_of_a_capture() {
    let usual = AnalysisLimits::default();
    let small = AnalysisLimits {
        segments: 512,
        ..usual
    };
    for (packets, connections) in [(exchange as fn(u32, u32) -> Vec<u8>, 4), (hostile, 2)] {
        // The memory of a connection is full by then.
        let (_, short) = read(MadeCapture::new(connections, 6000, packets), small);
        let (contents, long) = read(MadeCapture::new(connections, 18_000, packets), small);
        assert_eq!(contents.traced.connections.len(), connections as usize);
        assert!(long < short + short / 20, "{short} {long}");
        assert!(long < connections as usize * 4_000_000, "{long}");
    }
    // Later connections have less.
    let (contents, many) = read(MadeCapture::new(1100, 20, exchange), usual);
    assert_eq!(contents.traced.connections.len(), 1024);
    assert_eq!(contents.traced.ignored_segments, 76 * 20);
    assert!(many < 64 << 20, "{many}");
}

mod quiet {
    use super::*;

    #[test]
    #[ignore = "nightly: optimised, and alone on this machine"]
    fn the_most_hostile_capture_needs_less_than_a_gibibyte() {
        let (contents, peak) = read(
            MadeCapture::new(1024, 8000, hostile),
            AnalysisLimits::default(),
        );
        assert_eq!(contents.traced.connections.len(), 1024);
        println!("{} MiB", peak >> 20);
        assert!(peak < 1 << 30, "{peak}");
    }

    #[test]
    #[ignore = "nightly: optimised, and alone on this machine"]
    fn speed_of_small_packets() {
        let started = std::time::Instant::now();
        let source = MadeCapture::new(64, 40_000, exchange);
        let (contents, _) = read(source, AnalysisLimits::default());
        let elapsed = started.elapsed();
        println!("{} packets in {elapsed:.2?}", contents.packets);
        // A GiB has 3,300,000 of such packets; making them takes time, too.
        assert!(elapsed.as_secs() < 10, "{elapsed:?}");
    }
}
