//! Sweeps and searches as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::{Growing, SearchOutcome, Tally, Tested};

use crate::answers::{self, found, sweep};
use crate::documents::valid;
use report::page::ReportPage;
use report::{Comparisons, Incomplete, SearchResult, Sweep};

#[test]
fn a_sweep_for_people() {
    assert_snapshot!("sweep_text", report::sweep_text(&sweep(), false, 100));
    let colored = report::sweep_text(&sweep(), true, 100);
    assert!(colored.contains("\u{1b}[31m") && !colored.contains("\u{1b}[2J"));
}

#[test]
fn what_was_not_seen_says_what_it_would_take() {
    let table = [
        (
            (0.8, 1.4),
            "inconclusive for width (-20 % .. +40 % from 10 to 300; about 202 repeats would show 5 %)",
        ),
        (
            (1e-4, 21_086.3),
            "inconclusive for width (more than ÷1000 .. more than ×1000 from 10 to 300; more than 1000 \
             repeats would be needed to show 5 %)",
        ),
    ];
    for (ci95, says) in table {
        let mut sweep = sweep();
        let effects = &mut sweep.rows[2].servers[0].growth.effects;
        let effect = effects[0].as_mut().unwrap();
        (effect.verdict, effect.ci95) = (Growing::Inconclusive, ci95);
        let text = report::sweep_text(&sweep, false, 1000);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_sweep_for_programs() {
    let document = valid(&report::sweep_json(&sweep()), &report::sweep_schema());
    let copy = &document["tests"][0]["servers"][1];
    let per_unit = copy["law"]["terms"][0]["per_unit_us"].as_f64().unwrap();
    assert!((75.0..77.0).contains(&per_unit), "{copy:#}");
    assert_eq!(copy["effects"][1]["verdict"], "none");
    assert_eq!(copy["points"].as_array().unwrap().len(), 8);
    // 210 + 38 and 210 + 76 microseconds for each of 300 members.
    let ratio = copy["points"][7]["ratio"].as_f64().unwrap();
    assert!((1.97..1.99).contains(&ratio), "{copy:#}");
    assert!(copy["points"][7]["ratio_ci95"][0].as_f64().unwrap() < ratio);
    let first = &document["tests"][0]["servers"][0]["points"][7];
    assert_eq!(
        (&first["ratio"], &first["ratio_ci95"]),
        (&Value::Null, &Value::Null)
    );
    let failed = &document["tests"][2]["servers"][1]["points"][7];
    assert_eq!(failed["ratio"], Value::Null);
    assert_eq!(
        (&failed["status"], &failed["mean_us"]),
        (&"failed".into(), &Value::Null)
    );
}

#[test]
fn a_search_for_people() {
    let text = report::search_text(&found(), false, 100);
    assert_snapshot!("search_text", text);
    let tested = |load, held, failed| {
        let trials = Tally { held, failed };
        Some(Tested { load, trials })
    };
    let table = [
        (
            (tested(4.0, 20, 0), None, true),
            "holds with 4 users, the largest load that was tried. It held in 20 of 20 trials with 4 users \
             (in at least 77 % of all, 95 % confidence).",
        ),
        (
            (None, tested(1.0, 0, 3), false),
            "does not hold even with 1 user. It held in 0 of 3 trials with 1 user (in at most 82 % \
             of all, 95 % confidence).",
        ),
        (
            (tested(4.0, 20, 0), tested(5.0, 15, 3), true),
            "and in 15 of 18 trials with 5 users.",
        ),
        (
            (tested(4.0, 7, 0), tested(5.0, 0, 2), false),
            "may hold with 4 users (not confirmed). It held in 7 of 7 trials",
        ),
        ((None, None, false), "unknown"),
    ];
    for ((holds, fails, confirmed), says) in table {
        let found = SearchResult {
            answer: SearchOutcome {
                holds,
                fails,
                confirmed,
            },
            ..found()
        };
        let text = report::search_text(&found, false, 400);
        assert!(text.contains(says), "{text}");
    }
    let stopped = SearchResult {
        incomplete: Some(ended_early("search", Some("late"))),
        answer: SearchOutcome {
            holds: tested(4.0, 1, 0),
            ..SearchOutcome::default()
        },
        ..found()
    };
    let text = report::search_text(&stopped, false, 300);
    assert!(
        text.contains("may hold with 4 users")
            && text.contains("Incomplete: the search ended early: late.\n"),
        "{text}"
    );
}

#[test]
fn a_search_for_programs() {
    let document = valid(&report::search_json(&found()), &report::search_schema());
    assert_eq!(
        (&document["answer"]["holds"]["load"], &document["knee"]),
        (&16.0.into(), &8.0.into())
    );
    assert_eq!(document["points"][5]["p99_us"], Value::Null);
    // Three trials with 16 users: 20, 30 and 60 ms.
    let load = &document["loads"][2];
    assert_eq!(
        (&load["held"], &load["trials"], &load["p99_us"]),
        (&2.into(), &3.into(), &30_000.0.into())
    );
}

/// A series that ended early, for that reason; `None` where the user interrupted it.
pub(crate) fn ended_early(series: &'static str, failure: Option<&str>) -> Incomplete {
    Incomplete {
        series,
        failure: failure.map(str::to_owned),
        place: None,
        not_measured: Vec::new(),
    }
}

#[test]
fn every_answer_of_a_series_that_ended_early_says_so_first_and_in_one_field() {
    let early = |series| Some(ended_early(series, Some("the server <b> is gone")));
    let comparison = Comparisons {
        incomplete: early("comparison"),
        ..answers::comparisons()
    };
    let sweep = Sweep {
        incomplete: Some(Incomplete {
            place: Some("in repeat 2 of 3".to_owned()),
            ..ended_early("sweep", None)
        }),
        ..sweep()
    };
    let found = SearchResult {
        incomplete: early("search"),
        ..found()
    };
    let early = "ended early: the server <b> is gone.";
    let table = [
        (
            format!("the comparison {early}"),
            report::compare_text(&comparison, false, 200),
            valid(
                &report::compare_json(&comparison),
                &report::compare_schema(),
            ),
            ReportPage {
                comparison: Some(&comparison),
                ..ReportPage::default()
            },
        ),
        (
            "the sweep was interrupted in repeat 2 of 3.".to_owned(),
            report::sweep_text(&sweep, false, 200),
            valid(&report::sweep_json(&sweep), &report::sweep_schema()),
            ReportPage {
                sweep: Some(&sweep),
                ..ReportPage::default()
            },
        ),
        (
            format!("the search {early}"),
            report::search_text(&found, false, 200),
            valid(&report::search_json(&found), &report::search_schema()),
            ReportPage {
                search: Some(&found),
                ..ReportPage::default()
            },
        ),
    ];
    for (says, text, document, page) in table {
        let first = format!("Incomplete: {says}\n\n");
        assert!(text.starts_with(&first), "{text}");
        assert_eq!(document["incomplete"]["text"], says);
        let is_interrupted = says.contains("interrupted");
        let reason = if is_interrupted {
            "interrupted"
        } else {
            "failed"
        };
        assert_eq!(document["incomplete"]["reason"], reason);
        let shown = format!(
            "<strong>Incomplete:</strong> {}",
            says.replace("<b>", "&lt;b&gt;")
        );
        assert!(report::page::html(&page).contains(&shown), "no {shown}");
    }
    let markdown = report::compare_markdown(&comparison);
    assert!(
        markdown.starts_with("**Incomplete:** the comparison ended early"),
        "{markdown}"
    );
}

#[test]
fn a_search_that_looked_into_the_server_says_what_a_load_costs_it() {
    let plain = report::search_text(&found(), false, 200);
    assert!(!plain.contains("processor"), "{plain}");
    let mut found = found();
    for (index, tried) in found.trials.iter_mut().enumerate() {
        tried.processor = Some(1e6 * index as f64);
    }
    let text = report::search_text(&found, false, 200);
    let line = |of: &str| text.lines().find(|line| line.starts_with(of)).unwrap();
    // Of three trials with 16 users: 2, 3 and 4 ms.
    assert!(line("16 users").contains(" 3.00 ms "), "{text}");
    let document = valid(&report::search_json(&found), &report::search_schema());
    assert_eq!(document["loads"][2]["processor_us"], 3_000.0);
    assert_eq!(document["points"][1]["processor_us"], 1_000.0);
    let page = report::page::html(&ReportPage {
        search: Some(&found),
        ..ReportPage::default()
    });
    assert!(page.contains("Processor time of the server per operation"));
}
