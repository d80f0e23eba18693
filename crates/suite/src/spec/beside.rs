//! Companions of a run, as written: background traffic, and the recording of its packets.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Unexpected, Visitor};
use traffic::TrafficSpec;

use super::{Located, Scalar};

/// Background traffic: the name of a traffic file, or keys.
#[derive(Debug, Clone, PartialEq)]
pub enum BackgroundSpec {
    /// The only load of this file.
    File(String),
    /// Keys.
    Keys(Box<BackgroundKeys>),
}

/// Background traffic with keys. Either `file` or `traffic` is needed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundKeys {
    /// A traffic file; its path is relative to the suite.
    pub file: Option<Located<Scalar>>,
    /// The content of a traffic file, in its place.
    pub traffic: Option<Located<TrafficSpec>>,
    /// Name of the load; may be omitted where there is only one.
    pub load: Option<Located<Scalar>>,
    /// Largest deviation from its mean in each of three seconds for a load of constant rates to be
    /// stable: `5%`, which is also the default.
    pub stable: Option<Located<Scalar>>,
    /// Longest duration of flows: `3h`.
    #[serde(default, rename = "for")]
    pub duration: Option<Located<Scalar>>,
}

/// Recording of the packets of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum CaptureSpec {
    /// Whole packets, or nothing.
    Whole(bool),
    /// Keys.
    Keys(Box<CaptureKeys>),
}

/// Recording of the packets of a run with keys.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureKeys {
    /// Bytes kept of each packet: `128`; default: all.
    pub snap: Option<Located<Scalar>>,
    /// Largest size of the file: `100MiB`; default `1GiB`.
    pub size: Option<Located<Scalar>>,
}

impl<'de> Deserialize<'de> for BackgroundSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BackgroundVisitor;

        impl<'de> Visitor<'de> for BackgroundVisitor {
            type Value = BackgroundSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a traffic file, or keys: `{file: load.yaml, load: busy}`")
            }

            fn visit_str<E: de::Error>(self, file: &str) -> Result<BackgroundSpec, E> {
                Ok(BackgroundSpec::File(file.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BackgroundSpec, A::Error> {
                let keys = BackgroundKeys::deserialize(MapAccessDeserializer::new(map))?;
                Ok(BackgroundSpec::Keys(Box::new(keys)))
            }
        }

        deserializer.deserialize_any(BackgroundVisitor)
    }
}

impl<'de> Deserialize<'de> for CaptureSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CaptureVisitor;

        impl<'de> Visitor<'de> for CaptureVisitor {
            type Value = CaptureSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`true`, or keys: `{snap: 128}`")
            }

            fn visit_bool<E: de::Error>(self, is_kept: bool) -> Result<CaptureSpec, E> {
                Ok(CaptureSpec::Whole(is_kept))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CaptureSpec, E> {
                let is_kept = yaml::truth(text);
                let is_kept = is_kept.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self));
                is_kept.map(CaptureSpec::Whole)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CaptureSpec, A::Error> {
                let keys = CaptureKeys::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CaptureSpec::Keys(Box::new(keys)))
            }
        }

        deserializer.deserialize_any(CaptureVisitor)
    }
}
