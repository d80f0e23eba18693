//! HTTP/1.x on one connection: requests are written one behind the other, and answered in that order
//! (RFC 9112, section 9.3.2). With the moments of each.
//!
//! ```text
//! offer heads and bodies --> sent --> wait --> first --> parse --> done
//! ```
//!
//! Whoever asks puts requests into a [`RequestQueue`], and has the connection [answer](Connection::answer)
//! one after the other. What follows from an answer, or from the end of a connection, is decided above
//! ([`client`](super::client)).
//!
//! The user clock is read before the system call that hands over the request's last bytes and
//! after the one that says that the response's first are there. Read after the write, *sent* would
//! be late by the work that the kernel does inside it (on loopback, the peer's receive path: 8 to
//! 20 us); read after the read, *first* would be late by up to 200 us where a large body follows
//! at once, because the kernel takes in more of it before it returns.
//! Bodies are offered in pieces, so that the last call is short for large bodies too.

mod reading;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use record::{HttpVersion, Nanos, Segments};
use wire::http2::FrameError;
use wire::response::{Limits, ProtocolError, ReadEvent, ResponseHead, ResponseReader, Version};

use crate::clock::RunClock;
use crate::clock::stamps::RealNanos;
use crate::clock::timekeeper::Stamps;
use crate::connection::body::{BodyIntake, ComparedBody};
use crate::connection::dial::plain;
use crate::connection::queue::RequestQueue;
use crate::connection::transport::{BITE, Look, Transport};
use crate::event_loop::{sleep, yield_now};
use crate::watch::heads::HeadsOfClient;
use reading::{ResponseReading, Taken};
pub(super) use reading::{SeenAt, begin};

/// Largest piece of a request handed to the kernel at once.
pub(super) const PIECE: usize = 32 * 1024;
/// Reads in a row before others have their turn, the clock of the time limit among them: a server
/// that never stops sending is given up in time. Four MiB, so ordinary answers do not notice.
pub(super) const GREED: u32 = 64;
/// A stamp of what was sent may come after the answer; so often it is waited for, a millisecond
/// each time, before it counts as missed.
pub(super) const STAMP_PATIENCE: u32 = 5;
/// Unread bytes for which a connection keeps room.
const COMMON_PENDING: usize = 4 * 1024;

/// A connection that can carry one exchange after the other.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    transport: Transport,
    incoming: Scratch,
    reader: ResponseReader,
    /// Bytes that have arrived and that the reader has not taken yet.
    pending: Vec<u8>,
    /// The stamp of the first of them.
    pending_arrival: Option<RealNanos>,
    /// When bytes were seen last.
    seen: SeenAt,
    /// Several requests were under way on it at a time.
    is_shared: bool,
    /// Head and body of a request are never handed over together.
    two_writes: bool,
    /// It has brought an answer.
    pub(crate) has_answered: bool,
    /// For whoever reads along.
    heads: Option<HeadsOfClient>,
}

/// Where bytes land before they are parsed, and where a head and a small body are put together.
/// Connections of one thread share it, because nothing stays in it across an `await`: ten thousand
/// users need ten thousand sockets, not buffers.
pub(crate) type Scratch = Rc<RefCell<Box<[u8]>>>;

/// A scratch buffer for the connections of this thread.
pub(crate) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; 64 * 1024].into_boxed_slice()))
}

/// A complete response; its head is [`Connection::head`], its body lies in the buffer that was
/// handed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) version: HttpVersion,
    /// Length of the whole body, kept or not.
    pub(crate) body_length: u64,
    /// How it differs from the expected one, where it is not kept to find out.
    pub(crate) compared: Option<ComparedBody>,
    /// The connection can carry another exchange.
    pub(crate) reusable: bool,
    /// More arrived than the heads of all answers said.
    pub(crate) surplus: bool,
    /// Its body reaches until the connection ended, and TLS did not say that this is the end.
    pub(crate) may_be_cut_off: bool,
}

/// What a connection did between two exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    Open,
    /// The server has closed it.
    Ended,
    /// The server has sent something unasked, so what follows cannot be told apart.
    Spoke,
}

/// How an exchange fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The connection ended before the response did.
    #[error("{what}")]
    Ended {
        /// What was noticed.
        what: String,
        /// Nothing of a response had arrived.
        silent: bool,
    },
    /// What arrived is no HTTP, or breaks a bound.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The frames that arrived are none (HTTP/2).
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The stream of the oldest request ended without a response; the connection goes on.
    #[error(transparent)]
    Stream(StreamEnd),
    /// The server takes no more streams, and has not looked at any request of the queue.
    #[error("{0}")]
    GoingAway(String),
    /// Of several requests under way, nobody knows which answer is whose.
    #[error("more answers came than there were requests")]
    Unasked,
}

/// How a stream ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// With a response.
    #[error("it was answered")]
    Answered,
    /// The server has not looked at the request.
    #[error("the server refused the stream (RST_STREAM, REFUSED_STREAM)")]
    Refused,
    /// The server gave it up.
    #[error("{0}")]
    Reset(String),
    /// What arrived is no response, or breaks a bound.
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
            has_answered: false,
            heads,
        }
    }

    /// The same with head and body of a request in a system call each, or together.
    pub(crate) fn in_two_writes(self, two_writes: bool) -> Connection {
        Connection { two_writes, ..self }
    }

    /// What is known of the connection since the last exchange: as far as the event loop came, or
    /// up to now after [`Self::look_again`].
    pub(crate) fn idle(&mut self) -> Idle {
        let mut scratch = self.incoming.borrow_mut();
        match self.transport.take(&mut scratch, Look::Away) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Idle::Open,
            Err(_) | Ok(0) => Idle::Ended,
            Ok(_) => Idle::Spoke,
        }
    }

    /// The shortest round trip until now, where the system tells.
    pub(crate) fn least_round_trip(&self) -> Option<Nanos> {
        self.transport.least_round_trip()
    }

    /// TCP segments until now, where the system tells.
    pub(crate) fn segments(&self) -> Option<Segments> {
        self.transport.segments()
    }

    /// When the server was seen to end the connection.
    pub(crate) fn ended_at(&self) -> Option<Nanos> {
        self.transport.ended_at()
    }

    /// The next look asks the kernel, whether the event loop has something to tell or not.
    pub(crate) fn look_again(&mut self) {
        self.transport.look_again();
    }

    /// Whether more than line ends has come after the response that was read last.
    fn has_spoken_unasked(&self) -> bool {
        self.pending.iter().any(|byte| !b"\r\n".contains(byte))
    }

    /// The head of the response that was read last.
    pub(crate) fn head(&self) -> Option<&ResponseHead> {
        self.reader.head()
    }

    /// Writes what is to be written, and reads the response to the oldest request; its stamps tell how far
    /// it came, also on error.
    pub(crate) async fn answer(
        &mut self,
        queue: &mut RequestQueue,
        body: &mut Vec<u8>,
        clock: RunClock,
    ) -> Result<Response, ExchangeError> {
        self.is_shared |= queue.len() > 1;
        let Some(first) = queue.first() else {
            unreachable!("there is a request to be answered")
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
            // It came together with the end of the answer before.
            first.stamps.bytes_received += self.pending.len() as u64;
            self.take_in(&[], self.seen, &mut reading, &mut first.stamps)?;
        }
        let broken = self.send(queue, clock, &mut reading).await?;
        if broken.is_some() {
            // What explains it has arrived before the event loop can tell.
            self.transport.look_again();
        }
        let is_last = queue.len() == 1;
        let Some(first) = queue.first_mut() else {
            unreachable!("it is still there")
        };
        let received = self.receive(clock, &mut first.stamps, &mut reading, broken);
        let received = received.await;
        if let Some(mark) = first.mark {
            self.settle(mark, &mut first.stamps).await;
        }
        let mut response = received?;
        // What follows the answer to the last is the answer to none.
        response.surplus &= is_last;
        if response.surplus && self.is_shared && self.has_spoken_unasked() {
            return Err(ExchangeError::Unasked);
        }
        self.has_answered = true;
        Ok(response)
    }

    /// Offers all that is to be written, until the first request has left or is answered. An error of the
    /// connection is handed on: the answer that explains it may have arrived already.
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
            let is_answered = first.has_left() || self.reader.is_done();
            if is_answered || self.answered_early(&mut first.stamps, reading).await? {
                return Ok(None);
            }
        }
    }

    /// Writes as much as the kernel takes, and marks the requests that have left.
    fn write(&mut self, queue: &mut RequestQueue, clock: RunClock) -> io::Result<()> {
        while !queue.is_written() || self.transport.must_drain() {
            // What was taken before leaves by itself, so that its stamps are its own.
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

    /// Offers the next piece. The end of a request gets a stamp.
    fn offer(&mut self, queue: &mut RequestQueue, clock: RunClock) -> io::Result<usize> {
        let mut scratch = self.incoming.borrow_mut();
        // Copying a body of 32 KiB takes a microsecond or more, which is no time of the server.
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

    /// Notes of the requests that have left by now when they did.
    fn mark_left(&mut self, queue: &mut RequestQueue) {
        if !queue.has_just_written() {
            return;
        }
        let mark = self.transport.mark_sent();
        queue.have_left(self.transport.offered_at, mark);
        if mark.is_some() {
            // As a rule it is there already, and taken now it wakes nobody later.
            self.transport.collect_stamps();
        }
    }

    /// Waits until more can be written; true when a whole response came instead.
    async fn answered_early(
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
            // An answer that ends with the connection may be complete.
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
                    let silence = || "the server ended the connection without an answer".to_owned();
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
        // When the last byte was there, and not when it has been parsed.
        stamps.done = Some(self.transport.arrived_at);
        let surplus = !self.pending.is_empty();
        // What follows an answer is none of it.
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

    /// Takes what has arrived and feeds it to the reader. `woken` is when it was known to be
    /// there, if it was waited for.
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

    /// How closely the next bytes are looked at, and how many of them there may be: in the middle of a large
    /// body nothing begins of which a stamp is wanted.
    fn look(&self, stamps: &Stamps, reading: &ResponseReading<'_>, room: usize) -> (Look, usize) {
        let left = usize::try_from(self.reader.body_left()).unwrap_or(usize::MAX);
        match reading.look {
            Look::AtFirst if stamps.first.is_some() => (Look::Away, room),
            Look::AtEach if left > BITE => (Look::Away, left.min(room)),
            look => (look, room),
        }
    }

    /// Feeds what arrived, behind what is pending.
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
                // What is left begins another answer, and came with the last packet or before.
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

    /// Feeds `bytes` and says how many the reader took.
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
                // What was taken for the beginning of the answer was an interim response.
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
                ReadEvent::Body(data) => {
                    reading.intake.take(data, reading.body);
                }
                ReadEvent::End => {}
            }
        }
        // The first bytes of a head that is not complete yet.
        if self.reader.head().is_none() && at < bytes.len() {
            begin(stamps, seen, self.pending_arrival);
        }
        Ok(at)
    }

    /// Whether any byte of a response has arrived, an interim one included.
    fn anything(&self, reading: &ResponseReading<'_>) -> bool {
        reading.interim || self.reader.started() || !self.pending.is_empty()
    }

    fn ended(&self, what: String, reading: &ResponseReading<'_>) -> ExchangeError {
        ExchangeError::Ended {
            what,
            silent: !self.anything(reading),
        }
    }

    /// Finds the stamps of a request that was sent; waits a little for those that have not come.
    async fn settle(&mut self, mark: u64, stamps: &mut Stamps) {
        let mut patience = STAMP_PATIENCE;
        loop {
            self.transport.collect_stamps();
            let departure = self.transport.departure(mark);
            if let Some(kernel) = &mut stamps.kernel {
                kernel.sent = departure.sent;
                kernel.acked = departure.acked;
            }
            if !self.transport.waits_for_stamps(mark) {
                return;
            }
            // The answer never came: nobody will ask when the request left.
            if patience == 0 || stamps.first.is_none() {
                self.transport.give_up_stamps(mark);
                return;
            }
            patience -= 1;
            sleep(Duration::from_millis(1)).await;
        }
    }
}
