//! `prestan traffic sink`: receives background traffic until Ctrl-C.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use flow::message::SinkCounts;
use flow::sink::SessionReading;
use flow::{PermittedPeers, SinkHandle, SinkLimits, SinkSettings, TrafficSink};
use serde_json::{Value, json};

use crate::args::{AllowedNetwork, MaxRate, TrafficSinkArgs};
use crate::background::token;
use crate::exit::{ExitStatus, Failed};
use crate::output::{number_of, print_text};
use crate::watch::Signals;

/// How often it is looked what has arrived.
const LOOK: Duration = Duration::from_millis(100);

pub(super) fn sink(args: &TrafficSinkArgs) -> Result<ExitStatus, Failed> {
    let settings = SinkSettings {
        listen: args.listen,
        token: token(args.token_file.as_deref())?,
        limits: SinkLimits {
            bytes_per_second: match args.max_rate {
                MaxRate::Limited(rate) => Some(rate.bits_per_second() / 8),
                MaxRate::Unlimited => None,
            },
            flows: args.max_flows,
            duration: args.max_time,
            peers: peers(&args.allow),
            longest_silence: args.silence,
            ..SinkLimits::default()
        },
    };
    // Each flow of TCP has a socket.
    engine::raise_open_files();
    let mut signals = Signals::listen()?;
    let sink = TrafficSink::start(settings).map_err(|error| Failed::Local(error.to_string()))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let for_thread = Arc::clone(&is_over);
    thread::spawn(move || {
        signals.wait();
        for_thread.store(true, Ordering::SeqCst);
    });
    let mut watch = SinkWatch {
        is_json: args.json,
        sessions: Vec::new(),
        failures: 0,
    };
    let address = sink.address();
    watch.print(
        || json!({"event": "listening", "address": address.to_string()}),
        || format!("listening on {address}"),
    )?;
    while !is_over.load(Ordering::SeqCst) {
        watch.look(&sink)?;
        thread::sleep(LOOK);
    }
    watch.look(&sink)?;
    sink.stop();
    Ok(ExitStatus::Done)
}

fn peers(allowed: &[AllowedNetwork]) -> PermittedPeers {
    if allowed.is_empty() {
        return PermittedPeers::Loopback;
    }
    let network = |own: &AllowedNetwork| match own {
        AllowedNetwork::Any => None,
        AllowedNetwork::Network(address, bits) => Some((*address, *bits)),
    };
    let networks: Option<Vec<_>> = allowed.iter().map(network).collect();
    networks.map_or(PermittedPeers::Any, PermittedPeers::Networks)
}

/// What is known of a sink since the last look.
struct SinkWatch {
    is_json: bool,
    sessions: Vec<SessionReading>,
    failures: u64,
}

impl SinkWatch {
    fn print(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failed> {
        let line = if self.is_json {
            json().to_string()
        } else {
            text()
        };
        print_text(&format!("{line}\n"))
    }

    /// Prints what has happened since the last look.
    fn look(&mut self, sink: &SinkHandle) -> Result<(), Failed> {
        let now = sink.readings();
        for session in &now {
            let before = self.sessions.iter().find(|own| own.peer == session.peer);
            // A new source has no full second yet.
            let before_at = before.map_or(Duration::ZERO, |own| own.elapsed);
            if session.elapsed > before_at {
                self.second(session, before, session.elapsed - before_at)?;
            }
        }
        let is_gone = |own: &&SessionReading| now.iter().all(|other| other.peer != own.peer);
        for ended in self.sessions.iter().filter(is_gone) {
            let all = SinkSum::of(&ended.flows);
            let peer = ended.peer;
            self.print(
                || json!({"event": "ended", "source": peer.to_string(), "counts": all.json()}),
                || {
                    format!(
                        "{peer}  ended; in its {:.0} full seconds {}",
                        ended.elapsed.as_secs_f64(),
                        all.counts()
                    )
                },
            )?;
        }
        self.sessions = now;
        let status = sink.status();
        if status.failed_sessions > self.failures {
            self.failures = status.failed_sessions;
            let why = report::clean(status.last_failure.as_deref().unwrap_or_default());
            self.print(
                || json!({"event": "refused", "reason": why}),
                || format!("refused or lost: {why}"),
            )?;
        }
        Ok(())
    }

    fn second(
        &self,
        session: &SessionReading,
        before: Option<&SessionReading>,
        span: Duration,
    ) -> Result<(), Failed> {
        let mut sum = SinkSum::of(&session.flows);
        if let Some(before) = before {
            sum = sum.since(&SinkSum::of(&before.flows));
        }
        let bits = sum.bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9);
        let (peer, at) = (session.peer, session.elapsed.as_secs_f64());
        let flows = session.flows.len();
        self.print(
            || second_json(peer, at, flows, bits, &sum),
            || {
                format!(
                    "{peer}  {at:4.0} s  {}, received {}, {}",
                    number_of(flows, "flow"),
                    report::bits(bits),
                    sum.counts()
                )
            },
        )
    }
}

fn second_json(peer: SocketAddr, at: f64, flows: usize, bits: f64, sum: &SinkSum) -> Value {
    json!({
        "event": "second",
        "source": peer.to_string(),
        "at_s": at,
        "flows": flows,
        "received_bits_per_second": bits.round(),
        "counts": sum.json(),
    })
}

/// All flows of a source.
#[derive(Default)]
struct SinkSum {
    bytes: u64,
    packets: u64,
    lost: u64,
    reordered: u64,
    duplicates: u64,
}

impl SinkSum {
    fn of(flows: &[SinkCounts]) -> SinkSum {
        flows.iter().fold(SinkSum::default(), |sum, flow| SinkSum {
            bytes: sum.bytes + flow.bytes,
            packets: sum.packets + flow.packets,
            lost: sum.lost + flow.lost,
            reordered: sum.reordered + flow.reordered,
            duplicates: sum.duplicates + flow.duplicates,
        })
    }

    fn since(&self, before: &SinkSum) -> SinkSum {
        SinkSum {
            bytes: self.bytes.saturating_sub(before.bytes),
            packets: self.packets.saturating_sub(before.packets),
            lost: self.lost.saturating_sub(before.lost),
            reordered: self.reordered.saturating_sub(before.reordered),
            duplicates: self.duplicates.saturating_sub(before.duplicates),
        }
    }

    fn counts(&self) -> String {
        format!(
            "{} bytes, {} blocks, lost {}, reordered {}, duplicates {}",
            self.bytes, self.packets, self.lost, self.reordered, self.duplicates
        )
    }

    fn json(&self) -> Value {
        json!({
            "bytes": self.bytes,
            "blocks": self.packets,
            "lost": self.lost,
            "reordered": self.reordered,
            "duplicates": self.duplicates,
        })
    }
}
