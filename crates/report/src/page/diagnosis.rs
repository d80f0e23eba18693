//! The page of a diagnosis: its runs are of one server as a rule, and told apart by their suites.

use maud::{Markup, html};

use super::markup::{list, moment, named};
use super::{PageRun, ReportPage, ShownPage, names};
use crate::clean;
use crate::document::Words;
use crate::lists::{distinct, number_of};
use crate::text::UNKNOWN_SOFTWARE;

pub(super) fn title(page: &ReportPage<'_>) -> String {
    match &targets(page)[..] {
        [one] => format!("Diagnosis of {one}"),
        several => format!("Diagnosis of {} servers", several.len()),
    }
}

/// The server, unless there are several, and below it what was run when.
pub(super) fn head(of: &ShownPage<'_>) -> Markup {
    let is_one = targets(of.page).len() == 1;
    let line = |(run, name): (&PageRun<'_>, &str)| {
        let (plan, env) = (&run.run.plan, &run.run.env);
        let users = number_of(plan.load.users.into(), "user");
        named(name, &[&plan.suite.title, &users, &moment(&env.started_at)])
    };
    html! {
        @if let Some(first) = of.page.runs.first().filter(|_| is_one) {
            p.what { (first.software().unwrap_or(UNKNOWN_SOFTWARE)) }
        }
        (list("where", of.named().map(line)))
    }
}

/// A name for each run: its suite, its users where they are not those of the first run of this
/// server, and its server where there are several. Runs with the same name are numbered.
pub(super) fn names(page: &ReportPage<'_>) -> Vec<String> {
    let has_several = targets(page).len() > 1;
    let plans = page.runs.iter().map(|run| &run.run.plan);
    let name = |plan: &record::PlanRecord| {
        let mut others = page.runs.iter().map(|run| &run.run.plan);
        let first = others.find(|other| other.target == plan.target);
        let users_of = if first.is_some_and(|first| first.load.users == plan.load.users) {
            String::new()
        } else {
            format!(", {}", number_of(plan.load.users.into(), "user"))
        };
        let suite = names::shortened(&clean(&plan.suite.name));
        if has_several {
            format!("{}: {suite}{users_of}", server(&plan.target))
        } else {
            format!("{suite}{users_of}")
        }
    };
    let plain: Vec<String> = plans.map(name).collect();
    let numbered = plain.iter().enumerate().map(|(index, name)| {
        match plain[..index].iter().filter(|other| *other == name).count() {
            0 => name.clone(),
            before => format!("{name} #{}", before + 1),
        }
    });
    numbered.collect()
}

/// The words before a sentence about all runs of a server: none where the page has one server.
pub(super) fn whose(page: &ReportPage<'_>, run: usize) -> Words {
    match page.runs.get(run) {
        Some(run) if targets(page).len() > 1 => {
            let server = server(&run.run.plan.target);
            Words::default().name(server).plain(": ")
        }
        _ => Words::default(),
    }
}

/// A URL without its scheme: one server may have several targets.
fn server(url: &str) -> String {
    names::shortened(&clean(names::without_scheme(url)))
}

fn targets<'a>(page: &ReportPage<'a>) -> Vec<&'a str> {
    let plans = page.runs.iter().map(|run| &run.run.plan);
    distinct(plans.map(|plan| plan.target.as_str()))
}
