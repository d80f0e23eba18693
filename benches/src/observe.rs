//! Something is done while its packets are captured.

use anyhow::{Context, Result, bail};

use capture::Capture;
use trace::{CapturedExchange, Exchanges, segment};

/// Does something that makes requests to this port, and gives what it says and the exchanges.
///
/// # Errors
/// Where it fails, where packets cannot be captured, and where any was lost.
pub fn observe<T>(
    port: u16,
    ring_bytes: usize,
    act: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<CapturedExchange>)> {
    let capture = Capture::start(port, ring_bytes)
        .with_context(|| format!("capture port {port} of loopback (needs CAP_NET_RAW)"))?;
    let said = act()?;
    let mut exchanges = Exchanges::default();
    let mut refused = None;
    let counted = capture
        .finish(|packet| match segment::parse(packet.bytes, packet.at_ns) {
            Ok(segment) if packet.outgoing => exchanges.request(&segment),
            Ok(segment) => exchanges.response(&segment),
            Err(error) => refused = Some(error),
        })
        .context("ask the kernel how many packets were lost")?;
    if counted.dropped > 0 {
        bail!(
            "the capture of port {port} lost {} of {} packets and is discarded; fewer requests \
             need less room",
            counted.dropped,
            counted.packets
        );
    }
    if let Some(error) = refused {
        bail!("the capture of port {port} has what its filter should have kept out: {error}");
    }
    Ok((said, exchanges.finish()))
}
