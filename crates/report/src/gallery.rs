//! A site that shows several servers: what Prestan was made for in 2004, section 6 of its paper.
//!
//! ```text
//! index.html        every mean, and in words what is remarkable
//! server-NAME.html  a page for each server
//! test-NAME.html    a page for each test, with all servers
//! comparison.html   all servers beside the first
//! measured.html     machine, versions, parameters
//! table.md          every mean, for a README
//! assets/           what all pages need
//! ```

mod index;
mod words;

use stats::{Summary, TestSummary};

use crate::lists::distinct;
use crate::page::{self, Link, PageRun, ReportPage, Site, html};
use crate::ranking::{RankedTime, ranking};
use crate::{Comparisons, Diagnosed, FileNames};

/// Several servers that were measured side by side.
#[derive(Debug, Clone)]
pub struct Gallery<'a> {
    /// The day it was made, `2026-11-21`.
    pub day: String,
    /// The command that made it.
    pub command: String,
    /// Runs of each server.
    pub runs: usize,
    /// As many were planned: there are fewer where the measurement ended early.
    pub planned: usize,
    /// The servers; all are compared with the first.
    pub exhibits: Vec<Exhibit<'a>>,
    /// How they compare.
    pub comparison: &'a Comparisons,
}

/// A server of a gallery.
#[derive(Debug, Clone)]
pub struct Exhibit<'a> {
    /// Name of its recipe.
    pub name: String,
    /// The same for people.
    pub title: String,
    /// Version, as its program reports it.
    pub version: String,
    /// Where it has dead properties: files, database, memory, nothing.
    pub properties: &'static str,
    /// Where it has locks.
    pub locks: &'static str,
    /// Operations that it lacks or does unlike others, in sentences; empty without any.
    pub limits: &'a str,
    /// All its runs, put together.
    pub shown: PageRun<'a>,
    /// The diagnosis of them; `None` where none was made.
    pub diagnosed: Option<Diagnosed>,
}

struct GalleryRow<'a> {
    name: &'a str,
    /// One for each server; `None` where it is not part of its runs.
    servers: Vec<Option<&'a TestSummary>>,
}

impl GalleryRow<'_> {
    fn of(&self, server: usize) -> Option<&TestSummary> {
        self.servers.get(server).copied().flatten()
    }

    /// Servers with a time, the fastest first.
    fn ranking(&self) -> Vec<RankedTime> {
        ranking(self.servers.iter().copied())
    }
}

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFile {
    /// Where it belongs, below the directory of the site.
    pub path: String,
    /// Content of the file.
    pub content: String,
}

/// All files of a gallery.
pub fn gallery(gallery: &Gallery<'_>) -> Vec<SiteFile> {
    let rows = rows(gallery);
    let places = GalleryPlaces::of(gallery, &rows);
    let site = site(gallery, &rows, &places);
    let mut files = vec![
        file(INDEX, index::index(gallery, &rows, &places, &site)),
        file(MEASURED, index::measured(gallery, &site)),
        file(COMPARISON, html(&compared(gallery, &site))),
        file("table.md", index::markdown(gallery, &rows)),
    ];
    for (exhibit, path) in gallery.exhibits.iter().zip(&places.servers) {
        let page = ReportPage {
            runs: vec![exhibit.shown.clone()],
            diagnosed: exhibit.diagnosed.as_ref().map(std::slice::from_ref),
            note: exhibit.limits,
            site: Some(&site),
            ..ReportPage::default()
        };
        files.push(file(path, html(&page)));
    }
    for (row, path) in rows.iter().zip(&places.tests) {
        files.push(file(path, test_page(gallery, row.name, &site)));
    }
    files.extend(page::assets().map(|(path, content)| file(path, content)));
    files
}

const INDEX: &str = "index.html";
const MEASURED: &str = "measured.html";
const COMPARISON: &str = "comparison.html";

/// Where the pages of servers and tests lie, each somewhere else.
struct GalleryPlaces {
    servers: Vec<String>,
    tests: Vec<String>,
}

impl GalleryPlaces {
    fn of(gallery: &Gallery<'_>, rows: &[GalleryRow<'_>]) -> GalleryPlaces {
        let mut names = FileNames::default();
        let mut file_name = |kind: &str, name: &str| names.of(&format!("{kind}-{name}")) + ".html";
        let servers = gallery.exhibits.iter();
        let servers = servers
            .map(|exhibit| file_name("server", &exhibit.name))
            .collect();
        let tests = rows.iter().map(|row| file_name("test", row.name)).collect();
        GalleryPlaces { servers, tests }
    }
}

fn file(path: &str, content: String) -> SiteFile {
    SiteFile {
        path: path.to_owned(),
        content,
    }
}

fn rows<'a>(gallery: &'a Gallery<'_>) -> Vec<GalleryRow<'a>> {
    let summaries = || gallery.exhibits.iter().map(|exhibit| exhibit.shown.summary);
    let tests = summaries().flat_map(|summary| &summary.tests);
    let names = distinct(tests.map(|test| test.name.as_str()));
    let row = |name: &'a str| {
        let of = |summary: &'a Summary| summary.tests.iter().find(|row| row.name == name);
        GalleryRow {
            name,
            servers: summaries().map(of).collect(),
        }
    };
    names.into_iter().map(row).collect()
}

fn site(gallery: &Gallery<'_>, rows: &[GalleryRow<'_>], places: &GalleryPlaces) -> Site {
    let link = |name: &str, file: &str| Link {
        name: name.to_owned(),
        file: file.to_owned(),
    };
    let servers = gallery.exhibits.iter().zip(&places.servers);
    let tests = rows.iter().zip(&places.tests);
    Site {
        groups: vec![
            (
                String::new(),
                vec![
                    link("All servers", INDEX),
                    link("Comparison", COMPARISON),
                    link("How it was measured", MEASURED),
                ],
            ),
            (
                "Servers:".to_owned(),
                servers
                    .map(|(exhibit, path)| link(&exhibit.name, path))
                    .collect(),
            ),
            (
                "Tests:".to_owned(),
                tests.map(|(row, path)| link(row.name, path)).collect(),
            ),
        ],
    }
}

fn compared<'a>(gallery: &Gallery<'a>, site: &'a Site) -> ReportPage<'a> {
    ReportPage {
        runs: gallery
            .exhibits
            .iter()
            .map(|exhibit| exhibit.shown.clone())
            .collect(),
        comparison: Some(gallery.comparison),
        site: Some(site),
        ..ReportPage::default()
    }
}

fn test_page(gallery: &Gallery<'_>, name: &str, site: &Site) -> String {
    let summaries: Vec<(usize, Summary)> = gallery
        .exhibits
        .iter()
        .map(|exhibit| {
            let summary = exhibit.shown.summary;
            let index = summary.tests.iter().position(|test| test.name == name);
            let index = index.unwrap_or(usize::MAX);
            (index, only(summary, index))
        })
        .collect();
    let page = ReportPage {
        runs: gallery
            .exhibits
            .iter()
            .zip(&summaries)
            .map(|(exhibit, (index, summary))| shown(exhibit, *index, summary))
            .collect(),
        title: Some(name),
        site: Some(site),
        ..ReportPage::default()
    };
    html(&page)
}

/// Warnings of a run about one row, and those about the run as a whole.
fn only(summary: &Summary, index: usize) -> Summary {
    let row = summary.tests.get(index);
    let row_warnings = row.iter().flat_map(|row| &row.warnings);
    let run_warnings = summary.warnings.iter();
    let run_warnings = run_warnings.filter(|warning| warning.is_about_run());
    Summary {
        tests: row.cloned().into_iter().collect(),
        warnings: row_warnings.chain(run_warnings).cloned().collect(),
        ..summary.clone()
    }
}

fn shown<'a>(exhibit: &Exhibit<'a>, index: usize, summary: &'a Summary) -> PageRun<'a> {
    let details = exhibit.shown.details.as_ref();
    PageRun {
        summary,
        details: details.map(|details| details.get(index).cloned().into_iter().collect()),
        ..exhibit.shown.clone()
    }
}
