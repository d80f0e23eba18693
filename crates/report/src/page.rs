//! One page that shows runs, and the data from which its figures are drawn.
//!
//! ```text
//! Page --+--> sections   what has to be read first, and every table: plain HTML, without scripts
//!        +--> charts     values of figures --> `drawn`, or files by the crate `figures`
//!        '--> data       the documents of `json` and `compare_json`, for programs
//! ```
//!
//! Scripts add tooltips, hide series, and let people choose what they see.
//!
//! The page loads nothing, or its style and script from beside it. `maud` escapes text of servers
//! and suites, and inside the data no `<` is left that could end it.

mod answers;
mod background;
mod charts;
mod data;
mod details;
mod diagnosis;
mod document;
pub(crate) mod drawn;
mod figure_parts;
mod flame;
mod headline;
pub(crate) mod markup;
pub(crate) mod measured;
mod names;
mod pages;
pub(crate) mod sections;
pub(crate) mod site;
mod subject;
mod tables;

use std::sync::LazyLock;

use figures::{Figure, Ground};
use maud::{Markup, html};
use record::Run;
use stats::{Details, Side, Summary};

use crate::document::html_of;
use crate::named_run::NamedRun;
use crate::{
    Comparisons, Diagnosed, Incomplete, SearchResult, Sweep, compare, inside, load_steps,
    server_view,
};
use charts::Charts;
use figure_parts::FigurePart;
use subject::Subject;

pub use charts::FigureKind;
pub use document::PageDocument;
pub use measured::Common;
pub use site::{Link, Site, assets};

/// Content of a page. Every part may be absent.
#[derive(Debug, Clone, Default)]
pub struct ReportPage<'a> {
    /// Runs, side by side.
    pub runs: Vec<PageRun<'a>>,
    /// How servers compare.
    pub comparison: Option<&'a Comparisons>,
    /// Growth of times with the varied parameters.
    pub sweep: Option<&'a Sweep>,
    /// The largest load that a server holds.
    pub search: Option<&'a SearchResult>,
    /// How the runs of a sweep or a search were measured, server by server.
    pub common: Vec<Common>,
    /// Findings in the runs: each belongs to the next of them, or to the next few.
    /// `None` without a diagnosis.
    pub diagnosed: Option<&'a [Diagnosed]>,
    /// The page is a diagnosis: its runs are distinguished by their suites, not by their servers.
    pub is_diagnosis: bool,
    /// Title of the page; `None` for the suite's name.
    pub title: Option<&'a str>,
    /// Further remarks about the content, in sentences; empty without any.
    pub note: &'a str,
    /// The site that the page is one of; `None` where it stands alone.
    pub site: Option<&'a Site>,
}

impl ReportPage<'_> {
    /// How the runs are called: each differently.
    pub fn names(&self) -> Vec<String> {
        names::of(self)
    }

    /// Why runs are missing, where a series of them ended early.
    pub(crate) fn incomplete(&self) -> Option<&Incomplete> {
        let compared = self
            .comparison
            .and_then(|comparison| comparison.incomplete.as_ref());
        let swept = self.sweep.and_then(|sweep| sweep.incomplete.as_ref());
        let found = self.search.and_then(|search| search.incomplete.as_ref());
        let diagnosed = self.diagnosed.unwrap_or_default().iter();
        let mut diagnosed = diagnosed.filter_map(|diagnosis| diagnosis.incomplete.as_ref());
        compared.or(swept).or(found).or_else(|| diagnosed.next())
    }

    /// Heading of the names of runs: the kind of subject that each run stands for.
    pub(crate) fn run_heading(&self) -> &'static str {
        if self.is_diagnosis { "Run" } else { "Server" }
    }
}

/// A run on a page.
#[derive(Debug, Clone)]
pub struct PageRun<'a> {
    /// Name of its server; `None` for the one that the server reports, or else its address.
    pub name: Option<String>,
    /// Plan, environment and events; its samples are not looked at.
    pub run: &'a Run,
    /// Its summary.
    pub summary: &'a Summary,
    /// Details of its operations, one for each row; `None` where the samples are lost.
    pub details: Option<Vec<Details>>,
}

impl<'a> PageRun<'a> {
    pub(crate) fn software(&self) -> Option<&str> {
        self.run.env.server.as_ref()?.software.as_deref()
    }

    pub(crate) fn side(&self) -> Side<'a> {
        Side {
            plan: &self.run.plan,
            env: &self.run.env,
            summary: self.summary,
        }
    }
}

static STYLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../page/style.css").to_owned() + &figures::style(Ground::Page));
const BEHAVIOUR: &str = concat!(
    include_str!("../page/drawn.js"),
    include_str!("../page/page.js")
);

/// The page: one HTML document that loads nothing, or of a [site](ReportPage::site), one that needs
/// what lies beside it.
pub fn html(page: &ReportPage<'_>) -> String {
    let document = document_of(page);
    match page.site {
        None => document.whole(),
        Some(_) => document.linked(site::STYLE, site::SCRIPT),
    }
}

/// A page, and what is found out once for all of its parts.
struct ShownPage<'a> {
    page: &'a ReportPage<'a>,
    /// A name for each run.
    names: &'a [String],
    /// The runs with their names, where there are several.
    runs: Vec<NamedRun<'a>>,
    subject: Subject,
    charts: Charts,
}

impl<'a> ShownPage<'a> {
    fn new(page: &'a ReportPage<'a>, names: &'a [String]) -> ShownPage<'a> {
        let is_one = page.runs.len() == 1;
        let runs = page.runs.iter().zip(names).map(|(of, name)| NamedRun {
            name: if is_one { "" } else { name },
            run: of.run,
            summary: of.summary,
        });
        ShownPage {
            page,
            names,
            runs: runs.collect(),
            subject: Subject::of(page),
            charts: Charts::of(page, names),
        }
    }

    /// All runs, with their names.
    fn named(&self) -> impl Iterator<Item = (&'a PageRun<'a>, &'a str)> + Clone + use<'a> {
        let names = self.names.iter().map(String::as_str);
        self.page.runs.iter().zip(names)
    }
}

/// The page, as one file or as several.
pub fn document_of(page: &ReportPage<'_>) -> PageDocument {
    let names = names::of(page);
    PageDocument {
        title: sections::title(page, &names),
        body: body(&ShownPage::new(page, &names)),
        data: Some(data::document(page, &names).replace('<', "\\u003c")),
        style: STYLE.clone(),
        script: SCRIPT.clone(),
    }
}

fn body(of: &ShownPage<'_>) -> Markup {
    let ShownPage { page, subject, .. } = *of;
    html! {
        @if let Some(table) = first_table(page) {
            a.skip href={ "#" (table) } { "Skip to the table" }
        }
        @if let Some(site) = page.site { (site::links(site)) }
        header {
            div.tools.controls #tools {}
            (sections::head(of))
        }
        main {
            section #answer aria-label="In short" {
                (headline::headline(of))
                @if !page.note.is_empty() { p { (page.note) } }
                @for part in FigurePart::LEADING {
                    @if part.is_first(subject) { (part.places(of)) }
                }
            }
            @if subject == Subject::Diagnosis { (sections::findings(of)) }
            (sections::overview(of))
            @if subject != Subject::Diagnosis { (sections::findings(of)) }
            @if let Some(all) = page.comparison { (html_of(&compare::document::sections(all))) }
            (pages::tables(of))
            @if !FigurePart::Bars.is_first(subject) { (FigurePart::Bars.places(of)) }
            (tables::rows(of))
            section #details hidden[page.runs.is_empty()] {
                h2 { "Test by test" }
                @if subject != Subject::Loads { div.controls #details-controls {} }
                div #details-tables { (details::tables(of)) }
                @if !page.runs.is_empty() { (details::legend()) }
            }
            @for part in [FigurePart::Growth, FigurePart::Capacity] {
                @if !part.is_first(subject) { (part.places(of)) }
            }
            @if let Some(steps) = load_steps::section(&of.runs) { (steps) }
            @if let Some(traffic) = background::section(of) { (traffic) }
            (html_of(&inside::blocks(&of.runs)))
            (flame::graphs(&of.runs))
            @if let Some(view) = server_view::section(&of.runs) { (view) }
            (answers::tables(page))
            section #measured {
                h2 { "How it was measured" }
                (measured::measured(of))
            }
        }
        footer {
            p {
                "Made by Prestan. The numbers of this page are in it as JSON: "
                code { "JSON.parse(document.getElementById(\"data\").textContent)" } "."
            }
        }
    }
}

/// The section of the first table, for readers who cannot see where the tables begin.
fn first_table(page: &ReportPage<'_>) -> Option<&'static str> {
    let tables = [
        ("tests", !page.runs.is_empty()),
        ("points", page.sweep.is_some()),
        ("trials", page.search.is_some()),
    ];
    let mut tables = tables.into_iter();
    Some(tables.find(|(_, is_there)| *is_there)?.0)
}

static SCRIPT: LazyLock<String> = LazyLock::new(|| without_comments(BEHAVIOUR));

/// A page with a separate layout and figures that are [drawn]; `more` is appended to the style of
/// all pages.
pub(crate) fn with_figures(title: &str, more: &str, body: Markup) -> PageDocument {
    PageDocument {
        title: title.to_owned(),
        body,
        data: None,
        style: [&STYLE, more].concat(),
        script: without_comments(include_str!("../page/drawn.js")),
    }
}

/// The figures of a page, in the order of files, each with a unique name.
pub fn figures_of(page: &ReportPage<'_>) -> Vec<Figure> {
    Charts::of(page, &names::of(page)).files().collect()
}

/// The measured servers, or the names of runs, in words.
pub fn measured_of(page: &ReportPage<'_>) -> String {
    let names: Vec<&str> = match page {
        ReportPage {
            comparison: Some(all),
            ..
        } => {
            let versus = all.versus.iter().map(|versus| versus.name.as_str());
            std::iter::once(all.name.as_str()).chain(versus).collect()
        }
        ReportPage {
            sweep: Some(sweep), ..
        } => sweep
            .servers
            .iter()
            .map(|server| server.name.as_str())
            .collect(),
        ReportPage {
            search: Some(found),
            ..
        } => vec![&found.target],
        _ => return names::of(page).join(", "),
    };
    names.join(", ")
}

/// A script without its lines of comments, which are a tenth of it.
fn without_comments(script: &str) -> String {
    let lines = script.lines();
    let kept = lines.filter(|line| !line.trim_start().starts_with("//"));
    kept.collect::<Vec<_>>().join("\n")
}
