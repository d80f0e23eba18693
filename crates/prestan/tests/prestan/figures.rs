//! Figures of a load in a browser, and the options of figures in files.

use std::time::Duration;

use serde_json::json;
use testbed::fault::{Fault, Rule};

use crate::page;
use crate::support::faulty::Faulty;
use crate::support::load::file;
use crate::support::names_in;

#[test]
fn the_page_of_a_load_begins_with_its_course() {
    // It needs 100 ms per request, and there are 50 per second, so most are dropped.
    let slow = Fault::AnswerAfter(Duration::from_millis(100));
    let server = Faulty::new(|builder| builder.rule(Rule::new(slow).method("GET")));
    let url = file(&server, "a.txt");
    let outcome = prestan!(
        "load GET {url} --json - --rate 50 --duration 1500ms -c 1 --max-waiting 1 --arrivals \
        constant --html page.html --svg figures"
    )
    .ends(1);
    let row = outcome.json()["tests"][0].clone();
    for kind in ["throughput", "percentiles", "status"] {
        let file = outcome.home().join(format!("figures/{kind}-GET.svg"));
        assert!(file.exists(), "{kind}");
    }
    let Some(mut browser) = page::open(&outcome.home().join("page.html")) else {
        return;
    };
    let shown = browser.evaluate(
        "[...document.querySelectorAll('#course-figures [data-test=GET] figure')].map((figure) =>
            [figure.dataset.id, [...figure.querySelectorAll('.legend > li')].map((line) => line.textContent.trim())])",
    );
    let lines = |kind: &str| {
        let figures = shown.as_array().unwrap().iter();
        let mut found = figures.filter(|figure| figure[0] == format!("{kind}-GET"));
        found.next().map(|figure| figure[1].clone())
    };
    let expected = json!(["planned", "sent", "answered"]);
    assert_eq!(lines("throughput"), Some(expected), "{shown}");
    let expected = json!(["dropped", "200"]);
    assert_eq!(lines("status"), Some(expected), "{shown}");
    // A legend of one line is none; the table has its name.
    let table = "document.querySelector('[data-id=percentiles-GET] .numbers tbody').textContent";
    let table = browser.evaluate(table);
    assert!(table.as_str().unwrap().contains("p50"), "{table}");
    let count = |outcome: &str| row["outcomes"][outcome].as_u64().unwrap();
    let (ok, dropped) = (count("ok"), count("dropped"));
    assert!(ok > 5 && dropped > 20, "{row:#}");
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn figures_in_files_are_those_that_were_asked_for() {
    let run = prestan!("demo -r 3 --only Get1K,Put1K --run-id one -q").ends(0);
    let drawn = prestan!(run.again() => "report one --svg figures --figure bars,ecdf-Get1K --figure-width 85mm --font \
        'Times New Roman'")
        .ends(0);
    let names = names_in(&drawn.home().join("figures"));
    let expected = ["bars-all-linear.svg", "bars-all-log.svg", "ecdf-Get1K.svg"];
    assert_eq!(names, expected);
    let svg = drawn.read("figures/ecdf-Get1K.svg");
    assert!(svg.contains("width=\"85mm\"") && svg.contains("Times New Roman"));

    // A failed row has no times, and so no figure: a note, and the exit status of the run.
    let failed = prestan!(drawn.again() => "demo -r 3 --only Get1K --run-id two -q --fail-if 'max > 0 s' --svg failed \
        --figure ecdf-Lock")
        .ends(1);
    let said = "no figure is called ecdf-Lock, so no file has it; there are bars-all-linear, ";
    failed.stderr_has(said);
    assert_eq!(names_in(&failed.home().join("failed")), [""; 0]);

    // A name that no figure of any run has is refused before anything is done.
    let table = "
        demo --svg figures --figure violin => names of figures begin with background, bars, ecdf
        demo --figure bars => add --svg DIR or --png DIR
        demo --svg figures --figure-width 85 => wide
    ";
    for [options, said] in cases::rows(table) {
        drawn.again().words(options).ends(2).stderr_has(said);
    }
}
