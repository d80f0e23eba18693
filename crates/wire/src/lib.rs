//! The protocols that Prestan speaks, as pure functions and state machines: bytes in, events out.
//!
//! ```text
//! Target ----> RequestHead --write_head--> bytes ~~~~ network ~~~~> bytes --ResponseReader--> events
//!                   ^                                                                          |
//!                   |                                                             207 --> dav::Multistatus
//!             Authenticator <----------------------- 401 --------------------------------------|
//! ```
//!
//! Nothing here opens a socket, reads a clock, draws a random number, prints or touches a file; the
//! caller passes in the results of such calls. Therefore every path is testable with a table of
//! bytes, and the engine alone decides when a moment is measured.
//!
//! Input of a server is never trusted: everything has a bound, and text of the server is cut and
//! escaped before it gets into a message.

pub mod auth;
pub mod chunked;
pub mod coding;
pub mod dav;
mod excerpt;
pub mod http2;
pub mod redact;
pub mod request;
pub mod response;
pub mod server_timing;
pub mod target;
