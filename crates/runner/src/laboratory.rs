//! How laboratories are built.

use std::time::Duration;

use lab::{BuiltLab, ForwarderSettings};
use topology::LabNetwork;

use crate::RunnerError;

/// How long before a packet is due the forwarder busy-waits. Five times as long would make the half of packets 10 µs
/// more punctual, and take two thirds more of a processor that servers and load generator need.
const BUSY_WAIT: Duration = Duration::from_micros(20);

/// Lateness of one packet in a hundred from which results are doubtful.
pub const LATE: Duration = Duration::from_millis(1);

/// Builds a network.
///
/// # Errors
///
/// This machine or its user may not build it.
pub fn build(network: &LabNetwork) -> Result<BuiltLab, RunnerError> {
    let settings = ForwarderSettings {
        busy_wait: BUSY_WAIT,
        ..ForwarderSettings::default()
    };
    Ok(BuiltLab::new(network, &settings)?)
}
