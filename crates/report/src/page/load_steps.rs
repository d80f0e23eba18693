//! What a load that changed came to with each number of users, as a table.

use maud::{Markup, html};
use stats::LoadStep;

use super::markup::heading;
use super::tables::{nothing, number, section};
use super::{PageRun, ReportPage};
use crate::load_steps::{HEADINGS, cells, rule};

/// A table of all runs whose load changed; nothing for others.
pub(super) fn table(page: &ReportPage<'_>, names: &[String]) -> Markup {
    let runs = page.runs.iter().zip(names);
    let changed: Vec<_> = runs
        .filter_map(|(of, name)| Some((of, name, of.run.plan.load.adapt.as_ref()?)))
        .collect();
    if changed.is_empty() {
        return Markup::default();
    }
    let is_one = page.runs.len() == 1;
    let head = html! {
        @if !is_one { (heading("Run", "", "text")) }
        @for name in HEADINGS { (heading(name, "", "number")) }
    };
    let body = html! {
        @for (PageRun { summary, .. }, name, _) in &changed {
            @let begun = summary.load_steps.first().map_or(0, |step| step.from);
            @for step in &summary.load_steps {
                tr {
                    @if !is_one { td { (name) } }
                    (row(step, begun))
                }
            }
        }
    };
    let below = html! {
        @for (_, name, adapt) in &changed {
            p.label { @if !is_one { bdi { (name) } ": " } (rule(adapt)) ". No intervals: a step is short." }
        }
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
