//! The connections of one user to a server, from the socket to the client that authenticates and
//! retries.
//!
//! ```text
//! client: submit --> connection kept or opened --> response --> 401, dead? again --> poll
//! queue: requests in flight, as bytes
//! http1, http2: offer bytes --> sent --> first --> done
//! transport: one socket, its system calls, TLS by hand
//! ```

pub(crate) mod addresses;
pub(crate) mod body;
pub(crate) mod carrier;
pub(crate) mod client;
pub(crate) mod dial;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod prepared;
pub(crate) mod queue;
pub(crate) mod route;
pub(crate) mod silent_closes;
mod tcp_info;
pub(crate) mod tls;
mod tls_records;
pub(crate) mod transport;
