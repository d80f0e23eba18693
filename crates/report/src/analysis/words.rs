//! The sentences of findings about transfers.

use trace::connection::ConnectionFigures;
use trace::findings::{FindingDetail, SlownessCause};

use super::CaptureAnalysis;
use super::causes::{CauseGroup, without_cause};
use super::figures::{end_name, rate, size, time};
use crate::figure::percent;
use crate::lists::number_of;
use crate::units::human_range;

/// Waits that are shown as evidence.
const SHOWN: usize = 3;

pub(super) fn title(of: &CauseGroup) -> String {
    let (end, other) = (end_name(of.end), end_name(of.end.other()));
    let count = of.count;
    let what = match of.cause {
        SlownessCause::HandshakeRetransmission => format!(
            "The {end} waited for {} until it sent its SYN again",
            number_of(count, "timeout")
        ),
        SlownessCause::Timeout => format!(
            "The {end} waited for {}",
            number_of(count, "retransmission timeout")
        ),
        SlownessCause::TailLossProbe => format!(
            "The {end} waited for {}",
            number_of(count, "tail loss probe")
        ),
        SlownessCause::ZeroWindow => format!("The {end}'s receive window was closed"),
        SlownessCause::DelayedAcknowledgment if count == 1 => format!(
            "A small segment of the {other} waited for a delayed acknowledgment of the {end} \
             (Nagle's algorithm)"
        ),
        SlownessCause::DelayedAcknowledgment => format!(
            "{count} small segments of the {other} waited for delayed acknowledgments of the {end} \
             (Nagle's algorithm)"
        ),
        SlownessCause::ServerResponseTime => {
            "The server took its time until it responded".to_owned()
        }
        SlownessCause::ServerPause if count == 1 => {
            "The server paused within a response".to_owned()
        }
        SlownessCause::ServerPause => format!("The server paused {count} times within responses"),
        SlownessCause::NoResponse if count == 1 => {
            "The connection was closed before the server had responded completely".to_owned()
        }
        SlownessCause::NoResponse => {
            format!("{count} connections were closed before the server had responded completely")
        }
        SlownessCause::ClientPause if count == 1 => "The client paused".to_owned(),
        SlownessCause::ClientPause => format!("The client paused {count} times"),
        SlownessCause::SlowStartAfterIdle => {
            format!("The {end} sent slowly after a pause (slow start after idle)")
        }
        SlownessCause::FastRecovery => format!("The {end} repaired losses"),
        SlownessCause::WindowLimited => format!("The {end}'s receive window limited the {other}"),
        SlownessCause::CongestionWindow => {
            format!("The {end} had more to send than its congestion window permitted")
        }
        SlownessCause::Queue => format!("What the {end} sent waited in a queue on the path"),
        SlownessCause::SenderPace => {
            format!("The {end} sent more slowly than the connection permitted")
        }
        SlownessCause::Refused => {
            return format!("The server refused {}", number_of(count, "connection"));
        }
        SlownessCause::Unanswered => {
            return format!(
                "{} got no response to the SYN",
                number_of(count, "connection")
            );
        }
        SlownessCause::SpuriousRetransmission => {
            return format!(
                "The {end} sent {} again though {} arrived",
                number_of(count, "segment"),
                if count == 1 { "it had" } else { "they had" }
            );
        }
    };
    let connections = match of.connections.len() {
        0 | 1 => String::new(),
        connections => format!(" in {connections} connections"),
    };
    format!(
        "{what}: {} of {}{connections} ({})",
        time(of.time_ns),
        time(of.whole_ns),
        percent(of.share())
    )
}

pub(super) fn explanation(of: &CauseGroup) -> String {
    let figures = figures(of);
    let sentences = [figures, reason(of), place(of).to_owned()];
    let sentences = sentences.iter().filter(|of| !of.is_empty());
    sentences.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Where the capture was made, if that is why it shows a loss otherwise.
fn place(of: &CauseGroup) -> &'static str {
    if of.behind_loss == 0 {
        return "";
    }
    "This was seen at the receiver's side: the capture has no lost segment, but the gap or the silence that each left \
     until it was sent again."
}

fn figures(of: &CauseGroup) -> String {
    let longest = match of.cause {
        // One wait for each acknowledgment.
        SlownessCause::CongestionWindow | SlownessCause::Queue | SlownessCause::SenderPace => None,
        _ => lengths(of),
    };
    let detail = match of.detail {
        FindingDetail::Nothing => None,
        FindingDetail::Resent { segments: 0, .. } => None,
        // The title has them.
        FindingDetail::Resent { segments, bytes }
            if of.cause == SlownessCause::SpuriousRetransmission =>
        {
            let they = if segments == 1 { "It" } else { "They" };
            Some(format!("{they} carried {}.", size(bytes)))
        }
        // A SYN counts as a byte.
        FindingDetail::Resent { .. } if of.cause == SlownessCause::HandshakeRetransmission => None,
        FindingDetail::Resent { segments, bytes } => Some(format!(
            "{} ({}) {} sent again.",
            number_of(segments, "segment"),
            size(bytes),
            if segments == 1 { "was" } else { "were" }
        )),
        FindingDetail::Window {
            window,
            rtt_ns,
            rate: permitted,
        } => Some(format!(
            "A window of {} and a round trip of {} permit {}.",
            size(window),
            time(rtt_ns),
            rate(Some(permitted))
        )),
        FindingDetail::Congestion { flight, rtt_ns, .. } => Some(match flight {
            Some(flight) => format!(
                "{} were in flight on average, with a round trip of {}.",
                size(flight),
                time(rtt_ns)
            ),
            None => format!("A round trip took {}.", time(rtt_ns)),
        }),
        FindingDetail::Queue {
            rtt_ns,
            shortest_ns,
        } => Some(format!(
            "Of {} round trip {} are queueing: the shortest took {}.",
            time(rtt_ns),
            time(rtt_ns - shortest_ns),
            time(shortest_ns)
        )),
        FindingDetail::Syns(syns) => Some(format!(
            "{} {} sent.",
            number_of(syns, "SYN"),
            if syns == 1 { "was" } else { "were" }
        )),
    };
    let sentences: Vec<String> = longest.into_iter().chain(detail).collect();
    sentences.join(" ")
}

fn lengths(of: &CauseGroup) -> Option<String> {
    let (_, longest) = of.waits.first().filter(|_| of.count > 1)?;
    let (_, shortest) = of.waits.last()?;
    let (longest_ns, shortest_ns) = (longest.length_ns, shortest.length_ns);
    Some(if of.waits.len() as u64 != of.count {
        format!("The longest took {}.", time(longest_ns))
    } else if shortest_ns as f64 >= 0.9 * longest_ns as f64 {
        format!("Each took about {}.", time(longest_ns))
    } else {
        let range = human_range((shortest_ns as f64, longest_ns as f64));
        format!("They took {range} each.")
    })
}

/// Where all that was sent again had arrived, nothing was lost.
fn late_acknowledgments(of: &CauseGroup) -> Option<String> {
    let FindingDetail::Resent { segments, .. } = of.detail else {
        return None;
    };
    let is_late = segments > 0 && of.spurious >= segments;
    is_late.then(|| {
        "Nothing was lost: the bytes had arrived, and their acknowledgments came later than the timer \
         expected."
            .to_owned()
    })
}

fn reason(of: &CauseGroup) -> String {
    let (end, other) = (end_name(of.end), end_name(of.end.other()));
    let is_spurious_finding = of.cause == SlownessCause::SpuriousRetransmission;
    if let Some(late) = late_acknowledgments(of).filter(|_| !is_spurious_finding) {
        return late;
    }
    match of.cause {
        SlownessCause::HandshakeRetransmission => "A SYN or the response to it was lost. Nothing but a \
             timer repairs that: it begins with 1 s and doubles each time (RFC 6298)."
            .to_owned(),
        SlownessCause::Timeout => "Acknowledgments could not show the loss: the last segments of a \
             transfer, a retransmission or a whole window were lost."
            .to_owned(),
        SlownessCause::TailLossProbe => format!(
            "The last segments in flight were lost, so no later one could show it, and the {end} sent a \
             probe after about two round trips (RFC 8985)."
        ),
        SlownessCause::ZeroWindow => format!(
            "The program at the {end} did not read, its receive buffer was full, and the {other} had to \
             stop."
        ),
        SlownessCause::DelayedAcknowledgment => format!(
            "The {other} wrote a message in small parts. Its kernel holds a part back while an earlier \
             one is not acknowledged, and the {end} delays the acknowledgment (40 ms on Linux)."
        ),
        SlownessCause::ServerResponseTime => "This is the time from the last byte of a request to the \
             first byte of its response, without the round trip."
            .to_owned(),
        SlownessCause::ServerPause => "All that had been sent was acknowledged, and the server sent the \
             rest of the response later."
            .to_owned(),
        SlownessCause::NoResponse => "The server had received the request, and sent nothing (more) until one end gave \
             up."
            .to_owned(),
        SlownessCause::ClientPause => "The client sent no request, or paused within one. This time is no \
             part of the transfers above."
            .to_owned(),
        SlownessCause::SlowStartAfterIdle => "After a pause the congestion window starts small again \
             (RFC 5681, section 4.1)."
            .to_owned(),
        SlownessCause::FastRecovery => "Acknowledgments showed the losses within a round trip or two; \
             meanwhile the congestion window is reduced."
            .to_owned(),
        SlownessCause::WindowLimited => format!(
            "The {other} had sent as much as the window permits, and waited for acknowledgments."
        ),
        SlownessCause::CongestionWindow => congestion(of),
        SlownessCause::Queue => format!(
            "The {end} kept the slowest link on the path busy, and what it had in flight beyond that stood in the \
             queue before it (bufferbloat). A larger window would make the queue longer, not the transfer faster."
        ),
        SlownessCause::SenderPace => format!(
            "Neither losses, nor a window, nor a queue that the capture shows held the {end} back: its program wrote no \
             faster, its send buffer was small, or its congestion control sets a pace (BBR)."
        ),
        SlownessCause::Refused => "Each SYN was answered with a RST: no program listens on that port, or a \
             firewall rejects the connection."
            .to_owned(),
        SlownessCause::Unanswered => "Neither a SYN-ACK nor a RST came back. Clients repeat a SYN after 1 s, \
             3 s, 7 s, ... and give up after minutes."
            .to_owned(),
        SlownessCause::SpuriousRetransmission => "The receiver reported these bytes as received twice, or \
             acknowledged them before. The capture does not show how much time that took: the congestion \
             window was reduced for no loss."
            .to_owned(),
    }
}

fn congestion(of: &CauseGroup) -> String {
    let (losses, permitted) = match of.detail {
        FindingDetail::Congestion {
            losses, permitted, ..
        } => (losses, permitted),
        _ => (0, None),
    };
    if losses == 0 {
        return "No loss limited the window: it begins with about 10 segments and doubles in each round trip at \
                most (slow start)."
            .to_owned();
    }
    let reduced =
        "Each loss reduces the window, which then grows again by some segments in each round trip.";
    match permitted {
        Some((permitted, reached)) => format!(
            "{reduced} {losses} losses permit about {} (MSS / RTT x 1.22 / sqrt(p), Mathis 1997); the transfer had {}.",
            rate(Some(permitted)),
            rate(Some(reached))
        ),
        None => reduced.to_owned(),
    }
}

pub(super) fn look_at(of: &CauseGroup) -> String {
    let (end, other) = (end_name(of.end), end_name(of.end.other()));
    if late_acknowledgments(of).is_some() {
        return format!(
            "reordering on the path from the {end} to the {other}, and delays that vary by more than the \
             timeout (long queues, wireless links that pause)."
        );
    }
    match of.cause {
        SlownessCause::HandshakeRetransmission => {
            "losses on the path, firewalls, and listen queues that \
             overflow (TcpExtListenDrops of `nstat` on the server)."
                .to_owned()
        }
        SlownessCause::Timeout => format!(
            "losses on the path from the {end} to the {other} (full queues, wireless links, policers); \
             at the {end} at SACK, tail loss probes (tcp_early_retrans) and the minimum timeout (200 ms \
             on Linux; rto_min of `ip route`)."
        ),
        SlownessCause::TailLossProbe => format!(
            "losses on the path from the {end} to the {other} (full queues, wireless links, policers)."
        ),
        SlownessCause::ZeroWindow => format!(
            "what the program at the {end} does while it should read (disk, locks, work in the reading \
             thread), and at its receive buffer (SO_RCVBUF, tcp_rmem)."
        ),
        SlownessCause::DelayedAcknowledgment => format!(
            "TCP_NODELAY at the {other}, or at writing each message at once (a buffer, writev, \
             TCP_CORK)."
        ),
        SlownessCause::ServerResponseTime => {
            "the program of the server: handlers, databases, disks, \
             queues for worker threads; the table of requests shows which ones were slow."
                .to_owned()
        }
        SlownessCause::ServerPause => {
            "what the server waits for while it writes a response: a backend, \
             disks, a rate limit."
                .to_owned()
        }
        SlownessCause::NoResponse => {
            "what the program of the server waited for (locks, a backend), and at the timeouts of both ends; the \
             request is in the table of requests."
                .to_owned()
        }
        SlownessCause::ClientPause => {
            "the program of the client, if it should have been busy: work \
             between requests, requests one after the other."
                .to_owned()
        }
        SlownessCause::SlowStartAfterIdle => format!(
            "net.ipv4.tcp_slow_start_after_idle at the {end}, if its transfers follow pauses."
        ),
        SlownessCause::FastRecovery => format!(
            "losses and reordering on the path from the {end} to the {other} (full queues, wireless \
             links, policers)."
        ),
        SlownessCause::WindowLimited => format!(
            "the receive buffer of the {end} (SO_RCVBUF, net.ipv4.tcp_rmem), and at window scaling in its \
             SYN."
        ),
        SlownessCause::CongestionWindow => match of.detail {
            FindingDetail::Congestion { losses, .. } if losses > 0 => format!(
                "losses on the path from the {end} to the {other}, and at congestion control of the {end} \
                 (net.ipv4.tcp_congestion_control)."
            ),
            _ => format!(
                "the length of the round trip, connections that are used for one transfer only, and the initial window \
                 of the {end} (initcwnd of `ip route`)."
            ),
        },
        SlownessCause::Queue => format!(
            "the slowest link on the path from the {end} to the {other}, and its queue: active queue management \
             (fq_codel, CAKE) or a shorter queue spares other traffic; only a higher rate or fewer bytes make this \
             transfer faster."
        ),
        SlownessCause::SenderPace => format!(
            "the program of the {end} (rate limits, disks, encryption, small writes), its send buffer (SO_SNDBUF, \
             net.ipv4.tcp_wmem), and its congestion control (net.ipv4.tcp_congestion_control)."
        ),
        SlownessCause::Refused => {
            "whether the program of the server runs and listens on this address and port (`ss -ltn`), and at \
             firewalls that reject."
                .to_owned()
        }
        SlownessCause::Unanswered => {
            "firewalls that drop packets, the address and the route to it, whether the host is up, and listen queues \
             that overflow (TcpExtListenDrops of `nstat` on the server). If only one direction was captured, \
             responses are missing for that reason."
                .to_owned()
        }
        SlownessCause::SpuriousRetransmission => format!(
            "reordering on the path from the {end} to the {other}, and delays that vary by more than the \
             timeout."
        ),
    }
}

pub(super) fn rest(connections: &[ConnectionFigures], groups: &[CauseGroup]) -> Option<String> {
    let (rest_ns, whole_ns) = without_cause(connections, groups)?;
    Some(format!(
        "Without a cause: {} of {} ({}). It contains round trips of handshakes and requests, and causes below 2 % of a \
         transfer.",
        time(rest_ns),
        time(whole_ns),
        percent(rest_ns as f64 / whole_ns as f64)
    ))
}

pub(super) fn evidence(of: &CauseGroup, analysis: &CaptureAnalysis) -> Vec<String> {
    let connections = &analysis.contents.traced.connections;
    let name = |index: usize| {
        let ends = connections.get(index).filter(|_| connections.len() > 1);
        let ends = ends.map(|ends| format!(" ({} to {})", ends.client, ends.server));
        format!("connection {}{}", index + 1, ends.unwrap_or_default())
    };
    let shown = of.waits.iter().take(SHOWN);
    let mut lines: Vec<String> = shown
        .map(|(index, wait)| {
            format!(
                "{}, {} from {} on: packets {} to {}",
                name(*index),
                time(wait.length_ns),
                time(analysis.since_start_ns(wait.start_ns)),
                wait.from_packet,
                wait.to_packet
            )
        })
        .collect();
    if lines.is_empty() {
        let connections = of.connections.iter().take(SHOWN);
        lines.extend(connections.map(|(index, _)| name(*index)));
        let more = of.connections.len() - lines.len();
        lines.extend(
            (more > 0).then(|| format!("and {}", number_of(more as u64, "more connection"))),
        );
        return lines;
    }
    let more = of.count.saturating_sub(lines.len() as u64);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}
