//! The report of Xu (2004), section 5.6, to the letter: for scripts that read it, and to be laid
//! beside an old one.

use record::Run;
use stats::Summary;

use super::configuration::{CLASSIC, plain, type_of_methods};
use crate::clean;
use crate::table::{in_words, shown_times};

/// The first row of the second half: collections and locks.
const SECOND_HALF: &str = "MkCol";

pub(super) fn text(run: &Run, summary: &Summary) -> String {
    let plan = &run.plan;
    let mut lines = vec![
        format!("Prestan, Version {}", clean(&plan.prestan)),
        String::new(),
        "Server Warming Up.....Done".to_owned(),
        String::new(),
        format!("Start Testing {}:", clean(without_scheme(&plan.target))),
        String::new(),
    ];
    if let Some(requests) = plan.load.requests {
        lines.push(format!("* Number of Requests {requests}"));
    }
    let params = plan.params_as_written();
    for (name, words) in CLASSIC {
        let value = params.get(name);
        lines.extend(value.map(|value| format!("* {words} {}", clean(&plain(value)))));
    }
    lines.push(format!("* Type of Methods {}", type_of_methods(plan)));
    lines.push(String::new());
    for (index, test) in summary.tests.iter().enumerate() {
        if test.name == SECOND_HALF && index > 0 {
            lines.push(String::new());
        }
        let name = clean(&test.name);
        lines.push(match shown_times(test) {
            Some(times) => format!("{name}\tRsp = {:.0} [us]", times.mean / 1e3),
            None => format!("{name}\t{}", in_words(test).0),
        });
    }
    lines.join("\n") + "\n"
}

/// As it was typed in 2004.
fn without_scheme(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.trim_end_matches('/')
}
