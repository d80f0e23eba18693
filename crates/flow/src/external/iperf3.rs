//! The report of `iperf3 --json`, of a client or a server, in both directions.

use serde::Deserialize;

use super::report::{ExternalFigures, ExternalTotals, count};

#[derive(Deserialize)]
struct Iperf3Report {
    error: Option<String>,
    start: Option<Iperf3Start>,
    end: Option<Iperf3End>,
}

#[derive(Deserialize)]
struct Iperf3Start {
    /// Present in the report of a server only.
    accepted_connection: Option<serde::de::IgnoredAny>,
    test_start: Option<Iperf3Test>,
}

#[derive(Deserialize)]
struct Iperf3Test {
    /// 1 where the server sends and the client receives.
    reverse: Option<u8>,
}

#[derive(Deserialize)]
struct Iperf3End {
    /// Totals of UDP; those of the source in versions that have the other two as well.
    sum: Option<Iperf3Sum>,
    sum_sent: Option<Iperf3Sum>,
    sum_received: Option<Iperf3Sum>,
    /// The same of the data that the server sends, where both send (`--bidir`).
    sum_bidir_reverse: Option<Iperf3Sum>,
    sum_sent_bidir_reverse: Option<Iperf3Sum>,
    sum_received_bidir_reverse: Option<Iperf3Sum>,
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

/// Part of the error that iperf3 reports, on both sides, where one of them was stopped by a signal;
/// from 3.18 on, the signal follows.
const STOPPED: &str = "has terminated";

/// Figures of one side of iperf3.
#[derive(Clone, Copy)]
struct Iperf3Side {
    is_client: bool,
    /// Ends that are stopped do not exchange their figures. Those of the other side are zeros then,
    /// as always in the report of a server.
    knows_other_side: bool,
}

pub(super) fn iperf3(text: &str) -> Result<ExternalFigures, String> {
    let report: Iperf3Report =
        serde_json::from_str(text).map_err(|error| format!("not a report of iperf3: {error}"))?;
    let was_stopped = match report.error {
        None => false,
        Some(error) if error.contains(STOPPED) && report.end.is_some() => true,
        Some(error) => return Err(format!("iperf3 reports an error: {error}")),
    };
    let end = report.end.ok_or("the report of iperf3 has no end")?;
    let start = report.start;
    let accepted = start.as_ref().map(|start| &start.accepted_connection);
    let is_client = accepted.is_none_or(Option::is_none);
    let side = Iperf3Side {
        is_client,
        knows_other_side: is_client && !was_stopped,
    };
    let first = [end.sum, end.sum_sent, end.sum_received];
    let second = [
        end.sum_bidir_reverse,
        end.sum_sent_bidir_reverse,
        end.sum_received_bidir_reverse,
    ];
    let test = start.and_then(|start| start.test_start);
    if test.is_some_and(|test| test.reverse == Some(1)) {
        return Ok(ExternalFigures {
            forward: ExternalTotals::default(),
            backward: side.direction(first, !is_client)?,
        });
    }
    let backward = if second.iter().any(Option::is_some) {
        side.direction(second, !is_client)?
    } else {
        ExternalTotals::default()
    };
    Ok(ExternalFigures {
        forward: side.direction(first, is_client)?,
        backward,
    })
}

impl Iperf3Side {
    /// One direction, in which this side sends or receives.
    fn direction(
        self,
        [sum, sent, received]: [Option<Iperf3Sum>; 3],
        is_sender: bool,
    ) -> Result<ExternalTotals, String> {
        let datagrams = sum.filter(|sum| sum.packets.is_some());
        let any = datagrams.or(sent).or(received);
        let any = any.ok_or("the report of iperf3 has no sums")?;
        let sent_figure =
            |figure: Option<u64>| figure.filter(|_| is_sender || self.knows_other_side);
        let received_figure =
            |figure: Option<u64>| figure.filter(|_| !is_sender || self.knows_other_side);
        let bytes = |sum: Option<Iperf3Sum>| sum.and_then(|sum| sum.bytes);
        // Until 3.12 the bytes of the sum are those of the source, and there are no others.
        let arrived = datagrams.and_then(|sum| {
            let share = 1.0 - sum.lost_packets.unwrap_or(0.0) / sum.packets?.max(1.0);
            Some(sum.bytes? * share)
        });
        let retransmits = sent.and_then(|sum| sum.retransmits);
        let jitter = datagrams.and_then(|sum| sum.jitter_ms);
        Ok(ExternalTotals {
            seconds: any.seconds.filter(|_| self.is_client),
            sent_bytes: sent_figure(bytes(sent).or(bytes(datagrams)).and_then(count)),
            received_bytes: received_figure(bytes(received).or(arrived).and_then(count)),
            packets: datagrams.and_then(|sum| sum.packets).and_then(count),
            lost: received_figure(datagrams.and_then(|sum| sum.lost_packets).and_then(count)),
            jitter_ns: received_figure(jitter.and_then(|jitter| count(jitter * 1e6))),
            mean_delay_ns: None,
            retransmissions: sent_figure(retransmits.and_then(count)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a report; each sum is bytes and packets.
    fn report(is_server: bool, reverse: u8, error: &str, sums: &[(&str, u64, u64)]) -> String {
        let accepted = if is_server {
            r#""accepted_connection":{"host":"::1"},"#
        } else {
            ""
        };
        let sums: Vec<String> = sums
            .iter()
            .map(|(name, bytes, packets)| {
                format!(r#""{name}":{{"seconds":2.0,"bytes":{bytes},"packets":{packets},"lost_packets":1,"jitter_ms":0.25}}"#)
            })
            .collect();
        format!(
            r#"{{"start":{{{accepted}"test_start":{{"reverse":{reverse}}}}},"error":"{error}","end":{{{}}}}}"#,
            sums.join(",")
        )
    }

    /// The error of iperf3 3.18 when it is stopped by SIGTERM; 3.12 has no signal there.
    const CLIENT: &str = "interrupt - the client has terminated by signal Terminated(15)";
    const SERVER: &str = "the client has terminated";

    /// Figures of both ends, stopped, of one direction.
    fn whole(bytes: u64, packets: u64) -> ExternalTotals {
        ExternalTotals {
            seconds: Some(2.0),
            sent_bytes: Some(bytes),
            received_bytes: Some(bytes - 100),
            packets: Some(packets),
            lost: Some(1),
            jitter_ns: Some(250_000),
            ..ExternalTotals::default()
        }
    }

    #[test]
    fn each_side_that_was_stopped_knows_its_own_half_of_each_direction() {
        let forward = |sent, received| {
            [
                ("sum", 0, 10),
                ("sum_sent", sent, 10),
                ("sum_received", received, 10),
            ]
        };
        let backward = |sent, received| {
            [
                ("sum_bidir_reverse", 0, 20),
                ("sum_sent_bidir_reverse", sent, 20),
                ("sum_received_bidir_reverse", received, 20),
            ]
        };
        let read = |client: &[_], server: &[_], reverse| {
            let client = iperf3(&report(false, reverse, CLIENT, client)).unwrap();
            let server = iperf3(&report(true, reverse, SERVER, server)).unwrap();
            client.with_sink(server)
        };
        let one = read(&forward(1000, 0), &forward(0, 900), 0);
        assert_eq!(one.totals(), whole(1000, 10));
        let reverse = read(&forward(0, 900), &forward(1000, 0), 1);
        assert_eq!(reverse.totals(), whole(1000, 10));
        assert_eq!(reverse.forward, ExternalTotals::default());
        let both = read(
            &[forward(1000, 0), backward(0, 1900)].concat(),
            &[forward(0, 900), backward(2000, 0)].concat(),
            0,
        );
        let expected = ExternalTotals {
            received_bytes: Some(2800),
            lost: Some(2),
            ..whole(3000, 30)
        };
        let found = (both.forward, both.backward);
        assert_eq!(found, (whole(1000, 10), whole(2000, 20)));
        assert_eq!(both.totals(), expected);
        // Without a report of the sink, the figures of the client remain.
        let alone = iperf3(&report(false, 1, CLIENT, &forward(0, 900)));
        let alone = alone.unwrap().totals();
        assert_eq!((alone.sent_bytes, alone.received_bytes), (None, Some(900)));
    }
}
