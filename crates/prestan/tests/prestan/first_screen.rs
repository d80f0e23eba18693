//! The visible part of a page before scrolling, on a desk and on a phone.

use std::fs;
use std::path::Path;

use crate::page::answers;
use crate::support::browser::Browser;
use record::{EventKind, Pace};
use report::page::{PageRun, ReportPage};
use report::{Comparisons, Versus};
use serde_json::{Value, json};
use stats::testing::RunBuilder;
use stats::{Resolution, summarise};

/// Opens a page on a screen of this size.
fn open(html: &str, width: u32, height: u32) -> Option<(Browser, tempfile::TempDir)> {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("page.html");
    fs::write(&path, html).unwrap();
    let mut browser = Browser::start()?;
    screen(&mut browser, width, height);
    show(&mut browser, &path);
    Some((browser, home))
}

fn screen(browser: &mut Browser, width: u32, height: u32) {
    let screen =
        json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
    browser.call("Emulation.setDeviceMetricsOverride", screen);
}

fn show(browser: &mut Browser, path: &Path) {
    browser.open(path);
    browser.until("document.documentElement.dataset.ready === 'true'");
}

/// The edges of an element: left, top, right and bottom.
fn edges(browser: &mut Browser, selector: &str) -> [f64; 4] {
    let edges = browser.evaluate(&format!(
        "(() => {{
            const box = document.querySelector({selector:?}).getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom];
        }})()"
    ));
    serde_json::from_value(edges).unwrap()
}

fn width_of_body(browser: &mut Browser) -> Value {
    browser.evaluate("document.documentElement.scrollWidth")
}

/// The page of a load of one request.
fn load() -> String {
    let run = RunBuilder::new(2)
        .with(|run| run.plan.load.pace = Pace::Closed)
        .test("GET", &[("GET", "GET")])
        .event_at(0, |test| EventKind::MeasuringStarted { test })
        .ok("GET", 3_000, |i| 100 + i * 7919 % 400)
        .event_at(2_000_000_000, |test| EventKind::MeasuringEnded { test })
        .build();
    let summary = summarise(&run);
    report::page::html(&ReportPage {
        runs: vec![PageRun {
            name: None,
            run: &run,
            summary: &summary,
            details: Some(stats::testing::details(&run, Resolution::for_rows(1))),
        }],
        ..ReportPage::default()
    })
}

#[test]
fn a_load_shows_its_numbers_and_its_course() {
    for (width, height) in [(1400, 900), (768, 1024), (390, 844)] {
        let Some((mut browser, _home)) = open(&load(), width, height) else {
            return;
        };
        let [_, _, right, bottom] = edges(&mut browser, "#answer .headline");
        let is_visible = right <= f64::from(width) && bottom < 500.0;
        assert!(is_visible, "{width}: {bottom}");
        let [_, top, _, bottom] = edges(&mut browser, "#course-figures svg");
        assert!(top < f64::from(height) * 0.75, "{width}: {top}");
        let [_, next, ..] = edges(&mut browser, "#answer + section");
        assert!(next > bottom, "{width}: {next} {bottom}");
        assert!(width_of_body(&mut browser).as_u64().unwrap() <= width.into());
        assert_eq!(browser.problems(), [""; 0]);
    }
}

/// Four others beside A.
fn five_servers() -> Comparisons {
    let one = answers::comparisons();
    let versus = ["lighttpd", "nginx", "rclone", "dufs"].map(|name| Versus {
        name: name.to_owned(),
        ..one.versus[0].clone()
    });
    Comparisons {
        versus: versus.into(),
        ..one
    }
}

fn compared(all: &Comparisons) -> String {
    report::page::html(&ReportPage {
        comparison: Some(all),
        ..ReportPage::default()
    })
}

#[test]
fn a_comparison_begins_with_sorted_ratios_in_the_colours_of_verdicts() {
    let page = compared(&answers::comparisons());
    let Some((mut browser, _home)) = open(&page, 1400, 900) else {
        return;
    };
    let [_, top, _, bottom] = edges(&mut browser, "#ratios svg");
    assert!(top < 450.0 && bottom < 900.0, "{top} {bottom}");
    let [_, table, ..] = edges(&mut browser, "#comparison");
    assert!(table > bottom);
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('#ratios .chart.w text')].filter((text) => /^[0-9.]+ [a-z]/.test(text.textContent))
            .sort((one, other) => one.getAttribute('y') - other.getAttribute('y'))
            .map((text) => [parseFloat(text.textContent), text.textContent.replace(/^\\S+ /, ''), getComputedStyle(text).fill])",
    );
    let drawn: Vec<(f64, String, String)> = serde_json::from_value(drawn).unwrap();
    assert!(drawn.len() > 2, "{drawn:?}");
    assert!(drawn.is_sorted_by(|one, next| one.0 >= next.0), "{drawn:?}");
    let color = |verdict: &str| {
        let row = drawn.iter().find(|row| row.1 == verdict);
        row.unwrap_or_else(|| panic!("no {verdict} in {drawn:?}"))
            .2
            .clone()
    };
    let colors = ["slower", "same", "inconclusive"].map(color);
    let [slower, same, inconclusive] = &colors;
    let differ = slower != same && same != inconclusive && slower != inconclusive;
    assert!(differ, "{colors:?}");
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn five_servers_scroll_in_their_box_beside_a_fixed_column() {
    let all = five_servers();
    let Some((mut browser, _home)) = open(&compared(&all), 1400, 900) else {
        return;
    };
    for (width, height) in [(1400, 900), (390, 844)] {
        screen(&mut browser, width, height);
        browser.until(&format!("innerWidth === {width}"));
        assert!(width_of_body(&mut browser).as_u64().unwrap() <= width.into());
        let scrolled = |browser: &mut Browser, to: u32| {
            let to = format!("(document.querySelector('#comparison .wide').scrollLeft = {to})");
            browser.evaluate(&to);
        };
        scrolled(&mut browser, 0);
        let name = "#comparison tbody th";
        let [at_first, ..] = edges(&mut browser, name);
        // The means of A and of the first of the others, without scrolling.
        for column in [2, 3] {
            let cell = format!("#comparison tbody td:nth-child({column})");
            let [left, _, right, _] = edges(&mut browser, &cell);
            assert!(left > 0.0 && right <= f64::from(width), "{width}: {right}");
        }
        scrolled(&mut browser, 5_000);
        let [then, _, name_ends, _] = edges(&mut browser, name);
        assert!((then - at_first).abs() < 1.5, "{width}: {at_first} {then}");
        let [left, _, right, _] = edges(&mut browser, "#comparison tbody td:last-child");
        let is_between = left >= name_ends - 1.5 && right <= f64::from(width);
        assert!(is_between, "{width}: {left} {right}");
        // At most three lines: the basis of verdicts is below the table.
        let highest = browser.evaluate(
            "Math.max(...[...document.querySelectorAll('#comparison tbody tr')].map((row) => row.offsetHeight))",
        );
        assert!(highest.as_f64().unwrap() < 80.0, "{width}: {highest}");
        // Figures that are read down end at one edge.
        let ends = browser.evaluate(
            "[3, 4, 5].map((column) => new Set([...document.querySelectorAll(`#comparison tbody td:nth-child(${column})`)]
                .map((cell) => getComputedStyle(cell).textAlign)).size)",
        );
        assert_eq!(ends, json!([1, 1, 1]));
    }
    assert_eq!(browser.problems(), [""; 0]);
}
