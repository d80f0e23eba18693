//! Flame graphs of the server: SVG without scripts, in which percentages place the frames, so that it is as wide as the page.

use maud::{Markup, html};
use stats::StackProfile;

use super::ReportPage;
use super::inside::{RunLookedInto, looked_into};
use crate::inside::flame::{FlameFrame, frames, functions_in_words, remarks};
use crate::inside::test_of;

/// Height of a frame in pixels, with the gap above it.
const HEIGHT: usize = 18;
/// Frames with a smaller part of the width have no name in them.
const LEAST_NAMED: f64 = 0.02;

/// The graphs of all runs whose server was sampled; nothing for others.
pub(super) fn graphs(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let sampled: Vec<RunLookedInto<'_>> = looked_into(page, names)
        .filter(|(_, _, inside)| !inside.sampled.is_empty())
        .collect();
    if sampled.is_empty() {
        return Markup::default();
    }
    let is_one = page.runs.len() == 1;
    html! {
        section id="flames" {
            h2 { "Flame graphs of the server" }
            p.what {
                "Where its processor time goes, in a pass of its own that is not timed: the width of a function is its part of the \
                 samples. Callers are below, what they call is above, and functions of the kernel are blue."
            }
            @for (of, name, inside) in &sampled {
                @for profile in &inside.sampled {
                    @if let Some(test) = test_of(of.summary, profile.measure()) {
                        details.flames {
                            summary {
                                @if !is_one { (name) ", " }
                                b { (test.name) } ": " (functions_in_words(profile))
                            }
                            (graph(&test.name, profile))
                        }
                    }
                }
                @for remark in remarks(inside) {
                    p.note { @if !is_one { (name) ": " } (remark) }
                }
            }
        }
    }
}

fn graph(test: &str, profile: &StackProfile) -> Markup {
    let frames = frames(&profile.row);
    let levels = frames.iter().map(|own| own.depth + 1).max().unwrap_or(0);
    let label = format!("Flame graph of {test}: {}", functions_in_words(profile));
    html! {
        @if levels > 0 {
            figure {
                svg.flame width="100%" height=(levels * HEIGHT) role="img" aria-label=(label) {
                    @for own in &frames { (frame(own, levels)) }
                }
            }
        }
    }
}

/// A frame, within whose borders its name ends.
fn frame(own: &FlameFrame<'_>, levels: usize) -> Markup {
    let percent = |part: f64| format!("{:.3}%", part * 100.0);
    let class = match own.depth {
        0 => "p",
        _ if own.is_kernel => "k",
        _ => "u",
    };
    html! {
        svg class=(class) x=(percent(own.left)) y=((levels - 1 - own.depth) * HEIGHT) width=(percent(own.width)) height=(HEIGHT - 1) {
            title { (own.name) ": " (own.samples) " samples" }
            rect width="100%" height="100%" {}
            @if own.width >= LEAST_NAMED { text x="3" y="13" { (own.name) } }
        }
    }
}
