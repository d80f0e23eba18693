//! What is shown while runs go on, and where reports are written.
//!
//! Of all libraries only this one writes to standard output and standard error. It knows no command line: it is given
//! requests, which the program makes of its options.

pub mod bar;
pub mod document_file;
pub mod figure_files;
pub mod forecast;
pub mod last_words;
mod live;
mod lookout;
pub mod messages;
pub mod output;
pub mod progress;
pub mod sample_log;
pub mod screen;
pub mod sink_watch;
pub mod standard_output;
pub mod watch;
