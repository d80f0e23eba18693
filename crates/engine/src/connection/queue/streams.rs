//! The queue where its requests are streams: they are put into frames elsewhere, and end in any order.

use record::Nanos;

use super::{KernelStamps, RequestQueue, RequestToken, Stamps, UnderWay};

impl RequestQueue {
    /// That request; `None` where it is not under way any more.
    pub(crate) fn of(&mut self, token: RequestToken) -> Option<&mut UnderWay> {
        self.requests
            .iter_mut()
            .find(|request| request.token == token)
    }

    /// Token, head, and length of the body of the request at that place.
    pub(crate) fn head_at(&self, place: usize) -> Option<(RequestToken, &[u8], usize)> {
        let request = self.requests.get(place)?;
        let head = self.own(request.at.start..request.at.body_start);
        Some((request.token, head, self.body_at(place)?.len()))
    }

    /// The body of the request at that place.
    pub(crate) fn body_at(&self, place: usize) -> Option<&[u8]> {
        let request = self.requests.get(place)?;
        Some(match &request.fixed {
            Some(fixed) => fixed,
            None => self.own(request.at.body_start..request.at.end),
        })
    }

    /// The oldest requests, so many, begin now on this connection, where they have not begun before; when that
    /// was.
    pub(crate) fn begin_streams(
        &mut self,
        connection: u32,
        count: usize,
        now: impl FnOnce() -> Nanos,
    ) -> Option<Nanos> {
        self.begin_between(0..count, connection, now)
    }

    /// That request has left, at that moment and under that mark; false where it is not under way any more.
    pub(crate) fn has_left(&mut self, token: RequestToken, at: Nanos, mark: Option<u64>) -> bool {
        let Some(request) = self.of(token) else {
            return false;
        };
        request.stamps.sent = Some(at);
        request.mark = mark;
        // What had begun before it left has no stamp of its own.
        let first = request.stamps.kernel.and_then(|kernel| kernel.first);
        request.stamps.kernel = mark.map(|_| KernelStamps {
            first,
            ..KernelStamps::default()
        });
        true
    }

    /// The server has not looked at that request: it is as if it had not been sent.
    pub(crate) fn was_not_sent(&mut self, token: RequestToken) {
        if let Some(request) = self.of(token) {
            request.stamps = Stamps::default();
            request.mark = None;
        }
    }

    /// That request ends next, before those that are older; false where it is not under way any more.
    pub(crate) fn bring_first(&mut self, token: RequestToken) -> bool {
        let place = self
            .requests
            .iter()
            .position(|request| request.token == token);
        if let Some(place @ 1..) = place
            && let Some(request) = self.requests.remove(place)
        {
            self.requests.push_front(request);
        }
        place.is_some()
    }
}
