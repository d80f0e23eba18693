//! Figures of a load in a browser, and the options of figures in files.

use std::fs;
use std::time::Duration;

use testbed::fault::{Fault, Rule};

use crate::page;
use crate::support::Prestan;
use crate::support::faulty::Faulty;
use crate::support::load::{file, load};

#[test]
fn the_page_of_a_load_begins_with_its_course() {
    // It needs 100 ms for each of 50 requests a second, so most are dropped.
    let slow = Fault::AnswerAfter(Duration::from_millis(100));
    let server = Faulty::new(|builder| builder.rule(Rule::new(slow).method("GET")));
    let url = file(&server, "a.txt");
    let outcome = load("GET", &url)
        .args(["--rate", "50", "--duration", "1500ms", "-c", "1"])
        .args(["--max-waiting", "1", "--arrivals", "constant"])
        .args(["--html", "page.html", "--svg", "figures"])
        .run();
    assert_eq!(outcome.code, 1, "{outcome}");
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
    assert_eq!(
        lines("throughput"),
        Some(serde_json::json!(["planned", "sent", "answered"])),
        "{shown}"
    );
    assert_eq!(
        lines("status"),
        Some(serde_json::json!(["dropped", "200"])),
        "{shown}"
    );
    // A legend of one line is none; the table has its name.
    let told = browser
        .evaluate("document.querySelector('[data-id=percentiles-GET] .numbers tbody').textContent");
    assert!(told.as_str().unwrap().contains("p50"), "{told}");
    let count = |outcome: &str| row["outcomes"][outcome].as_u64().unwrap();
    let (ok, dropped) = (count("ok"), count("dropped"));
    assert!(ok > 5 && dropped > 20, "{row:#}");
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn figures_in_files_are_those_that_were_asked_for() {
    let run = Prestan::new()
        .args("demo -r 3 --only Get1K,Put1K --run-id one -q".split(' '))
        .run();
    assert_eq!(run.code, 0, "{run}");
    let drawn = run
        .again()
        .args("report one --svg figures --figure bars,ecdf-Get1K --figure-width 85mm".split(' '))
        .args(["--font", "Times New Roman"])
        .run();
    assert_eq!(drawn.code, 0, "{drawn}");
    let files = fs::read_dir(drawn.home().join("figures")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["bars-all-linear.svg", "bars-all-log.svg", "ecdf-Get1K.svg"]
    );
    let svg = fs::read_to_string(drawn.home().join("figures/ecdf-Get1K.svg")).unwrap();
    assert!(svg.contains("width=\"85mm\"") && svg.contains("Times New Roman"));

    // What failed has no times, and so no figure of them: a note, and the exit status of the run.
    let failed = drawn
        .again()
        .args("demo -r 3 --only Get1K --run-id two -q --fail-if".split(' '))
        .args(["max > 0 s", "--svg", "failed", "--figure", "ecdf-Lock"])
        .run();
    assert_eq!(failed.code, 1, "{failed}");
    let said = "no figure is called ecdf-Lock, so no file has it; there are bars-all-linear, ";
    assert!(failed.stderr.contains(said), "{failed}");
    assert!(
        fs::read_dir(failed.home().join("failed"))
            .unwrap()
            .next()
            .is_none()
    );

    // A name that no figure of any run has is refused before anything is done.
    for (options, said) in [
        (
            "demo --svg figures --figure violin",
            "names of figures begin with background, bars, ecdf",
        ),
        ("demo --figure bars", "add --svg DIR or --png DIR"),
        ("demo --svg figures --figure-width 85", "wide"),
    ] {
        let refused = drawn.again().args(options.split(' ')).run();
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains(said), "{refused}");
    }
}
