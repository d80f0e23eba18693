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

use stats::{Finding, Summary, Swept, SweptRow};

use crate::Comparisons;
use crate::page::{self, Link, Page, PageRun, Site, html};

/// Several servers that were measured side by side.
#[derive(Debug, Clone)]
pub struct Gallery<'a> {
    /// The day it was made, `2026-11-21`.
    pub day: String,
    /// The command that made it.
    pub command: String,
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
    /// Version, as its program says.
    pub version: String,
    /// Where it has dead properties: files, database, memory, nothing.
    pub properties: &'static str,
    /// Where it has locks.
    pub locks: &'static str,
    /// Its first run, for its pages.
    pub shown: PageRun<'a>,
    /// What all its runs say.
    pub runs: Vec<&'a Summary>,
    /// What is conspicuous.
    pub findings: Vec<Finding>,
}

/// A file of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it belongs, below the directory of the site.
    pub path: String,
    /// What is in it.
    pub content: String,
}

/// All files of a gallery.
pub fn gallery(gallery: &Gallery<'_>) -> Vec<File> {
    let rows = means(gallery);
    let site = site(gallery, &rows);
    let mut files = vec![
        file(INDEX, index::index(gallery, &rows, &site)),
        file(MEASURED, index::measured(gallery, &site)),
        file(COMPARISON, html(&compared(gallery, &site))),
        file("table.md", index::markdown(gallery, &rows)),
    ];
    for exhibit in &gallery.exhibits {
        let page = Page {
            runs: vec![exhibit.shown.clone()],
            findings: Some(&exhibit.findings),
            site: Some(&site),
            ..Page::default()
        };
        files.push(file(&server_file(&exhibit.name), html(&page)));
    }
    for row in &rows {
        files.push(file(
            &test_file(&row.name),
            of_test(gallery, &row.name, &site),
        ));
    }
    files.extend(page::assets().map(|(path, content)| file(path, content)));
    files
}

const INDEX: &str = "index.html";
const MEASURED: &str = "measured.html";
const COMPARISON: &str = "comparison.html";

fn file(path: &str, content: String) -> File {
    File {
        path: path.to_owned(),
        content,
    }
}

/// Every row: a mean for each server, over all its runs.
fn means(gallery: &Gallery<'_>) -> Vec<SweptRow> {
    let runs = gallery
        .exhibits
        .iter()
        .enumerate()
        .flat_map(|(server, exhibit)| {
            let runs = exhibit.runs.iter().enumerate();
            runs.map(move |(repeat, summary)| Swept {
                server,
                levels: &[],
                repeat,
                summary,
            })
        });
    stats::sweep(&[], &runs.collect::<Vec<_>>(), 0.0)
}

fn site(gallery: &Gallery<'_>, rows: &[SweptRow]) -> Site {
    let link = |name: &str, file: String| Link {
        name: name.to_owned(),
        file,
    };
    let servers = gallery.exhibits.iter();
    let tests = rows.iter();
    Site {
        groups: vec![
            (
                String::new(),
                vec![
                    link("All servers", INDEX.to_owned()),
                    link("Comparison", COMPARISON.to_owned()),
                    link("How it was measured", MEASURED.to_owned()),
                ],
            ),
            (
                "Servers:".to_owned(),
                servers
                    .map(|exhibit| link(&exhibit.name, server_file(&exhibit.name)))
                    .collect(),
            ),
            (
                "Tests:".to_owned(),
                tests
                    .map(|row| link(&row.name, test_file(&row.name)))
                    .collect(),
            ),
        ],
    }
}

fn server_file(name: &str) -> String {
    format!("server-{}.html", safe(name))
}

fn test_file(name: &str) -> String {
    format!("test-{}.html", safe(name))
}

/// A name that is one of a file everywhere.
fn safe(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(letter).collect()
}

/// All servers beside the first.
fn compared<'a>(gallery: &Gallery<'a>, site: &'a Site) -> Page<'a> {
    Page {
        runs: gallery
            .exhibits
            .iter()
            .map(|exhibit| exhibit.shown.clone())
            .collect(),
        comparison: Some(gallery.comparison),
        site: Some(site),
        ..Page::default()
    }
}

/// One test on all servers.
fn of_test(gallery: &Gallery<'_>, name: &str, site: &Site) -> String {
    let summaries: Vec<(usize, Summary)> = gallery
        .exhibits
        .iter()
        .map(|exhibit| {
            let summary = exhibit.shown.summary;
            let place = summary.tests.iter().position(|test| test.name == name);
            let place = place.unwrap_or(usize::MAX);
            (place, only(summary, place))
        })
        .collect();
    let page = Page {
        runs: gallery
            .exhibits
            .iter()
            .zip(&summaries)
            .map(|(exhibit, (place, summary))| shown(exhibit, *place, summary))
            .collect(),
        title: Some(name),
        site: Some(site),
        ..Page::default()
    };
    html(&page)
}

/// What a run says of one test.
fn only(summary: &Summary, place: usize) -> Summary {
    Summary {
        tests: summary.tests.get(place).cloned().into_iter().collect(),
        ..summary.clone()
    }
}

fn shown<'a>(exhibit: &Exhibit<'a>, place: usize, summary: &'a Summary) -> PageRun<'a> {
    let details = exhibit.shown.details.as_ref();
    PageRun {
        summary,
        details: details.map(|details| details.get(place).cloned().into_iter().collect()),
        ..exhibit.shown.clone()
    }
}
