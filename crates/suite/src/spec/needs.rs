//! Requirements of a suite, as written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Requirement for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NeedsSpec {
    /// A WebDAV server below whose URL a collection can be made.
    #[default]
    Webdav,
    /// Any HTTP server; the suite only reads.
    Http,
    /// The same, and the suite also sends POST to programs of the server. Their changes remain.
    Cgi,
}
