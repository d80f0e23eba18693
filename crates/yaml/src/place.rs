//! Positions in a file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// Line and column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// Name of a newtype by which a value requests its position from the reader of this crate: no Rust
/// type can have this name.
pub(crate) const PLACED: &str = "a value and its place";

/// A value with its position, for implementations of [`Deserialize`]; another deserialiser gives
/// the default position.
///
/// # Errors
/// Those of the value.
pub fn placed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(T, Place), D::Error> {
    deserializer.deserialize_newtype_struct(PLACED, PlacedVisitor(PhantomData))
}

struct PlacedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PlacedVisitor<T> {
    type Value = (T, Place);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<(T, Place), D::Error> {
        Ok((T::deserialize(value)?, Place::default()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(T, Place), A::Error> {
        let mut number = || parts.next_element::<u32>();
        let (line, column) = (number()?, number()?);
        let value = parts.next_element()?;
        match (line, column, value) {
            (Some(line), Some(column), Some(value)) => Ok((value, Place { line, column })),
            _ => Err(de::Error::custom("a place has a line and a column")),
        }
    }
}
