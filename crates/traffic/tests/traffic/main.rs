//! Background traffic: its files, its random laws, its schedules and what its sinks compute.

#[cfg(test)]
mod files;
#[cfg(test)]
mod generators;
#[cfg(test)]
mod hurst;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod schedules;
#[cfg(test)]
mod sinks;
