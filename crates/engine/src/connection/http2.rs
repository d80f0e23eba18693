//! HTTP/2 on one connection (RFC 9113): requests are streams, and responses come in any order. With
//! the moments of each.
//!
//! ```text
//! queue --> HEADERS, DATA --> sent --> wait --> first byte of HEADERS --> parse --> END_STREAM: done
//! ```
//!
//! A request is *sent* when the last byte of its last frame was passed on, and its response begins
//! with the first byte of its HEADERS. With one stream, the kernel's stamp of that byte is exact:
//! frames before it are read separately. Streams that share a segment share its stamp.
//!
//! The windows of the server are the largest possible, so that it never waits for this side.
//! Priorities are not sent (RFC 9113, section 5.3.2).

mod stream;
mod streams;

use std::io;
use std::rc::Rc;

use record::{HttpVersion, Nanos};
use wire::http2::{
    FrameEvent, FrameReader, LARGEST_WINDOW, PREFACE, PeerSetting, USUAL_WINDOW, append_settings,
    append_window_update,
};
use wire::response::{Limits, ResponseHead};

use crate::clock::RunClock;
use crate::connection::dial::plain;
use crate::connection::http1::{
    ExchangeError, GREED, Idle, PIECE, Response, Scratch, SeenAt, StreamEnd,
};
use crate::connection::queue::{RequestQueue, RequestToken};
use crate::connection::transport::{Look, Transport};
use crate::event_loop::yield_now;
use crate::watch::heads::HeadsOfClient;
use stream::Stream;
use streams::Streams;

/// Window of the server for each stream and for the connection, in bytes.
pub(crate) const WINDOW: u32 = LARGEST_WINDOW;

/// A connection that can carry several exchanges at the same time.
#[derive(Debug)]
pub(crate) struct Http2Connection {
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    pub(super) transport: Transport,
    incoming: Scratch,
    reader: FrameReader,
    streams: Streams,
    /// When the first bytes of an incomplete frame header were seen.
    header_seen: Option<SeenAt>,
    /// Number of these bytes.
    header_bytes: u64,
    /// Marks of requests that have left and whose stamps have not been read, in their order.
    marks: Vec<(u64, RequestToken)>,
    head: Option<ResponseHead>,
    pub(crate) has_responded: bool,
    heads: Option<HeadsOfClient>,
}

impl Http2Connection {
    /// Sends the preface and waits for the server's settings, which contain its limits.
    ///
    /// # Errors
    /// The server does not seem to speak HTTP/2, with the reason.
    pub(crate) async fn begin(
        number: u32,
        transport: Transport,
        incoming: Scratch,
        limits: Limits,
        heads: Option<HeadsOfClient>,
        is_https: bool,
    ) -> Result<Http2Connection, String> {
        let mut connection = Http2Connection {
            number,
            transport,
            incoming,
            reader: FrameReader::new(limits.head_bytes),
            streams: Streams::new(limits, is_https),
            header_seen: None,
            header_bytes: 0,
            marks: Vec::new(),
            head: None,
            has_responded: false,
            heads,
        };
        let out = &mut connection.streams.out;
        out.extend_from_slice(PREFACE);
        let no_push = PeerSetting::EnablePush(false);
        append_settings(out, &[no_push, PeerSetting::InitialWindowSize(WINDOW)]);
        append_window_update(out, 0, WINDOW - USUAL_WINDOW);
        let mut queue = RequestQueue::default();
        while !connection.streams.has_settings {
            let failed =
                |what: &str| format!("the server does not speak HTTP/2 here (--http 1.1): {what}");
            let written = connection.write(&mut queue, None);
            if let Err(error) = written.and_then(|()| connection.take(&mut queue, None).map(|_| ()))
            {
                match error {
                    ExchangeError::Ended { what, .. } => return Err(failed(&what)),
                    error => return Err(failed(&connection.explained(&error))),
                }
            }
            if !connection.streams.has_settings {
                let must_write = connection.streams.must_write();
                let waited = connection.transport.wait(must_write).await;
                waited.map_err(|error| failed(&plain(&error)))?;
            }
        }
        Ok(connection)
    }

    /// Describes bytes that came instead of frames, if they are HTTP/1.
    fn explained(&self, error: &ExchangeError) -> String {
        let scratch = self.incoming.borrow();
        if scratch.starts_with(b"HTTP/1.") {
            let mut lines = scratch.split(|byte| b"\r\n".contains(byte));
            let line = lines.next().unwrap_or_default();
            let line = String::from_utf8_lossy(&line[..line.len().min(80)]);
            return format!("it responds `{}`", line.escape_debug());
        }
        error.to_string()
    }

    /// Events of the connection since the last exchange.
    pub(crate) fn idle(&mut self) -> Idle {
        let mut queue = RequestQueue::default();
        loop {
            match self.take(&mut queue, None) {
                Ok(true) => {}
                Ok(false) if self.streams.going_away.is_some() => return Idle::Spoke,
                Ok(false) => return Idle::Open,
                Err(ExchangeError::Ended { .. }) if self.streams.going_away.is_none() => {
                    return Idle::Ended;
                }
                Err(_) => return Idle::Spoke,
            }
        }
    }

    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        self.head.as_ref()
    }

    /// Writes pending bytes, and reads until a stream has ended: its request is then the first of
    /// the queue, and its stamps are set as far as it came, also after an error.
    pub(crate) async fn next_response(
        &mut self,
        queue: &mut RequestQueue,
        body: &mut Vec<u8>,
        clock: RunClock,
    ) -> Result<Response, ExchangeError> {
        body.clear();
        self.streams.forget_others(queue);
        let (mut reads, mut woken): (u32, _) = (0, None);
        loop {
            // Before anything is written, so that requests after several responses leave together.
            if let Some(ended) = self.streams.take_ended() {
                return self.end(ended, queue, body).await;
            }
            if self.streams.cannot_go_on() {
                return Err(ExchangeError::GoingAway(self.streams.why_going_away()));
            }
            // An error shows again when reading, after the bytes that explain it.
            let written = self.write(queue, Some(clock));
            if written.is_err() {
                self.transport.look_again();
            }
            reads = reads.wrapping_add(1);
            if reads.is_multiple_of(GREED) {
                yield_now().await;
            }
            if self.take(queue, woken.take())? {
                continue;
            }
            written?;
            let to_write = self.streams.must_write() || self.transport.must_drain();
            let waited = self.transport.wait(to_write).await;
            waited.map_err(|error| self.ended(plain(&error), queue))?;
            woken = Some(clock.now());
        }
    }

    /// Ends the request of that stream.
    async fn end(
        &mut self,
        mut stream: Stream,
        queue: &mut RequestQueue,
        body: &mut Vec<u8>,
    ) -> Result<Response, ExchangeError> {
        // Acknowledgements must not wait for the next request, which shows the error again.
        let _ = self.flush(queue);
        if !queue.bring_first(stream.token) {
            unreachable!("streams of other requests were forgotten")
        }
        self.settle(queue).await;
        let end = stream.end.take();
        std::mem::swap(body, &mut stream.body);
        let (length, number) = (stream.intake.length, stream.number);
        let compared = stream.intake.compared;
        let head = self.head.get_or_insert_default();
        std::mem::swap(head, &mut stream.head);
        let status = head.status;
        self.streams.recycle(stream);
        if let Some(first) = queue.first_mut() {
            first.history.stream = Some(number);
        }
        if let Some(StreamEnd::Complete) = end {
            self.has_responded = true;
            return Ok(Response {
                status,
                version: HttpVersion::Http2,
                body_length: length,
                compared,
                reusable: !self.streams.cannot_go_on(),
                surplus: false,
                may_be_cut_off: false,
            });
        }
        Err(ExchangeError::Stream(end.unwrap_or(StreamEnd::Refused)))
    }

    /// Writes as much as the kernel and the windows take, and marks the requests that have left.
    fn write(
        &mut self,
        queue: &mut RequestQueue,
        clock: Option<RunClock>,
    ) -> Result<(), ExchangeError> {
        loop {
            self.streams.fill(queue);
            let now = clock.and_then(|clock| {
                queue.begin_streams(self.number, self.streams.len(), || clock.now())
            });
            if !self.streams.must_write() && !self.transport.must_drain() {
                return Ok(());
            }
            match self.offer(queue, now) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(self.ended(plain(&error), queue)),
            }
        }
    }

    /// Writes existing frames, without new ones.
    fn flush(&mut self, queue: &mut RequestQueue) -> io::Result<()> {
        while self.streams.must_write() || self.transport.must_drain() {
            self.offer(queue, None)?;
        }
        Ok(())
    }

    /// Offers the next piece. The end of a request requests a stamp.
    fn offer(&mut self, queue: &mut RequestQueue, now: Option<Nanos>) -> io::Result<()> {
        if self.transport.must_drain() {
            self.transport.drain()?;
        } else {
            let piece = self.streams.piece(PIECE);
            let ends = self.streams.ends_within(piece.len());
            let count = self.transport.offer(piece, ends, now)?;
            self.streams.wrote(count, queue);
        }
        if !self.transport.must_drain() {
            self.mark_left(queue);
        }
        Ok(())
    }

    /// Sets the departure of the requests that have left by now.
    fn mark_left(&mut self, queue: &mut RequestQueue) {
        if !self.streams.has_just_written() {
            return;
        }
        let mark = self.transport.mark_sent();
        let at = self.transport.offered_at;
        let marks = &mut self.marks;
        self.streams.have_left(|token| {
            if queue.has_left(token, at, mark)
                && let Some(mark) = mark
            {
                marks.push((mark, token));
            }
        });
        if mark.is_some() {
            // It has usually come already, and reading it now saves a later wake-up.
            self.transport.collect_stamps();
        }
    }

    /// The precision of the next read: none once all responses have begun.
    fn look(&self) -> Look {
        match self.streams.awaited() {
            0 => Look::Away,
            1 if self.streams.len() == 1 => Look::Next(self.reader.missing()),
            _ => Look::AtEach,
        }
    }

    /// Takes received bytes; false if there are none. `woken` is when they were known to be there,
    /// after a wait.
    fn take(
        &mut self,
        queue: &mut RequestQueue,
        woken: Option<Nanos>,
    ) -> Result<bool, ExchangeError> {
        let look = self.look();
        let scratch = Rc::clone(&self.incoming);
        let mut scratch = scratch.borrow_mut();
        let count = match self.transport.take(&mut scratch, look) {
            Ok(0) => {
                let what = "the server ended the connection without a response".to_owned();
                return Err(self.ended(what, queue));
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(self.ended(plain(&error), queue)),
        };
        let seen = SeenAt {
            at: woken.unwrap_or(self.transport.arrived_at),
            read: self.transport.arrived_at,
            arrival: self.transport.arrival(),
        };
        if let Err(error) = self.feed(&scratch[..count], seen, queue) {
            self.streams.send_goaway(error.code());
            let _ = self.flush(queue);
            return Err(error.into());
        }
        Ok(true)
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        seen: SeenAt,
        queue: &mut RequestQueue,
    ) -> Result<(), wire::http2::FrameError> {
        let mut at = 0;
        loop {
            let begun = self.header_seen.filter(|_| self.reader.is_within_header());
            let (count, event) = self.reader.step(&bytes[at..])?;
            let is_first = at == 0;
            at += count;
            let is_over = matches!(event, FrameEvent::NeedMore);
            // Bytes after the first came with the last packet, or before it.
            let arrival = if is_first {
                seen.arrival.first
            } else {
                seen.arrival.last
            };
            let (seen_then, arrival) = match begun {
                Some(begun) => (begun, begun.arrival.last),
                None => (seen, arrival),
            };
            self.streams
                .on(event, seen_then, arrival, queue, self.heads.as_ref())?;
            if self.reader.is_within_header() {
                self.header_seen = Some(begun.unwrap_or(seen));
                self.header_bytes += count as u64;
            } else if count > 0 {
                let count = count as u64 + std::mem::take(&mut self.header_bytes);
                self.streams.received(self.reader.stream(), count, queue);
            }
            if is_over {
                break;
            }
        }
        self.streams.note_done(self.transport.arrived_at, queue);
        Ok(())
    }

    fn ended(&self, what: String, queue: &RequestQueue) -> ExchangeError {
        let what = match &self.streams.going_away {
            Some(_) => format!("{what}; {}", self.streams.why_going_away()),
            None => what,
        };
        let first = queue.first();
        let is_begun = first.is_some_and(|first| first.stamps.first.is_some());
        ExchangeError::Ended {
            what,
            silent: !is_begun,
        }
    }

    /// Finds the stamps of the first request, and of those that left before it.
    async fn settle(&mut self, queue: &mut RequestQueue) {
        let Some(first) = queue.first() else { return };
        let Some(mark) = first.mark else { return };
        let is_needed = first.stamps.first.is_some();
        self.transport.settle(mark, is_needed, None).await;
        // In the order of their marks, which is that in which stamps are kept.
        let until = self.marks.iter().take_while(|(of, _)| *of <= mark).count();
        for (mark, token) in self.marks.drain(..until) {
            if let Some(request) = queue.request(token) {
                self.transport.set_departure(mark, &mut request.stamps);
            }
        }
    }
}
