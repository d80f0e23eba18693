//! Requests that are sent again, and those that must not be.

use record::Outcome;

use super::{Client, Failure};
use crate::connection::carrier::Carrier;
use crate::connection::http1::{ExchangeError, StreamEnd};
use crate::connection::queue::{UnderWay, WrittenBytes};
use crate::connection::silent_closes::CloseShown;

/// Refusals after which the request of a stream is not sent again.
const REFUSALS: u32 = 3;

impl Client {
    /// Handles the end of a connection, or bytes on it that are not HTTP; or the end of a stream,
    /// after which the connection continues.
    pub(super) fn broken_off(
        &mut self,
        connection: Carrier,
        error: ExchangeError,
    ) -> Option<Failure> {
        let first = self.queue.first_mut()?;
        if !matches!(error, ExchangeError::Stream(_)) {
            first.history.ended(&connection, &self.http);
        }
        let (may_repeat, began) = (first.history.is_idempotent, first.history.began);
        let (outcome, what) = match error {
            ExchangeError::Stream(end) => {
                self.connection = Some(connection);
                let is_refused = matches!(end, StreamEnd::Refused);
                if is_refused && first.history.refusals < REFUSALS {
                    first.history.refusals += 1;
                    self.resend_oldest();
                    return None;
                }
                let outcome = match end {
                    StreamEnd::Malformed(_) => Outcome::ProtocolError,
                    _ => Outcome::Reset,
                };
                (outcome, end.to_string())
            }
            // The server has processed none of the remaining requests. A server that processes
            // nothing is not retried for ever.
            ExchangeError::GoingAway(what) if connection.has_responded() => {
                self.send_again(&what, false);
                return None;
            }
            ExchangeError::GoingAway(what) => (Outcome::Reset, what),
            ExchangeError::Ended { what, silent: true } if connection.has_responded() => {
                self.note_silent_close(&connection, began, CloseShown::Lost);
                if may_repeat {
                    self.report_failure(
                        "the persistent connection was closed; sent again on another",
                    );
                    self.send_again(&what, true);
                    return None;
                }
                let method = String::from_utf8_lossy(self.queue.first_method());
                let what = format!(
                    "{what}; the connection was kept from the request before, and {method} is not sent \
                     again, because it may have been carried out"
                );
                (Outcome::Reset, what)
            }
            ExchangeError::Ended { what, .. } => (Outcome::Reset, what),
            error @ (ExchangeError::Protocol(_)
            | ExchangeError::Frame(_)
            | ExchangeError::Unasked) => (Outcome::ProtocolError, error.to_string()),
        };
        Some(Failure { outcome, what })
    }

    /// Sends the oldest request again, behind the others, with the current credentials.
    pub(super) fn resend_oldest(&mut self) {
        let written = self.queue.written();
        let Some(mut first) = self.queue.take_first() else {
            return;
        };
        if self.connection.is_none() {
            first.history.began = self.config.time.clock.now();
            self.send_again("the server ended the connection", false);
        }
        first.history.resent = true;
        self.resubmit(first, &written);
    }

    /// Handles a lost connection: requests without a response are sent on a new one, if they may be
    /// repeated or nothing of them was sent.
    pub(super) fn send_again(&mut self, why: &str, may_be_carried_out: bool) {
        let now = self.config.time.clock.now();
        let (requests, written) = self.queue.take_all();
        for mut request in requests {
            let is_sent = request.stamps.bytes_sent > 0;
            if request.history.is_idempotent || !is_sent {
                request.history.resent |= is_sent;
                request.history.died_once |= is_sent && may_be_carried_out;
                request.history.began = now;
                self.resubmit(request, &written);
                continue;
            }
            let outcome = Outcome::Reset;
            let what = format!("{why}, and the request behind it never had a response");
            let failed = self.exchange_of(&request, Err(Failure { outcome, what }));
            self.ended.push_back((request.token, failed));
        }
    }

    fn resubmit(&mut self, mut request: UnderWay, written: &WrittenBytes) {
        request.history.credentials = self.credentials.heeded;
        let credentials = &mut self.credentials;
        let end_head = |bytes: &mut Vec<u8>, start| credentials.write(bytes, start);
        self.queue.resubmit(request, written, end_head);
        self.show_request();
    }
}
