//! What a series measures next. Policies are pure: they see what was made, and nothing else.

mod blocks;
mod budget;
mod diagnosis;
mod listed;
mod starts;
#[cfg(test)]
mod tests;
mod trials;

pub(crate) use blocks::{BlockFrame, BudgetedBlocks, LETTERS};
pub(crate) use diagnosis::{DiagnosisSuites, PlannedSuite};
pub(crate) use listed::Listed;
pub(crate) use trials::{TrialLoad, Trials, tried};
