//! Options of servers that are measured side by side. The comments on fields are the texts of
//! `--help`.

use clap::Args;
use stats::{ComparedBy, ComparedTimes};

use super::choices::{TIMES, choice};
use super::{LoadOptions, SuiteOptions, share};

/// Options of a comparison and of a gallery: the runs of servers side by side, and their
/// comparison.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Suite and duration")]
pub(crate) struct SideOptions {
    #[command(flatten)]
    pub(crate) suite: SuiteOptions,

    #[command(flatten)]
    pub(crate) verdicts: VerdictOptions,

    #[command(flatten)]
    pub(crate) load: LoadOptions,
}

#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Verdicts")]
pub(crate) struct VerdictOptions {
    /// Largest difference that counts as the same
    ///
    /// A test is the same if the 95 % intervals of the ratios of means and of medians both lie
    /// within this difference. This is not corrected for the number of tests.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    pub(crate) same_within: f64,

    /// Times to compare: to the first byte of the response, or total times, to its last byte
    #[arg(long, value_parser = choice(TIMES), value_name = "TIMES", default_value = "response")]
    pub(crate) times: ComparedTimes,
}

impl VerdictOptions {
    pub(crate) fn by(self) -> ComparedBy {
        ComparedBy {
            same_within: self.same_within,
            times: self.times,
        }
    }
}
