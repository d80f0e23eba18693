//! From the tree to any type. Code that does not depend on the type is in functions without one.

use std::cell::Cell;

use serde::de::value::{StrDeserializer, U32Deserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};

use crate::error::{YamlError, other_than, quoted};
use crate::position::{LOCATED, Position};
use crate::scalar::{PlainScalar, is_null, is_whole, number, truth};
use crate::tree::{Child, NodeValue, Tree};
use crate::written::WRITTEN;

#[derive(Clone, Copy)]
pub(crate) struct NodeReader<'a> {
    tree: &'a Tree<'a>,
    at: Child,
}

impl<'a> NodeReader<'a> {
    pub(crate) fn new(tree: &'a Tree<'a>, at: Child) -> Self {
        NodeReader { tree, at }
    }

    /// Reads the node. An error without a position gets that of this node.
    pub(crate) fn read<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, YamlError> {
        let result = seed.deserialize(self);
        result.map_err(|error| error.at(self.at.position))
    }

    fn other(self, at: Child) -> Self {
        NodeReader { at, ..self }
    }

    fn value(self) -> &'a NodeValue<'a> {
        self.tree.value(self.at)
    }

    /// The characters of a scalar, including those of `null` and `~`; `None` if nothing is written.
    fn text(self) -> Option<&'a str> {
        match self.value() {
            NodeValue::Scalar { text, is_plain } if !(*is_plain && text.is_empty()) => Some(text),
            _ => None,
        }
    }

    fn is_nothing(self) -> bool {
        matches!(self.value(), NodeValue::Scalar { text, is_plain: true } if is_null(text))
    }

    fn items(self) -> Option<Items<'a>> {
        let (reader, all): (_, &[Child]) = match self.value() {
            NodeValue::Sequence(all) => (self, all),
            _ if self.is_nothing() => (self, &[]),
            _ => return None,
        };
        Some(Items { reader, all })
    }

    fn pairs(self) -> Option<&'a [(Child, Child)]> {
        match self.value() {
            NodeValue::Mapping(all) => Some(all),
            _ => self.is_nothing().then_some(&[]),
        }
    }

    /// Passes pairs to a visitor. An error about a key that the visitor has read is about the last
    /// one.
    fn visit_pairs<V: Visitor<'a>>(
        self,
        all: &'a [(Child, Child)],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        let key = Cell::new(self.at.position);
        let pairs = Pairs {
            reader: self,
            all,
            value: None,
            key: &key,
        };
        let result = visitor.visit_map(pairs);
        result.map_err(|error| error.at_key(key.get()))
    }

    fn variant(self) -> Result<NamedVariant<'a>, YamlError> {
        let (name, value) = match self.value() {
            NodeValue::Mapping(pairs) => match pairs.as_slice() {
                [(key, value)] => (self.other(*key), Some(self.other(*value))),
                _ => return Err(self.unlike("a single key with its value")),
            },
            _ => (self, None),
        };
        match name.text() {
            Some(text) => Ok(NamedVariant { name, text, value }),
            None => Err(name.unlike("a name")),
        }
    }

    /// An error about a value of another type.
    fn unlike(self, expected: &str) -> YamlError {
        let found = match self.value() {
            NodeValue::Sequence(_) => Unexpected::Seq,
            NodeValue::Mapping(_) => Unexpected::Map,
            _ if self.is_nothing() => Unexpected::Unit,
            NodeValue::Scalar { text, .. } => Unexpected::Str(text),
        };
        other_than(&expected, found).at(self.at.position)
    }

    fn visit_number<V: Visitor<'a>>(
        self,
        visitor: V,
        expected: &str,
    ) -> Result<V::Value, YamlError> {
        // A whole number may be written as `1e3`.
        match self.text().and_then(number).map(PlainScalar::as_whole) {
            Some(PlainScalar::Natural(number)) => visitor.visit_u64(number),
            Some(PlainScalar::Negative(number)) => visitor.visit_i64(number),
            Some(PlainScalar::Real(number)) => visitor.visit_f64(number),
            _ => Err(self.unlike(expected)),
        }
    }
}

macro_rules! numbers {
    ($($method:ident)* : $expected:literal) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
            self.visit_number(visitor, $expected)
        }
    )*};
}

impl<'de> Deserializer<'de> for NodeReader<'de> {
    type Error = YamlError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.value() {
            NodeValue::Sequence(all) => visitor.visit_seq(Items { reader: self, all }),
            NodeValue::Mapping(all) => self.visit_pairs(all, visitor),
            NodeValue::Scalar {
                text,
                is_plain: false,
            } => visitor.visit_borrowed_str(text),
            NodeValue::Scalar { text, .. } => match PlainScalar::of(text) {
                PlainScalar::Null => visitor.visit_unit(),
                PlainScalar::Truth(truth) => visitor.visit_bool(truth),
                PlainScalar::Natural(number) => visitor.visit_u64(number),
                PlainScalar::Negative(number) => visitor.visit_i64(number),
                PlainScalar::Real(_) | PlainScalar::Text if is_whole(text) => Err(YamlError::new(
                    self.at.position,
                    format!(
                        "{} has more than 64 bits; put it in quotes if it is a text, or write a point or an exponent",
                        quoted(text)
                    ),
                )),
                PlainScalar::Real(number) => visitor.visit_f64(number),
                PlainScalar::Text => visitor.visit_borrowed_str(text),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.text().and_then(truth) {
            Some(truth) => visitor.visit_bool(truth),
            None => Err(self.unlike("true or false")),
        }
    }

    numbers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64: "a whole number" }
    numbers! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64: "a whole number" }
    numbers! { deserialize_f32 deserialize_f64: "a number" }

    /// A visitor that requests a text names what it expects itself if there is none.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => Err(self.unlike("a text")),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        if self.is_nothing() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        if self.is_nothing() {
            visitor.visit_unit()
        } else {
            Err(self.unlike("nothing"))
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        if name == LOCATED {
            return visitor.visit_seq(LocatedParts {
                reader: self,
                given: 0,
            });
        }
        if name == WRITTEN {
            return match self.value() {
                NodeValue::Scalar {
                    text,
                    is_plain: true,
                } => visitor.visit_bytes(text.as_bytes()),
                _ => self.deserialize_any(visitor),
            };
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.items() {
            Some(items) => visitor.visit_seq(items),
            None => Err(self.unlike("a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.pairs() {
            Some(all) => self.visit_pairs(all, visitor),
            None => Err(self.unlike("keys with values")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        visitor.visit_enum(self.variant()?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { i128 u128 bytes byte_buf }
}

struct Items<'a> {
    reader: NodeReader<'a>,
    all: &'a [Child],
}

impl<'a> SeqAccess<'a> for Items<'a> {
    type Error = YamlError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, YamlError> {
        let Some((next, behind)) = self.all.split_first() else {
            return Ok(None);
        };
        self.all = behind;
        self.reader.other(*next).read(seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.all.len())
    }
}

struct Pairs<'a, 'k> {
    reader: NodeReader<'a>,
    all: &'a [(Child, Child)],
    /// The value of the last key, until it is read.
    value: Option<Child>,
    /// Position of the last key.
    key: &'k Cell<Position>,
}

impl<'a> MapAccess<'a> for Pairs<'a, '_> {
    type Error = YamlError;

    fn next_key_seed<K: DeserializeSeed<'a>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, YamlError> {
        let Some(((key, value), behind)) = self.all.split_first() else {
            return Ok(None);
        };
        (self.all, self.value) = (behind, Some(*value));
        self.key.set(key.position);
        self.reader.other(*key).read(seed).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, YamlError> {
        let value = self.value.take();
        let value =
            value.ok_or_else(|| de::Error::custom("a value was asked for before its key"))?;
        self.reader.other(value).read(seed)
    }
}

/// Line, column and the value itself.
struct LocatedParts<'a> {
    reader: NodeReader<'a>,
    given: u8,
}

impl<'a> SeqAccess<'a> for LocatedParts<'a> {
    type Error = YamlError;

    fn next_element_seed<T: DeserializeSeed<'a>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, YamlError> {
        let position = self.reader.at.position;
        let number = |number: u32| -> U32Deserializer<YamlError> { number.into_deserializer() };
        self.given += 1;
        match self.given {
            1 => seed.deserialize(number(position.line)),
            2 => seed.deserialize(number(position.column)),
            3 => seed.deserialize(self.reader),
            _ => return Ok(None),
        }
        .map(Some)
    }
}

/// A variant of an enumeration: its name, or its name with its content.
struct NamedVariant<'a> {
    name: NodeReader<'a>,
    text: &'a str,
    value: Option<NodeReader<'a>>,
}

impl<'a> NamedVariant<'a> {
    fn value(&self) -> Result<NodeReader<'a>, YamlError> {
        let missing = || {
            let message = format!("{} needs a value", quoted(self.text));
            YamlError::new(self.name.at.position, message)
        };
        self.value.ok_or_else(missing)
    }
}

impl<'a> EnumAccess<'a> for NamedVariant<'a> {
    type Error = YamlError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), YamlError> {
        let name: StrDeserializer<'a, YamlError> = self.text.into_deserializer();
        match seed.deserialize(name) {
            Ok(variant) => Ok((variant, self)),
            Err(error) => Err(error.at(self.name.at.position)),
        }
    }
}

impl<'a> VariantAccess<'a> for NamedVariant<'a> {
    type Error = YamlError;

    fn unit_variant(self) -> Result<(), YamlError> {
        match self.value {
            Some(value) if !value.is_nothing() => Err(value.unlike("nothing")),
            _ => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, YamlError> {
        self.value()?.read(seed)
    }

    fn tuple_variant<V: Visitor<'a>>(self, _: usize, visitor: V) -> Result<V::Value, YamlError> {
        self.value()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'a>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        self.value()?.deserialize_map(visitor)
    }
}
