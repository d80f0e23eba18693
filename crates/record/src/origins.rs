//! Origins of responses: a cache in front of the server, and its addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MeasureId;

/// Origins of the expected responses of one row; one record per thread. Recorded if some responses
/// came from a cache, and if the server has several addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowOrigins {
    /// The row.
    pub measure: MeasureId,
    /// Responses from a cache, according to their headers.
    pub cached: u64,
    /// Name of that cache.
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
    /// Index of the collection of the run, as in samples.
    pub target: u16,
    /// Address and port.
    pub address: String,
    /// Number of responses.
    pub responses: u64,
}

/// Connections to one of the addresses of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ServerAddress")]
pub struct AddressConnections {
    /// Address and port.
    pub address: String,
    /// Number of connections opened in the run, including the preparations.
    pub connections: u64,
}
