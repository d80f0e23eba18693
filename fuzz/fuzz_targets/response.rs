//! A response read as a whole and in two pieces must have the same result.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::response::{Limits, ProtocolError, ReadEvent, ResponseReader};
use wire::server_timing::server_timing;

const LIMITS: Limits = Limits {
    head_bytes: 1024,
    headers: 16,
    body_bytes: 4096,
    interim: 3,
};

fuzz_target!(|input: (bool, usize, &[u8])| {
    let (is_head, cut, message) = input;
    let cut = cut % (message.len() + 1);
    let whole = read(message, message.len(), is_head);
    let halves = read(message, cut, is_head);
    // The excerpt in an error may be longer if more had arrived.
    let kind = |end: &Result<(), ProtocolError>| end.as_ref().err().map(std::mem::discriminant);
    assert_eq!(kind(&whole.end), kind(&halves.end));
    assert_eq!(whole.body, halves.body);
    assert_eq!(whole.status, halves.status);
    assert!(whole.body.len() as u64 <= LIMITS.body_bytes);
});

struct Reading {
    body: Vec<u8>,
    status: Option<u16>,
    end: Result<(), ProtocolError>,
}

fn read(message: &[u8], cut: usize, is_head: bool) -> Reading {
    let mut reader = ResponseReader::new(is_head, LIMITS);
    let mut body = Vec::new();
    let end = steps(&mut reader, message, cut, &mut body).and_then(|()| reader.eof());
    let fields = reader
        .head()
        .into_iter()
        .flat_map(|head| head.headers.iter());
    let metrics = fields.flat_map(|(_, value)| server_timing(value));
    assert!(metrics.count() <= message.len());
    Reading {
        body,
        status: reader.head().map(|head| head.status),
        end,
    }
}

fn steps(
    reader: &mut ResponseReader,
    message: &[u8],
    cut: usize,
    body: &mut Vec<u8>,
) -> Result<(), ProtocolError> {
    let mut at = 0;
    for arrived in [cut, message.len()] {
        loop {
            let step = reader.step(&message[at..arrived])?;
            at += step.consumed;
            match step.event {
                ReadEvent::NeedMore => break,
                ReadEvent::End => return Ok(()),
                ReadEvent::Body(bytes) => body.extend_from_slice(bytes),
                ReadEvent::Interim(_) | ReadEvent::Head => {}
            }
        }
    }
    Ok(())
}
