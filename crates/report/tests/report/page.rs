//! The page: hostile text stays text, nothing is loaded, and the page stays small.

use record::Run;
use report::Comparisons;
use report::page::{Common, PageRun, ReportPage, figures_of, html};
use serde_json::Value;
use stats::testing::{RunBuilder, details};
use stats::{
    Evidence, Finding, LeftOut, NamedQuantity, Quantity, Resolution, StatusReason, Summary,
    WhyLeftOut, summarise,
};

use crate::{answers, diagnoses, runs};

/// Names that try to become markup, or to hide it.
const HOSTILE: [&str; 5] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{data}}",
    "a\u{202e}b\u{2028}\u{1b}[2J",
];

pub(crate) fn shown<'a>(run: &'a Run, summary: &'a Summary) -> PageRun<'a> {
    PageRun {
        details: Some(details(run, Resolution::for_rows(run.plan.measures.len()))),
        ..without_details(run, summary)
    }
}

pub(crate) fn without_details<'a>(run: &'a Run, summary: &'a Summary) -> PageRun<'a> {
    PageRun {
        name: None,
        run,
        summary,
        details: None,
    }
}

pub(crate) fn page_of(run: &Run) -> String {
    page_of_runs(std::slice::from_ref(run))
}

pub(crate) fn page_of_runs(runs: &[Run]) -> String {
    let summaries: Vec<Summary> = runs.iter().map(summarise).collect();
    let shown = |(run, summary)| shown(run, summary);
    html(&ReportPage {
        runs: runs.iter().zip(&summaries).map(shown).collect(),
        ..ReportPage::default()
    })
}

pub(crate) fn figures_of_run(run: &Run) -> Vec<figures::Figure> {
    let summary = summarise(run);
    figures_of_runs(&[(run.clone(), summary)])
}

pub(crate) fn figures_of_runs(runs: &[(Run, Summary)]) -> Vec<figures::Figure> {
    let shown = runs.iter().map(|(run, summary)| shown(run, summary));
    figures_of(&ReportPage {
        runs: shown.collect(),
        ..ReportPage::default()
    })
}

/// Where the data of a page begin and end.
const DATA: (&str, &str) = (
    "<script type=\"application/json\" id=\"data\">",
    "</script>",
);

pub(crate) fn data(page: &str) -> &str {
    let (_, rest) = page.split_once(DATA.0).unwrap();
    rest.split_once(DATA.1).unwrap().0
}

/// The page but for its data, scripts and style.
pub(crate) fn markup(page: &str) -> String {
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    let from = page.find(DATA.0).unwrap();
    page[..style.start].to_owned() + &page[style.end..from]
}

#[test]
fn the_data_are_the_documents_for_programs() {
    for run in [
        runs::classic(),
        runs::mixed(),
        runs::open(),
        runs::kernel(),
        runs::pages(),
    ] {
        let summary = summarise(&run);
        let expected: Value = serde_json::from_str(&report::json(&run, &summary, &[])).unwrap();
        let data: Value = serde_json::from_str(data(&page_of(&run))).unwrap();
        assert_eq!(data["runs"][0]["result"], expected);
        // The tables behind the figures have every operation once.
        let figures = figures_of_run(&run);
        for test in &summary.tests {
            let id = format!("histogram-{}", test.name);
            let histograms = figures.iter().filter(|figure| figure.id == id);
            let rows = histograms.flat_map(|figure| figure.rows());
            let in_histogram: u64 = rows.map(|row| row[2].parse::<u64>().unwrap()).sum();
            let n = test.response.map_or(0, |times| times.n);
            assert_eq!(in_histogram, n, "{}", test.name);
        }
    }
}

#[test]
fn what_strangers_write_stays_text() {
    for name in HOSTILE {
        let run = RunBuilder::new(1)
            .with(|run| {
                let server = run.env.server.as_mut().unwrap();
                server.software = Some(name.to_owned());
                run.plan.target = format!("http://127.0.0.1/{name}/");
                run.plan.suite.title = name.to_owned();
                run.plan.others = vec![format!("http://127.0.0.2/{name}/")];
                run.plan.pages = vec![record::PageRecord {
                    name: name.to_owned(),
                    weight: 1.0,
                    files: vec![record::MeasureId(0)],
                    bytes: None,
                    parts: None,
                }];
            })
            .test(name, &[(name, "GET")])
            .ok(name, 20, |i| 100 + i)
            .event(name, |test, _| record::EventKind::TestFailed {
                test,
                evidence: name.to_owned(),
            })
            .event(name, |_, measure| record::EventKind::Note {
                measure,
                text: name.to_owned(),
            })
            .build();
        let summary = summarise(&run);
        let finding = Finding {
            rule: "fails-under-load",
            figures: vec![NamedQuantity {
                name: "answer",
                value: Quantity::Text(name.to_owned()),
                interval: None,
                operations: None,
            }],
            evidence: vec![Evidence {
                row: name.to_owned(),
                figures: Vec::new(),
            }],
            is_seen_once: false,
            tests: vec![name.to_owned()],
            run: 0,
            weight: 0.1,
        };
        let diagnosed = [diagnoses::of(vec![finding], Vec::new())];
        let mut sweep = answers::sweep();
        sweep.suite = name.to_owned();
        sweep.rows[0].name = name.to_owned();
        let page = html(&ReportPage {
            runs: vec![shown(&run, &summary), shown(&run, &summary)],
            sweep: Some(&sweep),
            diagnosed: Some(&diagnosed),
            ..ReportPage::default()
        });
        // Data, scripts: no more, and each opened element is closed.
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        assert_eq!(page.matches("</script").count(), 2, "{name}");
        let text = markup(&page);
        assert!(!text.contains("<img") && !text.contains("<!--"), "{name}");
        assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{name}");
        let data: Value = serde_json::from_str(data(&page)).unwrap();
        assert_eq!(data["runs"][0]["result"]["tests"][0]["measure"], name);
        assert_eq!(data["sweep"]["tests"][0]["measure"], name);
    }
}

#[test]
fn pages_are_in_a_table_and_in_the_words_of_1995() {
    let run = runs::pages();
    let page = page_of(&run);
    let text = markup(&page);
    let (_, section) = text.split_once("<section id=\"pages\">").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    // A row for each page, one for all of them, and one for each server.
    let (_, body) = section.split_once("<tbody>").unwrap();
    let (body, _) = body.split_once("</tbody>").unwrap();
    assert_eq!(body.matches("<tr>").count(), 2 + 1 + 2);
    for part in [
        "<td class=\"bad\" data-sort=\"1\">1</td>",
        "http://192.0.2.2/",
        "Page # 1 (Page1)&#10;Total number of times page was hit 25&#10;",
        // With the page that misses a file.
        "WEBSTONE number: 600",
        "Complete pages a minute: 594 (574 .. 614),",
        "Response size (bytes)",
        "Load factor",
    ] {
        assert!(section.contains(part), "{part}\n{section}");
    }
    let (_, short) = text
        .split_once("<strong>594</strong> complete pages a minute (574 .. 614):")
        .unwrap();
    assert!(short.contains(">1 incomplete</span>"));
    assert!(!markup(&page_of(&runs::classic())).contains("id=\"pages\""));
}

/// Attributes and rules that make a browser load something from elsewhere.
const OF_MARKUP: [&str; 6] = ["src=", "@import", "url(", "<link", "<base", "srcset"];
/// Names by which scripts load resources.
const OF_SCRIPTS: [&str; 8] = [
    "fetch(",
    "XMLHttpRequest",
    "import(",
    "WebSocket",
    "EventSource",
    "sendBeacon",
    "importScripts",
    ".src=",
];

fn loads<'a>(part: &str, signs: &[&'a str]) -> Vec<&'a str> {
    let signs = signs.iter().copied();
    signs.filter(|sign| part.contains(sign)).collect()
}

#[test]
fn nothing_is_loaded() {
    assert_eq!(loads("<img src='http://127.0.0.1/'>", &OF_MARKUP), ["src="]);
    assert_eq!(loads("await fetch(x)", &OF_SCRIPTS), ["fetch("]);
    let page = page_of(&runs::classic());
    let text = markup(&page);
    assert_eq!(loads(&text, &OF_MARKUP), [""; 0]);
    assert!(text.contains("default-src 'none'"));
    let links = text.matches("href=\"").count();
    assert_eq!(links, text.matches("href=\"#").count());
    let (_, style) = page.split_once("<style>").unwrap();
    let (style, scripts) = style.split_once("</style>").unwrap();
    assert!(style.len() > 1_000);
    assert_eq!(loads(style, &OF_MARKUP), [""; 0]);
    let (_, scripts) = scripts.rsplit_once(DATA.0).unwrap();
    assert!(scripts.len() > 1_000);
    assert_eq!(loads(scripts, &OF_SCRIPTS), [""; 0]);
}

#[test]
fn what_matters_stands_first() {
    let page = page_of(&runs::open());
    let offset = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        "<h1>",
        "Inconclusive:",
        "id=\"bars\"",
        "id=\"tests\"",
        "id=\"details\"",
        "id=\"measured\"",
    ];
    let offsets = order.map(offset);
    assert!(offsets.is_sorted(), "{offsets:?}");
    let mixed = markup(&page_of(&runs::mixed()));
    for text in [
        "1 test ok",
        "2 failed</span> (Put1K, PropfindLiveSingle)",
        "2 not supported</span> (Lock, UnLock)",
        "507 Insufficient Storage",
        "the machine was busy: load 3.1 on 2 cores",
        "PrestanTest-20261120-101500-a1b2",
        "Evil\\u{1b}[2J/1.0",
    ] {
        assert!(mixed.contains(text), "no {text} in {mixed}");
    }
}

#[test]
fn verdicts_and_warnings_of_a_comparison_stand_first() {
    let run = runs::classic();
    let summary = summarise(&run);
    let comparison = answers::comparisons();
    let page = html(&ReportPage {
        runs: vec![shown(&run, &summary), shown(&run, &summary)],
        comparison: Some(&comparison),
        ..ReportPage::default()
    });
    let offset = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let offsets = [
        "1 failing only there</span> (Lock)",
        "1 slower</span> (Put1K)",
        "1 the same</span> (Get1K)",
        "2 inconclusive</span> (Propfind, UnLock)",
        "id=\"ratios\"",
        "tests ok",
        "id=\"comparison\"",
        "id=\"bars\"",
        "id=\"tests\"",
    ]
    .map(offset);
    assert!(offsets.is_sorted(), "{offsets:?}");
    let text = markup(&page);
    assert!(
        !text.contains("evil|`\u{1b}") && text.contains("evil|`\\u{1b}"),
        "{text}"
    );
    // Sorting by A and by B is by figures, and there is a way back.
    let (_, table) = text
        .split_once("<table class=\"sorts heat compared\">")
        .unwrap();
    let (_, row) = table.split_once("data-sort=\"3\">Lock</th>").unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    assert!(
        row.starts_with("<td data-sort=\"80\">80.0 µs</td>"),
        "{row}"
    );
    // Mean of B, ratio, interval, verdict: a column each.
    assert_eq!(row.matches("<td").count(), 1 + 4, "{row}");
    assert!(
        row.contains("<td class=\"heat3\" data-sort=\"1\">"),
        "{row}"
    );
    for name in ["mean", "B / A", "95 % interval", "verdict"] {
        assert!(
            table.contains(&format!(">{name}</th>")),
            "no {name} in {table}"
        );
    }
}

#[test]
fn sweeps_and_searches_have_their_tables_without_scripts() {
    let (sweep, found) = (answers::sweep(), answers::found());
    let run = runs::classic();
    let other = Run {
        plan: record::PlanRecord {
            load: record::Load {
                users: 4,
                ..run.plan.load.clone()
            },
            ..run.plan.clone()
        },
        ..run.clone()
    };
    let (summary, other_summary) = (summarise(&run), summarise(&other));
    let both = [(&run, &summary), (&other, &other_summary)];
    let series = both.map(|(run, summary)| stats::Side {
        plan: &run.plan,
        env: &run.env,
        summary,
    });
    let swept = markup(&html(&ReportPage {
        sweep: Some(&sweep),
        common: vec![Common::of("apache", series)],
        ..ReportPage::default()
    }));
    let (_, table) = swept.split_once("<section id=\"points\">").unwrap();
    let (table, measured) = table.split_once("<section id=\"measured\">").unwrap();
    // Three rows at eight points, beside the heading.
    assert_eq!(table.matches("<tr>").count(), 1 + 3 * 8, "{table}");
    assert_eq!(table.matches("3 of 63 failed</span>").count(), 2, "{table}");
    assert!(table.contains("<small>") && table.contains("data-sort=\"300\">300</td>"));
    assert!(swept.contains("href=\"#points\"") && !swept.contains("#tests"));
    // Facts that all runs have in common are shown, and none that only one of them has.
    for line in [
        "<dt>Target</dt>",
        "<dt>Clock</dt>",
        "<dt>Client</dt>",
        "<dt>Runs</dt><dd>2, ",
    ] {
        assert!(measured.contains(line), "no {line} in {measured}");
    }
    assert!(!measured.contains("<dt>Concurrency</dt>"), "{measured}");

    let searched = markup(&html(&ReportPage {
        search: Some(&found),
        ..ReportPage::default()
    }));
    let (_, table) = searched.split_once("<section id=\"trials\">").unwrap();
    // A row for each of four loads.
    assert_eq!(table.matches("<tr>").count(), 1 + 4);
    for text in [
        "17 users</th>",
        "class=\"bad\">held in 0 of 1</span>",
        ">held in 1 of 1, knee</td>",
        "medians of the trials of a load",
        "30.0 ms",
        "<dt>Target</dt>",
    ] {
        assert!(table.contains(text), "no {text} in {table}");
    }
    assert!(
        searched.contains("href=\"#trials\"")
            && searched.contains("GET: trials with different numbers of users")
    );
}

#[test]
fn a_page_without_findings_says_how_many_rows_were_looked_at() {
    let row = |row: &str| LeftOut {
        run: 0,
        row: row.to_owned(),
        why: WhyLeftOut::Evidence(StatusReason::Evidence("405 <i>".to_owned())),
        disqualified: false,
    };
    let disqualified = LeftOut {
        disqualified: true,
        ..row("Lock")
    };
    let page = |left_out: Vec<LeftOut>| {
        markup(&html(&ReportPage {
            diagnosed: Some(&[diagnoses::of(Vec::new(), left_out)]),
            ..ReportPage::default()
        }))
    };
    let all: Vec<LeftOut> = (0..23).map(|number| row(&format!("Row{number}"))).collect();
    let table = [
        (vec![row("Lock")], "checks of 22 of 23 rows", false),
        (all, "no row could be checked", false),
        (vec![disqualified], "checks of 22 of 23 rows", true),
    ];
    for (left_out, says, is_inconclusive) in table {
        let page = page(left_out);
        assert!(page.contains(says), "no {says} in {page}");
        assert_eq!(
            page.contains("Inconclusive: Lock"),
            is_inconclusive,
            "{says}"
        );
    }
    assert!(page(vec![row("Lock")]).contains("Lock (suite prestan): 405 &lt;i&gt;"));
}

#[test]
fn full_and_resumed_handshakes_have_rows_of_their_own() {
    let page = markup(&page_of(&runs::connecting()));
    for (kind, n) in [
        ("TCP handshake", 200),
        ("TLS handshake, full", 2),
        ("TLS handshake, resumed", 198),
    ] {
        let row = format!("<th scope=\"row\">{kind}</th><td>{n}</td>");
        assert!(page.contains(&row), "no {row} in {page}");
    }
    assert!(!markup(&page_of(&runs::classic())).contains("TLS"));
}

#[test]
fn percentiles_and_outcomes_are_there_without_scripts() {
    let page = markup(&page_of(&runs::mixed()));
    let (_, details) = page.split_once("id=\"details-tables\"").unwrap();
    for text in [
        ">p99.9</th>",
        "PROPFIND, failed; outcomes:",
        "PUT, failed; outcomes:",
    ] {
        assert!(details.contains(text), "no {text} in {details}");
    }
    assert_eq!(details.matches("class=\"of-test\"").count(), 5);
}

#[test]
fn runs_without_anything_to_show_have_a_page() {
    for run in [runs::empty(), runs::interrupted(), runs::awkward()] {
        let page = page_of(&run);
        assert!(page.contains("<section id=\"answer\""));
    }
    let nothing = html(&ReportPage::default());
    assert!(nothing.contains("<h1>Prestan</h1>"));
    let run = runs::classic();
    let summary = summarise(&run);
    let lost = html(&ReportPage {
        runs: vec![without_details(&run, &summary)],
        ..ReportPage::default()
    });
    assert!(lost.contains("data-id=\"bars-") && !lost.contains("data-id=\"ecdf-"));
}

#[test]
fn runs_are_told_apart() {
    let named = |changes: &[fn(&mut Run)]| {
        let all: Vec<(Run, Summary)> = changes
            .iter()
            .map(|change| {
                let mut run = runs::classic();
                change(&mut run);
                let summary = summarise(&run);
                (run, summary)
            })
            .collect();
        let runs = all
            .iter()
            .map(|(run, summary)| shown(run, summary))
            .collect();
        ReportPage {
            runs,
            ..ReportPage::default()
        }
        .names()
    };
    let port: fn(&mut Run) = |run| run.plan.target = "http://127.0.0.1:9/".to_owned();
    let id: fn(&mut Run) = |run| run.plan.run_id = "other".to_owned();
    let mute: fn(&mut Run) = |run| run.env.server.as_mut().unwrap().software = None;
    let same: fn(&mut Run) = |_| {};
    let apache = "Apache/2.4.66 (Debian)";
    assert_eq!(named(&[same, mute]), [apache, "127.0.0.1:8080"]);
    assert_eq!(
        named(&[same, port]),
        [
            format!("{apache} (127.0.0.1:8080)"),
            format!("{apache} (127.0.0.1:9)")
        ]
    );
    assert_eq!(
        named(&[same, id]),
        [
            format!("{apache} (20261121-040600-k3f9)"),
            format!("{apache} (other)")
        ]
    );
    assert_eq!(
        named(&[same, same]),
        [format!("{apache} #1"), format!("{apache} #2")]
    );
}

#[test]
fn many_servers_fit_into_two_megabytes() {
    let comparisons = answers::comparisons();
    for servers in [1, 2, 4, 8] {
        let size = size_of(servers, &comparisons);
        assert!(size < 2_000_000, "{servers} servers: {size} bytes");
    }
    // Its tables and documents alone are more than a megabyte.
    let size = size_of(12, &comparisons);
    assert!(size < 2_400_000, "12 servers: {size} bytes");
}

fn size_of(servers: usize, one: &Comparisons) -> usize {
    let all =
        runs::CLASSIC
            .into_iter()
            .fold(RunBuilder::new(1), |builder, (name, method, mean)| {
                builder
                    .test(name, &[(name, method)])
                    .ok(name, 700, move |i| mean + i * 7919 % 10_007)
            });
    let run = all.build();
    let summary = summarise(&run);
    let rows = servers * runs::CLASSIC.len();
    // As many rows as there are tests, for every server but the first.
    let mut versus = one.versus[0].clone();
    let again = versus.comparison.rows.iter().cycle();
    versus.comparison.rows = again.take(runs::CLASSIC.len()).cloned().collect();
    let comparison = Comparisons {
        versus: vec![versus; servers - 1],
        ..one.clone()
    };
    let shown_once = PageRun {
        details: Some(details(&run, Resolution::for_rows(rows))),
        ..shown(&run, &summary)
    };
    let page = ReportPage {
        runs: vec![shown_once; servers],
        comparison: Some(&comparison),
        ..ReportPage::default()
    };
    html(&page).len()
}
