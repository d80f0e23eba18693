//! Messages between a source and a sink, and their encoding: a length of four bytes, big-endian,
//! then that many bytes of JSON.
//!
//! ```text
//! sink                                     source
//! Greeting {version, nonce}         -->
//!                                   <--    Introduction {version, nonce, proof}
//! Welcome {proof}                   -->
//!                                   <--    Request {groups}
//! Agreed {groups} or Refused        -->
//!                                   <--    data, to the ports of the agreement
//! Received {flows}, each second     -->
//! Heartbeat, four times a second    <-->   Heartbeat
//! datagram, as often                -->    to the port of the request (link::LifeLine)
//!                                   <--    Finished
//! Received, the last               -->
//! ```

use serde::{Deserialize, Serialize};

/// The version of this protocol. A sink and a source of different versions refuse each other.
pub const PROTOCOL_VERSION: u32 = 5;

/// Longest message before the other side has proved that it shares the token.
pub const LONGEST_UNAUTHENTICATED: usize = 1024;
/// Longest message afterwards: the counts of all flows of a session.
pub const LONGEST_MESSAGE: usize = 4 << 20;
/// Most flows of one request, so that their counts fit into a message.
pub const MOST_FLOWS: u32 = traffic::MOST_FLOWS as u32;

/// The protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowTransport {
    /// One connection.
    Tcp,
    /// Datagrams of one socket.
    Udp,
}

/// A message of one side to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlMessage {
    /// The sink begins, with an unpredictable number.
    Greeting {
        /// [`PROTOCOL_VERSION`].
        version: u32,
        /// 64 hexadecimal digits.
        nonce: String,
    },
    /// The source proves that it shares the token.
    Introduction {
        /// [`PROTOCOL_VERSION`].
        version: u32,
        /// 64 hexadecimal digits.
        nonce: String,
        /// 64 hexadecimal digits.
        proof: String,
    },
    /// The sink proves it, too.
    Welcome {
        /// 64 hexadecimal digits.
        proof: String,
    },
    /// The session ends here.
    Refused {
        /// The reason, a sentence for people.
        reason: String,
    },
    /// The source requests flows.
    Request {
        /// Flows that share a port.
        groups: Vec<FlowGroup>,
        /// Port for datagrams that show that the sink lives; absent where the source cannot receive
        /// them.
        life: Option<LifeLinePort>,
    },
    /// The sink agrees to all of them.
    Agreed {
        /// The groups, in the order of the request.
        groups: Vec<AgreedGroup>,
    },
    /// A sign of life.
    Heartbeat {},
    /// The source requests counts before their second is over.
    ReadingRequest {},
    /// Counts of arrivals.
    Received {
        /// Nanoseconds since the agreement, by the clock of the sink.
        elapsed_ns: u64,
        /// The reason for sending them.
        occasion: ReadingOccasion,
        /// Flows in the order of the agreement.
        flows: Vec<SinkCounts>,
    },
    /// All flows have ended; the sink may count data that are still in flight.
    Finished {},
}

/// Why a sink sends its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingOccasion {
    /// A second is over, and the next interval of delays begins.
    Second,
    /// The source requested it.
    Request,
    /// All flows have ended: no counts follow.
    Last,
}

/// Flows with the same properties. They share a port of the sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Protocol of the data.
    pub transport: FlowTransport,
    /// Number of flows.
    pub flows: u32,
    /// Highest rate of each flow; absent: unlimited.
    pub bytes_per_second: Option<u64>,
    /// Longest duration of each flow.
    pub duration_ms: u64,
    /// Largest block.
    pub block_bytes: u32,
    /// Blocks of a stream begin with a header (those of datagrams always do).
    pub has_stamps: bool,
    /// Port of the sink; absent: any.
    pub port: Option<u16>,
    /// The sink may choose one of the next ports if this one is in use.
    pub may_move: bool,
    /// Receive buffer of the sink (`SO_RCVBUF`), the window of TCP; absent: as the system decides.
    pub window_bytes: Option<u32>,
    /// Congestion control of the sink; absent: the system's.
    pub congestion_control: Option<String>,
}

/// Address at which a source receives signs of life of the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifeLinePort {
    /// UDP port, at the address of the source's connection.
    pub port: u16,
    /// Random number that a datagram contains, as 8 bytes, big-endian.
    pub number: u64,
}

/// Port of the flows of a group, and the numbers that identify their data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreedGroup {
    /// Port of the sink.
    pub port: u16,
    /// A random number for each flow.
    pub ids: Vec<u64>,
    /// The congestion control of the sink; absent for datagrams.
    pub congestion_control: Option<String>,
}

/// Counts of one flow at the sink.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkCounts {
    /// Bytes received.
    pub bytes: u64,
    /// Arrivals of the first and the last of them, in nanoseconds after the agreement; absent
    /// without bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_ns: Option<(u64, u64)>,
    /// Datagrams or blocks with time stamps, without duplicates.
    pub packets: u64,
    /// Numbers below the highest that have not arrived.
    pub lost: u64,
    /// Datagrams dropped because the socket buffer of the sink was full. Flows that share a port
    /// share the buffer: the first of them has the count.
    pub overflowed: u64,
    /// Arrivals after one with a higher number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Repeated arrivals.
    pub duplicates: u64,
    /// Interarrival jitter in nanoseconds (RFC 3550, section 6.4.1).
    pub jitter_ns: u64,
    /// The longest one-way delay of the second, above the shortest of the flow, in nanoseconds
    /// (RFC 5481, section 4.2).
    pub delay_variation_ns: u64,
    /// Type of service or traffic class of the last datagram, its DSCP in the upper six bits.
    pub tos: Option<u8>,
    /// The stream has ended.
    pub has_ended: bool,
    /// Times without a byte; absent for datagrams and for blocks with time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StreamStalls>,
    /// Delays of the whole flow, when it has ended.
    pub delays: Option<DelaySummary>,
}

/// Times without a byte of a stream, each longer than 200 ms (the shortest retransmission time-out
/// of Linux), including one that has not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamStalls {
    /// Number of stalls.
    pub count: u64,
    /// Their total length in nanoseconds.
    pub total_ns: u64,
}

/// Variation of the one-way delays of a whole flow, each above the shortest (RFC 5481, section
/// 4.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelaySummary {
    /// Mean in nanoseconds.
    pub mean_ns: u64,
    /// Median in nanoseconds.
    pub p50_ns: u64,
    /// 95th percentile in nanoseconds.
    pub p95_ns: u64,
    /// 99th percentile in nanoseconds.
    pub p99_ns: u64,
    /// The largest in nanoseconds.
    pub max_ns: u64,
    /// Excess of the speed of the sink's clock over the source's, in parts per billion.
    pub drift_ppb: Option<i64>,
}

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlFrameError {
    /// A message longer than the limit.
    #[error("a message of {length} bytes is too long (at most {limit})")]
    TooLong {
        /// Length by its first four bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// A message of another version.
    #[error(
        "the other side has version {0} of the protocol, this one has version {PROTOCOL_VERSION}"
    )]
    Version(u32),
    /// Bytes that are no message of this protocol.
    #[error("not a message of this protocol: {0}")]
    Malformed(String),
}

/// The version, whatever else a message of another version contains.
#[derive(Deserialize)]
struct AnnouncedVersion {
    version: u32,
}

impl ControlMessage {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = vec![0; 4];
        // Writing numbers, texts and lists to memory cannot fail.
        if serde_json::to_writer(&mut frame, self).is_err() {
            frame.truncate(4);
        }
        let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
        frame[..4].copy_from_slice(&length.to_be_bytes());
        frame
    }

    fn decode(body: &[u8]) -> Result<ControlMessage, ControlFrameError> {
        let message = serde_json::from_slice(body);
        let version = match &message {
            Ok(ControlMessage::Greeting { version, .. })
            | Ok(ControlMessage::Introduction { version, .. }) => Some(*version),
            Ok(_) => None,
            Err(_) => {
                let announced = serde_json::from_slice::<AnnouncedVersion>(body);
                announced.ok().map(|announced| announced.version)
            }
        };
        match version {
            Some(version) if version != PROTOCOL_VERSION => {
                Err(ControlFrameError::Version(version))
            }
            _ => message.map_err(|error| ControlFrameError::Malformed(error.to_string())),
        }
    }
}

/// Finds messages in a stream of bytes.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    limit: usize,
}

impl FrameDecoder {
    /// Accepts messages of at most `limit` bytes.
    pub fn new(limit: usize) -> FrameDecoder {
        FrameDecoder {
            buffer: Vec::new(),
            limit,
        }
    }

    /// Permits messages up to this length from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The first bytes that have not been read.
    pub fn beginning(&self, most: usize) -> &[u8] {
        &self.buffer[..self.buffer.len().min(most)]
    }

    /// The next message; `None` until it is complete.
    ///
    /// # Errors
    /// The bytes are not a message. Nothing after them can be read.
    pub fn next_message(&mut self) -> Result<Option<ControlMessage>, ControlFrameError> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.limit {
            return Err(ControlFrameError::TooLong {
                length,
                limit: self.limit,
            });
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = ControlMessage::decode(body)?;
        self.buffer.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<ControlMessage>, ControlFrameError> {
        let mut decoder = FrameDecoder::new(LONGEST_UNAUTHENTICATED);
        decoder.push(bytes);
        decoder.next_message()
    }

    fn framed(body: &str) -> Vec<u8> {
        let mut frame = (body.len() as u32).to_be_bytes().to_vec();
        frame.extend(body.bytes());
        frame
    }

    #[test]
    fn other_versions_and_other_bytes_are_distinguished() {
        let other = |version| Err(ControlFrameError::Version(version));
        let heartbeat = Ok(Some(ControlMessage::Heartbeat {}));
        let old = r#"{"message":"greeting","version":1,"nonce":"x"}"#;
        let table = [
            (old, other(1)),
            (r#"{"message":"hello","version":6,"by":"quic"}"#, other(6)),
            (r#"{"message":"heartbeat"}"#, heartbeat),
        ];
        for (body, expected) in table {
            assert_eq!(read(&framed(body)), expected, "{body}");
        }
        for body in [
            "",
            "[]",
            "{}",
            r#"{"message":"heartbeat","x":1}"#,
            r#"{"message":"nothing"}"#,
            r#"{"message":"greeting","version":5}"#,
            r#"{"message":"greeting","version":-1,"nonce":""}"#,
        ] {
            let found = read(&framed(body));
            let is_malformed = matches!(found, Err(ControlFrameError::Malformed(_)));
            assert!(is_malformed, "{body}: {found:?}");
        }
        let length = LONGEST_UNAUTHENTICATED + 1;
        let limit = LONGEST_UNAUTHENTICATED;
        let found = read(&(length as u32).to_be_bytes());
        assert_eq!(found, Err(ControlFrameError::TooLong { length, limit }));
    }

    proptest! {
        #[test]
        fn messages_are_the_same_however_they_are_cut(
            reasons in prop::collection::vec(".{0,40}", 1..8), cut in 1_usize..50,
        ) {
            let reasons = reasons.into_iter();
            let messages = reasons.map(|reason| ControlMessage::Refused { reason });
            let messages: Vec<_> = messages.collect();
            let stream: Vec<u8> = messages.iter().flat_map(ControlMessage::encode).collect();
            let mut decoder = FrameDecoder::new(LONGEST_UNAUTHENTICATED);
            let mut found = Vec::new();
            for piece in stream.chunks(cut) {
                decoder.push(piece);
                while let Some(message) = decoder.next_message()? {
                    found.push(message);
                }
            }
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let mut frame = (bytes.len() as u32).to_be_bytes().to_vec();
            frame.extend(&bytes);
            let _ = read(&frame);
        }
    }
}
