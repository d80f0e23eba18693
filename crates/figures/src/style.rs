//! Colours, lines and letters: a sheet for pages, light and dark, and one for files on white.

use std::fmt::Write as _;

use crate::figure::{Dash, MarkFill, MarkTone};

/// Letters of all figures.
pub const FONT: &str = "Inter,'Noto Sans','Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// Where a figure is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// On a page whose `color-scheme` is light or dark.
    Page,
    /// On white: programs other than browsers do not support `light-dark()` and variables.
    Paper,
}

/// Class, and colour on light and on dark ground. Series have the colours of Okabe and Ito (2008),
/// for the colour-blind, too; yellow is darkened, all are lighter on dark.
const TONES: [(&str, &str, &str); 22] = [
    ("0", "#0072b2", "#3f9fe0"),
    ("1", "#d55e00", "#f07c35"),
    ("2", "#009e73", "#2bbd92"),
    ("3", "#cc79a7", "#d991b8"),
    ("4", "#e69f00", "#e6a92e"),
    ("5", "#56b4e9", "#86cbf2"),
    ("6", "#8c7b00", "#b8a62e"),
    ("7", "#666666", "#9aa0a6"),
    ("i", "#1b1f23", "#e6e6e6"),
    ("m", "#5b636b", "#a3a8ae"),
    ("g", "#dfe3e7", "#3a4047"),
    ("b", "#a83800", "#ff9d7a"),
    ("p", "#0060a0", "#7cc4f5"),
    ("e", "#00704f", "#4fd1a5"),
    ("h0", "#6baed6", "#2b6a94"),
    ("h1", "#9fcae4", "#27526f"),
    ("h2", "#cfe4f2", "#223d50"),
    ("h3", "#eceff1", "#2a2f34"),
    ("h4", "#fbe3cf", "#4a3524"),
    ("h5", "#f7bf8e", "#6d4520"),
    ("h6", "#f09a52", "#96561a"),
    ("w", "#ffffff", "#14171a"),
];

/// The class of a colour: `f` before it fills with it, `s` draws lines in it.
pub(crate) fn tone(tone: MarkTone) -> &'static str {
    let index = match tone {
        MarkTone::Series(index) => usize::from(index) % MarkTone::SERIES,
        MarkTone::Ink => 8,
        MarkTone::Muted => 9,
        MarkTone::Grid => 10,
        MarkTone::Bad => 11,
        MarkTone::Good => 12,
        MarkTone::Same => 13,
        MarkTone::Heat(degree) => (17 + i32::from(degree.clamp(-3, 3))) as usize,
    };
    TONES[index].0
}

pub(crate) fn dash(dash: Dash) -> &'static str {
    match dash {
        Dash::Solid => "",
        Dash::Dashed => " d1",
        Dash::Dotted => " d2",
        Dash::DashDot => " d3",
        Dash::Long => " d4",
    }
}

/// The classes of the stripes along a bar of this height, and the thickness of their line.
pub(crate) fn stripes(dash: Dash, height: f64) -> (&'static str, f64) {
    match dash {
        Dash::Solid => ("no", 0.0),
        Dash::Dashed => ("sw k1", height),
        Dash::Dotted => ("sw k2", height),
        Dash::DashDot => ("sw k3", height),
        Dash::Long => ("sw", 1.5),
    }
}

/// The classes of a shape that is filled with a colour.
pub(crate) fn filled(colour: MarkTone, fill: MarkFill) -> String {
    let tone = tone(colour);
    match fill {
        MarkFill::Full => format!("f{tone}"),
        MarkFill::Soft => format!("f{tone} so"),
        MarkFill::Faint => format!("f{tone} fa"),
        MarkFill::Hollow => format!("i s{tone} ho"),
        MarkFill::None => "no".to_owned(),
    }
}

const RULES: [(&str, &str); 23] = [
    ("", "font-size:11px"),
    (".n", "font-size:12px"),
    (".c", "text-anchor:middle"),
    (".e", "text-anchor:end"),
    (".no", "fill:none;stroke:none"),
    // Filled circles and squares are lines of no length, whose ends are visible.
    (".p", "stroke-width:6.5;stroke-linecap:round"),
    (".q", "stroke-width:4;stroke-linecap:round"),
    (".u", "stroke-width:6;stroke-linecap:square"),
    (".t", "stroke-width:4;stroke-linecap:square"),
    (".l", "stroke-width:1.8;stroke-linejoin:round"),
    (".i", "stroke-width:1.2"),
    (".so", "fill-opacity:.42"),
    (".fa", "fill-opacity:.15"),
    (".d1", "stroke-dasharray:6 3"),
    (".d2", "stroke-dasharray:2 2"),
    (".d3", "stroke-dasharray:8 3 2 3"),
    (".d4", "stroke-dasharray:12 4"),
    (".k1", "stroke-dasharray:1.5 10"),
    (".k2", "stroke-dasharray:1.5 4"),
    (".k3", "stroke-dasharray:1.5 3 1.5 10"),
    (".y", "font-style:italic"),
    (".off", "display:none"),
    ("", "font-variant-numeric:tabular-nums"),
];

/// The style sheet of figures.
pub fn style(ground: Ground) -> String {
    let colour = |light: &str, dark: &str| match ground {
        Ground::Page => format!("light-dark({light},{dark})"),
        Ground::Paper => light.to_owned(),
    };
    let mut sheet = String::new();
    let mut rule = |selector: &str, what: &str| {
        let space = if selector.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(sheet, "svg.fig{space}{selector}{{{what}}}");
    };
    for (class, light, dark) in TONES {
        let colour = colour(light, dark);
        rule(&format!(".f{class}"), &format!("fill:{colour}"));
        rule(&format!(".s{class}"), &format!("fill:none;stroke:{colour}"));
    }
    for (selector, what) in RULES {
        rule(selector, what);
    }
    let [.., (_, light, dark)] = TONES;
    let ground = colour(light, dark);
    rule(".ho", &format!("fill:{ground}"));
    let halo = format!("stroke:{ground};stroke-width:3;paint-order:stroke");
    rule(".ha", &halo);
    sheet
}
