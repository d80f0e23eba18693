//! The page: what strangers write stays text, nothing is loaded, and it stays small.

use std::convert::Infallible;

use record::Run;
use report::page::{Page, PageRun, figure_data, html};
use serde_json::Value;
use stats::testing::RunBuilder;
use stats::{Details, Finding, Resolution, Summary, summarise};

use crate::{answers, runs};

/// Names that try to become markup, or to hide it.
const HOSTILE: [&str; 5] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{data}}",
    "a\u{202e}b\u{2028}\u{1b}[2J",
];

fn details(run: &Run, rows: usize) -> Vec<Details> {
    let pieces = || Ok::<_, Infallible>([Ok::<_, Infallible>(&run.samples)]);
    match stats::details_from(&run.plan, &run.events, Resolution::for_rows(rows), pieces) {
        Ok(details) => details,
        Err(never) => match never {},
    }
}

fn shown<'a>(run: &'a Run, summary: &'a Summary) -> PageRun<'a> {
    PageRun {
        name: None,
        run,
        summary,
        details: Some(details(run, run.plan.measures.len())),
    }
}

/// The page of one run.
fn page_of(run: &Run) -> String {
    let summary = summarise(run);
    html(&Page {
        runs: vec![shown(run, &summary)],
        ..Page::default()
    })
}

/// Where the data of a page begin and end.
const DATA: (&str, &str) = (
    "<script type=\"application/json\" id=\"data\">",
    "</script>",
);

/// What is inside the element of the data.
fn data(page: &str) -> &str {
    let (_, rest) = page.split_once(DATA.0).unwrap();
    rest.split_once(DATA.1).unwrap().0
}

/// The page but for its data, scripts and style.
fn markup(page: &str) -> String {
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    let from = page.find(DATA.0).unwrap();
    page[..style.start].to_owned() + &page[style.end..from]
}

#[test]
fn the_data_are_the_documents_for_programs() {
    for run in [runs::classic(), runs::mixed(), runs::open(), runs::kernel()] {
        let summary = summarise(&run);
        let expected: Value = serde_json::from_str(&report::json(&run, &summary)).unwrap();
        let data: Value = serde_json::from_str(data(&page_of(&run))).unwrap();
        assert_eq!(data["runs"][0]["result"], expected);
        for (test, of) in summary
            .tests
            .iter()
            .zip(data["runs"][0]["details"].as_array().unwrap())
        {
            let counts = of["histogram"]["n"].as_array().unwrap().iter();
            let in_histogram: u64 = counts.map(|n| n.as_u64().unwrap()).sum();
            let n = test.response.map_or(0, |times| times.n);
            assert_eq!(in_histogram, n, "{}", test.name);
            let last = of["ecdf"]["n"].as_array().unwrap().last();
            assert_eq!(last.map_or(0, |n| n.as_u64().unwrap()), n);
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
        let findings = [Finding {
            rule: "a-rule",
            title: "Something is slow",
            text: name.to_owned(),
            evidence: vec![name.to_owned()],
            look_at: "the disk",
            tests: vec![name.to_owned()],
            run: 7,
            weight: 0.1,
        }];
        let mut sweep = answers::sweep();
        sweep.suite = name.to_owned();
        sweep.rows[0].name = name.to_owned();
        let page = html(&Page {
            runs: vec![shown(&run, &summary), shown(&run, &summary)],
            sweep: Some(&sweep),
            findings: Some(&findings),
            ..Page::default()
        });
        // Data, charts, scripts: no more, and what opens is closed.
        assert_eq!(page.matches("<script").count(), 3, "{name}");
        assert_eq!(page.matches("</script").count(), 3, "{name}");
        let text = markup(&page);
        assert!(!text.contains("<img") && !text.contains("<!--"), "{name}");
        assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{1b}']), "{name}");
        let data: Value = serde_json::from_str(data(&page)).unwrap();
        assert_eq!(data["runs"][0]["result"]["tests"][0]["name"], name);
        assert_eq!(data["sweep"]["tests"][0]["name"], name);
    }
}

/// Attributes and rules that make a browser load something from elsewhere.
fn loads(page: &str) -> Vec<&str> {
    [
        "src=",
        "@import",
        "url(",
        "<link",
        "<base",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ]
    .into_iter()
    .filter(|sign| page.contains(sign))
    .collect()
}

#[test]
fn nothing_is_loaded() {
    assert_eq!(loads("<img src='http://127.0.0.1/'>"), ["src="]);
    let page = page_of(&runs::classic());
    let text = markup(&page);
    assert_eq!(loads(&text), [""; 0]);
    assert!(text.contains("default-src 'none'"));
    let links = text.matches("href=\"").count();
    assert_eq!(links, text.matches("href=\"#").count());
    // Names of XML that nobody fetches.
    let scripts = &page[page.find("</style>").unwrap()..];
    for url in scripts
        .split("http")
        .skip(1)
        .filter(|rest| rest.starts_with("://www"))
    {
        assert!(url.starts_with("://www.w3.org/"), "{}", &url[..40]);
    }
}

#[test]
fn what_matters_stands_first() {
    let page = page_of(&runs::open());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        "<h1>",
        "Inconclusive.",
        "id=\"bars\"",
        "id=\"tests\"",
        "id=\"details\"",
        "id=\"measured\"",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}");
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
fn runs_without_anything_to_show_have_a_page() {
    for run in [runs::empty(), runs::interrupted(), runs::awkward()] {
        let page = page_of(&run);
        assert!(page.contains("<h2>In short</h2>"));
    }
    let nothing = html(&Page::default());
    assert!(nothing.contains("<h1>Prestan</h1>"));
    let none: [Finding; 0] = [];
    let looked = html(&Page {
        findings: Some(&none),
        ..Page::default()
    });
    assert!(looked.contains("Nothing conspicuous"));
    let run = runs::classic();
    let summary = summarise(&run);
    let lost = html(&Page {
        runs: vec![PageRun {
            details: None,
            ..shown(&run, &summary)
        }],
        ..Page::default()
    });
    assert!(lost.contains("\"details\":null"));
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
        Page {
            runs,
            ..Page::default()
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
fn eight_servers_fit_into_two_megabytes() {
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
    let rows = 8 * runs::CLASSIC.len();
    let one = PageRun {
        details: Some(details(&run, rows)),
        ..shown(&run, &summary)
    };
    let page = Page {
        runs: vec![one; 8],
        ..Page::default()
    };
    let size = html(&page).len();
    assert!(size < 2_000_000, "{size} bytes");
    assert!(figure_data(&page).len() < 1_200_000);
}
