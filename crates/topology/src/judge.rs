//! Whether a wire is as it is described.

use crate::plan::LabNetwork;
use crate::wire::PlannedWire;

/// Most that a rate may differ, as a part of it.
const RATE_TOLERANCE: f64 = 0.02;

/// Most that the least delay may differ, in ns, or as a share of the delay if that is more: on a wire on which each probe
/// takes long, few of them are made, and the least of few is longer.
const DELAY_TOLERANCE: f64 = 100_000.0;
const DELAY_SHARE: f64 = 0.001;

/// Standard deviations that a share of lost frames may differ: one wire in 16,000 is refused in error.
const LOSS_DEVIATIONS: f64 = 4.0;

/// Where fewer probes are expected to arrive, none may.
const FEW_ARRIVALS: f64 = 20.0;

/// What was measured of a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WireMeasurement {
    /// Bytes of a frame of the probes for delay and loss, from its Ethernet header on.
    pub probe_bytes: usize,
    /// Such frames that were sent.
    pub sent: u64,
    /// Such frames that arrived.
    pub received: u64,
    /// Least time from one end to the other, in ns; `None` where no probe arrived.
    pub least_delay: Option<f64>,
    /// Mean time from one end to the other, in ns.
    pub mean_delay: Option<f64>,
    /// Rate at which frames arrived while more was sent than the wire carries, with the overhead of each, in bit/s; `None`
    /// where too few arrived.
    pub rate: Option<f64>,
}

impl WireMeasurement {
    /// Share of frames that was lost.
    #[must_use]
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent.max(1) as f64
    }
}

/// One direction of a link of a network, what was measured of it, and whether it is as described.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedWire {
    /// Index of the link.
    pub link: usize,
    /// The end from which it leads: 0 or 1.
    pub from: usize,
    /// What was measured.
    pub measured: WireMeasurement,
    /// Whether it is as described.
    pub verdict: WireVerdict,
}

impl JudgedWire {
    /// Compares what was measured with what the network describes.
    #[must_use]
    pub fn new(network: &LabNetwork, link: usize, from: usize, measured: WireMeasurement) -> Self {
        let described = network.wire(&network.links[link], from);
        JudgedWire {
            link,
            from,
            measured,
            verdict: judge(&described, &measured),
        }
    }

    /// What the network describes.
    #[must_use]
    pub fn described(&self, network: &LabNetwork) -> PlannedWire {
        network.wire(&network.links[self.link], self.from)
    }

    /// Names of the nodes at its beginning and at its end.
    #[must_use]
    pub fn ends<'a>(&self, network: &'a LabNetwork) -> [&'a str; 2] {
        network.ends(&network.links[self.link], self.from)
    }
}

/// Whether a wire is as described, in each respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireVerdict {
    /// The rate is within 2 %; a wire without a rate has every rate. What cannot be measured because of the described loss
    /// is not judged.
    pub rate: bool,
    /// The least delay is within 0.1 ms, or 0.1 %, of the described delay and the time to send the frame; with jitter, it and the
    /// mean are within the jitter. As for the rate, it is not judged where nothing can arrive.
    pub delay: bool,
    /// The number of lost frames is within four standard deviations; a wire without loss loses none.
    pub loss: bool,
}

impl WireVerdict {
    /// Whether it is as described in all respects.
    #[must_use]
    pub fn is_as_described(self) -> bool {
        self.rate && self.delay && self.loss
    }
}

/// Compares what is described with what was measured.
#[must_use]
pub fn judge(described: &PlannedWire, measured: &WireMeasurement) -> WireVerdict {
    let nothing_may_arrive =
        described.loss > 0.0 && (1.0 - described.loss) * (measured.sent as f64) < FEW_ARRIVALS;
    let delays = measured.least_delay.zip(measured.mean_delay);
    WireVerdict {
        rate: described.rate.is_none_or(|rate| {
            let rate = rate as f64;
            measured.rate.map_or(nothing_may_arrive, |measured| {
                (measured - rate).abs() <= RATE_TOLERANCE * rate
            })
        }),
        delay: delays.map_or(nothing_may_arrive, |delays| {
            is_delayed_so(described, measured.probe_bytes, delays)
        }),
        loss: is_lost_so(described.loss, measured),
    }
}

/// Delay of a probe that waits for nothing, in ns.
pub(crate) fn expected_delay(described: &PlannedWire, probe_bytes: usize) -> f64 {
    (described.delay + described.sending_time(probe_bytes)) as f64
}

fn is_delayed_so(described: &PlannedWire, probe_bytes: usize, (least, mean): (f64, f64)) -> bool {
    let expected = expected_delay(described, probe_bytes);
    let jitter = described.jitter as f64;
    let within = |delay: f64, less: f64, more: f64| {
        let tolerance = DELAY_TOLERANCE.max(DELAY_SHARE * expected);
        delay >= expected - less - tolerance && delay <= expected + more + tolerance
    };
    if described.jitter == 0 {
        return within(least, 0.0, 0.0);
    }
    // The mean of a uniform variable; frames that do not overtake arrive later than that.
    within(least, jitter, 0.0) && within(mean, jitter / 2.0, jitter)
}

fn is_lost_so(loss: f64, measured: &WireMeasurement) -> bool {
    let (sent, received) = (measured.sent as f64, measured.received as f64);
    if loss <= 0.0 {
        return measured.sent == measured.received;
    }
    let deviation = (loss * (1.0 - loss) * sent).sqrt();
    (sent - received - loss * sent).abs() <= LOSS_DEVIATIONS * deviation + 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right() -> (PlannedWire, WireMeasurement) {
        let described = PlannedWire {
            rate: Some(10_000_000),
            overhead: 24,
            delay: 50_000_000,
            loss: 0.01,
            ..PlannedWire::default()
        };
        // 84 bytes at 10 Mbit/s take 67.2 us.
        let measured = WireMeasurement {
            probe_bytes: 60,
            sent: 10_000,
            received: 9_900,
            least_delay: Some(50_070_000.0),
            mean_delay: Some(50_100_000.0),
            rate: Some(10_050_000.0),
        };
        (described, measured)
    }

    #[test]
    fn a_wire_as_described_passes_and_each_difference_is_found() {
        let (described, measured) = right();
        let verdict = judge(&described, &measured);
        assert!(verdict.is_as_described(), "{verdict:?}");
        type Change = fn(&mut WireMeasurement);
        let table: [(Change, WireVerdict); 7] = [
            (
                |own| own.rate = Some(10_250_000.0),
                WireVerdict {
                    rate: false,
                    ..verdict
                },
            ),
            (
                |own| own.rate = Some(9_790_000.0),
                WireVerdict {
                    rate: false,
                    ..verdict
                },
            ),
            (
                |own| own.least_delay = Some(50_180_000.0),
                WireVerdict {
                    delay: false,
                    ..verdict
                },
            ),
            (
                |own| own.least_delay = Some(49_950_000.0),
                WireVerdict {
                    delay: false,
                    ..verdict
                },
            ),
            (
                |own| own.received = 9_960,
                WireVerdict {
                    loss: false,
                    ..verdict
                },
            ),
            (
                |own| own.received = 9_840,
                WireVerdict {
                    loss: false,
                    ..verdict
                },
            ),
            (
                |own| (own.received, own.least_delay) = (0, None),
                WireVerdict {
                    delay: false,
                    loss: false,
                    ..verdict
                },
            ),
        ];
        for (change, expected) in table {
            let mut changed = measured;
            change(&mut changed);
            assert_eq!(judge(&described, &changed), expected, "{changed:?}");
        }
    }

    #[test]
    fn a_wire_without_loss_loses_nothing_and_one_without_rate_has_any() {
        let described = PlannedWire::default();
        let measured = WireMeasurement {
            probe_bytes: 60,
            sent: 100,
            received: 100,
            least_delay: Some(20_000.0),
            mean_delay: Some(30_000.0),
            rate: Some(5e9),
        };
        assert!(judge(&described, &measured).is_as_described());
        let lossy = WireMeasurement {
            received: 99,
            ..measured
        };
        assert!(!judge(&described, &lossy).loss);
        let slow = WireMeasurement {
            least_delay: Some(200_000.0),
            ..measured
        };
        assert!(!judge(&described, &slow).delay);
    }

    #[test]
    fn what_cannot_arrive_is_not_judged() {
        let (described, measured) = right();
        let none = WireMeasurement {
            received: 0,
            least_delay: None,
            mean_delay: None,
            rate: None,
            ..measured
        };
        let whole = PlannedWire {
            loss: 1.0,
            ..described
        };
        assert!(judge(&whole, &none).is_as_described());
        let verdict = judge(&described, &none);
        assert!(
            !verdict.rate && !verdict.delay && !verdict.loss,
            "{verdict:?}"
        );
    }

    #[test]
    fn with_jitter_the_mean_counts() {
        let described = PlannedWire {
            delay: 20_000_000,
            jitter: 5_000_000,
            ..PlannedWire::default()
        };
        let measured = WireMeasurement {
            probe_bytes: 60,
            sent: 100,
            received: 100,
            least_delay: Some(15_200_000.0),
            mean_delay: Some(20_500_000.0),
            rate: None,
        };
        assert!(judge(&described, &measured).is_as_described());
        let constant = WireMeasurement {
            mean_delay: Some(15_300_000.0),
            ..measured
        };
        assert!(!judge(&described, &constant).delay);
    }
}
