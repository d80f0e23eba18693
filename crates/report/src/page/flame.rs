//! Flame graphs of the server.

use figures::{Anchor, Axis, Figure, FigureMark, MarkLook, MarkShape, MarkTone, Panel, Series};
use maud::{Markup, html};
use stats::StackProfile;

use super::drawn;
use crate::figure::percent;
use crate::file_names::FileNames;
use crate::inside::flame::{FlameFrame, frames, functions_in_words, remarks};
use crate::inside::test_of;
use crate::named_run::NamedRun;

/// Height of a frame in pixels, with the gap above it.
const HEIGHT: f64 = 18.0;
/// Free space right of a frame and above it, as parts of the width and of its height.
const GAP: (f64, f64) = (0.001, 0.06);
/// Part of its height that underlines a function of the kernel.
const UNDERLINE: f64 = 0.12;

/// The graphs of all runs whose server was sampled; nothing for others.
pub(super) fn graphs(runs: &[NamedRun<'_>]) -> Markup {
    let sampled = NamedRun::with(runs, |run| {
        let inside = run.summary.inside.as_ref();
        inside.filter(|inside| !inside.sampled.is_empty())
    });
    if sampled.is_empty() {
        return Markup::default();
    }
    let mut ids = FileNames::default();
    html! {
        section id="flames" {
            h2 { "Flame graphs of the server" }
            p.what { "Where its processor time goes, in a pass of its own that is not timed." }
            @for (run, inside) in &sampled {
                @for profile in &inside.sampled {
                    @if let Some(test) = test_of(run.summary, profile.measure()) {
                        details.flames {
                            summary {
                                (run.says("")) b { (test.name) } ": " (functions_in_words(profile))
                            }
                            (drawn::figure(&graph(ids.of(&format!("flame-{}", test.name)), &test.name, profile)))
                        }
                    }
                }
                @for remark in remarks(inside) { p.note { (run.says(remark)) } }
            }
        }
    }
}

/// Nothing without samples that are kept.
fn graph(id: String, test: &str, profile: &StackProfile) -> Figure {
    let frames = frames(&profile.row);
    let levels = frames
        .iter()
        .map(|frame| frame.depth + 1)
        .max()
        .unwrap_or(0);
    let marks = frames.iter().flat_map(|frame| frame_marks(frame));
    let series = Series {
        key: None,
        marks: marks.collect(),
    };
    let panel = Panel {
        right: 0,
        series: vec![series],
        ..Panel::new(
            Axis::bare(0.0, 1.0),
            Axis::bare(0.0, levels as f64),
            levels as f64 * HEIGHT,
        )
    };
    Figure {
        id,
        title: format!("Flame graph of {test}"),
        note: "The width of a function is its part of the samples. Callers are below, what they call is above, and functions of \
               the kernel are blue and underlined."
            .to_owned(),
        columns: ["function", "of", "samples", "share"]
            .map(str::to_owned)
            .to_vec(),
        keys: Vec::new(),
        panels: vec![panel],
    }
}

/// A frame, within whose borders its name ends.
fn frame_marks(frame: &FlameFrame<'_>) -> Vec<FigureMark> {
    let (of, tone) = match frame.depth {
        0 => ("process", MarkTone::Heat(0)),
        _ if frame.is_kernel => ("kernel", MarkTone::Heat(-2)),
        _ => ("server", MarkTone::Heat(2)),
    };
    let (left, right) = (frame.left, frame.left + frame.width);
    let (low, high) = (frame.depth as f64, frame.depth as f64 + 1.0);
    let part = |low: f64, high: f64| MarkShape::Rect {
        x: (left, right - GAP.0.min(frame.width / 4.0)),
        y: (low, high),
    };
    let row = [
        frame.name.to_owned(),
        of.to_owned(),
        frame.samples.to_string(),
        percent(frame.width),
    ];
    let mut marks =
        vec![FigureMark::new(part(low, high - GAP.1), MarkLook::toned(tone)).with_row(row)];
    if frame.is_kernel {
        let below = part(low, low + UNDERLINE);
        marks.push(FigureMark::new(below, MarkLook::toned(MarkTone::Series(0))));
    }
    let name = MarkShape::Text {
        at: (left, low + 0.5),
        shift: (3.0, 0.0),
        anchor: Anchor::Start,
        text: frame.name.to_owned(),
        within: Some((left, right)),
    };
    marks.push(FigureMark::new(name, MarkLook::toned(MarkTone::Ink)));
    marks
}
