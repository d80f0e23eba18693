//! Laboratories.

use std::time::Duration;

use lab::{BuiltLab, ForwarderSettings};
use topology::LabNetwork;

use crate::RunnerError;

/// Time before a packet is due in which the forwarder busy-waits. Five times as long would make
/// half of the packets 10 µs more punctual, and take two thirds more of a processor that servers
/// and load generator need.
const BUSY_WAIT: Duration = Duration::from_micros(20);

/// Lateness of the 99th percentile of packets from which results are unreliable.
pub const LATE: Duration = Duration::from_millis(1);

/// Builds a network.
///
/// # Errors
///
/// This machine, or its user, lacks a permission or resource.
pub fn build(network: &LabNetwork) -> Result<BuiltLab, RunnerError> {
    let settings = ForwarderSettings {
        busy_wait: BUSY_WAIT,
        ..ForwarderSettings::default()
    };
    Ok(BuiltLab::new(network, &settings)?)
}
