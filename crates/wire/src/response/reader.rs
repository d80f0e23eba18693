//! The state machine that reads one response.

use super::framing::{BodyFraming, Framing, framing};
use super::head;
use super::{KEPT_BYTES, Limits, ProtocolError, ResponseHead, Truncation};
use crate::chunked::{ChunkEvent, ChunkedDecoder, LineScanner, ScanResult};

/// Bytes of CR and LF that are skipped before a status line.
const LEADING_BYTES: usize = 8;
/// Longest head that is compared with the next one.
const REPEATED_BYTES: usize = 2 * 1024;

/// Reads one response, incrementally, and after a [`restart`](ResponseReader::restart) another.
///
/// The bytes of a head are not consumed before the head is complete: until then [`step`] returns
/// [`NeedMore`](ReadEvent::NeedMore) and the caller offers the same bytes again, with more after
/// them. So the first unconsumed byte is always the first byte of the message that is being read,
/// and a caller that remembers when the first unconsumed byte arrived has, once [`started`] is
/// true, the moment at which the final response began.
///
/// [`step`]: ResponseReader::step
/// [`started`]: ResponseReader::started
#[derive(Debug, Clone)]
pub struct ResponseReader {
    request_is_head: bool,
    limits: Limits,
    state: ReaderState,
    /// The part of the unconsumed head that has been scanned.
    scanner: LineScanner,
    leading: usize,
    interim: u32,
    started: bool,
    /// The final response if `head_is_complete`, else whatever was read last.
    head: ResponseHead,
    head_is_complete: bool,
    /// The head allows another use of the connection.
    keep_alive: bool,
    /// Body bytes passed on.
    received: u64,
    repeat: Repeat,
}

/// The last head as bytes, and its parsed form. A server that receives the same request again sends
/// the same head again, but for the second of the Date, so one parse serves ten thousand responses.
#[derive(Debug, Clone, Default)]
struct Repeat {
    /// `head` still holds the parsed form of these bytes.
    is_valid: bool,
    bytes: Vec<u8>,
    request_is_head: bool,
    framing: Option<BodyFraming>,
}

#[derive(Debug, Clone)]
enum ReaderState {
    Head,
    Length { left: u64, expected: u64 },
    Chunked(ChunkedDecoder),
    UntilClose,
    Done,
}

/// Result of one call of [`ResponseReader::step`].
#[derive(Debug, PartialEq, Eq)]
pub struct ReadStep<'a> {
    /// Number of bytes consumed; the rest is offered again.
    pub consumed: usize,
    /// Their meaning.
    pub event: ReadEvent<'a>,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadEvent<'a> {
    /// More bytes are needed. Keep the input that was not consumed.
    NeedMore,
    /// A whole interim response with this status; the final one is still to come.
    Interim(u16),
    /// The head of the final response, available from [`ResponseReader::head`].
    Head,
    /// Bytes of the body, without framing. Never empty.
    Body(&'a [u8]),
    /// The response is complete. The rest of the input does not belong to it.
    End,
}

impl ResponseReader {
    /// A reader for the response to a request, which has no body if the request was a HEAD.
    pub fn new(request_is_head: bool, limits: Limits) -> ResponseReader {
        ResponseReader {
            request_is_head,
            limits,
            state: ReaderState::Head,
            scanner: LineScanner::default(),
            leading: 0,
            interim: 0,
            started: false,
            head: ResponseHead::default(),
            head_is_complete: false,
            keep_alive: false,
            received: 0,
            repeat: Repeat::default(),
        }
    }

    /// Discards the response, complete or not, and begins with the one to the next request.
    ///
    /// The memory of the last head is reused, so a connection that is read by one reader costs no
    /// allocations once its largest head has been seen. Memory of an unusually large head is
    /// released.
    pub fn restart(&mut self, request_is_head: bool) {
        self.request_is_head = request_is_head;
        self.state = ReaderState::Head;
        self.scanner = LineScanner::default();
        self.leading = 0;
        self.interim = 0;
        self.started = false;
        if !self.repeat.is_valid {
            self.head.recycle(KEPT_BYTES);
        }
        self.head_is_complete = false;
        self.keep_alive = false;
        self.received = 0;
    }

    /// Consumes bytes of `input`, up to and including one event.
    ///
    /// Call it again with `input[consumed..]` until it returns [`NeedMore`](ReadEvent::NeedMore) or
    /// [`End`](ReadEvent::End); after `NeedMore` with more bytes after the unconsumed ones. An
    /// empty input is fine. No step consumes bytes of two messages.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Result<ReadStep<'a>, ProtocolError> {
        match &mut self.state {
            ReaderState::Head => self.step_head(input),
            ReaderState::Length { left, .. } => {
                let take = usize::try_from(*left).map_or(input.len(), |n| n.min(input.len()));
                *left -= take as u64;
                if *left == 0 {
                    self.state = ReaderState::Done;
                }
                Ok(self.body(take, &input[..take]))
            }
            ReaderState::Chunked(_) => self.step_chunked(input),
            ReaderState::UntilClose
                if self.received == self.limits.body_bytes && !input.is_empty() =>
            {
                Err(ProtocolError::BodyTooLarge(self.limits.body_bytes))
            }
            ReaderState::UntilClose => {
                let room = self.limits.body_bytes - self.received;
                let take = usize::try_from(room).map_or(input.len(), |n| n.min(input.len()));
                Ok(self.body(take, &input[..take]))
            }
            ReaderState::Done => Ok(ReadStep {
                consumed: 0,
                event: ReadEvent::End,
            }),
        }
    }

    /// Reports the end of the connection: correct after the end of the response, and where it marks
    /// the end of the body.
    pub fn eof(&mut self) -> Result<(), ProtocolError> {
        let truncation = match &self.state {
            ReaderState::Done => return Ok(()),
            ReaderState::UntilClose => {
                self.state = ReaderState::Done;
                return Ok(());
            }
            ReaderState::Head if self.scanner.scanned > 0 => Truncation::Head(self.scanner.scanned),
            ReaderState::Head if self.interim > 0 => Truncation::Interim,
            ReaderState::Head => return Err(ProtocolError::NoResponse),
            ReaderState::Length { expected, .. } => Truncation::Body {
                received: self.received,
                expected: *expected,
            },
            ReaderState::Chunked(_) => Truncation::Chunked(self.received),
        };
        Err(ProtocolError::Truncated(truncation))
    }

    /// The head of the final response, once it is complete. Available after an error in the body as
    /// well.
    pub fn head(&self) -> Option<&ResponseHead> {
        self.head_is_complete.then_some(&self.head)
    }

    /// The response is complete: its last byte has been consumed.
    pub fn is_done(&self) -> bool {
        matches!(self.state, ReaderState::Done)
    }

    /// A byte of the final response has been offered.
    ///
    /// The first digit of the status distinguishes a final response from an interim one, so the
    /// nine bytes before it count as "not yet known". They are not consumed: when this turns true,
    /// the final response began with the first unconsumed byte.
    pub fn started(&self) -> bool {
        self.started
    }

    /// Bytes that remain of a body whose length was given: nothing else can arrive before them.
    pub fn body_left(&self) -> u64 {
        match self.state {
            ReaderState::Length { left, .. } => left,
            _ => 0,
        }
    }

    /// The response is complete and the connection may carry another request.
    ///
    /// Bytes after the [`End`](ReadEvent::End) belong to no request; a caller that has some should
    /// not use the connection again.
    pub fn reusable(&self) -> bool {
        self.is_done() && self.keep_alive
    }

    fn step_head<'a>(&mut self, input: &'a [u8]) -> Result<ReadStep<'a>, ProtocolError> {
        if self.repeat.is_valid {
            if let Some(step) = self.same_again(input) {
                return step;
            }
            self.repeat.is_valid = false;
            self.head.recycle(KEPT_BYTES);
        }
        let skipped = self.skip_leading(input)?;
        let input = &input[skipped..];
        head::check_start(input)?;
        let digit = input.get(head::STATUS_AT);
        self.started |= digit.is_some_and(|&digit| digit != b'1');
        if self.scanner.scanned == 0
            && let Some(length) = head::parse_plain(input, &self.limits, &mut self.head)
        {
            return Ok(ReadStep {
                consumed: skipped + length,
                event: self.whole_head(&input[..length])?,
            });
        }
        // Bytes that were scanned by an earlier call are not scanned again.
        let scanned = self.scanner.scanned.min(input.len());
        let (rest, limit) = (&input[scanned..], self.limits.head_bytes);
        match self.scanner.find_end(rest, limit) {
            ScanResult::Open => Ok(ReadStep {
                consumed: skipped,
                event: ReadEvent::NeedMore,
            }),
            ScanResult::TooLong => Err(ProtocolError::HeadTooLong(self.limits.head_bytes)),
            ScanResult::End(length) => {
                let length = scanned + length;
                let lines = self.scanner.lines;
                self.scanner = LineScanner::default();
                head::parse(&input[..length], lines, self.limits.headers, &mut self.head)?;
                Ok(ReadStep {
                    consumed: skipped + length,
                    event: self.whole_head(&input[..length])?,
                })
            }
        }
    }

    /// Reads the head again if the input begins with all bytes of the last head.
    fn same_again<'a>(&mut self, input: &[u8]) -> Option<Result<ReadStep<'a>, ProtocolError>> {
        let same = self.repeat.request_is_head == self.request_is_head
            && input.starts_with(&self.repeat.bytes);
        let framing = self.repeat.framing.filter(|_| same)?;
        self.started = true;
        self.head_is_complete = true;
        let consumed = self.repeat.bytes.len();
        let event = self.follow(framing);
        Some(event.map(|event| ReadStep { consumed, event }))
    }

    /// Skips line ends before a status line; none once the head has begun, for they are not
    /// consumed.
    fn skip_leading(&mut self, input: &[u8]) -> Result<usize, ProtocolError> {
        if self.scanner.scanned > 0 {
            return Ok(0);
        }
        let is_line_end = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let skipped = input.iter().take_while(is_line_end).count();
        self.leading += skipped;
        if self.leading > LEADING_BYTES {
            return Err(head::not_http(input));
        }
        Ok(skipped)
    }

    /// Handles a parsed head: is it the final one, and what follows?
    fn whole_head<'a>(&mut self, bytes: &[u8]) -> Result<ReadEvent<'a>, ProtocolError> {
        match self.head.status {
            101 => return Err(ProtocolError::Switching),
            100..200 if self.interim == self.limits.interim => {
                return Err(ProtocolError::TooManyInterim(self.limits.interim));
            }
            status @ 100..200 => {
                self.interim += 1;
                return Ok(ReadEvent::Interim(status));
            }
            _ => self.head_is_complete = true,
        }
        let framing = framing(&self.head, self.request_is_head)?;
        if bytes.len() <= REPEATED_BYTES {
            self.repeat.is_valid = true;
            self.repeat.bytes.clear();
            self.repeat.bytes.extend_from_slice(bytes);
            self.repeat.request_is_head = self.request_is_head;
            self.repeat.framing = Some(framing);
        }
        self.follow(framing)
    }

    /// Sets the state after a final head.
    fn follow<'a>(&mut self, framing: BodyFraming) -> Result<ReadEvent<'a>, ProtocolError> {
        self.keep_alive = framing.reusable;
        self.state = match framing.body {
            Framing::None | Framing::Length(0) => ReaderState::Done,
            Framing::Length(length) if length > self.limits.body_bytes => {
                return Err(ProtocolError::BodyTooLarge(self.limits.body_bytes));
            }
            Framing::Length(length) => ReaderState::Length {
                left: length,
                expected: length,
            },
            Framing::Chunked => ReaderState::Chunked(ChunkedDecoder::new(self.limits.head_bytes)),
            Framing::UntilClose => ReaderState::UntilClose,
        };
        Ok(ReadEvent::Head)
    }

    fn step_chunked<'a>(&mut self, input: &'a [u8]) -> Result<ReadStep<'a>, ProtocolError> {
        let ReaderState::Chunked(decoder) = &mut self.state else {
            return Ok(ReadStep {
                consumed: 0,
                event: ReadEvent::NeedMore,
            });
        };
        let (consumed, event) = decoder.step(input)?;
        // By the announced bytes: the result must not depend on how the input was split.
        if decoder.announced() > self.limits.body_bytes {
            return Err(ProtocolError::BodyTooLarge(self.limits.body_bytes));
        }
        Ok(match event {
            ChunkEvent::NeedMore => ReadStep {
                consumed,
                event: ReadEvent::NeedMore,
            },
            ChunkEvent::Data(data) => self.body(consumed, data),
            ChunkEvent::End => {
                self.state = ReaderState::Done;
                ReadStep {
                    consumed,
                    event: ReadEvent::End,
                }
            }
        })
    }

    fn body<'a>(&mut self, consumed: usize, data: &'a [u8]) -> ReadStep<'a> {
        self.received += data.len() as u64;
        let event = if data.is_empty() {
            ReadEvent::NeedMore
        } else {
            ReadEvent::Body(data)
        };
        ReadStep { consumed, event }
    }
}
