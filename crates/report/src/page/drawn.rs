//! Figures on a page: the drawing in two widths, of which the style shows the one that fits, the legend, and the table of
//! its numbers. All of it is there without scripts, which add tooltips and hide series.

use figures::{Figure, LegendKey, svg, swatch};
use maud::{Markup, PreEscaped, html};

/// Widths of drawings in pixels: on a screen or on paper, and on a phone.
pub(crate) const WIDE: u32 = 760;
pub(crate) const NARROW: u32 = 360;

/// A figure with all that belongs to it; nothing where there is nothing to draw.
pub(crate) fn figure(figure: &Figure) -> Markup {
    in_shapes([(figure, WIDE), (figure, NARROW)])
}

/// The same of a figure that has another shape on a phone, each drawn in this many pixels.
pub(crate) fn in_shapes(shapes: [(&Figure, u32); 2]) -> Markup {
    let [(figure, _), _] = shapes;
    if figure.is_empty() {
        return Markup::default();
    }
    html! {
        figure data-id=(figure.id) {
            figcaption { (figure.title) }
            (legend(&figure.keys))
            @for ((shape, pixels), width) in shapes.into_iter().zip(["w", "n"]) {
                div class={ "chart " (width) } {
                    // Control characters of a page are made visible, and these are none of a text.
                    (PreEscaped(svg(shape, pixels, &format!("-{width}")).replace('\n', "")))
                }
            }
            @if !figure.note.is_empty() { p.note { (figure.note) } }
            (numbers(figure))
        }
    }
}

/// The same of those that there are.
pub(crate) fn figures<'a>(all: impl IntoIterator<Item = &'a Figure>) -> Markup {
    html! { @for one in all { (figure(one)) } }
}

fn legend(keys: &[LegendKey]) -> Markup {
    html! {
        @if keys.len() > 1 {
            ul.legend {
                @for (place, key) in keys.iter().enumerate() {
                    li data-key=(place) { (PreEscaped(swatch(key))) " " span { (key.name) } }
                }
            }
        }
    }
}

/// The table behind a figure. Its rows are the tooltips, too.
fn numbers(figure: &Figure) -> Markup {
    // What stands first in many rows stands in the first of them.
    let firsts = figure.rows().map(|row| row.first());
    let before = std::iter::once(None).chain(firsts);
    let rows = figure.rows().zip(before);
    let rows: String = rows.map(|(row, before)| cells(row, before)).collect();
    html! {
        @if !rows.is_empty() {
            details.numbers {
                summary { "Numbers" }
                div.wide tabindex="0" role="region" aria-label={ "Numbers of: " (figure.title) } {
                    table {
                        thead { tr { @for column in &figure.columns { th scope="col" { (column) } } } }
                        tbody { (PreEscaped(rows)) }
                    }
                }
            }
        }
    }
}

/// HTML needs no end of a cell and of a row, and a page has thousands of them.
fn cells(row: &[String], before: Option<&String>) -> String {
    let is_again = row.first() == before;
    let cells = row.iter().enumerate().map(|(place, cell)| {
        let shown = if place == 0 && is_again { "" } else { cell };
        "<td>".to_owned() + &html! { (shown) }.into_string()
    });
    "<tr>".to_owned() + &cells.collect::<String>()
}
