//! Where figures are: those that answer what a page is about stand first on it.

use figures::Figure;
use maud::{Markup, html};

use super::charts::{Charts, TestCharts};
use super::drawn::{figure, figures, small};
use super::headline::Subject;

/// With more runs than this, the figures of each test are small.
const MOST_WIDE: usize = 2;

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

    /// The figures, below a heading where they are not the first; nothing where there are none.
    pub(super) fn places(self, charts: &Charts, subject: Subject) -> Markup {
        let heading = |title: &str| html! { @if !self.is_first(subject) { h2 { (title) } } };
        match self {
            FigurePart::Ratios => ratios(&charts.ratios),
            FigurePart::Retrieval => html! {
                @if let Some(pages) = &charts.pages { div.figures #pages-figures { (figure(pages)) } }
            },
            FigurePart::Course => html! {
                section {
                    div.controls #details-controls {}
                    div.figures #course-figures {
                        @for (test, of) in &charts.tests { div data-test=(test) { (figures(course(of))) } }
                    }
                }
            },
            FigurePart::Growth => html! {
                @if !charts.sweeps.is_empty() {
                    section #sweep { (heading("Sweep")) (growth(charts)) }
                }
            },
            FigurePart::Capacity => html! {
                @if let Some(search) = &charts.search {
                    section #search {
                        (heading("How much it holds"))
                        div.figures #search-figures { (figure(search)) }
                    }
                }
            },
            FigurePart::Bars => html! {
                @if !charts.bars.is_empty() {
                    section #bars { (heading("Response times")) (bars(charts)) }
                }
            },
        }
    }
}

/// Several stand side by side.
fn ratios(all: &[Figure]) -> Markup {
    let class = if all.len() > 1 {
        "figures small"
    } else {
        "figures"
    };
    html! { @if !all.is_empty() { div #ratios class=(class) { (figures(all)) } } }
}

/// How a load went over time.
fn course(of: &TestCharts) -> impl Iterator<Item = &Figure> {
    of.load.iter().chain(&of.time_line)
}

/// What one test looks like; where its course stands first on the page, without that.
pub(super) fn details(of: &TestCharts, subject: Subject, runs: usize) -> Markup {
    let course = course(of).filter(|_| subject != Subject::Loads);
    let all = course.chain(&of.histogram).chain(&of.ecdf);
    if runs <= MOST_WIDE {
        return figures(all);
    }
    html! { div.figures.small { @for one in all { (small(one)) } } }
}

/// Bars on each scale on which they can be seen, of which one is shown.
fn bars(charts: &Charts) -> Markup {
    html! {
        div.controls #bars-controls data-choose="Scale" data-of="scale" data-auto {}
        div.figures #bars-figures {
            @for group in &charts.bars {
                div data-variants="scale" {
                    @for (place, scale) in group.iter().enumerate() { (variant(place, scale)) }
                }
            }
        }
    }
}

/// One of several figures that show the same; the first is the usual one.
fn variant(place: usize, of: &Figure) -> Markup {
    html! { div data-option=(scale_of(of)) hidden[place > 0] { (figure(of)) } }
}

fn scale_of(of: &Figure) -> &'static str {
    let is_log = of
        .panels
        .iter()
        .any(|panel| panel.x.is_log() || panel.y.is_log());
    if is_log { "log" } else { "linear" }
}

/// A sweep by each parameter and on each scale, of which one of each is shown.
fn growth(charts: &Charts) -> Markup {
    html! {
        div.controls #sweep-controls {
            div data-choose="By" data-of="param" {}
            div data-choose="Scale" data-of="scale" data-auto {}
        }
        div #sweep-figures data-variants="param" {
            @for (place, (param, all)) in charts.sweeps.iter().enumerate() {
                div.figures.small data-option=(param) hidden[place > 0] {
                    @for scales in all {
                        div data-variants="scale" {
                            @for (place, scale) in scales.iter().enumerate() { (variant(place, scale)) }
                        }
                    }
                }
            }
        }
    }
}
