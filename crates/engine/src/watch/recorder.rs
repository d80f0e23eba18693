//! Transport of samples from the worker threads to the [`Sink`] that keeps them.
//!
//! ```text
//! worker: record, record, ... --full or 100 ms old--> collector --> Sink: disk, statistics, live view
//!            ^---------------------------------- empty again -----'
//! ```
//!
//! Workers only copy a sample into allocated memory. Everything else happens on the collector's
//! thread, and a [`Sink`] that is too slow for the run blocks the workers instead of filling the
//! memory; the heartbeat of the workers then shows it.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use record::{Nanos, Sample};

/// Samples per chunk.
const CHUNK: usize = 2048;
/// Full chunks that may wait for the collector, for each worker.
const QUEUED: usize = 16;
/// Longest time between calls of the sink, so that its samples reach the disk in time.
const IDLE: Duration = Duration::from_secs(1);

/// Receives samples as they are measured.
pub trait Sink: Send {
    /// Samples, roughly in the order in which their operations ended, and the window in which those
    /// of a load run count, as far as it is known: when all users were active, and when the first
    /// of them stopped. [`ControlFlow::Break`] means that enough is known and the run may end.
    /// Called at least once a second, if necessary without samples.
    fn take(&mut self, samples: &[Sample], window: KnownWindow) -> ControlFlow<()>;

    /// All samples were taken. The run continues with cleaning up, during which it may still be
    /// killed.
    fn measured(&mut self) {}
}

/// The window of a load run, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownWindow {
    /// All users are active from this moment on.
    pub begun: Option<Nanos>,
    /// From this moment on they are not.
    pub ended: Option<Nanos>,
}

struct Chunk {
    worker: usize,
    samples: Vec<Sample>,
}

/// The worker's end: it is used from one thread only.
pub(crate) struct Recorder {
    worker: usize,
    chunk: RefCell<Vec<Sample>>,
    full: SyncSender<Chunk>,
    empty: Receiver<Vec<Sample>>,
}

/// The collector's end.
pub(crate) struct Collector {
    full: Receiver<Chunk>,
    empty: Vec<Sender<Vec<Sample>>>,
}

/// A recorder for each worker, and the collector of them all.
pub(crate) fn recorders(workers: usize) -> (Vec<Recorder>, Collector) {
    let (full, incoming) = sync_channel(QUEUED * workers);
    let mut back = Vec::new();
    let recorders = (0..workers)
        .map(|worker| {
            let (give, empty) = channel();
            back.push(give);
            Recorder {
                worker,
                chunk: RefCell::new(Vec::with_capacity(CHUNK)),
                full: full.clone(),
                empty,
            }
        })
        .collect();
    let collector = Collector {
        full: incoming,
        empty: back,
    };
    (recorders, collector)
}

impl Recorder {
    pub(crate) fn record(&self, sample: Sample) {
        let mut chunk = self.chunk.borrow_mut();
        chunk.push(sample);
        if chunk.len() == CHUNK {
            drop(chunk);
            self.flush();
        }
    }

    /// Passes on the current chunk.
    pub(crate) fn flush(&self) {
        if self.chunk.borrow().is_empty() {
            return;
        }
        let empty = self.empty.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(CHUNK));
        let samples = self.chunk.replace(empty);
        // Fails only after the collector has stopped and reported the reason.
        let _ = self.full.send(Chunk {
            worker: self.worker,
            samples,
        });
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Collector {
    /// Passes samples on until the last recorder is dropped; calls `enough` when the sink has
    /// enough.
    pub(crate) fn run(
        self,
        sink: &mut dyn Sink,
        window: impl Fn() -> KnownWindow,
        enough: impl Fn(),
    ) {
        loop {
            let chunk = match self.full.recv_timeout(IDLE) {
                Ok(chunk) => Some(chunk),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let samples = chunk.as_ref().map_or(&[][..], |chunk| &chunk.samples);
            // Recorded operations ended before this: a window that is not known yet began later.
            if sink.take(samples, window()).is_break() {
                enough();
            }
            if let Some(mut chunk) = chunk {
                chunk.samples.clear();
                // Fails if the worker has ended: it needs no more chunks.
                let _ = self.empty[chunk.worker].send(chunk.samples);
            }
        }
        sink.measured();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64) -> Sample {
        Sample {
            number,
            ..Sample::blank()
        }
    }

    impl Sink for Vec<Sample> {
        fn take(&mut self, samples: &[Sample], _: KnownWindow) -> ControlFlow<()> {
            self.extend_from_slice(samples);
            ControlFlow::Continue(())
        }
    }

    #[test]
    fn every_sample_arrives_in_the_order_of_its_worker() {
        let (recorders, collector) = recorders(2);
        let mut kept: Vec<Sample> = Vec::new();
        std::thread::scope(|scope| {
            for (worker, recorder) in recorders.into_iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..10_000 {
                        recorder.record(Sample {
                            user: worker as u32,
                            ..sample(number)
                        });
                        if number % 777 == 0 {
                            recorder.flush();
                        }
                    }
                });
            }
            collector.run(&mut kept, KnownWindow::default, || {
                panic!("the sink never has enough")
            });
        });
        for worker in 0..2 {
            let numbers = kept.iter().filter(|sample| sample.user == worker);
            assert!(numbers.map(|sample| sample.number).eq(0..10_000));
        }
    }

    #[test]
    fn a_sink_can_have_enough() {
        struct Enough;
        impl Sink for Enough {
            fn take(&mut self, _: &[Sample], _: KnownWindow) -> ControlFlow<()> {
                ControlFlow::Break(())
            }
        }
        let (recorders, collector) = recorders(1);
        recorders[0].record(sample(1));
        drop(recorders);
        let calls = std::cell::Cell::new(0);
        collector.run(&mut Enough, KnownWindow::default, || {
            calls.set(calls.get() + 1)
        });
        assert_eq!(calls.get(), 1);
    }
}
