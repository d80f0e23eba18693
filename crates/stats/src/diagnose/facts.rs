//! What the events of a run tell of a server, beside what its samples tell.

use record::{Event, EventKind};

/// Facts that are no matter of time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    /// One for each status, in their order.
    pub(crate) closed: Vec<ClosedAfter>,
}

/// Kept connections that the server closed after responses with this status, without
/// `Connection: close`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosedAfter {
    pub(crate) status: u16,
    /// All that were closed, and those among them of which the next request was lost.
    pub(crate) closes: u64,
    pub(crate) lost: u64,
}

impl Facts {
    pub(crate) fn of<'a>(events: impl Iterator<Item = &'a Event>) -> Facts {
        let closed = |event: &Event| match event.kind {
            EventKind::ClosedSilently {
                status,
                noticed,
                lost,
            } => Some(ClosedAfter {
                status,
                closes: noticed + lost,
                lost,
            }),
            _ => None,
        };
        Facts {
            closed: events.filter_map(closed).collect(),
        }
    }
}
