//! Positions of figures: those about the question of a page stand first on it.

use figures::Figure;
use maud::{Markup, html};

use super::ShownPage;
use super::charts::PlacedFigure;
use super::drawn::{figure, figures, small};
use super::subject::Subject;
use crate::lists::distinct;

/// With more runs than this, the figures of each test are small.
const MOST_WIDE: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FigurePart {
    Ratios,
    Retrieval,
    Course,
    Growth,
    Capacity,
    Bars,
    Distribution,
    Background,
}

impl FigurePart {
    pub(super) const LEADING: [FigurePart; 6] = [
        FigurePart::Ratios,
        FigurePart::Retrieval,
        FigurePart::Course,
        FigurePart::Growth,
        FigurePart::Capacity,
        FigurePart::Bars,
    ];

    /// The figures are the first of a page about that.
    pub(super) fn is_first(self, subject: Subject) -> bool {
        match self {
            FigurePart::Ratios => subject == Subject::Comparison,
            FigurePart::Retrieval => subject == Subject::Retrieval,
            FigurePart::Course => subject == Subject::Loads,
            FigurePart::Growth => subject == Subject::Growth,
            FigurePart::Capacity => subject == Subject::Capacity,
            FigurePart::Bars => matches!(subject, Subject::Ranks | Subject::Tests),
            FigurePart::Distribution | FigurePart::Background => false,
        }
    }

    /// The figures, below a heading where they are not the first; nothing where there are none.
    pub(super) fn places(self, of: &ShownPage<'_>) -> Markup {
        let (charts, subject) = (&of.charts, of.subject);
        let heading = |title: &str| html! { @if !self.is_first(subject) { h2 { (title) } } };
        let placed: Vec<&PlacedFigure> = charts.part(self).collect();
        if placed.is_empty() && self != FigurePart::Course {
            return Markup::default();
        }
        let usual = || placed.iter().map(|figure| figure.usual());
        match self {
            // Several stand side by side.
            FigurePart::Ratios => html! {
                div #ratios class=(if placed.len() > 1 { "figures small" } else { "figures" }) {
                    (figures(usual()))
                }
            },
            FigurePart::Retrieval => html! { div.figures #pages-figures { (figures(usual())) } },
            FigurePart::Course => html! {
                section {
                    div.controls #details-controls {}
                    div.figures #course-figures {
                        @for test in distinct(placed.iter().map(|figure| figure.about.as_str())) {
                            div data-test=(test) { (figures(charts.about(self, test))) }
                        }
                    }
                }
            },
            FigurePart::Growth => html! { section #sweep { (heading("Sweep")) (growth(&placed)) } },
            FigurePart::Capacity => html! {
                section #search {
                    (heading("How much it holds"))
                    div.figures #search-figures { (figures(usual())) }
                }
            },
            FigurePart::Bars => {
                html! { section #bars { (heading("Response times")) (bars(&placed)) } }
            }
            FigurePart::Background => {
                html! { div.figures #background-figures { (figures(usual())) } }
            }
            FigurePart::Distribution => Markup::default(),
        }
    }
}

/// Figures of one test; where its course stands first on the page, without that.
pub(super) fn details(of: &ShownPage<'_>, test: &str) -> Markup {
    let course = of.charts.about(FigurePart::Course, test);
    let course = course.filter(|_| of.subject != Subject::Loads);
    let all = course.chain(of.charts.about(FigurePart::Distribution, test));
    if of.runs.len() <= MOST_WIDE {
        return figures(all);
    }
    html! { div.figures.small { @for one in all { (small(one)) } } }
}

/// Bars on each scale on which they can be seen, of which one is shown.
fn bars(all: &[&PlacedFigure]) -> Markup {
    html! {
        div.controls #bars-controls data-choose="Scale" data-of="scale" data-auto {}
        div.figures #bars-figures { @for figure in all { (scales(figure)) } }
    }
}

fn scales(of: &PlacedFigure) -> Markup {
    html! {
        div data-variants="scale" {
            @for (index, scale) in of.scales.iter().enumerate() { (variant(index, scale)) }
        }
    }
}

/// One of several figures that show the same; the first is the usual one.
fn variant(index: usize, of: &Figure) -> Markup {
    html! { div data-option=(scale_of(of)) hidden[index > 0] { (figure(of)) } }
}

fn scale_of(of: &Figure) -> &'static str {
    let is_log = of
        .panels
        .iter()
        .any(|panel| panel.x.is_log() || panel.y.is_log());
    if is_log { "log" } else { "linear" }
}

/// A sweep by each parameter and on each scale, of which one of each is shown.
fn growth(all: &[&PlacedFigure]) -> Markup {
    let params = distinct(all.iter().map(|figure| figure.about.as_str()));
    html! {
        div.controls #sweep-controls {
            div data-choose="By" data-of="param" {}
            div data-choose="Scale" data-of="scale" data-auto {}
        }
        div #sweep-figures data-variants="param" {
            @for (index, param) in params.iter().enumerate() {
                div.figures.small data-option=(param) hidden[index > 0] {
                    @for figure in all.iter().filter(|figure| figure.about == *param) { (scales(figure)) }
                }
            }
        }
    }
}
