//! Changes of a load by measurements, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Located, Scalar};

/// Changes of the number of users of a closed loop while it goes on: by a ladder, by conditions,
/// or, with neither, by steps `users: 8` of its tests.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptSpec {
    /// Fewest and most users at work: `[1, 64]`.
    pub users: [Located<Scalar>; 2],
    /// Shortest time between changes: `2s`.
    pub every: Located<Scalar>,
    /// These numbers of users in order; the last one is kept.
    #[serde(default)]
    pub ladder: Vec<Located<Scalar>>,
    /// While this is true, users are added each time.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub raise: Option<Located<String>>,
    /// While this is true, users are removed.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub lower: Option<Located<String>>,
}
