//! Policies: what a series measures next. They are pure: their only input is the history.

mod blocks;
mod budget;
mod campaign;
mod curve;
mod diagnosis;
mod listed;
mod starts;
mod sweep;
#[cfg(test)]
mod tests;
mod trials;

pub use blocks::{BlockFrame, BudgetedBlocks, LETTERS};
pub use campaign::CampaignPolicy;
pub use curve::curve_steps;
pub use diagnosis::{DiagnosisSuites, PlannedSuite};
pub use listed::Listed;
pub use sweep::{AtPoint, Levels, SweepOrder, SweepSlot, points};
pub use trials::{TrialLoad, Trials, tried};
