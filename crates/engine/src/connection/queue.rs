//! Requests in flight on a connection, as bytes, for as long as they may have to be sent again.
//!
//! ```text
//! under way   | request                              | request     | ...
//! bytes       | head, credentials, body with holes   | head        | ...
//! elsewhere   |                         fixed body   |             |
//!                         ^ written up to here
//! ```
//!
//! A body without placeholders stays in the plan: ten thousand users share one.

mod moments;
mod streams;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use record::{Connect, Nanos, Segments};

use crate::clock::timekeeper::{KernelStamps, Stamps};
use crate::connection::body::KeptBody;

/// Identifies a request from its submission to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RequestToken(u64);

/// A request in flight.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(crate) token: RequestToken,
    /// The method is HEAD: the response has no body.
    pub(crate) is_head: bool,
    pub(crate) keep: KeptBody,
    /// Progress on the current connection.
    pub(crate) stamps: Stamps,
    /// Mark for its stamps of the kernel.
    pub(crate) mark: Option<u64>,
    /// A body without placeholders.
    pub(crate) fixed: Option<Arc<[u8]>>,
    pub(crate) history: RequestHistory,
    at: BytePlace,
}

/// History of a request on all connections.
#[derive(Debug, Default)]
pub(crate) struct RequestHistory {
    /// When it was to begin, if that was planned.
    pub(crate) planned: Option<Nanos>,
    /// When it was submitted, or last submitted again.
    pub(crate) began: Nanos,
    /// May be sent again when its connection ends.
    pub(crate) is_idempotent: bool,
    pub(crate) connection: Option<u32>,
    /// The connection that was opened for it.
    pub(crate) connect: Option<Connect>,
    /// Segments of the connections that ended with it.
    pub(crate) segments: Option<Segments>,
    pub(crate) resent: bool,
    /// A first attempt ended with its connection, and may have been carried out all the same.
    pub(crate) died_once: bool,
    /// Number of challenges that had been met when its credentials were written.
    pub(crate) credentials: u32,
    /// Number of challenges to these.
    pub(crate) challenges: u32,
    /// Its stream, with a version that has streams.
    pub(crate) stream: Option<u32>,
    /// Number of refusals of its stream by the server.
    pub(crate) refusals: u32,
}

/// Position of the bytes of a request, counted from the first of the queue.
#[derive(Debug, Clone, Copy, Default)]
struct BytePlace {
    start: usize,
    /// End of the head, without credentials and the empty line.
    head_end: usize,
    body_start: usize,
    end: usize,
}

impl UnderWay {
    /// A request that is to be [submitted](RequestQueue::submit).
    #[inline]
    pub(crate) fn new(
        is_head: bool,
        keep: KeptBody,
        fixed: Option<Arc<[u8]>>,
        history: RequestHistory,
    ) -> UnderWay {
        UnderWay {
            token: RequestToken::default(),
            is_head,
            keep,
            stamps: Stamps::default(),
            mark: None,
            fixed,
            history,
            at: BytePlace::default(),
        }
    }

    fn len(&self) -> usize {
        let fixed = self.fixed.as_deref().map_or(0, <[u8]>::len);
        self.at.end - self.at.start + fixed
    }

    /// True if its last byte has been passed on.
    pub(super) fn has_left(&self) -> bool {
        self.stamps.sent.is_some()
    }
}

/// The requests in flight, the oldest first.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    requests: VecDeque<UnderWay>,
    /// Number of those that were completely written.
    whole: usize,
    /// Number of those whose departure is noted.
    left: usize,
    /// Written bytes of the one behind those that were completely written.
    part: usize,
    bytes: Vec<u8>,
    /// Bytes removed before these.
    gone: usize,
    /// Number of requests so far.
    count: u64,
}

impl Default for RequestQueue {
    /// Most users have one request in flight at a time, and there may be tens of thousands of them.
    fn default() -> Self {
        RequestQueue {
            requests: VecDeque::with_capacity(1),
            whole: 0,
            left: 0,
            part: 0,
            bytes: Vec::new(),
            gone: 0,
            count: 0,
        }
    }
}

impl RequestQueue {
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&UnderWay> {
        self.requests.front()
    }

    pub(crate) fn first_mut(&mut self) -> Option<&mut UnderWay> {
        self.requests.front_mut()
    }

    /// Removes and returns the oldest.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<UnderWay> {
        if self.whole == 0 {
            self.part = 0;
        }
        self.whole = self.whole.saturating_sub(1);
        self.left = self.left.saturating_sub(1);
        self.requests.pop_front()
    }

    /// Removes all requests, and returns them with the bytes from which they are
    /// [resubmitted](Self::resubmit).
    pub(crate) fn take_all(&mut self) -> (VecDeque<UnderWay>, WrittenBytes) {
        let all = std::mem::take(&mut self.requests);
        let bytes = WrittenBytes {
            bytes: std::mem::take(&mut self.bytes),
            gone: self.gone,
        };
        self.forget();
        (all, bytes)
    }

    pub(crate) fn clear(&mut self) {
        self.requests.clear();
        self.forget();
    }

    fn forget(&mut self) {
        self.bytes.clear();
        (self.whole, self.left, self.part, self.gone) = (0, 0, 0, 0);
    }

    /// Adds a request behind the others: `write_head` appends its head but for the credentials and
    /// the empty line, `end_head` the credentials to a head that begins there; `live` is a body
    /// that had placeholders.
    #[inline]
    pub(crate) fn submit(
        &mut self,
        mut request: UnderWay,
        write_head: impl FnOnce(&mut Vec<u8>),
        end_head: impl FnOnce(&mut Vec<u8>, usize),
        live: &[u8],
    ) -> RequestToken {
        self.count += 1;
        let token = RequestToken(self.count);
        request.token = token;
        self.append(request, write_head, end_head, live);
        token
    }

    pub(crate) fn resubmit(
        &mut self,
        mut request: UnderWay,
        from: &WrittenBytes,
        end_head: impl FnOnce(&mut Vec<u8>, usize),
    ) {
        request.stamps = Stamps::default();
        request.mark = None;
        let head = from.slice(request.at.start..request.at.head_end);
        let body = from.slice(request.at.body_start..request.at.end);
        let write_head = |bytes: &mut Vec<u8>| bytes.extend_from_slice(head);
        self.append(request, write_head, end_head, body);
    }

    #[inline]
    fn append(
        &mut self,
        request: UnderWay,
        write_head: impl FnOnce(&mut Vec<u8>),
        end_head: impl FnOnce(&mut Vec<u8>, usize),
        body: &[u8],
    ) {
        self.make_room();
        self.requests.push_back(request);
        let start = self.bytes.len();
        write_head(&mut self.bytes);
        let head_end = self.bytes.len();
        end_head(&mut self.bytes, start);
        self.bytes.extend_from_slice(b"\r\n");
        let body_start = self.bytes.len();
        self.bytes.extend_from_slice(body);
        if let Some(request) = self.requests.back_mut() {
            request.at = BytePlace {
                start: self.gone + start,
                head_end: self.gone + head_end,
                body_start: self.gone + body_start,
                end: self.gone + self.bytes.len(),
            };
        }
    }

    /// Discards the bytes of ended requests, when they are more than the others.
    fn make_room(&mut self) {
        // Usually the first; streams end in any order.
        let Some(start) = self.requests.iter().map(|request| request.at.start).min() else {
            return self.forget();
        };
        let over = start - self.gone;
        if over > self.bytes.len() / 2 {
            self.bytes.drain(..over);
            self.gone += over;
        }
    }

    pub(crate) fn last_head(&self) -> &[u8] {
        let Some(last) = self.requests.back() else {
            return &[];
        };
        self.slice_of_bytes(last.at.start..last.at.body_start)
    }

    pub(crate) fn first_method(&self) -> &[u8] {
        let head = |first: &UnderWay| self.slice_of_bytes(first.at.start..first.at.head_end);
        let head = self.first().map(head).unwrap_or_default();
        let mut words = head.split(|byte| *byte == b' ');
        words.next().unwrap_or_default()
    }

    /// The bytes of the requests in flight, for submitting some of them again.
    pub(crate) fn written(&self) -> WrittenBytes {
        WrittenBytes {
            bytes: self.bytes.clone(),
            gone: self.gone,
        }
    }

    fn slice_of_bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range.start - self.gone..range.end - self.gone]
    }

    pub(super) fn is_written(&self) -> bool {
        self.whole == self.requests.len()
    }

    /// Joins the next bytes from several buffers, as far as there is room. Returns their number, 0
    /// if the next [piece](Self::piece) is all or is as large.
    pub(super) fn join(&self, room: &mut [u8]) -> usize {
        let is_one = self.whole + 1 == self.requests.len();
        if is_one && self.requests[self.whole].fixed.is_none() {
            return 0;
        }
        let mut at = (self.whole, self.part);
        let mut filled = 0;
        while let Some(slice) = self.slice(at) {
            if filled == 0 && (slice.len() >= room.len() || self.is_last(at, slice.len())) {
                return 0;
            }
            let count = slice.len().min(room.len() - filled);
            room[filled..filled + count].copy_from_slice(&slice[..count]);
            filled += count;
            if filled == room.len() {
                break;
            }
            at = self.beyond(at, count);
        }
        filled
    }

    pub(super) fn piece(&self) -> &[u8] {
        self.slice((self.whole, self.part)).unwrap_or_default()
    }

    /// Remaining bytes of the head of the request that is being written, or else of its body.
    pub(super) fn part_left(&self) -> usize {
        let Some(next) = self.requests.get(self.whole) else {
            return 0;
        };
        let head = next.at.body_start - next.at.start;
        match head.checked_sub(self.part) {
            None | Some(0) => next.len() - self.part,
            Some(left) => left,
        }
    }

    /// True if the request that is being written ends within this many bytes.
    pub(super) fn ends_within(&self, count: usize) -> bool {
        let next = self.requests.get(self.whole);
        next.is_some_and(|next| next.len() - self.part <= count)
    }

    /// The contiguous bytes from a position on; `None` behind the last.
    fn slice(&self, (whole, part): (usize, usize)) -> Option<&[u8]> {
        let request = self.requests.get(whole)?;
        let own_length = request.at.end - request.at.start;
        Some(match &request.fixed {
            Some(fixed) if part >= own_length => &fixed[part - own_length..],
            Some(_) => self.slice_of_bytes(request.at.start + part..request.at.end),
            None => {
                let mut last = request;
                let mut behind = whole + 1;
                while let Some(next) = self.requests.get(behind)
                    && next.fixed.is_none()
                {
                    last = next;
                    behind += 1;
                }
                self.slice_of_bytes(request.at.start + part..last.at.end)
            }
        })
    }

    fn is_last(&self, at: (usize, usize), count: usize) -> bool {
        self.beyond(at, count).0 == self.requests.len()
    }

    /// The position this many bytes further on.
    fn beyond(&self, (mut whole, part): (usize, usize), count: usize) -> (usize, usize) {
        let mut rest = part + count;
        while let Some(request) = self.requests.get(whole)
            && request.len() <= rest
        {
            rest -= request.len();
            whole += 1;
        }
        (whole, rest)
    }

    pub(super) fn wrote(&mut self, mut count: usize) {
        while count > 0
            && let Some(request) = self.requests.get_mut(self.whole)
        {
            let more = count.min(request.len() - self.part);
            request.stamps.bytes_sent += more as u64;
            count -= more;
            self.part += more;
            if self.part == request.len() {
                self.whole += 1;
                self.part = 0;
            }
        }
    }

    /// True if more requests are written than are noted to have left.
    pub(super) fn has_just_written(&self) -> bool {
        self.left < self.whole
    }
}

/// The bytes of requests that were in flight.
pub(crate) struct WrittenBytes {
    bytes: Vec<u8>,
    gone: usize,
}

impl WrittenBytes {
    fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range.start - self.gone..range.end - self.gone]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request with head, body with holes and fixed body of these lengths.
    type Lengths = (usize, usize, Option<usize>);

    fn submit(queue: &mut RequestQueue, (head, live, fixed): Lengths, letter: u8) {
        let live = vec![letter + 1; live];
        let fixed = fixed.map(|length| vec![letter + 2; length].into());
        let request = UnderWay::new(false, KeptBody::Nothing, fixed, RequestHistory::default());
        let write_head = |bytes: &mut Vec<u8>| bytes.resize(bytes.len() + head, letter);
        let end_head = |bytes: &mut Vec<u8>, start: usize| {
            assert_eq!(bytes.len() - start, head);
            bytes.push(b'A');
        };
        queue.submit(request, write_head, end_head, &live);
    }

    fn expected((head, live, fixed): Lengths, letter: u8) -> Vec<u8> {
        let mut bytes = vec![letter; head];
        bytes.extend(b"A\r\n");
        bytes.resize(bytes.len() + live, letter + 1);
        bytes.resize(bytes.len() + fixed.unwrap_or_default(), letter + 2);
        bytes
    }

    /// Writes pending bytes in pieces of at most `room` bytes, of which `taken` are taken.
    fn write(queue: &mut RequestQueue, room: usize, taken: usize, out: &mut Vec<u8>) {
        let mut scratch = vec![0; room];
        while !queue.is_written() {
            let joined = queue.join(&mut scratch);
            queue.begin(1, || 5);
            let piece = match joined {
                0 => &queue.piece()[..queue.piece().len().min(room)],
                joined => &scratch[..joined],
            };
            let count = piece.len().min(taken);
            let rest = queue.requests[queue.whole].len() - queue.part;
            assert_eq!(queue.ends_within(count), rest <= count);
            out.extend_from_slice(&piece[..count]);
            queue.wrote(count);
        }
    }

    proptest! {
        /// For all orders of writing, responses and repetitions, the bytes are those of the
        /// requests, in order.
        #[test]
        fn bytes_are_those_of_the_requests(
            rounds in proptest::collection::vec(
                (
                    proptest::collection::vec((1..40_usize, 0..30_usize, proptest::option::of(0..90_usize)), 1..6),
                    1..70_usize,
                    1..70_usize,
                    0..8_usize,
                    any::<bool>(),
                ),
                1..8,
            ),
        ) {
            let mut queue = RequestQueue::default();
            let mut known: VecDeque<(Lengths, u8)> = VecDeque::new();
            let mut letter = b'a';
            for (requests, room, taken, responses, is_lost) in rounds {
                let mut wanted = Vec::new();
                for lengths in requests {
                    letter = if letter > 200 { b'a' } else { letter + 1 };
                    submit(&mut queue, lengths, letter);
                    known.push_back((lengths, letter));
                    wanted.extend(expected(lengths, letter));
                }
                let mut out = Vec::new();
                write(&mut queue, room, taken, &mut out);
                prop_assert_eq!(&out, &wanted);
                let lengths = queue.requests.iter().map(|request| request.stamps.bytes_sent);
                let all = known.iter().map(|(lengths, letter)| expected(*lengths, *letter).len() as u64);
                prop_assert!(lengths.eq(all));
                prop_assert!(queue.requests.iter().all(|request| request.stamps.started == 5));
                for _ in 0..responses.min(queue.len()) {
                    queue.take_first();
                    known.pop_front();
                }
                if is_lost {
                    let (requests, bytes) = queue.take_all();
                    for request in requests {
                        queue.resubmit(request, &bytes, |bytes, _| bytes.push(b'A'));
                    }
                    let (mut out, mut wanted) = (Vec::new(), Vec::new());
                    write(&mut queue, room, taken, &mut out);
                    for (lengths, letter) in &known {
                        wanted.extend(expected(*lengths, *letter));
                    }
                    prop_assert_eq!(out, wanted);
                }
            }
        }
    }

    #[test]
    fn a_request_with_a_response_is_forgotten() {
        let mut queue = RequestQueue::default();
        let mut out = Vec::new();
        for _ in 0..1_000 {
            while queue.len() < 4 {
                submit(&mut queue, (100, 0, None), b'a');
            }
            write(&mut queue, 1_000, 1_000, &mut out);
            queue.take_first();
        }
        assert!(queue.bytes.len() < 1_000, "{}", queue.bytes.len());
        let lone = queue.take_first().is_some() && queue.take_first().is_some();
        queue.take_first();
        submit(&mut queue, (100, 0, None), b'a');
        assert!(lone && queue.bytes.len() < 200);
    }

    #[test]
    fn what_lies_in_one_place_is_not_copied() {
        let mut queue = RequestQueue::default();
        submit(&mut queue, (50, 10, None), b'a');
        submit(&mut queue, (50, 0, None), b'd');
        assert_eq!(queue.join(&mut [0; 500]), 0);
        assert_eq!(queue.piece().len(), 50 + 3 + 10 + 53);
        // A head and the beginning of a large body leave together, the rest of it without a copy.
        let mut queue = RequestQueue::default();
        submit(&mut queue, (47, 0, Some(900)), b'a');
        assert_eq!(queue.join(&mut [0; 500]), 500);
        queue.wrote(500);
        assert_eq!(queue.join(&mut [0; 500]), 0);
        assert_eq!(queue.piece().len(), 450);
    }
}
