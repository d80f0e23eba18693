//! Everything that commands do between their arguments and their report.
//!
//! This library has no command line and prints nothing: it takes requests, and returns values and
//! errors.

pub mod access;
pub mod analysis;
pub mod background;
pub mod beside;
pub mod capture;
pub mod console;
mod error;
pub mod fail_condition;
pub mod failing;
pub mod fitting;
pub mod inside;
pub mod kept;
pub mod laboratory;
pub mod listing;
pub mod live;
pub mod load;
pub mod local;
pub mod page_files;
pub mod place;
pub mod policy;
pub mod run;
pub mod sample_sink;
pub mod series;
pub mod servers;
pub mod state;
mod steering;
pub mod suite_text;
pub mod text_file;
pub mod words;

pub use error::{RunnerError, start_thread};
