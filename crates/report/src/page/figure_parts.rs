//! Where scripts put figures: those that answer what a page is about stand first on it.

use maud::{Markup, html};

use super::headline::Subject;

/// Figures that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FigurePart {
    /// Ratios of a comparison.
    Ratios,
    /// Retrieved pages.
    Retrieval,
    /// The course of a load.
    Course,
    /// A sweep.
    Growth,
    /// A search.
    Capacity,
    /// Mean response times.
    Bars,
}

impl FigurePart {
    pub(super) const ALL: [FigurePart; 6] = [
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
        }
    }

    /// Empty elements that scripts fill, each by its id; below a heading where they are not the first.
    pub(super) fn places(self, subject: Subject) -> Markup {
        let heading = |title: &str| html! { @if !self.is_first(subject) { h2 { (title) } } };
        match self {
            FigurePart::Ratios => html! { div.figures #ratios {} },
            FigurePart::Retrieval => html! { div.figures #pages-figures {} },
            FigurePart::Course => html! {
                div.controls #details-controls {}
                div.figures #course-figures {}
            },
            FigurePart::Growth => html! {
                section #sweep hidden {
                    (heading("Sweep"))
                    div.controls #sweep-controls {}
                    div.figures.small #sweep-figures {}
                }
            },
            FigurePart::Capacity => html! {
                section #search hidden {
                    (heading("How much it holds"))
                    div.figures #search-figures {}
                }
            },
            FigurePart::Bars => html! {
                section #bars hidden {
                    (heading("Response times"))
                    div.controls #bars-controls {}
                    div.figures #bars-figures {}
                }
            },
        }
    }
}
