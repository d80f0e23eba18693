//! Messages between a source and a sink, and how they travel: a length of four bytes, big-endian,
//! then so many bytes of JSON.
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

use crate::FlowTransport;

/// The version of this protocol. A sink and a source of different versions refuse each other.
pub const PROTOCOL_VERSION: u32 = 5;

/// Longest message before the other side has proved that it shares the token.
pub const LONGEST_FROM_STRANGER: usize = 1024;
/// Longest message afterwards: the counts of all flows of a session.
pub const LONGEST_MESSAGE: usize = 4 << 20;
/// Most flows of one request, so that their counts fit into a message.
pub const MOST_FLOWS: u32 = traffic::MOST_FLOWS as u32;

/// What one side writes to the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case", deny_unknown_fields)]
pub enum ControlMessage {
    /// The sink begins, with a number that nobody can know before.
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
    /// So does the sink.
    Welcome {
        /// 64 hexadecimal digits.
        proof: String,
    },
    /// The session ends here.
    Refused {
        /// A sentence for people.
        reason: String,
    },
    /// The source asks for flows.
    Request {
        /// Flows that share a port.
        groups: Vec<FlowGroup>,
        /// Where it hears datagrams that say that the sink lives; absent where it cannot.
        life: Option<LifeLinePort>,
    },
    /// The sink agrees to all of them.
    Agreed {
        /// In the order of the request.
        groups: Vec<AgreedGroup>,
    },
    /// The writer lives.
    Heartbeat {},
    /// The source asks for counts before their second is over.
    ReadingRequest {},
    /// What has arrived.
    Received {
        /// Nanoseconds since the agreement, by the clock of the sink.
        elapsed_ns: u64,
        /// Why it is sent.
        occasion: ReadingOccasion,
        /// Flows in the order of the agreement.
        flows: Vec<SinkCounts>,
    },
    /// All flows have ended; the sink may count what is still in flight.
    Finished {},
}

/// Why a sink sends what it has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingOccasion {
    /// A second is over, and the next interval of delays begins.
    Second,
    /// The source asked for it.
    Request,
    /// All flows have ended: nothing comes after this.
    Last,
}

/// Flows that are alike. They share a port of the sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowGroup {
    /// Protocol of the data.
    pub transport: FlowTransport,
    /// How many flows.
    pub flows: u32,
    /// The most that each of them sends; absent: as much as it can.
    pub bytes_per_second: Option<u64>,
    /// How long each of them lasts at most.
    pub duration_ms: u64,
    /// Its largest block.
    pub block_bytes: u32,
    /// Whether blocks of a stream begin with a header (always so for datagrams).
    pub has_stamps: bool,
    /// The port of the sink; absent: any.
    pub port: Option<u16>,
    /// Whether the sink may choose one of the ports after it where another program has it.
    pub may_move: bool,
    /// Receive buffer of the sink (`SO_RCVBUF`), the window of TCP; absent: as the system decides.
    pub window_bytes: Option<u32>,
    /// Congestion control of the sink; absent: the system's.
    pub congestion_control: Option<String>,
}

/// Where a source hears that the sink lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifeLinePort {
    /// Its UDP port, at the address from which it is connected.
    pub port: u16,
    /// The random number that a datagram contains, as 8 bytes, big-endian.
    pub number: u64,
}

/// Where the flows of a group send, and how their data are recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgreedGroup {
    /// Port of the sink.
    pub port: u16,
    /// A random number for each flow.
    pub ids: Vec<u64>,
    /// The congestion control that the sink uses; absent for datagrams.
    pub congestion_control: Option<String>,
}

/// What a sink has of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinkCounts {
    /// Bytes that have arrived.
    pub bytes: u64,
    /// When the first and the last of them arrived, in nanoseconds after the agreement; absent without bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived_ns: Option<(u64, u64)>,
    /// Datagrams or blocks with time stamps, without duplicates.
    pub packets: u64,
    /// Numbers below the highest that have not arrived.
    pub lost: u64,
    /// Datagrams for which the socket buffer of the sink had no room. Flows that share a port share the buffer: the first
    /// of them has the count.
    pub overflowed: u64,
    /// Arrived after one with a higher number (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Arrived before.
    pub duplicates: u64,
    /// Interarrival jitter in nanoseconds (RFC 3550, section 6.4.1).
    pub jitter_ns: u64,
    /// The longest one-way delay of the second, above the shortest of the flow, in nanoseconds
    /// (RFC 5481, section 4.2).
    pub delay_variation_ns: u64,
    /// Type of service or traffic class of the last datagram, its DSCP in the upper six bits.
    pub tos: Option<u8>,
    /// Whether the stream has ended.
    pub has_ended: bool,
    /// Times without a byte; absent for datagrams and for blocks with time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<StreamStalls>,
    /// Delays of the whole flow, when it has ended.
    pub delays: Option<DelaySummary>,
}

/// Times without a byte of a stream, each longer than 200 ms (the shortest retransmission time-out of Linux). One that
/// goes on is among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamStalls {
    /// How many.
    pub count: u64,
    /// Their length together in nanoseconds.
    pub total_ns: u64,
}

/// How the one-way delays of a whole flow varied, each above the shortest (RFC 5481, section 4.2).
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
    /// How much faster the clock of the sink runs than that of the source, in parts per billion.
    pub drift_ppb: Option<i64>,
}

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlFrameError {
    /// It would be longer than allowed here.
    #[error("a message of {length} bytes is too long (at most {limit})")]
    TooLong {
        /// Its length by its first four bytes.
        length: usize,
        /// What is allowed.
        limit: usize,
    },
    /// The other side has another version.
    #[error(
        "the other side has version {0} of the protocol, this one has version {PROTOCOL_VERSION}"
    )]
    Version(u32),
    /// It is no message of this protocol.
    #[error("not a message of this protocol: {0}")]
    Malformed(String),
}

/// The version, whatever else a message of another version contains.
#[derive(Deserialize)]
struct AnnouncedVersion {
    version: u32,
}

impl ControlMessage {
    /// The message as it travels.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame = vec![0; 4];
        // Writing numbers, texts and lists to memory has no way to fail.
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

    /// From now on, messages may be of this length.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The first bytes that are not read yet.
    pub fn beginning(&self, most: usize) -> &[u8] {
        &self.buffer[..self.buffer.len().min(most)]
    }

    /// The next message; `None` until all of it is there.
    ///
    /// # Errors
    /// Where the bytes are no message. Nothing that follows can be read then.
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
        let mut decoder = FrameDecoder::new(LONGEST_FROM_STRANGER);
        decoder.push(bytes);
        decoder.next_message()
    }

    fn framed(body: &str) -> Vec<u8> {
        let mut frame = (body.len() as u32).to_be_bytes().to_vec();
        frame.extend(body.bytes());
        frame
    }

    #[test]
    fn other_versions_and_other_bytes_are_told_apart() {
        let other = |version| Err(ControlFrameError::Version(version));
        let table = [
            (
                r#"{"message":"greeting","version":1,"nonce":"x"}"#,
                other(1),
            ),
            (r#"{"message":"hello","version":6,"by":"quic"}"#, other(6)),
            (
                r#"{"message":"heartbeat"}"#,
                Ok(Some(ControlMessage::Heartbeat {})),
            ),
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
            assert!(
                matches!(found, Err(ControlFrameError::Malformed(_))),
                "{body}: {found:?}"
            );
        }
        let length = LONGEST_FROM_STRANGER + 1;
        let limit = LONGEST_FROM_STRANGER;
        assert_eq!(
            read(&(length as u32).to_be_bytes()),
            Err(ControlFrameError::TooLong { length, limit })
        );
    }

    proptest! {
        #[test]
        fn messages_are_the_same_however_they_are_cut(
            reasons in prop::collection::vec(".{0,40}", 1..8), cut in 1_usize..50,
        ) {
            let messages: Vec<_> = reasons
                .into_iter()
                .map(|reason| ControlMessage::Refused { reason })
                .collect();
            let stream: Vec<u8> = messages.iter().flat_map(ControlMessage::encode).collect();
            let mut decoder = FrameDecoder::new(LONGEST_FROM_STRANGER);
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
            let mut behind_a_length = (bytes.len() as u32).to_be_bytes().to_vec();
            behind_a_length.extend(&bytes);
            let _ = read(&behind_a_length);
        }
    }
}
