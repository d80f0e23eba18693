//! The parameters of a model in numbers, and the lengths of its blocks.

use std::sync::Arc;

use crate::probability::ProbabilityLaw;
use crate::source::{
    ChainLaws, Interval, OnOffLaws, PacketVideo, PageLaws, PictureLaws, RTP_BYTES, RequestLaws,
    SelfSimilarLaws,
};

/// The parameters of a model in numbers. Flows share them.
#[derive(Debug, Clone)]
pub(super) enum ModelParts {
    Full {
        block_bytes: u32,
    },
    Steady {
        block_bytes: u32,
        interval: Interval,
    },
    Requests(Arc<RequestLaws>),
    OnOff(Arc<OnOffLaws>),
    Mmpp(Arc<ChainLaws>),
    SelfSimilar(Arc<SelfSimilarLaws>),
    Pages(Arc<PageLaws>),
    PacketVideo {
        per_second: f64,
        scale: f64,
    },
    Pictures(Arc<PictureLaws>),
}

/// Share of the blocks that may be shorter or longer than a datagram; these are cut or padded to
/// its limits.
const OUTSIDE: f64 = 0.001;

impl ModelParts {
    pub(super) fn check_lengths(&self, least: u64, most: u64) -> Result<(), String> {
        match self {
            ModelParts::Full { block_bytes } | ModelParts::Steady { block_bytes, .. } => {
                check_block(u64::from(*block_bytes), least, most)
            }
            ModelParts::OnOff(laws) => check_block(u64::from(laws.block_bytes), least, most),
            ModelParts::SelfSimilar(laws) => {
                check_block(u64::from(laws.block_bytes()), least, most)
            }
            ModelParts::Requests(laws) => check_pieces(&laws.size, laws.most_bytes, least, most),
            ModelParts::Mmpp(laws) => check_law(&laws.size, least, most),
            ModelParts::Pages(laws) => {
                check_pieces(&laws.main, Some(laws.most_bytes), least, most)?;
                check_pieces(&laws.embedded, Some(laws.most_bytes), least, most)
            }
            ModelParts::PacketVideo { scale, .. } => {
                let least_packet = 20.0 * scale + f64::from(RTP_BYTES);
                check_block(least_packet as u64, least, most)?;
                check_block(PacketVideo::most_bytes(*scale) as u64, least, most)
            }
            ModelParts::Pictures(laws) => laws
                .group
                .iter()
                .try_for_each(|law| check_pieces(law, Some(laws.most_bytes), least, most)),
        }
    }
}

fn check_block(bytes: u64, least: u64, most: u64) -> Result<(), String> {
    if bytes < least {
        return Err(format!(
            "its blocks have {bytes} bytes, and a datagram needs {least} for its sequence number and time stamp; use \
             protocol tcp or longer blocks"
        ));
    }
    if bytes > most {
        return Err(format!(
            "its blocks have {bytes} bytes, and a datagram has at most {most}; give a smaller block"
        ));
    }
    Ok(())
}

fn check_law(law: &ProbabilityLaw, least: u64, most: u64) -> Result<(), String> {
    let outside = law.chance_outside(least, most);
    if outside <= OUTSIDE {
        return Ok(());
    }
    let percent = 100.0 * outside;
    Err(format!(
        "{percent:.1} % of its blocks are not between {least} and {most} bytes, as datagrams are; give min and max"
    ))
}

/// Checks objects that are cut into pieces of at most `piece` bytes, which are no shorter than half
/// of it unless the object is.
fn check_pieces(
    law: &ProbabilityLaw,
    piece: Option<u32>,
    least: u64,
    most: u64,
) -> Result<(), String> {
    match piece.map(u64::from) {
        None => check_law(law, least, most),
        Some(piece) => {
            check_block(piece, 2 * least, most)?;
            check_law(law, least, u64::MAX)
        }
    }
}
