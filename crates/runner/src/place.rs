//! The laboratory around this program, and hosts for servers in it.

use std::env;

use lab::Surroundings;
use testbed::real::ServerPlace;

use crate::error::RunnerError;

/// Host for servers in the laboratory around this program, if there is one.
///
/// # Errors
///
/// Environment variables of the laboratory are invalid.
pub(crate) fn server_place() -> Result<Option<ServerPlace>, RunnerError> {
    Ok(ServerPlace::around(surroundings()?.as_ref())?)
}

/// The laboratory around this program.
///
/// # Errors
///
/// Its environment variables are invalid.
pub fn surroundings() -> Result<Option<Surroundings>, RunnerError> {
    Ok(Surroundings::read(|name| env::var(name).ok())?)
}
