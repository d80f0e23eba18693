//! The queue of requests that are streams: they are put into frames elsewhere, and end in any
//! order.

use super::{RequestQueue, RequestToken, Stamps, UnderWay};

impl RequestQueue {
    /// The request of a token; `None` if it is not in flight any more.
    pub(crate) fn request(&mut self, token: RequestToken) -> Option<&mut UnderWay> {
        let mut requests = self.requests.iter_mut();
        requests.find(|request| request.token == token)
    }

    /// Token, head, and length of the body of the request at an index.
    pub(crate) fn head_at(&self, index: usize) -> Option<(RequestToken, &[u8], usize)> {
        let request = self.requests.get(index)?;
        let head = self.slice_of_bytes(request.at.start..request.at.body_start);
        Some((request.token, head, self.body_at(index)?.len()))
    }

    pub(crate) fn body_at(&self, index: usize) -> Option<&[u8]> {
        let request = self.requests.get(index)?;
        Some(match &request.fixed {
            Some(fixed) => fixed,
            None => self.slice_of_bytes(request.at.body_start..request.at.end),
        })
    }

    /// Notes that the server has not processed that request: it counts as unsent.
    pub(crate) fn was_not_sent(&mut self, token: RequestToken) {
        if let Some(request) = self.request(token) {
            request.stamps = Stamps::default();
            request.mark = None;
        }
    }

    /// Makes that request the first, before older ones; false if it is not in flight any more.
    pub(crate) fn bring_first(&mut self, token: RequestToken) -> bool {
        let mut requests = self.requests.iter();
        let index = requests.position(|request| request.token == token);
        if let Some(index @ 1..) = index
            && let Some(request) = self.requests.remove(index)
        {
            self.requests.push_front(request);
        }
        index.is_some()
    }
}
