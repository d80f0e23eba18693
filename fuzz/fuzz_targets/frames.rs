//! Captured frames, each preceded by a byte for its length. A frame can also fill a gap that others
//! left, so there are at most two requests for each; with HTTP/2, at most one per nine bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::{AnalysisLimits, TcpConnections, segment};

fuzz_target!(|captured: &[u8]| {
    let limits = AnalysisLimits {
        connections: 2,
        passing_connections: 2,
        ..AnalysisLimits::default()
    };
    let (mut rest, mut frames, mut requests) = (captured, 0, 0);
    let mut count = |_: &_| requests += 1;
    let mut connections = TcpConnections::new(limits, None);
    while let [length, after @ ..] = rest {
        let (frame, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        frames += 1;
        let Ok(segment) = segment::parse(frame, frames) else {
            continue;
        };
        connections.add(frames.cast_unsigned(), &segment, &mut count);
    }
    connections.finish(&mut count);
    assert!(requests <= 2 * frames + captured.len() as i64 / 9);
});
