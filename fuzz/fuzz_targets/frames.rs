//! Captured frames, each behind a byte for its length. A frame can also fill a gap that others left, so
//! that there are at most two exchanges for each; with HTTP/2, at most one for each nine bytes.

#![no_main]

use trace::{Exchanges, segment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|captured: &[u8]| {
    let (mut rest, mut frames) = (captured, 0);
    let mut exchanges = Exchanges::default();
    while let [length, after @ ..] = rest {
        let (frame, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        frames += 1;
        let Ok(segment) = segment::parse(frame, frames) else {
            continue;
        };
        if segment.destination.port() < segment.source.port() {
            exchanges.request(&segment);
        } else {
            exchanges.response(&segment);
        }
    }
    let most = 2 * frames + captured.len() as i64 / 9;
    assert!(exchanges.finish().len() as i64 <= most);
});
