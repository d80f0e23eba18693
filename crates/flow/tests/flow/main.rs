//! Sources and sinks of background traffic over loopback.

#[cfg(test)]
mod external;
#[cfg(test)]
mod liveness;
#[cfg(test)]
mod loopback;
#[cfg(test)]
mod relay;
#[cfg(test)]
mod strangers;
#[cfg(test)]
mod support;
