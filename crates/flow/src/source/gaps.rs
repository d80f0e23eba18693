//! Distances of blocks as sent, by the kernel's time stamps, compared with the distribution of the
//! plan.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use traffic::verify::kolmogorov_smirnov;
use traffic::{Traffic, TrafficSpec};

use super::counters::PacingHistogram;
use super::open::open_all;
use super::plan::FlowPlan;
use super::sender::SendingFlow;
use super::sending::{SendingState, SendingThread};
use crate::clock::monotonic_ns;
use crate::message::AgreedGroup;
use crate::sys::{DatagramBatch, stamp_arrivals};

/// One flow of datagrams with exponential distances.
fn exponential(mean_ms: f64, duration: Duration) -> FlowPlan {
    let text = format!(
        "models: {{m: {{user: {{gap: {{exponential: {{mean: {mean_ms}ms}}}}, block: {{constant: 100}}}}}}}}\n\
         components: {{c: {{model: m, protocol: udp, source: a, sink: b}}}}\n\
         loads: {{l: {{flows: [{{component: c}}]}}}}\n"
    );
    let traffic = Traffic::new(&TrafficSpec::read("test", &text).unwrap()).unwrap();
    let flow = &traffic.loads["l"].flows[0];
    FlowPlan::planned(flow, 7, duration)
}

/// Sends it to a socket of this process: the moments at which its datagrams passed the kernel.
fn moments(plan: FlowPlan) -> Vec<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    stamp_arrivals(socket.as_fd()).unwrap();
    let group = AgreedGroup {
        port: socket.local_addr().unwrap().port(),
        ids: vec![1],
        congestion_control: None,
    };
    let address = socket.local_addr().unwrap();
    let mut flows = open_all(vec![plan], address, &[group], || Ok(())).unwrap();
    let flow = SendingFlow::new(flows.remove(0), 0);
    let state = Arc::new(SendingState::new(1, crate::LONGEST_SILENCE).unwrap());
    let pacing = Arc::new(PacingHistogram::new().unwrap());
    let thread = SendingThread::new(vec![flow], Arc::clone(&state), pacing).unwrap();
    let sender = thread::spawn(move || thread.run(monotonic_ns() + 10_000_000));
    let mut batch = DatagramBatch::new(16);
    let mut moments = Vec::new();
    loop {
        let has_ended = state.active.load(Ordering::Relaxed) == 0;
        let count = batch.receive(socket.as_fd(), 16).unwrap_or(0);
        moments.extend((0..count).map(|index| batch.datagram(index).unwrap().stamp_ns.unwrap()));
        if count == 0 {
            if has_ended {
                break;
            }
            state.watched();
            thread::park_timeout(Duration::from_millis(20));
        }
    }
    sender.join().unwrap();
    moments
}

/// The largest distance between the distribution of the gaps and the planned one.
fn distance(mean_ms: f64, duration: Duration) -> f64 {
    let moments = moments(exponential(mean_ms, duration));
    let distance = |pair: &[u64]| pair[1].abs_diff(pair[0]) as f64 / 1e6;
    let gaps: Vec<f64> = moments.windows(2).map(distance).collect();
    let found = kolmogorov_smirnov(&gaps, |gap| 1.0 - (-gap / mean_ms).exp()).unwrap();
    let (count, statistic) = (found.count, found.statistic);
    eprintln!("{count} gaps of {mean_ms} ms: {statistic:.4}");
    found.statistic
}

mod quiet {
    use super::*;

    #[test]
    #[ignore = "nightly: optimised, and alone on this machine"]
    fn gaps_of_a_millisecond_have_their_law() {
        for mean_ms in [1.0, 2.0, 5.0] {
            // Another program may have taken the processor.
            let least = (0..3).map(|_| distance(mean_ms, Duration::from_secs(12)));
            let least = least.fold(f64::INFINITY, f64::min);
            // Of 2,400 gaps with this distribution, 5 % are farther away than 0.028 by chance.
            let limit = if mean_ms > 4.0 { 0.028 } else { 0.02 };
            assert!(least <= limit, "{mean_ms} ms: {least}");
        }
    }
}
