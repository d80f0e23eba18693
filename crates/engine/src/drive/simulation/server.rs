//! A server with known times: a number of processors, one queue, and times that are drawn or given.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::rc::Rc;

use record::Nanos;

use crate::clock::monotonic;
use crate::drive::load::Task;
use crate::event_loop::cancel::Cancel;
use crate::event_loop::{Source, sleep_until, spawn};

/// How a request is responded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SimulatedReply {
    /// With the usual response to its method, after this much work.
    After(Nanos),
    /// With this status, at once.
    Status(u16),
    /// Without a response.
    Never,
    /// The connection ends.
    Close,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenRequest {
    pub(super) method: String,
    pub(super) path: String,
    /// The number in X-Prestan.
    pub(super) number: u64,
    /// The name in brackets in X-Prestan.
    pub(super) purpose: String,
    /// Simulated time of its arrival.
    pub(super) at: Nanos,
}

/// Decides the reply to a request, given its 0-based number.
type Decide = dyn FnMut(&SeenRequest, usize) -> SimulatedReply;

#[derive(Clone)]
pub(super) struct SimulatedServer(Rc<ServerState>);

struct ServerState {
    decide: RefCell<Box<Decide>>,
    /// When each processor becomes free.
    free: RefCell<Vec<Nanos>>,
    seen: RefCell<Vec<SeenRequest>>,
    /// When the run began.
    origin: Cell<Nanos>,
    over: Cancel,
    at_work: Cell<usize>,
    /// Idle time after which a connection ends.
    idle_limit: Cell<Option<Nanos>>,
    /// A header field of responses.
    extra_field: Cell<&'static str>,
}

impl SimulatedServer {
    pub(super) fn new(
        processors: usize,
        decide: impl FnMut(&SeenRequest, usize) -> SimulatedReply + 'static,
    ) -> Self {
        SimulatedServer(Rc::new(ServerState {
            decide: RefCell::new(Box::new(decide)),
            free: RefCell::new(vec![0; processors]),
            seen: RefCell::default(),
            origin: Cell::new(0),
            over: Cancel::default(),
            at_work: Cell::new(0),
            idle_limit: Cell::new(None),
            extra_field: Cell::new(""),
        }))
    }

    /// The same server, which ends connections after this idle time, and has this header field in
    /// its responses.
    pub(super) fn with_idle_limit(self, limit: Nanos, extra_field: &'static str) -> Self {
        self.0.idle_limit.set(Some(limit));
        self.0.extra_field.set(extra_field);
        self
    }

    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        self.0.seen.borrow().clone()
    }

    /// The tasks, with the server running until they have ended.
    pub(super) fn serving(&self, socket: &Path, tasks: Vec<Task>) -> Vec<Task> {
        let state = &self.0;
        state.at_work.set(tasks.len());
        state.origin.set(monotonic());
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let counted = tasks.into_iter().map(|task| -> Task {
            let state = Rc::clone(state);
            Box::pin(async move {
                task.await;
                state.at_work.set(state.at_work.get() - 1);
                if state.at_work.get() == 0 {
                    state.over.cancel();
                }
            })
        });
        let accepting: Task = Box::pin(accept(Rc::clone(state), listener));
        // It listens before any user connects.
        [accepting].into_iter().chain(counted).collect()
    }
}

async fn accept(state: Rc<ServerState>, listener: UnixListener) {
    let source = Source::new(OwnedFd::from(listener.try_clone().unwrap())).unwrap();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let serving = serve(Rc::clone(&state), stream);
                let over = state.over.clone();
                spawn(async move {
                    tokio::select! {
                        () = serving => {}
                        () = over.cancelled() => {}
                    }
                });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                source.is_drained();
                tokio::select! {
                    () = source.readable() => {}
                    () = state.over.cancelled() => return,
                }
            }
            Err(error) => panic!("accepting: {error}"),
        }
    }
}

/// Responds to the requests of a connection, one after the other.
async fn serve(state: Rc<ServerState>, mut stream: UnixStream) {
    stream.set_nonblocking(true).unwrap();
    let source = Source::new(OwnedFd::from(stream.try_clone().unwrap())).unwrap();
    let mut bytes = Vec::new();
    loop {
        if let Some((seen, length)) = request(&bytes, monotonic() - state.origin.get()) {
            bytes.drain(..length);
            let mut response = response_to(&seen);
            match state.reply(seen) {
                SimulatedReply::After(work) => sleep_until(state.leaves(work)).await,
                SimulatedReply::Status(status) => {
                    response = format!("HTTP/1.1 {status} Simulated\r\nContent-Length: 0\r\n\r\n");
                }
                SimulatedReply::Never => return std::future::pending().await,
                SimulatedReply::Close => return,
            }
            let extra_field = format!("\r\n{}", state.extra_field.get());
            response = response.replacen("\r\n", &extra_field, 1);
            // A client that has given up is gone.
            if stream.write_all(response.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                source.is_drained();
                let idle_for_long = async {
                    match state.idle_limit.get() {
                        Some(limit) => sleep_until(monotonic() + limit).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = source.readable() => {}
                    () = idle_for_long => return,
                }
            }
            Err(_) => return,
        }
    }
}

impl ServerState {
    fn reply(&self, seen: SeenRequest) -> SimulatedReply {
        let number = self.seen.borrow().len();
        let reply = (self.decide.borrow_mut())(&seen, number);
        self.seen.borrow_mut().push(seen);
        reply
    }

    /// When the response to a request leaves that needs this much work.
    fn leaves(&self, work: Nanos) -> Nanos {
        let mut free = self.free.borrow_mut();
        let first = free.iter_mut().min().unwrap();
        *first = monotonic().max(*first) + work;
        *first
    }
}

/// The first request in these bytes, and its length.
fn request(bytes: &[u8], at: Nanos) -> Option<(SeenRequest, usize)> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.starts_with(name))?;
        Some(line[name.len()..].trim())
    };
    let body: usize = header("Content-Length:").map_or(0, |length| length.parse().unwrap());
    let mut line = head.split(' ');
    let label = header("X-Prestan:").unwrap_or_default();
    let purpose = label.rsplit_once('(').map_or("", |(_, purpose)| purpose);
    let seen = SeenRequest {
        method: line.next().unwrap().to_owned(),
        path: line.next().unwrap().to_owned(),
        number: {
            let words = label.split_whitespace().nth(1);
            words.map_or(0, |number| number.parse().unwrap())
        },
        purpose: purpose.trim_end_matches(')').to_owned(),
        at,
    };
    (bytes.len() >= end + body).then_some((seen, end + body))
}

/// The server's response to a request that it has carried out.
fn response_to(seen: &SeenRequest) -> String {
    match seen.method.as_str() {
        "HEAD" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_owned(),
        "GET" => "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_owned(),
        "PUT" | "MKCOL" => "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "LOCK" => "HTTP/1.1 200 OK\r\nLock-Token: <urn:1>\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
    }
}
