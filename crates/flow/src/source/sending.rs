//! A sending thread: many flows, one `epoll`, one `timerfd` that is set to the first moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::busy_waiting::BusyWaiting;
use super::counters::PacingHistogram;
use super::sender::{NextMoment, SendBuffers, SendingFlow};
use crate::FlowError;
use crate::clock::monotonic_ns;

const TIMER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
/// Moments that are served before the thread checks its sockets again.
const TURN: usize = 64;

/// State shared by the sending threads of a source and its control thread.
#[derive(Debug)]
pub(super) struct SendingState {
    /// Last sign of life of the sink that the control thread found, by the monotonic clock.
    watched_ns: AtomicU64,
    pub(super) should_stop: AtomicBool,
    /// Connections are to be closed at once, with the content of their buffers.
    pub(super) is_abandoned: AtomicBool,
    /// Flows that have not ended.
    pub(super) active: AtomicUsize,
    wake: OwnedFd,
    longest_silence: Duration,
}

impl SendingState {
    pub(super) fn new(flows: usize, longest_silence: Duration) -> io::Result<SendingState> {
        Ok(SendingState {
            watched_ns: AtomicU64::new(monotonic_ns()),
            should_stop: AtomicBool::new(false),
            is_abandoned: AtomicBool::new(false),
            active: AtomicUsize::new(flows),
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            longest_silence,
        })
    }

    /// Ends all sending threads.
    pub(super) fn stop(&self) {
        self.should_stop.store(true, Ordering::Relaxed);
        // The counter stays readable, so that all threads are woken.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Notes that the sink is alive.
    pub(super) fn watched(&self) {
        self.watched_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// True if sending may continue.
    fn may_send(&self, now: u64) -> bool {
        let unwatched = now.saturating_sub(self.watched_ns.load(Ordering::Relaxed));
        let is_unwatched = u128::from(unwatched) > self.longest_silence.as_nanos();
        !is_unwatched && !self.should_stop.load(Ordering::Relaxed)
    }
}

pub(super) struct SendingThread {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// Moment to which the timer is set.
    set: u64,
    busy_waiting: BusyWaiting,
    state: Arc<SendingState>,
    flows: Vec<SendingFlow>,
    /// Moments at which flows continue.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Flows that can send at once.
    ready: Vec<usize>,
    buffers: SendBuffers,
}

impl SendingThread {
    pub(super) fn new(
        flows: Vec<SendingFlow>,
        state: Arc<SendingState>,
        pacing: Arc<PacingHistogram>,
    ) -> Result<SendingThread, FlowError> {
        let prepared = || -> io::Result<(OwnedFd, OwnedFd, SendBuffers)> {
            let epoll = epoll::create(CreateFlags::CLOEXEC)?;
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let interest = EventFlags::IN | EventFlags::ET;
            epoll::add(&epoll, &timer, EventData::new_u64(TIMER), interest)?;
            let data = EventData::new_u64(WAKE);
            epoll::add(&epoll, &state.wake, data, EventFlags::IN)?;
            for (index, flow) in flows.iter().enumerate() {
                if flow.waits_for_room() {
                    let interest = EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                    let data = EventData::new_u64(index as u64);
                    epoll::add(&epoll, flow.socket(), data, interest)?;
                }
            }
            Ok((epoll, timer, SendBuffers::new(pacing)?))
        };
        let (epoll, timer, buffers) = prepared().map_err(FlowError::system("prepare to send"))?;
        Ok(SendingThread {
            epoll,
            timer,
            set: u64::MAX,
            busy_waiting: BusyWaiting::default(),
            state,
            due: BinaryHeap::new(),
            ready: Vec::new(),
            flows,
            buffers,
        })
    }

    /// Sends until all flows have ended or the source is stopped.
    pub(super) fn run(mut self, start: u64) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let first = flow.begin(start);
            self.due.push(Reverse((first, index)));
            self.due.push(Reverse((flow.end(), index)));
        }
        let mut events = Vec::with_capacity(256);
        let mut left = self.flows.len();
        loop {
            let now = monotonic_ns();
            if left == 0 || !self.state.may_send(now) {
                break;
            }
            left -= self.serve_moments(now);
            left -= self.serve_ready();
            self.wait(&mut events);
            for event in &events {
                let token = event.data.u64();
                if let Ok(index) = usize::try_from(token)
                    && self.flows.get(index).is_some_and(SendingFlow::is_blocked)
                {
                    left -= self.serve(index);
                }
            }
        }
        // Without a command to stop, the control thread has stopped watching the sink.
        let is_unwatched = left > 0 && !self.state.should_stop.load(Ordering::Relaxed);
        let is_abandoned = is_unwatched || self.state.is_abandoned.load(Ordering::Relaxed);
        for flow in &mut self.flows {
            flow.close(is_abandoned);
        }
    }

    /// Serves moments that have come; returns how many flows have ended.
    fn serve_moments(&mut self, mut now: u64) -> usize {
        let mut ended = 0;
        for _ in 0..TURN {
            let Some(Reverse((moment, index))) = self.due.peek().copied() else {
                break;
            };
            if moment > now {
                break;
            }
            self.due.pop();
            ended += self.serve(index);
            now = monotonic_ns();
        }
        ended
    }

    /// Serves each flow without a schedule once.
    fn serve_ready(&mut self) -> usize {
        let mut ended = 0;
        for index in std::mem::take(&mut self.ready) {
            ended += self.serve(index);
        }
        ended
    }

    /// Serves a flow; 1 if it has ended.
    fn serve(&mut self, index: usize) -> usize {
        let flow = &mut self.flows[index];
        if flow.has_ended() {
            return 0;
        }
        match flow.advance(&mut self.buffers) {
            NextMoment::At(moment) => self.due.push(Reverse((moment, index))),
            NextMoment::WithRoom => {}
            NextMoment::Now => {
                if !self.ready.contains(&index) {
                    self.ready.push(index);
                }
            }
            NextMoment::Never => {
                self.state.active.fetch_sub(1, Ordering::Relaxed);
                return 1;
            }
        }
        0
    }

    fn wait(&mut self, events: &mut Vec<Event>) {
        let first = self.due.peek().map(|Reverse((moment, _))| *moment);
        let is_due = first.is_some_and(|moment| moment <= monotonic_ns());
        let patience = if is_due || !self.ready.is_empty() {
            Timespec::default()
        } else {
            let moment = first.map(|moment| self.busy_waiting.wake_up_for(moment));
            if let Some(moment) = moment.filter(|moment| *moment != self.set) {
                self.set_timer(moment);
            }
            // Wakes up to check that the sink is still being watched.
            Timespec {
                tv_sec: 0,
                tv_nsec: 100_000_000,
            }
        };
        events.clear();
        let buffer = rustix::buffer::spare_capacity(events);
        // A signal interrupts it; then the loop looks again.
        let _ = epoll::wait(&self.epoll, buffer, Some(&patience));
        if events.iter().any(|event| event.data.u64() == TIMER) {
            self.set = u64::MAX;
            if let Some(moment) = first {
                self.busy_waiting.wait(moment);
            }
        }
    }

    fn set_timer(&mut self, moment: u64) {
        let value = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: (moment / 1_000_000_000).cast_signed(),
                // Zero and zero would switch it off.
                tv_nsec: (moment % 1_000_000_000).max(1).cast_signed(),
            },
        };
        // Fails only for invalid moments; then the thread checks again after a while.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &value);
        self.set = moment;
    }
}
