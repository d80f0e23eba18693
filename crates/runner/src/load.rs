//! Workloads of a load: one request or a mix, their targets, numbers and rates.

pub mod guard;
pub mod pace;
mod request;
mod resources;
mod workload;

pub use request::LoadRequest;
pub use workload::LoadWorkload;
