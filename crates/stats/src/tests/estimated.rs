//! Estimates of verdicts: exact cases, facts, and errors in truth (`simulated`).

mod cases;
mod families;
mod looks;
mod others;
mod simulated;
mod unseen;
