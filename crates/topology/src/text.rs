//! Networks and measurements as text.

use crate::judge::{JudgedWire, WireVerdict, expected_delay};
use crate::numbers::{significant, time_text};
use crate::plan::{LabNetwork, LabNode, LabNodeKind, PathOptions};
use crate::wire::PlannedWire;

/// A network as text: its nodes with their addresses, and its links.
pub fn described(name: &str, network: &LabNetwork) -> String {
    let mut text = match network.title.as_str() {
        "" => format!("{name}\n"),
        title => format!("{name}: {title}\n"),
    };
    for (kind, is_kind) in [
        ("hosts", is_host as fn(&&LabNode) -> bool),
        ("routers", is_router),
    ] {
        let nodes = network.nodes.iter().filter(is_kind);
        let rows: Vec<Vec<String>> = nodes.flat_map(node_rows).collect();
        if !rows.is_empty() {
            text += &format!("\n{kind}\n{}", table(&rows));
        }
    }
    let mut joining = Vec::new();
    for node in &network.nodes {
        match node.kind {
            LabNodeKind::Switch => joining.push(vec![node.name.clone(), "switch".to_owned()]),
            LabNodeKind::Hub(medium) => {
                joining.push(vec![
                    node.name.clone(),
                    format!("hub, {}", wire_text(&medium)),
                ]);
            }
            LabNodeKind::Host | LabNodeKind::Bare(_) | LabNodeKind::Router => {}
        }
    }
    if !joining.is_empty() {
        text += &format!("\nswitches and hubs\n{}", table(&joining));
    }
    let rows: Vec<Vec<String>> = (0..network.links.len())
        .flat_map(|link| link_rows(network, link))
        .collect();
    text += &format!("\nlinks\n{}", table(&rows));
    if let Some(host) = network.server_host {
        text += &format!("\nservers are started in {}\n", network.nodes[host].name);
    }
    text
}

fn is_host(node: &&LabNode) -> bool {
    matches!(node.kind, LabNodeKind::Host | LabNodeKind::Bare(_))
}

fn is_router(node: &&LabNode) -> bool {
    node.kind == LabNodeKind::Router
}

fn node_rows(node: &LabNode) -> Vec<Vec<String>> {
    let rows = node
        .interfaces
        .iter()
        .enumerate()
        .map(|(number, interface)| {
            let addresses: Vec<String> = interface
                .addresses
                .iter()
                .map(ToString::to_string)
                .collect();
            let (name, options) = match (number, node.kind) {
                (0, LabNodeKind::Host) => (node.name.clone(), options_text(&node.options)),
                (0, LabNodeKind::Bare(bare)) => (node.name.clone(), bare.text()),
                (0, _) => (node.name.clone(), String::new()),
                _ => (String::new(), String::new()),
            };
            vec![
                name,
                interface.device.clone(),
                addresses.join("  "),
                options,
            ]
        });
    rows.collect()
}

fn options_text(options: &PathOptions) -> String {
    let mut parts = vec![options.congestion.clone()];
    if let Some(time) = options.rto_min {
        parts.push(format!("rto_min {}", time_text(time)));
    }
    if let Some(window) = options.initial_window {
        parts.push(format!("initial window {window}"));
    }
    if let Some(window) = options.initial_receive_window {
        parts.push(format!("initial receive window {window}"));
    }
    if options.quickack == Some(true) {
        parts.push("quickack".to_owned());
    }
    parts.join(", ")
}

fn link_rows(network: &LabNetwork, number: usize) -> Vec<Vec<String>> {
    let link = &network.links[number];
    let [one, other] = link.ends.map(|end| {
        let node = &network.nodes[end.node].name;
        match network.interface(end) {
            Some(interface) => format!("{node} ({})", interface.device),
            None => node.clone(),
        }
    });
    let [forth, back] = link.wires;
    let mtu = link.ends.iter().find_map(|end| network.interface(*end));
    let mtu = match mtu.map_or(1500, |interface| interface.mtu) {
        1500 => String::new(),
        mtu => format!(", MTU {mtu}"),
    };
    let row = |from: &str, arrow: &str, to: &str, wire: &str| {
        vec![
            from.to_owned(),
            arrow.to_owned(),
            to.to_owned(),
            format!("{wire}{mtu}"),
        ]
    };
    if network.hub_of(link).is_some() {
        vec![row(&one, "--", &other, "the medium of the hub")]
    } else if forth == back {
        vec![row(&one, "--", &other, &wire_text(&forth))]
    } else {
        vec![
            row(&one, "->", &other, &wire_text(&forth)),
            row("", "<-", "", &wire_text(&back)),
        ]
    }
}

/// Description of a wire.
pub fn wire_text(wire: &PlannedWire) -> String {
    if !wire.is_shaped() {
        return "as fast as this machine".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(rate) = wire.rate {
        parts.push(rate_text(rate as f64));
        parts.push(wire.queue.text());
    }
    if wire.delay > 0 {
        let jitter = match wire.jitter {
            0 => String::new(),
            jitter => format!(" ± {}", time_text(jitter)),
        };
        let order = if wire.may_reorder {
            ", may reorder"
        } else {
            ""
        };
        parts.push(format!("delay {}{jitter}{order}", time_text(wire.delay)));
    }
    if wire.loss > 0.0 {
        parts.push(format!("loss {}", share_text(wire.loss)));
    }
    if wire.duplication > 0.0 {
        parts.push(format!("duplicates {}", share_text(wire.duplication)));
    }
    parts.join(", ")
}

/// Described and measured rate, delay and loss of wires, with the verdicts.
pub fn measured_table(network: &LabNetwork, wires: &[JudgedWire]) -> String {
    let heading = [
        "wire", "rate", "measured", "delay", "measured", "loss", "measured", "verdict",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for judged in wires {
        let (measured, verdict) = (&judged.measured, judged.verdict);
        let wire = judged.described(network);
        let [from, to] = judged.ends(network);
        let rate = wire
            .rate
            .map_or("any".to_owned(), |rate| rate_text(rate as f64));
        rows.push(vec![
            format!("{from} -> {to}"),
            rate,
            measured.rate.map_or("not measured".to_owned(), rate_text),
            time_text(expected_delay(&wire, measured.probe_bytes) as u64),
            match (wire.jitter, measured.least_delay, measured.mean_delay) {
                (0, Some(least), _) => time_text(least as u64),
                (_, _, Some(mean)) => format!("{} (mean)", time_text(mean as u64)),
                _ => "not measured: every probe was lost".to_owned(),
            },
            share_text(wire.loss),
            format!(
                "{} of {}",
                measured.sent.saturating_sub(measured.received),
                measured.sent
            ),
            verdict_text(verdict),
        ]);
    }
    table(&rows)
}

fn verdict_text(verdict: WireVerdict) -> String {
    let respects = [
        ("rate", verdict.rate),
        ("delay", verdict.delay),
        ("loss", Some(verdict.loss)),
    ];
    let named = |judged: Option<bool>| {
        let names = respects.iter().filter(|(_, verdict)| *verdict == judged);
        names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let (failed, unknown) = (named(Some(false)), named(None));
    let mut text = match failed.as_str() {
        "" => "as described".to_owned(),
        failed => format!("NOT as described: {failed}"),
    };
    if !unknown.is_empty() {
        text += &format!("; too few frames arrived to judge: {unknown}");
    }
    text
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn rate_text(rate: f64) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let unit = units.iter().find(|(factor, _)| rate >= *factor);
    let (factor, unit) = unit.copied().unwrap_or((1.0, "bit/s"));
    format!("{} {unit}", significant(rate / factor))
}

fn share_text(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let table = [
            (100_000_000.0, "100 Mbit/s"),
            (99_876_543.0, "99.88 Mbit/s"),
            (1_500.0, "1.5 kbit/s"),
            (2_345_000_000_000.0, "2345 Gbit/s"),
            (0.0, "0 bit/s"),
        ];
        for (rate, expected) in table {
            assert_eq!(rate_text(rate), expected);
        }
        assert_eq!(time_text(150_000), "150 µs");
        assert_eq!(time_text(50_067_200), "50.07 ms");
        assert_eq!(share_text(0.01), "1 %");
        assert_eq!(share_text(0.0), "0 %");
    }
}
