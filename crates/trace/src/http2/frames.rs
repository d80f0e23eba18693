//! Frames of one direction of HTTP/2 (RFC 9113, section 4.1), as its bytes pass. Pure.
//!
//! Each frame determines where the next one begins, and the capture cuts packets: after a header of
//! a frame that was cut, frames are unknown until a packet begins with the HEADERS of an expected
//! stream.

use wire::http2::{FrameHeader, LARGEST_FRAME, PREFACE};

use crate::reassembly::NewBytes;

/// The first byte of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameStart {
    pub(super) at_ns: i64,
    pub(super) packet: u64,
    /// Offset in the other direction that the sender expected next.
    pub(super) acknowledged: i64,
}

/// Adjacent bytes of a frame that passed together.
#[derive(Debug, Clone, Copy)]
pub(super) struct FramePart<'a> {
    pub(super) header: FrameHeader,
    pub(super) start: FrameStart,
    pub(super) at_ns: i64,
    /// Offset behind these bytes.
    pub(super) end: i64,
    /// These bytes complete the header.
    pub(super) is_first: bool,
    /// These bytes complete the frame.
    pub(super) is_last: bool,
    /// With the last part of HEADERS: the payload, if all of it was captured.
    pub(super) payload: Option<&'a [u8]>,
}

/// An element found in the bytes of a direction.
#[derive(Debug, Clone, Copy)]
pub(super) enum FrameFinding<'a> {
    Part(FramePart<'a>),
    /// The boundaries of frames are unknown from this offset on.
    Lost(i64),
    /// Bytes with unknown boundaries.
    Unreadable {
        at_ns: i64,
        length: i64,
        /// Offset behind them.
        end: i64,
    },
}

#[derive(Debug)]
enum WalkState {
    /// Bytes of the preface that are missing.
    Preface(usize),
    /// Within the header of a frame, or before it.
    Header {
        bytes: [u8; FrameHeader::BYTES],
        count: usize,
        start: FrameStart,
        /// Latest moment of its bytes: earlier ones in the stream may have been overtaken.
        latest_ns: i64,
    },
    Payload {
        header: FrameHeader,
        start: FrameStart,
        left: i64,
        payload: Option<Vec<u8>>,
    },
    Lost,
}

/// Finds the frames of a direction.
#[derive(Debug)]
pub(super) struct FrameWalk {
    state: WalkState,
    /// Offset behind the last bytes.
    expected: Option<i64>,
}

const BEFORE_HEADER: WalkState = WalkState::Header {
    bytes: [0; FrameHeader::BYTES],
    count: 0,
    start: FrameStart {
        at_ns: 0,
        packet: 0,
        acknowledged: 0,
    },
    latest_ns: 0,
};

/// The stream whose message begins with these bytes.
pub(super) fn message_begun(bytes: &NewBytes) -> Option<u32> {
    let header = FrameHeader::parse(*bytes.captured.first_chunk()?);
    let begins = header.is_headers() && header.ends_block() && header.length <= LARGEST_FRAME;
    begins.then_some(header.stream)
}

impl FrameWalk {
    /// Frames of a client, which begins with the preface.
    pub(super) fn for_client() -> FrameWalk {
        FrameWalk {
            state: WalkState::Preface(PREFACE.len()),
            expected: None,
        }
    }

    /// Frames of a server.
    pub(super) fn for_server() -> FrameWalk {
        FrameWalk {
            state: BEFORE_HEADER,
            expected: None,
        }
    }

    /// Reads the next bytes of the direction. `may_resume`: they begin with a frame that restores
    /// the boundaries.
    pub(super) fn read(
        &mut self,
        bytes: &NewBytes,
        may_resume: bool,
        mut each: impl FnMut(FrameFinding<'_>),
    ) {
        let expected = self.expected.replace(bytes.offset + bytes.length);
        if expected.is_some_and(|expected| expected != bytes.offset) && !self.is_lost() {
            self.state = WalkState::Lost;
            each(FrameFinding::Lost(bytes.offset));
        }
        if self.is_lost() && may_resume {
            self.state = BEFORE_HEADER;
        }
        let mut at = 0;
        while at < bytes.length {
            at += self.step(bytes, at, &mut each);
        }
    }

    fn is_lost(&self) -> bool {
        matches!(self.state, WalkState::Lost)
    }

    /// Reads the bytes after `at`, and returns how many were read.
    fn step(&mut self, bytes: &NewBytes, at: i64, each: &mut impl FnMut(FrameFinding<'_>)) -> i64 {
        let left = bytes.length - at;
        let captured = usize::try_from(at)
            .ok()
            .and_then(|at| bytes.captured.get(at..));
        let captured = captured.unwrap_or_default();
        match &mut self.state {
            WalkState::Preface(missing) => {
                let read = left.min(*missing as i64);
                *missing -= read as usize;
                if *missing == 0 {
                    self.state = BEFORE_HEADER;
                }
                read
            }
            WalkState::Header {
                bytes: header,
                count,
                start,
                latest_ns,
            } => {
                *latest_ns = bytes.at_ns.max(*latest_ns);
                if *count == 0 {
                    *latest_ns = bytes.at_ns;
                    *start = FrameStart {
                        at_ns: bytes.at_ns,
                        packet: bytes.packet,
                        acknowledged: bytes.acknowledged,
                    };
                }
                let read = captured.len().min(FrameHeader::BYTES - *count);
                if read == 0 {
                    each(FrameFinding::Lost(bytes.offset + at - *count as i64));
                    self.state = WalkState::Lost;
                    return 0;
                }
                header[*count..*count + read].copy_from_slice(&captured[..read]);
                *count += read;
                if *count == FrameHeader::BYTES {
                    let (header, start) = (FrameHeader::parse(*header), *start);
                    let (at_ns, end) = (*latest_ns, bytes.offset + at + read as i64);
                    self.begin(header, start, at_ns, end, each);
                }
                read as i64
            }
            WalkState::Payload { .. } => self.payload(bytes, at, captured, each),
            WalkState::Lost => {
                each(FrameFinding::Unreadable {
                    at_ns: bytes.at_ns,
                    length: left,
                    end: bytes.offset + bytes.length,
                });
                left
            }
        }
    }

    /// Handles a complete header of a frame.
    fn begin(
        &mut self,
        header: FrameHeader,
        start: FrameStart,
        at_ns: i64,
        end: i64,
        each: &mut impl FnMut(FrameFinding<'_>),
    ) {
        let is_read = header.is_headers() && header.length <= LARGEST_FRAME;
        each(FrameFinding::Part(FramePart {
            header,
            start,
            at_ns,
            end,
            is_first: true,
            is_last: header.length == 0,
            payload: is_read.then_some(&[][..]),
        }));
        self.state = match header.length {
            0 => BEFORE_HEADER,
            length => WalkState::Payload {
                header,
                start,
                left: length as i64,
                payload: is_read.then(Vec::new),
            },
        };
    }

    fn payload(
        &mut self,
        bytes: &NewBytes,
        at: i64,
        captured: &[u8],
        each: &mut impl FnMut(FrameFinding<'_>),
    ) -> i64 {
        let WalkState::Payload {
            header,
            start,
            left,
            payload,
        } = &mut self.state
        else {
            return 0;
        };
        let read = (bytes.length - at).min(*left);
        *left -= read;
        // Bytes that were cut cannot be read.
        *payload = payload.take().and_then(|mut payload| {
            payload.extend_from_slice(captured.get(..read as usize)?);
            Some(payload)
        });
        let is_last = *left == 0;
        each(FrameFinding::Part(FramePart {
            header: *header,
            start: *start,
            at_ns: bytes.at_ns,
            end: bytes.offset + at + read,
            is_first: false,
            is_last,
            payload: payload.as_deref().filter(|_| is_last),
        }));
        if is_last {
            self.state = BEFORE_HEADER;
        }
        read
    }
}
