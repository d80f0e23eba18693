//! Models: read, checked and converted to a source of blocks.

mod application;
mod resolve;
mod spec;

use std::sync::Arc;

pub use spec::{
    CbrSpec, FtpSpec, FullSpec, GopSpec, MmppSpec, ModelSpec, OnOffSpec, SelfSimilarSpec,
    TelnetSpec, UserSpec, VideoSpec, VoiceCodec, VoipSpec, WwwSpec,
};

use crate::source::{
    Behaviour, BlockSource, DepartureSchedule, GroupOfPictures, ModulatedPoisson, OnOff,
    PacketVideo, Requests, SelfSimilar, Steady, WebPages,
};
use parts::ModelParts;

mod parts;

/// A model whose parameters are possible: all stochastic behaviour of a one-way flow. Rates count
/// payload.
#[derive(Debug, Clone)]
pub struct Model {
    parts: ModelParts,
    mean_rate_bps: Option<f64>,
    peak_rate_bps: Option<f64>,
}

impl Model {
    /// Checks a model and computes its rates.
    ///
    /// # Errors
    /// The wrong key within the model, and the reason.
    pub fn new(spec: &ModelSpec) -> Result<Self, (String, String)> {
        resolve::model(spec)
    }

    /// Behaviour of flow `flow` of this model. The same seed and number give the same schedule on
    /// every machine.
    pub fn behaviour(&self, seed: u64, flow: u32) -> Behaviour {
        let source: Box<dyn BlockSource> = match &self.parts {
            ModelParts::Full { block_bytes } => {
                let block_bytes = *block_bytes;
                return Behaviour::Full { block_bytes };
            }
            ModelParts::Steady {
                block_bytes,
                interval,
            } => Box::new(Steady::new(*block_bytes, *interval)),
            ModelParts::Requests(laws) => Box::new(Requests::new(Arc::clone(laws))),
            ModelParts::OnOff(laws) => Box::new(OnOff::new(Arc::clone(laws))),
            ModelParts::Mmpp(laws) => Box::new(ModulatedPoisson::new(Arc::clone(laws))),
            ModelParts::SelfSimilar(laws) => Box::new(SelfSimilar::new(Arc::clone(laws))),
            ModelParts::Pages(laws) => Box::new(WebPages::new(Arc::clone(laws))),
            ModelParts::PacketVideo { per_second, scale } => {
                Box::new(PacketVideo::new(*per_second, *scale))
            }
            ModelParts::Pictures(laws) => Box::new(GroupOfPictures::new(Arc::clone(laws))),
        };
        Behaviour::Scheduled(DepartureSchedule::new(source, seed, flow))
    }

    /// The planned mean rate in bits of payload per second; none for `full` without a rate.
    pub fn mean_rate_bps(&self) -> Option<f64> {
        self.mean_rate_bps
    }

    /// The rate in bits of payload per second that blocks never exceed over more than a block, for
    /// models that have one: `cbr`, `full` with a rate, `on-off`, `voip`.
    pub fn peak_rate_bps(&self) -> Option<f64> {
        self.peak_rate_bps
    }

    /// Length of all blocks, for models with a constant length and rate: `cbr` and `full`.
    pub fn constant_block_bytes(&self) -> Option<u32> {
        match &self.parts {
            ModelParts::Full { block_bytes } | ModelParts::Steady { block_bytes, .. } => {
                Some(*block_bytes)
            }
            _ => None,
        }
    }

    /// Checks that blocks can be datagrams of at least `least` and at most `most` bytes.
    ///
    /// # Errors
    /// A sentence, if more than one block in a thousand is too short or too long.
    pub(crate) fn check_lengths(&self, least: u64, most: u64) -> Result<(), String> {
        self.parts.check_lengths(least, most)
    }
}
