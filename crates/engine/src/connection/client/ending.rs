//! The end of a connection, for the record and by this side.

use record::{Http, Nanos, Segments};
use wire::response::ResponseHead;

use super::{Client, Exchange};
use crate::connection::carrier::Carrier;
use crate::connection::http1::Idle;
use crate::connection::queue::RequestHistory;
use crate::connection::silent_closes::{Caution, CloseShown};

impl RequestHistory {
    /// Ends a connection with this request, in a test that uses connections so. If they are to be
    /// kept, the segments of the few that the server ends would not be representative.
    pub(super) fn ended(&mut self, connection: &Carrier, http: &Http) {
        if http.ends_connections() {
            self.segments = both(self.segments, connection.segments());
        }
    }
}

impl<A> Exchange<A> {
    /// Ends the connection of its client with it.
    pub(crate) fn ends_connection_of(&mut self, client: &mut Client) {
        self.trace.segments = both(self.trace.segments, client.close());
    }
}

impl Client {
    /// Uses connections in that way from now on, on a new one if that differs.
    pub(crate) fn use_http(&mut self, http: Http) {
        if http != self.http {
            self.http = http;
            self.close();
        }
    }

    /// Closes the connection, if there is one, and returns its segments. The head of the last
    /// response remains; responses in flight are dropped.
    pub(crate) fn close(&mut self) -> Option<Segments> {
        self.queue.clear();
        self.ended.clear();
        let connection = self.connection.take()?;
        self.parting = connection.head().cloned();
        connection.segments()
    }

    /// Drops the kept connection if the server has closed it, or may be about to and the request
    /// must not be repeated.
    pub(super) fn drop_if_closed(&mut self, is_idempotent: bool) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        let is_kept = connection.has_responded();
        let caution = if is_kept && !is_idempotent {
            let idle = self.config.time.clock.now().saturating_sub(self.last_used);
            let announced = connection.head().and_then(announced_limit);
            let closes = &self.config.closes;
            closes.caution(self.last_status, idle, announced)
        } else {
            Caution::None
        };
        if caution != Caution::None {
            connection.look_again();
        }
        match connection.idle() {
            Idle::Open if caution == Caution::Reconnect => {}
            Idle::Open => self.connection = Some(connection),
            Idle::Ended if is_kept => {
                self.note_silent_close(&connection, Nanos::MAX, CloseShown::Noticed);
            }
            Idle::Ended | Idle::Spoke => {}
        }
    }

    /// Notes that the kept connection has ended though its last response did not announce that. It
    /// was idle until a request began.
    pub(super) fn note_silent_close(
        &self,
        connection: &Carrier,
        request_began: Nanos,
        shown: CloseShown,
    ) {
        let ended = connection.ended_at();
        let ended = ended.unwrap_or_else(|| self.config.time.clock.now());
        let idle = ended.min(request_began).saturating_sub(self.last_used);
        self.config.closes.note(self.last_status, idle, shown);
    }
}

/// Idle time after which the server ends the connection, as announced in a response: `timeout=5` of
/// Keep-Alive (RFC 2068, section 19.7.1.1).
fn announced_limit(head: &ResponseHead) -> Option<Nanos> {
    let mut parameters = head.headers.list("Keep-Alive");
    let seconds = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_limit = name.trim().eq_ignore_ascii_case("timeout");
        is_limit.then(|| value.trim().parse::<u64>().ok())?
    });
    Some(seconds?.saturating_mul(1_000_000_000))
}

/// Segments of both connections, as far as they are known.
fn both(one: Option<Segments>, other: Option<Segments>) -> Option<Segments> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    }
}
