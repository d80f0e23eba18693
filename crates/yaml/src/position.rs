//! Positions in a file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// Line and column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// Name of a newtype by which a value requests its position from the reader of this crate: no Rust
/// type can have this name.
pub(crate) const LOCATED: &str = "a value and its position";

/// A value with its position, for implementations of [`Deserialize`]; another deserialiser gives
/// the default position.
pub fn located<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(T, Position), D::Error> {
    deserializer.deserialize_newtype_struct(LOCATED, LocatedVisitor(PhantomData))
}

struct LocatedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LocatedVisitor<T> {
    type Value = (T, Position);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        value: D,
    ) -> Result<(T, Position), D::Error> {
        Ok((T::deserialize(value)?, Position::default()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<(T, Position), A::Error> {
        let mut number = || parts.next_element::<u32>();
        let (line, column) = (number()?, number()?);
        let value = parts.next_element()?;
        match (line, column, value) {
            (Some(line), Some(column), Some(value)) => Ok((value, Position { line, column })),
            _ => Err(de::Error::custom("a position has a line and a column")),
        }
    }
}
