//! Frames as they are written, and the layout of all of them (RFC 9113, section 4.1).

use super::{ErrorCode, FrameError, LARGEST_FRAME, LARGEST_WINDOW};

/// Bytes that a client sends before its first frame (RFC 9113, section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flag of DATA and HEADERS.
pub(super) const END_STREAM: u8 = 0x1;
/// Flag of SETTINGS and PING.
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITISED: u8 = 0x20;

/// The nine bytes of a frame before its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Number of the stream, 0 for the connection.
    pub stream: u32,
    /// Bytes of payload.
    pub length: usize,
}

impl FrameHeader {
    /// Length of a frame header.
    pub const BYTES: usize = 9;

    /// Every value of these bytes is a header; its meaning is not checked.
    pub fn parse([a, b, c, kind, flags, stream @ ..]: [u8; FrameHeader::BYTES]) -> FrameHeader {
        FrameHeader {
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & (u32::MAX >> 1),
            length: u32::from_be_bytes([0, a, b, c]) as usize,
        }
    }

    /// A HEADERS frame: the beginning of a request, a response or trailers.
    pub fn is_headers(self) -> bool {
        self.kind == HEADERS
    }

    /// Part of a body.
    pub fn is_data(self) -> bool {
        self.kind == DATA
    }

    /// More of a header block.
    pub fn is_continuation(self) -> bool {
        self.kind == CONTINUATION
    }

    /// The frame completes a header block.
    pub fn ends_block(self) -> bool {
        matches!(self.kind, HEADERS | CONTINUATION) && self.flags & END_HEADERS != 0
    }

    /// The sender ends the stream with this frame, but for the rest of a header block.
    pub fn ends_stream(self) -> bool {
        matches!(self.kind, HEADERS | DATA) && self.flags & END_STREAM != 0
    }

    /// The part of a header block in the payload of HEADERS, without padding and priority.
    ///
    /// # Errors
    /// The payload is shorter than padding and priority.
    pub fn fragment(self, mut payload: &[u8]) -> Result<&[u8], FrameError> {
        let wrong = FrameError::Padding("HEADERS");
        let mut padding = 0;
        if self.flags & PADDED != 0 {
            let (&count, rest) = payload.split_first().ok_or(wrong)?;
            (padding, payload) = (usize::from(count), rest);
        }
        if self.flags & PRIORITISED != 0 {
            payload = payload.get(5..).ok_or(FrameError::Length {
                kind: "HEADERS",
                length: self.length,
                section: "6.2",
            })?;
        }
        let length = payload.len().checked_sub(padding).ok_or(wrong)?;
        Ok(&payload[..length])
    }
}

/// A setting that a peer receives (RFC 9113, section 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerSetting {
    /// Bytes of the table for decoding header blocks.
    HeaderTableSize(u32),
    /// Permission to push.
    EnablePush(bool),
    /// Streams that may be open at a time.
    MaxConcurrentStreams(u32),
    /// Window of each stream, in bytes.
    InitialWindowSize(u32),
    /// Largest frame, in bytes of payload.
    MaxFrameSize(u32),
    /// Any other, which is ignored.
    Other,
}

impl PeerSetting {
    fn parse(identifier: u16, value: u32) -> Result<PeerSetting, FrameError> {
        let out_of_range = |name| Err(FrameError::Setting { name, value });
        match identifier {
            1 => Ok(PeerSetting::HeaderTableSize(value)),
            2 if value > 1 => out_of_range("SETTINGS_ENABLE_PUSH"),
            2 => Ok(PeerSetting::EnablePush(value == 1)),
            3 => Ok(PeerSetting::MaxConcurrentStreams(value)),
            4 if value > LARGEST_WINDOW => out_of_range("SETTINGS_INITIAL_WINDOW_SIZE"),
            4 => Ok(PeerSetting::InitialWindowSize(value)),
            5 if !(LARGEST_FRAME..1 << 24).contains(&(value as usize)) => {
                out_of_range("SETTINGS_MAX_FRAME_SIZE")
            }
            5 => Ok(PeerSetting::MaxFrameSize(value)),
            _ => Ok(PeerSetting::Other),
        }
    }

    /// Identifier and value; `None` for settings without an identifier.
    fn written(self) -> Option<(u16, u32)> {
        match self {
            PeerSetting::HeaderTableSize(value) => Some((1, value)),
            PeerSetting::EnablePush(value) => Some((2, u32::from(value))),
            PeerSetting::MaxConcurrentStreams(value) => Some((3, value)),
            PeerSetting::InitialWindowSize(value) => Some((4, value)),
            PeerSetting::MaxFrameSize(value) => Some((5, value)),
            PeerSetting::Other => None,
        }
    }
}

/// The settings of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsPayload<'a>(pub(super) &'a [u8]);

impl SettingsPayload<'_> {
    /// The settings, in order; those out of range are errors.
    pub fn iter(&self) -> impl Iterator<Item = Result<PeerSetting, FrameError>> {
        let (settings, _) = self.0.as_chunks::<6>();
        settings.iter().map(|&[a, b, rest @ ..]| {
            PeerSetting::parse(u16::from_be_bytes([a, b]), u32::from_be_bytes(rest))
        })
    }
}

fn append_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Appends SETTINGS.
pub fn append_settings(out: &mut Vec<u8>, settings: &[PeerSetting]) {
    let written = settings.iter().filter_map(|setting| setting.written());
    append_header(out, written.clone().count() * 6, SETTINGS, 0, 0);
    for (identifier, value) in written {
        out.extend_from_slice(&identifier.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends the acknowledgement of the peer's SETTINGS.
pub fn append_settings_ack(out: &mut Vec<u8>) {
    append_header(out, 0, SETTINGS, ACK, 0);
}

/// Appends the reply to a PING.
pub fn append_ping_ack(out: &mut Vec<u8>, payload: [u8; 8]) {
    append_header(out, payload.len(), PING, ACK, 0);
    out.extend_from_slice(&payload);
}

/// Appends WINDOW_UPDATE; stream 0 stands for the connection.
pub fn append_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    append_header(out, 4, WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

/// Appends RST_STREAM.
pub fn append_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    append_header(out, 4, RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends GOAWAY of a client without pushed streams.
pub fn append_goaway(out: &mut Vec<u8>, code: ErrorCode) {
    append_header(out, 8, GOAWAY, 0, 0);
    out.extend_from_slice(&0_u32.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Appends a header block as HEADERS, and as CONTINUATION the part beyond the largest frame.
/// `is_end`: no body follows.
pub fn append_headers(out: &mut Vec<u8>, stream: u32, block: &[u8], largest: usize, is_end: bool) {
    let end = if is_end { END_STREAM } else { 0 };
    let mut pieces = block.chunks(largest).peekable();
    let mut kind = HEADERS;
    loop {
        let piece = pieces.next().unwrap_or_default();
        let is_last = pieces.peek().is_none();
        let last = if is_last { END_HEADERS } else { 0 };
        let flags = if kind == HEADERS { end | last } else { last };
        append_header(out, piece.len(), kind, flags, stream);
        out.extend_from_slice(piece);
        if is_last {
            return;
        }
        kind = CONTINUATION;
    }
}

/// Appends the header of a DATA frame, after which `length` bytes of a body follow.
pub fn append_data_header(out: &mut Vec<u8>, stream: u32, length: usize, is_end: bool) {
    let flags = if is_end { END_STREAM } else { 0 };
    append_header(out, length, DATA, flags, stream);
}
