//! One exchange on one connection, with its moments.
//!
//! ```text
//! offer head and body --> sent --> wait --> first --> parse --> done
//! ```
//!
//! The user clock is read before the system call that hands over the request's last bytes and
//! after the one that says that the response's first are there. Read after the write, *sent* would
//! be late by the work that the kernel does inside it (on loopback, the peer's receive path: 8 to
//! 20 us); read after the read, *first* would be late by up to 200 us where a large body follows
//! at once, because the kernel takes in more of it before it returns.
//! Bodies are offered in pieces, so that the last call is short for large bodies too.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use record::Nanos;
use wire::response::{Event, Limits, ProtocolError, ResponseHead, ResponseReader};

use crate::clock::RunClock;
use crate::dial::plain;
use crate::transport::Transport;

/// Largest piece of a request handed to the kernel at once.
const PIECE: usize = 32 * 1024;
/// A body up to this size leaves together with its head, in one write.
const SMALL_BODY: usize = 16 * 1024;
/// Reads in a row before others have their turn, the clock of the time limit among them: a server
/// that never stops sending is given up in time. Four MiB, so ordinary answers do not notice.
const GREED: u32 = 64;

/// A connection that can carry one exchange after the other.
#[derive(Debug)]
pub(crate) struct Connection {
    transport: Transport,
    incoming: Scratch,
    /// Exchanges that have been begun on it.
    pub(crate) exchanges: u32,
}

/// Where bytes land before they are parsed. Connections of one thread share it, because nothing
/// stays in it across an `await`: ten thousand users need ten thousand sockets, not buffers.
pub(crate) type Scratch = Rc<RefCell<Box<[u8]>>>;

/// A scratch buffer for the connections of this thread.
pub(crate) fn scratch() -> Scratch {
    Rc::new(RefCell::new(vec![0; 64 * 1024].into_boxed_slice()))
}

/// A request as bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) body: &'a [u8],
    /// The method is HEAD: no body comes back.
    pub(crate) is_head: bool,
}

/// When what happened, as far as it came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamps {
    pub(crate) started: Nanos,
    pub(crate) sent: Option<Nanos>,
    pub(crate) first: Option<Nanos>,
    pub(crate) done: Option<Nanos>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
}

/// A complete response; its body lies in the buffer that was handed in.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) head: ResponseHead,
    /// Length of the whole body, kept or not.
    pub(crate) body_length: u64,
    /// The connection can carry another exchange.
    pub(crate) reusable: bool,
    /// More arrived than the head said.
    pub(crate) surplus: bool,
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
}

/// How much of a response body to keep.
pub(crate) type Keep<'a> = &'a dyn Fn(&ResponseHead) -> usize;

impl Connection {
    pub(crate) fn new(transport: Transport, incoming: Scratch) -> Self {
        Connection {
            transport,
            incoming,
            exchanges: 0,
        }
    }

    /// Whether the server has ended the connection, or spoken unasked, since the last exchange.
    pub(crate) fn is_stale(&mut self) -> bool {
        match self.transport.take(&mut self.incoming.borrow_mut()) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(_) => true,
        }
    }

    /// Sends a request and reads the response; `stamps` tells how far it came, also on error.
    pub(crate) async fn exchange(
        &mut self,
        request: Outgoing<'_>,
        limits: Limits,
        keep: Keep<'_>,
        body: &mut Vec<u8>,
        clock: RunClock,
        stamps: &mut Stamps,
    ) -> Result<Response, ExchangeError> {
        self.exchanges += 1;
        body.clear();
        let mut reading = Reading {
            reader: ResponseReader::new(request.is_head, limits),
            pending: Vec::new(),
            interim: false,
            keep,
            allowance: 0,
            body,
            body_length: 0,
        };
        let broken = self.send(request, clock, stamps, &mut reading).await?;
        self.receive(clock, stamps, &mut reading, broken).await
    }

    /// Offers the whole request, unless the server has answered before. An error of the
    /// connection is handed on: the answer that explains it may have arrived already.
    async fn send(
        &mut self,
        request: Outgoing<'_>,
        clock: RunClock,
        stamps: &mut Stamps,
        reading: &mut Reading<'_>,
    ) -> Result<Option<io::Error>, ExchangeError> {
        let joined;
        let (mut rest, mut behind) = if request.body.len() <= SMALL_BODY {
            joined = [request.head, request.body].concat();
            (joined.as_slice(), [].as_slice())
        } else {
            let (front, behind) = request.body.split_at(SMALL_BODY);
            joined = [request.head, front].concat();
            (joined.as_slice(), behind)
        };
        stamps.started = clock.now();
        loop {
            if rest.is_empty() {
                std::mem::swap(&mut rest, &mut behind);
            }
            let written = match rest.is_empty() {
                true => self.transport.drain().map(|()| 0),
                false => self.transport.offer(&rest[..rest.len().min(PIECE)]),
            };
            match written {
                Ok(count) => {
                    stamps.bytes_sent += count as u64;
                    rest = &rest[count..];
                    if rest.is_empty() && behind.is_empty() && !self.transport.must_drain() {
                        stamps.sent = Some(self.transport.offered_at);
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.answered_early(clock, stamps, reading).await? {
                        return Ok(None);
                    }
                }
                Err(error) => return Ok(Some(error)),
            }
        }
    }

    /// Waits until more can be written; true when a whole response came instead.
    async fn answered_early(
        &mut self,
        clock: RunClock,
        stamps: &mut Stamps,
        reading: &mut Reading<'_>,
    ) -> Result<bool, ExchangeError> {
        let ready = self
            .transport
            .wait(true)
            .await
            .map_err(|error| ended(plain(&error), reading))?;
        if !ready.is_readable() {
            return Ok(false);
        }
        let arrived = clock.now();
        let taken = self.transport.take(&mut self.incoming.borrow_mut());
        match taken {
            // An answer that ends with the connection may be complete.
            Ok(0) if reading.anything() && reading.reader.eof().is_ok() => Ok(true),
            Ok(0) => Err(ended("the server ended the connection".to_owned(), reading)),
            Ok(count) => {
                stamps.bytes_received += count as u64;
                Ok(reading.take_in(&self.incoming.borrow()[..count], arrived, stamps)?)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(ended(plain(&error), reading)),
        }
    }

    async fn receive(
        &mut self,
        clock: RunClock,
        stamps: &mut Stamps,
        reading: &mut Reading<'_>,
        broken: Option<io::Error>,
    ) -> Result<Response, ExchangeError> {
        let mut reads: u32 = 0;
        let mut woken = None;
        while !reading.reader.is_done() {
            reads = reads.wrapping_add(1);
            if reads.is_multiple_of(GREED) {
                tokio::task::yield_now().await;
            }
            let taken = self.transport.take(&mut self.incoming.borrow_mut());
            match taken {
                Ok(0) => {
                    if !reading.anything() {
                        let what = broken.as_ref().map_or_else(
                            || "the server ended the connection without an answer".to_owned(),
                            plain,
                        );
                        return Err(ended(what, reading));
                    }
                    // Inside a response that is the connection's fault, not the protocol's.
                    reading
                        .reader
                        .eof()
                        .map_err(|error| ended(error.to_string(), reading))?;
                    break;
                }
                Ok(count) => {
                    let arrived = woken.take().unwrap_or(self.transport.arrived_at);
                    stamps.bytes_received += count as u64;
                    reading.take_in(&self.incoming.borrow()[..count], arrived, stamps)?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Some(error) = &broken {
                        return Err(ended(plain(error), reading));
                    }
                    self.transport
                        .wait(false)
                        .await
                        .map_err(|error| ended(plain(&error), reading))?;
                    woken = Some(clock.now());
                }
                Err(error) => return Err(ended(plain(&error), reading)),
            }
        }
        stamps.done = Some(clock.now());
        let surplus = !reading.pending.is_empty();
        let reusable =
            reading.reader.reusable() && !surplus && stamps.sent.is_some() && broken.is_none();
        match reading.reader.head() {
            Some(head) => Ok(Response {
                head: head.clone(),
                body_length: reading.body_length,
                reusable,
                surplus,
            }),
            None => Err(ended("the server ended the connection".to_owned(), reading)),
        }
    }
}

fn ended(what: String, reading: &Reading<'_>) -> ExchangeError {
    ExchangeError::Ended {
        what,
        silent: !reading.anything(),
    }
}

/// A response under way.
struct Reading<'a> {
    reader: ResponseReader,
    /// Bytes that the reader has not taken yet.
    pending: Vec<u8>,
    /// An interim response has arrived: the server has begun to work on the request.
    interim: bool,
    keep: Keep<'a>,
    /// How many more bytes of the body to keep.
    allowance: usize,
    body: &'a mut Vec<u8>,
    body_length: u64,
}

impl Reading<'_> {
    /// Whether any byte of a response has arrived, an interim one included.
    fn anything(&self) -> bool {
        self.interim || self.reader.started() || !self.pending.is_empty()
    }

    /// Feeds what arrived; true when the response is complete.
    fn take_in(
        &mut self,
        bytes: &[u8],
        arrived: Nanos,
        stamps: &mut Stamps,
    ) -> Result<bool, ProtocolError> {
        if self.pending.is_empty() {
            let left = self.feed(bytes, arrived, stamps)?;
            self.pending.extend_from_slice(&bytes[left..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(bytes);
            let left = self.feed(&pending, arrived, stamps)?;
            pending.drain(..left);
            self.pending = pending;
        }
        Ok(self.reader.is_done())
    }

    /// Feeds `bytes` and says how many the reader took.
    fn feed(
        &mut self,
        bytes: &[u8],
        arrived: Nanos,
        stamps: &mut Stamps,
    ) -> Result<usize, ProtocolError> {
        let mut at = 0;
        while !self.reader.is_done() {
            let step = self.reader.step(&bytes[at..])?;
            at += step.consumed;
            match step.event {
                Event::NeedMore => break,
                // What was taken for the beginning of the answer was an interim response.
                Event::Interim(_) => {
                    self.interim = true;
                    stamps.first = (at < bytes.len()).then_some(arrived);
                    continue;
                }
                Event::Head => {
                    stamps.first.get_or_insert(arrived);
                    if let Some(head) = self.reader.head() {
                        self.allowance = (self.keep)(head);
                    }
                }
                Event::Body(data) => {
                    self.body_length += data.len() as u64;
                    let kept = data.len().min(self.allowance);
                    self.allowance -= kept;
                    self.body.extend_from_slice(&data[..kept]);
                }
                Event::End => {}
            }
        }
        // The first bytes of a head that is not complete yet.
        if self.reader.head().is_none() && at < bytes.len() {
            stamps.first.get_or_insert(arrived);
        }
        Ok(at)
    }
}
