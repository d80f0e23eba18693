//! `schemars`, for tests that compare the published schemas with the types. The program prints the published files,
//! and so is built without it: there `JsonSchema` derives nothing.

#[cfg(not(feature = "made"))]
pub use none::JsonSchema;
#[cfg(feature = "made")]
pub use schemars::*;
