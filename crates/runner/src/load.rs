//! What a load sends: one request or a mix, where to, how often and how fast.

pub mod guard;
pub mod pace;
mod request;
mod resources;
mod workload;

pub use request::LoadRequest;
pub use workload::LoadWorkload;
