//! A load that changes with what is measured, as it is written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Placed, Scalar};

/// How the number of users of a closed loop changes while it goes on: by a ladder, by conditions, or, with neither, by
/// steps `users: 8` of its tests.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdaptSpec {
    /// Fewest and most users at work: `[1, 64]`.
    pub users: [Placed<Scalar>; 2],
    /// How long a number of users is kept at least: `2s`.
    pub every: Placed<Scalar>,
    /// These numbers of users, one after the other; the last is kept.
    #[serde(default)]
    pub ladder: Vec<Placed<Scalar>>,
    /// While this is true, there are more users each time.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub raise: Option<Placed<String>>,
    /// While this is true, there are fewer.
    #[serde(default)]
    #[schemars(schema_with = "crate::schema::condition")]
    pub lower: Option<Placed<String>>,
}
