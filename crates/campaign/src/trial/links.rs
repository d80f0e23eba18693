//! Counters of the links of a laboratory in a trial.

use std::time::Instant;

use lab::{BuiltLab, LinkCounters};

use super::{TrialFailure, TrialOutcome};
use runner::laboratory::LATE;

/// Utilisation from which a link counts as congested, even if senders keep its queue short.
const BUSY: f64 = 0.9;

/// Counters before background began.
pub(super) struct TrialLinks {
    begun: Instant,
    /// By link, and the end from which frames come.
    counters: Vec<[LinkCounters; 2]>,
    /// Frames dropped at devices before: some are while devices come up.
    dropped_at_devices: u64,
}

impl TrialLinks {
    pub(super) fn begin(lab: &BuiltLab) -> Result<TrialLinks, TrialFailure> {
        let links = 0..lab.network().links.len();
        let counters = links.map(|link| [0, 1].map(|from| counters_of(lab, link, from)));
        Ok(TrialLinks {
            begun: Instant::now(),
            counters: counters.collect(),
            dropped_at_devices: lab.dropped_at_devices()?,
        })
    }

    /// Figures of links with a rate. Returns true if a queue was full once, or a link busy nearly
    /// all the time, so that less may have arrived than was sent.
    pub(super) fn figures(
        &self,
        lab: &BuiltLab,
        result: &mut TrialOutcome,
    ) -> Result<bool, TrialFailure> {
        let took = self.begun.elapsed().as_secs_f64();
        let network = lab.network();
        let mut is_congested = false;
        for ((number, link), before) in network.links.iter().enumerate().zip(&self.counters) {
            for from in [0, 1] {
                let (before, now) = (&before[from], counters_of(lab, number, from));
                let wire = network.wire(link, from);
                let dropped = now.dropped_by_queue.saturating_sub(before.dropped_by_queue);
                is_congested |= dropped > 0;
                let Some(most) = wire.rate else {
                    continue;
                };
                let name = format!("link.{}", network.ends(link, from).join("-"));
                let frames = now.delivered.saturating_sub(before.delivered);
                let bytes = now.delivered_bytes.saturating_sub(before.delivered_bytes);
                let bytes = bytes + frames * u64::from(wire.overhead);
                let rate = bytes as f64 * 8.0 / took;
                is_congested |= rate > BUSY * most as f64;
                result.figure(format!("{name}.rate"), rate);
                let arrived = now.frames.saturating_sub(before.frames);
                if arrived > 0 {
                    result.figure(format!("{name}.dropped"), dropped as f64 / arrived as f64);
                }
            }
        }
        if lab.dropped_at_devices()? > self.dropped_at_devices {
            result
                .warn("frames were dropped at devices, which no queue of the laboratory explains");
        }
        if let Some(counters) = lab.forwarder_counters()
            && counters.lateness.quantile(0.99) > LATE
        {
            result.warn(
                "1 % of the packets on shaped links were passed on more than 1 ms late, because other programs \
                 used the processors",
            );
        }
        Ok(is_congested)
    }
}

fn counters_of(lab: &BuiltLab, link: usize, from: usize) -> LinkCounters {
    // Links of the kernel have no counters.
    lab.link_counters(link, from).unwrap_or_default()
}
