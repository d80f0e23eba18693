//! Where responses came from: from a cache in front of the server, and from which of its addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MeasureId;

/// Where the expected responses of one row came from. Of several threads, each has its own. It is recorded where
/// some came from a cache, and where the server has several addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowOrigins {
    /// The row.
    pub measure: MeasureId,
    /// Responses that a cache had, by their own headers.
    pub cached: u64,
    /// What that cache is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Responses from each address of a server with several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressResponses>,
}

/// Responses from one of the addresses of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressResponses {
    /// The collection of the run, as in samples.
    pub target: u16,
    /// Address and port.
    pub address: String,
    /// How many.
    pub responses: u64,
}

/// Connections to one of the addresses of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ServerAddress")]
pub struct AddressConnections {
    /// Address and port.
    pub address: String,
    /// How many were opened in the run, those of the preparations among them.
    pub connections: u64,
}
