//! Reports of campaigns: for people, for programs, and pages that need no script.

use std::collections::BTreeSet;

use experiment::{CellEstimate, OrderingCount, PairVerdict, Relation};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::campaigns::{self, Campaign, plain};
use crate::hostile::{HOSTILE, MARK};

/// Elements that have no end.
const VOID: [&str; 3] = ["meta", "br", "link"];

/// The names of the elements of a document whose texts and attributes are escaped; an error where
/// what begins does not end. Content of styles and scripts is skipped. Cells and rows of tables
/// need no end.
pub(crate) fn elements(document: &str) -> Result<Vec<String>, String> {
    let (mut open, mut names) = (Vec::new(), Vec::new());
    let mut rest = document;
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').ok_or("a tag without an end")?;
        rest = after;
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            end(&mut open, &["td", "tr"], name);
            let begun: Option<String> = open.pop();
            if begun.as_deref() != Some(name) {
                return Err(format!("{begun:?} ends as {name}"));
            }
            continue;
        }
        if tag.contains('<') || tag.matches('"').count() % 2 == 1 {
            return Err(format!("a broken tag: {tag}"));
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        names.push(name.to_owned());
        match name {
            "td" | "th" => end(&mut open, &["td"], ""),
            "tr" => end(&mut open, &["td", "tr"], ""),
            _ => {}
        }
        if ["style", "script"].contains(&name) {
            rest = rest
                .split_once(&format!("</{name}>"))
                .ok_or("a style or script without an end")?
                .1;
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    open.pop()
        .map_or(Ok(names), |name| Err(format!("{name} does not end")))
}

/// Ends open elements of this name at the end, up to the one called `until`.
fn end(open: &mut Vec<String>, ends: &[&str], until: &str) {
    while let Some(last) = open.last() {
        if last == until || !ends.contains(&last.as_str()) {
            break;
        }
        open.pop();
    }
}

/// Everything that all reports of a campaign must be.
pub(crate) fn check(of: &Campaign) -> Result<(), String> {
    let report = of.report();
    let is_harmful =
        |c: char| c != '\n' && c != '\r' && report::clean(&c.to_string()).len() > c.len_utf8();
    let schema: Value = serde_json::from_str(&report::campaign_schema()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let json = report::campaign_json(&report);
    let document: Value = serde_json::from_str(&json).map_err(|why| why.to_string())?;
    if let Some(error) = validator.iter_errors(&document).next() {
        return Err(format!("{error} at {}", error.instance_path()));
    }
    let page = report::campaign_page(&report).whole();
    elements(&page)?;
    let charts = report::campaign_charts(&report);
    for (_, chart) in &charts {
        elements(chart)?;
        // Numbers only: a name may be called so.
        if ["=\"NaN", "=\"inf", "=\"-inf"]
            .iter()
            .any(|number| chart.contains(number))
        {
            return Err(format!("no place: {chart}"));
        }
    }
    let names: BTreeSet<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() < charts.len() {
        return Err("two charts have one name".to_owned());
    }
    for sheet in [
        report::campaign_csv(&report),
        report::campaign_trials_csv(&report),
    ] {
        let mut rows = csv::Reader::from_reader(sheet.as_bytes());
        rows.records()
            .try_for_each(|row| row.map(drop))
            .map_err(|why| why.to_string())?;
        if sheet.contains(is_harmful) {
            return Err(format!("harmful: {sheet}"));
        }
    }
    for width in [20, 80, 1000] {
        let text = report::campaign_text(&report, false, width);
        if text.contains(is_harmful) || !text.ends_with('\n') {
            return Err(format!("harmful: {text}"));
        }
    }
    let texts = charts
        .into_iter()
        .map(|(_, chart)| chart)
        .chain([page, json]);
    for text in texts {
        if text.contains(is_harmful) {
            return Err(format!("harmful: {text}"));
        }
    }
    Ok(())
}

#[test]
fn a_broken_document_is_noticed() {
    for broken in [
        "<p>x",
        "<p><b>x</p></b>",
        "<p title=\"x>y\"</p>",
        "x</p>",
        "<p",
        "<style>p {}",
    ] {
        assert!(elements(broken).is_err(), "{broken}");
    }
    let names =
        elements("<!doctype html><meta a=\"b\"><p class=\"x\">y</p><svg><rect></rect></svg>");
    assert_eq!(names.unwrap(), ["meta", "p", "svg", "rect"]);
    let rows = elements("<table><tr><td>a<td><b>c</b><tr><td>d</table>");
    assert_eq!(rows.unwrap(), ["table", "tr", "td", "td", "b", "tr", "td"]);
    assert!(elements("<table><tr><td><b>a<td>c</table>").is_err());
}

#[test]
fn for_people() {
    let of = plain();
    assert_snapshot!(
        "campaign_text_100",
        report::campaign_text(&of.report(), false, 100)
    );
    assert_snapshot!(
        "campaign_text_60",
        report::campaign_text(&of.report(), false, 60)
    );
    let color = report::campaign_text(&of.report(), true, 100);
    for painted in [
        "\u{1b}[31m2. does not hold: CUBIC",
        "\u{1b}[32m3. holds: ",
        "\u{1b}[31mFailed trials:\u{1b}[0m\n- 1 trial",
    ] {
        assert!(color.contains(painted), "{painted:?} in {color}");
    }
}

#[test]
fn for_programs() {
    let of = plain();
    assert_snapshot!("campaign_json", report::campaign_json(&of.report()));
    let sheets = [
        report::campaign_csv(&of.report()),
        report::campaign_trials_csv(&of.report()),
    ];
    assert_snapshot!("campaign_csv", sheets.join("\n").replace("\r\n", "\n"));
    let findings = report::campaign_markdown(&of.report());
    assert_snapshot!("campaign_markdown", findings);
    check(&of).unwrap();
    let schema: Value = serde_json::from_str(&report::campaign_schema()).unwrap();
    let mut document: Value = serde_json::from_str(&report::campaign_json(&of.report())).unwrap();
    document["cells"][0]["unit"] = json!("ms");
    assert!(
        !jsonschema::draft202012::new(&schema)
            .unwrap()
            .is_valid(&document)
    );
}

fn markup(of: &Campaign) -> String {
    let page = report::campaign_page(&of.report()).whole();
    let (before, rest) = page.split_once("<style>").unwrap();
    before.to_owned() + rest.split_once("</style>").unwrap().1
}

#[test]
fn a_page_is_whole_without_scripts_and_loads_nothing() {
    let of = plain();
    let page = report::campaign_page(&of.report()).whole();
    for absent in ["src=", "href=\"http", "url(", " style=", "on load"] {
        assert!(!page.contains(absent), "{absent}");
    }
    let markup = markup(&of);
    let markup = markup.split_once("<body>").unwrap().1;
    // The one script is the last of the page, and no figure waits for it.
    let (markup, script) = markup.split_once("<script>").unwrap();
    assert!(!script.contains("<script"), "{script}");
    assert_eq!(markup.matches("<figure").count(), 4);
    assert_snapshot!("campaign_page", markup);
}

#[test]
fn charts_stand_for_themselves() {
    let of = plain();
    let charts = report::campaign_charts(&of.report());
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Figure-2-measured",
            "Figure-2-published",
            "Figure-12-measured"
        ]
    );
    assert_snapshot!("campaign_chart", charts[0].1);
    // Dots on a logarithmic axis, and a heading above each bar whose name is long.
    let far_apart = &charts[2].1;
    for part in [", logarithmic</text>", ">nginx</text>", "class=\"p s0\""] {
        assert!(far_apart.contains(part), "{part}: {far_apart}");
    }
}

type Change = fn(&mut Campaign);

#[test]
fn what_can_be_concluded_is_said_first() {
    let orders = |of: &mut Campaign, same, reversed, inconclusive| {
        of.summary.tables[0].orders = vec![OrderingCount {
            same,
            reversed,
            inconclusive,
        }];
    };
    let table: [(Change, &str); 7] = [
        (|_| (), "Mostly conclusive with 3 repetitions: of 6 pairs,"),
        (
            |of| of.summary.tables[0].orders[0].inconclusive = 9,
            "Mostly inconclusive with 3 repetitions: of 14 pairs, 4 as published,",
        ),
        (
            |of| {
                of.summary.tables[0].orders = vec![OrderingCount {
                    inconclusive: 2,
                    ..OrderingCount::default()
                }]
            },
            "Inconclusive with 3 repetitions: of 2 pairs, 2 not told apart. Of 3 findings, 1 holds,",
        ),
        (
            |of| of.summary.tables.clear(),
            "Of 3 findings, 1 holds, 1 does not hold, 1 is inconclusive. Each cell has 3 repetitions.",
        ),
        (
            |of| {
                of.summary.tables.clear();
                of.summary.findings.clear();
            },
            "Nothing published is compared with these figures.",
        ),
        (
            |of| {
                of.summary
                    .cells
                    .iter_mut()
                    .for_each(|cell| cell.estimate.interval = None);
                let cells = of
                    .summary
                    .tables
                    .iter_mut()
                    .flat_map(|table| &mut table.cells)
                    .flatten();
                cells.for_each(|cell| cell.interval = None);
            },
            "Inconclusive: no cell has been measured twice,",
        ),
        (|of| of.summary.ended_trials = 0, "Nothing was measured."),
    ];
    for (change, expected) in table {
        let mut of = plain();
        change(&mut of);
        let text = report::campaign_text(&of.report(), false, 1000);
        assert!(
            text.contains(&format!("\n{expected}")),
            "{expected} in {text}"
        );
        assert!(
            markup(&of).contains(&format!("<strong>{expected}")),
            "{expected}"
        );
    }
    let mut of = plain();
    orders(&mut of, 5, 1, 0);
    let text = report::campaign_text(&of.report(), false, 1000);
    assert!(
        text.contains(
            "\nConclusive with 3 repetitions: of 6 pairs, 5 as published, 1 the other way round."
        ),
        "{text}"
    );
}

#[test]
fn what_differs_is_explained_or_said_to_be_unexplained() {
    let mut of = plain();
    assert!(
        markup(&of).contains("<p>Unexplained: a pair is the other way round than published.</p>")
    );
    assert!(markup(&of).contains("<p>The stand-in has no delay-based window.</p>"));
    of.summary.tables[0].note = Some("Queues are shorter here.".to_owned());
    of.record.experiment.findings.clear();
    let page = markup(&of);
    assert!(
        page.contains("<p>Queues are shorter here.</p>") && page.contains("<p>Unexplained.</p>")
    );
    of.summary.tables[0].note = None;
    of.summary.tables[0].orders.clear();
    of.summary
        .findings
        .retain(|finding| finding.verdict != PairVerdict::Fails);
    assert!(!markup(&of).contains("Unexplained"));
}

#[test]
fn a_part_of_a_mixed_finding_is_less_or_more() {
    let mut of = plain();
    of.record.experiment.findings[1].relation = Relation::Mixed;
    let page = markup(&of);
    assert!(
        page.contains("<p>of 2 parts: less in 1, not told apart in 1</p>"),
        "{page}"
    );
    assert!(
        page.contains(
            "C1: 51.2 Mbit/s (50.8 .. 51.6) against 51.0 Mbit/s (50.6 .. 51.4), less</li>"
        ),
        "{page}"
    );
}

#[test]
fn a_finished_campaign_is_not_called_unfinished() {
    let mut of = plain();
    assert!(markup(&of).contains("The same command goes on where the campaign was interrupted."));
    of.summary.ended_trials = 17;
    let text = report::campaign_text(&of.report(), false, 1000);
    assert!(
        text.contains("\n17 of 18 trials ended with figures; 1 failed (43 s).\n"),
        "{text}"
    );
    assert!(!text.contains("interrupted"), "{text}");
}

#[test]
fn another_campaign_is_repeatable_where_nine_in_ten_means_are_as_predicted() {
    let mut of = plain();
    let judged = |of: &Campaign| {
        let page = markup(of);
        let (_, section) = page.split_once("<h2>Beside another campaign</h2>").unwrap();
        section.split_once("</section>").unwrap().0.to_owned()
    };
    let section = judged(&of);
    assert!(
        section.contains("Of 12 figures of cells in the other campaign, 11 lie within"),
        "{section}"
    );
    assert!(
        section.contains("(92 %): the campaign is repeatable.")
            && section.contains(">50.7 .. 51.8 Mbit/s<"),
        "{section}"
    );
    let other = of.beside.as_mut().unwrap();
    (other.within, other.share) = (10, Some(10.0 / 12.0));
    assert!(judged(&of).contains("(83 %): the two campaigns differ."));
    let other = of.beside.as_mut().unwrap();
    (other.outside, other.compared, other.share) = (Vec::new(), 0, None);
    assert!(
        judged(&of).contains("has no figure of which this one has a prediction.")
            && !judged(&of).contains("<table")
    );
}

#[test]
fn doubtful_intervals_are_marked() {
    let of = plain();
    let text = report::campaign_text(&of.report(), false, 1000);
    for part in [
        "96 (84 .. 108 *~)",
        "\n  * now and then a repetition differs by much; ",
        "\n  ~ the machine changed",
        "\n- Delay: now and then a repetition differs by much from the others of its cell",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let page = markup(&of);
    assert!(
        page.contains("<small>84 .. 108 *~</small>")
            && page.contains("<li>Delay: all cells changed together")
    );
}

#[test]
fn empty_campaigns_have_reports() {
    let mut of = plain();
    of.trials.clear();
    of.beside = None;
    of.record.command.clear();
    let summary = &mut of.summary;
    summary.tables.clear();
    summary.charts.clear();
    summary.findings.clear();
    summary.cells.clear();
    summary.ended_trials = 0;
    check(&of).unwrap();
    let page = markup(&of);
    assert!(page.contains("Nothing was measured.") && !page.contains("<h2>Charts</h2>"));
    of.summary.tables = plain().summary.tables;
    let table = &mut of.summary.tables[0];
    table.cells = vec![vec![CellEstimate::default(); 3]; 4];
    check(&of).unwrap();
    assert!(!markup(&of).contains(">published<"));
}

#[test]
fn cells_that_were_left_out_are_told_with_the_option_that_measures_them() {
    let mut of = plain();
    of.record.cells.retain(|cell| cell.level("mix") != "c3");
    let command = of.record.command.clone();
    for (options, remedy) in [
        ("", "The option --full measures all cells."),
        (
            " --scenario mix=c1",
            "The option --full without --scenario measures all cells.",
        ),
        (
            " --scenario mix=c1 --full",
            "Without --scenario, all cells are measured.",
        ),
    ] {
        of.record.command = command.clone() + options;
        let page = markup(&of);
        assert!(page.contains(remedy), "{options}: {page}");
        let varied = page.split("<h3>What was varied</h3>").nth(1).unwrap();
        assert!(varied.contains("<li>c2 (C2)") && !varied.contains("<li>c3 (C3)"));
    }
    let other = of.record.experiment.findings.last().unwrap().clone();
    of.record.experiment.findings.push(experiment::FindingSpec {
        claim: "Another finding of other cells".to_owned(),
        ..other
    });
    let sentence = "2 findings could not be judged, because no cell of them was measured.";
    assert!(markup(&of).contains(sentence));
}

#[test]
fn hostile_names_stay_text() {
    let harmless = elements(&report::campaign_page(&plain().report()).whole()).unwrap();
    let harmless: BTreeSet<String> = harmless.into_iter().collect();
    for hostile in HOSTILE {
        let of = campaigns::campaign(&|name| hostile.replace(MARK, &format!("{MARK} {name}")));
        check(&of).unwrap_or_else(|why| panic!("{hostile:?}: {why}"));
        let names = elements(&report::campaign_page(&of.report()).whole()).unwrap();
        for name in names {
            assert!(harmless.contains(&name), "{hostile:?}: {name}");
        }
    }
}
