//! A chunked body decoded as a whole and byte by byte must result in the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::chunked::{ChunkError, ChunkEvent, ChunkedDecoder};

fuzz_target!(|coded: &[u8]| {
    let (whole, end) = decode(coded, coded.len().max(1));
    let (bytes, same_end) = decode(coded, 1);
    assert_eq!((whole, end), (bytes, same_end));
});

fn decode(coded: &[u8], piece: usize) -> (Vec<u8>, Result<bool, ChunkError>) {
    let mut decoder = ChunkedDecoder::new(256);
    let mut body = Vec::new();
    for mut input in coded.chunks(piece) {
        loop {
            match decoder.step(input) {
                Err(error) => return (body, Err(error)),
                Ok((consumed, event)) => {
                    input = &input[consumed..];
                    match event {
                        ChunkEvent::Data(data) => body.extend_from_slice(data),
                        ChunkEvent::NeedMore => break,
                        ChunkEvent::End => return (body, Ok(true)),
                    }
                }
            }
        }
    }
    assert!(body.len() as u64 <= decoder.announced());
    (body, Ok(false))
}
