//! Costs of requests inside of a server that runs on this machine.
//!
//! ```text
//! processes of the server --counters--> accounts: which row is at work --> batches
//!                         --ptrace----> system calls by row, kind and target (a pass of its own)
//! its access log          --numbers---> its own time of requests, beside ours
//! ```

pub mod access_log;
mod accounts;
mod clock;
mod control_groups;
mod counters;
mod current;
mod named;
mod proc_files;
pub mod processes;
mod processor_events;
pub mod sampler;
mod task_stats;
#[cfg(test)]
mod testing;
mod threads;
pub mod tracer;

pub use accounts::InsideAccounts;
pub use control_groups::group_members;
pub use counters::ServerCounters;
pub use current::CurrentRow;
pub use named::NamedProcesses;
