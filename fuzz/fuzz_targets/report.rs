//! Whatever servers and suites write, a report has the same lines, rows and elements.

#![no_main]

use libfuzzer_sys::fuzz_target;
use record::{EventKind, Run};
use report::TextOptions;
use report::page::{PageRun, ReportPage, Site, html};
use stats::testing::RunBuilder;
use stats::{Summary, summarise};

fuzz_target!(|strangers: [&str; 4]| {
    let harmless = reports(["server", "suite", "test", "evidence"]);
    let hostile = reports(strangers);
    for (text, other) in hostile.iter().zip(&harmless) {
        assert_eq!(text, other, "{strangers:?}");
    }
});

/// Countable properties of each report.
fn reports([server, suite, test, evidence]: [&str; 4]) -> [usize; 5] {
    // A row has a name, and names are unique.
    let name = format!("x{test}");
    let run = RunBuilder::new(1)
        .with(|run| {
            run.plan.suite.name = suite.to_owned();
            if let Some(said) = run.env.server.as_mut() {
                said.software = Some(format!("x{server}"));
            }
        })
        .test(&name, &[(&name, "GET")])
        .ok(&name, 10, |i| 100 + i)
        .ops(&name, 1, record::Outcome::WrongStatus, |_| 0)
        .event(&name, |_, measure| EventKind::OperationFailed {
            measure,
            user: 0,
            number: 11,
            outcome: record::Outcome::WrongStatus,
            evidence: format!("x{evidence}"),
            status: None,
            cause: None,
        })
        .run_event(EventKind::Warning {
            text: format!("x{evidence}"),
        })
        .build();
    let summary = summarise(&run);
    let csv = report::csv(&run, &summary);
    let json = report::json(&run, &summary, &[]);
    let page = page(&run, &summary);
    [
        text(&run, &summary).lines().count(),
        json.lines().count(),
        csv.split("\r\n").filter(|line| !line.is_empty()).count(),
        page.matches('<').count(),
        page.matches("</script").count(),
    ]
}

/// So wide that no line is wrapped, and safe for a terminal.
fn text(run: &Run, summary: &Summary) -> String {
    let options = TextOptions {
        width: usize::MAX / 4,
        ..TextOptions::default()
    };
    let text = report::text(run, summary, &[], &options);
    let obeyed = |c: char| c.is_control() && c != '\n';
    assert!(!text.contains(obeyed), "{text:?}");
    text
}

/// A page of a site, whose scripts are elsewhere.
fn page(run: &Run, summary: &Summary) -> String {
    let shown = PageRun {
        name: None,
        run,
        summary,
        details: None,
    };
    html(&ReportPage {
        runs: vec![shown],
        site: Some(&Site::default()),
        ..ReportPage::default()
    })
}
