//! Changes of a load by measurements, as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Placed, Scalar};

/// Changes of the number of users of a closed loop while it goes on: by a ladder, by conditions,
/// or, with neither, by steps `users: 8` of its tests.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptSpec {
    /// Fewest and most users at work: `[1, 64]`.
    pub users: [Placed<Scalar>; 2],
    /// Shortest time between changes: `2s`.
    pub every: Placed<Scalar>,
    /// These numbers of users in order; the last one is kept.
    #[serde(default)]
    pub ladder: Vec<Placed<Scalar>>,
    /// While this is true, users are added each time.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub raise: Option<Placed<String>>,
    /// While this is true, users are removed.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub lower: Option<Placed<String>>,
}
