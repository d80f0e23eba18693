//! A response in progress.

use record::Nanos;

use super::Stamps;
use crate::clock::stamps::RealNanos;
use crate::connection::body::{BodyIntake, KeptBody};
use crate::connection::transport::{ArrivalStamps, Look};

/// The first byte of the response, unless it was there before.
pub(crate) fn begin(stamps: &mut Stamps, seen: SeenAt, arrival: Option<RealNanos>) {
    if stamps.first.is_none() {
        stamps.first = Some(seen.at);
        stamps.first_read = seen.read;
        if let Some(kernel) = &mut stamps.kernel {
            kernel.first = arrival;
        }
    }
}

/// Result of an attempt to read.
pub(super) enum Taken {
    Bytes,
    Nothing,
    End,
}

/// When bytes were seen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SeenAt {
    pub(crate) at: Nanos,
    /// Just after they were read.
    pub(crate) read: Nanos,
    pub(crate) arrival: ArrivalStamps,
}

/// A response in progress.
pub(super) struct ResponseReading<'a> {
    /// An interim response has arrived: the server has begun to work on the request.
    pub(super) interim: bool,
    pub(super) keep: KeptBody,
    pub(super) look: Look,
    pub(super) intake: BodyIntake,
    /// The kept part of its body.
    pub(super) body: &'a mut Vec<u8>,
}

impl<'a> ResponseReading<'a> {
    pub(super) fn new(keep: KeptBody, body: &'a mut Vec<u8>, look: Look) -> Self {
        ResponseReading {
            interim: false,
            keep,
            look,
            intake: BodyIntake::default(),
            body,
        }
    }
}
