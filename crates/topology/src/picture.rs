//! Networks as pictures.

use std::collections::VecDeque;

use figures::{
    Along, Anchor, Axis, Figure, FigureMark, FileStyle, LineStep, MarkFill, MarkLook, MarkShape,
    MarkTone, Panel, Series,
};

use crate::plan::{LabLink, LabNetwork, LabNodeKind};
use crate::text::wire_text;

/// Distance of rows in pixels; columns share the width of the picture. The axes count both.
const ROW: f64 = 96.0;
/// Pixels of a column in a document, and its least width.
const COLUMN: f64 = 150.0;
const NARROWEST: f64 = 480.0;
/// Half the height of a node in pixels.
const HALF: f64 = 19.0;
/// Half the thickness of a link that changes frames, in pixels and as a part of the distance of
/// columns.
const THICK: (f64, f64) = (2.5, 0.025);
/// Height of a line of text.
const LINE: f64 = 13.0;

/// A network as a figure: hosts, routers, switches and hubs by their distance from the first link's
/// end, which grows from left to right or from top to bottom, with the links between them. Links
/// that change frames are thick, and have their description.
fn picture(name: &str, network: &LabNetwork, along: Along) -> Figure {
    let places = places(network);
    let distances = places.iter().map(|(distance, _)| distance + 1).max();
    let most = places.iter().map(|(_, place)| place + 1).max();
    let (distances, most) = (distances.unwrap_or(1), most.unwrap_or(1));
    // Half the width of a node is a part of the distance of columns, which leaves space for links.
    let (columns, rows, half) = match along {
        Along::X => (distances, most, 0.36),
        Along::Y => (most, distances, 0.42),
    };
    // Texts may need more space below the last row.
    let lines = network
        .links
        .iter()
        .map(|link| described(network, link).len());
    let words = lines.max().unwrap_or(0) as f64 * LINE;
    let height = (rows - 1) as f64 * ROW + 2.0 * HALF + 10.0 + words;
    let centre = |(distance, place): &(usize, usize)| {
        // Fewer nodes at a distance are centred.
        let column = places.iter().filter(|(other, _)| other == distance);
        let place = *place as f64 + (most - column.count()) as f64 / 2.0;
        let (x, y) = match along {
            Along::X => (*distance as f64, place),
            Along::Y => (place, *distance as f64),
        };
        (x, height - HALF - 4.0 - y * ROW)
    };
    let drawn = DrawnLab {
        network,
        half,
        centres: places.iter().map(centre).collect(),
    };
    let links = network.links.iter().flat_map(|link| drawn.link(link));
    let nodes = (0..network.nodes.len()).flat_map(|node| drawn.node(node));
    let series = |marks| Series { key: None, marks };
    let panel = Panel {
        right: 0,
        series: vec![series(links.collect()), series(nodes.collect())],
        ..Panel::new(
            Axis::bare(-0.5, columns as f64 - 0.5),
            Axis::bare(0.0, height),
            height,
        )
    };
    Figure {
        id: "lab".to_owned(),
        title: match &*network.title {
            "" => format!("Laboratory {name}"),
            title => title.to_owned(),
        },
        note: if network.links.iter().any(LabLink::is_shaped) {
            "Links that do something to packets are thick, with what they do beside them."
        } else {
            ""
        }
        .to_owned(),
        columns: ["What", "Kind", "Description"].map(str::to_owned).to_vec(),
        keys: Vec::new(),
        panels: vec![panel],
    }
}

/// The picture for a page, from left to right, and for a phone, from top to bottom.
pub fn pictures(name: &str, network: &LabNetwork) -> [Figure; 2] {
    [Along::X, Along::Y].map(|along| picture(name, network, along))
}

/// The picture as an SVG document, as wide as the network is long.
pub fn svg(name: &str, network: &LabNetwork) -> String {
    let picture = picture(name, network, Along::X);
    let (from, to) = picture.panels[0].x.ends();
    let width = ((to - from) * COLUMN).max(NARROWEST) as u32;
    let style = FileStyle {
        width,
        unit: width.to_string(),
        font: None,
    };
    figures::file(&picture, &style, &format!("lab {name}"))
}

struct DrawnLab<'a> {
    network: &'a LabNetwork,
    half: f64,
    centres: Vec<(f64, f64)>,
}

impl DrawnLab<'_> {
    fn link(&self, link: &LabLink) -> Vec<FigureMark> {
        let [one, other] = link.ends.map(|end| self.centres[end.node]);
        let [from, to] = link.ends.map(|end| &self.network.nodes[end.node].name);
        let row = [
            format!("{from} - {to}"),
            "link".to_owned(),
            described(self.network, link).join(", "),
        ];
        if !link.is_shaped() {
            let line = MarkShape::Line(vec![one, other], LineStep::None);
            return vec![FigureMark::new(line, MarkLook::toned(MarkTone::Muted)).with_row(row)];
        }
        let line = if one.0 == other.0 {
            MarkShape::Rect {
                x: (one.0 - THICK.1, one.0 + THICK.1),
                y: (one.1, other.1),
            }
        } else {
            let edges = [one, other].map(|(x, y)| (x, y - THICK.0, y + THICK.0));
            MarkShape::Area(edges.to_vec(), LineStep::None)
        };
        let middle = (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1));
        let words = described(self.network, link);
        // Beside a link that goes down, below any other one.
        let (right, down, anchor) = if one.0 == other.0 {
            let above = (words.len() - 1) as f64 / 2.0 * LINE;
            (10.0, -above, Anchor::Start)
        } else {
            (0.0, HALF + 0.8 * LINE, Anchor::Middle)
        };
        let words = words.into_iter().enumerate().map(|(number, line)| {
            let text = MarkShape::Text {
                at: middle,
                shift: (right, down + LINE * number as f64),
                anchor,
                text: line,
                within: None,
            };
            FigureMark::new(text, MarkLook::toned(MarkTone::Muted))
        });
        let line = FigureMark::new(line, MarkLook::toned(MarkTone::Muted)).with_row(row);
        std::iter::once(line).chain(words).collect()
    }

    fn node(&self, place: usize) -> Vec<FigureMark> {
        let node = &self.network.nodes[place];
        let (x, y) = self.centres[place];
        let tone = match node.kind {
            LabNodeKind::Host => MarkTone::Series(0),
            LabNodeKind::Bare(_) => MarkTone::Series(3),
            LabNodeKind::Router => MarkTone::Series(1),
            LabNodeKind::Switch => MarkTone::Series(2),
            LabNodeKind::Hub(_) => MarkTone::Series(4),
        };
        let (left, right) = (x - self.half, x + self.half);
        let around = MarkShape::Rect {
            x: (left, right),
            y: (y - HALF, y + HALF),
        };
        let words = |text: String, down: f64, tone| {
            let text = MarkShape::Text {
                at: (x, y),
                shift: (0.0, down),
                anchor: Anchor::Middle,
                text,
                within: Some((left, right)),
            };
            FigureMark::new(text, MarkLook::toned(tone))
        };
        let kind = node.kind.word().to_owned();
        let medium = match node.kind {
            LabNodeKind::Hub(medium) => wire_text(&medium),
            _ => String::new(),
        };
        let row = [node.name.clone(), kind.clone(), medium.clone()];
        let look = MarkLook::toned(tone);
        let mut marks = vec![
            // Links end at the node.
            FigureMark::new(around.clone(), look.filled(MarkFill::Hollow)),
            FigureMark::new(around, look.filled(MarkFill::Soft)).with_row(row),
            words(node.name.clone(), -6.0, MarkTone::Ink),
            words(kind, 8.0, MarkTone::Muted),
        ];
        if !medium.is_empty() {
            let text = MarkShape::Text {
                at: (x, y),
                shift: (0.0, HALF + 0.8 * LINE),
                anchor: Anchor::Middle,
                text: medium,
                within: None,
            };
            marks.push(FigureMark::new(text, MarkLook::toned(MarkTone::Muted)));
        }
        marks
    }
}

/// Description of a link, one line for each direction if they differ.
fn described(network: &LabNetwork, link: &LabLink) -> Vec<String> {
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

/// Column and row of each node: the distance from the first node of the first link, and the order
/// in which nodes are reached. Unconnected parts are below each other.
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
    // Leaves at the same node as the start are in its column.
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
