//! HTTP/1.x on one connection: requests are written one behind the other, and responses come in
//! that order (RFC 9112, section 9.3.2). With the moments of each.
//!
//! ```text
//! offer heads and bodies --> sent --> wait --> first --> parse --> done
//! ```
//!
//! Callers put requests into a [`RequestQueue`], and the connection [reads the
//! responses](Connection::next_response) one after the other. The consequences of a response, or of
//! the end of a connection, are decided above ([`client`](super::client)).
//!
//! The user clock is read before the system call that passes the request's last bytes and after the
//! one that reports the response's first. After the write, *sent* would be late by the work that
//! the kernel does inside it (on loopback, the peer's receive path: 8 to 20 us); after the read,
//! *first* would be late by up to 200 us if a large body follows at once, because the kernel takes
//! in more of it before it returns. Bodies are offered in pieces, so that the last call is short
//! for large bodies too.

mod reading;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use record::{HttpVersion, Nanos};
use wire::http2::FrameError;
use wire::response::{Limits, ProtocolError, ReadEvent, ResponseHead, ResponseReader, Version};

use crate::clock::RunClock;
use crate::clock::stamps::RealNanos;
use crate::clock::timekeeper::Stamps;
use crate::connection::body::{BodyIntake, ComparedBody};
use crate::connection::dial::plain;
use crate::connection::queue::RequestQueue;
use crate::connection::transport::{BITE, Look, Transport};
use crate::event_loop::yield_now;
use crate::watch::heads::HeadsOfClient;
use reading::{ResponseReading, Taken};
pub(super) use reading::{SeenAt, begin};

/// Largest piece of a request passed to the kernel at once.
pub(super) const PIECE: usize = 32 * 1024;
/// Consecutive reads before other tasks run, including the timer of the time limit: a server that
/// never stops sending is aborted in time. Four MiB, so ordinary responses are not affected.
pub(super) const GREED: u32 = 64;
/// Unread bytes for which a connection keeps room.
const COMMON_PENDING: usize = 4 * 1024;

/// A connection that can carry one exchange after the other.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    pub(super) transport: Transport,
    incoming: Scratch,
    reader: ResponseReader,
    /// Bytes that have arrived and that the reader has not consumed yet.
    pending: Vec<u8>,
    /// The stamp of the first of them.
    pending_arrival: Option<RealNanos>,
    /// When bytes were last seen.
    seen: SeenAt,
    /// Several requests were in flight on it at the same time.
    is_shared: bool,
    /// Head and body of a request are always written separately.
    two_writes: bool,
    pub(crate) has_responded: bool,
    heads: Option<HeadsOfClient>,
}

/// Buffer into which bytes are read before they are parsed, and in which a head and a small body
/// are joined. Connections of one thread share it, because nothing stays in it across an `await`:
/// ten thousand users need ten thousand sockets, not buffers.
pub(crate) type Scratch = Rc<RefCell<Box<[u8]>>>;

/// A scratch buffer for the connections of this thread.
pub(crate) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; 64 * 1024].into_boxed_slice()))
}

/// A complete response; its head is [`Connection::head`], its body lies in the given buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) version: HttpVersion,
    /// Length of the whole body, kept or not.
    pub(crate) body_length: u64,
    /// Difference from the expected body, if it was compared as it arrived.
    pub(crate) compared: Option<ComparedBody>,
    /// The connection can carry another exchange.
    pub(crate) reusable: bool,
    /// More bytes arrived than the heads of all responses declare.
    pub(crate) surplus: bool,
    /// Its body ends with the connection, and TLS did not confirm that this is the end.
    pub(crate) may_be_cut_off: bool,
}

/// Events of a connection between two exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    Open,
    /// The server has closed it.
    Ended,
    /// The server has sent bytes without a request, so later ones cannot be assigned.
    Spoke,
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The connection ended before the response did.
    #[error("{what}")]
    Ended {
        /// The observation.
        what: String,
        /// Nothing of a response had arrived.
        silent: bool,
    },
    /// Bytes that are not HTTP, or exceed a bound.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Bytes that are not frames (HTTP/2).
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The stream of the oldest request ended without a response; the connection continues.
    #[error(transparent)]
    Stream(StreamEnd),
    /// The server accepts no more streams, and has processed no request of the queue.
    #[error("{0}")]
    GoingAway(String),
    /// With several requests in flight, responses cannot be assigned.
    #[error("more responses came than there were requests")]
    Unasked,
}

/// The end of a stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// With a response.
    #[error("it has its response")]
    Complete,
    /// The server has not processed the request.
    #[error("the server refused the stream (RST_STREAM, REFUSED_STREAM)")]
    Refused,
    /// The server aborted it.
    #[error("{0}")]
    Reset(String),
    /// Bytes that are no response, or exceed a bound.
    #[error(transparent)]
    Malformed(ProtocolError),
}

impl Connection {
    pub(crate) fn new(
        number: u32,
        transport: Transport,
        incoming: Scratch,
        limits: Limits,
        heads: Option<HeadsOfClient>,
    ) -> Self {
        Connection {
            number,
            transport,
            incoming,
            reader: ResponseReader::new(false, limits),
            pending: Vec::new(),
            pending_arrival: None,
            seen: SeenAt::default(),
            is_shared: false,
            two_writes: false,
            has_responded: false,
            heads,
        }
    }

    /// The same with head and body of a request in separate system calls, or together.
    pub(crate) fn in_two_writes(self, two_writes: bool) -> Connection {
        Connection { two_writes, ..self }
    }

    /// Events of the connection since the last exchange: as seen by the event loop, or up to now
    /// after [`Transport::look_again`].
    pub(crate) fn idle(&mut self) -> Idle {
        let mut scratch = self.incoming.borrow_mut();
        match self.transport.take(&mut scratch, Look::Away) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Idle::Open,
            Err(_) | Ok(0) => Idle::Ended,
            Ok(_) => Idle::Spoke,
        }
    }

    /// True if more than line ends has come after the last response.
    fn has_spoken_unasked(&self) -> bool {
        self.pending.iter().any(|byte| !b"\r\n".contains(byte))
    }

    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        self.reader.head()
    }

    /// Writes the pending bytes, and reads the response to the oldest request; its stamps are set
    /// as far as it came, also after an error.
    pub(crate) async fn next_response(
        &mut self,
        queue: &mut RequestQueue,
        body: &mut Vec<u8>,
        clock: RunClock,
    ) -> Result<Response, ExchangeError> {
        self.is_shared |= queue.len() > 1;
        let Some(first) = queue.first() else {
            unreachable!("there is a request without a response")
        };
        body.clear();
        self.reader.restart(first.is_head);
        let look = if self.is_shared {
            Look::AtEach
        } else {
            Look::AtFirst
        };
        let mut reading = ResponseReading::new(first.keep.clone(), body, look);
        if !self.pending.is_empty()
            && let Some(first) = queue.first_mut()
        {
            // It came together with the end of the response before.
            first.stamps.bytes_received += self.pending.len() as u64;
            self.take_in(&[], self.seen, &mut reading, &mut first.stamps)?;
        }
        let broken = self.send(queue, clock, &mut reading).await?;
        if broken.is_some() {
            // The explanation has arrived, possibly before the event loop reports it.
            self.transport.look_again();
        }
        let is_last = queue.len() == 1;
        let Some(first) = queue.first_mut() else {
            unreachable!("it is still there")
        };
        let received = self.receive(clock, &mut first.stamps, &mut reading, broken);
        let received = received.await;
        if let Some(mark) = first.mark {
            let is_needed = first.stamps.first.is_some();
            let stamps = Some(&mut first.stamps);
            self.transport.settle(mark, is_needed, stamps).await;
        }
        let mut response = received?;
        // Bytes after the last response belong to none.
        response.surplus &= is_last;
        if response.surplus && self.is_shared && self.has_spoken_unasked() {
            return Err(ExchangeError::Unasked);
        }
        self.has_responded = true;
        Ok(response)
    }

    /// Offers all pending bytes, until the first request has left or has its response. An error of
    /// the connection is passed on: the response that explains it may have arrived already.
    async fn send(
        &mut self,
        queue: &mut RequestQueue,
        clock: RunClock,
        reading: &mut ResponseReading<'_>,
    ) -> Result<Option<io::Error>, ExchangeError> {
        loop {
            match self.write(queue, clock) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Ok(Some(error)),
            }
            let Some(first) = queue.first_mut() else {
                return Ok(None);
            };
            let has_response = first.has_left() || self.reader.is_done();
            if has_response || self.responded_early(&mut first.stamps, reading).await? {
                return Ok(None);
            }
        }
    }

    /// Writes as much as the kernel takes, and marks the requests that have left.
    fn write(&mut self, queue: &mut RequestQueue, clock: RunClock) -> io::Result<()> {
        while !queue.is_written() || self.transport.must_drain() {
            // Earlier bytes leave in a separate call, so that their stamps are their own.
            if self.transport.must_drain() {
                self.transport.drain()?;
            } else {
                let count = self.offer(queue, clock)?;
                queue.wrote(count);
            }
            if !self.transport.must_drain() {
                self.mark_left(queue);
            }
        }
        Ok(())
    }

    /// Offers the next piece. The end of a request requests a stamp.
    fn offer(&mut self, queue: &mut RequestQueue, clock: RunClock) -> io::Result<usize> {
        let mut scratch = self.incoming.borrow_mut();
        // Copying a body of 32 KiB takes a microsecond or more, which is not the server's time.
        let joined = if self.two_writes {
            0
        } else {
            queue.join(&mut scratch[..PIECE])
        };
        let now = queue.begin(self.number, || clock.now());
        let piece = if joined > 0 {
            &scratch[..joined]
        } else {
            let piece = queue.piece();
            let most = if self.two_writes {
                queue.part_left()
            } else {
                piece.len()
            };
            &piece[..most.min(PIECE)]
        };
        let ends = queue.ends_within(piece.len());
        self.transport.offer(piece, ends, now)
    }

    /// Sets the departure of the requests that have left by now.
    fn mark_left(&mut self, queue: &mut RequestQueue) {
        if !queue.has_just_written() {
            return;
        }
        let mark = self.transport.mark_sent();
        queue.have_left(self.transport.offered_at, mark);
        if mark.is_some() {
            // It has usually come already, and reading it now saves a later wake-up.
            self.transport.collect_stamps();
        }
    }

    /// Waits until more can be written; true when a whole response came instead.
    async fn responded_early(
        &mut self,
        stamps: &mut Stamps,
        reading: &mut ResponseReading<'_>,
    ) -> Result<bool, ExchangeError> {
        let readable = match self.transport.wait(true).await {
            Ok(readable) => readable,
            Err(error) => return Err(self.ended(plain(&error), reading)),
        };
        if !readable {
            return Ok(false);
        }
        match self.take(reading, stamps, None)? {
            // A response that ends with the connection may be complete.
            Taken::End if self.anything(reading) && self.reader.eof().is_ok() => Ok(true),
            Taken::End => Err(self.ended("the server ended the connection".to_owned(), reading)),
            Taken::Bytes => Ok(self.reader.is_done()),
            Taken::Nothing => Ok(false),
        }
    }

    async fn receive(
        &mut self,
        clock: RunClock,
        stamps: &mut Stamps,
        reading: &mut ResponseReading<'_>,
        broken: Option<io::Error>,
    ) -> Result<Response, ExchangeError> {
        let mut reads: u32 = 0;
        let mut woken = None;
        while !self.reader.is_done() {
            reads = reads.wrapping_add(1);
            if reads.is_multiple_of(GREED) {
                yield_now().await;
            }
            match self.take(reading, stamps, woken.take())? {
                Taken::Bytes => {}
                Taken::End if self.anything(reading) => {
                    // Inside a response that is the connection's fault, not the protocol's.
                    if let Err(error) = self.reader.eof() {
                        return Err(self.ended(error.to_string(), reading));
                    }
                }
                Taken::End => {
                    let silence =
                        || "the server ended the connection without a response".to_owned();
                    let what = broken.as_ref().map_or_else(silence, plain);
                    return Err(self.ended(what, reading));
                }
                Taken::Nothing => {
                    if let Some(error) = &broken {
                        return Err(self.ended(plain(error), reading));
                    }
                    if let Err(error) = self.transport.wait(false).await {
                        return Err(self.ended(plain(&error), reading));
                    }
                    woken = Some(clock.now());
                }
            }
        }
        // When the last byte arrived, and not when it has been parsed.
        stamps.done = Some(self.transport.arrived_at);
        let surplus = !self.pending.is_empty();
        // Bytes after a response are not part of it.
        stamps.bytes_received -= (self.pending.len() as u64).min(stamps.bytes_received);
        let whole = stamps.sent.is_some() && broken.is_none();
        match self.reader.head() {
            Some(head) => Ok(Response {
                status: head.status,
                version: match head.version {
                    Version::Http10 => HttpVersion::Http10,
                    Version::Http11 => HttpVersion::Http11,
                    Version::Http2 => HttpVersion::Http2,
                },
                body_length: reading.intake.length,
                compared: reading.intake.compared,
                reusable: self.reader.reusable() && whole,
                surplus,
                // The end of a body with a length is not waited for.
                may_be_cut_off: self.transport.is_cut_off,
            }),
            None => Err(self.ended("the server ended the connection".to_owned(), reading)),
        }
    }

    /// Takes received bytes and feeds them to the reader. `woken` is when they were known to be
    /// there, after a wait.
    fn take(
        &mut self,
        reading: &mut ResponseReading<'_>,
        stamps: &mut Stamps,
        woken: Option<Nanos>,
    ) -> Result<Taken, ExchangeError> {
        let scratch = Rc::clone(&self.incoming);
        let mut scratch = scratch.borrow_mut();
        let (look, room) = self.look(stamps, reading, scratch.len());
        let count = match self.transport.take(&mut scratch[..room], look) {
            Ok(0) => return Ok(Taken::End),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Taken::Nothing),
            Err(error) => return Err(self.ended(plain(&error), reading)),
        };
        stamps.bytes_received += count as u64;
        let seen = SeenAt {
            at: woken.unwrap_or(self.transport.arrived_at),
            read: self.transport.arrived_at,
            arrival: self.transport.arrival(),
        };
        self.seen = seen;
        self.take_in(&scratch[..count], seen, reading, stamps)?;
        Ok(Taken::Bytes)
    }

    /// The precision of the next read, and its length: within a large body no response begins, so
    /// that no stamp is needed.
    fn look(&self, stamps: &Stamps, reading: &ResponseReading<'_>, room: usize) -> (Look, usize) {
        let left = usize::try_from(self.reader.body_left()).unwrap_or(usize::MAX);
        match reading.look {
            Look::AtFirst if stamps.first.is_some() => (Look::Away, room),
            Look::AtEach if left > BITE => (Look::Away, left.min(room)),
            look => (look, room),
        }
    }

    /// Feeds received bytes, behind pending ones.
    fn take_in(
        &mut self,
        bytes: &[u8],
        seen: SeenAt,
        reading: &mut ResponseReading<'_>,
        stamps: &mut Stamps,
    ) -> Result<(), ProtocolError> {
        if self.pending.is_empty() {
            self.pending_arrival = seen.arrival.first;
            let left = self.feed(bytes, seen, reading, stamps)?;
            self.pending.extend_from_slice(&bytes[left..]);
            if self.reader.is_done() {
                // The rest begins another response, and came with the last packet or before.
                self.pending_arrival = seen.arrival.last;
            }
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(bytes);
            let left = self.feed(&pending, seen, reading, stamps)?;
            pending.drain(..left);
            if left > 0 {
                self.pending_arrival = seen.arrival.last;
            }
            if pending.is_empty() && pending.capacity() > COMMON_PENDING {
                pending = Vec::new();
            }
            self.pending = pending;
        }
        Ok(())
    }

    fn feed(
        &mut self,
        bytes: &[u8],
        seen: SeenAt,
        reading: &mut ResponseReading<'_>,
        stamps: &mut Stamps,
    ) -> Result<usize, ProtocolError> {
        let mut at = 0;
        while !self.reader.is_done() {
            let step = self.reader.step(&bytes[at..])?;
            at += step.consumed;
            match step.event {
                ReadEvent::NeedMore => break,
                // The assumed beginning of the response was an interim response.
                ReadEvent::Interim(status) => {
                    if let Some(heads) = &self.heads {
                        heads.interim(status);
                    }
                    reading.interim = true;
                    stamps.first = None;
                    self.pending_arrival = seen.arrival.last;
                    if at < bytes.len() {
                        begin(stamps, seen, self.pending_arrival);
                    }
                    continue;
                }
                ReadEvent::Head => {
                    begin(stamps, seen, self.pending_arrival);
                    if let Some(head) = self.reader.head() {
                        reading.intake = BodyIntake::after(head, &reading.keep);
                        if let Some(heads) = &self.heads {
                            heads.response(head);
                        }
                    }
                }
                ReadEvent::Body(data) => reading.intake.take(data, reading.body),
                ReadEvent::End => {}
            }
        }
        // The first bytes of a head that is not complete yet.
        if self.reader.head().is_none() && at < bytes.len() {
            begin(stamps, seen, self.pending_arrival);
        }
        Ok(at)
    }

    /// True if any byte of a response has arrived, including an interim one.
    fn anything(&self, reading: &ResponseReading<'_>) -> bool {
        reading.interim || self.reader.started() || !self.pending.is_empty()
    }

    fn ended(&self, what: String, reading: &ResponseReading<'_>) -> ExchangeError {
        ExchangeError::Ended {
            what,
            silent: !self.anything(reading),
        }
    }
}
