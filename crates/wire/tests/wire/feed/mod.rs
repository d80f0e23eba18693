//! Feeds a message to a `ResponseReader` in pieces, the way a connection would.

use wire::response::{Limits, ProtocolError, ReadEvent, ResponseHead, ResponseReader};

/// Result of reading a message: the same however the message was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Statuses of the interim responses.
    pub(crate) interim: Vec<u16>,
    /// The final head.
    pub(crate) head: Option<ResponseHead>,
    /// The body that was passed on.
    pub(crate) body: Vec<u8>,
    /// How it ended, the end of the connection included.
    pub(crate) end: Result<(), ProtocolError>,
    /// The connection may be used again.
    pub(crate) reusable: bool,
    /// Bytes that belong to the response; after an error it depends on the cuts, so it is 0.
    pub(crate) taken: usize,
}

impl Reading {
    /// The text of the error it ended with.
    pub(crate) fn error(&self) -> String {
        let error = self.end.as_ref();
        error.expect_err("it ended without an error").to_string()
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }
}

/// Feeds `message`, cut at the given offsets, then ends the connection.
pub(crate) fn feed(
    message: &[u8],
    cuts: &[usize],
    request_is_head: bool,
    limits: Limits,
) -> Reading {
    let mut reader = ResponseReader::new(request_is_head, limits);
    feed_to(&mut reader, message, cuts)
}

/// The same with a reader at the beginning of a response.
pub(crate) fn feed_to(reader: &mut ResponseReader, message: &[u8], cuts: &[usize]) -> Reading {
    let mut reading = Reading {
        interim: Vec::new(),
        head: None,
        body: Vec::new(),
        end: Ok(()),
        reusable: false,
        taken: 0,
    };
    let mut from = 0;
    for to in cuts.iter().copied().chain([message.len()]) {
        debug_assert!(from <= to);
        from = to;
        // Exactly what has arrived and was not consumed.
        match drain(reader, &message[reading.taken..to], &mut reading) {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) => {
                reading.end = Err(error);
                break;
            }
        }
    }
    if reading.end.is_ok() {
        reading.end = reader.eof();
    }
    if reading.end.is_ok() {
        assert!(reader.is_done() && reader.started());
        let step = reader.step(b"HTTP/1.1 200");
        assert_eq!(step.map(|step| step.consumed), Ok(0));
    } else {
        assert!(!reader.reusable());
        reading.taken = 0;
    }
    reading.head = reader.head().cloned();
    reading.reusable = reader.reusable();
    reading
}

/// Steps until more input is needed; true if the response is complete.
fn drain(
    reader: &mut ResponseReader,
    mut input: &[u8],
    reading: &mut Reading,
) -> Result<bool, ProtocolError> {
    loop {
        let step = reader.step(input)?;
        input = &input[step.consumed..];
        reading.taken += step.consumed;
        match step.event {
            ReadEvent::NeedMore => return Ok(false),
            ReadEvent::Interim(status) => reading.interim.push(status),
            ReadEvent::Head => assert!(reader.head().is_some()),
            ReadEvent::Body(bytes) => {
                assert!(!bytes.is_empty());
                reading.body.extend_from_slice(bytes);
            }
            ReadEvent::End => return Ok(true),
        }
    }
}

/// Feeds `message` whole, in two pieces at every offset, and byte by byte, and asserts that the
/// result is the same. (The excerpt in an error may be longer when more had arrived.)
pub(crate) fn feed_all_ways(message: &[u8], request_is_head: bool, limits: Limits) -> Reading {
    let whole = feed(message, &[], request_is_head, limits);
    let each: Vec<usize> = (0..=message.len()).collect();
    let byte_by_byte = feed(message, &each, request_is_head, limits);
    assert_same(&whole, &byte_by_byte, message, "byte by byte");
    for cut in 0..=message.len() {
        let halves = feed(message, &[cut], request_is_head, limits);
        assert_same(&whole, &halves, message, &format!("cut at {cut}"));
    }
    whole
}

pub(crate) fn assert_same(whole: &Reading, cut: &Reading, message: &[u8], how: &str) {
    let (a, mut b) = (whole.clone(), cut.clone());
    if let (Err(ours), Err(theirs)) = (&a.end, &b.end)
        && std::mem::discriminant(ours) == std::mem::discriminant(theirs)
    {
        b.end = Err(ours.clone());
    }
    assert_eq!(a, b, "{how}: {}", message.escape_ascii());
}
