//! A connection of whichever version of HTTP.

use record::{Nanos, Segments};
use wire::response::ResponseHead;

use crate::clock::RunClock;
use crate::connection::http1::{Connection, ExchangeError, Idle, Response};
use crate::connection::http2::Http2Connection;
use crate::connection::queue::RequestQueue;
use crate::connection::transport::Transport;

/// A connection that serves the requests of a queue; boxed, because it is moved out and back on
/// every request.
#[derive(Debug)]
pub(crate) enum Carrier {
    Http1(Box<Connection>),
    Http2(Box<Http2Connection>),
}

impl Carrier {
    pub(crate) fn has_responded(&self) -> bool {
        match self {
            Carrier::Http1(connection) => connection.has_responded,
            Carrier::Http2(connection) => connection.has_responded,
        }
    }

    fn transport(&self) -> &Transport {
        match self {
            Carrier::Http1(connection) => &connection.transport,
            Carrier::Http2(connection) => &connection.transport,
        }
    }

    /// TCP segments so far, if the system reports them.
    pub(crate) fn segments(&self) -> Option<Segments> {
        self.transport().segments()
    }

    /// The shortest round trip so far, if the system reports it.
    pub(crate) fn least_round_trip(&self) -> Option<Nanos> {
        self.transport().least_round_trip()
    }

    /// Events of the connection since the last exchange.
    pub(crate) fn idle(&mut self) -> Idle {
        match self {
            Carrier::Http1(connection) => connection.idle(),
            Carrier::Http2(connection) => connection.idle(),
        }
    }

    /// When the server was seen to end the connection.
    pub(crate) fn ended_at(&self) -> Option<Nanos> {
        self.transport().ended_at()
    }

    /// Makes the next check ask the kernel, even without an event of the event loop.
    pub(crate) fn look_again(&self) {
        self.transport().look_again();
    }

    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        match self {
            Carrier::Http1(connection) => connection.head(),
            Carrier::Http2(connection) => connection.head(),
        }
    }

    /// Writes the pending bytes, and reads the response to the oldest request; with streams, the
    /// first request with a response becomes the oldest.
    #[inline]
    pub(crate) async fn next_response(
        &mut self,
        queue: &mut RequestQueue,
        body: &mut Vec<u8>,
        clock: RunClock,
    ) -> Result<Response, ExchangeError> {
        match self {
            Carrier::Http1(connection) => connection.next_response(queue, body, clock).await,
            Carrier::Http2(connection) => connection.next_response(queue, body, clock).await,
        }
    }
}
