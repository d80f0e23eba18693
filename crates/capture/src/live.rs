//! Packets of the loopback interface, with the kernel's time stamps: the truth that a client's
//! times are compared with.
//!
//! ```text
//! client --> dev_queue_xmit --+--> loopback --> netif_rx --+--> server
//!                             |                            |
//!                      outgoing copy                 incoming copy
//! ```
//!
//! Every packet on `lo` shows twice, stamped when it leaves and when it arrives. Of a request the
//! *outgoing* copy counts, of a response the *incoming* one: with a network between client and
//! server those are the two that a capture at the client's end of the cable would see. What lies
//! between them is the server and the way to it, and nothing of the client. The filter (see
//! `filter::benchmark`) keeps exactly these.
//!
//! The ring is large enough for a whole run and is read when the run is over: nothing of this
//! process runs meanwhile.

use std::io;
use std::time::Duration;

use socket2::{Socket, Type};

use crate::error::CaptureError;
use crate::filter::benchmark;
use crate::ring::Ring;
pub use crate::ring::{LinkAddress, Packet};
pub use crate::socket::CaptureCounters;
use crate::socket::{attach, bind, counted, open};

/// After this time the kernel hands a block over that is not full.
const RETIRE: Duration = Duration::from_millis(250);

/// Room for some hundred thousand small requests.
pub const RING: usize = 192 << 20;

/// A capture under way.
#[derive(Debug)]
pub struct Capture {
    socket: Socket,
    ring: Ring,
}

impl Capture {
    /// Captures requests to this port of loopback, and responses from it, into a ring of that many
    /// bytes.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, and where the memory is refused.
    pub fn start(port: u16, ring_bytes: usize) -> io::Result<Capture> {
        let socket = open(Type::RAW)?;
        attach(&socket, &benchmark::program(port))?;
        let ring = Ring::new(&socket, ring_bytes, RETIRE)?;
        let loopback = rustix::net::netdevice::name_to_index(&socket, "lo")?;
        bind(&socket, loopback)?;
        Ok(Capture { socket, ring })
    }

    /// Ends the capture and shows every packet in the order of capture.
    ///
    /// # Errors
    /// Where the kernel does not tell what it counted.
    pub fn finish(mut self, mut visit: impl FnMut(Packet<'_>)) -> io::Result<CaptureCounters> {
        while self.ring.wait_for_last(&self.socket)? {
            self.ring.read_block(&mut visit);
        }
        counted(&self.socket)
    }
}

/// Whether packets can be captured here, and if not, what came back.
///
/// # Errors
/// A sentence that says what is missing.
pub fn available() -> Result<(), String> {
    match open(Type::RAW) {
        Ok(_) => Ok(()),
        Err(error) => Err(CaptureError::system("opening a packet socket")(error).to_string()),
    }
}
