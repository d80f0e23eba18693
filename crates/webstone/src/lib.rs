//! WebSTONE (Trent and Sake 1995) as suites: from a file list to pages, and from pages to a suite.
//!
//! ```text
//! file list --parse--> pages with weights --suite_text--> a suite that any command can run
//! built-in mix --^ ^-- pages of the command line
//! ```
//!
//! The file list is that of 1995; everything after it is what every suite has.

mod content;
mod filelist;
mod mixes;
mod suite_text;

pub use content::{content, pieces};
pub use filelist::{FileList, FileListError, ListedFile, Page};
pub use mixes::{MIXES, Mix};
