//! The reports of external generators.

use serde::Deserialize;

/// What a generator writes to its standard output when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalReport {
    /// Nothing that is read.
    None,
    /// `iperf3 --json`.
    Iperf3,
    /// The text of `ITGDec`, which decodes the logs of D-ITG.
    ItgDec,
}

/// What a generator reports of all its flows together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExternalTotals {
    /// How long it sent, in seconds.
    pub seconds: Option<f64>,
    /// Bytes that it sent.
    pub sent_bytes: Option<u64>,
    /// Bytes that its sink received.
    pub received_bytes: Option<u64>,
    /// Datagrams that it sent.
    pub packets: Option<u64>,
    /// Datagrams that were lost.
    pub lost: Option<u64>,
    /// Jitter in nanoseconds, as the generator defines it.
    pub jitter_ns: Option<u64>,
    /// Mean one-way delay in nanoseconds, by the clocks of both ends.
    pub mean_delay_ns: Option<u64>,
    /// Segments that TCP sent again.
    pub retransmissions: Option<u64>,
}

impl ExternalReport {
    /// Reads a report.
    ///
    /// # Errors
    /// A sentence, where it is no such report.
    pub fn read(self, text: &str) -> Result<ExternalTotals, String> {
        match self {
            ExternalReport::None => Ok(ExternalTotals::default()),
            ExternalReport::Iperf3 => iperf3(text),
            ExternalReport::ItgDec => itg_dec(text),
        }
    }
}

/// As far as it is read.
#[derive(Deserialize)]
struct Iperf3Report {
    error: Option<String>,
    end: Option<Iperf3End>,
}

#[derive(Deserialize)]
struct Iperf3End {
    /// Of UDP; of its source in versions that have the other two as well.
    sum: Option<Iperf3Sum>,
    sum_sent: Option<Iperf3Sum>,
    sum_received: Option<Iperf3Sum>,
}

#[derive(Deserialize, Clone, Copy)]
struct Iperf3Sum {
    seconds: Option<f64>,
    bytes: Option<f64>,
    packets: Option<f64>,
    lost_packets: Option<f64>,
    jitter_ms: Option<f64>,
    retransmits: Option<f64>,
}

/// A number of a report; `None` for one that cannot be a count.
fn count(number: f64) -> Option<u64> {
    (number >= 0.0 && number < u64::MAX as f64).then_some(number as u64)
}

fn iperf3(text: &str) -> Result<ExternalTotals, String> {
    let report: Iperf3Report =
        serde_json::from_str(text).map_err(|error| format!("not a report of iperf3: {error}"))?;
    if let Some(error) = report.error {
        return Err(format!("iperf3 reports an error: {error}"));
    }
    let end = report.end.ok_or("the report of iperf3 has no end")?;
    let is_udp = end.sum.is_some_and(|sum| sum.packets.is_some());
    if !is_udp {
        let sent = end.sum_sent.ok_or("the report of iperf3 has no sums")?;
        let received = end.sum_received.and_then(|sum| sum.bytes);
        return Ok(ExternalTotals {
            seconds: sent.seconds,
            sent_bytes: sent.bytes.and_then(count),
            received_bytes: received.and_then(count),
            retransmissions: sent.retransmits.and_then(count),
            ..ExternalTotals::default()
        });
    }
    let sum = end.sum.ok_or("the report of iperf3 has no sums")?;
    let (packets, lost) = (sum.packets.unwrap_or(0.0), sum.lost_packets.unwrap_or(0.0));
    // Until 3.12 the bytes of the sum are those of the source, and there are no others.
    let arrived = sum
        .bytes
        .map(|bytes| bytes * (1.0 - lost / packets.max(1.0)));
    let received = end.sum_received.and_then(|sum| sum.bytes).or(arrived);
    Ok(ExternalTotals {
        seconds: sum.seconds,
        sent_bytes: end
            .sum_sent
            .and_then(|sum| sum.bytes)
            .or(sum.bytes)
            .and_then(count),
        received_bytes: received.and_then(count),
        packets: count(packets),
        lost: count(lost),
        jitter_ns: sum.jitter_ms.and_then(|jitter| count(jitter * 1e6)),
        ..ExternalTotals::default()
    })
}

fn itg_dec(text: &str) -> Result<ExternalTotals, String> {
    let (_, results) = text
        .split_once("TOTAL RESULTS")
        .ok_or("not a report of ITGDec: it has no total results")?;
    let mut totals = ExternalTotals::default();
    let mut arrived = None;
    for line in results.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let number = value
            .split_whitespace()
            .next()
            .and_then(|number| number.parse::<f64>().ok());
        let Some(number) = number.filter(|number| number.is_finite()) else {
            continue;
        };
        match name.trim() {
            "Total time" => totals.seconds = Some(number),
            "Total packets" => arrived = count(number),
            "Bytes received" => totals.received_bytes = count(number),
            "Packets dropped" => totals.lost = count(number),
            "Average jitter" => totals.jitter_ns = count(number * 1e9),
            "Average delay" => totals.mean_delay_ns = count(number * 1e9),
            _ => {}
        }
    }
    totals
        .received_bytes
        .ok_or("the report of ITGDec has no bytes")?;
    // Its log is that of the sink.
    totals.packets = arrived
        .zip(totals.lost)
        .map(|(arrived, lost)| arrived.saturating_add(lost));
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ITG_DEC: &str = "
----------------------------------------------------------
Flow number: 1
Total packets            =           999
----------------------------------------------------------

__________________________________________________________
****************  TOTAL RESULTS   ******************
__________________________________________________________
Number of flows          =             1
Total time               =      9.998016 s
Total packets            =          9900
Minimum delay            =      0.000011 s
Maximum delay            =      0.001043 s
Average delay            =      0.000043 s
Average jitter           =      0.000012 s
Delay standard deviation =      0.000021 s
Bytes received           =       5068800
Average bitrate          =   4055.844597 Kbit/s
Average packet rate      =    990.196435 pkt/s
Packets dropped          =           100 (1.00 %)
Average loss-burst size  =      1.000000 pkt
Error lines              =             0
----------------------------------------------------------
";

    #[test]
    fn reports_are_read_as_totals() {
        let tcp = r#"{"start":{},"end":{"streams":[],
            "sum_sent":{"seconds":2.0,"bytes":4000,"retransmits":3,"sender":true},
            "sum_received":{"seconds":2.0,"bytes":3900}}}"#;
        let old_udp = r#"{"end":{"sum":{"seconds":2.0,"bytes":1000,"packets":10,"lost_packets":1,
            "jitter_ms":0.25}}}"#;
        let new_udp = r#"{"end":{"sum":{"seconds":2.0,"bytes":1000,"packets":10,"lost_packets":1,
            "jitter_ms":0.25},"sum_sent":{"bytes":1000},"sum_received":{"bytes":890}}}"#;
        let udp = ExternalTotals {
            seconds: Some(2.0),
            sent_bytes: Some(1000),
            received_bytes: Some(900),
            packets: Some(10),
            lost: Some(1),
            jitter_ns: Some(250_000),
            ..ExternalTotals::default()
        };
        let new = ExternalTotals {
            received_bytes: Some(890),
            ..udp
        };
        let of_tcp = ExternalTotals {
            seconds: Some(2.0),
            sent_bytes: Some(4000),
            received_bytes: Some(3900),
            retransmissions: Some(3),
            ..ExternalTotals::default()
        };
        let of_itg = ExternalTotals {
            seconds: Some(9.998016),
            received_bytes: Some(5_068_800),
            packets: Some(10_000),
            lost: Some(100),
            jitter_ns: Some(12_000),
            mean_delay_ns: Some(43_000),
            ..ExternalTotals::default()
        };
        let table = [
            (ExternalReport::Iperf3, tcp, of_tcp),
            (ExternalReport::Iperf3, old_udp, udp),
            (ExternalReport::Iperf3, new_udp, new),
            (ExternalReport::ItgDec, ITG_DEC, of_itg),
            (ExternalReport::None, "anything", ExternalTotals::default()),
        ];
        for (report, text, expected) in table {
            assert_eq!(report.read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        let error = r#"{"start":{},"end":{},"error":"unable to connect to server"}"#;
        let table = [
            (ExternalReport::Iperf3, error, "unable to connect"),
            (ExternalReport::Iperf3, "", "not a report of iperf3"),
            (ExternalReport::Iperf3, "{}", "has no end"),
            (ExternalReport::Iperf3, r#"{"end":{}}"#, "has no sums"),
            (ExternalReport::ItgDec, "", "has no total results"),
            (ExternalReport::ItgDec, "TOTAL RESULTS", "has no bytes"),
        ];
        for (report, text, expected) in table {
            let error = report.read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in ".{0,200}", number in any::<f64>()) {
            for report in [ExternalReport::Iperf3, ExternalReport::ItgDec] {
                let _ = report.read(&text);
                let _ = report.read(&format!("TOTAL RESULTS\nBytes received = {number}\nTotal packets = {number}\nPackets dropped = {number}"));
            }
            let _ = ExternalReport::Iperf3.read(&format!("{{\"end\":{{\"sum\":{{\"packets\":{number:e},\"bytes\":{number:e}}}}}}}"));
        }
    }
}
