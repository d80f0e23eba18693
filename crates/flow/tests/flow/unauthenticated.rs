//! Input to a sink that does not come from a source.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use flow::FlowTransport::{Tcp, Udp};
use flow::message::{ControlMessage, FrameDecoder, LONGEST_UNAUTHENTICATED, PROTOCOL_VERSION};
use flow::source::FlowPlan;
use flow::{FlowError, FlowTransport, PermittedPeers, SinkHandle, SinkLimits, SourceHandle};

use crate::support::{PATIENCE, eventually, free_tcp_port, free_udp_port, sink_on, source};

fn sink(peers: PermittedPeers) -> SinkHandle {
    let limits = SinkLimits {
        peers,
        ..SinkLimits::default()
    };
    sink_on("127.0.0.1:0", limits)
}

fn paced_source(sink: &SinkHandle, transport: FlowTransport) -> SourceHandle {
    let flow = FlowPlan::paced(transport, 1000, 100_000, PATIENCE);
    source(sink.address(), vec![flow])
}

/// Writes bytes to a sink and returns the messages that it sends until it closes.
fn messages_after(sink: &SinkHandle, bytes: &[u8]) -> Vec<ControlMessage> {
    let mut stream = TcpStream::connect(sink.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The sink may have closed the connection already.
    let _ = stream.write_all(bytes);
    let mut response = Vec::new();
    // What the sink did not read makes the end of the connection an error.
    let _ = stream.read_to_end(&mut response);
    let mut decoder = FrameDecoder::new(LONGEST_UNAUTHENTICATED);
    decoder.push(&response);
    std::iter::from_fn(|| decoder.next_message().unwrap()).collect()
}

fn introduction(version: u32) -> Vec<u8> {
    ControlMessage::Introduction {
        version,
        nonce: "0".repeat(64),
        proof: "0".repeat(64),
    }
    .encode()
}

#[test]
fn a_control_port_refuses_strangers_with_a_sentence() {
    let sink = sink(PermittedPeers::Loopback);
    let other_version = introduction(PROTOCOL_VERSION + 1);
    let request = ControlMessage::Request {
        groups: vec![],
        life: None,
    }
    .encode();
    let mut broken = introduction(PROTOCOL_VERSION);
    broken[10] ^= 0xff;
    let table: [(&[u8], &str); 6] = [
        (&introduction(PROTOCOL_VERSION), "another token"),
        (
            &other_version,
            "version 6 of the protocol, this one has version 5",
        ),
        (&request, "out of turn"),
        (&broken, "not a message of this protocol"),
        (b"GET / HTTP/1.1\r\n\r\n", "it begins with GET / HTTP/1.1)"),
        (&[], "did not introduce itself within 2 s"),
    ];
    for (bytes, expected) in table {
        let messages = messages_after(&sink, bytes);
        let [
            ControlMessage::Greeting { .. },
            ControlMessage::Refused { reason },
        ] = &messages[..]
        else {
            unreachable!("{expected}: {messages:?}");
        };
        assert!(reason.contains(expected), "{reason}");
    }
    let all = table.len() as u64;
    eventually("all failures are counted", || {
        sink.status().failed_sessions == all
    });
}

/// A connection that sends heartbeats, and nothing that proves anything, until the sink closes it.
fn heartbeats_until_refused(sink: &SinkHandle) {
    let mut stream = TcpStream::connect(sink.address()).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let several = ControlMessage::Heartbeat {}.encode().repeat(64);
    let end = Instant::now() + PATIENCE;
    while stream.write_all(&several).is_ok() {
        let is_over = Instant::now() >= end;
        assert!(!is_over, "an unauthenticated peer holds a session for ever");
    }
}

#[test]
fn heartbeats_do_not_replace_an_introduction() {
    let sink = sink(PermittedPeers::Loopback);
    heartbeats_until_refused(&sink);
    eventually("the failure is counted", || {
        sink.status().failed_sessions == 1
    });
    let reason = sink.status().last_failure.unwrap();
    assert!(reason.contains("did not introduce itself"), "{reason}");
}

#[test]
fn strangers_take_no_slot_of_a_source_and_do_not_hold_up_the_end() {
    let limits = SinkLimits {
        sessions: 1,
        ..SinkLimits::default()
    };
    let sink = sink_on("127.0.0.1:0", limits);
    let connect = |_| TcpStream::connect(sink.address()).unwrap();
    let mut strangers: Vec<TcpStream> = (0..8).map(connect).collect();
    // Each has received a greeting, and so is being served.
    for stranger in &mut strangers {
        stranger.read_exact(&mut [0; 20]).unwrap();
    }
    let source = paced_source(&sink, Udp);
    source.ready(PATIENCE).unwrap();
    assert_eq!(sink.status().sessions, 1);
    let begun = Instant::now();
    drop(sink);
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
}

/// A connection from another address of loopback.
fn from_elsewhere(sink: SocketAddr) -> Option<TcpStream> {
    let kind = socket2::Type::STREAM;
    let socket = socket2::Socket::new(socket2::Domain::IPV4, kind, None).unwrap();
    let elsewhere: SocketAddr = "127.0.0.2:0".parse().unwrap();
    socket.bind(&elsewhere.into()).unwrap();
    socket.connect(&sink.into()).ok()?;
    Some(socket.into())
}

#[test]
fn silent_connections_of_one_address_do_not_keep_out_sources_of_another() {
    let sink = sink(PermittedPeers::Loopback);
    // More than are served at a time, from anywhere.
    let strangers: Vec<_> = (0..200).map(|_| from_elsewhere(sink.address())).collect();
    let source = paced_source(&sink, Udp);
    source.ready(PATIENCE).unwrap();
    drop(strangers);
}

#[test]
fn silent_connections_do_not_keep_out_a_source_of_the_same_address() {
    let sink = sink(PermittedPeers::Loopback);
    let stranger = |_| TcpStream::connect(sink.address()).ok();
    let strangers: Vec<_> = (0..300).map(stranger).collect();
    let source = paced_source(&sink, Udp);
    source.ready(PATIENCE).unwrap();
    drop(strangers);
}

#[test]
fn silent_connections_to_one_data_port_do_not_keep_out_flows_of_another() {
    let sink = sink(PermittedPeers::Loopback);
    let port = free_tcp_port();
    let mut flow = FlowPlan::paced(Tcp, 1000, 100_000, PATIENCE);
    flow.options.sink_port = Some(port);
    let first = source(sink.address(), vec![flow]);
    first.ready(PATIENCE).unwrap();
    let stranger = |_| TcpStream::connect(("127.0.0.1", port)).unwrap();
    let strangers: Vec<_> = (0..600).map(stranger).collect();
    eventually("some are turned away", || {
        sink.status().strange_connections > 0
    });
    let second = paced_source(&sink, Tcp);
    second.ready(PATIENCE).unwrap();
    eventually("what the second sends arrives", || {
        let mut readings = second.readings().into_iter();
        readings.any(|reading| reading.flows[0].received_bytes > 0)
    });
    drop(strangers);
}

#[test]
fn sources_of_other_addresses_are_refused() {
    let sink = sink(PermittedPeers::Only(vec!["192.0.2.7".parse().unwrap()]));
    let messages = messages_after(&sink, &[]);
    let [ControlMessage::Refused { reason }] = &messages[..] else {
        unreachable!("{messages:?}");
    };
    let expected = "this sink accepts no sources from 127.0.0.1";
    assert!(reason.starts_with(expected), "{reason}");
}

/// The error of a source at an address without a sink.
fn refusal_at(sink: SocketAddr) -> FlowError {
    let source = source(sink, vec![FlowPlan::full(Udp, 1000, PATIENCE)]);
    source.ready(PATIENCE).unwrap_err()
}

#[test]
fn a_program_that_only_repeats_is_no_sink() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let greeting = ControlMessage::Greeting {
            version: PROTOCOL_VERSION,
            nonce: "a".repeat(64),
        };
        stream.write_all(&greeting.encode()).unwrap();
        let mut buffer = [0; 1000];
        let count = stream.read(&mut buffer).unwrap();
        let mut decoder = FrameDecoder::new(LONGEST_UNAUTHENTICATED);
        decoder.push(&buffer[..count]);
        let Ok(Some(ControlMessage::Introduction { proof, .. })) = decoder.next_message() else {
            unreachable!("a source introduces itself");
        };
        let welcome = ControlMessage::Welcome { proof };
        stream.write_all(&welcome.encode()).unwrap();
        // No more data arrive.
        stream.read(&mut buffer).unwrap_or(0)
    });
    let error = refusal_at(address);
    assert!(matches!(error, FlowError::OtherToken), "{error}");
    assert_eq!(echo.join().unwrap(), 0);
}

#[test]
fn another_program_at_the_address_of_a_sink_is_called_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let response = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
        stream.write_all(response).unwrap();
        // The source closes the connection.
        stream.read(&mut [0; 100]).unwrap_or(0)
    });
    let error = refusal_at(address).to_string();
    let expected = "is no sink of Prestan (it begins with HTTP/1.1 400 Bad Request)";
    assert_eq!(error, format!("the peer at {address} {expected}"));
    assert_eq!(server.join().unwrap(), 0);
}

#[test]
fn data_of_strangers_are_ignored_and_counted() {
    let sink = sink(PermittedPeers::Loopback);
    let (tcp_port, udp_port) = (free_tcp_port(), free_udp_port());
    let flow = |transport, port| {
        let mut flow = FlowPlan::paced(transport, 1000, 100_000, PATIENCE);
        flow.options.sink_port = Some(port);
        flow
    };
    let flows = vec![flow(Udp, udp_port), flow(Tcp, tcp_port)];
    let source = source(sink.address(), flows);
    source.ready(PATIENCE).unwrap();

    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    // The right magic, and a flow that does not exist.
    let forged = [b"PFd1".as_slice(), &[7; 100]].concat();
    for bytes in [b"".as_slice(), b"x", &[0; 2000], &forged] {
        stranger.send_to(bytes, ("127.0.0.1", udp_port)).unwrap();
    }
    eventually("strange datagrams are counted", || {
        sink.status().strange_datagrams == 4
    });

    let mut silent = TcpStream::connect(("127.0.0.1", tcp_port)).unwrap();
    silent.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut forging = TcpStream::connect(("127.0.0.1", tcp_port)).unwrap();
    let _ = forging.write_all(&[b"PFs1".as_slice(), &[7; 8]].concat());
    forging.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(forging.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0);
    eventually("strange connections are counted", || {
        sink.status().strange_connections == 2
    });

    let totals = source.stop().unwrap();
    assert!(totals.failure.is_none(), "{totals:?}");
    for flow in &totals.flows {
        assert_eq!((flow.lost, flow.duplicates), (0, 0), "{flow:?}");
        assert_eq!(flow.received_bytes, flow.sent_bytes);
    }
}
