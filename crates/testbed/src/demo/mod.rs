//! A complete WebDAV server in this process: class 1 and 2, dead properties, any depth.
//!
//! ```text
//! hyper (HTTP/1.1) --> Handler --+-- PROPFIND ----> propfind.rs
//!                                +-- the rest ----> dav-server --> PropFs --> LocalFs
//!                                +-- COPY, after --> DeadProps::copy
//! ```
//!
//! The crate `dav-server` does files, locks and preconditions. Missing features are added here:
//! `LocalFs` keeps no dead properties (`fs.rs`), and its PROPFIND refuses `Depth: infinity`, leaves
//! out properties that it does not have instead of a 404 (RFC 4918, section 9.1), and returns all
//! dead properties, twice, if one is requested (`propfind.rs`). Its `MemLs` never releases locks
//! (`locks.rs`). `docs/upstream` has a patch of `dav-server` that makes these additions
//! superfluous.
//!
//! Known limits: dead properties and locks live in memory and end with the server; a PROPPATCH body
//! has at most 64 KiB; a lock lasts ten minutes at most; removing `DAV:displayname` responds with
//! 200 and does nothing; attributes of a property's element lose their prefix (`xml:lang` becomes
//! `lang`).

mod fs;
mod handler;
mod locks;
mod propfind;
mod props;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use lab::ScratchDirectory;
use rustix::thread::gettid;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use handler::Handler;

use crate::listen::listen;

/// Where a [`DemoServer`] keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// A temporary directory, removed when the server is dropped.
    Temporary,
    /// A directory that exists and stays.
    Directory(PathBuf),
}

/// Threads of a server: the main one, two workers, and one that replaces a worker that works on
/// files.
const THREADS: usize = 4;

/// Fails if this number of threads cannot be started: the runtime panics if one of its threads
/// cannot.
fn check_threads() -> io::Result<()> {
    let waiting = Mutex::new(());
    let held = waiting.lock();
    let started = thread::scope(|scope| {
        let wait = || {
            drop(waiting.lock());
            gettid()
        };
        let start = |_| thread::Builder::new().spawn_scoped(scope, wait);
        let started: io::Result<Vec<_>> = (0..THREADS).map(start).collect();
        drop(held);
        let joined = started?.into_iter().filter_map(|one| one.join().ok());
        Ok(joined.collect::<Vec<_>>())
    });
    let ended =
        started.map_err(|error: io::Error| io::Error::new(error.kind(), limits::no_thread(&error)));
    // A thread counts for a moment after it was joined.
    for thread in ended? {
        let counted = format!("/proc/self/task/{thread}");
        while Path::new(&counted).exists() {
            thread::yield_now();
        }
    }
    Ok(())
}

/// Requests that take longer by a known time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slowdown {
    /// Their method, or the end of their `X-Prestan`.
    pub of: String,
    /// Additional computing time before the response.
    pub by: Duration,
}

impl Slowdown {
    fn concerns<B>(&self, request: &hyper::Request<B>) -> bool {
        let label = request.headers().get("x-prestan");
        let is_labelled = |label: &HeaderValue| label.as_bytes().ends_with(self.of.as_bytes());
        request.method().as_str() == self.of || label.is_some_and(is_labelled)
    }

    fn take_effect(&self) {
        let end = Instant::now() + self.by;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    }
}

/// A WebDAV server on a separate thread; dropping it ends it.
#[derive(Debug)]
pub struct DemoServer {
    addr: SocketAddr,
    root: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    // Last: removed after `drop` has ended the thread that writes there.
    _temporary: Option<ScratchDirectory>,
}

impl DemoServer {
    /// Starts a server that listens on `addr` (port 0: a free one) when this returns.
    ///
    /// Raises this process's soft limit of open files to the hard limit, because a thousand users
    /// need more descriptors than the usual 1024.
    pub fn start(root: Root, addr: SocketAddr) -> io::Result<DemoServer> {
        DemoServer::start_slowed(root, addr, None)
    }

    /// The same, with some slower requests.
    pub fn start_slowed(
        root: Root,
        addr: SocketAddr,
        slowdown: Option<Slowdown>,
    ) -> io::Result<DemoServer> {
        limits::raise_open_files();
        let (root, temporary) = match root {
            Root::Directory(path) => (path.canonicalize()?, None),
            Root::Temporary => {
                let dir = ScratchDirectory::new("prestan-demo-", None)?;
                (dir.path().to_owned(), Some(dir))
            }
        };
        let listener = listen(addr).map_err(|error| {
            io::Error::new(error.kind(), format!("listening on {addr} failed: {error}"))
        })?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        check_threads()?;
        // The replacement is started now and stays: where no other can be started, requests for
        // files wait for it.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_keep_alive(Duration::MAX)
            .enable_all()
            .build()?;
        drop(runtime.spawn_blocking(|| ()));
        let handler = Handler::new(&root);
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("demo-server".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accept(listener, handler, slowdown) => {}
                        _ = stopped => {}
                    }
                });
                // A file operation may be under way on another thread: wait for it, not for ever.
                runtime.shutdown_timeout(Duration::from_secs(2));
            })?;
        Ok(DemoServer {
            addr,
            root,
            stop: Some(stop),
            thread: Some(thread),
            _temporary: temporary,
        })
    }

    /// URL of the root collection, with its slash.
    pub fn url(&self) -> String {
        format!("http://{}/", self.addr)
    }

    /// Address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Directory it serves.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread has ended, with or without a panic, which was printed.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, handler: Handler, slowdown: Option<Slowdown>) {
    let slowdown = slowdown.map(Arc::new);
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        // Nothing listens then, and the first request fails.
        Err(_) => return,
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                drop(tokio::spawn(serve(
                    stream,
                    handler.clone(),
                    slowdown.clone(),
                )));
            }
            // Out of descriptors, most likely; they are released as connections end.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, handler: Handler, slowdown: Option<Arc<Slowdown>>) {
    // Without it a response in two segments waits for the client's delayed ACK: 40 ms.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let handler = handler.clone();
        let slowdown = slowdown
            .clone()
            .filter(|slowdown| slowdown.concerns(&request));
        async move {
            let answer = handler.handle(request).await;
            if let Some(slowdown) = slowdown {
                slowdown.take_effect();
            }
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    // Clients close, reset and send garbage; hyper has responded where possible.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
