//! Video: frames at a constant rate, in packets.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::{BlockSource, ObjectPieces, PlannedDeparture, block_length};
use crate::probability::{ProbabilityLaw, open_unit};

/// The moment of a frame. Frames per second may have a fraction (29.97).
fn frame_at(frame: u64, per_second: f64) -> Option<u64> {
    let nanos = libm::floor(frame as f64 * 1e9 / per_second);
    (nanos < u64::MAX as f64).then_some(nanos as u64)
}

/// Near real-time video of 3GPP2: each frame has eight packets; their lengths and distances have
/// Pareto laws, of which everything above a maximum counts as the maximum.
#[derive(Debug, Clone)]
pub(crate) struct PacketVideo {
    per_second: f64,
    /// Factor of the lengths of packets.
    scale: f64,
    frame: u64,
    packet: u32,
    at_ns: u64,
}

const PACKETS: u32 = 8;
const SHAPE: f64 = 1.2;
/// Least and most bytes of a packet, without the header.
const PACKET_BYTES: (f64, f64) = (20.0, 125.0);
/// Least and most part of the time of a frame between its packets: 2.5 ms and 12.5 ms of 100.
const PACKET_GAP: (f64, f64) = (0.025, 0.125);
/// An RTP header.
pub(crate) const RTP_BYTES: u32 = 12;
/// Bits per second of payload that the model has at 10 frames per second: its packets have 50 bytes
/// on average.
pub(crate) const PACKET_VIDEO_BPS: f64 = 32_000.0;

fn clipped_pareto((least, most): (f64, f64), unit: f64) -> f64 {
    (least * libm::pow(unit, -1.0 / SHAPE)).min(most)
}

/// The mean of a Pareto law of which everything above `most` counts as `most`.
fn clipped_pareto_mean((least, most): (f64, f64)) -> f64 {
    least + least * (1.0 - libm::pow(least / most, SHAPE - 1.0)) / (SHAPE - 1.0)
}

impl PacketVideo {
    pub(crate) fn new(per_second: f64, scale: f64) -> Self {
        PacketVideo {
            per_second,
            scale,
            frame: 0,
            packet: 0,
            at_ns: 0,
        }
    }

    /// Mean rate in bits per second, with the headers.
    pub(crate) fn mean_rate_bps(per_second: f64, scale: f64) -> f64 {
        let bytes = scale * clipped_pareto_mean(PACKET_BYTES) + f64::from(RTP_BYTES);
        8.0 * bytes * f64::from(PACKETS) * per_second
    }

    /// The factor of the lengths of packets for a rate without headers.
    pub(crate) fn scale_for(bits_per_second: f64, per_second: f64) -> f64 {
        bits_per_second / (PACKET_VIDEO_BPS * per_second / 10.0)
    }

    /// Longest packet, with its header.
    pub(crate) fn most_bytes(scale: f64) -> f64 {
        PACKET_BYTES.1 * scale + f64::from(RTP_BYTES)
    }
}

impl BlockSource for PacketVideo {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        if self.packet == 0 {
            self.at_ns = frame_at(self.frame, self.per_second)?;
        } else {
            let gap = clipped_pareto(PACKET_GAP, open_unit(rng));
            let gap_ns = (gap * 1e9 / self.per_second) as u64;
            self.at_ns = self.at_ns.checked_add(gap_ns)?;
        }
        self.packet = (self.packet + 1) % PACKETS;
        self.frame += u64::from(self.packet == 0);
        let bytes = libm::round(self.scale * clipped_pareto(PACKET_BYTES, open_unit(rng)));
        Some(PlannedDeparture {
            at_ns: self.at_ns,
            bytes: block_length(bytes as u64 + u64::from(RTP_BYTES)),
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) struct PictureLaws {
    pub(crate) per_second: f64,
    /// The laws of the lengths of the frames of a group, in order.
    pub(crate) group: Vec<Arc<ProbabilityLaw>>,
    pub(crate) most_bytes: u32,
}

/// Frames of several types in a repeated pattern, each cut into blocks of the same moment.
#[derive(Debug, Clone)]
pub(crate) struct GroupOfPictures {
    laws: Arc<PictureLaws>,
    frame: u64,
    pieces: ObjectPieces,
    /// Index in the pattern of the first frame.
    offset: Option<usize>,
}

impl GroupOfPictures {
    pub(crate) fn new(laws: Arc<PictureLaws>) -> Self {
        GroupOfPictures {
            laws,
            frame: 0,
            pieces: ObjectPieces::default(),
            offset: None,
        }
    }
}

impl BlockSource for GroupOfPictures {
    fn next_block(&mut self, rng: &mut ChaCha8Rng) -> Option<PlannedDeparture> {
        if let Some(piece) = self.pieces.next() {
            return Some(piece);
        }
        let length = self.laws.group.len();
        // Equal flows do not send their large frames together.
        let drawn = || (open_unit(rng) * length as f64) as usize;
        let offset = *self.offset.get_or_insert_with(drawn);
        let at_ns = frame_at(self.frame, self.laws.per_second)?;
        let index = (self.frame % length as u64) as usize + offset;
        self.frame += 1;
        let bytes = self.laws.group[index % length].draw_whole(rng);
        self.pieces = ObjectPieces::cut(at_ns, bytes, self.laws.most_bytes);
        self.pieces.next()
    }
}
