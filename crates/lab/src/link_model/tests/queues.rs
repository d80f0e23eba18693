//! Managed queues in simulated time, compared with their RFCs.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::{MILLISECOND, departure, model, rate};
use crate::impairment::{CodelSettings, FqCodelSettings, Impairment, LinkQueue};
use crate::link_model::flow_key::FlowKey;
use crate::link_model::{LinkModel, Transit};

/// A frame of 1000 bytes takes a millisecond.
const RATE: u64 = 8_000_000;

const CODEL: CodelSettings = CodelSettings {
    frames: 10_000,
    target: 5 * MILLISECOND,
    interval: 100 * MILLISECOND,
};

const FQ_CODEL: FqCodelSettings = FqCodelSettings {
    codel: CODEL,
    flows: 1024,
    quantum: 1514,
};

/// A frame of a flow of UDP.
fn frame(flow: u16, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length.max(42)];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14] = 0x45;
    frame[23] = 17;
    frame[34..36].copy_from_slice(&flow.to_be_bytes());
    frame
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    flow: u16,
    length: usize,
    arrived: u64,
    left: u64,
}

impl Sent {
    /// When its first bit was sent.
    fn start(&self) -> u64 {
        self.left - self.length as u64 * 1000
    }

    fn waited(&self) -> u64 {
        self.start() - self.arrived
    }
}

/// A link in simulated time.
struct World {
    model: LinkModel,
    /// By number, from 1.
    arrivals: Vec<u64>,
    sent: Vec<Sent>,
    /// When frames were dropped that had waited too long.
    drops: Vec<u64>,
}

impl World {
    fn new(queue: LinkQueue) -> World {
        World {
            model: model(&rate(RATE, queue)),
            arrivals: Vec::new(),
            sent: Vec::new(),
            drops: Vec::new(),
        }
    }

    /// Lets the sender work until a time.
    fn run(&mut self, until: u64) {
        while let Some(at) = self.model.next_sending().filter(|at| *at <= until) {
            let before = self.model.counters().dropped_by_delay;
            let sent = self.model.send_next(at);
            let dropped = self.model.counters().dropped_by_delay - before;
            self.drops.extend((0..dropped).map(|_| at));
            if let Some(sent) = sent {
                let number = sent.passage.number;
                self.sent.push(Sent {
                    number,
                    flow: u16::from_be_bytes([sent.frame[34], sent.frame[35]]),
                    length: sent.frame.len(),
                    arrived: self.arrivals[number as usize - 1],
                    left: sent.passage.at,
                });
            }
        }
    }

    fn offer(&mut self, at: u64, flow: u16, length: usize) -> Transit {
        self.run(at);
        self.arrivals.push(at);
        self.model.offer(at, &frame(flow, length))
    }

    fn end(&mut self) {
        self.run(u64::MAX);
    }

    fn sent_by(&self, flow: u16) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.flow == flow)
    }
}

#[test]
fn drops_of_codel_follow_its_control_law() {
    let mut world = World::new(LinkQueue::Codel(CODEL));
    // Twice the rate, without a response to losses.
    for number in 0..4000 {
        world.offer(number * MILLISECOND / 2, 1, 1000);
    }
    let above = world.sent.iter().find(|sent| sent.waited() >= CODEL.target);
    let mut next = above.unwrap().start() + CODEL.interval;
    assert!(world.drops.len() > 50, "{}", world.drops.len());
    for (count, at) in (1_u32..).zip(&world.drops) {
        // Frames are taken each millisecond.
        assert!(
            (next..next + MILLISECOND).contains(at),
            "drop {count} at {at}, not {next}"
        );
        let step = CODEL.interval as f64 / f64::from(count).sqrt();
        // The first of them counts from its actual time, the others from when they were due.
        next = if count == 1 { *at } else { next } + step as u64;
    }
    assert_eq!(world.model.counters().dropped_by_queue, 0);
}

/// A source with a window of 60 frames over a round trip of 20 ms, which has one less for each
/// drop. Returns the shortest wait in each of ten seconds, in ms, and the number of frames that
/// were sent; 10000 are possible.
fn shortest_waits(queue: LinkQueue) -> (Vec<u64>, usize) {
    let mut world = World::new(queue);
    let mut arrivals = VecDeque::from(vec![0; 60]);
    let mut seen = 0;
    loop {
        let next = arrivals.front().copied().unwrap_or(u64::MAX);
        let sending = world.model.next_sending().unwrap_or(u64::MAX);
        if next.min(sending) > 10_000 * MILLISECOND {
            break;
        }
        if next <= sending {
            arrivals.pop_front();
            world.offer(next, 1, 1000);
        } else {
            world.run(sending);
        }
        let sent = world.sent[seen..].iter();
        arrivals.extend(sent.map(|sent| sent.left + 20 * MILLISECOND));
        seen = world.sent.len();
    }
    let second = |number: u64| {
        let sent_in_second = world.sent.iter();
        let sent_in_second =
            sent_in_second.filter(|sent| sent.arrived / (1000 * MILLISECOND) == number);
        sent_in_second
            .map(|sent| sent.waited() / MILLISECOND)
            .min()
            .unwrap()
    };
    ((0..10).map(second).collect(), world.sent.len())
}

#[test]
fn codel_removes_a_standing_queue_and_leaves_the_link_busy() {
    let (managed, busy) = shortest_waits(LinkQueue::Codel(CODEL));
    assert!(managed[2..].iter().all(|wait| *wait <= 5), "{managed:?}");
    assert!(busy >= 9_900, "{busy}");
    // Without it, the queue never empties.
    let other = CodelSettings {
        target: 1000 * MILLISECOND,
        interval: 1000 * MILLISECOND,
        ..CODEL
    };
    let (standing, _) = shortest_waits(LinkQueue::Codel(other));
    assert!(standing[1..].iter().all(|wait| *wait >= 38), "{standing:?}");
}

#[test]
fn codel_lets_a_burst_pass_that_is_gone_within_its_interval() {
    for (burst, is_dropped) in [(100, false), (200, true)] {
        let mut world = World::new(LinkQueue::Codel(CODEL));
        for _ in 0..burst {
            world.offer(0, 1, 1000);
        }
        world.end();
        assert_eq!(
            !world.drops.is_empty(),
            is_dropped,
            "{burst}: {:?}",
            world.drops
        );
    }
}

#[test]
fn a_full_queue_of_codel_drops_what_arrives() {
    let settings = CodelSettings { frames: 3, ..CODEL };
    let mut world = World::new(LinkQueue::Codel(settings));
    let offered: Vec<Transit> = (0..5).map(|_| world.offer(0, 1, 1000)).collect();
    // One is being sent.
    assert!(
        offered[..4]
            .iter()
            .all(|transit| *transit == Transit::Waits),
        "{offered:?}"
    );
    assert_eq!(departure(offered[4]), None);
    world.end();
    let lefts: Vec<u64> = world
        .sent
        .iter()
        .map(|sent| sent.left / MILLISECOND)
        .collect();
    assert_eq!(lefts, [1, 2, 3, 4]);
    assert_eq!(world.model.counters().dropped_by_queue, 1);
    assert_eq!(world.model.counters().peak_queue_frames, 3);
}

#[test]
fn a_flow_of_few_frames_does_not_wait_for_one_that_fills_the_link() {
    // The longest wait of the few, in ms, behind one queue and with one for each flow.
    let longest = |queue: LinkQueue| {
        let mut world = World::new(queue);
        for number in 0..4000 {
            let now = number * MILLISECOND / 2;
            world.offer(now, 1, 1000);
            if number % 100 == 50 {
                world.offer(now, 2, 100);
            }
        }
        let few = world.sent_by(2).count();
        let waits = world.sent_by(2).map(|sent| sent.waited() / MILLISECOND);
        (waits.max().unwrap(), few)
    };
    // The frame that is being sent, and the rest of a turn.
    let (wait, few) = longest(LinkQueue::FqCodel(FQ_CODEL));
    assert!(wait <= 2 && few >= 39, "{wait} ms, {few}");
    let (wait, _) = longest(LinkQueue::Codel(CODEL));
    assert!(wait > 100, "{wait} ms");
}

#[test]
fn flows_that_want_more_have_equal_shares_of_bytes() {
    let mut world = World::new(LinkQueue::FqCodel(FQ_CODEL));
    for number in 0..4000 {
        let now = number * MILLISECOND;
        world.offer(now, 1, 1000);
        for _ in 0..4 {
            world.offer(now, 2, 500);
        }
    }
    let bytes = |flow| world.sent_by(flow).map(|sent| sent.length).sum::<usize>() as f64;
    let ratio = bytes(1) / bytes(2);
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
}

#[test]
fn too_many_frames_cost_the_longest_queue_its_head() {
    let settings = FqCodelSettings {
        codel: CodelSettings {
            frames: 100,
            ..CODEL
        },
        ..FQ_CODEL
    };
    let mut world = World::new(LinkQueue::FqCodel(settings));
    for _ in 0..5 {
        world.offer(0, 2, 1000);
    }
    for _ in 0..150 {
        world.offer(0, 1, 1000);
    }
    let counters = world.model.counters();
    // One of flow 2 is being sent, and four wait: with 97 of flow 1 they are too many, and 49 of
    // those are dropped. That happens again 49 frames later, with 97 again.
    assert_eq!(
        (counters.dropped_by_queue, counters.peak_queue_frames),
        (98, 100)
    );
    world.end();
    assert_eq!(world.sent_by(2).count(), 5);
    let first = world.sent_by(1).next().unwrap();
    assert_eq!(first.number, 5 + 98 + 1);
}

#[test]
fn what_is_lost_on_the_wire_has_been_sent() {
    let impairment = Impairment {
        loss: 1.0,
        ..rate(RATE, LinkQueue::Codel(CODEL))
    };
    let mut model = model(&impairment);
    assert_eq!(model.offer(0, &[0; 1000]), Transit::Waits);
    assert!(model.send_next(0).is_none());
    assert_eq!(model.counters().lost, 1);
    // The next one waits for its end.
    model.offer(0, &[0; 1000]);
    assert_eq!(model.next_sending(), Some(MILLISECOND));
}

#[test]
fn a_flow_is_known_by_addresses_protocol_and_ports() {
    let base = frame(7, 100);
    let changed = |at: usize| {
        let mut other = base.clone();
        other[at] ^= 1;
        FlowKey::of(&other) != FlowKey::of(&base)
    };
    // Source, destination, protocol and both ports; neither length, time to live, checksum nor
    // payload.
    let table = [(26, true), (33, true), (23, true), (35, true), (37, true)];
    let others = [
        (16, false),
        (22, false),
        (24, false),
        (40, false),
        (60, false),
    ];
    for (at, expected) in table.into_iter().chain(others) {
        assert_eq!(changed(at), expected, "{at}");
    }
    // Ports stand in the first fragment alone.
    let fragment = |flow, offset| {
        let mut fragment = frame(flow, 100);
        fragment[20..22].copy_from_slice(&[0x20, offset]);
        FlowKey::of(&fragment)
    };
    assert_eq!(fragment(1, 0), fragment(2, 3));
    let ipv6 = |port: u8| {
        let mut frame = vec![0; 100];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[20] = 6;
        frame[55] = port;
        FlowKey::of(&frame)
    };
    assert_ne!(ipv6(1), ipv6(2));
    for length in 0..60 {
        let _ = FlowKey::of(&base[..length]);
    }
}

fn queues() -> impl Strategy<Value = LinkQueue> {
    let codel = |(frames, target, interval): (usize, u64, u64)| CodelSettings {
        frames,
        target: target * MILLISECOND,
        interval: (target + interval) * MILLISECOND,
    };
    let codel = (1_usize..200, 1_u64..10, 0_u64..50).prop_map(codel);
    prop_oneof![
        codel.clone().prop_map(LinkQueue::Codel),
        (codel, 1_u32..8, 1_u32..3000).prop_map(|(codel, flows, quantum)| {
            LinkQueue::FqCodel(FqCodelSettings {
                codel,
                flows,
                quantum,
            })
        })
    ]
}

proptest! {
    /// Each frame leaves or is counted as dropped, those of a flow in their order, at the rate, and
    /// the sender is never idle while a frame waits.
    #[test]
    fn no_frame_disappears_and_the_sender_is_busy_while_one_waits(
        queue in queues(),
        offers in prop::collection::vec((0_u64..2_000_000, 0_u16..5, 50_usize..1500), 1..400),
    ) {
        let mut world = World::new(queue);
        let mut now = 0;
        for (gap, flow, length) in &offers {
            now += gap;
            world.offer(now, *flow, *length);
        }
        world.end();
        let counters = world.model.counters();
        let dropped = counters.dropped_by_queue + counters.dropped_by_delay;
        prop_assert_eq!(world.sent.len() as u64 + dropped, offers.len() as u64);
        let mut free_at = 0;
        let mut last = [0; 5];
        for sent in &world.sent {
            prop_assert!(sent.start() >= sent.arrived);
            prop_assert!(sent.start() == free_at || sent.start() == sent.arrived && sent.start() > free_at);
            free_at = sent.left;
            let last = &mut last[usize::from(sent.flow)];
            prop_assert!(sent.number > *last);
            *last = sent.number;
        }
    }
}
