//! The forwarder: a thread that moves frames between TAP devices.
//!
//! Devices are joined by cables. A link is a cable of two devices, with a model for each direction;
//! a hub is one of several devices that share one model. One thread serves all cables: several that
//! busy-wait would leave no processor to the programs of a laboratory.
//!
//! A frame is read, the [`LinkModel`](crate::LinkModel) decides when it leaves, a
//! [`TimerWheel`](crate::TimerWheel) keeps it, and it is written to the other device when it is
//! due. The thread sleeps until `busy_wait` before the next deadline, and busy-waits from then on,
//! reading arriving frames: a sleeping thread wakes up tens of microseconds late.

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

/// Settings of a forwarder.
#[derive(Debug, Clone)]
pub struct ForwarderSettings {
    /// Impairment of frames from the first device to the second.
    pub forth: Impairment,
    /// Impairment of frames from the second device to the first.
    pub back: Impairment,
    /// The same seed makes the same decisions for the same frames.
    pub seed: u64,
    /// Time before a deadline at which the thread stops sleeping and busy-waits. A longer time is
    /// more precise and uses more processor time, but busy-waiting never uses more than 5/6 of a
    /// processor: without rest, the kernel would stop a thread of real-time priority for 50 ms in
    /// every second.
    pub busy_wait: Duration,
    /// Requests real-time priority, which only root gets. Without it, other programs can keep the
    /// thread from its processor for milliseconds.
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
    /// One impairment for all devices, or one for the frames from each.
    pub(crate) impairments: Vec<Impairment>,
}

impl Cable {
    /// A link between two devices. `forth` is the impairment of frames from the first to the
    /// second.
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

/// Counters of a forwarder so far.
#[derive(Debug, Clone, Default)]
pub struct ForwarderCounters {
    /// By the models of all cables, in their order: both directions of a link, the medium of a hub.
    pub models: Vec<LinkCounters>,
    /// From the first device to the second, of the first cable.
    pub forth: LinkCounters,
    /// From the second device to the first, of the first cable.
    pub back: LinkCounters,
    /// Delay of departures after the planned moment, in both directions.
    pub lateness: DeliveryLateness,
    /// Processor time of the thread.
    pub processor_time: Duration,
    /// The thread has real-time priority.
    pub is_real_time: bool,
}

/// A running forwarder. It ends when it is dropped.
#[derive(Debug)]
pub struct Forwarder {
    shared: Arc<ForwarderState>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// State shared by the thread and its owner.
#[derive(Debug)]
struct ForwarderState {
    stop: StopSignal,
    counters: Mutex<ForwarderCounters>,
}

impl Forwarder {
    /// Begins to forward between two devices, by the impairments of the settings.
    pub fn start(
        first: Tap,
        second: Tap,
        settings: &ForwarderSettings,
    ) -> Result<Forwarder, LabError> {
        let cable = Cable::link(first, second, settings.forth.clone(), settings.back.clone());
        Forwarder::start_cables(vec![cable], settings)
    }

    /// Begins to forward by cables, each with its impairments; those of the settings are ignored.
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

    /// Counters until a millisecond ago.
    pub fn counters(&self) -> ForwarderCounters {
        let counters = self.shared.counters.lock();
        counters.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True if the thread has ended, because a device disappeared.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, with the frames that are inside. Returns the last counters.
    ///
    /// # Errors
    /// The thread had ended before, because a device disappeared.
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
        // `stop` returns this result to callers that need it.
        let _ = self.end();
    }
}

#[cfg(test)]
mod laboratory;
