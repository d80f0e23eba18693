//! Sinks, sources and other helpers of several tests.

use std::net::SocketAddr;
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
    let listen = address.parse().unwrap();
    TrafficSink::start(SinkSettings {
        listen,
        token: token(),
        limits,
    })
    .unwrap()
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
