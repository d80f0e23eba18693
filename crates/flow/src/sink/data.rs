//! The data thread of a sink: it receives data of flows, and counts and ignores all other data.

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::net::RecvFlags;
use socket2::Socket;

use super::SinkShared;
use super::arrivals::{CountsWanted, LastFlow, SinkFlows};
use crate::clock::{DatagramStamps, stamp_ns};
use crate::message::SinkCounts;
use crate::payload::{BlockReader, FlowId, STREAM_HEADER, read_stream};
use crate::sys::{self, DatagramBatch};
use crate::{FlowError, FlowTransport};

/// Token of the descriptor by which commands are announced.
const WAKE: u64 = u64::MAX;
/// Calls for one socket before the next is served.
const TURN: usize = 8;
/// Datagrams of one call. Where the kernel joins them, fewer buffers stay in the cache.
const DATAGRAMS: usize = 32;
const JOINED_DATAGRAMS: usize = 4;
/// Bytes of a stream per call.
const STREAM_PIECE: usize = 1 << 20;
/// Bytes of a stream with time stamps per call: these are read.
const STAMPED_PIECE: usize = 256 << 10;
/// Time for a connection to send the beginning of a stream, which can be lost twice within it.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Connections to a port that may be without it at a time, in addition to the expected ones.
const MOST_UNIDENTIFIED: usize = 256;

/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) enum DataCommand {
    /// Adds flows after an agreement.
    Add {
        session: u64,
        transport: FlowTransport,
        socket: Socket,
        ids: Vec<FlowId>,
        has_stamps: bool,
    },
    /// Requests counts.
    Counts {
        session: u64,
        wanted: CountsWanted,
        reply: Sender<Vec<SinkCounts>>,
    },
    /// Ends a session.
    Remove { session: u64 },
    /// Ends the sink.
    End,
}

/// Handle for sending commands to the data thread.
#[derive(Clone)]
pub(super) struct DataCommands {
    sender: Sender<DataCommand>,
    wake: Arc<OwnedFd>,
}

impl DataCommands {
    pub(super) fn send(&self, command: DataCommand) {
        // Sending fails when the thread has ended, and then nothing waits for a reply.
        let _ = self.sender.send(command);
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Counts of the flows of a session; `None` when the sink ends.
    pub(super) fn counts(&self, session: u64, wanted: CountsWanted) -> Option<Vec<SinkCounts>> {
        let (reply, counts) = mpsc::channel();
        self.send(DataCommand::Counts {
            session,
            wanted,
            reply,
        });
        counts.recv().ok()
    }
}

/// The data thread. It ends when this is dropped.
pub(super) struct DataThread {
    commands: DataCommands,
    thread: Option<JoinHandle<()>>,
}

impl DataThread {
    pub(super) fn start(shared: Arc<SinkShared>) -> Result<DataThread, FlowError> {
        let failed = || FlowError::system("prepare the data thread");
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let wake = Arc::new(wake.map_err(|error| failed()(error.into()))?);
        let epoll = epoll::create(CreateFlags::CLOEXEC);
        let epoll = epoll.map_err(|error| failed()(error.into()))?;
        let interest = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), interest)
            .map_err(|error| failed()(error.into()))?;
        let (sender, commands) = mpsc::channel();
        let thread = thread::Builder::new().name("traffic-sink".to_owned());
        let thread = thread
            .spawn(move || {
                let mut receiver = DataReceiver {
                    epoll,
                    shared,
                    sockets: Vec::new(),
                    unidentified: HashMap::new(),
                    listeners: 0,
                    flows: SinkFlows::default(),
                    batch: DatagramBatch::new(DATAGRAMS),
                    stamps: DatagramStamps::new(),
                    buffer: vec![0; STREAM_PIECE].into(),
                };
                receiver.run(&commands);
            })
            .map_err(FlowError::system("start a thread"))?;
        Ok(DataThread {
            commands: DataCommands { sender, wake },
            thread: Some(thread),
        })
    }

    pub(super) fn commands(&self) -> DataCommands {
        self.commands.clone()
    }
}

impl Drop for DataThread {
    fn drop(&mut self) {
        self.commands.send(DataCommand::End);
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been printed.
            let _ = thread.join();
        }
    }
}

/// A socket of the data thread.
enum DataSocket {
    Listener {
        session: u64,
        number: u64,
        socket: Socket,
        has_stamps: bool,
        flows: usize,
    },
    Datagrams {
        session: u64,
        socket: Socket,
        /// Index of its first flow, and the last value of [`sys::overflowed`].
        first: Option<usize>,
        overflowed: u32,
        last: LastFlow,
        is_joined: bool,
    },
    /// A connection that has not identified its flow yet.
    Unidentified {
        session: u64,
        /// Number of its listener.
        listener: u64,
        stream: TcpStream,
        since: Instant,
        header: [u8; STREAM_HEADER],
        filled: usize,
        has_stamps: bool,
    },
    Stream {
        session: u64,
        stream: TcpStream,
        index: usize,
        blocks: Option<BlockReader>,
    },
}

impl DataSocket {
    fn session(&self) -> u64 {
        match self {
            DataSocket::Listener { session, .. }
            | DataSocket::Datagrams { session, .. }
            | DataSocket::Unidentified { session, .. }
            | DataSocket::Stream { session, .. } => *session,
        }
    }

    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match self {
            DataSocket::Listener { socket, .. } | DataSocket::Datagrams { socket, .. } => {
                socket.as_fd()
            }
            DataSocket::Unidentified { stream, .. } | DataSocket::Stream { stream, .. } => {
                stream.as_fd()
            }
        }
    }
}

struct DataReceiver {
    epoll: OwnedFd,
    shared: Arc<SinkShared>,
    /// Sockets by their tokens.
    sockets: Vec<Option<DataSocket>>,
    /// Number of unidentified connections by the number of their listener: those at one port do not
    /// take slots of sources at another.
    unidentified: HashMap<u64, usize>,
    /// Number of listeners so far.
    listeners: u64,
    flows: SinkFlows,
    batch: DatagramBatch,
    stamps: DatagramStamps,
    buffer: Box<[u8]>,
}

impl DataReceiver {
    fn run(&mut self, commands: &Receiver<DataCommand>) {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let while_idle = Timespec {
            tv_sec: 0,
            tv_nsec: 500_000_000,
        };
        loop {
            events.clear();
            let buffer = rustix::buffer::spare_capacity(&mut events);
            // A signal interrupts the call; then the loop checks again.
            let _ = epoll::wait(&self.epoll, buffer, Some(&while_idle));
            while let Ok(command) = commands.try_recv() {
                if let DataCommand::End = command {
                    return;
                }
                self.execute(command);
            }
            for event in &events {
                if let Ok(token) = usize::try_from(event.data.u64()) {
                    self.serve(token);
                }
            }
            self.dismiss_unidentified();
        }
    }

    fn execute(&mut self, command: DataCommand) {
        match command {
            DataCommand::Add {
                session,
                transport,
                socket,
                ids,
                has_stamps,
            } => {
                let first = self.flows.add(session, &ids, has_stamps);
                self.listeners += 1;
                self.insert(match transport {
                    FlowTransport::Tcp => DataSocket::Listener {
                        session,
                        number: self.listeners,
                        socket,
                        has_stamps,
                        flows: ids.len(),
                    },
                    FlowTransport::Udp => DataSocket::Datagrams {
                        session,
                        socket,
                        first,
                        overflowed: 0,
                        last: None,
                        is_joined: false,
                    },
                });
            }
            DataCommand::Counts {
                session,
                wanted,
                reply,
            } => {
                self.count_overflowed(session);
                // The session may have stopped waiting.
                let _ = reply.send(self.flows.counts(session, wanted));
            }
            DataCommand::Remove { session } => {
                for slot in &mut self.sockets {
                    let gone = slot.take_if(|socket| socket.session() == session);
                    if let Some(DataSocket::Unidentified { listener, .. }) = gone {
                        self.unidentified.remove(&listener);
                    }
                }
                self.flows.remove_session(session);
            }
            DataCommand::End => {}
        }
    }

    /// Adds the datagrams that the buffers of a session dropped.
    fn count_overflowed(&mut self, wanted_session: u64) {
        for socket in self.sockets.iter_mut().flatten() {
            if let DataSocket::Datagrams {
                session,
                socket,
                first: Some(first),
                overflowed,
                ..
            } = socket
                && *session == wanted_session
                && let Some(now) = sys::overflowed(socket.as_fd())
            {
                let more = now.wrapping_sub(std::mem::replace(overflowed, now));
                self.flows.add_overflowed(*first, u64::from(more));
            }
        }
    }

    fn insert(&mut self, socket: DataSocket) {
        let free = self.sockets.iter().position(Option::is_none);
        let token = free.unwrap_or_else(|| {
            self.sockets.push(None);
            self.sockets.len() - 1
        });
        let data = EventData::new_u64(token as u64);
        if epoll::add(&self.epoll, socket.as_fd(), data, EventFlags::IN).is_ok() {
            self.sockets[token] = Some(socket);
        } else if let DataSocket::Unidentified { listener, .. } = socket {
            // The connection is closed, which the source detects.
            self.leave_unidentified(listener);
        }
    }

    /// Counts down after a connection has identified its flow, or has ended.
    fn leave_unidentified(&mut self, listener: u64) {
        if let Some(count) = self.unidentified.get_mut(&listener) {
            *count = count.saturating_sub(1);
        }
    }

    /// Serves a socket that is readable.
    fn serve(&mut self, token: usize) {
        let Some(mut socket) = self.sockets.get_mut(token).and_then(Option::take) else {
            return;
        };
        let mut accepted = None;
        let stays = match &mut socket {
            DataSocket::Listener {
                session,
                number,
                socket,
                has_stamps,
                flows,
            } => {
                let stream = accepted_by(socket);
                let most = *flows + MOST_UNIDENTIFIED;
                let listener = (*session, *number, *has_stamps, most);
                accepted = stream.map(|stream| (stream, listener));
                true
            }
            DataSocket::Datagrams {
                session,
                socket,
                last,
                is_joined,
                ..
            } => {
                self.read_datagrams(*session, socket, last, is_joined);
                true
            }
            DataSocket::Unidentified { listener, .. } => {
                let listener = *listener;
                self.sockets[token] = match self.identify(socket) {
                    Introduced::NotYet(stranger) => Some(stranger),
                    Introduced::As(stream) => {
                        self.leave_unidentified(listener);
                        Some(stream)
                    }
                    Introduced::Unknown => {
                        self.leave_unidentified(listener);
                        self.turn_away();
                        None
                    }
                };
                return;
            }
            DataSocket::Stream {
                stream,
                index,
                blocks,
                ..
            } => {
                let stays = self.read_stream(stream, *index, blocks);
                if !stays {
                    self.flows.end_stream(*index);
                }
                stays
            }
        };
        if stays {
            self.sockets[token] = Some(socket);
        }
        // After the listener is back in its slot.
        if let Some((stream, listener)) = accepted {
            self.welcome(stream, listener);
        }
    }

    fn welcome(
        &mut self,
        stream: Socket,
        (session, listener, has_stamps, most): (u64, u64, bool, usize),
    ) {
        let unidentified = self.unidentified.entry(listener).or_default();
        if *unidentified >= most || stream.set_nonblocking(true).is_err() {
            self.turn_away();
            return;
        }
        *unidentified += 1;
        self.insert(DataSocket::Unidentified {
            session,
            listener,
            stream: stream.into(),
            since: Instant::now(),
            header: [0; STREAM_HEADER],
            filled: 0,
            has_stamps,
        });
    }

    fn identify(&mut self, socket: DataSocket) -> Introduced {
        let DataSocket::Unidentified {
            session,
            listener,
            stream,
            since,
            mut header,
            mut filled,
            has_stamps,
        } = socket
        else {
            return Introduced::Unknown;
        };
        match rustix::net::recv(&stream, &mut header[filled..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Introduced::Unknown,
            Ok((_, count)) => filled += count,
            Err(error) if is_for_later(&error.into()) => {}
            Err(_) => return Introduced::Unknown,
        }
        if filled < STREAM_HEADER {
            return Introduced::NotYet(DataSocket::Unidentified {
                session,
                listener,
                stream,
                since,
                header,
                filled,
                has_stamps,
            });
        }
        let index = read_stream(&header).and_then(|id| self.flows.begin_stream(session, id));
        index.map_or(Introduced::Unknown, |index| {
            Introduced::As(DataSocket::Stream {
                session,
                stream,
                index,
                blocks: has_stamps.then(BlockReader::default),
            })
        })
    }

    fn read_datagrams(
        &mut self,
        session: u64,
        socket: &Socket,
        last: &mut LastFlow,
        is_joined: &mut bool,
    ) {
        for _ in 0..TURN {
            let most = if *is_joined {
                JOINED_DATAGRAMS
            } else {
                DATAGRAMS
            };
            let Ok(count) = self.batch.receive(socket.as_fd(), most) else {
                return;
            };
            let now = self.stamps.look();
            for index in 0..count {
                let Some(received) = self.batch.datagram(index) else {
                    break;
                };
                *is_joined = received.segment_bytes < received.bytes.len();
                let stamp = received.stamp_ns;
                let stamp = stamp.map_or(now, |stamp| self.stamps.convert(stamp, now));
                let strange = self.flows.record_datagrams(session, &received, stamp, last);
                if strange > 0 {
                    let count = &self.shared.strange_datagrams;
                    count.fetch_add(strange, Ordering::Relaxed);
                }
            }
            if count < most {
                return;
            }
        }
    }

    /// Reads from a stream; true until it ends.
    fn read_stream(
        &mut self,
        stream: &TcpStream,
        index: usize,
        blocks: &mut Option<BlockReader>,
    ) -> bool {
        let Some(flow) = self.flows.flow(index) else {
            return false;
        };
        for _ in 0..TURN {
            // Without time stamps nothing is read, and the kernel need not copy it (tcp(7)).
            let (most, flags) = if blocks.is_some() {
                (STAMPED_PIECE, RecvFlags::DONTWAIT)
            } else {
                (STREAM_PIECE, RecvFlags::DONTWAIT | RecvFlags::TRUNC)
            };
            let count = match rustix::net::recv(stream, &mut self.buffer[..most], flags) {
                Ok((_, 0)) => return false,
                Ok((_, count)) => count,
                Err(error) => return is_for_later(&error.into()),
            };
            let Some(blocks) = blocks else {
                flow.add_bytes(stamp_ns(), count as u64);
                continue;
            };
            // The kernel stamps segments of a stream, not blocks.
            let received_ns = stamp_ns();
            let read = blocks.push(&self.buffer[..count], |stamp, bytes| {
                flow.add_block(stamp, received_ns, bytes);
            });
            if read.is_err() {
                return false;
            }
            if count < most {
                return true;
            }
        }
        true
    }

    fn turn_away(&self) {
        let count = &self.shared.strange_connections;
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn dismiss_unidentified(&mut self) {
        self.unidentified.retain(|_, count| *count > 0);
        if self.unidentified.is_empty() {
            return;
        }
        let is_late = |socket: &mut DataSocket| matches!(socket, DataSocket::Unidentified { since, .. } if since.elapsed() > INTRODUCTION);
        let slots = self.sockets.iter_mut();
        let late: Vec<DataSocket> = slots.filter_map(|slot| slot.take_if(is_late)).collect();
        for socket in late {
            if let DataSocket::Unidentified { listener, .. } = socket {
                self.leave_unidentified(listener);
                self.turn_away();
            }
        }
    }
}

/// The next connection of a listener, if there is one.
fn accepted_by(listener: &Socket) -> Option<Socket> {
    match listener.accept() {
        Ok((stream, _)) => Some(stream),
        Err(error) if is_for_later(&error) => None,
        Err(_) => {
            // Too many open files, for example: the connection waits.
            thread::sleep(PAUSE);
            None
        }
    }
}

/// Outcome of reading the beginning of a stream.
enum Introduced {
    NotYet(DataSocket),
    As(DataSocket),
    Unknown,
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
