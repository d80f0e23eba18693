//! Text from servers and suites stays text, in every report.
//!
//! Every string of a recorded run that may have any value is replaced by a hostile one. A report of
//! that run must have the shape of a report of a harmless one: as many lines, cells, elements.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use record::{Environment, NoteRecord, PlanRecord, Run};
use report::gallery::{Exhibit, Gallery, gallery};
use report::page::{PageRun, ReportPage};
use report::{Comparisons, Incomplete, SearchResult, Sweep, TextOptions, Versus};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stats::{Side, summarise};

use crate::outline::assert_outline;
use crate::page::without_details;
use crate::{answers, campaigns, runs};

pub(crate) const MARK: &str = "FORGED";

pub(crate) const HOSTILE: [&str; 33] = [
    "x\nWarning: FORGED",
    "x\\nWarning: FORGED",
    "x\r\n\r\nFORGED",
    "\u{1b}[2J\u{1b}]0;FORGED\u{7}",
    "\u{9b}31mFORGED\u{85}x",
    "\u{202e}FORGED\u{2028}x\u{2066}",
    "\u{200b}FORGED\u{e0041}",
    "=FORGED(1)",
    "+FORGED(1)",
    "-FORGED(1)",
    "@FORGED",
    "\t=FORGED(1)",
    " =FORGED(1)",
    "＝FORGED(1)",
    "＋FORGED(1)",
    "－FORGED(1)",
    "＠FORGED(1)",
    "\",=FORGED(1)\n",
    "a|FORGED|b",
    "**FORGED** _x_ ~~y~~ $z$",
    "[FORGED](javascript:alert(1)) ![x](http://forged.example/)",
    "`FORGED` \\` ```",
    "# FORGED",
    "1. FORGED",
    "- FORGED",
    "www.forged.example/FORGED <http://forged.example/>",
    "<img src=x onerror=FORGED> &lt;FORGED&gt; <!-- x",
    "\"></td></table></script><script>FORGED</script>",
    "{{data}} {{scripts}} FORGED",
    "../../FORGED\0/%2e%2e/\\",
    "\u{fffe}FORGED\u{ffff}",
    "__proto__ FORGED",
    "#12 GH-13 !4 a/b#7 5cc1e3dc FORGED",
];

/// The targets that the last of them would refer to.
const REFERENCES: [&str; 5] = ["#12", "GH-13", "!4", "b#7", "5cc1e3dc"];

/// The same with every string replaced that may have any value.
fn replaced<T: Serialize + DeserializeOwned>(of: &T, hostile: &str) -> T {
    let mut document = serde_json::to_value(of).unwrap();
    let mut pointers = Vec::new();
    strings(&document, &mut String::new(), &mut pointers);
    for (number, pointer) in pointers.iter().enumerate() {
        let before = document.pointer(pointer).unwrap().clone();
        // Each differently: names are unique.
        *document.pointer_mut(pointer).unwrap() =
            hostile.replace(MARK, &format!("{MARK}{number}")).into();
        if serde_json::from_value::<T>(document.clone()).is_err() {
            // A word of ours: the name of an outcome, for example.
            *document.pointer_mut(pointer).unwrap() = before;
        }
    }
    serde_json::from_value(document).unwrap()
}

/// Pointers (RFC 6901) to all strings of a document.
fn strings(value: &Value, pointer: &mut String, pointers: &mut Vec<String>) {
    let length = pointer.len();
    let mut below = |name: String, value: &Value| {
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        strings(value, pointer, pointers);
        pointer.truncate(length);
    };
    match value {
        Value::String(_) => pointers.push(pointer.clone()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                below(index.to_string(), item);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                below(name.clone(), field);
            }
        }
        _ => {}
    }
}

fn hostile_run(run: &Run, hostile: &str) -> Run {
    let plan: PlanRecord = replaced(&run.plan, hostile);
    let env: Environment = replaced(&run.env, hostile);
    let events = run.events.iter().map(|event| replaced(event, hostile));
    Run {
        events: events.collect(),
        plan,
        env,
        samples: run.samples.clone(),
    }
}

/// Every kind of report, of runs and responses with this hostile text.
struct Reports {
    /// For terminals.
    texts: Vec<String>,
    documents: Vec<String>,
    sheets: Vec<String>,
    markdown: Vec<String>,
    pages: Vec<String>,
    junit: Vec<String>,
    /// Names of files.
    files: Vec<String>,
}

fn reports(hostile: &str) -> Reports {
    let mut reports = Reports {
        texts: Vec::new(),
        documents: Vec::new(),
        sheets: Vec::new(),
        markdown: Vec::new(),
        pages: Vec::new(),
        junit: Vec::new(),
        files: Vec::new(),
    };
    for run in [runs::mixed(), runs::interrupted(), runs::closed()] {
        let run = hostile_run(&run, hostile);
        add_run(&run, &mut reports);
    }
    add_answers(hostile, &mut reports);
    add_campaign(hostile, &mut reports);
    reports
}

/// Wide enough that nothing is wrapped: lines are those that were meant.
const WIDE: usize = 100_000;

fn add_run(run: &Run, reports: &mut Reports) {
    let summary = summarise(run);
    let options = TextOptions {
        width: WIDE,
        ..TextOptions::default()
    };
    reports
        .texts
        .push(report::text(run, &summary, &[], &options));
    reports.documents.push(report::json(run, &summary, &[]));
    reports.sheets.push(report::csv(run, &summary));
    reports.junit.push(report::junit(run, &summary));
    reports
        .sheets
        .push(report::log_header() + &report::log(&run.plan, &[], &run.samples));
    let side = || Side {
        plan: &run.plan,
        env: &run.env,
        summary: &summary,
    };
    let name = run.plan.suite.title.clone();
    let comparisons = Comparisons {
        name: name.clone(),
        runs: vec![name.clone()],
        seeds: Vec::new(),
        notes: vec![note(&name)],
        versus: vec![Versus {
            name: name.clone(),
            runs: vec![name.clone()],
            seeds: Vec::new(),
            notes: Vec::new(),
            comparison: stats::compare(&[side()], &[side()], 0.02).unwrap(),
        }],
        incomplete: Some(ended(&name)),
    };
    reports
        .texts
        .push(report::compare_text(&comparisons, false, WIDE));
    reports.documents.push(report::compare_json(&comparisons));
    reports
        .markdown
        .push(report::compare_markdown(&comparisons));
    let shown = without_details(run, &summary);
    reports.pages.push(report::page::html(&ReportPage {
        runs: vec![shown.clone(), shown.clone()],
        comparison: Some(&comparisons),
        ..ReportPage::default()
    }));
    if reports.files.is_empty() {
        add_gallery(&name, shown, &comparisons, reports);
    }
}

fn add_gallery(name: &str, shown: PageRun<'_>, comparison: &Comparisons, reports: &mut Reports) {
    let exhibit = Exhibit {
        name: name.to_owned(),
        title: name.to_owned(),
        version: name.to_owned(),
        properties: "files",
        locks: "files",
        limits: name,
        shown,
        diagnosed: None,
    };
    let site = gallery(&Gallery {
        day: "2026-11-21".to_owned(),
        command: name.to_owned(),
        runs: 1,
        planned: 2,
        exhibits: vec![exhibit.clone(), exhibit],
        comparison,
    });
    for file in site {
        match file.path.rsplit_once('.') {
            Some((_, "html")) => reports.pages.push(file.content),
            Some((_, "md")) => reports.markdown.push(file.content),
            _ => {}
        }
        reports.files.push(file.path);
    }
}

fn note(text: &str) -> NoteRecord {
    NoteRecord {
        name: text.to_owned(),
        text: text.to_owned(),
    }
}

fn ended(hostile: &str) -> Incomplete {
    Incomplete {
        series: "sweep",
        failure: Some(hostile.to_owned()),
        place: Some("in repeat 2 of 3".to_owned()),
        not_measured: Vec::new(),
    }
}

fn add_answers(hostile: &str, reports: &mut Reports) {
    let text = || hostile.to_owned();
    let mut sweep: Sweep = answers::sweep();
    sweep.suite = text();
    sweep.incomplete = Some(ended(hostile));
    sweep.caveats = vec![text()];
    sweep.notes = vec![note(hostile)];
    for server in &mut sweep.servers {
        (server.name, server.target, server.software) = (text(), text(), Some(text()));
    }
    for row in &mut sweep.rows {
        (row.name, row.method) = (text() + &row.name, text());
    }
    let found = SearchResult {
        target: text(),
        software: Some(text()),
        what: text(),
        notes: vec![note(hostile)],
        caveats: vec![text()],
        incomplete: Some(ended(hostile)),
        ..answers::found()
    };
    let texts = [
        report::sweep_text(&sweep, false, WIDE),
        report::search_text(&found, false, WIDE),
    ];
    reports.texts.extend(texts);
    let documents = [report::sweep_json(&sweep), report::search_json(&found)];
    reports.documents.extend(documents);
    reports.pages.push(report::page::html(&ReportPage {
        sweep: Some(&sweep),
        search: Some(&found),
        title: Some(hostile),
        ..ReportPage::default()
    }));
}

/// Its pages are tested elsewhere: how they show a name depends on its length.
fn add_campaign(hostile: &str, reports: &mut Reports) {
    // Names of tables must differ.
    let text = |name: &str| hostile.replace(MARK, &format!("{MARK} {name}"));
    let campaign = campaigns::campaign(&text);
    let of = campaign.report();
    reports.texts.push(report::campaign_text(&of, false, WIDE));
    reports.markdown.push(report::campaign_markdown(&of));
    reports.documents.push(report::campaign_json(&of));
    let sheets = [report::campaign_csv(&of), report::campaign_trials_csv(&of)];
    reports.sheets.extend(sheets);
    let charts = report::campaign_charts(&of);
    let names = charts.into_iter().map(|(name, _)| name);
    reports.files.extend(names);
}

/// A terminal shows as many lines, and obeys nothing.
fn assert_lines(text: &str, harmless: &str, hostile: &str) {
    assert_eq!(
        text.lines().count(),
        harmless.lines().count(),
        "{hostile:?}\n{text}"
    );
    let obeyed = text
        .chars()
        .find(|c| *c != '\n' && report::clean(&c.to_string()).len() > c.len_utf8());
    assert_eq!(obeyed, None, "{hostile:?}\n{text}");
}

fn assert_cells(sheet: &str, harmless: &str, hostile: &str) {
    let cells = |sheet: &str| -> Vec<Vec<String>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(sheet.as_bytes());
        let rows = reader
            .records()
            .map(|row| row.unwrap().iter().map(str::to_owned).collect());
        rows.collect()
    };
    let (rows, others) = (cells(sheet), cells(harmless));
    assert_eq!(rows.len(), others.len(), "{hostile:?}\n{sheet}");
    for cell in rows
        .iter()
        .flatten()
        .filter(|cell| cell.parse::<f64>().is_err())
    {
        let begins = cell.trim_start().chars().next();
        let is_formula = begins.is_some_and(|c| "=+-@＝＋－＠\t\r".contains(c));
        assert!(!is_formula, "{hostile:?}: {cell:?}");
    }
}

/// Elements of Markdown without their texts, and the joined texts.
fn elements(markdown: &str) -> (Vec<String>, String) {
    let mut elements = Vec::new();
    let mut all = String::new();
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Text(text) => all += &text,
            // GitHub looks for names everywhere else.
            Event::Code(_) => elements.push("code".to_owned()),
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) => panic!("a link in {markdown}"),
            Event::Html(_) | Event::InlineHtml(_) => panic!("HTML in {markdown}"),
            Event::End(TagEnd::TableRow | TagEnd::TableCell) => all += "\n",
            other => elements.push(format!("{other:?}")),
        }
    }
    (elements, all)
}

/// How often a page has each character that makes markup, and its data, in which there is none.
/// Drawings leave out what has no room, which depends on the length of names; what they escape is
/// tested where they are drawn.
fn markup(page: &str) -> ([usize; 3], &str) {
    let (before, rest) = page.split_once(" id=\"data\">").unwrap_or((page, ""));
    let (data, after) = rest.split_once("</script>").unwrap_or_default();
    let parts = before.split("<svg ").chain(after.split("<svg "));
    let outside = parts.map(|part| part.split_once("</svg>").map_or(part, |(_, rest)| rest));
    let outside: String = outside.collect();
    let count = |c: char| outside.matches(c).count();
    (['<', '>', '"'].map(count), data)
}

#[test]
fn what_strangers_write_is_text_in_every_report() {
    let harmless = reports(MARK);
    for hostile in HOSTILE {
        let reports = reports(hostile);
        for (text, other) in reports.texts.iter().zip(&harmless.texts) {
            assert_lines(text, other, hostile);
        }
        for (json, other) in reports.documents.iter().zip(&harmless.documents) {
            assert_lines(json, other, hostile);
            let document: Value = serde_json::from_str(json).unwrap();
            assert!(document.is_object());
        }
        for (sheet, other) in reports.sheets.iter().zip(&harmless.sheets) {
            assert_cells(sheet, other, hostile);
        }
        for (markdown, other) in reports.markdown.iter().zip(&harmless.markdown) {
            let (found, text) = elements(markdown);
            assert_eq!(found, elements(other).0, "{hostile:?}\n{markdown}");
            // Nothing is lost or replaced.
            assert!(text.contains(MARK), "{markdown}");
            assert!(!text.contains("@F"), "{markdown}");
            let reference = REFERENCES
                .iter()
                .find(|reference| text.contains(**reference));
            assert_eq!(reference, None, "{markdown}");
        }
        for (page, other) in reports.pages.iter().zip(&harmless.pages) {
            assert_outline(page);
            let (page, other) = (markup(page), markup(other));
            assert_eq!(page.0, other.0, "{hostile:?}");
            assert!(!page.1.contains('<'), "{hostile:?}");
        }
        for (junit, other) in reports.junit.iter().zip(&harmless.junit) {
            let count = |text: &str| ['<', '>', '"'].map(|c| text.matches(c).count());
            assert_eq!(count(junit), count(other), "{hostile:?}\n{junit}");
        }
        for text in reports.pages.iter().chain(&reports.junit) {
            // XML 1.0, section 2.2: whatever reads the drawings of a page as SVG has them, too.
            let is_forbidden =
                |c: &char| c.is_control() && *c != '\n' || "\u{fffe}\u{ffff}".contains(*c);
            assert_eq!(text.chars().find(is_forbidden), None, "{hostile:?}");
        }
        for file in &reports.files {
            let name = file.strip_prefix("assets/").unwrap_or(file);
            let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            assert!(
                name.chars().all(is_safe) && !name.starts_with('.'),
                "{file}"
            );
        }
    }
}

/// A label may be written from right to left, and the text beside it is not.
#[test]
fn labels_do_not_reorder_the_words_beside_them() {
    let label = "\u{5e9}\u{5e8}\u{5ea} 2";
    let run = runs::classic();
    let summary = summarise(&run);
    let named = |name: &str| PageRun {
        name: Some(name.to_owned()),
        ..without_details(&run, &summary)
    };
    let page = ReportPage {
        runs: vec![named(label), named("other")],
        ..ReportPage::default()
    };
    let page = report::page::html(&page);
    // Alone in a cell, a heading or an option it has nothing beside it; nor has it in a drawing.
    let alone = [
        "<td>",
        "<th scope=\"row\">",
        "<th colspan=\"2\">",
        "<th colspan=\"4\">",
        "<h3>",
        "fi\">",
    ];
    let page = crate::page::markup(&page);
    let (_, body) = page.split_once("<body>").unwrap();
    for (at, _) in body.match_indices(label) {
        let before = &body[..at];
        let is_isolated = before.ends_with("<bdi>") || before.ends_with("<bdi class=\"name\">");
        let is_drawn = before
            .rfind("<text")
            .is_some_and(|text| !before[text..].contains("</text>"));
        let is_alone = alone.iter().any(|before_it| before.ends_with(before_it));
        let tag = before.rsplit('<').next().unwrap();
        assert!(is_isolated || is_drawn || is_alone, "<{tag}");
    }
    assert!(body.matches("<bdi").count() > 3);
}
