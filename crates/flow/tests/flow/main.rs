//! Sources and sinks of background traffic over loopback.

#![cfg(test)]

mod external;
mod liveness;
mod loopback;
mod relay;
mod support;
mod unauthenticated;
