//! Packets of a capture -> TCP segments -> connections with their figures and their requests.
//!
//! ```text
//! bytes of a file --> file::CaptureReader --> CapturedPacket --> link::Dissector --> TcpSegment --> order
//!                                                                ip, fragments, tunnel
//! TcpSegment --> connections::TcpConnections --+--> ConnectionFigures --> findings::findings
//!                  |- clock                    `--> TracedRequest --> on_wire::WireJoin
//!                  |- connection
//!                  |- wireshark       marks as tshark gives them
//!                  |- direction       scoreboard, retransmission, round_trip, series
//!                  |- transaction     reassembly (bytes in order), request_head, http2 (frames), tls
//!                  |- path            round trips and windows where the receiver is near
//!                  `- waits           what the time was spent on
//! contents: all of this over a file; on_wire: reported times beside those of requests
//! rto: timeouts of other settings, over the round trips of a direction
//! ```
//!
//! Everything here is pure and reads untrusted bytes: nothing in a packet makes it panic.

pub mod clock;
pub mod connection;
pub mod connections;
pub mod contents;
mod copies;
pub mod direction;
pub mod file;
pub mod findings;
mod fragments;
mod http2;
mod ip;
mod limits;
pub mod link;
pub mod not_tcp;
pub mod on_wire;
mod order;
mod pace;
pub mod path;
mod reassembly;
mod request_head;
pub mod retransmission;
pub mod round_trip;
pub mod rto;
mod scoreboard;
pub mod segment;
mod sequence;
pub mod series;
#[cfg(test)]
mod tests;
pub mod tls;
pub mod transaction;
mod tunnel;
mod wait_event;
mod wait_totals;
pub mod waits;
pub mod wireshark;

pub use connection::ConnectionFigures;
pub use connections::{TcpConnections, TracedConnections};
pub use contents::{CaptureContents, ReadingOptions, read_capture};
pub use file::{CaptureReader, CapturedPacket, PcapngWriter};
pub use limits::AnalysisLimits;
pub use link::Dissector;
pub use segment::TcpSegment;
pub use transaction::TracedRequest;
