//! What a page answers, first of all: its numbers, and before which figure they stand.

use maud::{Markup, Render, html};
use record::{Pace, PlanRecord, TimeUnit};
use stats::{Distribution, TestSummary};

use super::markup::{heading, list, rate, statistic, wide};
use super::subject::Subject;
use super::{ShownPage, answers, pages, sections};
use crate::constraints;
use crate::ranking::{heat, ranking};
use crate::table::in_words;
use crate::times::{MAX, P50, P90, P99, TimeStatistic};
use crate::units::{factor, human, human_range};

/// The numbers of a page, and which of them are none.
pub(super) fn headline(of: &ShownPage<'_>) -> Markup {
    html! {
        @if let Some(incomplete) = of.page.incomplete() { (incomplete.alert()) }
        (list("counts", pages::in_short(of)))
        (answers::in_short(of.page))
        @match of.subject {
            Subject::Loads => (loads(of)),
            Subject::Ranks => (ranks(of)),
            _ => {},
        }
        // A comparison, a ranking and a load have more to say than how many tests were ok.
        @if matches!(of.subject, Subject::Tests | Subject::Retrieval | Subject::Diagnosis) {
            (sections::counts_of_runs(of))
        }
        @for run in &of.runs { @if let Some(alert) = run.inconclusive() { (alert) } }
        (constraints::list(&of.runs))
    }
}

/// Rate and percentiles: large for one request on one server, else a table.
fn loads(of: &ShownPage<'_>) -> Markup {
    let all = of.named().flat_map(|(run, name)| {
        let tests = run.summary.tests.iter();
        tests.map(move |test| (&run.run.plan, name, test))
    });
    let all: Vec<(&PlanRecord, &str, &TestSummary)> = all.collect();
    match &all[..] {
        [(plan, _, test)] => tiles(plan, test),
        [] => Markup::default(),
        all => tests_table(all, of.runs.len() > 1),
    }
}

fn planned_rate(plan: &PlanRecord) -> Option<f64> {
    match &plan.load.pace {
        Pace::Open { stages, .. } => match &stages[..] {
            [stage] => Some(stage.rate),
            _ => None,
        },
        Pace::Rounds | Pace::Closed => None,
    }
}

fn tiles(plan: &PlanRecord, test: &TestSummary) -> Markup {
    let Some(times) = &test.response else {
        let (word, why) = in_words(test);
        return html! { p { span.bad { (word) } " " (why) } };
    };
    let failed = test.failed();
    let operations = format!("of {}", test.operations());
    let planned = planned_rate(plan).map(|rate| format!("{rate} planned"));
    html! {
        dl.headline {
            @if let Some(of) = test.rate {
                (tile("req/s", rate(of), planned.as_deref(), ""))
            }
            (percentiles(test.unit, times))
            (tile("failed", failed, Some(&operations), if failed > 0 { "bad" } else { "" }))
        }
        @if let Some(times) = &test.planned {
            p.label { "Latency from schedule" }
            dl.headline { (percentiles(test.unit, times)) }
        }
    }
}

const LARGE: [&TimeStatistic; 4] = [&P50, &P90, &P99, &MAX];

fn percentiles(unit: Option<TimeUnit>, times: &Distribution) -> Markup {
    html! { @for of in LARGE { (tile(of.label, statistic(of, unit, times, ""), None, "")) } }
}

fn tile(name: &str, shown: impl Render, beside: Option<&str>, class: &str) -> Markup {
    html! {
        div {
            dt { (name) }
            dd class=(class) { (shown) @if let Some(beside) = beside { " " small { (beside) } } }
        }
    }
}

fn tests_table(all: &[(&PlanRecord, &str, &TestSummary)], has_servers: bool) -> Markup {
    let head = html! {
        (heading("Request", "", "text"))
        @if has_servers { (heading("Server", "", "text")) }
        (heading("req/s", "", "number"))
        @for of in LARGE { (heading(of.label, "", "number")) }
        (heading("failed", "", "number"))
    };
    let body = html! {
        @for (_, server, test) in all {
            tr {
                th scope="row" { (test.name) }
                @if has_servers { td { (server) } }
                @match (test.rate, &test.response) {
                    (Some(of), Some(times)) => {
                        td.number { (rate(of)) }
                        @for of in LARGE { td.number { (statistic(of, test.unit, times, "")) } }
                        td.number.bad[test.failed() > 0] { (test.failed()) }
                    }
                    _ => td.words colspan="6" { (in_words(test).0) },
                }
            }
        }
    };
    wide("Rate and percentiles", None, &head, &body)
}

fn ranks(ShownPage { page, names, .. }: &ShownPage<'_>) -> Markup {
    let rows = page.runs.iter().map(|run| run.summary.tests.first());
    let rows: Vec<Option<&TestSummary>> = rows.collect();
    let ranked = ranking(rows.iter().copied());
    let is_unranked = |server: &usize| ranked.iter().all(|time| time.server != *server);
    let head = html! {
        th scope="col" class="number" { "Rank" }
        (heading(page.run_heading(), "", "text"))
        @for name in ["mean", "95 % interval", "times the fastest"] { (heading(name, "", "number")) }
    };
    let body = html! {
        @for (index, time) in ranked.iter().enumerate() {
            tr {
                td.number {
                    @if index > 0 && !ranked[index - 1].is_below(time) { "~ " }
                    (index + 1) "."
                }
                th scope="row" { (names[time.server]) }
                td.number { (human(time.mean)) }
                td.number { (time.ci95.map_or("-".to_owned(), human_range)) }
                td class={ "number heat" (heat(time.times)) } { "×" (factor(time.times)) }
            }
        }
        @for server in (0..rows.len()).filter(is_unranked) {
            tr {
                td {}
                th scope="row" { (names[server]) }
                td.words colspan="3" { (unranked(rows[server])) }
            }
        }
    };
    html! {
        (wide("Ranking", Some("heat compact"), &head, &body))
        p.note {
            "~ means that the order is not certain: the 95 % interval overlaps that of the server before."
        }
    }
}

fn unranked(row: Option<&TestSummary>) -> Markup {
    let Some(row) = row else {
        return html! { "not part of this run" };
    };
    if row.disqualified().is_some() {
        return html! { span.caution { "inconclusive" } };
    }
    let (word, why) = in_words(row);
    html! { span.caution { (word) } " " (why) }
}
