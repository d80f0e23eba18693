use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use super::*;
use crate::clock::stamps::Stamping;
use crate::connection::queue::{KeptBody, RequestHistory, UnderWay};
use crate::event_loop::{EventLoop, spawn};
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

/// An exchange with a server that answers in these pieces, of which each is read before the next
/// is sent; `before` it, something is done to the connection.
fn exchange(pieces: &'static [&'static [u8]], before: impl Fn(&Connection)) -> Stamps {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        let _ = client.read(&mut [0; 256]).unwrap();
        for piece in pieces {
            thread::sleep(Duration::from_millis(20));
            client.write_all(piece).unwrap();
        }
        client
    });
    let clock = RunClock::start();
    let mut stamps = Stamps::default();
    EventLoop::new().unwrap().run(async {
        let stamping = Stamping::On { acks: false };
        let exhaustion = Arc::<Exhaustion>::default();
        let transport = Transport::tcp(address, clock, stamping, &exhaustion).await;
        let mut connection =
            Connection::new(1, transport.unwrap(), scratch(), Limits::default(), None);
        before(&connection);
        let mut queue = queue_of(b"GET / HTTP/1.1\r\nHost: x\r\n", None);
        let mut body = Vec::new();
        let answered = connection.answer(&mut queue, &mut body, clock).await;
        assert_eq!(answered.unwrap().status, 200);
        assert_eq!(body, b"hello");
        stamps = queue.take_first().unwrap().stamps;
    });
    drop(server.join().unwrap());
    stamps
}

/// *first* is read after the kernel has stamped it, and not more than that before it.
#[track_caller]
fn assert_stamped(stamps: &Stamps) {
    let kernel = stamps.kernel.unwrap();
    let (sent, first) = (kernel.sent.unwrap(), kernel.first.unwrap());
    let (user_sent, user_first) = (stamps.sent.unwrap(), stamps.first.unwrap());
    let gap = (user_first - user_sent).cast_signed() - (first - sent);
    assert!(gap.abs() < 15_000_000, "{stamps:?}");
}

#[test]
fn an_answer_has_the_stamp_of_its_first_byte() {
    // Not that of the packet with its last one, 20 ms later.
    let (head, tail) = (&OK[..10], &OK[10..]);
    assert_stamped(&exchange(&[OK], |_| ()));
    assert_stamped(&exchange(Box::leak(Box::new([head, tail])), |_| ()));
}

#[test]
fn the_stamp_of_an_interim_answer_is_not_that_of_the_final_one() {
    assert_stamped(&exchange(&[EARLY, OK], |_| ()));
    // Nor is it when both have arrived before anybody reads: 20 ms and 40 ms after the request.
    let busy = |_: &Connection| {
        spawn(async {
            sleep(Duration::from_millis(5)).await;
            thread::sleep(Duration::from_millis(80));
        });
    };
    let kernel = exchange(&[EARLY, OK], busy).kernel.unwrap();
    let response = kernel.first.unwrap() - kernel.sent.unwrap();
    assert!((35_000_000..75_000_000).contains(&response), "{response}");
}

#[test]
fn stamps_that_never_come_are_waited_for_a_little() {
    let begun = crate::clock::monotonic();
    let stamps = exchange(&[OK], |connection| connection.transport.stop_stamping());
    let took = crate::clock::monotonic() - begun;
    let kernel = stamps.kernel.unwrap();
    assert_eq!((kernel.sent, kernel.acked), (None, None));
    assert!(stamps.done.is_some());
    let waited = u64::from(STAMP_PATIENCE) * 1_000_000;
    assert!(
        took >= 20_000_000 + waited && took < 1_000_000_000,
        "{took}"
    );
}

/// A server for one connection that answers each request of so many bytes.
fn answering(length: usize) -> std::net::SocketAddr {
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

/// Memory that no page has been given to yet, so that writing to it takes long.
fn untouched() -> Box<[u8]> {
    vec![0; 1 << 22].into_boxed_slice()
}

#[test]
fn sent_comes_after_the_copy_of_a_small_body() {
    let head = b"PUT / HTTP/1.1\r\nHost: x\r\n\r\n";
    let body = vec![b'x'; PIECE - head.len()];
    let address = answering(PIECE);
    let clock = RunClock::start();
    let (mut copying, mut sending) = (u64::MAX, u64::MAX);
    EventLoop::new().unwrap().run(async {
        for _ in 0..20 {
            let (mut memory, begun) = (untouched(), clock.now());
            memory[..body.len()].copy_from_slice(&body);
            copying = copying.min(clock.now() - begun);

            let exhaustion = Arc::<Exhaustion>::default();
            let transport = Transport::tcp(address, clock, Stamping::Off, &exhaustion).await;
            let scratch = Rc::new(RefCell::new(untouched()));
            let mut connection =
                Connection::new(1, transport.unwrap(), scratch, Limits::default(), None);
            let mut queue = queue_of(&head[..head.len() - 2], Some(&body));
            let mut kept = Vec::new();
            let begun = clock.now();
            let answered = connection.answer(&mut queue, &mut kept, clock).await;
            assert_eq!(answered.unwrap().status, 200);
            let stamps = queue.take_first().unwrap().stamps;
            assert_eq!(stamps.sent, Some(stamps.started));
            sending = sending.min(stamps.started - begun);
        }
    });
    assert!(
        copying > 500 && sending > copying / 2,
        "{copying} ns, {sending} ns"
    );
}
