//! Display of running commands, and output of reports.
//!
//! Of all libraries, only this one writes to standard output and standard error. It has no command
//! line: it takes requests, which the program makes from its options.

pub mod abort_report;
pub mod bar;
pub mod document_file;
pub mod figure_files;
pub mod forecast;
mod live;
mod live_warnings;
pub mod messages;
pub mod output;
pub mod progress;
pub mod sample_log;
pub mod screen;
pub mod sink_watch;
pub mod standard_output;
pub mod watch;
