//! Statistics of a sink, in memory that is bounded for each flow.
//!
//! A [`DatagramSink`] reads sequence numbers and time stamps of a UDP flow; a [`StreamSink`] only
//! sees the bytes of a TCP flow. Both have a series of seconds, and figures of the whole flow.

mod datagrams;
mod delays;
mod gaps;
mod seconds;
mod stream;

pub use datagrams::{DatagramArrival, DatagramFigures, DatagramSink, SequenceWidth};
pub use delays::DelayVariation;
pub use seconds::{LONGEST_SERIES_S, SinkSecond};
pub use stream::{StreamFigures, StreamSink};
