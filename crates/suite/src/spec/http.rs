//! How a test uses HTTP, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Placed, Scalar};

/// How the loop of a test uses connections.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// Version of HTTP in requests: `"1.0"`, `"1.1"`, or `"2"`, whose requests in a pipeline are streams.
    pub version: Option<Placed<Scalar>>,
    /// Connections of each user, for the files of a page.
    pub connections: Option<Placed<Scalar>>,
    /// For what a connection is kept.
    #[serde(default)]
    pub keep: KeepSpec,
    /// Requests of a page that may be under way on its connection at a time.
    pub pipeline: Option<Placed<Scalar>>,
    /// All files of a page are known when it begins; else its first names the others.
    #[serde(default)]
    pub at_once: bool,
}

/// For what a connection is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepSpec {
    /// For one request.
    Request,
    /// For the requests of a page.
    Page,
    /// For the whole test.
    #[default]
    Test,
}
