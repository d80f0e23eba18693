//! The chunked transfer coding (RFC 9112, section 7.1), decoded as it arrives.
//!
//! ```text
//! size [;extension] CR LF  data CR LF   ...   0 [;extension] CR LF  [trailer LF]... [CR] LF
//! ```
//!
//! Extensions and trailers are read and dropped; both are bounded. A line of the framing ends with
//! CR LF and nothing less: decoders that accept a bare LF and decoders that do not would see
//! different chunks. Trailer lines may end with a bare LF, as lines of a head may (RFC 9112,
//! section 2.2).

use thiserror::Error;

use crate::excerpt;

/// Bytes that all extensions of a body may occupy together, with the blanks around them.
const EXTENSION_BYTES: usize = 16 * 1024;
/// Hexadecimal digits that a size may have: leading zeros are legal, but must end.
const SIZE_DIGITS: usize = 64;

/// Decodes one chunked body.
#[derive(Debug, Clone)]
pub struct ChunkedDecoder {
    state: ChunkState,
    /// Size of the current chunk, then what is left of it.
    size: u64,
    /// Data bytes of all chunks whose size is known.
    announced: u64,
    extension_bytes: usize,
    trailer: LineScanner,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    /// Within the digits of a size, of which this many have arrived.
    Size(usize),
    /// After the digits: blanks only, until a semicolon opens the extension.
    Blanks,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
    Done,
}

/// Result of a step.
#[derive(Debug, PartialEq, Eq)]
pub enum ChunkEvent<'a> {
    /// All input was consumed, and the body continues.
    NeedMore,
    /// Bytes of the body.
    Data(&'a [u8]),
    /// The body and its trailers are complete.
    End,
}

/// Why a chunked body is malformed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// Another character in the place of a hexadecimal digit.
    #[error("a chunk size has \"{0}\" in it (RFC 9112, section 7.1)")]
    Size(String),
    /// A size beyond 64 bits, or too many zeros.
    #[error("a chunk size has too many digits (RFC 9112, section 7.1)")]
    SizeTooLong,
    /// Extensions beyond their limit, which holds for the whole body.
    #[error("the chunk extensions are longer than {EXTENSION_BYTES} bytes")]
    ExtensionTooLong,
    /// A line that does not end with CR LF.
    #[error("\"{0}\" stands where a chunk needs its CR LF (RFC 9112, section 7.1)")]
    LineEnd(String),
    /// Trailers beyond the limit given to [`ChunkedDecoder::new`].
    #[error("the trailers are longer than {0} bytes")]
    TrailerTooLong(usize),
}

impl ChunkedDecoder {
    /// A decoder at the beginning of a body, for trailers of at most `trailer_bytes`.
    pub fn new(trailer_bytes: usize) -> ChunkedDecoder {
        ChunkedDecoder {
            state: ChunkState::Size(0),
            size: 0,
            announced: 0,
            extension_bytes: 0,
            trailer: LineScanner::default(),
            trailer_bytes,
        }
    }

    /// Consumes bytes up to the next event, and returns their number.
    ///
    /// Framing is consumed as it arrives, so `NeedMore` always means that all of `input` was
    /// consumed; data is passed on as it arrives, so a chunk may be several events.
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Result<(usize, ChunkEvent<'a>), ChunkError> {
        let mut at = 0;
        while self.state != ChunkState::Done {
            let rest = &input[at..];
            let Some(&byte) = rest.first() else {
                return Ok((at, ChunkEvent::NeedMore));
            };
            if self.state == ChunkState::Data {
                let take = usize::try_from(self.size).map_or(rest.len(), |n| n.min(rest.len()));
                self.size -= take as u64;
                if self.size == 0 {
                    self.state = ChunkState::DataCr;
                }
                return Ok((at + take, ChunkEvent::Data(&rest[..take])));
            }
            at += match self.state {
                ChunkState::Trailer => self.trailer(rest)?,
                _ => self.framing(byte).map(|()| 1)?,
            };
        }
        Ok((at, ChunkEvent::End))
    }

    /// Data bytes in all chunks whose size line has been read, received or not.
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// The end of the body was read.
    pub fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }

    /// One byte outside data and trailers.
    fn framing(&mut self, byte: u8) -> Result<(), ChunkError> {
        self.state = match (self.state, byte) {
            (ChunkState::Size(digits), _) if byte.is_ascii_hexdigit() => {
                self.digit(digits, byte)?
            }
            (ChunkState::Size(1..) | ChunkState::Blanks | ChunkState::Extension, b'\r') => {
                ChunkState::SizeLf
            }
            (ChunkState::Size(1..) | ChunkState::Blanks, b' ' | b'\t') => {
                self.extension(ChunkState::Blanks)?
            }
            (ChunkState::Size(1..) | ChunkState::Blanks, b';') => {
                self.extension(ChunkState::Extension)?
            }
            (ChunkState::Extension, byte) if byte != b'\n' => {
                self.extension(ChunkState::Extension)?
            }
            (ChunkState::SizeLf, b'\n') => self.size_known(),
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size(0),
            (ChunkState::Size(_) | ChunkState::Blanks, byte) if byte != b'\n' => {
                return Err(ChunkError::Size(excerpt::escaped_bytes(&[byte])));
            }
            (_, byte) => return Err(ChunkError::LineEnd(excerpt::escaped_bytes(&[byte]))),
        };
        Ok(())
    }

    fn digit(&mut self, digits: usize, byte: u8) -> Result<ChunkState, ChunkError> {
        let value = char::from(byte).to_digit(16).map_or(0, u64::from);
        let size = self.size.checked_mul(16).map(|size| size + value);
        match size {
            Some(size) if digits < SIZE_DIGITS => {
                self.size = size;
                Ok(ChunkState::Size(digits + 1))
            }
            _ => Err(ChunkError::SizeTooLong),
        }
    }

    fn extension(&mut self, next: ChunkState) -> Result<ChunkState, ChunkError> {
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSION_BYTES {
            return Err(ChunkError::ExtensionTooLong);
        }
        Ok(next)
    }

    fn size_known(&mut self) -> ChunkState {
        self.announced = self.announced.saturating_add(self.size);
        if self.size == 0 {
            ChunkState::Trailer
        } else {
            ChunkState::Data
        }
    }

    fn trailer(&mut self, input: &[u8]) -> Result<usize, ChunkError> {
        match self.trailer.find_end(input, self.trailer_bytes) {
            ScanResult::End(length) => {
                self.state = ChunkState::Done;
                Ok(length)
            }
            ScanResult::Open => Ok(input.len()),
            ScanResult::TooLong => Err(ChunkError::TrailerTooLong(self.trailer_bytes)),
        }
    }
}

/// Looks for the empty line that ends a head or the trailers, a piece at a time.
#[derive(Debug, Clone, Default)]
pub(crate) struct LineScanner {
    pub(crate) scanned: usize,
    /// Lines seen, the empty one included.
    pub(crate) lines: usize,
    line: TrailerLine,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum TrailerLine {
    #[default]
    Empty,
    Cr,
    Text,
}

pub(crate) enum ScanResult {
    /// The empty line ends after this many bytes of the piece.
    End(usize),
    Open,
    TooLong,
}

impl LineScanner {
    /// Scans the next piece. Lines end with LF; an empty line may have a CR before it.
    pub(crate) fn find_end(&mut self, piece: &[u8], limit: usize) -> ScanResult {
        for (at, &byte) in piece.iter().enumerate() {
            if self.scanned == limit {
                return ScanResult::TooLong;
            }
            self.scanned += 1;
            match (byte, self.line) {
                (b'\n', line) => {
                    self.lines += 1;
                    self.line = TrailerLine::Empty;
                    if line != TrailerLine::Text {
                        return ScanResult::End(at + 1);
                    }
                }
                (b'\r', TrailerLine::Empty) => self.line = TrailerLine::Cr,
                _ => self.line = TrailerLine::Text,
            }
        }
        ScanResult::Open
    }
}
