//! The reports of external generators.

use traffic::{GeneratorReportFormat, ReportedFiguresSpec};

use super::iperf3::iperf3;

/// Format of the report of a generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExternalReport {
    /// No report is read.
    None,
    /// `iperf3 --json`, of a client or a server.
    Iperf3,
    /// The text of `ITGDec`, which decodes the logs of D-ITG.
    ItgDec,
    /// Numbers after texts.
    Figures(ReportedFiguresSpec),
}

impl From<&GeneratorReportFormat> for ExternalReport {
    fn from(format: &GeneratorReportFormat) -> ExternalReport {
        match format {
            GeneratorReportFormat::None => ExternalReport::None,
            GeneratorReportFormat::Iperf3 => ExternalReport::Iperf3,
            GeneratorReportFormat::ItgDec => ExternalReport::ItgDec,
            GeneratorReportFormat::Figures(figures) => ExternalReport::Figures(figures.clone()),
        }
    }
}

/// Totals of all flows of a generator.
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

impl ExternalTotals {
    /// Figures of the sending end, replaced by those of the receiving end for arrivals.
    fn with_receiver(self, receiver: ExternalTotals) -> ExternalTotals {
        ExternalTotals {
            seconds: self.seconds.or(receiver.seconds),
            sent_bytes: self.sent_bytes.or(receiver.sent_bytes),
            received_bytes: receiver.received_bytes.or(self.received_bytes),
            packets: self.packets.or(receiver.packets),
            lost: receiver.lost.or(self.lost),
            jitter_ns: receiver.jitter_ns.or(self.jitter_ns),
            mean_delay_ns: receiver.mean_delay_ns.or(self.mean_delay_ns),
            retransmissions: self.retransmissions.or(receiver.retransmissions),
        }
    }

    /// Two directions together: counts are added; of times, the longer one is used.
    fn and(self, other: ExternalTotals) -> ExternalTotals {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            _ => one.or(other),
        };
        let seconds = [self.seconds, other.seconds].into_iter().flatten();
        ExternalTotals {
            seconds: seconds.reduce(f64::max),
            sent_bytes: sum(self.sent_bytes, other.sent_bytes),
            received_bytes: sum(self.received_bytes, other.received_bytes),
            packets: sum(self.packets, other.packets),
            lost: sum(self.lost, other.lost),
            jitter_ns: self.jitter_ns.max(other.jitter_ns),
            mean_delay_ns: self.mean_delay_ns.max(other.mean_delay_ns),
            retransmissions: sum(self.retransmissions, other.retransmissions),
        }
    }
}

/// Totals of a generator in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExternalFigures {
    /// Data from its source to its sink.
    pub forward: ExternalTotals,
    /// Data from its sink to its source.
    pub backward: ExternalTotals,
}

impl ExternalFigures {
    /// Figures of a source, with those of its sink.
    #[must_use]
    pub fn with_sink(self, sink: ExternalFigures) -> ExternalFigures {
        ExternalFigures {
            forward: self.forward.with_receiver(sink.forward),
            backward: sink.backward.with_receiver(self.backward),
        }
    }

    /// Both directions together.
    pub fn totals(self) -> ExternalTotals {
        self.forward.and(self.backward)
    }
}

impl From<ExternalTotals> for ExternalFigures {
    fn from(forward: ExternalTotals) -> ExternalFigures {
        ExternalFigures {
            forward,
            ..ExternalFigures::default()
        }
    }
}

impl ExternalReport {
    /// Reads a report.
    ///
    /// # Errors
    /// A sentence, if the text is no such report.
    pub fn read(&self, text: &str) -> Result<ExternalFigures, String> {
        match self {
            ExternalReport::None => Ok(ExternalFigures::default()),
            ExternalReport::Iperf3 => iperf3(text),
            ExternalReport::ItgDec => itg_dec(text).map(Into::into),
            ExternalReport::Figures(texts) => figures(text, texts).map(Into::into),
        }
    }
}

/// The number after the last occurrence of each text.
fn figures(text: &str, texts: &ReportedFiguresSpec) -> Result<ExternalTotals, String> {
    let number = |before: &Option<String>| {
        let Some(before) = before else {
            return Ok(None);
        };
        let rest = text.rsplit_once(before.as_str()).map(|(_, rest)| rest);
        let number = rest.and_then(|rest| {
            let rest = rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse::<u64>().ok()
        });
        let number = number.map(Some);
        number.ok_or_else(|| format!("the report has no number after `{before}`"))
    };
    Ok(ExternalTotals {
        sent_bytes: number(&texts.sent_bytes)?,
        received_bytes: number(&texts.received_bytes)?,
        packets: number(&texts.packets)?,
        lost: number(&texts.lost)?,
        ..ExternalTotals::default()
    })
}

fn itg_dec(text: &str) -> Result<ExternalTotals, String> {
    let results = text.split_once("TOTAL RESULTS");
    let (_, results) = results.ok_or("not a report of ITGDec: it has no total results")?;
    let mut totals = ExternalTotals::default();
    let mut arrived = None;
    for line in results.lines() {
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let number = value.split_whitespace().next();
        let number = number.and_then(|number| number.parse::<f64>().ok());
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
    let bytes = totals.received_bytes;
    bytes.ok_or("the report of ITGDec has no bytes")?;
    // The log of D-ITG is that of the sink.
    let packets = arrived.zip(totals.lost);
    totals.packets = packets.map(|(arrived, lost)| arrived.saturating_add(lost));
    Ok(totals)
}

/// A number of a report; `None` for one that cannot be a count.
pub(super) fn count(number: f64) -> Option<u64> {
    (number >= 0.0 && number < u64::MAX as f64).then_some(number as u64)
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
        let from_tcp = ExternalTotals {
            seconds: Some(2.0),
            sent_bytes: Some(4000),
            received_bytes: Some(3900),
            retransmissions: Some(3),
            ..ExternalTotals::default()
        };
        let numbers = ExternalReport::Figures(ReportedFiguresSpec {
            sent_bytes: Some("sent:".to_owned()),
            lost: Some("lost ".to_owned()),
            ..ReportedFiguresSpec::default()
        });
        let from_numbers = ExternalTotals {
            sent_bytes: Some(70),
            lost: Some(0),
            ..ExternalTotals::default()
        };
        let from_itg = ExternalTotals {
            seconds: Some(9.998016),
            received_bytes: Some(5_068_800),
            packets: Some(10_000),
            lost: Some(100),
            jitter_ns: Some(12_000),
            mean_delay_ns: Some(43_000),
            ..ExternalTotals::default()
        };
        let table = [
            (ExternalReport::Iperf3, tcp, from_tcp),
            (ExternalReport::Iperf3, old_udp, udp),
            (ExternalReport::Iperf3, new_udp, new),
            (ExternalReport::ItgDec, ITG_DEC, from_itg),
            (ExternalReport::None, "anything", ExternalTotals::default()),
            (numbers, "sent: 5\nsent: 70 bytes, lost 0", from_numbers),
        ];
        for (report, text, expected) in table {
            assert_eq!(report.read(text), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        let error = r#"{"start":{},"end":{},"error":"unable to connect to server"}"#;
        let huge = "sent 99999999999999999999";
        let numbers = |text: &str| {
            ExternalReport::Figures(ReportedFiguresSpec {
                sent_bytes: Some(text.to_owned()),
                ..ReportedFiguresSpec::default()
            })
        };
        let table = [
            (numbers("sent"), "sent no bytes", "no number after `sent`"),
            (numbers("sent"), huge, "no number after `sent`"),
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
        fn any_text_is_read_without_harm(text in ".{0,200}", before in ".{1,3}", number in any::<f64>()) {
            let texts = ReportedFiguresSpec { lost: Some(before), ..ReportedFiguresSpec::default() };
            for report in [ExternalReport::Iperf3, ExternalReport::ItgDec, ExternalReport::Figures(texts)] {
                let _ = report.read(&text);
                let _ = report.read(&format!("TOTAL RESULTS\nBytes received = {number}\nTotal packets = {number}\nPackets dropped = {number}"));
            }
            let _ = ExternalReport::Iperf3.read(&format!("{{\"end\":{{\"sum\":{{\"packets\":{number:e},\"bytes\":{number:e}}}}}}}"));
        }
    }
}
