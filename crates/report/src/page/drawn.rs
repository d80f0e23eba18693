//! Figures on a page: the drawing in two widths, of which the style shows the one that fits, the
//! legend, and the table of its numbers. All of it is there without scripts, which add tooltips and
//! hide series.

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
pub(crate) fn in_shapes([(wide, pixels), (narrow, few)]: [(&Figure, u32); 2]) -> Markup {
    drawn(&[(wide, pixels, "chart w"), (narrow, few, "chart n")])
}

fn drawn(drawings: &[(&Figure, u32, &str)]) -> Markup {
    let Some((figure, ..)) = drawings.iter().find(|(figure, ..)| !figure.is_empty()) else {
        return Markup::default();
    };
    html! {
        figure data-id=(figure.id) {
            figcaption id={ (figure.id) "-t" } { (figure.title) }
            (legend(&figure.keys))
            @for (shape, pixels, class) in drawings {
                div class=(class) {
                    // Control characters of a page are made visible, and these are none of a text.
                    (PreEscaped(svg(shape, *pixels).replace('\n', "")))
                }
            }
            @if !figure.note.is_empty() { p.note id={ (figure.id) "-d" } { (figure.note) } }
            (numbers(figure))
        }
    }
}

/// The figure in one drawing, that for a phone, which stands beside others on a wide page: two of
/// each of hundreds are too much.
pub(crate) fn small(of: &Figure) -> Markup {
    drawn(&[(of, NARROW, "chart one")])
}

pub(crate) fn figures<'a>(all: impl IntoIterator<Item = &'a Figure>) -> Markup {
    html! { @for one in all { (figure(one)) } }
}

fn legend(keys: &[LegendKey]) -> Markup {
    html! {
        @if keys.len() > 1 {
            ul.legend {
                @for (index, key) in keys.iter().enumerate() {
                    li data-key=(index) { (PreEscaped(swatch(key))) " " bdi { (key.name) } }
                }
            }
        }
    }
}

/// The table behind a figure. Its rows are the tooltips, too.
fn numbers(figure: &Figure) -> Markup {
    let rows: Vec<&[String]> = figure.rows().collect();
    if rows.is_empty() {
        return Markup::default();
    }
    // A first cell that consecutive rows share stands above them.
    let is_same = |one: &&[String], other: &&[String]| one.first() == other.first();
    let is_grouped = rows.windows(2).any(|pair| is_same(&pair[0], &pair[1]));
    let is_again: fn(&&[String], &&[String]) -> bool =
        if is_grouped { is_same } else { |_, _| true };
    let skipped = usize::from(is_grouped);
    let columns = figure.columns.get(skipped..).unwrap_or_default();
    html! {
        details.numbers {
            summary { "Numbers" }
            div.wide tabindex="0" role="region" aria-label={ "Numbers of: " (figure.title) } {
                table {
                    thead { tr { @for column in columns { th scope="col" { (column) } } } }
                    @for group in rows.chunk_by(is_again) {
                        tbody {
                            @if is_grouped {
                                tr { th scope="rowgroup" colspan=(columns.len().max(1)) { (group[0][0]) } }
                            }
                            @for row in group { (cells(&row[skipped..])) }
                        }
                    }
                }
            }
        }
    }
}

/// A row in one line: there are many.
fn cells(row: &[String]) -> Markup {
    html! { (PreEscaped("<tr>")) @for cell in row { (PreEscaped("<td>")) (cell) } }
}
