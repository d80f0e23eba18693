//! No operation of a load run allocates: everything exists when measuring begins.
//!
//! Counted in the whole process, the collector's thread included; the server of the test allocates
//! nothing for a request either. A run of many operations may allocate no more than one of few, but
//! for a handful that depend on time.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use engine::{
    Drive, Endpoint, HttpOptions, KnownWindow, LoadDrive, Pacing, RunPlace, RunSpec, Sink, Watch,
};
use record::{Arrivals, Clock, Http, Sample, Stage};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: all calls are forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's guarantees are forwarded.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Responds to every request, pipelined ones too, with the same bytes.
fn server() -> SocketAddr {
    const RESPONSE: &[u8] =
        b"HTTP/1.1 200 OK\r\nServer: test\r\nServer-Timing: db;dur=0.01, miss\r\n\
        Content-Length: 5\r\n\r\nhello";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut buffer = [0; 64 * 1024];
                let mut matched = 0;
                while let Ok(count @ 1..) = socket.read(&mut buffer) {
                    for byte in &buffer[..count] {
                        matched = match (byte, matched) {
                            (b'\r', 0 | 2) | (b'\n', 1 | 3) => matched + 1,
                            _ => 0,
                        };
                        if matched == 4 {
                            matched = 0;
                            socket.write_all(RESPONSE).unwrap();
                        }
                    }
                }
            });
        }
    });
    address
}

#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn take(&mut self, samples: &[Sample], _: KnownWindow) -> ControlFlow<()> {
        let good = |sample: &&Sample| sample.outcome == record::Outcome::Ok;
        self.0 += samples.iter().filter(good).count() as u64;
        ControlFlow::Continue(())
    }
}

fn place(address: SocketAddr, clock: Clock, pipeline: u32) -> RunPlace {
    let target = wire::target::Target::resource(&format!("http://{address}/x?y")).unwrap();
    let tls = engine::TlsOptions::default();
    RunPlace {
        endpoint: Endpoint {
            tls: engine::tls_config(&tls, target.scheme()).unwrap(),
            route: engine::Route::Tcp(vec![address]),
            target,
            credentials: None,
            name: None,
        },
        others: Vec::new(),
        http: HttpOptions {
            connections: Http {
                pipeline,
                ..Http::default()
            },
            headers: Vec::new(),
            auth: wire::auth::AuthScheme::Auto,
            timeout: Duration::from_secs(30),
        },
        files: Vec::new(),
        lock_tokens: None,
        made_files: None,
        threads: 1,
        clock,
        acks: false,
        inside: None,
        processors: None,
    }
}

/// Allocations of a run with this many operations.
fn allocations(place: &RunPlace, pacing: &Pacing, requests: u64) -> u64 {
    let (plan, _) = suite::single(&suite::Single {
        method: "GET".to_owned(),
        paths: suite::RequestedPaths::Target,
        headers: Vec::new(),
        body: None,
        status: None,
    })
    .unwrap();
    let spec = RunSpec {
        run_id: "test".to_owned(),
        plan: Arc::new(plan),
        seed: 1,
        users: 4,
        drive: Drive::Load(LoadDrive {
            pacing: pacing.clone(),
            requests: Some(requests),
            connect_rate: 1e6,
            warmup: 100,
            ..LoadDrive::default()
        }),
        start_place: None,
        command: None,
        notes: Vec::new(),
        label: None,
        beside: Vec::new(),
        background: None,
    };
    let watch = Watch {
        turn: None,
        rows: None,
        is_alone: true,
        conditions: std::sync::Arc::default(),
        cancel: engine::Cancel::default(),
        progress: Arc::default(),
        observer: Arc::new(engine::Silent),
    };
    let mut count = Count::default();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let finished = engine::run(&spec, place, &watch, &mut count);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert_eq!(finished.error, None);
    assert_eq!(count.0, requests, "{:?}", finished.events);
    after - before
}

#[test]
fn an_operation_allocates_nothing() {
    const FEW: u64 = 2_000;
    const MANY: u64 = 12_000;
    let address = server();
    let open = Pacing::Open {
        arrivals: Arrivals::Poisson,
        stages: vec![Stage {
            rate: 8_000.0,
            duration_s: 60.0,
        }],
        max_waiting: 100_000,
        spin: Duration::ZERO,
    };
    let cases = [
        ("user clock", Clock::User, Pacing::Closed, 1),
        ("kernel's clock", Clock::Kernel, Pacing::Closed, 1),
        ("pipeline", Clock::Kernel, Pacing::Closed, 4),
        ("open loop", Clock::Kernel, open, 1),
    ];
    for (name, clock, pacing, pipeline) in cases {
        let place = place(address, clock, pipeline);
        allocations(&place, &pacing, FEW);
        let few = allocations(&place, &pacing, FEW);
        let many = allocations(&place, &pacing, MANY);
        let more = many.saturating_sub(few);
        assert!(
            more * 100 < MANY - FEW,
            "{name}: {more} allocations for {} operations",
            MANY - FEW
        );
    }
}
