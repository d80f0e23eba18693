//! What requests cost inside of a server that runs on this machine.
//!
//! ```text
//! processes of the server --counters--> accounts: which row is at work --> batches
//!                         --ptrace----> system calls by row, kind and target (a pass of its own)
//! ```

mod current;
pub mod processes;
pub mod tracer;

pub use current::CurrentRow;
