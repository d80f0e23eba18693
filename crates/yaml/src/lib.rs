//! Parses YAML: the text becomes a tree whose nodes have positions, and the tree becomes any type
//! of `serde`.
//!
//! A deserialiser that works while it scans is compiled once for every type, and there are
//! hundreds: that took a fifth of the time of a build. Here only the code that passes on a node
//! depends on the type.
//!
//! Plain scalars follow the core schema of YAML 1.2. An expected type takes precedence: a text is
//! `1.10` as written, and `yes` is a truth value, too. Files are limited in their nodes and their
//! depth; aliases count as often as they are used, and keys as often as `<<` reads them.

mod error;
mod file_error;
mod position;
mod reader;
mod scalar;
mod tree;
mod written;

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

pub use error::YamlError;
pub use file_error::{FileError, read_file};
pub use position::{Position, located};
pub use scalar::{PlainScalar, decimal, truth};
pub use written::WrittenValue;

/// Parses a text that is one document.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    read_up_to(text, tree::MOST_NODES)
}

/// Parses a text that is one document of at most `most_values` values, with aliases expanded.
pub fn read_up_to<T: DeserializeOwned>(text: &str, most_values: usize) -> Result<T, YamlError> {
    let tree = tree::Tree::of(text, most_values)?;
    tree.root().read(PhantomData)
}
