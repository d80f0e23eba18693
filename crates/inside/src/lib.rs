//! What requests cost inside of a server that runs on this machine.
//!
//! ```text
//! processes of the server --counters--> accounts: which row is at work --> batches
//!                         --ptrace----> system calls by row, kind and target (a pass of its own)
//! ```

mod accounts;
mod clock;
mod counters;
mod current;
mod proc_files;
pub mod processes;
pub mod tracer;

pub use accounts::InsideAccounts;
pub use counters::ServerCounters;
pub use current::CurrentRow;
