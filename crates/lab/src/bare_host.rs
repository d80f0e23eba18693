//! A host whose TCP is in this process: a thread between a TAP device and a [`BareServer`].
//!
//! The thread sleeps until a frame arrives or a timer of the server is due. It also reads between
//! the frames that it writes, so that acknowledgments are not delayed by a burst.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use bare::{BareServer, BareServerCounters, EndedConnection};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::LabError;
use crate::stop_signal::StopSignal;
use crate::system;
use crate::tap::Tap;

/// Longest frame: an Ethernet header with a VLAN tag, and the largest MTU of a device.
const LONGEST_FRAME: usize = 18 + 65_535;

/// Frames that are read, or written, before the other direction is served.
const TURN: usize = 16;

/// Ended connections that are kept until they are taken; the oldest are dropped.
const MOST_ENDED: usize = 65_536;

/// Counters of a bare host so far.
#[derive(Debug, Clone, Default)]
pub struct BareHostReport {
    /// Counters of its server.
    pub server: BareServerCounters,
    /// Connections that have ended since the last report.
    pub ended: Vec<EndedConnection>,
    /// Frames that the device refused, because it is down or the kernel has no memory.
    pub refused_frames: u64,
    /// The greatest lateness of a timer, in nanoseconds.
    pub latest_timer_ns: u64,
}

/// A running bare host. It ends when it is dropped.
#[derive(Debug)]
pub struct BareHost {
    shared: Arc<BareHostState>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// State shared by the thread and its owner.
#[derive(Debug)]
struct BareHostState {
    stop: StopSignal,
    report: Mutex<BareHostReport>,
}

impl BareHost {
    /// Begins to serve the device's other end. The kernel is the neighbour of this host: everything
    /// that its namespace forwards to the device reaches the server.
    pub fn start(tap: Tap, server: BareServer) -> Result<BareHost, LabError> {
        let failed = LabError::system("start the bare host");
        let shared = Arc::new(BareHostState {
            stop: StopSignal::new().map_err(&failed)?,
            report: Mutex::default(),
        });
        let host = ServingThread {
            tap,
            server,
            start: Instant::now(),
            refused_frames: 0,
            latest_timer_ns: 0,
            shared: Arc::clone(&shared),
        };
        let thread = thread::Builder::new()
            .name("bare-host".to_owned())
            .spawn(move || host.run())
            .map_err(failed)?;
        Ok(BareHost {
            shared,
            thread: Some(thread),
        })
    }

    /// Counters until its last wait, with the connections that have ended since the last call.
    pub fn report(&self) -> BareHostReport {
        let report = self.shared.report.lock();
        let mut report = report.unwrap_or_else(PoisonError::into_inner);
        let ended = std::mem::take(&mut report.ended);
        BareHostReport {
            ended,
            ..report.clone()
        }
    }

    /// Ends it, with the connections that are open. Returns the last report.
    ///
    /// # Errors
    /// The host had ended before, because the device disappeared.
    pub fn stop(mut self) -> Result<BareHostReport, LabError> {
        self.end()
            .map_err(LabError::system("serve at a TAP device"))?;
        Ok(self.report())
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.stop.end(&mut self.thread)
    }
}

impl Drop for BareHost {
    fn drop(&mut self) {
        // `stop` returns this result to callers that need it.
        let _ = self.end();
    }
}

/// The state of the thread.
#[derive(Debug)]
struct ServingThread {
    tap: Tap,
    server: BareServer,
    start: Instant,
    refused_frames: u64,
    latest_timer_ns: u64,
    shared: Arc<BareHostState>,
}

impl ServingThread {
    fn run(mut self) -> io::Result<()> {
        // By default the kernel may wake a thread 50 µs late, to save energy.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        // Only root gets it; without it, other programs can delay timers.
        let _ = system::become_real_time();
        let result = self.serve();
        self.publish();
        result
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; LONGEST_FRAME];
        while !self.shared.stop.is_raised() {
            let is_read = self.receive(&mut buffer)?;
            self.expire();
            let is_written = self.send();
            if !is_read && !is_written {
                self.publish();
                self.wait()?;
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Reads some frames. True if there were any.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        for turn in 0..TURN {
            match self.tap.read(buffer) {
                Ok(length) => self.server.receive(self.now_ns(), &buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(turn > 0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn expire(&mut self) {
        let now_ns = self.now_ns();
        let deadline_ns = self.server.next_deadline_ns();
        if let Some(deadline_ns) = deadline_ns.filter(|deadline_ns| *deadline_ns <= now_ns) {
            self.latest_timer_ns = self.latest_timer_ns.max(now_ns - deadline_ns);
            self.server.tick(now_ns);
        }
    }

    /// Writes some frames. True if there were any.
    fn send(&mut self) -> bool {
        for turn in 0..TURN {
            let Some(frame) = self.server.next_frame(self.now_ns()) else {
                return turn > 0;
            };
            self.refused_frames += u64::from(self.tap.write(&frame).is_err());
        }
        true
    }

    fn publish(&mut self) {
        let report = self.shared.report.lock();
        let mut report = report.unwrap_or_else(PoisonError::into_inner);
        report.server = *self.server.counters();
        report.refused_frames = self.refused_frames;
        report.latest_timer_ns = self.latest_timer_ns;
        report.ended.extend(self.server.take_ended());
        let surplus = report.ended.len().saturating_sub(MOST_ENDED);
        report.ended.drain(..surplus);
    }

    /// Sleeps until a frame arrives, or a timer is due.
    fn wait(&self) -> io::Result<()> {
        let now_ns = self.now_ns();
        let timeout = self.server.next_deadline_ns().map(|deadline_ns| {
            let left_ns = deadline_ns.saturating_sub(now_ns);
            Timespec {
                tv_sec: (left_ns / 1_000_000_000) as i64,
                tv_nsec: (left_ns % 1_000_000_000) as _,
            }
        });
        let mut descriptors = [
            PollFd::from_borrowed_fd(self.tap.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.shared.stop.wake(), PollFlags::IN),
        ];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
