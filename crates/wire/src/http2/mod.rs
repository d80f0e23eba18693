//! HTTP/2 (RFC 9113) as bytes: frames and header blocks. Streams, windows and reactions to frames
//! are implemented by the connection.
//!
//! ```text
//! bytes ----> FrameReader ----> FrameEvent ---- block ----> HeaderDecoder ----> ResponseHead, as of HTTP/1
//! head of a request, as of HTTP/1 ----> append_request_block ----> append_headers, append_data ----> bytes
//! ```
//!
//! The coding of header fields (HPACK, RFC 7541) has its tables and bounds here, because the
//! existing crates panic at some input of a hostile server, or build a hash table for each string.
//! The Huffman code comes from a crate.

mod block;
mod error;
mod frame;
mod reader;
mod request;
mod table;

pub use block::HeaderDecoder;
pub use error::{ErrorCode, FrameError};
pub use frame::{
    FrameHeader, PREFACE, PeerSetting, SettingsPayload, append_data_header, append_goaway,
    append_headers, append_ping_ack, append_reset, append_settings, append_settings_ack,
    append_window_update,
};
pub use reader::{FrameEvent, FrameReader};
pub use request::append_request_block;

/// Largest frame that a peer may send by default, in bytes of payload (RFC 9113, section 6.5.2); a
/// larger one is never permitted here.
pub const LARGEST_FRAME: usize = 16 * 1024;

/// Default size of windows, in bytes (RFC 9113, section 6.9.2).
pub const USUAL_WINDOW: u32 = 65_535;

/// Largest window, in bytes (RFC 9113, section 6.9.1).
pub const LARGEST_WINDOW: u32 = (1 << 31) - 1;
