//! The protocols Prestan speaks, as pure functions and state machines: bytes in, events out.
//!
//! ```text
//! Target ----> RequestHead --write_head--> bytes ~~~~ network ~~~~> bytes --ResponseReader--> events
//!                   ^                                                                          |
//!                   |                                                             207 --> dav::Multistatus
//!             Authenticator <----------------------- 401 --------------------------------------|
//! ```
//!
//! Nothing here opens a socket, reads a clock, draws a random number, prints or touches a file;
//! whoever has those hands in what comes of them. That makes every path of it testable with a
//! table of bytes, and lets the engine decide alone when a moment is a moment.
//!
//! What a server sent is never trusted: everything has a bound, and text of the server that gets
//! into a message is cut and escaped first.

pub mod auth;
pub mod chunked;
pub mod coding;
pub mod dav;
mod excerpt;
pub mod http2;
pub mod request;
pub mod response;
pub mod server_timing;
pub mod shown;
pub mod target;
