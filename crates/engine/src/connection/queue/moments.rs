//! When requests began, and when they left.

use std::ops::Range;

use record::Nanos;

use super::{KernelStamps, RequestQueue, RequestToken, UnderWay};

impl RequestQueue {
    /// Sets the beginning of the request that is written next, on this connection, if it has none;
    /// returns it.
    pub(crate) fn begin(&mut self, connection: u32, now: impl FnOnce() -> Nanos) -> Option<Nanos> {
        self.begin_between(self.whole..self.requests.len(), connection, now)
    }

    #[inline]
    fn begin_between(
        &mut self,
        range: Range<usize>,
        connection: u32,
        now: impl FnOnce() -> Nanos,
    ) -> Option<Nanos> {
        let is_new = |request: &UnderWay| request.stamps.started == 0;
        let mut at = range.start;
        while at < range.end && !is_new(&self.requests[at]) {
            at += 1;
        }
        if at == range.end {
            return None;
        }
        let now = now();
        for request in self.requests.range_mut(at..range.end) {
            request.stamps.started = now;
            request.history.connection = Some(connection);
        }
        Some(now)
    }

    /// Sets the departure of these requests, with that mark.
    pub(crate) fn have_left(&mut self, at: Nanos, mark: Option<u64>) {
        while self.left < self.whole {
            let request = &mut self.requests[self.left];
            request.stamps.sent = Some(at);
            request.mark = mark;
            request.stamps.kernel = mark.map(|_| KernelStamps::default());
            self.left += 1;
        }
    }

    /// Sets the beginning of the oldest `count` requests, on this connection, if they have none;
    /// returns it.
    pub(crate) fn begin_streams(
        &mut self,
        connection: u32,
        count: usize,
        now: impl FnOnce() -> Nanos,
    ) -> Option<Nanos> {
        self.begin_between(0..count, connection, now)
    }

    /// Sets the departure of that request, with that mark; false if it is not in flight any more.
    pub(crate) fn has_left(&mut self, token: RequestToken, at: Nanos, mark: Option<u64>) -> bool {
        let Some(request) = self.request(token) else {
            return false;
        };
        request.stamps.sent = Some(at);
        request.mark = mark;
        // A response that had begun before the departure has no stamp of its own.
        let first = request.stamps.kernel.and_then(|kernel| kernel.first);
        request.stamps.kernel = mark.map(|_| KernelStamps {
            first,
            ..KernelStamps::default()
        });
        true
    }
}
