//! Control messages, datagrams and streams of background traffic: no panic, and the same however they
//! are cut. The first byte says where.

#![no_main]

use flow::external::ExternalReport;
use flow::message::{ControlMessage, FrameDecoder, ControlFrameError, LONGEST_FROM_STRANGER};
use flow::payload::{BlockReader, read_datagram};
use libfuzzer_sys::fuzz_target;

fn messages<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<ControlMessage>, ControlFrameError> {
    let mut decoder = FrameDecoder::new(LONGEST_FROM_STRANGER);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(message) = decoder.next_message()? {
            found.push(message);
        }
    }
    Ok(found)
}

fn blocks<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<(u64, u32)>> {
    let mut reader = BlockReader::default();
    let mut found = Vec::new();
    for piece in pieces {
        let read = reader.push(piece, |stamp, bytes| found.push((stamp.sequence, bytes)));
        read.ok()?;
    }
    Some(found)
}

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else {
        return;
    };
    let cut = usize::from(*cut) + 1;
    let whole = messages([bytes].into_iter());
    assert_eq!(messages(bytes.chunks(cut)), whole);
    for message in whole.into_iter().flatten() {
        // A longer form of a number may not fit any more when it is written again.
        let mut decoder = FrameDecoder::new(4 * LONGEST_FROM_STRANGER);
        decoder.push(&message.encode());
        assert_eq!(decoder.next_message(), Ok(Some(message)));
    }
    assert_eq!(blocks(bytes.chunks(cut)), blocks([bytes].into_iter()));
    read_datagram(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = ExternalReport::Iperf3.read(text);
        let _ = ExternalReport::ItgDec.read(text);
    }
});
