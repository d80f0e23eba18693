//! Remarkable properties of servers, in words: Table 6 of Xu 2004, from figures alone.

use stats::{Compared, Status, Verdict};

use super::{Exhibit, Gallery, GalleryRow};
use crate::lists::enumerated;
use crate::ranking::RankedTime;
use crate::units::factor;

/// A server in a sentence: what it cannot do, and where it is the fastest or the slowest by
/// intervals that do not overlap.
pub(super) fn server_sentence(index: usize, rows: &[GalleryRow<'_>]) -> String {
    let status = |wanted: Status| -> Vec<&str> {
        let with = |row: &&GalleryRow<'_>| row.of(index).is_some_and(|test| test.status == wanted);
        rows.iter().filter(with).map(|row| row.name).collect()
    };
    let extreme = |is_extreme: fn(&[RankedTime], usize) -> bool| -> Vec<&str> {
        let is_so = |row: &&GalleryRow<'_>| is_extreme(&row.ranking(), index);
        rows.iter().filter(is_so).map(|row| row.name).collect()
    };
    let parts = [
        ("cannot do", status(Status::NotSupported)),
        ("skipped", status(Status::Skipped)),
        ("fails in", status(Status::Failed)),
        ("fastest in", extreme(is_fastest)),
        ("slowest in", extreme(is_slowest)),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}", enumerated(&names)))
        .collect();
    if said.is_empty() {
        "neither the fastest nor the slowest in any test: 95 % intervals overlap".to_owned()
    } else {
        said.join("; ")
    }
}

pub(super) fn incomplete(gallery: &Gallery<'_>) -> Option<String> {
    let Gallery { runs, planned, .. } = gallery;
    (runs < planned).then(|| {
        format!("the measurement ended early; this is {runs} of {planned} runs of each server.")
    })
}

/// Tests whose times are disqualified in all runs. Where some runs are sound, only these are shown.
pub(super) fn disqualified(gallery: &Gallery<'_>) -> Vec<String> {
    let warning = |exhibit: &Exhibit<'_>| {
        let rows = exhibit.shown.summary.disqualified();
        let names: Vec<&str> = rows.map(|(row, _)| row.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "the load generator may have changed the times of {} of {} in all runs",
                enumerated(&names),
                exhibit.name,
            )
        })
    };
    gallery.exhibits.iter().filter_map(warning).collect()
}

/// A test in a sentence: the fastest server, the slowest server, and the factor between them.
pub(super) fn test_sentence(gallery: &Gallery<'_>, row: &GalleryRow<'_>) -> Option<String> {
    let times = row.ranking();
    let (least, most) = (times.first()?, times.last()?);
    if least.server == most.server {
        return None;
    }
    if !least.is_below(most) {
        return Some("no server is faster than another: 95 % intervals overlap".to_owned());
    }
    let name = |time: &RankedTime| &gallery.exhibits[time.server].name;
    Some(format!(
        "{} {}, {} {}: {} times",
        name(least),
        crate::human(least.mean),
        name(most),
        crate::human(most.mean),
        factor(most.mean / least.mean)
    ))
}

/// Costs and benefits of a database, compared with files: of the servers that keep dead properties
/// and locks in the one and in the other. `None` where there are not both.
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
        (
            "does not differ significantly in",
            with(Verdict::Inconclusive),
        ),
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

/// The interval of the fastest ends before that of the next begins.
fn is_fastest(times: &[RankedTime], server: usize) -> bool {
    match times {
        [first, next, ..] => first.server == server && first.is_below(next),
        _ => false,
    }
}

fn is_slowest(times: &[RankedTime], server: usize) -> bool {
    match times {
        [.., before, last] => last.server == server && before.is_below(last),
        _ => false,
    }
}
