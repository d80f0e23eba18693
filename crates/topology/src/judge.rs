//! Verdicts on wires: measured and described properties.

use crate::plan::LabNetwork;
use crate::wire::PlannedWire;

/// Largest relative difference of a rate.
const RATE_TOLERANCE: f64 = 0.02;

/// Largest difference of the least delay in ns, or as a share of the delay if that is more: on a
/// wire with a long delay per probe, there are few probes, and the least of few is longer.
const DELAY_TOLERANCE: f64 = 100_000.0;
const DELAY_SHARE: f64 = 0.001;

/// Largest difference of a number of lost frames in standard deviations, beside one frame: one in
/// some thousands of correct wires is refused.
const LOSS_DEVIATIONS: f64 = 4.0;

/// Largest relative effect of random loss for a rate that can be judged as correct.
const MOST_BY_CHANCE: f64 = 0.1;

/// Multiple of that effect beyond which the rate is wrong nevertheless: with few frames, losses are
/// not normally distributed, and up to one correct wire in 150 exceeds four standard deviations.
const FAR_BY_CHANCE: f64 = 2.0;

/// Expected number of arriving probes below which none may arrive.
const FEW_ARRIVALS: f64 = 20.0;

/// Measurement of a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WireMeasurement {
    /// Bytes of a probe for delay and loss, including its Ethernet header.
    pub probe_bytes: usize,
    /// Sent probes.
    pub sent: u64,
    /// Received probes.
    pub received: u64,
    /// Least time from one end to the other, in ns; `None` if no probe arrived.
    pub least_delay: Option<f64>,
    /// Mean time from one end to the other, in ns.
    pub mean_delay: Option<f64>,
    /// Rate at which frames arrived while more was sent than the wire carries, including overhead,
    /// in bit/s; `None` if too few arrived.
    pub rate: Option<f64>,
    /// Number of frames by which the rate is measured.
    pub rated: u64,
}

impl WireMeasurement {
    /// Share of lost frames.
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent.max(1) as f64
    }
}

/// One direction of a link of a network, its measurement, and the verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedWire {
    /// Index of the link.
    pub link: usize,
    /// Sending end: 0 or 1.
    pub from: usize,
    /// Measurement.
    pub measured: WireMeasurement,
    /// Verdict.
    pub verdict: WireVerdict,
}

impl JudgedWire {
    /// Compares a measurement with the description of the network.
    pub fn new(network: &LabNetwork, link: usize, from: usize, measured: WireMeasurement) -> Self {
        let described = network.wire(&network.links[link], from);
        JudgedWire {
            link,
            from,
            measured,
            verdict: judge(&described, &measured),
        }
    }

    /// Description in the network.
    pub fn described(&self, network: &LabNetwork) -> PlannedWire {
        network.wire(&network.links[self.link], self.from)
    }

    /// Names of the nodes at the sending and at the receiving end.
    pub fn ends<'a>(&self, network: &'a LabNetwork) -> [&'a str; 2] {
        network.ends(&network.links[self.link], self.from)
    }
}

/// Verdict on a wire in each respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireVerdict {
    /// The rate is within 2 %, plus the random effect of the described loss; a wire without a rate
    /// may have any. If that effect may exceed 10 %, because too few frames arrived, `None`, unless
    /// the rate differs by more than twice as much.
    pub rate: Option<bool>,
    /// The least delay is within 0.1 ms, or 0.1 %, of the described delay and the time to send the
    /// frame; with jitter, it and the mean are within the jitter. `None` if nothing arrived, which
    /// the described loss allows.
    pub delay: Option<bool>,
    /// The number of lost frames is within four standard deviations; without loss it is zero.
    pub loss: bool,
}

impl WireVerdict {
    /// As described in all respects that can be judged.
    pub fn is_as_described(self) -> bool {
        self.rate != Some(false) && self.delay != Some(false) && self.loss
    }
}

/// Compares a description with a measurement.
pub fn judge(described: &PlannedWire, measured: &WireMeasurement) -> WireVerdict {
    let nothing_may_arrive =
        described.loss > 0.0 && (1.0 - described.loss) * (measured.sent as f64) < FEW_ARRIVALS;
    let delays = measured.least_delay.zip(measured.mean_delay);
    WireVerdict {
        rate: described.rate.map_or(Some(true), |rate| {
            is_so_fast(rate as f64, described.loss, measured)
        }),
        delay: match delays {
            None if nothing_may_arrive => None,
            None => Some(false),
            Some(delays) => Some(is_delayed_so(described, measured.probe_bytes, delays)),
        },
        loss: is_lost_so(described.loss, measured),
    }
}

/// Verdict on a rate; `None` if too few frames arrived.
fn is_so_fast(rate: f64, loss: f64, measured: &WireMeasurement) -> Option<bool> {
    let by_chance = changed_by_chance(loss, measured.rated);
    // A lost frame changes the time between arrivals, of which the rate is the reciprocal.
    let time = measured.rate.map(|measured| rate / measured);
    let differs = time.map(|time| (time - 1.0).abs());
    if by_chance > MOST_BY_CHANCE {
        let is_far = differs.is_some_and(|by| by > RATE_TOLERANCE + FAR_BY_CHANCE * by_chance);
        return is_far.then_some(false);
    }
    Some(differs.is_some_and(|by| by <= RATE_TOLERANCE + by_chance))
}

/// Largest relative effect of random loss on the mean time between arrivals. The number of losses
/// before the next arrival is geometric; for many arrivals, the standard deviation of the mean is
/// the root of the share of lost frames by their number.
fn changed_by_chance(loss: f64, arrived: u64) -> f64 {
    if loss <= 0.0 {
        return 0.0;
    }
    let gaps = arrived.saturating_sub(1).max(1) as f64;
    LOSS_DEVIATIONS * (loss / gaps).sqrt() + (1.0 - loss) / gaps
}

/// Delay of a probe without waiting, in ns.
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
    // The mean of a uniform variable; frames that do not overtake arrive later.
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
            rated: 1000,
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
                |measured| measured.rate = Some(10_400_000.0),
                WireVerdict {
                    rate: Some(false),
                    ..verdict
                },
            ),
            (
                |measured| measured.rate = Some(9_600_000.0),
                WireVerdict {
                    rate: Some(false),
                    ..verdict
                },
            ),
            (
                |measured| measured.least_delay = Some(50_180_000.0),
                WireVerdict {
                    delay: Some(false),
                    ..verdict
                },
            ),
            (
                |measured| measured.least_delay = Some(49_950_000.0),
                WireVerdict {
                    delay: Some(false),
                    ..verdict
                },
            ),
            (
                |measured| measured.received = 9_960,
                WireVerdict {
                    loss: false,
                    ..verdict
                },
            ),
            (
                |measured| measured.received = 9_840,
                WireVerdict {
                    loss: false,
                    ..verdict
                },
            ),
            (
                |measured| (measured.received, measured.least_delay) = (0, None),
                WireVerdict {
                    delay: Some(false),
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
            rated: 900,
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
        assert_eq!(judge(&described, &slow).delay, Some(false));
    }

    #[test]
    fn what_cannot_arrive_is_not_judged() {
        let (described, measured) = right();
        let none = WireMeasurement {
            received: 0,
            least_delay: None,
            mean_delay: None,
            rate: None,
            rated: 0,
            ..measured
        };
        let whole = PlannedWire {
            loss: 1.0,
            ..described
        };
        let nothing = WireVerdict {
            rate: None,
            delay: None,
            loss: true,
        };
        assert_eq!(judge(&whole, &none), nothing);
        assert!(nothing.is_as_described());
        let wrong = WireVerdict {
            rate: None,
            delay: Some(false),
            loss: false,
        };
        assert_eq!(judge(&described, &none), wrong);
        let lossless = PlannedWire {
            loss: 0.0,
            ..described
        };
        assert_eq!(judge(&lossless, &none).rate, Some(false));
    }

    /// Verdict on the rate of a wire of 10 Mbit/s, being `part` of that after `rated` frames.
    fn found(part: f64, loss: f64, rated: u64, random: &mut impl FnMut() -> f64) -> Option<bool> {
        // Frames sent for each that arrived after the first.
        let sent = |random: &mut dyn FnMut() -> f64| (random().ln() / loss.ln()).floor() + 1.0;
        let all: f64 = (1..rated).map(|_| sent(random)).sum();
        let described = PlannedWire {
            rate: Some(10_000_000),
            loss,
            ..PlannedWire::default()
        };
        let gap = all / (rated - 1) as f64;
        let measured = WireMeasurement {
            rate: Some(part * 1e7 / gap / (1.0 - loss)),
            rated,
            ..right().1
        };
        judge(&described, &measured).rate
    }

    #[test]
    fn a_rate_is_judged_where_chance_does_not_decide() {
        let mut state = 1_u64;
        let mut random = || {
            // Knuth's MMIX generator, whose upper bits are good.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut refused = 0;
        // The fewest frames by which each can be judged.
        for (loss, rated) in [(0.001, 16), (0.02, 53), (0.1, 182), (0.5, 830)] {
            assert_eq!(found(1.0, loss, rated / 2, &mut random), None, "{loss}");
            for _ in 0..10_000 {
                let right = found(1.0, loss, rated, &mut random);
                assert_ne!(right, None, "{loss}");
                refused += u64::from(right == Some(false));
            }
            for part in [0.5, 2.0] {
                let wrong = found(part, loss, rated, &mut random);
                assert_eq!(wrong, Some(false), "{loss} {part}");
            }
        }
        assert!(refused <= 8, "{refused} of 40,000");
        // Too few to judge the rate as correct, but enough to judge it as wrong.
        for _ in 0..1000 {
            assert_eq!(found(1.0, 0.2, 216, &mut random), None);
            for part in [0.2, 0.5, 5.0] {
                assert_eq!(found(part, 0.2, 216, &mut random), Some(false), "{part}");
            }
        }
        // Of 5,000 frames, 25 arrive.
        for _ in 0..1000 {
            assert_eq!(found(1.0, 0.995, 25, &mut random), None);
        }
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
            rated: 0,
        };
        assert!(judge(&described, &measured).is_as_described());
        let constant = WireMeasurement {
            mean_delay: Some(15_300_000.0),
            ..measured
        };
        assert_eq!(judge(&described, &constant).delay, Some(false));
    }
}
