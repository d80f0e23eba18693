//! Frames and header blocks read as a whole and in two pieces must have the same result.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::http2::{FrameError, FrameEvent, FrameReader, HeaderDecoder};
use wire::response::{Limits, ResponseHead};

const LIMITS: Limits = Limits {
    head_bytes: 1024,
    headers: 16,
    body_bytes: 4096,
    interim: 3,
};

fuzz_target!(|input: (usize, &[u8])| {
    let (cut, bytes) = input;
    let (left, right) = bytes.split_at(cut % (bytes.len() + 1));
    let whole = read(&[bytes]);
    assert_eq!(whole, read(&[left, right]));
    // As a header block alone, without frames around it.
    let mut head = ResponseHead::default();
    let decoded = HeaderDecoder::default().response(bytes, LIMITS, &mut head);
    if let Ok(Ok(())) = decoded {
        assert!(head.headers.len() <= LIMITS.headers && (100..1000).contains(&head.status));
    }
});

/// Result of reading: body, and a description of every other event.
fn read(pieces: &[&[u8]]) -> Result<(Vec<u8>, Vec<String>), FrameError> {
    let mut reader = FrameReader::new(LIMITS.head_bytes);
    let mut decoder = HeaderDecoder::default();
    let (mut body, mut events) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut at = 0;
        loop {
            let (count, event) = reader.step(&piece[at..])?;
            at += count;
            match event {
                FrameEvent::NeedMore => break,
                FrameEvent::Ignored => {}
                FrameEvent::Data { data, .. } => body.extend_from_slice(data),
                FrameEvent::Headers { block, .. } => {
                    let mut head = ResponseHead::default();
                    let decoded = decoder.response(block, LIMITS, &mut head)?;
                    events.push(format!("{decoded:?} {head:?}"));
                }
                FrameEvent::Settings(settings) => {
                    for setting in settings.iter() {
                        events.push(format!("{:?}", setting?));
                    }
                }
                event => events.push(format!("{event:?}")),
            }
        }
        assert_eq!(at, piece.len());
    }
    Ok((body, events))
}
