//! A laboratory of network namespaces, and links between them that delay, lose, reorder, duplicate
//! and slow down frames, without the kernel's netem.
//!
//! ```text
//!  namespace "client"                  this process                    namespace "server"
//!  [socket] - [TAP eth0] ==> read - [link model] - [timer wheel] - write ==> [TAP eth0] - [socket]
//!                        <== write - [timer wheel] - [link model] - read <==
//! ```
//!
//! Namespaces and devices are held by file descriptors only. They end with this process, however
//! it ends, and so do the programs that a [`Lab`] starts.
//!
//! [`BuiltLab`] builds the network of a lab file: hosts, routers, switches, hubs and links.
//!
//! Without root, the process first enters a user namespace ([`user_namespace`]).

mod bare_host;
mod built;
mod counters;
mod error;
mod forwarder;
mod host_names;
mod impairment;
mod link_model;
mod namespace;
mod processes;
mod requirements;
mod scratch;
mod stop_signal;
mod surroundings;
mod system;
mod tap;
mod two_hosts;
pub mod user_namespace;
mod wheel;

pub use bare_host::{BareHost, BareHostReport};
pub use built::{BuiltHost, BuiltLab, PathProbe};
pub use counters::{DeliveryLateness, LinkCounters};
pub use error::LabError;
pub use flow::{GroupGuard, GuardedChild};
pub use forwarder::{Cable, Forwarder, ForwarderCounters, ForwarderSettings};
pub use impairment::{Bandwidth, CodelSettings, Delay, FqCodelSettings, Impairment, LinkQueue};
pub use link_model::{LinkModel, Passage, SentFrame, Transit};
pub use namespace::Namespace;
pub use processes::Lab;
pub use requirements::{check_requirements, congestion_controls};
pub use scratch::ScratchDirectory;
pub use surroundings::{SurroundingHost, Surroundings};
pub use tap::Tap;
pub use two_hosts::{HostAddresses, TwoHosts};
pub use wheel::TimerWheel;
