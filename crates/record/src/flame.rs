//! Processor time of server processes by function, from samples of their stacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MeasureId;

/// Samples of the stacks of a server's processes during operations of one row, in a pass that is
/// not timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlameRow {
    /// The row.
    pub measure: MeasureId,
    /// Operations in this pass.
    pub operations: u64,
    /// Samples per second of processor time.
    pub frequency: u32,
    /// Number of samples, one each `1 / frequency` of processor time.
    pub samples: u64,
    /// Samples, also of other programs, that the kernel lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Samples with fewer than three functions outside of the kernel: their callers are unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Samples of stacks beyond the limit of stacks that are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other: u64,
    /// Each thread had a timer of its own: moments at which it gets a processor are
    /// over-represented.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_thread: bool,
    /// This user may not sample the kernel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_kernel: bool,
    /// The stacks, most frequent first.
    pub stacks: Vec<FlameStack>,
}

/// A stack in samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlameStack {
    /// The name of the process and then its functions, callers first, separated by `;` ("folded").
    /// Functions of the kernel end with [`OF_KERNEL`]; one without a name has that of its file, in
    /// brackets.
    pub stack: String,
    /// Its samples in each of the [`FlameRow::PARTS`] parts of the time, without trailing zeros.
    pub samples: Vec<u32>,
}

/// The end of the name of a function of the kernel in a folded stack.
pub const OF_KERNEL: &str = "_[k]";

impl FlameRow {
    /// Number of parts of the time in which a row was at work, of equal length except for the last.
    pub const PARTS: usize = 16;
}

impl FlameStack {
    /// Number of its samples in the whole time.
    pub fn count(&self) -> u64 {
        self.samples.iter().map(|part| u64::from(*part)).sum()
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
