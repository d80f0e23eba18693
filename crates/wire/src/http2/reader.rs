//! Frames as they are read.

use super::frame::{
    ACK, CONTINUATION, DATA, GOAWAY, HEADERS, PADDED, PING, PRIORITY, PUSH_PROMISE, RST_STREAM,
    SETTINGS, SettingsPayload, WINDOW_UPDATE,
};
use super::{ErrorCode, FrameError, FrameHeader, LARGEST_FRAME};

const HEADER: usize = FrameHeader::BYTES;

/// Reads frames, incrementally: bodies are passed on as they arrive, everything else when it is
/// complete.
#[derive(Debug)]
pub struct FrameReader {
    header: [u8; HEADER],
    /// Bytes of `header` that have arrived.
    have: usize,
    frame: Option<FrameUnderWay>,
    /// Payload of a frame that arrived in several pieces.
    payload: Vec<u8>,
    /// A header block that arrived in several frames.
    block: Vec<u8>,
    /// The stream of that block, and whether it ends the stream.
    continued: Option<(u32, bool)>,
    largest_block: usize,
}

/// A frame whose header has arrived.
#[derive(Debug, Clone, Copy)]
struct FrameUnderWay {
    header: FrameHeader,
    /// Bytes of payload that have not been consumed.
    left: usize,
    /// Of them, padding of DATA at the end; `None` until it is known.
    padding: Option<usize>,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum FrameEvent<'a> {
    /// All of the input is consumed, and no event is complete.
    NeedMore,
    /// A HEADERS frame begins: its first byte was the first of the nine that were consumed last.
    HeadersBegin {
        /// Number of the stream.
        stream: u32,
    },
    /// A whole header block.
    Headers {
        /// Number of the stream.
        stream: u32,
        /// The block, to be decoded in any case: the table depends on it.
        block: &'a [u8],
        /// No body follows.
        is_end: bool,
    },
    /// Part of a body; may be empty.
    Data {
        /// Number of the stream.
        stream: u32,
        /// The bytes, without padding.
        data: &'a [u8],
        /// Bytes that count against the windows.
        counted: u32,
        /// The body ends here.
        is_end: bool,
    },
    /// The peer aborts a stream.
    Reset {
        /// Number of the stream.
        stream: u32,
        /// Why.
        code: ErrorCode,
    },
    /// Settings, to be acknowledged.
    Settings(SettingsPayload<'a>),
    /// The acknowledgement of the settings that were sent.
    SettingsAck,
    /// A PING, to be replied to with the same bytes.
    Ping([u8; 8]),
    /// The peer processes no streams above this one.
    GoAway {
        /// Number of the last stream that it has processed or may process.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
        /// Debug data of the peer, unchecked.
        debug: &'a [u8],
    },
    /// More bytes may be sent.
    WindowUpdate {
        /// Number of the stream, 0 for the connection.
        stream: u32,
        /// Number of bytes; never 0.
        increment: u32,
    },
    /// A frame without meaning here.
    Ignored,
}

/// Bytes consumed, and the event.
type Stepped<'a> = (usize, FrameEvent<'a>);

impl FrameReader {
    /// A reader at the beginning of a connection, for header blocks of at most `largest_block`
    /// bytes.
    pub fn new(largest_block: usize) -> FrameReader {
        FrameReader {
            header: [0; HEADER],
            have: 0,
            frame: None,
            payload: Vec::new(),
            block: Vec::new(),
            continued: None,
            largest_block,
        }
    }

    /// Bytes to the end of the frame's header, or of the frame: a caller that reads no more than
    /// these gets nothing of another frame.
    pub fn missing(&self) -> usize {
        match &self.frame {
            None => HEADER - self.have,
            Some(frame) => (frame.left - self.payload.len()).max(1),
        }
    }

    /// The header of a frame has begun and is not complete.
    pub fn is_within_header(&self) -> bool {
        self.have > 0
    }

    /// The stream of the frame whose header was completed last.
    pub fn stream(&self) -> u32 {
        FrameHeader::parse(self.header).stream
    }

    /// No frame or header block is incomplete.
    pub fn is_between_frames(&self) -> bool {
        self.have == 0 && self.frame.is_none() && self.continued.is_none()
    }

    /// Consumes bytes of `input`, up to and including one event; returns their number.
    ///
    /// # Errors
    /// The input violates RFC 9113. The reader is of no use afterwards.
    pub fn step<'a>(&'a mut self, input: &'a [u8]) -> Result<Stepped<'a>, FrameError> {
        let Some(frame) = self.frame else {
            return self.step_header(input);
        };
        if frame.header.is_data() {
            return self.step_data(frame, input);
        }
        let (count, payload) = if self.payload.is_empty() && input.len() >= frame.left {
            (frame.left, &input[..frame.left])
        } else {
            let count = input.len().min(frame.left - self.payload.len());
            self.payload.extend_from_slice(&input[..count]);
            if self.payload.len() < frame.left {
                return Ok((count, FrameEvent::NeedMore));
            }
            (count, &self.payload[..])
        };
        self.frame = None;
        let (block, continued) = (&mut self.block, &mut self.continued);
        let event = event(frame.header, payload, self.largest_block, block, continued)?;
        Ok((count, event))
    }

    fn step_header(&mut self, input: &[u8]) -> Result<Stepped<'static>, FrameError> {
        let count = input.len().min(HEADER - self.have);
        self.header[self.have..self.have + count].copy_from_slice(&input[..count]);
        self.have += count;
        if self.have < HEADER {
            return Ok((count, FrameEvent::NeedMore));
        }
        self.have = 0;
        self.payload.clear();
        let header = FrameHeader::parse(self.header);
        check(header, self.continued)?;
        self.frame = Some(FrameUnderWay {
            header,
            left: header.length,
            padding: (header.flags & PADDED == 0).then_some(0),
        });
        let stream = header.stream;
        let event = if header.is_headers() {
            FrameEvent::HeadersBegin { stream }
        } else {
            FrameEvent::Ignored
        };
        Ok((count, event))
    }

    fn step_data<'a>(
        &mut self,
        mut frame: FrameUnderWay,
        input: &'a [u8],
    ) -> Result<Stepped<'a>, FrameError> {
        let mut taken = 0;
        let padding = match (frame.padding, input.first()) {
            (Some(padding), _) => padding,
            (None, None) => return Ok((0, FrameEvent::NeedMore)),
            (None, Some(&padding)) => {
                taken = 1;
                let padding = usize::from(padding);
                let left = frame.left.checked_sub(1 + padding);
                frame.left = left.ok_or(FrameError::Padding("DATA"))? + padding;
                frame.padding = Some(padding);
                padding
            }
        };
        if input.len() == taken && frame.left > 0 {
            self.frame = Some(frame);
            let event = if taken == 0 {
                FrameEvent::NeedMore
            } else {
                data(frame.header, &[], taken, false)
            };
            return Ok((taken, event));
        }
        let body = (frame.left - padding.min(frame.left)).min(input.len() - taken);
        let bytes = &input[taken..taken + body];
        frame.left -= body;
        taken += body;
        if frame.left <= padding {
            let count = frame.left.min(input.len() - taken);
            frame.left -= count;
            frame.padding = Some(padding - count.min(padding));
            taken += count;
        }
        let is_over = frame.left == 0;
        self.frame = (!is_over).then_some(frame);
        let is_end = is_over && frame.header.ends_stream();
        Ok((taken, data(frame.header, bytes, taken, is_end)))
    }
}

fn data(frame: FrameHeader, data: &[u8], counted: usize, is_end: bool) -> FrameEvent<'_> {
    FrameEvent::Data {
        stream: frame.stream,
        data,
        counted: counted as u32,
        is_end,
    }
}

/// Checks a header alone.
fn check(frame: FrameHeader, continued: Option<(u32, bool)>) -> Result<(), FrameError> {
    let FrameHeader { length, stream, .. } = frame;
    if length > LARGEST_FRAME {
        return Err(FrameError::TooLarge(length));
    }
    match continued {
        Some((other, _)) if frame.kind != CONTINUATION || other != stream => {
            return Err(FrameError::Continuation);
        }
        None if frame.kind == CONTINUATION => return Err(FrameError::Continuation),
        _ => {}
    }
    let is_ack = frame.flags & ACK != 0;
    let (kind, section, is_of_stream, is_right) = match frame.kind {
        DATA => ("DATA", "6.1", Some(true), true),
        HEADERS => ("HEADERS", "6.2", Some(true), true),
        PRIORITY => ("PRIORITY", "6.3", Some(true), length == 5),
        RST_STREAM => ("RST_STREAM", "6.4", Some(true), length == 4),
        SETTINGS if is_ack => ("SETTINGS", "6.5", Some(false), length == 0),
        SETTINGS => ("SETTINGS", "6.5", Some(false), length.is_multiple_of(6)),
        PUSH_PROMISE => return Err(FrameError::Push),
        PING => ("PING", "6.7", Some(false), length == 8),
        GOAWAY => ("GOAWAY", "6.8", Some(false), length >= 8),
        WINDOW_UPDATE => ("WINDOW_UPDATE", "6.9", None, length == 4),
        _ => return Ok(()),
    };
    if is_of_stream.is_some_and(|is_of_stream| is_of_stream == (stream == 0)) {
        return Err(FrameError::WrongStream {
            kind,
            stream,
            section,
        });
    }
    if !is_right {
        return Err(FrameError::Length {
            kind,
            length,
            section,
        });
    }
    Ok(())
}

/// The event of a whole frame other than DATA.
fn event<'a>(
    frame: FrameHeader,
    payload: &'a [u8],
    largest_block: usize,
    block: &'a mut Vec<u8>,
    continued: &mut Option<(u32, bool)>,
) -> Result<FrameEvent<'a>, FrameError> {
    let stream = frame.stream;
    let number = |at: usize| {
        let bytes = payload.get(at..).and_then(|rest| rest.first_chunk());
        u32::from_be_bytes(bytes.copied().unwrap_or_default())
    };
    let is_ack = frame.flags & ACK != 0;
    Ok(match frame.kind {
        HEADERS | CONTINUATION => {
            let (part, is_end) = match *continued {
                Some((_, is_end)) => (payload, is_end),
                None => {
                    block.clear();
                    (frame.fragment(payload)?, frame.ends_stream())
                }
            };
            if block.len() + part.len() > largest_block {
                return Err(FrameError::BlockTooLong(largest_block));
            }
            let is_complete = frame.ends_block();
            if is_complete && continued.is_none() {
                return Ok(FrameEvent::Headers {
                    stream,
                    block: part,
                    is_end,
                });
            }
            // A sequence of empty frames could be endless.
            if part.is_empty() && !is_complete {
                return Err(FrameError::Continuation);
            }
            block.extend_from_slice(part);
            if !is_complete {
                *continued = Some((stream, is_end));
                return Ok(FrameEvent::Ignored);
            }
            *continued = None;
            FrameEvent::Headers {
                stream,
                block,
                is_end,
            }
        }
        RST_STREAM => FrameEvent::Reset {
            stream,
            code: ErrorCode(number(0)),
        },
        SETTINGS if is_ack => FrameEvent::SettingsAck,
        SETTINGS => FrameEvent::Settings(SettingsPayload(payload)),
        PING if is_ack => FrameEvent::Ignored,
        PING => FrameEvent::Ping(payload.try_into().unwrap_or_default()),
        GOAWAY => FrameEvent::GoAway {
            last_stream: number(0) & (u32::MAX >> 1),
            code: ErrorCode(number(4)),
            debug: &payload[8..],
        },
        WINDOW_UPDATE => match number(0) & (u32::MAX >> 1) {
            0 => return Err(FrameError::Window(0)),
            increment => FrameEvent::WindowUpdate { stream, increment },
        },
        _ => FrameEvent::Ignored,
    })
}
