//! A restarted reader reuses its memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use wire::auth::{AuthScheme, Authenticator, Credentials, Secret};
use wire::response::{Headers, Limits, ReadEvent, ResponseReader};

/// The allocator of the system, which counts what each thread does, because tests run in several.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static BYTES_IN_USE: Cell<isize> = const { Cell::new(0) };
}

/// Sizes fit: no allocation is larger than `isize::MAX`.
fn count(allocations: usize, bytes: usize, freed: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + allocations);
    BYTES_IN_USE.set(BYTES_IN_USE.get() + bytes as isize - freed as isize);
}

// SAFETY: everything is left to the allocator of the system. Counting allocates nothing: the
// counters are initialised by constants and have no destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size(), 0);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, 0, layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size, layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn with_fields(number: usize) -> String {
    let field = |field: usize| format!("X-Field-{field}: value {field}\r\n");
    let fields: String = (0..number).map(field).collect();
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n")
}

/// Reads a response that arrives in pieces of that size, and restarts the reader.
fn read(reader: &mut ResponseReader, message: &[u8], piece: usize) -> u16 {
    let mut at = 0;
    let mut to = 0;
    while !reader.is_done() {
        let step = reader
            .step(&message[at..to])
            .expect("nothing is wrong with it");
        at += step.consumed;
        if step.event == ReadEvent::NeedMore {
            to = (to + piece).min(message.len());
        }
    }
    let status = reader.head().map_or(0, |head| head.status);
    reader.restart(false);
    status
}

#[test]
fn a_thousand_responses_cost_no_allocation() {
    let length = "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;ext\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: x\r\n\r\n";
    let odd = "HTTP/1.1 100 \r\n\r\nHTTP/1.1 404 gone\nX: a\n b\nContent-Length: 1, 1\n\nx";
    let mut messages = vec![
        length.as_bytes().to_vec(),
        chunked.as_bytes().to_vec(),
        odd.as_bytes().to_vec(),
        b"HTTP/1.1 200 gut\r\nX: gr\xfcn\r\n wie Gras\r\nContent-Length: 1\r\n\r\nx".to_vec(),
    ];
    messages.extend([8, 31, 32, 127].map(|number| with_fields(number).into_bytes()));

    let mut reader = ResponseReader::new(false, Limits::default());
    // Whole, and with the head in two pieces at least.
    let mut read_each = |rounds: usize| {
        for round in 0..rounds {
            let message = &messages[round % messages.len()];
            assert!(read(&mut reader, message, usize::MAX / 2) >= 200);
            assert!(read(&mut reader, message, 20) >= 200);
        }
    };
    read_each(8);
    let before = ALLOCATIONS.get();
    read_each(1000);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn the_memory_of_a_large_head_is_given_back() {
    let ordinary = with_fields(8);
    let unusual = format!(
        "HTTP/1.1 200 {}\r\nX: {}\r\nContent-Length: 0\r\n\r\n",
        "r".repeat(20_000),
        "x".repeat(40_000)
    );
    // Larger than the memory that is kept, so it is cut down once and fits from then on.
    let large = format!("HTTP/1.1 204 \r\nX: {}\r\n\r\n", "x".repeat(12_000));
    let start = BYTES_IN_USE.get();
    let mut reader = ResponseReader::new(false, Limits::default());
    read(&mut reader, ordinary.as_bytes(), usize::MAX / 2);
    assert!(BYTES_IN_USE.get() - start < 4 * 1024);
    for piece in [1000, usize::MAX / 2] {
        read(&mut reader, unusual.as_bytes(), piece);
        assert!(BYTES_IN_USE.get() - start < 40 * 1024);
        read(&mut reader, large.as_bytes(), piece);
        read(&mut reader, large.as_bytes(), piece);
        let before = ALLOCATIONS.get();
        read(&mut reader, large.as_bytes(), piece);
        assert_eq!(ALLOCATIONS.get() - before, 0);
    }
}

#[test]
fn more_fields_than_usual_are_read_where_the_limit_lets_them_through() {
    let limits = Limits {
        headers: 1000,
        ..Limits::default()
    };
    let mut reader = ResponseReader::new(false, limits);
    let message = with_fields(999);
    let step = reader.step(message.as_bytes()).unwrap();
    let seen = (step.consumed, step.event);
    assert_eq!(seen, (message.len(), ReadEvent::Head));
    let last = |head: &wire::response::ResponseHead| head.headers.get("X-Field-998").is_some();
    assert!(reader.head().is_some_and(last));
}

#[test]
fn a_constant_authorization_costs_no_allocation() {
    let token = Credentials::Bearer(Secret::new("token"));
    let mut user = Authenticator::new(Some(token), AuthScheme::Auto, true);
    let headers = Headers::new();
    let before = ALLOCATIONS.get();
    for _ in 0..10 {
        assert!(user.authorization("GET", "/", 0).is_some());
        user.accepted(&headers);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
