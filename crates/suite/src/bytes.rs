//! Bodies in a serialised plan, as base64: a plan may be sent to the machine that runs it.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<[u8]>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = BASE64_STANDARD.decode(text).map_err(D::Error::custom)?;
    Ok(bytes.into())
}

/// Bodies that may be absent.
pub(crate) mod optional {
    use super::{Arc, BASE64_STANDARD, Deserializer, Engine, Serializer};
    use serde::{Deserialize, Serialize};

    #[derive(Deserialize)]
    struct EncodedBody(#[serde(with = "super")] Arc<[u8]>);

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<Arc<[u8]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = bytes.as_ref().map(|bytes| BASE64_STANDARD.encode(bytes));
        text.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<[u8]>>, D::Error> {
        let body = Option::<EncodedBody>::deserialize(deserializer)?;
        Ok(body.map(|EncodedBody(bytes)| bytes))
    }
}
