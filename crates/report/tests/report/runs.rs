//! The runs that the reports here are about.

use record::{
    AccessLogRecord, CallTarget, Clock, Connect, EventKind, FlameRow, FlameStack, Generator,
    HttpVersion, InsideBatch, InsideCounts, InsideRecord, Lateness, LeftBehind, MeasureId, Outcome,
    Pace, PageRecord, Run, Sample, ServerProcessRecord, ServerTimeBatches, ServerTimeSource,
    ServerTimes, TestId, Timing, TracedCall, TracedRow,
};
use stats::testing::{self, RunBuilder, US};

/// The tests of Xu (2004) in their order: name, method, and the mean response time that section
/// 5.6 prints for it, in microseconds.
pub(crate) const CLASSIC: [(&str, &str, u64); 23] = [
    ("ProppatchMult", "PROPPATCH", 14248),
    ("ProppatchSingle", "PROPPATCH", 14240),
    ("PropfindDeadMult", "PROPFIND", 13894),
    ("PropfindDeadSingle", "PROPFIND", 13730),
    ("PropfindLiveMult", "PROPFIND", 15025),
    ("PropfindLiveSingle", "PROPFIND", 14104),
    ("Put1K", "PUT", 14215),
    ("Get1K", "GET", 14229),
    ("Put64K", "PUT", 88967),
    ("Get64K", "GET", 31171),
    ("Put1024K", "PUT", 487_773),
    ("Get1024K", "GET", 363_265),
    ("Copy", "COPY", 14125),
    ("Move", "MOVE", 14044),
    ("Delete", "DELETE", 13758),
    ("MkCol", "MKCOL", 14266),
    ("CopyCol", "COPY", 43314),
    ("MoveCol", "MOVE", 45393),
    ("DeleteCol", "DELETE", 37217),
    ("Lock", "LOCK", 14613),
    ("UnLock", "UNLOCK", 13745),
    ("LockCol", "LOCK", 30966),
    ("UnLockCol", "UNLOCK", 23005),
];

/// Around `mean`, within about 5 %, the same every time.
fn around(mean: u64) -> impl Fn(u64) -> u64 {
    move |i| mean - mean / 20 + (i * 7919 % 101) * mean / 1000
}

/// All 23 tests, everything well, a hundred operations each.
pub(crate) fn classic() -> Run {
    let all = CLASSIC
        .into_iter()
        .fold(RunBuilder::new(1), |builder, (name, method, mean)| {
            builder
                .test(name, &[(name, method)])
                .ok(name, 100, around(mean))
        });
    all.build()
}

/// Four rows of two users with ten operations each, all well.
fn few(users: u32) -> RunBuilder {
    RunBuilder::new(users)
        .with(|run| run.plan.load.requests = Some(10))
        .test("ProppatchMult", &[("ProppatchMult", "PROPPATCH")])
        .test("Put1K", &[("Put1K", "PUT")])
        .test("Locks", &[("Lock", "LOCK"), ("UnLock", "UNLOCK")])
        .test("PropfindLiveSingle", &[("PropfindLiveSingle", "PROPFIND")])
}

/// Something of everything: a row with failures, one without support, one that failed wholly,
/// operations left out, a note, warnings, and a server with a hostile name.
pub(crate) fn mixed() -> Run {
    let evidence = "LOCK PrestanTest-20261121-040600-k3f9/u0/lockme was answered with 405 Method \
                    Not Allowed, and LOCK is not in Allow (RFC 4918, section 9.10)";
    let failed = |number| {
        move |_, measure| EventKind::OperationFailed {
            measure,
            user: 1,
            number,
            outcome: Outcome::WrongStatus,
            status: None,
            evidence: "PUT u1/put gave 500 Internal Server Error, 201 or 204 expected".into(),
            cause: None,
        }
    };
    // User 0 goes on for one more operation after user 1 has ended.
    let alone = Sample {
        moments: testing::moments(1_000_000_000, 1_000_000_010, 1_000_400_000, 1_000_400_010),
        ..testing::sample(MeasureId(0), 0, Outcome::Ok)
    };
    few(2)
        .with(|run| {
            let server = run.env.server.as_mut().unwrap();
            server.software = Some("Evil\u{1b}[2J/1.0".into());
            run.plan.params.insert("size".into(), "1KiB".into());
        })
        .ok("ProppatchMult", 10, around(412))
        .sample("ProppatchMult", alone)
        .ok("Put1K", 8, around(14_200))
        .ops("Put1K", 2, Outcome::WrongStatus, |_| 0)
        .event("Put1K", failed(9))
        .event("Put1K", failed(10))
        .event("Lock", |test, _| EventKind::NotSupported {
            test,
            step: None,
            evidence: evidence.into(),
        })
        .event("PropfindLiveSingle", |test, _| EventKind::TestFailed {
            test,
            evidence: "set-up: PUT u0/live gave 507 Insufficient Storage".into(),
        })
        .event("ProppatchMult", |_, measure| EventKind::Note {
            measure,
            text: "the answer to property p3 was 404".into(),
        })
        .run_event(EventKind::Warning {
            text: "the machine was busy: load 3.1 on 2 cores".into(),
        })
        .run_event(EventKind::LeftBehind(LeftBehind {
            url: "http://127.0.0.1:8080/dav/PrestanTest-20261120-101500-a1b2/".into(),
            reason: "found at the start, it was not this run that made it".into(),
            own: false,
        }))
        .build()
}

pub(crate) fn interrupted() -> Run {
    few(1)
        .ok("ProppatchMult", 10, around(412))
        .ok("Put1K", 3, around(1_304_000))
        .ops("Put1K", 1, Outcome::Cancelled, |_| 0)
        .run_event(EventKind::Interrupted)
        .build()
}

/// Measured with the kernel's clock: two rows, one stamp missed, the generator at its ease.
pub(crate) fn kernel() -> Run {
    let builder = RunBuilder::new(1)
        .with(|run| run.plan.clock = Clock::Kernel)
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 200, around(412))
        .event("Put1K", |test, _| {
            EventKind::Generator(testing::generator(test))
        })
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 200, around(350))
        .event("Get1K", |test, _| {
            EventKind::Generator(testing::generator(test))
        });
    let stamped = builder.with(|run| {
        for (sample, i) in run.samples.iter_mut().zip(0_i64..) {
            let bias = Some(9_000 + i * 7919 % 20_000);
            sample.timing = Timing::Kernel { bias };
            sample.moments.acked = sample.moments.sent.map(|sent| sent + 30 * US);
        }
        run.samples[7].timing = Timing::Missed;
    });
    stamped.build()
}

/// A closed loop of two users until p99 is known, all well.
pub(crate) fn closed() -> Run {
    let second = 1_000_000 * US;
    RunBuilder::new(2)
        .with(|run| {
            let load = &mut run.plan.load;
            (load.pace, load.requests) = (Pace::Closed, None);
            load.until = Some("p99 ±5%".into());
            load.http.pipeline = 1;
            load.http.version = HttpVersion::Http10;
        })
        .test("GET", &[("GET", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .ok("GET", 500, around(2_000))
        .event_at(second, |test| EventKind::MeasuringEnded { test })
        .event("GET", |test, _| {
            EventKind::Generator(testing::generator(test))
        })
        .build()
}

/// An open loop that the server could not follow, from a generator that was late as well.
pub(crate) fn open() -> Run {
    let builder = RunBuilder::new(4)
        .with(|run| {
            run.plan.load.pace = testing::open_loop();
            run.plan.load.requests = None;
            run.plan.load.duration_s = Some(10.0);
        })
        .test("GET", &[("GET", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .ok("GET", 300, around(412))
        .ops("GET", 2, Outcome::Dropped, |_| 0)
        .event_at(100_000 * US, |test| EventKind::MeasuringEnded { test })
        .event("GET", |test, _| {
            EventKind::Generator(Generator {
                lateness: Some(Lateness {
                    n: 1_200,
                    p50: 80 * US,
                    p99: 14_100 * US,
                    max: 19_000 * US,
                }),
                ..testing::generator(test)
            })
        });
    let planned = builder.with(|run| {
        for sample in &mut run.samples {
            // Three times as fast as it went.
            sample.moments.planned = sample.moments.started / 3;
        }
    });
    planned.build()
}

pub(crate) fn empty() -> Run {
    RunBuilder::new(1)
        .with(|run| {
            run.env.server = None;
            run.plan.load.requests = None;
            run.plan.load.duration_s = Some(10.0);
            run.plan.params.clear();
        })
        .run_event(EventKind::Aborted {
            reason: "connecting to 127.0.0.1:8080 was refused; is the server running?".into(),
        })
        .build()
}

/// A connection for each operation: two full TLS handshakes, and the others resume their sessions.
pub(crate) fn connecting() -> Run {
    let builder = RunBuilder::new(1)
        .with(|run| {
            run.plan.target = "https://127.0.0.1:8443/".into();
            run.plan.load.http.keep_alive = false;
        })
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 200, around(350));
    let connected = builder.with(|run| {
        for (sample, i) in run.samples.iter_mut().zip(0_u64..) {
            let is_full = i < 2;
            sample.connect = Some(Connect {
                tcp: 40 * US + i * 7919 % 9_000,
                tls: Some(if is_full {
                    1_300 * US
                } else {
                    420 * US + i * 7919 % 90_000
                }),
                resumed: Some(!is_full),
            });
        }
    });
    connected.build()
}

/// Names that a spreadsheet or a careless writer of CSV would stumble over; connections too.
pub(crate) fn awkward() -> Run {
    let opened = |builder: RunBuilder| {
        let sample = Sample {
            connect: Some(Connect {
                tcp: 41_125,
                tls: Some(1_300_001),
                resumed: Some(false),
            }),
            ..testing::sample(MeasureId(0), 0, Outcome::Ok)
        };
        builder.sample("=SUM(A1)", sample)
    };
    let quoted = "a \"quoted\", text\nof two lines";
    opened(RunBuilder::new(1).test("=SUM(A1)", &[("=SUM(A1)", "GET"), (quoted, "GET")]))
        .event(quoted, |_, measure| EventKind::OperationFailed {
            measure,
            user: 0,
            number: 2,
            outcome: Outcome::Reset,
            status: None,
            evidence: quoted.into(),
            cause: None,
        })
        .ops(quoted, 1, Outcome::Reset, |_| 0)
        .build()
}

/// Two pages of two servers: one visit misses a file, another ended after the window.
pub(crate) fn pages() -> Run {
    const MS: u64 = 1_000_000;
    let page = |name: &str, weight, files: &[u16], bytes| PageRecord {
        name: name.to_owned(),
        weight,
        files: files.iter().copied().map(MeasureId).collect(),
        bytes,
        parts: None,
    };
    let files = [("Page0-1", "GET"), ("Page0-2", "GET"), ("Page1-1", "GET")];
    let mut run = RunBuilder::new(3)
        .test("Pages", &files)
        .with(|run| {
            run.plan.load.pace = Pace::Closed;
            run.plan.load.duration_s = Some(10.0);
            run.plan.target = "http://192.0.2.1/".into();
            run.plan.others = vec!["http://192.0.2.2/".into()];
            run.plan.pages = vec![
                page("Page0", 3.0, &[0, 1], Some(800)),
                page("Page1", 1.0, &[2], None),
            ];
        })
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .event_at(10_000 * MS, |test| EventKind::MeasuringEnded { test })
        .build();
    for visit in 0..101 {
        let (user, begun) = ((visit % 3) as u32, 100 * MS * visit);
        let file = |measure: u16, after: u64, took: u64| Sample {
            visit: Some(visit + 1),
            moments: testing::moments(
                begun + after,
                begun + after + MS / 10,
                begun + after + took - MS / 5,
                begun + after + took,
            ),
            connect: testing::connect(50 * US, None).filter(|_| visit % 10 == 0),
            bytes_received: 500,
            body_received: 400,
            ..testing::sample(MeasureId(measure), user, Outcome::Ok)
        };
        let took = MS * (5 + visit * 7 % 11);
        match visit % 4 {
            3 => run.samples.push(file(2, 0, took)),
            _ => {
                run.samples.push(file(0, 0, took));
                let mut second = file(1, took, 2 * took);
                if visit == 50 {
                    second.outcome = Outcome::WrongBody;
                    second.body_received = 0;
                }
                run.samples.push(second);
            }
        }
    }
    run
}

/// The server was looked into: two rows, of which the second was hardly measured, and a third that
/// nothing is known of.
pub(crate) fn looked_into() -> Run {
    let batch = |measure, processor, ticks| {
        EventKind::Inside(InsideBatch {
            measure,
            operations: 5,
            lasted: 70 * US,
            counted: InsideCounts {
                processor,
                system_ticks: ticks,
                user_ticks: ticks,
                queued: 40 * US,
                waits: 12,
                preemptions: 1,
                reads: 30,
                writes: 15,
                read_bytes: 10_240,
                written_bytes: 600,
                disk_written_bytes: 40_960,
                memory_growth: -4096,
                threads: 9,
                ..InsideCounts::default()
            },
        })
    };
    let process = |(pid, threads)| ServerProcessRecord {
        pid,
        name: "apache2".to_owned(),
        threads,
    };
    let call = |call: &str, target, count, bytes, lasted| TracedCall {
        bytes,
        lasted,
        ..testing::traced_call(call, target, count)
    };
    let locks = || CallTarget::File {
        path: "lock/\u{1b}[2JDAVLock".to_owned(),
    };
    let traced = |measure, median| {
        EventKind::Traced(TracedRow {
            measure,
            operations: 5,
            took: 5 * median,
            median,
            ok: 5,
            calls: vec![
                call("fdatasync", locks(), 10, 0, 6_000 * US),
                call("openat", locks(), 15, 0, 100 * US),
                call("write", CallTarget::Collection, 5, 5120, 50 * US),
                call("read", CallTarget::Client, 10, 2000, 0),
                call("epoll_wait", CallTarget::Event, 5, 0, 0),
            ],
            other_calls: 0,
        })
    };
    let stack = |stack: &str, samples: &[u32]| FlameStack {
        stack: stack.to_owned(),
        samples: samples.to_vec(),
    };
    let sampled = |measure, cut| {
        EventKind::Flame(FlameRow {
            measure,
            operations: 40,
            frequency: 4_999,
            samples: 250,
            lost: 2,
            cut,
            other: 3,
            by_thread: false,
            without_kernel: false,
            stacks: vec![
                stack(
                    "httpd;[libc.so.6];write;vfs_write_[k];ext4_write_[k]",
                    &[20; 5],
                ),
                stack("httpd;[libc.so.6];handle<b>;parse", &[16, 15, 19, 17, 18]),
                stack(
                    "httpd;[libc.so.6];handle<b>;\u{1b}[2Jsend",
                    &[11, 9, 10, 12, 11],
                ),
                stack("helper;[libc.so.6]", &[9]),
            ],
        })
    };
    few(1)
        .with(|run| {
            run.plan.inside = Some(InsideRecord {
                processes: [(4711, 1), (4712, 64), (4713, 64)].map(process).to_vec(),
                without_io: false,
                without_threads: false,
                missing: vec!["bytes are not counted".to_owned()],
            });
        })
        .ok("Put1K", 10, around(1600))
        .ok("Lock", 5, around(600))
        .event("Put1K", |_, measure| batch(measure, 1_900 * US, 20))
        .event("Put1K", |_, measure| batch(measure, 2_100 * US, 10))
        .event("Put1K", |_, measure| traced(measure, 1_700 * US))
        .event("Lock", |_, measure| batch(measure, 500 * US, 0))
        .event("Lock", |_, measure| traced(measure, 1_700 * US))
        .event("Put1K", |_, measure| sampled(measure, 0))
        .event("Lock", |_, measure| sampled(measure, 120))
        .build()
}

/// The server gives times: two metrics, one without a time, and its log, of which a part is not
/// joined.
pub(crate) fn server_view() -> Run {
    let times = |source, resolution, operations, server: u64, ours: u64| {
        move |_: TestId, measure: MeasureId| {
            let mut batches = ServerTimeBatches::default();
            for number in 0..operations {
                batches.push(server * (95 + number % 11) / 100, ours);
            }
            EventKind::ServerTimes(ServerTimes {
                measure,
                source,
                operations: 10,
                resolution,
                batches: batches.into_batches(),
            })
        }
    };
    let metric = |name: &str| ServerTimeSource::Header {
        metric: name.to_owned(),
    };
    let log = || ServerTimeSource::AccessLog;
    few(1)
        .ok("Put1K", 10, around(1600))
        .ok("Lock", 5, around(600))
        .event("Put1K", times(metric("db<b>"), 1, 10, 700 * US, 1_600 * US))
        .event("Put1K", times(metric("cache"), 1, 0, 0, 0))
        .event("Put1K", times(log(), 1_000 * US, 9, 1_500 * US, 1_700 * US))
        .event("Lock", times(log(), 1_000 * US, 4, 200 * US, 700 * US))
        .event("Lock", |_, _| {
            EventKind::AccessLog(AccessLogRecord {
                operations: 15,
                joined: 13,
                missing: 1,
                ambiguous: 1,
                beyond: 0,
                other_lines: 30,
                unreadable_lines: 2,
            })
        })
        .build()
}
