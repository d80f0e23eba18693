//! The laboratory around this program, and where servers are started in it.

use std::env;

use lab::Surroundings;
use testbed::real::ServerPlace;

use crate::error::RunnerError;

/// Where a server is started: in a host of the laboratory around this program, if there is one.
///
/// # Errors
///
/// What the environment says of the laboratory is invalid.
pub(crate) fn server_place() -> Result<Option<ServerPlace>, RunnerError> {
    Ok(ServerPlace::around(surroundings()?.as_ref())?)
}

/// The laboratory around this program.
///
/// # Errors
///
/// What the environment says of it is invalid.
pub fn surroundings() -> Result<Option<Surroundings>, RunnerError> {
    Ok(Surroundings::read(|name| env::var(name).ok())?)
}
