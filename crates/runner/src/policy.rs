//! What a series measures next. Policies are pure: they see what was made, and nothing else.

mod blocks;
mod budget;
mod diagnosis;
mod listed;
mod starts;
#[cfg(test)]
mod tests;
mod trials;

pub use blocks::{BlockFrame, BudgetedBlocks, LETTERS};
pub use diagnosis::{DiagnosisSuites, PlannedSuite};
pub use listed::Listed;
pub use trials::{TrialLoad, Trials, tried};
