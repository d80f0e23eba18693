//! What decides when users begin operations: [`User`](super::user::User) does the steps of one, and asks
//! its driver what to do when they fail.

use record::{Nanos, TestId};

use crate::drive::check::Wrong;

/// Decides when users begin operations, and what their failures mean.
pub(crate) trait Driver {
    /// Whether a user begins another step of a test at `now`.
    fn goes_on(&self, test: TestId, now: Nanos) -> bool;

    /// When pauses end at the latest, as far as is known now.
    fn end_of_pauses(&self) -> Nanos;

    /// Whether a step that fails although nothing else can be measured without it, or that the server
    /// does not support, ends its test for all users. In a load it fails its operation only.
    fn is_strict(&self) -> bool;

    /// A request has ended.
    ///
    /// # Errors
    /// Why the user gives its test up.
    fn heard(&self, hearing: &mut Hearing, heard: &Heard<'_>) -> Result<(), String>;
}

/// How a request of a user has ended.
pub(crate) struct Heard<'w> {
    pub(crate) ended: Nanos,
    /// A complete response came.
    pub(crate) answered: bool,
    /// Why that was not the expected one, after what was requested.
    pub(crate) wrong: Option<(&'w Wrong, &'w str)>,
}

/// What a user has heard of the server.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// Since when nothing is heard: the last response, or the beginning of the first request after it that
    /// got none. A user who paused in between was not left waiting.
    pub(crate) silent_since: Nanos,
    /// Requests in a row that got no response.
    pub(crate) unanswered: u32,
    /// The driver counts the user among those who hear nothing.
    pub(crate) is_silent: bool,
}

impl Hearing {
    /// A request has ended, with a response or without one.
    pub(crate) fn add(&mut self, done: Done) {
        if done.answered {
            self.silent_since = done.ended;
            self.unanswered = 0;
            return;
        }
        if self.unanswered == 0 {
            self.silent_since = self.silent_since.max(done.started);
        }
        self.unanswered += 1;
    }

    /// Nothing has been asked yet.
    pub(crate) fn from(now: Nanos) -> Hearing {
        Hearing {
            silent_since: now,
            ..Hearing::default()
        }
    }
}

/// An operation that a driver wants done, as far as it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operating {
    /// How its requests are numbered.
    pub(crate) numbering: Numbering,
    /// The visit that it is, where it is a page.
    pub(crate) visit: Option<u64>,
    /// How many parts the first file of the page under way named; `None` where no file names any.
    pub(crate) parts: Option<u16>,
    /// The stage of the schedule that it is of.
    pub(crate) phase: u16,
    /// When the next request was to begin; `None` for at once. What an operation waited for a connection
    /// belongs to its first measured request, whatever is sent before that.
    pub(crate) planned: Option<Nanos>,
    /// The time, where the clock has just been read.
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

/// How the requests of an operation are numbered in `X-Prestan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// One after the other, over all users.
    Each,
    /// All by this number: it is one request, or not counted.
    Own(u64),
}

/// A request that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) started: Nanos,
    pub(crate) ended: Nanos,
    pub(crate) answered: bool,
    pub(crate) measured: bool,
    /// Status of the response, where there was one.
    pub(crate) status: Option<u16>,
}

impl Operating {
    /// One that begins at once.
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

    /// A request of it has ended.
    pub(crate) fn add(&mut self, done: Done) {
        self.started.get_or_insert(done.started);
        self.ended = done.ended;
        self.now = done.answered.then_some(done.ended);
        self.planned = if done.measured {
            None
        } else {
            self.planned
                .map(|planned| planned + (done.ended - done.started))
        };
    }

    /// Some time has passed that nothing waited for.
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
            answered: true,
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
