mod queues;

use proptest::prelude::*;

use super::*;
use crate::impairment::{Bandwidth, Delay, LinkQueue};

const FRAME: [u8; 1000] = [0; 1000];
const MILLISECOND: u64 = 1_000_000;

fn model(impairment: &Impairment) -> LinkModel {
    LinkModel::new(impairment, 1).unwrap()
}

/// Departure of a frame that leaves.
fn departure(transit: Transit) -> Option<u64> {
    match transit {
        Transit::Leaves(passage, _) => Some(passage.at),
        Transit::Waits | Transit::Dropped => None,
    }
}

/// Offers frames of 1000 bytes at these times. Returns when each leaves.
fn departures(model: &mut LinkModel, times: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
    let offered = times.into_iter().map(|at| model.offer(at, &FRAME));
    offered.map(departure).collect()
}

fn rate(bits_per_second: u64, queue: LinkQueue) -> Impairment {
    Impairment {
        bandwidth: Some(Bandwidth {
            bits_per_second,
            overhead: 0,
            queue,
        }),
        ..Impairment::default()
    }
}

fn delay(jitter_ms: u64, may_reorder: bool) -> Impairment {
    Impairment {
        delay: Delay {
            base: Duration::from_millis(10),
            jitter: Duration::from_millis(jitter_ms),
            may_reorder,
        },
        ..Impairment::default()
    }
}

#[test]
fn a_plain_link_passes_frames_at_once() {
    let mut model = model(&Impairment::default());
    assert_eq!(departures(&mut model, [5, 6]), [Some(5), Some(6)]);
    model.leave(1, 1000, true);
    model.leave(2, 1000, false);
    assert_eq!(
        model.counters(),
        LinkCounters {
            frames: 2,
            bytes: 2000,
            delivered: 1,
            delivered_bytes: 1000,
            refused: 1,
            ..LinkCounters::default()
        }
    );
}

#[test]
fn frames_at_a_rate_follow_each_other_and_a_full_queue_drops() {
    // 8 Mbit/s: a frame takes a millisecond.
    let queues = [LinkQueue::Frames(2), LinkQueue::Bytes(2_999)];
    for queue in queues {
        let mut model = model(&rate(8_000_000, queue));
        // One is sent, two wait, one is dropped; half a millisecond later there is still no room;
        // when the second begins, there is for one.
        let times = [0, 0, 0, 0, MILLISECOND / 2, MILLISECOND, MILLISECOND];
        let leave = [Some(1), Some(2), Some(3), None, None, Some(4), None];
        let expected = leave.map(|at| at.map(|at: u64| at * MILLISECOND));
        assert_eq!(departures(&mut model, times), expected, "{queue:?}");
        // An idle link begins at once.
        assert_eq!(
            departures(&mut model, [100 * MILLISECOND]),
            [Some(101 * MILLISECOND)]
        );
        let counters = model.counters();
        assert_eq!(counters.dropped_by_queue, 3);
        assert_eq!(
            (counters.peak_queue_frames, counters.peak_queue_bytes),
            (2, 2000)
        );
    }
}

#[test]
fn rounding_to_nanoseconds_does_not_change_a_rate() {
    let mut model = model(&rate(999_999_937, LinkQueue::Frames(1_000_000)));
    let last = departures(&mut model, std::iter::repeat_n(0, 100_000))
        .pop()
        .flatten();
    let exact = 100_000.0 * 8_000.0 / 999_999_937.0 * 1e9;
    assert!(
        (last.unwrap() as f64 - exact).abs() <= 1.0,
        "{last:?} {exact}"
    );
}

#[test]
fn overhead_counts_for_every_frame() {
    let mut impairment = rate(8_000_000, LinkQueue::Frames(10));
    if let Some(bandwidth) = &mut impairment.bandwidth {
        bandwidth.overhead = 24;
    }
    assert_eq!(departures(&mut model(&impairment), [0]), [Some(1_024_000)]);
}

#[test]
fn jitter_is_uniform() {
    let mut model = model(&delay(3, true));
    let left = departures(&mut model, (0..50_000).map(|n| n * MILLISECOND));
    let delays: Vec<f64> = (0..)
        .zip(left)
        .map(|(n, left)| (left.unwrap() - n * MILLISECOND) as f64 / 1e6)
        .collect();
    let count = delays.len() as f64;
    let mean = delays.iter().sum::<f64>() / count;
    let squares = delays.iter().map(|delay| (delay - mean).powi(2));
    let deviation = (squares.sum::<f64>() / count).sqrt();
    let expected = 3.0 / 3_f64.sqrt();
    // Five standard errors.
    assert!(
        (mean - 10.0).abs() <= 5.0 * expected / count.sqrt(),
        "{mean}"
    );
    assert!((deviation / expected - 1.0).abs() <= 0.1, "{deviation}");
    assert!(delays.iter().all(|delay| (7.0..=13.0).contains(delay)));
}

#[test]
fn jitter_keeps_the_order_unless_it_may_reorder() {
    let times = || (0..1000).map(|n| n * 10_000);
    for may_reorder in [false, true] {
        let left = departures(&mut model(&delay(20, may_reorder)), times());
        assert_eq!(left.is_sorted(), !may_reorder);
        let early = left
            .iter()
            .zip(times())
            .any(|(left, arrived)| left.unwrap() < arrived);
        assert!(!early, "a frame leaves before it arrives");
    }
}

/// Shares of lost frames and of lost frames whose predecessor was lost.
fn losses(loss: f64, count: u64) -> (f64, f64) {
    let impairment = Impairment {
        loss,
        ..Impairment::default()
    };
    let mut model = LinkModel::new(&impairment, 3).unwrap();
    let lost: Vec<bool> = departures(&mut model, 0..count)
        .iter()
        .map(Option::is_none)
        .collect();
    let all = lost.iter().filter(|lost| **lost).count() as f64;
    let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
    assert_eq!(model.counters().lost as f64, all);
    (all / count as f64, pairs / all)
}

#[test]
fn losses_are_within_the_bounds_of_their_distribution() {
    const COUNT: u64 = 100_000;
    for probability in [0.01, 0.3] {
        let (share, after_loss) = losses(probability, COUNT);
        // Four standard deviations of a binomial distribution.
        let bound = |count: f64| 4.0 * (probability * (1.0 - probability) / count).sqrt();
        assert!((share - probability).abs() < bound(COUNT as f64), "{share}");
        let lost = COUNT as f64 * probability;
        assert!(
            (after_loss - probability).abs() < bound(lost),
            "{after_loss}"
        );
    }
    assert!(losses(1.0, 10).0 == 1.0);
}

#[test]
fn the_same_seed_loses_the_same_frames_whatever_else_the_link_does() {
    let lossy = Impairment {
        loss: 0.2,
        ..Impairment::default()
    };
    let more = Impairment {
        loss: lossy.loss,
        duplication: 0.5,
        ..delay(1, true)
    };
    let lost = |impairment: &Impairment, seed| -> Vec<bool> {
        let mut model = LinkModel::new(impairment, seed).unwrap();
        departures(&mut model, 0..1000)
            .iter()
            .map(Option::is_none)
            .collect()
    };
    assert_eq!(lost(&lossy, 5), lost(&more, 5));
    assert_ne!(lost(&lossy, 5), lost(&lossy, 6));
}

#[test]
fn frames_that_others_overtake_are_counted() {
    let mut model = model(&Impairment::default());
    departures(&mut model, [10, 20, 30, 40, 50]);
    for number in [1, 2, 4, 3, 5] {
        model.leave(number, FRAME.len(), true);
    }
    assert_eq!(model.counters().reordered, 1);
}

#[test]
fn copies_are_counted() {
    let impairment = Impairment {
        duplication: 1.0,
        ..Impairment::default()
    };
    let mut model = model(&impairment);
    for _ in 0..200 {
        let Transit::Leaves(passage, Some(copy)) = model.offer(0, &FRAME) else {
            panic!("a frame without copy");
        };
        assert_eq!(passage, copy);
    }
    assert_eq!(model.counters().duplicated, 200);
}

#[test]
fn a_frame_too_many_inside_the_link_is_dropped() {
    let frame = [0; 1 << 16];
    let mut model = model(&delay(0, false));
    let room = LinkModel::ROOM / frame.len();
    let offer = |model: &mut LinkModel| departure(model.offer(0, &frame)).is_some();
    let accepted = (0..room + 10).filter(|_| offer(&mut model)).count();
    // There must be room for a copy, too.
    assert_eq!(accepted, room - 1);
    assert_eq!(model.counters().dropped_by_memory, 11);
    model.leave(1, frame.len(), true);
    assert!(offer(&mut model));
}

proptest! {
    /// Without losses every frame leaves, after it arrived, and frames of a link at a rate take at
    /// least their time.
    #[test]
    fn a_rate_is_never_exceeded(
        gaps in prop::collection::vec(0_u64..3_000_000, 1..200),
        megabits in 1_u64..1000,
    ) {
        let mut model = model(&rate(megabits * 1_000_000, LinkQueue::Frames(1_000)));
        let times: Vec<u64> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
        let left = departures(&mut model, times.iter().copied());
        let time = 8_000_000 / megabits / 1000 * 1000;
        for (arrived, left) in times.iter().zip(&left) {
            prop_assert!(left.unwrap() >= arrived + time - time / 100);
        }
        for pair in left.windows(2) {
            prop_assert!(pair[1].unwrap() - pair[0].unwrap() + 1 >= 8_000_000 / megabits);
        }
    }
}
