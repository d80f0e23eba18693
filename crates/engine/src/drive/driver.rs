//! Decides when users begin operations: [`User`](super::user::User) does the steps of one, and asks
//! its driver for the consequences of failures.

use record::{Nanos, TestId};

use crate::drive::check::Wrong;

pub(crate) trait Driver {
    /// True if a user begins another step of a test at `now`.
    fn goes_on(&self, test: TestId, now: Nanos) -> bool;

    /// Latest end of pauses, as far as it is known now.
    fn end_of_pauses(&self) -> Nanos;

    /// True if a step that fails although nothing else can be measured without it, or that the
    /// server does not support, ends its test for all users. In a load it fails its operation only.
    fn is_strict(&self) -> bool;

    /// Handles the end of a request.
    ///
    /// # Errors
    /// The user abandons its test, with the reason.
    fn request_ended(
        &self,
        silence: &mut ServerSilence,
        end: &RequestEnd<'_>,
    ) -> Result<(), String>;
}

pub(crate) struct RequestEnd<'w> {
    pub(crate) ended: Nanos,
    /// A complete response came.
    pub(crate) has_response: bool,
    /// The defect of the response, and the request.
    pub(crate) wrong: Option<(&'w Wrong, &'w str)>,
}

/// State of the server as seen by a user.
#[derive(Debug, Default)]
pub(crate) struct ServerSilence {
    /// When the silence began: the last response, or the beginning of the first request after it
    /// without one. A pause of the user is not silence.
    pub(crate) silent_since: Nanos,
    /// Consecutive requests without a response.
    pub(crate) unanswered: u32,
    /// The driver counts the user among those without responses.
    pub(crate) is_silent: bool,
}

impl ServerSilence {
    pub(crate) fn add(&mut self, done: Done) {
        if done.has_response {
            self.silent_since = done.ended;
            self.unanswered = 0;
            return;
        }
        if self.unanswered == 0 {
            self.silent_since = self.silent_since.max(done.started);
        }
        self.unanswered += 1;
    }

    pub(crate) fn from(now: Nanos) -> ServerSilence {
        ServerSilence {
            silent_since: now,
            ..ServerSilence::default()
        }
    }
}

/// An operation in progress, as a driver began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operating {
    /// Numbering of its requests.
    pub(crate) numbering: Numbering,
    /// Its visit, if it is a page.
    pub(crate) visit: Option<u64>,
    /// Number of parts that the first file of the current page named; `None` if no file names any.
    pub(crate) parts: Option<u16>,
    /// Its stage of the schedule.
    pub(crate) phase: u16,
    /// When the next request was to begin; `None` for at once. The wait of an operation for a
    /// connection belongs to its first measured request, even if other requests come before.
    pub(crate) planned: Option<Nanos>,
    /// The time, if the clock has just been read.
    pub(crate) now: Option<Nanos>,
    /// Pauses before its first request.
    pub(crate) paused: Nanos,
    /// When its first request began.
    pub(crate) started: Option<Nanos>,
    /// When its last request or pause ended.
    pub(crate) ended: Nanos,
    /// A pause of it was cut off.
    pub(crate) is_cut: bool,
}

/// Numbering of the requests of an operation in `X-Prestan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// One after the other, over all users.
    Each,
    /// All with this number: the operation is one request, or not counted.
    Own(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) started: Nanos,
    pub(crate) ended: Nanos,
    pub(crate) has_response: bool,
    pub(crate) measured: bool,
    /// Status of the response, if there was one.
    pub(crate) status: Option<u16>,
}

impl Operating {
    /// An operation that begins at once.
    pub(crate) fn at_once(numbering: Numbering) -> Operating {
        Operating {
            numbering,
            visit: None,
            parts: None,
            phase: 0,
            planned: None,
            now: None,
            paused: 0,
            started: None,
            ended: 0,
            is_cut: false,
        }
    }

    pub(crate) fn add(&mut self, done: Done) {
        self.started.get_or_insert(done.started);
        self.ended = done.ended;
        self.now = done.has_response.then_some(done.ended);
        self.planned = if done.measured {
            None
        } else {
            self.planned
                .map(|planned| planned + (done.ended - done.started))
        };
    }

    /// Adds time that is no delay.
    pub(crate) fn pause(&mut self, time: Nanos) {
        self.now = None;
        self.planned = self.planned.map(|planned| planned + time);
        if self.started.is_none() {
            self.paused += time;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(started: Nanos, ended: Nanos, measured: bool) -> Done {
        Done {
            started,
            ended,
            has_response: true,
            measured,
            status: None,
        }
    }

    #[test]
    fn what_an_operation_waited_belongs_to_its_first_measured_request() {
        let mut operating = Operating {
            planned: Some(100),
            ..Operating::at_once(Numbering::Each)
        };
        // It waited 50 for a connection, and its set-up took 30.
        operating.add(done(150, 180, false));
        assert_eq!(operating.planned, Some(130));
        operating.pause(20);
        assert_eq!((operating.planned, operating.paused), (Some(150), 0));
        // Begun at 200, it is late by the 50.
        operating.add(done(200, 210, true));
        assert_eq!((operating.planned, operating.started), (None, Some(150)));
        assert_eq!(operating.ended, 210);
    }
}
