//! Networks as pictures.

use std::collections::VecDeque;

use crate::plan::{LabNetwork, LabNodeKind};
use crate::text::wire_text;

/// Distance of columns and rows, and margin, in pixels.
const COLUMN: usize = 170;
const ROW: usize = 84;
const MARGIN: usize = 80;
/// Half the width and height of a node.
const HALF: (usize, usize) = (52, 18);

/// Draws a network as SVG: hosts, routers, switches and hubs in columns by their distance from the first link's
/// end, with the links between them. Links that do something to frames are thick, and have their description.
#[must_use]
pub fn svg(name: &str, network: &LabNetwork) -> String {
    let places = places(network);
    let columns = places.iter().map(|(x, _)| x + 1).max().unwrap_or(1);
    let rows = places.iter().map(|(_, y)| y + 1).max().unwrap_or(1);
    let width = 2 * MARGIN + (columns - 1) * COLUMN;
    let height = 2 * MARGIN + (rows - 1) * ROW;
    let centre = |node: usize| {
        let (column, row) = places[node];
        // A column with fewer nodes is in the middle.
        let own = places.iter().filter(|(x, _)| *x == column).count();
        let shift = (rows - own) * ROW / 2;
        (MARGIN + column * COLUMN, MARGIN + row * ROW + shift)
    };
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\" \
         text-anchor=\"middle\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{}\" y=\"28\" font-size=\"15\">{}</text>\n",
        escaped(name),
        width / 2,
        escaped(&network.title)
    );
    for link in &network.links {
        let [(x1, y1), (x2, y2)] = link.ends.map(|end| centre(end.node));
        let stroke = if link.is_shaped() { 4 } else { 1 };
        drawn += &format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#666\" \
             stroke-width=\"{stroke}\"/>\n"
        );
        let lines = labels(network, link);
        let middle = (usize::midpoint(x1, x2), usize::midpoint(y1, y2));
        for (number, line) in lines.iter().enumerate() {
            let y = middle.1 + 38 + 13 * number;
            drawn += &text(middle.0, y, 10, line);
        }
    }
    for (number, node) in network.nodes.iter().enumerate() {
        let (x, y) = centre(number);
        let (fill, corner) = match node.kind {
            LabNodeKind::Host => ("#dbe9f6", 3),
            LabNodeKind::Bare(_) => ("#f6dbe4", 3),
            LabNodeKind::Router => ("#fde3c8", 18),
            LabNodeKind::Switch => ("#e2efda", 0),
            LabNodeKind::Hub(_) => ("#eadcf0", 0),
        };
        drawn += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{corner}\" fill=\"{fill}\" \
             stroke=\"#333\"/>\n",
            x - HALF.0,
            y - HALF.1,
            2 * HALF.0,
            2 * HALF.1
        );
        drawn += &text(x, y + 4, 12, &node.name);
        if let LabNodeKind::Hub(medium) = node.kind {
            drawn += &text(x, y + 34, 10, &wire_text(&medium));
        }
    }
    drawn + "</svg>\n"
}

fn text(x: usize, y: usize, size: usize, line: &str) -> String {
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{}</text>\n",
        escaped(line)
    )
}

/// What a link does, one line for each direction where they differ.
fn labels(network: &LabNetwork, link: &crate::plan::LabLink) -> Vec<String> {
    let [forth, back] = link.wires;
    if !link.is_shaped() {
        return Vec::new();
    }
    let parts = |wire| {
        let words = wire_text(wire);
        words.split(", ").map(str::to_owned).collect::<Vec<_>>()
    };
    if forth == back {
        return parts(&forth);
    }
    let to = |end: usize| format!("to {}:", network.nodes[link.ends[end].node].name);
    [vec![to(1)], parts(&forth), vec![to(0)], parts(&back)].concat()
}

fn escaped(text: &str) -> String {
    let visible = text.chars().filter(|c| !c.is_control());
    let mut escaped = String::new();
    for c in visible {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            other => escaped.push(other),
        }
    }
    escaped
}

/// Column and row of each node: the distance from the first node of the first link, and the order in which nodes are
/// reached. Parts that are not joined stand one below the other.
fn places(network: &LabNetwork) -> Vec<(usize, usize)> {
    let count = network.nodes.len();
    let mut columns: Vec<Option<usize>> = vec![None; count];
    let mut order = Vec::new();
    let first = network.links.first().map(|link| link.ends[0].node);
    for start in first.into_iter().chain(0..count) {
        if columns[start].is_some() {
            continue;
        }
        columns[start] = Some(0);
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            order.push(node);
            for link in &network.links {
                let [one, other] = link.ends.map(|end| end.node);
                let next = match node {
                    _ if one == node => other,
                    _ if other == node => one,
                    _ => continue,
                };
                if columns[next].is_none() {
                    columns[next] = columns[node].map(|column| column + 1);
                    open.push_back(next);
                }
            }
        }
    }
    // Leaves that hang at the same node as the start stand in its column.
    let degree = |node: usize| {
        let ends = network.links.iter().flat_map(|link| link.ends);
        ends.filter(|end| end.node == node).count()
    };
    let hub = first.and_then(|start| {
        let at_start = network
            .links
            .iter()
            .find(|link| link.ends[0].node == start)?;
        (degree(start) == 1).then_some(at_start.ends[1].node)
    });
    let mut places = vec![(0, 0); count];
    let mut rows = vec![0; count + 1];
    for node in order {
        let mut column = columns[node].unwrap_or(0);
        let hangs = network.links.iter().any(|link| {
            let ends = link.ends.map(|end| end.node);
            ends.contains(&node) && hub.is_some_and(|hub| ends.contains(&hub))
        });
        if degree(node) == 1 && column == 2 && hangs {
            column = 0;
        }
        places[node] = (column, rows[column]);
        rows[column] += 1;
    }
    places
}
