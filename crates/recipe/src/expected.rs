//! Expectations of tests.

use serde::Deserialize;

/// Facts about a server that tests compare with what they find. Without any, the server does all
/// that is tested.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerExpectations {
    /// Tokens of its DAV header.
    pub dav: Vec<String>,
    /// Rows of the suite `prestan` that are not supported or skipped.
    pub not_ok: Vec<UnsupportedRows>,
    /// Status of a PUT of a plain file, where that is refused.
    pub refuses_files: Option<u16>,
    /// Set if it passes all of litmus.
    pub litmus: bool,
    /// Set if all rows of the suite `calendar` are ok.
    pub calendar: bool,
    /// Most clients that can connect at the same time, where these are few.
    pub most_clients: Option<u64>,
}

/// Rows that are not ok, for the same reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnsupportedRows {
    /// Names of the rows.
    pub rows: Vec<String>,
    /// The evidence in a report, or a part of it.
    pub evidence: String,
}
