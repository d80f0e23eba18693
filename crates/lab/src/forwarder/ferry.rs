//! The thread of a forwarder.

use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::rest::RestAccount;
use super::{Cable, ForwarderCounters, ForwarderSettings, ForwarderState};
use crate::counters::DeliveryLateness;
use crate::error::LabError;
use crate::link_model::{LinkModel, Passage, Transit};
use crate::system;
use crate::tap::Tap;
use crate::wheel::TimerWheel;

/// Longest frame: an Ethernet header with a VLAN tag, and the largest MTU of a device.
const LONGEST_FRAME: usize = 18 + 65_535;

/// Frames read from one device before the other is served. A frame that is due meanwhile waits for
/// one of them at most.
const TURN: usize = 16;

/// Buffers of frames kept for reuse.
const SPARE_BUFFERS: usize = 4096;

/// Interval of publishing counters, in ns, while frames pass.
const PUBLISHING: u64 = 1_000_000;

/// A frame inside the link.
#[derive(Debug)]
struct Cargo {
    /// Index of the device that it came from.
    from: usize,
    number: u64,
    frame: Vec<u8>,
}

/// A device, and the destinations of its frames.
#[derive(Debug)]
struct FerryPort {
    tap: Tap,
    /// Index of the model that they pass.
    model: usize,
    /// Ports at which they arrive.
    others: Vec<usize>,
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Ferry {
    ports: Vec<FerryPort>,
    models: Vec<LinkModel>,
    /// Models that may keep frames waiting.
    waiting: Vec<usize>,
    wheel: TimerWheel<Cargo>,
    spare: Vec<Vec<u8>>,
    start: Instant,
    busy_wait: u64,
    asks_for_real_time: bool,
    is_real_time: bool,
    lateness: DeliveryLateness,
    /// Last attempt to publish the counters, in ns.
    published: u64,
    /// The owner can see the counters of that time.
    are_shown: bool,
    rest: RestAccount,
    /// Processor time in ns until counters were published.
    used: u64,
    shared: Arc<ForwarderState>,
}

impl Ferry {
    pub(super) fn new(
        cables: Vec<Cable>,
        settings: &ForwarderSettings,
        shared: Arc<ForwarderState>,
    ) -> Result<Ferry, LabError> {
        let mut ports = Vec::new();
        let mut models: Vec<LinkModel> = Vec::new();
        for cable in cables {
            let first = ports.len();
            let ports_of_cable = first..first + cable.taps.len();
            let is_shared = cable.impairments.len() == 1;
            for (number, tap) in cable.taps.into_iter().enumerate() {
                let port = first + number;
                ports.push(FerryPort {
                    tap,
                    model: models.len() + if is_shared { 0 } else { number },
                    others: ports_of_cable
                        .clone()
                        .filter(|other| *other != port)
                        .collect(),
                });
            }
            for impairment in &cable.impairments {
                let seed = seed_of(settings.seed, models.len());
                models.push(LinkModel::new(impairment, seed)?);
            }
        }
        Ok(Ferry {
            ports,
            waiting: (0..models.len())
                .filter(|model| models[*model].has_managed_queue())
                .collect(),
            models,
            wheel: TimerWheel::new(),
            spare: Vec::new(),
            start: Instant::now(),
            busy_wait: u64::try_from(settings.busy_wait.as_nanos()).unwrap_or(u64::MAX),
            asks_for_real_time: settings.asks_for_real_time,
            is_real_time: false,
            lateness: DeliveryLateness::default(),
            published: 0,
            are_shown: true,
            rest: RestAccount::new(),
            used: 0,
            shared,
        })
    }

    /// Forwards until it is stopped.
    pub(super) fn run(mut self) -> io::Result<()> {
        // By default the kernel may wake a thread 50 µs late, to save energy.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        if self.asks_for_real_time {
            self.is_real_time = system::become_real_time().is_ok();
        }
        let result = self.forward();
        let counters = self.shared.counters.lock();
        self.show(
            processor_time(),
            &mut counters.unwrap_or_else(PoisonError::into_inner),
        );
        result
    }

    fn forward(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; LONGEST_FRAME];
        while !self.shared.stop.is_raised() {
            self.deliver();
            let mut is_idle = true;
            for from in 0..self.ports.len() {
                for _ in 0..TURN {
                    if !self.receive(from, &mut buffer)? {
                        break;
                    }
                    is_idle = false;
                    self.deliver();
                }
            }
            let now = self.now();
            if now - self.published >= PUBLISHING {
                self.publish(now);
            }
            if is_idle {
                self.wait(now)?;
            }
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Reads one frame of a device. False if there is none.
    fn receive(&mut self, from: usize, buffer: &mut [u8]) -> io::Result<bool> {
        let length = match self.ports[from].tap.read(buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error),
        };
        let frame = &buffer[..length];
        let now = self.now();
        if let Transit::Leaves(passage, copy) =
            self.models[self.ports[from].model].offer_from(from, now, frame)
        {
            self.keep(from, passage, frame);
            if let Some(copy) = copy {
                self.keep(from, copy, frame);
            }
        }
        Ok(true)
    }

    fn keep(&mut self, from: usize, passage: Passage, frame: &[u8]) {
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(frame);
        let cargo = Cargo {
            from,
            number: passage.number,
            frame: kept,
        };
        self.wheel.insert(passage.at, cargo);
    }

    /// Takes frames from queues whose senders are free.
    fn send_waiting(&mut self, now: u64) {
        for index in 0..self.waiting.len() {
            let model = self.waiting[index];
            while let Some(sent) = self.models[model].send_next(now) {
                self.keep(sent.from, sent.passage, &sent.frame);
                if let Some(copy) = sent.copy {
                    self.keep(sent.from, copy, &sent.frame);
                }
            }
        }
    }

    /// When the next frame is due, or a sender takes the next from its queue, in ns.
    fn next_deadline(&self) -> Option<u64> {
        let senders = self.waiting.iter();
        let senders = senders.filter_map(|model| self.models[*model].next_sending());
        senders.chain(self.wheel.next_deadline()).min()
    }

    /// Writes all frames that are due.
    fn deliver(&mut self) {
        let mut now = self.now();
        self.send_waiting(now);
        while let Some((at, cargo)) = self.wheel.pop(now) {
            let port = &self.ports[cargo.from];
            let mut is_accepted = true;
            for other in &port.others {
                is_accepted &= self.ports[*other].tap.write(&cargo.frame).is_ok();
            }
            self.lateness.add(now.saturating_sub(at));
            let model = &mut self.models[port.model];
            model.leave(cargo.number, cargo.frame.len(), is_accepted);
            if self.spare.len() < SPARE_BUFFERS {
                self.spare.push(cargo.frame);
            }
            now = self.now();
            self.send_waiting(now);
        }
    }

    /// Sleeps until a frame arrives, or shortly before one is due.
    fn wait(&mut self, now: u64) -> io::Result<()> {
        let mut sleep = match self.next_deadline() {
            None => u64::MAX,
            Some(at) => {
                let left = at.saturating_sub(now);
                let is_rested = self.rest.allows_busy_waiting();
                if left == 0 || is_rested && left <= self.busy_wait {
                    return Ok(());
                }
                left.saturating_sub(if is_rested { self.busy_wait } else { 0 })
            }
        };
        if sleep >= PUBLISHING && (self.published < now || !self.are_shown) {
            self.publish(now);
            if !self.are_shown {
                // Without a frame the next wake-up could be in hours, with old counters until then.
                sleep = PUBLISHING;
            }
        }
        let timeout = (sleep < u64::MAX).then(|| timespec(sleep));
        let taps = self.ports.iter().map(|port| port.tap.as_fd());
        let descriptors = taps.chain([self.shared.stop.wake()]);
        let mut descriptors: Vec<PollFd> = descriptors
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Publishes the counters, unless the owner is reading them at this moment: the scheduler can
    /// stop a reader that has the lock, and frames must not wait for it.
    fn publish(&mut self, now: u64) {
        let used = processor_time();
        let shared = Arc::clone(&self.shared);
        // A reader that panicked has damaged nothing.
        let counters = match shared.counters.try_lock() {
            Ok(counters) => Some(counters),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        self.are_shown = counters.is_some();
        if let Some(mut counters) = counters {
            self.show(used, &mut counters);
        }
        let used = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
        self.rest
            .count(now - self.published, used.saturating_sub(self.used));
        self.published = now;
        self.used = used;
    }

    fn show(&self, processor_time: Duration, counters: &mut ForwarderCounters) {
        let mut models = self.models.iter().map(LinkModel::counters);
        counters.models.clear();
        counters.models.extend(models.clone());
        counters.forth = models.next().unwrap_or_default();
        counters.back = models.next().unwrap_or_default();
        counters.lateness.copy_from(&self.lateness);
        counters.processor_time = processor_time;
        counters.is_real_time = self.is_real_time;
    }
}

/// Seeds of models: each direction has another one, or both would lose the same numbers of frames.
fn seed_of(seed: u64, model: usize) -> u64 {
    let seed = seed.wrapping_add(model as u64 / 2);
    if model.is_multiple_of(2) { seed } else { !seed }
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn timespec(nanos: u64) -> Timespec {
    Timespec::try_from(Duration::from_nanos(nanos)).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}
