//! A relay between source and sink that drops, repeats and exchanges datagrams, or adds others: the
//! sink is compared with its counts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use flow::FlowTransport::{Tcp, Udp};
use flow::message::{AgreedGroup, ControlMessage, FrameDecoder, LONGEST_MESSAGE, StreamStalls};
use flow::source::FlowPlan;

use crate::support::{PATIENCE, sink, source};

const SECOND: Duration = Duration::from_secs(1);

/// Relays one control connection, and lets `change` see and change each group that is agreed to.
fn relay_control(
    sink: SocketAddr,
    mut change: impl FnMut(&mut AgreedGroup) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut source, _) = listener.accept().unwrap();
        let mut sink = TcpStream::connect(sink).unwrap();
        let (mut from_source, mut to_sink) =
            (source.try_clone().unwrap(), sink.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_source, &mut to_sink);
            let _ = to_sink.shutdown(std::net::Shutdown::Both);
        });
        let mut decoder = FrameDecoder::new(LONGEST_MESSAGE);
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = sink.read(&mut buffer) {
            decoder.push(&buffer[..count]);
            while let Some(mut message) = decoder.next_message().unwrap() {
                if let ControlMessage::Agreed { groups } = &mut message {
                    groups.iter_mut().for_each(&mut change);
                }
                // The source may have ended.
                let _ = source.write_all(&message.encode());
            }
        }
        let _ = source.shutdown(std::net::Shutdown::Both);
    });
    address
}

/// Changes made by a relay of datagrams.
#[derive(Default)]
struct RelayChanges {
    dropped: AtomicU64,
    repeated: AtomicU64,
    exchanged: AtomicU64,
    should_end: AtomicBool,
}

/// Relays datagrams to a port; of ten, one is dropped, one repeated, and one exchanged with the
/// next.
fn relay_datagrams(socket: UdpSocket, port: u16, changes: &RelayChanges) {
    socket.set_read_timeout(Some(SECOND / 10)).unwrap();
    let mut buffer = [0; 2000];
    let mut held = None;
    let mut number = 0;
    let send = |bytes: &[u8]| socket.send_to(bytes, (Ipv4Addr::LOCALHOST, port)).unwrap();
    while !changes.should_end.load(Ordering::Relaxed) {
        let Ok(count) = socket.recv(&mut buffer) else {
            continue;
        };
        let datagram = &buffer[..count];
        number += 1;
        match number % 10 {
            3 => drop(changes.dropped.fetch_add(1, Ordering::Relaxed)),
            5 => {
                changes.repeated.fetch_add(1, Ordering::Relaxed);
                send(datagram);
                send(datagram);
            }
            7 => held = Some(datagram.to_vec()),
            _ => {
                send(datagram);
                if let Some(held) = held.take() {
                    changes.exchanged.fetch_add(1, Ordering::Relaxed);
                    send(&held);
                }
            }
        }
    }
}

#[test]
fn loss_duplicates_and_order_are_counted_exactly() {
    let sink = sink();
    let changes = Arc::<RelayChanges>::default();
    let relay_handle = Arc::clone(&changes);
    let address = relay_control(sink.address(), move |group| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = std::mem::replace(&mut group.port, socket.local_addr().unwrap().port());
        let changes = Arc::clone(&relay_handle);
        thread::spawn(move || relay_datagrams(socket, port, &changes));
    });
    let flow = FlowPlan::paced(Udp, 100, 50_000, 2 * SECOND);
    let source = source(address, vec![flow]);
    let totals = source.finish(PATIENCE).unwrap();
    changes.should_end.store(true, Ordering::Relaxed);
    assert!(totals.failure.is_none(), "{totals:?}");
    let flow = &totals.flows[0];
    let counts = [&changes.dropped, &changes.repeated, &changes.exchanged];
    let [dropped, repeated, exchanged] = counts.map(|count| count.load(Ordering::Relaxed));
    // One may still be held when the flow ends.
    let held = flow.lost - dropped;
    assert!(dropped > 50 && held <= 1, "{flow:?}");
    let counts = (flow.duplicates, flow.reordered);
    assert_eq!(counts, (repeated, exchanged), "{flow:?}");
    assert_eq!(flow.sent_blocks, flow.received_blocks + flow.lost);
    let arrived = flow.received_blocks + flow.duplicates;
    assert_eq!(flow.received_bytes, 100 * arrived);
}

#[test]
fn a_network_that_lets_nothing_through_any_more_is_seen_while_it_does() {
    let sink = sink();
    let should_end = Arc::<AtomicBool>::default();
    let relay_handle = Arc::clone(&should_end);
    let address = relay_control(sink.address(), move |group| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = std::mem::replace(&mut group.port, socket.local_addr().unwrap().port());
        let should_end = Arc::clone(&relay_handle);
        thread::spawn(move || {
            socket.set_read_timeout(Some(SECOND / 10)).unwrap();
            let mut buffer = [0; 2000];
            let mut passed = 0;
            while !should_end.load(Ordering::Relaxed) {
                let Ok(count) = socket.recv(&mut buffer) else {
                    continue;
                };
                // The first second and a half of the flow.
                if passed < 750 {
                    passed += 1;
                    let sink = (Ipv4Addr::LOCALHOST, port);
                    socket.send_to(&buffer[..count], sink).unwrap();
                }
            }
        });
    });
    let flow = FlowPlan::paced(Udp, 100, 50_000, 6 * SECOND);
    let source = source(address, vec![flow]);
    let mut lost = Vec::new();
    let end = Instant::now() + PATIENCE;
    while source.is_active() {
        assert!(Instant::now() < end, "the flow does not end");
        let readings = source.readings().into_iter();
        let readings = readings.filter(|reading| reading.is_full_second);
        lost.extend(readings.map(|reading| reading.flows[0].lost));
        thread::yield_now();
    }
    should_end.store(true, Ordering::Relaxed);
    let totals = source.finish(PATIENCE).unwrap();
    let flow = &totals.flows[0];
    assert_eq!(flow.lost, flow.sent_blocks - 750, "{flow:?}");
    // In the first two seconds no loss is known, and in the others all but the datagrams of the
    // last one.
    assert!(lost.len() >= 5 && lost[0] == 0, "{lost:?}");
    assert!(lost[2..5].iter().all(|lost| *lost > 100), "{lost:?}");
    assert!(lost.iter().sum::<u64>() <= flow.lost, "{lost:?}");
}

#[test]
fn a_flow_that_sends_more_than_was_agreed_is_ended() {
    let sink = sink();
    let address = relay_control(sink.address(), |group| {
        let (port, id) = (group.port, group.ids[0]);
        thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let begin = Instant::now();
            let mut datagram = [0; 8000];
            datagram[..4].copy_from_slice(b"PFd1");
            datagram[4..12].copy_from_slice(&id.to_be_bytes());
            for number in 1_000_000_u64.. {
                datagram[12..20].copy_from_slice(&number.to_be_bytes());
                // The port closes when the session ends.
                let _ = socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, port));
                if begin.elapsed() > 5 * SECOND {
                    break;
                }
            }
        });
    });
    let flow = FlowPlan::paced(Udp, 100, 10_000, 30 * SECOND);
    let source = source(address, vec![flow]);
    let totals = source.finish(PATIENCE).unwrap();
    let failure = totals.failure.unwrap().to_string();
    let expected = "the sink ended the session: a flow sends more than was agreed";
    assert_eq!(failure, expected);
    assert!(totals.elapsed < 10 * SECOND);
}

/// Relays a stream to a port, and holds it once for this long. Returns the actual time.
fn relay_stream(listener: &TcpListener, port: u16, held: Duration) -> Duration {
    let (mut source, _) = listener.accept().unwrap();
    let mut sink = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let begun = Instant::now();
    let mut pause = Duration::ZERO;
    while let Ok(count @ 1..) = source.read(&mut buffer) {
        if pause.is_zero() && begun.elapsed() > SECOND / 2 {
            let begun = Instant::now();
            thread::park_timeout(held);
            pause = begun.elapsed();
        }
        // The sink may have ended.
        if sink.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    pause
}

/// Sends through a relay that holds the stream once for this long: the actual time, and the stalls
/// that the sink counted.
fn held_stream(held: Duration) -> (Duration, StreamStalls) {
    let sink = sink();
    let (sender, holds) = std::sync::mpsc::channel();
    let address = relay_control(sink.address(), move |group| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = std::mem::replace(&mut group.port, listener.local_addr().unwrap().port());
        let sender = sender.clone();
        thread::spawn(move || {
            // The test may have ended.
            let _ = sender.send(relay_stream(&listener, port, held));
        });
    });
    let flow = FlowPlan::full(Tcp, 8192, 2 * SECOND);
    let source = source(address, vec![flow]);
    let totals = source.finish(PATIENCE).unwrap();
    assert!(totals.failure.is_none(), "{totals:?}");
    let pause = holds.recv_timeout(PATIENCE).unwrap();
    (pause, totals.flows[0].stalls.unwrap())
}

#[test]
fn stalls_of_streams_are_counted() {
    for (held, stalls) in [(SECOND / 2, 1), (Duration::ZERO, 0)] {
        // A busy machine may add stalls of its own, to all of some streams, and takes none away.
        let streams = [(); 3].map(|()| thread::spawn(move || held_stream(held)));
        let seen = streams.map(|stream| {
            let (pause, found) = stream.join().unwrap();
            let expected_ns = if stalls > 0 { pause.as_nanos() } else { 0 };
            // A stall begins with the last byte before it, which the sink may have received after
            // it was relayed.
            let difference_ns = u128::from(found.total_ns).abs_diff(expected_ns);
            (found.count, difference_ns)
        });
        let (count, difference_ns) = *seen.iter().min().unwrap();
        assert_eq!(count, stalls, "{held:?}: {seen:?}");
        let is_near = difference_ns < (SECOND / 10).as_nanos();
        assert!(is_near, "{held:?}: {seen:?}");
    }
}
