//! Contents of the captures.

use std::io;
use std::time::Duration;

use lab::{
    Bandwidth, ChosenSegment, Delay, ForwarderSettings, HoldBack, HoldBackPeriod, Impairment,
    Jitter, LinkQueue, LossProcess, SegmentFault, TwoHosts,
};

use crate::http::{ClientHabits, converse, get, put_in_two_writes};

/// Payload of a full segment with time stamps, over IPv4 with an MTU of 1500.
const SEGMENT: usize = 1448;

/// Exchange between client and server.
type Conversation = Box<dyn Fn(&TwoHosts) -> io::Result<()>>;

/// One capture.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) contents: &'static str,
    pub(crate) link: ForwarderSettings,
    /// Kernel parameters of both hosts.
    pub(crate) sysctls: &'static [(&'static str, &'static str)],
    pub(crate) conversation: Conversation,
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = losses();
    all.extend(order());
    all.extend(options());
    all.extend(applications());
    all
}

fn losses() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "clean",
            contents: "three requests over one connection, nothing lost",
            link: back(none()),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT, 1_000, 20_000]),
        },
        Scenario {
            name: "fast-retransmit",
            contents: "segment 20 of the response lost once, resent by fast retransmit",
            link: back(chosen(&[lost(20, 1)])),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "two-fast-retransmits",
            contents: "segments 20 and 23 of the response lost once, resent in one recovery",
            link: back(chosen(&[lost(20, 1), lost(23, 1)])),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "timeout",
            contents: "segment 195 of 200 of the response lost four times: fast retransmit or probe, then timeouts with backoff",
            link: back(chosen(&[lost(195, 4)])),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "tail-loss-probe",
            contents: "last segment (40) of the response lost once, resent by a tail loss probe",
            link: back(chosen(&[lost(40, 1)])),
            sysctls: &[],
            conversation: requests(&[40 * SEGMENT]),
        },
        Scenario {
            name: "tail-timeout",
            contents: "last segment (40) of the response lost once, no tail loss probes, resent by timeout",
            link: back(chosen(&[lost(40, 1)])),
            sysctls: &[("net.ipv4.tcp_early_retrans", "0")],
            conversation: requests(&[40 * SEGMENT]),
        },
        Scenario {
            name: "lost-request",
            contents: "first segment of the client, the request, lost once (the capture shows the pause, and one request)",
            link: forth(chosen(&[lost(1, 1)])),
            sysctls: &[],
            conversation: requests(&[10_000]),
        },
        Scenario {
            name: "queue-loss",
            contents: "10 Mbit/s with a queue of 20 frames: losses by congestion",
            link: back(Impairment {
                bandwidth: Some(Bandwidth {
                    bits_per_second: 10_000_000,
                    overhead: 24,
                    queue: LinkQueue::Frames(20),
                }),
                ..none()
            }),
            sysctls: &[],
            conversation: requests(&[400_000]),
        },
        Scenario {
            name: "random-loss",
            contents: "2 % of frames lost in bursts (Gilbert-Elliott), jitter of 1 ms",
            link: back(Impairment {
                loss: LossProcess::GilbertElliott {
                    to_bad: 0.01,
                    to_good: 0.49,
                    good_loss: 0.0,
                    bad_loss: 1.0,
                },
                delay: Delay {
                    jitter: Jitter::Normal {
                        deviation: Duration::from_millis(1),
                    },
                    ..delay()
                },
                ..none()
            }),
            sysctls: &[],
            conversation: requests(&[400 * SEGMENT]),
        },
    ]
}

fn order() -> Vec<Scenario> {
    let held = |by: Duration| HoldBack {
        which: HoldBackPeriod::Every(20),
        by,
    };
    vec![
        Scenario {
            name: "reordering",
            contents: "every 20th frame 0.3 ms late at 50 Mbit/s: overtaken by one or two segments",
            link: back(Impairment {
                hold_back: Some(held(Duration::from_micros(300))),
                bandwidth: fast(),
                ..none()
            }),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "spurious",
            contents: "segment 20 30 ms late at 50 Mbit/s: resent although it was not lost, reported by D-SACK",
            link: back(Impairment {
                chosen: vec![ChosenSegment {
                    number: 20,
                    fault: SegmentFault::HeldBack {
                        by: Duration::from_millis(30),
                    },
                }],
                bandwidth: fast(),
                ..none()
            }),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "duplicates",
            contents: "2 % of frames arrive twice at the client: the capture has D-SACKs for them",
            link: back(Impairment {
                duplication: 0.02,
                ..none()
            }),
            sysctls: &[],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "request-order",
            contents: "upload: every 20th frame of the client 1 ms late at 50 Mbit/s: out of order in the capture",
            link: forth(Impairment {
                hold_back: Some(held(Duration::from_millis(1))),
                bandwidth: fast(),
                ..none()
            }),
            sysctls: &[],
            conversation: Box::new(|hosts| {
                converse(
                    hosts,
                    ClientHabits::default(),
                    &[put_in_two_writes(200_000)],
                )
            }),
        },
    ]
}

fn options() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "no-timestamps",
            contents: "segment 20 lost once, no time stamps",
            link: back(chosen(&[lost(20, 1)])),
            sysctls: &[("net.ipv4.tcp_timestamps", "0")],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "no-sack",
            contents: "segments 20 and 23 lost once, no SACK: duplicate ACKs, NewReno",
            link: back(chosen(&[lost(20, 1), lost(23, 1)])),
            sysctls: &[("net.ipv4.tcp_sack", "0")],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "no-window-scaling",
            contents: "nothing lost, no window scaling",
            link: back(none()),
            sysctls: &[("net.ipv4.tcp_window_scaling", "0")],
            conversation: requests(&[200 * SEGMENT]),
        },
        Scenario {
            name: "ipv6",
            contents: "IPv6, segment 20 lost once, resent by fast retransmit",
            link: back(chosen(&[lost(20, 1)])),
            sysctls: &[],
            conversation: Box::new(|hosts| {
                let habits = ClientHabits {
                    uses_ipv6: true,
                    ..ClientHabits::default()
                };
                converse(hosts, habits, &[get(200 * SEGMENT), get(1_000)])
            }),
        },
    ]
}

fn applications() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "zero-window",
            contents: "the client reads after 1.5 s only, with a buffer of 16 KiB: zero window and probes",
            link: back(none()),
            sysctls: &[],
            conversation: Box::new(|hosts| {
                let habits = ClientHabits {
                    receive_buffer: Some(16_384),
                    pause: Duration::from_millis(1_500),
                    ..ClientHabits::default()
                };
                converse(hosts, habits, &[get(100_000)])
            }),
        },
        Scenario {
            name: "nagle",
            contents: "requests of two small writes: the body waits for the ACK of the head, which is delayed",
            link: back(none()),
            sysctls: &[],
            conversation: Box::new(|hosts| {
                let requests: Vec<_> = (0..6).map(|_| put_in_two_writes(300)).collect();
                converse(hosts, ClientHabits::default(), &requests)
            }),
        },
    ]
}

/// Requests for responses of these sizes.
fn requests(sizes: &[usize]) -> Conversation {
    let requests: Vec<_> = sizes.iter().map(|bytes| get(*bytes)).collect();
    Box::new(move |hosts| converse(hosts, ClientHabits::default(), &requests))
}

fn delay() -> Delay {
    Delay {
        base: Duration::from_millis(10),
        ..Delay::default()
    }
}

fn none() -> Impairment {
    Impairment {
        delay: delay(),
        ..Impairment::default()
    }
}

fn fast() -> Option<Bandwidth> {
    Some(Bandwidth {
        bits_per_second: 50_000_000,
        overhead: 24,
        queue: LinkQueue::Frames(1_000),
    })
}

fn chosen(segments: &[ChosenSegment]) -> Impairment {
    Impairment {
        chosen: segments.to_vec(),
        ..none()
    }
}

fn lost(number: u64, times: u32) -> ChosenSegment {
    ChosenSegment {
        number,
        fault: SegmentFault::Lost { times },
    }
}

/// Frames from the server are impaired; those from the client are delayed.
fn back(impairment: Impairment) -> ForwarderSettings {
    ForwarderSettings {
        forth: none(),
        back: impairment,
        ..ForwarderSettings::default()
    }
}

/// Frames from the client are impaired; those from the server are delayed.
fn forth(impairment: Impairment) -> ForwarderSettings {
    ForwarderSettings {
        forth: impairment,
        back: none(),
        ..ForwarderSettings::default()
    }
}
