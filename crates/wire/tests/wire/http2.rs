//! Frames: what is written is read again however it is cut, and what must not be is an error.

use proptest::prelude::*;
use wire::http2::{
    ErrorCode, FrameError, FrameEvent, FrameReader, PeerSetting, append_data_header, append_goaway,
    append_headers, append_ping_ack, append_reset, append_settings, append_settings_ack,
    append_window_update,
};

/// The events of these pieces; parts of a body that belong together are one, and what has not ended
/// is the last.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, FrameError> {
    let mut reader = FrameReader::new(64);
    let mut events: Vec<String> = Vec::new();
    let mut body: Option<(u32, Vec<u8>, u32)> = None;
    for piece in pieces {
        let mut at = 0;
        loop {
            let (count, event) = reader.step(&piece[at..])?;
            at += count;
            match event {
                FrameEvent::NeedMore => break,
                FrameEvent::Ignored => {}
                FrameEvent::Data {
                    stream,
                    data,
                    counted,
                    is_end,
                } => {
                    let (_, bytes, sum) = body.get_or_insert((stream, Vec::new(), 0));
                    bytes.extend_from_slice(data);
                    *sum += counted;
                    if is_end {
                        events.push(format!("{:?}", body.take()));
                    }
                }
                FrameEvent::Settings(settings) => {
                    let settings = settings.iter().collect::<Result<Vec<_>, _>>()?;
                    events.push(format!("{settings:?}"));
                }
                event => events.push(format!("{event:?}")),
            }
        }
        assert_eq!(at, piece.len(), "nothing is left over");
    }
    let is_between = reader.is_between_frames();
    events.push(format!("{body:?}, between frames: {is_between}"));
    Ok(events)
}

#[test]
fn what_is_written_is_read() {
    let mut out = Vec::new();
    let settings = [
        PeerSetting::EnablePush(false),
        PeerSetting::InitialWindowSize(77),
    ];
    append_settings(&mut out, &settings);
    append_settings_ack(&mut out);
    append_ping_ack(&mut out, [1; 8]);
    append_window_update(&mut out, 3, 9);
    append_reset(&mut out, 5, ErrorCode::CANCEL);
    append_goaway(&mut out, ErrorCode::NO_ERROR);
    append_headers(&mut out, 7, b"abcdefg", 3, false);
    append_data_header(&mut out, 7, 2, true);
    out.extend(b"hi");
    let events = read([&out[..]]).unwrap();
    let expected = [
        "[EnablePush(false), InitialWindowSize(77)]",
        "SettingsAck",
        "WindowUpdate { stream: 3, increment: 9 }",
        "Reset { stream: 5, code: ErrorCode(8) }",
        "GoAway { last_stream: 0, code: ErrorCode(0), debug: [] }",
        "HeadersBegin { stream: 7 }",
        "Headers { stream: 7, block: [97, 98, 99, 100, 101, 102, 103], is_end: false }",
        "Some((7, [104, 105], 2))",
        "None, between frames: true",
    ];
    assert_eq!(events, expected);
}

/// A frame with any header.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

#[test]
fn what_must_not_be_is_an_error() {
    let cases: [(Vec<u8>, ErrorCode); 18] = [
        (frame(0, 0, 0, b"x"), ErrorCode::PROTOCOL_ERROR),
        (frame(0, 8, 1, &[1]), ErrorCode::PROTOCOL_ERROR),
        (frame(1, 4, 0, b"x"), ErrorCode::PROTOCOL_ERROR),
        (frame(1, 0xc, 1, &[9, 0]), ErrorCode::PROTOCOL_ERROR),
        (frame(1, 0x24, 1, &[0; 3]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(1, 4, 1, &[0; 65]), ErrorCode::ENHANCE_YOUR_CALM),
        (frame(2, 0, 1, &[0; 4]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(3, 0, 1, &[0; 5]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(4, 0, 1, b""), ErrorCode::PROTOCOL_ERROR),
        (frame(4, 1, 0, &[0; 6]), ErrorCode::FRAME_SIZE_ERROR),
        (
            frame(4, 0, 0, &[0, 5, 0, 0, 0, 1]),
            ErrorCode::PROTOCOL_ERROR,
        ),
        (
            frame(4, 0, 0, &[0, 4, 0xff, 0, 0, 1]),
            ErrorCode::FLOW_CONTROL_ERROR,
        ),
        (frame(5, 4, 1, &[0; 5]), ErrorCode::PROTOCOL_ERROR),
        (frame(6, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(7, 0, 0, &[0; 7]), ErrorCode::FRAME_SIZE_ERROR),
        (frame(8, 0, 1, &[0; 4]), ErrorCode::FLOW_CONTROL_ERROR),
        (frame(9, 4, 1, b"x"), ErrorCode::PROTOCOL_ERROR),
        (
            [frame(1, 0, 1, b"x"), frame(6, 0, 0, &[0; 8])].concat(),
            ErrorCode::PROTOCOL_ERROR,
        ),
    ];
    for (bytes, code) in cases {
        let error = read([&bytes[..]]).unwrap_err();
        assert_eq!(error.code(), code, "{}: {error}", bytes.escape_ascii());
    }
    let large = read([&[0, 0x40, 1, 0, 0, 0, 0, 0, 1][..]]);
    assert_eq!(large, Err(FrameError::TooLarge(16385)));
}

/// Frames that are right or wrong, of types that are known or not.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        proptest::collection::vec(0_u8..4, 0..12),
    ];
    let parts = (0_u8..11, any::<u8>(), 0_u8..4, payload);
    let frame =
        parts.prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
    proptest::collection::vec(frame, 0..8).prop_map(|frames| frames.concat())
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_cut(bytes in frames(), size in 1_usize..30) {
        let (whole, pieces) = (read([&bytes[..]]), read(bytes.chunks(size)));
        prop_assert_eq!(whole, pieces);
    }
}
