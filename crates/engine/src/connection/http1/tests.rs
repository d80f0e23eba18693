use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::clock::real;
use crate::clock::stamps::{self, RealNanos, Stamping};
use crate::connection::body::KeptBody;
use crate::connection::queue::{RequestHistory, UnderWay};
use crate::connection::transport::STAMP_PATIENCE;
use crate::event_loop::{EventLoop, spawn, yield_now};
use crate::watch::exhaustion::Exhaustion;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const EARLY: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

/// One request, with a head but for the empty line that ends it.
fn queue_of(head: &[u8], fixed: Option<&[u8]>) -> RequestQueue {
    let mut queue = RequestQueue::default();
    let fixed = fixed.map(Arc::from);
    let request = UnderWay::new(false, KeptBody::All, fixed, RequestHistory::default());
    let write_head = |bytes: &mut Vec<u8>| bytes.extend_from_slice(head);
    queue.submit(request, write_head, |_, _| (), b"");
    queue
}

/// When the pieces of a response are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Each before the next is sent.
    Each,
    /// After all have arrived.
    Together,
}

/// A moment of the run, by both clocks of stamps.
#[derive(Debug, Clone, Copy)]
struct Moment {
    run: Nanos,
    day: RealNanos,
}

impl Moment {
    fn now(clock: RunClock) -> Moment {
        Moment {
            run: clock.now(),
            day: real(),
        }
    }
}

/// An exchange, with the moments of its server.
#[derive(Debug)]
struct Exchange {
    stamps: Stamps,
    /// Just before each piece of the response was sent.
    sent: Vec<Moment>,
    /// When the exchange was over.
    over: Moment,
}

/// Lets another thread run until this is true.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never {what}");
        thread::yield_now();
    }
}

/// Bytes that have arrived at the client and were not read.
fn unread(client: &OwnedFd) -> u64 {
    rustix::io::ioctl_fionread(client).unwrap()
}

/// Bytes sent to the client that have not arrived there.
fn on_the_way(server: &TcpStream) -> libc::c_int {
    // SAFETY: the kernel writes one `int` for this request.
    unsafe {
        let bytes = rustix::ioctl::Getter::<{ libc::TIOCOUTQ as _ }, libc::c_int>::new();
        rustix::ioctl::ioctl(server, bytes).unwrap()
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// The request has arrived.
    has_request: AtomicBool,
    /// The event loop is blocked until the response was sent.
    is_busy: AtomicBool,
    is_sent: AtomicBool,
    /// Number of turns of the event loop.
    turns: AtomicU64,
}

impl Shared {
    /// Runs in each turn of the event loop.
    async fn turn(&self, reading: Reading) {
        while !self.is_sent.load(Ordering::SeqCst) {
            self.turns.fetch_add(1, Ordering::SeqCst);
            if reading == Reading::Together && self.has_request.load(Ordering::SeqCst) {
                self.is_busy.store(true, Ordering::SeqCst);
                until("sent", || self.is_sent.load(Ordering::SeqCst));
            }
            yield_now().await;
        }
    }

    /// Waits until the client has read everything, and waits for more.
    fn wait_for_reader(&self, client: &OwnedFd) {
        until("read", || unread(client) == 0);
        let turns = self.turns.load(Ordering::SeqCst);
        until("waiting", || self.turns.load(Ordering::SeqCst) > turns + 2);
    }

    /// Responds to one request in these pieces, and returns their moments.
    fn respond(
        &self,
        mut socket: &TcpStream,
        client: &OwnedFd,
        pieces: &[&[u8]],
        reading: Reading,
        clock: RunClock,
    ) -> Vec<Moment> {
        let _ = socket.read(&mut [0; 256]).unwrap();
        self.has_request.store(true, Ordering::SeqCst);
        if reading == Reading::Together {
            until("busy", || self.is_busy.load(Ordering::SeqCst));
        }
        let mut moments = Vec::new();
        for piece in pieces {
            if reading == Reading::Each {
                self.wait_for_reader(client);
            }
            moments.push(Moment::now(clock));
            socket.write_all(piece).unwrap();
            until("arrived", || on_the_way(socket) == 0);
        }
        self.is_sent.store(true, Ordering::SeqCst);
        moments
    }
}

/// An exchange with a server that responds in these pieces; `before` it, the connection is changed.
fn exchange(
    pieces: &'static [&'static [u8]],
    reading: Reading,
    before: impl Fn(&Connection),
) -> Exchange {
    let _stamping = stamps::keep_stamping().unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let clock = RunClock::start();
    let shared = Arc::new(Shared::default());
    let (hand_over, receiver) = mpsc::channel();
    let known = Arc::clone(&shared);
    let server = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        socket.set_nodelay(true).unwrap();
        let client = receiver.recv().unwrap();
        let sent = known.respond(&socket, &client, pieces, reading, clock);
        (socket, sent)
    });
    let mut stamps = Stamps::default();
    EventLoop::new().unwrap().run(async {
        let stamping = Stamping::On { acks: false };
        let exhaustion = Arc::<Exhaustion>::default();
        let transport = Transport::tcp(address, clock, stamping, &exhaustion, false).await;
        let mut connection =
            Connection::new(1, transport.unwrap(), scratch(), Limits::default(), None);
        hand_over.send(connection.transport.descriptor()).unwrap();
        before(&connection);
        spawn(async move { shared.turn(reading).await });
        let mut queue = queue_of(b"GET / HTTP/1.1\r\nHost: x\r\n", None);
        let mut body = Vec::new();
        let response = connection.next_response(&mut queue, &mut body, clock).await;
        assert_eq!(response.unwrap().status, 200);
        assert_eq!(body, b"hello");
        stamps = queue.take_first().unwrap().stamps;
    });
    let over = Moment::now(clock);
    let (_socket, sent) = server.join().unwrap();
    Exchange { stamps, sent, over }
}

/// The response begins with this piece, and is stamped when that arrives.
#[track_caller]
fn assert_begins_with(piece: usize, exchange: &Exchange) {
    let Exchange { stamps, sent, over } = exchange;
    let (from, to) = (sent[piece], sent.get(piece + 1).unwrap_or(over));
    let kernel = stamps.kernel.unwrap();
    assert!(kernel.sent.unwrap() <= sent[0].day, "{exchange:?}");
    let arrived = kernel.first.unwrap();
    assert!((from.day..=to.day).contains(&arrived), "{exchange:?}");
    let read = stamps.first.unwrap();
    assert!((from.run..=to.run).contains(&read), "{exchange:?}");
}

#[test]
fn a_response_has_the_stamp_of_its_first_byte() {
    // Not that of the packet with its last one.
    const HALVES: &[&[u8]] = &[OK.split_at(10).0, OK.split_at(10).1];
    assert_begins_with(0, &exchange(&[OK], Reading::Each, |_| ()));
    assert_begins_with(0, &exchange(HALVES, Reading::Each, |_| ()));
}

#[test]
fn the_stamp_of_an_interim_response_is_not_that_of_the_final_one() {
    const IN_PARTS: &[&[u8]] = &[EARLY.split_at(10).0, EARLY.split_at(10).1, OK];
    assert_begins_with(1, &exchange(&[EARLY, OK], Reading::Each, |_| ()));
    assert_begins_with(2, &exchange(IN_PARTS, Reading::Each, |_| ()));
    // Nor if both arrive before they are read.
    assert_begins_with(1, &exchange(&[EARLY, OK], Reading::Together, |_| ()));
}

#[test]
fn stamps_that_never_come_are_waited_for_a_little() {
    let stop = |connection: &Connection| connection.transport.stop_stamping();
    let Exchange { stamps, over, .. } = exchange(&[OK], Reading::Each, stop);
    let kernel = stamps.kernel.unwrap();
    assert_eq!((kernel.sent, kernel.acked), (None, None));
    let waited = over.run - stamps.done.unwrap();
    let patience = u64::from(STAMP_PATIENCE) * 1_000_000;
    assert!((patience..1_000_000_000).contains(&waited), "{waited}");
}

/// A server for one connection that responds with this many bytes to each request.
fn responding_to(length: usize) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            let mut request = vec![0; length];
            if client.read_exact(&mut request).is_ok() {
                let _ = client.write_all(OK);
            }
        }
    });
    address
}

/// Memory without pages yet, so that writing to it takes long.
fn untouched() -> Box<[u8]> {
    vec![0; 1 << 22].into_boxed_slice()
}

#[test]
fn sent_comes_after_the_copy_of_a_small_body() {
    let head = b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n";
    let body = vec![b'x'; PIECE - head.len()];
    let address = responding_to(PIECE);
    let clock = RunClock::start();
    let (mut copying, mut sending) = (u64::MAX, u64::MAX);
    EventLoop::new().unwrap().run(async {
        for _ in 0..20 {
            let (mut memory, begun) = (untouched(), clock.now());
            memory[..body.len()].copy_from_slice(&body);
            copying = copying.min(clock.now() - begun);

            let exhaustion = Arc::<Exhaustion>::default();
            let transport = Transport::tcp(address, clock, Stamping::Off, &exhaustion, false).await;
            let scratch = Rc::new(RefCell::new(untouched()));
            let mut connection =
                Connection::new(1, transport.unwrap(), scratch, Limits::default(), None);
            let mut queue = queue_of(&head[..head.len() - 2], Some(&body));
            let mut kept = Vec::new();
            let begun = clock.now();
            let response = connection.next_response(&mut queue, &mut kept, clock).await;
            assert_eq!(response.unwrap().status, 200);
            let stamps = queue.take_first().unwrap().stamps;
            assert_eq!(stamps.sent, Some(stamps.started));
            sending = sending.min(stamps.started - begun);
        }
    });
    let is_after_copy = copying > 500 && sending > copying / 2;
    assert!(is_after_copy, "{copying} ns, {sending} ns");
}
