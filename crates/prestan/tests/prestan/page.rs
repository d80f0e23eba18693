//! The page in a browser: it shows the figures of the JSON document, and does nothing that a page
//! must not do.

#[path = "../../../report/tests/report/answers.rs"]
pub(crate) mod answers;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::browser::Browser;
use crate::support::{Outcome, names_in};
use report::page::{PageRun, ReportPage};
use report::{Diagnosed, DiagnosedRun};
use serde_json::{Value, json};
use stats::testing::RunBuilder;
use stats::{Diagnosis, Evidence, Finding, Resolution, summarise};
use tempfile::TempDir;

/// Runs all 23 tests on the embedded server; the page is `page.html` in its home.
fn demo() -> Outcome {
    prestan!("demo -r 12 -p 2 -d 2 -w 2 --warmup 1 --html page.html --json -").ends(0)
}

/// A page in a new home: its path, which lasts as long as the home.
fn written(page: &str) -> (TempDir, PathBuf) {
    let home = TempDir::new().unwrap();
    let path = home.path().join("page.html");
    fs::write(&path, page).unwrap();
    (home, path)
}

#[track_caller]
fn assert_has(names: &[String], expected: &[&str]) {
    for name in expected {
        assert!(
            names.iter().any(|drawn| drawn == name),
            "no {name}: {names:?}"
        );
    }
}

/// Fails when a time that is shown with three digits is another one.
#[track_caller]
fn assert_shows(shown: &Value, us: f64) {
    let read = read_time(shown.as_str().unwrap());
    assert!((read - us).abs() <= us * 0.006, "{shown} {us}");
}

pub(crate) fn open(path: &Path) -> Option<Browser> {
    let mut browser = Browser::start()?;
    browser.open(path);
    browser.until("document.documentElement.dataset.ready === 'true'");
    Some(browser)
}

/// Each figure that is shown, with the number of its marks and its width and height.
const FIGURES: &str = "[...document.querySelectorAll('figure[data-id]')].filter((figure) => figure.checkVisibility()).map((figure) => {
    const svg = [...figure.querySelectorAll('.chart > svg')].filter((svg) => svg.checkVisibility());
    const box = svg[0]?.getBoundingClientRect();
    return [figure.dataset.id, svg.length, svg[0]?.querySelectorAll('path, text').length ?? 0, box?.width ?? 0, box?.height ?? 0];
})";

#[track_caller]
fn assert_drawn(browser: &mut Browser, at_least: usize) -> Vec<String> {
    let figures = browser.evaluate(FIGURES);
    let figures = figures.as_array().unwrap();
    assert!(figures.len() >= at_least, "{figures:?}");
    for figure in figures {
        let [_, shown, marks, width, height] = figure.as_array().unwrap().as_slice() else {
            panic!("{figure}")
        };
        assert_eq!(*shown, 1, "{figure}");
        assert!(marks.as_u64().unwrap() > 8, "{figure}");
        let (width, height) = (width.as_f64().unwrap(), height.as_f64().unwrap());
        assert!(width > 200.0 && height > 60.0, "{figure}");
    }
    let name = |figure: &Value| figure[0].as_str().unwrap().to_owned();
    figures.iter().map(name).collect()
}

#[test]
fn the_page_shows_what_the_document_says() {
    let outcome = demo();
    let document = outcome.json();
    let Some(mut browser) = open(&outcome.home().join("page.html")) else {
        return;
    };
    let data = "JSON.parse(document.getElementById('data').textContent)";
    let shown = browser.evaluate(&format!("{data}.runs[0].result"));
    assert_eq!(numbers(shown), numbers(document.clone()));

    let rows = browser.evaluate(
        "[...document.querySelectorAll('#tests tbody tr')].map((row) =>
            [...row.cells].map((cell) => [
                cell.firstChild.textContent.trim(), Number(cell.dataset.sort),
                cell.querySelector('small')?.textContent]))",
    );
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(rows.as_array().unwrap().len(), tests.len());
    for (row, test) in rows.as_array().unwrap().iter().zip(tests) {
        assert_eq!(row[0][0], test["measure"]);
        let us = &test["response_us"];
        for (column, key) in [(3, "mean"), (5, "p50"), (6, "p90"), (7, "p99"), (8, "max")] {
            let (shown, value) = (&row[column], us[key].as_f64().unwrap());
            assert_eq!(shown[1].as_f64().unwrap(), value, "{test:#}");
            assert_shows(&shown[0], value);
        }
        for (column, percentile) in [(5, 0), (6, 1), (7, 3)] {
            let ends = &us["percentiles_ci95"][percentile];
            assert_eq!(row[column][2] == "-", ends.is_null(), "{row} {test:#}");
        }
        assert_eq!(row[2][1].as_f64(), us["n"].as_f64());
    }

    // The tables behind the bars, which are their tooltips, too.
    let bars = browser.evaluate(
        "[...document.querySelectorAll('#bars [data-option=linear] .numbers tbody tr')].map((row) =>
            [...row.cells].map((cell) => cell.textContent))",
    );
    for bar in bars.as_array().unwrap() {
        let test = tests.iter().find(|test| test["measure"] == bar[0]).unwrap();
        assert_shows(&bar[2], test["response_us"]["mean"].as_f64().unwrap());
    }
    assert_eq!(bars.as_array().unwrap().len(), tests.len());

    let names = assert_drawn(&mut browser, 5);
    assert_has(&names, &["bars-single-linear", "bars-collections-linear"]);
    assert_eq!(browser.problems(), [""; 0]);
}

/// A document with all numbers as in JavaScript, which has no 1.0 beside 1.
fn numbers(document: Value) -> Value {
    match document {
        Value::Number(number) => number.as_f64().unwrap().into(),
        Value::Array(items) => items.into_iter().map(numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, value)| (name, numbers(value))).collect()
        }
        other => other,
    }
}

/// `412 µs` in microseconds.
fn read_time(text: &str) -> f64 {
    let (number, unit) = text.trim_end_matches('*').split_once(' ').unwrap();
    let scale = match unit {
        "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        other => panic!("{other} is no unit"),
    };
    number.parse::<f64>().unwrap() * scale
}

#[test]
fn it_works_by_keyboard_in_the_dark_on_a_phone_and_on_paper() {
    let outcome = demo();
    let Some(mut browser) = open(&outcome.home().join("page.html")) else {
        return;
    };
    let focused = |browser: &mut Browser, expression: &str| {
        for _ in 0..80 {
            browser.press("Tab", 9);
            if browser.evaluate(&format!("document.activeElement.{expression}")) == true {
                return;
            }
        }
        panic!("the keyboard does not reach {expression}");
    };

    // The scale of the bars.
    focused(&mut browser, "dataset.value === 'log'");
    browser.press("Enter", 13);
    let names = assert_drawn(&mut browser, 5);
    assert_has(&names, &["bars-single-log"]);
    // Sorted by mean: the fastest first.
    focused(&mut browser, "textContent === 'mean'");
    browser.press("Enter", 13);
    let means = browser.evaluate(
        "[...document.querySelectorAll('#tests tbody tr')].map((row) => Number(row.cells[3].dataset.sort))",
    );
    let means: Vec<f64> = serde_json::from_value(means).unwrap();
    assert!(means.is_sorted(), "{means:?}");
    // Another test.
    focused(&mut browser, "id === 'test'");
    let shown = "[...document.querySelectorAll('figure[data-id^=ecdf-]')].find((of) => of.checkVisibility()).dataset.id";
    let table = "[...document.querySelectorAll('.of-test')].map((of) => of.hidden).indexOf(false)";
    assert_eq!(browser.evaluate(shown), "ecdf-ProppatchMult");
    assert_eq!(browser.evaluate(table), 0);
    browser.press("ArrowDown", 40);
    assert_eq!(browser.evaluate(shown), "ecdf-ProppatchSingle");
    assert_eq!(browser.evaluate(table), 1);

    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", dark);
    browser.until("document.documentElement.dataset.theme === 'dark'");
    let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(20, 23, 26)");
    assert_drawn(&mut browser, 5);

    let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    browser.until(
        "[...document.querySelectorAll('#bars .chart.n')].some((of) => of.checkVisibility())",
    );
    assert_drawn(&mut browser, 5);
    let width = browser.evaluate("document.documentElement.scrollWidth");
    assert!(width.as_u64().unwrap() <= 390, "{width}");
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));

    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    let pdf = printed["data"].as_str().unwrap();
    // `%PDF` in base64.
    assert!(pdf.starts_with("JVBERi") && pdf.len() > 40_000);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn every_kind_of_figure_is_drawn() {
    let run = RunBuilder::new(1)
        .with(|run| {
            let server = run.env.server.as_mut().unwrap();
            server.software = Some("</script><script>alert(1)</script>".to_owned());
        })
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 5_000, |i| 100 + i * 7919 % 400)
        .ops("Put1K", 3, record::Outcome::Reset, |_| 0)
        .build();
    let summary = summarise(&run);
    let details = stats::testing::details(&run, Resolution::for_rows(2));
    let (sweep, search) = (answers::sweep(), answers::found());
    let finding = Finding {
        rule: "put-against-get",
        figures: Vec::new(),
        evidence: vec![Evidence {
            row: "Put1K".to_owned(),
            figures: Vec::new(),
        }],
        is_seen_once: false,
        weight: 0.1,
        tests: vec!["Put1K".to_owned()],
        run: 0,
    };
    let diagnosed = [Diagnosed {
        runs: vec![DiagnosedRun {
            name: "run".to_owned(),
            suite: "prestan".to_owned(),
            target: run.plan.target.clone(),
            users: 1,
            seed: 1.into(),
            server: None,
            notes: Vec::new(),
            rows: 1,
        }],
        diagnosis: Diagnosis {
            findings: vec![finding],
            seen_once: Vec::new(),
            left_out: Vec::new(),
            few: 0,
        },
        incomplete: None,
    }];
    let comparison = answers::comparisons();
    let shown = PageRun {
        name: None,
        run: &run,
        summary: &summary,
        details: Some(details),
    };
    let page = ReportPage {
        runs: vec![shown.clone(), shown],
        comparison: Some(&comparison),
        sweep: Some(&sweep),
        search: Some(&search),
        common: Vec::new(),
        diagnosed: Some(&diagnosed),
        is_diagnosis: false,
        title: None,
        note: "",
        site: None,
    };
    let (_home, path) = written(&report::page::html(&page));
    let Some(mut browser) = open(&path) else {
        return;
    };
    let names = assert_drawn(&mut browser, 7);
    let expected = [
        "timeline-Put1K",
        "sweep-width-CopyCol",
        "search",
        "forest-1",
    ];
    assert_has(&names, &expected);
    assert_eq!(browser.evaluate("document.images.length"), 0);
    // The comparison sorts by its servers, rows without a figure stay last, and the order can be
    // restored.
    for (column, order) in [
        (1, "Lock UnLock Put1K Propfind Get1K"),
        (3, "Lock UnLock Get1K Propfind Put1K"),
        (0, "Put1K Get1K Propfind Lock UnLock"),
    ] {
        let rows = browser.evaluate(&format!(
            "(() => {{
                document.querySelectorAll('#comparison thead button')[{column}].click();
                return [...document.querySelectorAll('#comparison tbody th')].map((cell) => cell.textContent).join(' ');
            }})()"
        ));
        assert_eq!(rows, order);
    }
    // A tooltip is the row of the table behind the mark under the pointer.
    let shown = browser.evaluate(
        "(() => {
            const figure = document.querySelector('figure[data-id=search]');
            const svg = figure.querySelector('.chart.w > svg');
            const [, x, y] = svg.querySelector('path[data-r]').getAttribute('d').match(/^M([\\d.]+) ([\\d.]+)/);
            const at = new DOMPoint(Number(x), Number(y)).matrixTransform(svg.getScreenCTM());
            svg.dispatchEvent(new PointerEvent('pointermove', {clientX: at.x, clientY: at.y}));
            const row = figure.querySelector('.numbers tr:has(td)').cells;
            return [document.querySelector('.tip').textContent, row[0].textContent, row[1].textContent];
        })()",
    );
    let tip = shown[0].as_str().unwrap();
    for cell in [&shown[1], &shown[2]] {
        assert!(tip.contains(cell.as_str().unwrap()), "{shown}");
    }
    // The legend hides its series.
    let hidden = "[...document.querySelectorAll('figure[data-id=search] .chart.w g[data-key=\"1\"]')].map((of) => getComputedStyle(of).display !== 'none')";
    assert_eq!(browser.evaluate(hidden), json!([true]));
    browser
        .evaluate("document.querySelectorAll('figure[data-id=search] .legend button')[1].click()");
    assert_eq!(browser.evaluate(hidden), json!([false]));
    // Points that failed are there in words.
    let words = browser
        .evaluate("document.getElementById('points').textContent.match(/3 of 63 failed/g).length");
    assert_eq!(words, 2);
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn pages_that_were_loaded_have_a_figure_and_a_table() {
    let server = crate::support::pages::furnished();
    let outcome =
        prestan!(crate::support::pages::webstone(&server.url()) => "-c 2 --html page.html --svg \
        figures")
        .ends(0);
    let webstone = outcome.json()["webstone"].clone();
    assert!(outcome.home().join("figures/pages.svg").exists());
    let Some(mut browser) = open(&outcome.home().join("page.html")) else {
        return;
    };
    let names = assert_drawn(&mut browser, 5);
    assert_has(&names, &["pages"]);
    let means = browser.evaluate(
        "[...document.querySelectorAll('#pages-figures .numbers tbody tr')].map((row) => row.cells[2].textContent)",
    );
    let rows = browser.evaluate(
        "[...document.querySelectorAll('#pages tbody tr')].map((row) => [...row.cells].map((cell) => Number(cell.dataset.sort)))",
    );
    assert_eq!(rows.as_array().unwrap().len(), 3);
    for (index, page) in webstone["pages"].as_array().unwrap().iter().enumerate() {
        let retrieved = &page["retrieved"];
        let load = &retrieved["page_us"];
        assert_shows(&means[index], load["mean"].as_f64().unwrap());
        let figures = [&page["bytes"], &page["weight"], &retrieved["pages"]];
        for (column, figure) in figures.into_iter().enumerate() {
            assert_eq!(rows[index][column + 1].as_f64(), figure.as_f64());
        }
        assert_eq!(rows[index][6].as_f64(), load["mean"].as_f64());
        assert_eq!(rows[index][9].as_f64(), load["p99"].as_f64());
    }
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn a_finger_scrolls_the_page_over_a_time_line() {
    let outcome = prestan!("demo -r 12 --only Get1K,Put1K --warmup 1 --html page.html").ends(0);
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let phone = json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    let touch = json!({"enabled": true});
    browser.call("Emulation.setTouchEmulationEnabled", touch);
    browser.open(&outcome.home().join("page.html"));
    browser.until("document.documentElement.dataset.ready === 'true'");
    let position = browser.evaluate(
        "(() => {
            document.documentElement.style.scrollBehavior = 'auto';
            const chart = [...document.querySelectorAll('figure[data-id^=timeline-] .chart')].find((of) => of.checkVisibility());
            chart.scrollIntoView({block: 'center'});
            const box = chart.getBoundingClientRect();
            return {y: box.y + 80, scrolled: scrollY};
        })()",
    );
    let y = position["y"].as_f64().unwrap();
    let touch = |browser: &mut Browser, kind: &str, points: Value| {
        let event = json!({"type": kind, "touchPoints": points});
        browser.call("Input.dispatchTouchEvent", event);
    };
    touch(&mut browser, "touchStart", json!([{"x": 200, "y": y}]));
    for step in 1..=15 {
        let moved = json!([{"x": 200, "y": y - 20.0 * f64::from(step)}]);
        touch(&mut browser, "touchMove", moved);
    }
    touch(&mut browser, "touchEnd", json!([]));
    let scrolled = browser.evaluate("scrollY").as_f64().unwrap();
    let before = position["scrolled"].as_f64().unwrap();
    assert!(scrolled > before + 100.0, "{before} {scrolled}");
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn the_browser_reports_what_a_page_must_not_do() {
    let (home, path) = written(
        "<img src='http://127.0.0.1:9/x.png'><img src='other.png'><script>console.error('loud'); throw Error('thrown')</script>",
    );
    let Some(mut browser) = Browser::start() else {
        return;
    };
    browser.open(&path);
    let problems = browser.problems().join("\n");
    let other = home.path().join("other.png");
    let other = format!("a request to file://{}", other.display());
    for sign in [
        "loud",
        "thrown",
        "a request to http://127.0.0.1:9/x.png",
        &other,
    ] {
        assert!(problems.contains(sign), "{sign}: {problems}");
    }
}

/// The effect if text of a server ever became markup.
#[test]
fn a_page_runs_no_script_but_its_own() {
    let run = RunBuilder::new(1)
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 30, |i| 100 + i)
        .build();
    let summary = summarise(&run);
    let shown = PageRun {
        name: None,
        run: &run,
        summary: &summary,
        details: None,
    };
    let page = report::page::html(&ReportPage {
        runs: vec![shown],
        ..ReportPage::default()
    });
    let foreign = "<script>document.title = 'run'</script>\
         <img src='data:,' onerror=\"document.title = 'run'\">\
         <a id='foreign' href=\"javascript:document.title = 'run'\">x</a>\
         <style>main { display: none }</style><base href='http://127.0.0.1:9/'></main>";
    let (_home, path) = written(&page.replacen("</main>", foreign, 1));
    let Some(mut browser) = open(&path) else {
        return;
    };
    browser.evaluate("document.getElementById('foreign').click()");
    browser.evaluate("new Promise((next) => setTimeout(() => next(0), 0))");
    let title = browser.evaluate("document.title");
    assert_eq!(title, "prestan on Apache/2.4.66 (Debian)");
    let display = "getComputedStyle(document.querySelector('main')).display";
    assert_eq!(browser.evaluate(display), "block");
    let base = browser.evaluate("document.baseURI");
    assert!(base.as_str().unwrap().starts_with("file:"), "{base}");
    let problems = browser.problems().join("\n");
    let refused = problems.matches("Content Security Policy").count();
    assert_eq!(refused, 5, "{problems}");
}

#[test]
fn figures_are_written_as_files() {
    let outcome = prestan!(
        "demo -r 3 -p 2 -d 2 -w 2 --only Get1K,CopyCol --svg svg --html - --no-save --quiet"
    )
    .ends(0);
    assert!(outcome.stdout.starts_with("<!doctype html>"), "{outcome}");
    outcome.stdout_lacks("Rsp =");
    let names = |directory: &str| names_in(&outcome.home().join(directory));
    let stems = [
        "bars-collections-linear",
        "bars-collections-log",
        "bars-single-linear",
        "bars-single-log",
        "ecdf-CopyCol",
        "ecdf-Get1K",
        "histogram-CopyCol",
        "histogram-Get1K",
        "timeline-CopyCol",
        "timeline-Get1K",
    ];
    assert_eq!(names("svg"), stems.map(|stem| format!("{stem}.svg")));
    let pictures =
        prestan!(outcome.again() => "demo -r 3 --only Get1K --png png --figure bars -q").run();
    if cfg!(feature = "png") {
        assert_eq!(pictures.code, 0, "{pictures}");
        assert_eq!(names("png"), ["bars-all-linear.png", "bars-all-log.png"]);
    } else {
        // It is reported before anything is measured.
        assert_eq!(pictures.code, 2, "{pictures}");
        pictures.stderr_has("--svg");
        assert!(!outcome.home().join("png").exists());
    }
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn recorded_runs_are_drawn_side_by_side() {
    let first = prestan!("demo -r 5 --only Get1K,Put1K --run-id one -q").run();
    let second = prestan!(first.again() => "demo -r 5 --only Get1K,Put1K --run-id two -q").run();
    assert_eq!((first.code, second.code), (0, 0), "{second}");
    let drawn = prestan!(second.again() => "report one two --html -").ends(0);
    drawn.stdout_has("<section id=\"comparison\">");
    // The same software twice: distinguished by run.
    let data_of_both = data(&drawn.stdout);
    assert_eq!(data_of_both["runs"].as_array().unwrap().len(), 2);
    assert_ne!(
        data_of_both["runs"][0]["name"],
        data_of_both["runs"][1]["name"]
    );

    let refused = prestan!(second.again() => "report one two --json -").ends(2);
    refused.stderr_has("--html FILE");

    prestan!(second.again() => "compare one two --html page.html -q").ends(0);
    let page = second.read("page.html");
    assert!(page.contains("<title>prestan on one and two</title>"));

    // One run several times: each has a name of its own.
    let thrice = prestan!(second.again() => "compare one one one --html - -q").ends(0);
    let data = data(&thrice.stdout);
    let names = ["one #1", "one #2", "one #3"];
    for (index, name) in names.iter().enumerate() {
        assert_eq!(data["runs"][index]["name"], *name);
    }
    for (index, name) in names[1..].iter().enumerate() {
        assert_eq!(data["comparison"]["b"][index]["name"], *name);
    }
    assert_eq!(data["comparison"]["tests"][2]["b"], names[2]);
}
