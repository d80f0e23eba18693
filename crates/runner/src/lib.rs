//! What every command does between its arguments and its report.
//!
//! This library knows no command line and prints nothing: it is given requests, and it returns values and errors.

mod error;

pub use error::{RunnerError, start_thread};
