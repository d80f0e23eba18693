//! What a load that changed came to with each number of users, as a table.

use maud::{Markup, html};
use stats::LoadStep;

use super::markup::heading;
use super::tables::{nothing, number, section};
use super::{PageRun, ReportPage};
use crate::load_steps::{HEADINGS, cells, rule};

/// A table for each run whose load changed; nothing for others.
pub(super) fn tables(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let runs = page.runs.iter().zip(names);
    html! {
        @for (run, name) in runs {
            (of_run(run, (page.runs.len() > 1).then_some(name.as_str())))
        }
    }
}

fn of_run(PageRun { run, summary, .. }: &PageRun<'_>, name: Option<&str>) -> Markup {
    let Some(adapt) = &run.plan.load.adapt else {
        return Markup::default();
    };
    let begun = summary.load_steps.first().map_or(0, |step| step.from);
    let head = html! {
        @for name in HEADINGS { (heading(name, "", "number")) }
    };
    let body = html! {
        @for step in &summary.load_steps { (row(step, begun)) }
    };
    let below = html! {
        p.label { @if let Some(name) = name { (name) ": " } (rule(adapt)) ". No intervals: a step is short." }
    };
    section("load-steps", "Load, step by step", &head, &body, &below)
}

fn row(step: &LoadStep, begun: record::Nanos) -> Markup {
    let [from, users, operations, failed, rate, p50, p99] = cells(step, begun);
    let time = |ns: Option<record::Nanos>, shown: &str| match ns {
        Some(ns) => number(ns as f64, shown, ""),
        None => nothing(),
    };
    html! {
        tr {
            (number(step.from as f64, &from, ""))
            (number(f64::from(step.users), &users, ""))
            (number(step.operations as f64, &operations, ""))
            (number(step.failed as f64, &failed, if step.failed > 0 { "bad" } else { "" }))
            @match step.per_second {
                Some(of) => (number(of, &rate, "")),
                None => (nothing()),
            }
            (time(step.p50, &p50))
            (time(step.p99, &p99))
        }
    }
}
