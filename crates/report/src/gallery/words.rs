//! What is remarkable about servers, in words: Table 6 of Xu 2004, from figures alone.

use std::collections::BTreeSet;

use stats::{Compared, Point, Status, SweptRow, Verdict};

use super::{Exhibit, Gallery};
use crate::units::factor;

/// A server in a sentence: what it cannot do, and where it is surely the fastest or the slowest.
pub(super) fn of_server(place: usize, rows: &[SweptRow]) -> String {
    let status = |wanted: Status| -> Vec<&str> {
        let with = |row: &&SweptRow| point(row, place).is_some_and(|point| point.status == wanted);
        rows.iter()
            .filter(with)
            .map(|row| row.name.as_str())
            .collect()
    };
    let extreme = |is_extreme: fn(&[(usize, &Point)], usize) -> bool| -> Vec<&str> {
        let surely = |row: &&SweptRow| is_extreme(&by_time(row), place);
        rows.iter()
            .filter(surely)
            .map(|row| row.name.as_str())
            .collect()
    };
    let parts = [
        ("cannot do", status(Status::NotSupported)),
        ("skipped", status(Status::Skipped)),
        ("fails in", status(Status::Failed)),
        ("surely the fastest in", extreme(is_fastest)),
        ("surely the slowest in", extreme(is_slowest)),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", enumerated(&names)))
        .collect();
    match said.is_empty() {
        true => "never surely the fastest or the slowest".to_owned(),
        false => said.join("; "),
    }
}

/// Rows that are disqualified in some runs, and are missing in their means.
pub(super) fn disqualified(gallery: &Gallery<'_>) -> Vec<String> {
    let warning = |exhibit: &Exhibit<'_>| {
        let rows = exhibit.runs.iter();
        let rows = rows.flat_map(|summary| summary.disqualified());
        let names: BTreeSet<&str> = rows.map(|(row, _)| row.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| {
            format!(
                "the load generator was the bottleneck in some runs of {}, which are left out \
                 of the means of {}",
                exhibit.name,
                enumerated(&names)
            )
        })
    };
    gallery.exhibits.iter().filter_map(warning).collect()
}

/// A test in a sentence: who is fastest, who is slowest, and by which factor.
pub(super) fn of_test(gallery: &Gallery<'_>, row: &SweptRow) -> Option<String> {
    let times = by_time(row);
    let ((fastest, least), (slowest, most)) = (times.first()?, times.last()?);
    if fastest == slowest {
        return None;
    }
    if !are_apart(least, most) {
        return Some("no server is surely faster than another".to_owned());
    }
    let (least, most) = (least.mean?, most.mean?);
    let name = |place: &usize| &gallery.exhibits[*place].name;
    Some(format!(
        "{} {}, {} {}: {} times",
        name(fastest),
        crate::human(least),
        name(slowest),
        crate::human(most),
        factor(most / least)
    ))
}

/// What a database costs and brings, beside files: of the servers that keep dead properties and
/// locks in the one and in the other. `None` where there are not both.
pub(super) fn files_and_database(gallery: &Gallery<'_>) -> Option<String> {
    let (files, others) = gallery.exhibits.split_first()?;
    if files.properties != "files" {
        return None;
    }
    let database = others.iter().find(|other| other.properties == "database")?;
    let mut versus = gallery.comparison.versus.iter();
    let rows = &versus
        .find(|versus| versus.name == database.name)?
        .comparison
        .rows;
    let with = |verdict: Verdict| -> Vec<String> {
        let rows = rows.iter().filter(|row| row.verdict == verdict);
        rows.map(|row| said(row, verdict)).collect()
    };
    let parts = [
        ("takes longer in", with(Verdict::Slower)),
        ("takes less time in", with(Verdict::Faster)),
        ("takes the same in", with(Verdict::Same)),
        ("does not surely differ in", with(Verdict::Inconclusive)),
    ];
    let parts = parts.iter().filter(|(_, rows)| !rows.is_empty());
    let parts: Vec<String> = parts
        .map(|(what, rows)| {
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            format!("{what} {}", enumerated(&rows))
        })
        .collect();
    Some(format!(
        "{} keeps dead properties and locks in a database, {} in files. The database {}. They are \
         two servers, and differ in more than that: contents are files with both.",
        database.title,
        files.title,
        parts.join("; it ")
    ))
}

fn said(row: &Compared, verdict: Verdict) -> String {
    match (&row.ratio, verdict) {
        (Some(ratio), Verdict::Slower) => format!("{} ({} times)", row.name, factor(ratio.value)),
        (Some(ratio), Verdict::Faster) => {
            format!("{} (1/{})", row.name, factor(1.0 / ratio.value))
        }
        _ => row.name.clone(),
    }
}

fn enumerated(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

pub(super) fn point(row: &SweptRow, server: usize) -> Option<&Point> {
    row.servers.get(server)?.points.first()
}

/// Servers with a time, the fastest first.
fn by_time(row: &SweptRow) -> Vec<(usize, &Point)> {
    let servers = (0..row.servers.len()).filter_map(|server| Some((server, point(row, server)?)));
    let mut times: Vec<(usize, &Point)> =
        servers.filter(|(_, point)| point.mean.is_some()).collect();
    times.sort_by(|(_, one), (_, other)| {
        one.mean
            .partial_cmp(&other.mean)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    times
}

/// The interval of the fastest ends before that of the next begins.
fn is_fastest(times: &[(usize, &Point)], server: usize) -> bool {
    match times {
        [(first, one), (_, next), ..] => *first == server && are_apart(one, next),
        _ => false,
    }
}

fn is_slowest(times: &[(usize, &Point)], server: usize) -> bool {
    match times {
        [.., (_, before), (last, one)] => *last == server && are_apart(before, one),
        _ => false,
    }
}

fn are_apart(less: &Point, more: &Point) -> bool {
    match (less.ci95, more.ci95) {
        (Some((_, high)), Some((low, _))) => high < low,
        _ => false,
    }
}
