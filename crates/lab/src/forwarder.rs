//! The forwarder: a thread that moves frames between TAP devices.
//!
//! Devices are joined by cables. A link is a cable of two devices, with a model for each direction; a hub
//! is one of several devices that share one model. One thread serves all cables: several that busy-wait
//! would leave no processor to the programs of a laboratory.
//!
//! It reads a frame, asks the [`LinkModel`](crate::LinkModel) when the frame leaves, keeps it on a
//! [`TimerWheel`](crate::TimerWheel), and writes it to the other device when it is due. It sleeps until `busy_wait` before the next deadline,
//! and busy-waits from then on, reading what arrives: a sleeping thread wakes up tens of
//! microseconds late.

mod ferry;
mod rest;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::counters::{DeliveryLateness, LinkCounters};
use crate::error::LabError;
use crate::impairment::Impairment;
use crate::stop_signal::StopSignal;
use crate::tap::Tap;
use ferry::Ferry;

/// What a forwarder does.
#[derive(Debug, Clone)]
pub struct ForwarderSettings {
    /// What happens to frames from the first device to the second.
    pub forth: Impairment,
    /// What happens to frames from the second device to the first.
    pub back: Impairment,
    /// The same seed makes the same decisions for the same frames.
    pub seed: u64,
    /// How long before a deadline the thread stops sleeping and busy-waits. More is more precise and
    /// takes more processor time, but busy-waiting never brings it above 5/6 of a processor: without rest, the
    /// kernel would stop a thread of real-time priority for 50 ms in every second.
    pub busy_wait: Duration,
    /// Whether to ask for real-time priority, which only root gets. Without it, other programs can
    /// keep the thread from its processor for milliseconds.
    pub asks_for_real_time: bool,
}

impl Default for ForwarderSettings {
    fn default() -> ForwarderSettings {
        ForwarderSettings {
            forth: Impairment::default(),
            back: Impairment::default(),
            seed: 1,
            busy_wait: Duration::from_micros(100),
            asks_for_real_time: true,
        }
    }
}

/// TAP devices that a forwarder joins.
#[derive(Debug)]
pub struct Cable {
    pub(crate) taps: Vec<Tap>,
    /// One for all devices, or one for the frames from each.
    pub(crate) impairments: Vec<Impairment>,
}

impl Cable {
    /// A link between two devices. `forth` is what happens to frames from the first to the second.
    pub fn link(first: Tap, second: Tap, forth: Impairment, back: Impairment) -> Cable {
        Cable {
            taps: vec![first, second],
            impairments: vec![forth, back],
        }
    }

    /// A hub: frames of all devices pass one model, and arrive at all other devices.
    pub fn hub(taps: Vec<Tap>, medium: Impairment) -> Cable {
        Cable {
            taps,
            impairments: vec![medium],
        }
    }
}

/// What a forwarder did so far.
#[derive(Debug, Clone, Default)]
pub struct ForwarderCounters {
    /// By the models of all cables, in their order: both directions of a link, the medium of a hub.
    pub models: Vec<LinkCounters>,
    /// From the first device to the second, of the first cable.
    pub forth: LinkCounters,
    /// From the second device to the first, of the first cable.
    pub back: LinkCounters,
    /// How much later than planned frames left, in both directions.
    pub lateness: DeliveryLateness,
    /// Processor time of the thread.
    pub processor_time: Duration,
    /// Whether the thread has real-time priority.
    pub is_real_time: bool,
}

/// A running forwarder. It ends when it is dropped.
#[derive(Debug)]
pub struct Forwarder {
    shared: Arc<ForwarderState>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// What the thread and its owner share.
#[derive(Debug)]
struct ForwarderState {
    stop: StopSignal,
    counters: Mutex<ForwarderCounters>,
}

impl Forwarder {
    /// Begins to forward between two devices, by the impairments of the settings.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or the thread cannot start.
    pub fn start(
        first: Tap,
        second: Tap,
        settings: &ForwarderSettings,
    ) -> Result<Forwarder, LabError> {
        let cable = Cable::link(first, second, settings.forth.clone(), settings.back.clone());
        Forwarder::start_cables(vec![cable], settings)
    }

    /// Begins to forward by cables, each with impairments of its own; those of the settings do not count.
    ///
    /// # Errors
    ///
    /// A setting is out of range, or the thread cannot start.
    pub fn start_cables(
        cables: Vec<Cable>,
        settings: &ForwarderSettings,
    ) -> Result<Forwarder, LabError> {
        let failed = LabError::system("start the forwarder");
        let shared = Arc::new(ForwarderState {
            stop: StopSignal::new().map_err(&failed)?,
            counters: Mutex::default(),
        });
        let ferry = Ferry::new(cables, settings, Arc::clone(&shared))?;
        let thread = thread::Builder::new()
            .name("forwarder".to_owned())
            .spawn(move || ferry.run())
            .map_err(failed)?;
        Ok(Forwarder {
            shared,
            thread: Some(thread),
        })
    }

    /// What it did until a millisecond ago.
    pub fn counters(&self) -> ForwarderCounters {
        let counters = self.shared.counters.lock();
        counters.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the thread has ended, because a device disappeared.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, with the frames that are inside. Returns all that it did.
    ///
    /// # Errors
    ///
    /// It had ended before, because a device disappeared.
    pub fn stop(mut self) -> Result<ForwarderCounters, LabError> {
        self.end()
            .map_err(LabError::system("forward between TAP devices"))?;
        Ok(self.counters())
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.stop.end(&mut self.thread)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        // Who wants to know why it ended calls `stop`.
        let _ = self.end();
    }
}

#[cfg(test)]
mod laboratory;
