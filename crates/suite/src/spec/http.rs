//! Use of HTTP by a test, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Located, Scalar};

/// Use of connections in the loop of a test.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSpec {
    /// Version of HTTP in requests: `"1.0"`, `"1.1"`, or `"2"`, whose requests in a pipeline are
    /// streams.
    pub version: Option<Located<Scalar>>,
    /// Connections of each user, for the files of a page.
    pub connections: Option<Located<Scalar>>,
    /// Scope of a connection.
    #[serde(default)]
    pub keep: KeepSpec,
    /// Requests of a page in flight on its connection at a time.
    pub pipeline: Option<Located<Scalar>>,
    /// All files of a page are known when it begins; otherwise its first file names the others.
    #[serde(default)]
    pub at_once: bool,
}

/// Scope of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeepSpec {
    /// One request.
    Request,
    /// The requests of a page.
    Page,
    /// The whole test.
    #[default]
    Test,
}
