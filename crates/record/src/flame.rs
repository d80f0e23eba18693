//! Where the processes of a server spend their processor time, by samples of their stacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MeasureId;

/// Samples of what the processes of a server executed during operations of one row, in a pass that is not timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlameRow {
    /// The row.
    pub measure: MeasureId,
    /// Operations in this pass.
    pub operations: u64,
    /// Samples in a second of processor time.
    pub frequency: u32,
    /// Samples that were taken, one each `1 / frequency` of processor time.
    pub samples: u64,
    /// Samples, also of other programs, that the kernel could not hand over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Samples with less than three functions outside of the kernel: the callers of these are not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Samples of stacks beyond those that are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other: u64,
    /// Whether each thread had a timer of its own: the moment at which it gets a processor then has too many samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_thread: bool,
    /// Whether the kernel lets this user sample only what is outside of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_kernel: bool,
    /// The stacks, the most frequent one first.
    pub stacks: Vec<FlameStack>,
}

/// A stack that was found in samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlameStack {
    /// The name of the process and then its functions, callers first, with a `;` between each two ("folded"). Functions of the
    /// kernel end with [`OF_KERNEL`]; one without a name has that of its file, in brackets.
    pub stack: String,
    /// Its samples in each of the [`FlameRow::PARTS`] parts of the time, without those of zero at the end.
    pub samples: Vec<u32>,
}

/// The end of the name of a function of the kernel in a folded stack.
pub const OF_KERNEL: &str = "_[k]";

impl FlameRow {
    /// Parts of the time in which a row was at work, each as long as the others but for the last.
    pub const PARTS: usize = 16;
}

impl FlameStack {
    /// Its samples over all the time.
    pub fn count(&self) -> u64 {
        self.samples.iter().map(|part| u64::from(*part)).sum()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
