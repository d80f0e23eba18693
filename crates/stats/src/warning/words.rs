//! Each warning in one sentence.

use std::fmt;

use record::Exhausted;

use super::{P99_NEEDS, Share, Warning};

/// Names that a warning spells out; a longer list is cut with its length.
const NAMED: usize = 3;

/// On a machine that the load generator shares with the server, more threads made the slowest times
/// longer, and brought little throughput or none (`cargo xtask bench threads`).
const MORE_THREADS: &str = "more --threads help only where processors are idle";

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Exhausted { what, .. } => exhausted(self.shares(), *what, f),
            Warning::Saturated { .. }
            | Warning::Busy { .. }
            | Warning::Queued { .. }
            | Warning::Stalled { .. }
            | Warning::TotalStalled { .. }
            | Warning::Hiccup { .. }
            | Warning::Late { .. }
            | Warning::HalfIdle { .. }
            | Warning::PartlyIdle { .. } => about_generator(self, f),
            _ => about_operations(self, f),
        }
    }
}

fn about_generator(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let percents = Listed(warning.shares(), percent);
    match warning {
        Warning::Saturated { .. } => write!(
            f,
            "the load generator had no idle time ({percents} of the time of its worker threads used \
             or wanted), so it set the pace and not the server; lower the load, or use a stronger \
             machine ({MORE_THREADS})"
        ),
        Warning::Busy { .. } => write!(
            f,
            "the load generator had little idle time ({percents} of the time of its worker threads \
             used or wanted), so operations waited for each other in it; lower the load \
             ({MORE_THREADS})"
        ),
        Warning::Queued { .. } => write!(
            f,
            "the load generator waited for a processor ({percents} of its time): the server or \
             another program uses this machine; use another one"
        ),
        Warning::Stalled { .. } => write!(
            f,
            "the load generator stalled, which may be a part of these estimates: {percents}; stop \
             other programs or use another machine"
        ),
        Warning::TotalStalled { .. } => write!(
            f,
            "the load generator stalled, which may be a part of these total times: {percents}; the \
             response times hardly contain it"
        ),
        Warning::Hiccup { .. } => write!(
            f,
            "the load generator stalled once for {}, which may be in the slowest times; measure \
             again, or for longer",
            Listed(warning.shares(), milliseconds)
        ),
        Warning::Late { .. } => write!(
            f,
            "the load generator did not keep its schedule: operations began late by {} (p99), which \
             their times contain; lower the rate, or stop other programs \
             ({MORE_THREADS})",
            Listed(warning.shares(), milliseconds_of),
        ),
        Warning::HalfIdle { .. } => write!(
            f,
            "users waited in the load generator for most of the time: on average only {percents} of \
             the operations were under way that should have been; lower --concurrency \
             ({MORE_THREADS})"
        ),
        Warning::PartlyIdle { .. } => write!(
            f,
            "users waited in the load generator now and then: on average {percents} of the \
             operations were under way that should have been; lower --concurrency \
             ({MORE_THREADS})"
        ),
        _ => Ok(()),
    }
}

fn exhausted(tests: &[Share], what: Exhausted, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let resources = [
        (
            what.ports,
            "local ports",
            "keep connections, or widen net.ipv4.ip_local_port_range",
        ),
        (what.files, "open files", "raise the limit (ulimit -n)"),
        (
            what.buffers,
            "memory for sockets",
            "lower --concurrency, or raise net.ipv4.tcp_mem",
        ),
    ];
    f.write_str("this machine ran out of ")?;
    let ran_out = resources.iter().filter(|(times, ..)| *times > 0);
    for (place, (times, resource, advice)) in ran_out.enumerate() {
        let comma = if place > 0 { "; of " } else { "" };
        write!(f, "{comma}{resource} ({times} times): {advice}")?;
    }
    match tests {
        [] => Ok(()),
        tests => write!(f, " (in {})", Listed(tests, times)),
    }
}

fn about_operations(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shares = Listed(warning.shares(), count_of);
    match warning {
        Warning::MissedStamps { .. } => write!(
            f,
            "time stamps of the kernel never came, and such operations have no response time: \
             {shares}; look at the driver of the network card, or measure with --clock user"
        ),
        Warning::ClockStepped { times } => write!(
            f,
            "the clock of the kernel's time stamps was set {times} times while the run went on; \
             operations that were under way have no response time: measure again"
        ),
        Warning::Bias { .. } => write!(
            f,
            "the load generator was slow to wake up: a user-space clock would have over-reported by \
             {} (p99); the times here do not contain it",
            Listed(warning.shares(), milliseconds)
        ),
        Warning::UsersIdle { .. } => write!(
            f,
            "some users never did an operation, so nothing was measured with all of them at work: \
             {shares} users; look for failures in the set-up"
        ),
        Warning::NoOverlap { limit, .. } => write!(
            f,
            "the users were never all at work together, so nothing counts: {shares} operations; \
             raise {}, or lower --concurrency",
            limit.option()
        ),
        Warning::WindowSmall { limit, .. } => write!(
            f,
            "less than half of the operations fell into the time in which all users were at work: \
             {shares}; raise {}",
            limit.option()
        ),
        Warning::FewForPercentiles { limit, .. } => write!(
            f,
            "fewer than {P99_NEEDS} operations, p99 is their maximum: {shares}; raise {}",
            limit.option()
        ),
        Warning::Orphans { samples } => write!(
            f,
            "{samples} samples belong to no row of the plan and are counted nowhere; the run \
             directory is damaged"
        ),
        Warning::Recorded { text } => f.write_str(text),
        _ => about_connections(warning, f),
    }
}

fn about_connections(warning: &Warning, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shares = Listed(warning.shares(), count_of);
    match warning {
        Warning::EarlyResponses { .. } => write!(
            f,
            "the server answered before it had the whole request, and such operations have no \
             response time: {shares}; compare the total times instead"
        ),
        Warning::Resent { .. } => write!(
            f,
            "requests were sent once more, outside the times, because a kept connection had died \
             or a Digest nonce had run out: {shares}; look at the server's limits for both"
        ),
        Warning::Reconnects { .. } => write!(
            f,
            "most operations opened a connection of their own: {shares}; the server does not \
             keep connections, so total times contain connecting (response times do not)"
        ),
        Warning::Dropped { open: true, .. } => write!(
            f,
            "the server could not take the rate, and operations that would have had to wait behind \
             too many others were never sent: {shares}; the times are those of the others, so \
             lower the rate, or raise --users or --max-waiting"
        ),
        Warning::Dropped { open: false, .. } => write!(
            f,
            "planned operations were never sent, because an earlier step did not give what they \
             need, or because this machine could not keep up: {shares}"
        ),
        _ => Ok(()),
    }
}

/// How the number of a share is written after its name.
type Number = fn(&Share, &mut fmt::Formatter<'_>) -> fmt::Result;

fn count_of(share: &Share, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} of {}", share.count, share.of)
}

fn percent(share: &Share, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{:.0} %", share.percent())
}

fn milliseconds_of(share: &Share, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    milliseconds(share, f)?;
    write!(f, " of {:.2} ms", share.of as f64 / 1e6)
}

fn times(share: &Share, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} times", share.count)
}

fn milliseconds(share: &Share, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{:.2} ms", share.count as f64 / 1e6)
}

/// Shares in words, the first few of them: `Put1K 3 of 10, Get1K 1 of 10 and 4 more`.
struct Listed<'a>(&'a [Share], Number);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, share) in self.0.iter().take(NAMED).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{} ", share.name)?;
            (self.1)(share, f)?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
