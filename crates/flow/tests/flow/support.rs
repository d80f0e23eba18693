//! Sinks, sources and other helpers of several tests.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use flow::source::FlowPlan;
use flow::{
    SharedToken, SinkHandle, SinkLimits, SinkSettings, SourceHandle, SourcePlan, TrafficSink,
    TrafficSource,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn token() -> SharedToken {
    SharedToken::new(b"a token of these tests").unwrap()
}

pub(crate) fn sink_on(address: &str, limits: SinkLimits) -> SinkHandle {
    let settings = SinkSettings {
        listen: address.parse().unwrap(),
        token: token(),
        limits,
    };
    TrafficSink::start(settings).unwrap()
}

/// A port of loopback that nothing uses now.
pub(crate) fn free_tcp_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A port of loopback that nothing uses now.
pub(crate) fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

pub(crate) fn sink() -> SinkHandle {
    sink_on("127.0.0.1:0", SinkLimits::default())
}

pub(crate) fn plan(sink: SocketAddr, flows: Vec<FlowPlan>) -> SourcePlan {
    SourcePlan {
        sink,
        flows,
        threads: 1,
        longest_silence: flow::LONGEST_SILENCE,
    }
}

pub(crate) fn source(sink: SocketAddr, flows: Vec<FlowPlan>) -> SourceHandle {
    TrafficSource::start(plan(sink, flows), token()).unwrap()
}

pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}
