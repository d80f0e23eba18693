//! The end of a connection, for the record and at the will of this side.

use record::{Http, Segments};

use super::{Client, Exchange};
use crate::connection::carrier::Carrier;
use crate::connection::queue::RequestHistory;

impl RequestHistory {
    /// A connection ends with this request, in a test that uses connections so. Where they are to be kept,
    /// the segments of the few that the server ends would describe none of the others.
    pub(super) fn ended(&mut self, connection: &Carrier, http: &Http) {
        if http.ends_connections() {
            self.segments = both(self.segments, connection.segments());
        }
    }
}

impl<A> Exchange<A> {
    /// The connection of its client ends with it.
    pub(crate) fn ends_connection_of(&mut self, client: &mut Client) {
        self.trace.segments = both(self.trace.segments, client.close());
    }
}

impl Client {
    /// Uses connections in that way from now on, on a new one where that is another.
    pub(crate) fn use_http(&mut self, http: Http) {
        if http != self.http {
            self.http = http;
            self.close();
        }
    }

    /// Closes the connection, if there is one, and tells what it came to. The head of the last response
    /// remains; of what is under way, nothing is heard any more.
    pub(crate) fn close(&mut self) -> Option<Segments> {
        self.queue.clear();
        self.ended.clear();
        let connection = self.connection.take()?;
        self.parting = connection.head().cloned();
        connection.segments()
    }
}

/// Segments of two connections, as far as they are known.
fn both(one: Option<Segments>, other: Option<Segments>) -> Option<Segments> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    }
}
