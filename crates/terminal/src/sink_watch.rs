//! Output of a sink of background traffic, as lines of text or JSON.

use std::time::Duration;

use flow::message::{FlowGroup, SinkCounts};
use flow::sink::SessionReading;
use flow::{FlowTransport, SinkHandle};
use runner::RunnerError;
use runner::words::number_of;
use serde_json::{Value, json};
use stats::units::human;

use crate::output::print_text;

/// A sink at the last look.
pub struct SinkWatch {
    is_json: bool,
    sessions: Vec<SessionReading>,
    failures: u64,
}

impl SinkWatch {
    /// Prints the address of a sink.
    pub fn begin(sink: &SinkHandle, is_json: bool) -> Result<SinkWatch, RunnerError> {
        let watch = SinkWatch {
            is_json,
            sessions: Vec::new(),
            failures: 0,
        };
        let address = sink.address();
        watch.print(
            || json!({"event": "listening", "address": address.to_string()}),
            || format!("listening on {address}"),
        )?;
        Ok(watch)
    }

    fn print(
        &self,
        json: impl FnOnce() -> Value,
        text: impl FnOnce() -> String,
    ) -> Result<(), RunnerError> {
        let line = if self.is_json {
            json().to_string()
        } else {
            text()
        };
        print_text(&format!("{line}\n"))
    }

    /// Prints changes since the last look.
    pub fn look(&mut self, sink: &SinkHandle) -> Result<(), RunnerError> {
        let now = sink.readings();
        for session in &now {
            let mut earlier = self.sessions.iter();
            let before = earlier.find(|earlier| earlier.peer == session.peer);
            // A new source has no full second yet.
            let before_at = before.map_or(Duration::ZERO, |reading| reading.elapsed);
            if session.elapsed > before_at {
                self.second(session, before, session.elapsed - before_at)?;
            }
        }
        let is_gone =
            |session: &&SessionReading| now.iter().all(|other| other.peer != session.peer);
        for ended in self.sessions.iter().filter(is_gone) {
            let all = SinkSum::of(&ended.flows);
            let peer = ended.peer;
            self.print(
                || json!({"event": "ended", "source": peer.to_string(), "counts": all.json()}),
                || {
                    let (seconds, counts) = (ended.elapsed.as_secs_f64(), all.counts());
                    format!("{peer}  ended; in its {seconds:.0} full seconds {counts}")
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
    ) -> Result<(), RunnerError> {
        let mut sum = SinkSum::of(&session.flows);
        if let Some(before) = before {
            sum = sum.since(&SinkSum::of(&before.flows));
        }
        let bits = bits_per_second(sum.bytes, span);
        let (peer, at) = (session.peer, session.elapsed.as_secs_f64());
        let flows = session.flows.len();
        self.print(
            || {
                json!({
                    "event": "second",
                    "source": peer.to_string(),
                    "at_s": at,
                    "flows": flows,
                    "received_bits_per_second": bits.round(),
                    "counts": sum.json(),
                    "per_flow": flows_json(session, before, span),
                })
            },
            || {
                format!(
                    "{peer}  {at:4.0} s  {}, received {}, {}{}",
                    number_of(flows, "flow"),
                    report::bits(bits),
                    sum.counts(),
                    delays(&session.flows)
                )
            },
        )
    }
}

/// Counts of each flow in a second, in the order of the source's request.
fn flows_json(session: &SessionReading, before: Option<&SessionReading>, span: Duration) -> Value {
    let of_group = |group: &FlowGroup| std::iter::repeat_n(group.transport, group.flows as usize);
    let transports = session.groups.iter().flat_map(of_group);
    let flow = |(number, (now, transport)): (usize, (&SinkCounts, FlowTransport))| {
        let mut sum = SinkSum::of(std::slice::from_ref(now));
        if let Some(before) = before.and_then(|before| before.flows.get(number)) {
            sum = sum.since(&SinkSum::of(std::slice::from_ref(before)));
        }
        let us = |ns: u64| (now.packets > 0).then_some(ns as f64 / 1e3);
        json!({
            "protocol": transport,
            "received_bits_per_second": bits_per_second(sum.bytes, span).round(),
            "counts": sum.json(),
            "jitter_us": us(now.jitter_ns),
            "delay_variation_us": us(now.delay_variation_ns),
        })
    };
    let flows = session.flows.iter().zip(transports).enumerate();
    flows.map(flow).collect()
}

/// Mean jitter of flows, and the longest of their delay variations, if they have any.
fn delays(flows: &[SinkCounts]) -> String {
    let known: Vec<_> = flows.iter().filter(|flow| flow.packets > 0).collect();
    let jitter: f64 = known.iter().map(|flow| flow.jitter_ns as f64).sum();
    let variation = known.iter().map(|flow| flow.delay_variation_ns).max();
    variation.map_or(String::new(), |variation| {
        format!(
            ", jitter {}, delay variation up to {}",
            human(jitter / known.len() as f64),
            human(variation as f64)
        )
    })
}

fn bits_per_second(bytes: u64, span: Duration) -> f64 {
    bytes as f64 * 8.0 / span.as_secs_f64().max(1e-9)
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
        if self.packets == 0 {
            // Streams without time stamps have no blocks that could be counted.
            return format!("{} bytes", self.bytes);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn session(bytes: [u64; 3]) -> SessionReading {
        let group = |transport, flows, has_stamps| FlowGroup {
            transport,
            flows,
            bytes_per_second: None,
            duration_ms: 1000,
            block_bytes: 100,
            has_stamps,
            port: None,
            may_move: false,
            window_bytes: None,
            congestion_control: None,
        };
        let counts = |bytes, packets, jitter_ns| SinkCounts {
            bytes,
            packets,
            jitter_ns,
            delay_variation_ns: 10 * jitter_ns,
            ..SinkCounts::default()
        };
        SessionReading {
            peer: "127.0.0.1:9".parse().unwrap(),
            groups: vec![
                group(FlowTransport::Udp, 2, true),
                group(FlowTransport::Tcp, 1, false),
            ],
            elapsed: Duration::from_secs(1),
            flows: vec![
                counts(bytes[0], bytes[0] / 100, 2000),
                counts(bytes[1], bytes[1] / 100, 4000),
                counts(bytes[2], 0, 0),
            ],
        }
    }

    #[test]
    fn each_flow_has_figures() {
        let (before, now) = (session([500, 0, 0]), session([1500, 2000, 4000]));
        let found = flows_json(&now, Some(&before), Duration::from_secs(1));
        let values = |key: &str| -> Vec<Value> {
            let flows = found.as_array().unwrap().iter();
            flows.map(|flow| flow[key].clone()).collect()
        };
        assert_eq!(values("protocol"), ["udp", "udp", "tcp"]);
        let rates = [8000.0, 16_000.0, 32_000.0];
        assert_eq!(values("received_bits_per_second"), rates.map(Value::from));
        assert_eq!(values("jitter_us"), [2.0.into(), 4.0.into(), Value::Null]);
        assert_eq!(found[1]["counts"]["blocks"], 20);
        let expected = ", jitter 3.00 µs, delay variation up to 40.0 µs";
        assert_eq!(delays(&now.flows), expected);
        assert_eq!(delays(&now.flows[2..]), "");
        assert_eq!(SinkSum::of(&now.flows[2..]).counts(), "4000 bytes");
    }
}
