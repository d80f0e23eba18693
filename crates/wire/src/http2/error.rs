//! Errors of a peer.

use std::fmt;

use thiserror::Error;

/// An error code of RFC 9113, section 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing is wrong.
    pub const NO_ERROR: ErrorCode = ErrorCode(0);
    /// A violation that has no code of its own.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(1);
    /// More was sent than a window allows, or a window is too large.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(3);
    /// A frame has a length that it must not have.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(6);
    /// The request was not processed in any way, and may be sent again.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(7);
    /// The response is not needed any more.
    pub const CANCEL: ErrorCode = ErrorCode(8);
    /// A header block cannot be decoded.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(9);
    /// Excessive load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(11);

    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
}

impl fmt::Display for ErrorCode {
    /// Writes the name, or the number where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = usize::try_from(self.0).ok();
        match code.and_then(|code| ErrorCode::NAMES.get(code)) {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {}", self.0),
        }
    }
}

/// A peer violated HTTP/2, or exceeded one of the bounds here. The connection cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Larger than the permitted frame size.
    #[error("a frame of {0} bytes came, and 16384 are allowed (RFC 9113, section 4.2)")]
    TooLarge(usize),
    /// A frame of fixed length has a different length.
    #[error("a {kind} frame came with {length} bytes of payload (RFC 9113, section {section})")]
    Length {
        /// Name of its type.
        kind: &'static str,
        /// Bytes of payload.
        length: usize,
        /// Section that defines the length.
        section: &'static str,
    },
    /// A frame of the connection arrived on a stream, or the other way round.
    #[error("a {kind} frame came on stream {stream} (RFC 9113, section {section})")]
    WrongStream {
        /// Name of its type.
        kind: &'static str,
        /// Number of the stream.
        stream: u32,
        /// Section that forbids it.
        section: &'static str,
    },
    /// The padding is longer than the frame.
    #[error("a {0} frame has more padding than payload (RFC 9113, section 6.1)")]
    Padding(&'static str),
    /// A header block was interrupted, or a continuation has no beginning.
    #[error("a header block is not continued as it must be (RFC 9113, section 6.10)")]
    Continuation,
    /// More than [`Limits::head_bytes`](crate::response::Limits::head_bytes).
    #[error("the header block of a response is longer than {0} bytes")]
    BlockTooLong(usize),
    /// A push, which is disabled.
    #[error(
        "the server pushes (PUSH_PROMISE), which SETTINGS_ENABLE_PUSH=0 forbids (RFC 9113, section 8.4)"
    )]
    Push,
    /// A setting has a value that it must not have.
    #[error("{name} is {value}, which is out of range (RFC 9113, section 6.5.2)")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: u32,
    },
    /// A window grows by nothing, or beyond the largest size.
    #[error(
        "a window is enlarged by {0} to more than 2^31-1, or by nothing (RFC 9113, section 6.9)"
    )]
    Window(u32),
    /// A header block cannot be decoded.
    #[error("a header block cannot be decoded: {0}")]
    Block(&'static str),
    /// A frame arrived on a stream that was never opened.
    #[error("a frame came on stream {0}, which was never opened (RFC 9113, section 5.1)")]
    IdleStream(u32),
}

impl FrameError {
    /// The error code that is sent to the peer.
    pub fn code(self) -> ErrorCode {
        match self {
            FrameError::TooLarge(_) | FrameError::Length { .. } => ErrorCode::FRAME_SIZE_ERROR,
            FrameError::Window(_) => ErrorCode::FLOW_CONTROL_ERROR,
            FrameError::Setting {
                name: "SETTINGS_INITIAL_WINDOW_SIZE",
                ..
            } => ErrorCode::FLOW_CONTROL_ERROR,
            FrameError::BlockTooLong(_) => ErrorCode::ENHANCE_YOUR_CALM,
            FrameError::Block(_) => ErrorCode::COMPRESSION_ERROR,
            FrameError::WrongStream { .. }
            | FrameError::Padding(_)
            | FrameError::Continuation
            | FrameError::Push
            | FrameError::Setting { .. }
            | FrameError::IdleStream(_) => ErrorCode::PROTOCOL_ERROR,
        }
    }
}
