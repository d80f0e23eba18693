//! Reads YAML: the text becomes a tree whose nodes know their places, and the tree becomes any type of `serde`.
//!
//! A deserialiser that reads while it scans is compiled once for every type that is read, and there are hundreds of them:
//! that took a fifth of the time of a build. Here only what hands on a node depends on the type.
//!
//! Plain scalars are what the core schema of YAML 1.2 says they are. Where a type is expected, it decides: a text takes
//! `1.10` as it is written, and a truth value is `yes`, too. Files are bounded in their nodes and their depth, aliases
//! counted as often as they stand for something, and keys as often as `<<` looks at them.

mod error;
mod file_error;
mod place;
mod reader;
mod scalar;
mod tree;
mod written;

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

pub use error::YamlError;
pub use file_error::{FileError, read_file};
pub use place::{Place, placed};
pub use scalar::{PlainScalar, decimal, truth};
pub use written::WrittenValue;

/// Reads a text that is one document.
///
/// # Errors
/// What is wrong, and where.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    read_up_to(text, tree::MOST_NODES)
}

/// Reads a text that is one document of at most so many values, counted as what aliases stand for.
///
/// # Errors
/// What is wrong, and where.
pub fn read_up_to<T: DeserializeOwned>(text: &str, most_values: usize) -> Result<T, YamlError> {
    let tree = tree::Tree::of(text, most_values)?;
    tree.root().read(PhantomData)
}
