//! Whether a laboratory can be built here, before anything is.

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::processes::Lab;
use crate::tap::Tap;

/// Builds and removes the smallest laboratory: one namespace with a TAP device.
///
/// # Errors
///
/// What is missing first, with its remedy.
pub fn check_requirements() -> Result<(), LabError> {
    let namespace = Namespace::new("check")?;
    Tap::create(&namespace, "eth0")?;
    Lab::new()?;
    Ok(())
}
