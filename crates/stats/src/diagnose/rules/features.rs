//! Features that save a transfer, and support of Depth: infinity. Most findings are not about time:
//! rows that the server does not support, with the cause as the engine recorded it.

use record::{Cause, MeasureId, Outcome};

use super::listing::{bytes_of, nanos_per_byte};
use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, family_of};
use crate::diagnose::figure::{Evidence, bytes, count, ratio, reason, text};
use crate::diagnose::material::Material;
use crate::{Status, TestSummary};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "no-etag",
        // row in which the response to a GET of a file has no ETag: RFC 9110 (section 8.8.3)
        // recommends one wherever possible.
        at_least: 1.0,
        figures: &["row"],
        find: Detector::Once(no_etag),
    },
    DiagnosisRule {
        name: "etag-ignored",
        // row in which the response to If-None-Match with the ETag of the response just before is
        // 200 and not 304 (RFC 9110, section 13.1.2).
        at_least: 1.0,
        figures: &["row"],
        find: Detector::Once(etag_ignored),
    },
    DiagnosisRule {
        name: "uncompressed-listing",
        // of the bytes come back where the client offers gzip, of a listing of 64 KiB and
        // more; gzip leaves 1 to 10 % of a listing.
        at_least: 0.5,
        figures: &["plain", "offered", "ratio"],
        find: Detector::Once(uncompressed),
    },
    DiagnosisRule {
        name: "infinity-unbounded",
        // s for one request and a tree of 1,000 members at least, beside the time of its bytes on
        // the network: two of them a second keep a processor busy.
        at_least: 0.5,
        figures: &["members", "whole", "bytes"],
        find: Detector::Once(infinity_unbounded),
    },
    DiagnosisRule {
        name: "infinity-cut-short",
        // row in which all responses are 207 without the members of members.
        at_least: 1.0,
        figures: &["row", "depth"],
        find: Detector::Once(infinity_cut_short),
    },
    DiagnosisRule {
        name: "infinity-declined-otherwise",
        // row in which PROPFIND with Depth: infinity, and no other, is declined otherwise than
        // by 403 with propfind-finite-depth in its body (RFC 4918, section 9.1.1).
        at_least: 1.0,
        figures: &["status"],
        find: Detector::Once(infinity_declined),
    },
];

/// Bytes of a listing from which on compressing it is worth a word.
const LARGE: f64 = 65_536.0;

/// Members of a tree below which its time does not matter.
const MANY: u32 = 1_000;

/// The precondition code of a server that declines Depth: infinity (RFC 4918, section 9.1.1).
const FINITE_DEPTH: &str = "propfind-finite-depth";

/// A row, and why it was not measured or failed.
struct UnsupportedRow<'a> {
    run: usize,
    row: &'a TestSummary,
    cause: &'a Cause,
}

impl UnsupportedRow<'_> {
    fn evidence(&self) -> Evidence {
        Evidence {
            row: self.row.name.clone(),
            figures: vec![reason("answer", self.row.evidence.as_ref())],
        }
    }
}

/// Rows of the first run that has one of them.
fn first_run(mut rows: Vec<UnsupportedRow<'_>>) -> Vec<UnsupportedRow<'_>> {
    let first = rows.first().map(|row| row.run);
    rows.retain(|row| Some(row.run) == first);
    rows
}

/// The rows with names of that family that the server does not support, because of its response to
/// one of their steps.
fn unsupported<'a>(case: &Case<'a>, family: &str) -> Vec<UnsupportedRow<'a>> {
    let runs = case.runs().iter().enumerate();
    let of_run = |(run, material): (usize, &'a Material)| {
        let measures = material.plan.measures.iter().zip(0..);
        let rows = measures.zip(&material.summary.tests);
        rows.filter_map(move |((measure, id), row)| {
            let (step, cause) = material.facts.unsupported.get(&measure.test)?;
            let is_its = step.is_none_or(|step| step == MeasureId(id));
            let is_believed = row.status == Status::NotSupported && row.disqualified().is_none();
            (is_its && is_believed).then_some(UnsupportedRow { run, row, cause })
        })
    };
    let rows = runs.flat_map(of_run);
    let rows = rows.filter(|found| family_of(&found.row.name) == family);
    first_run(rows.collect())
}

fn found(rows: &[UnsupportedRow<'_>]) -> Detection {
    Detection {
        evidence: rows.iter().map(UnsupportedRow::evidence).collect(),
        tests: rows.iter().map(|found| found.row.name.clone()).collect(),
        run: rows.first().map_or(0, |found| found.run),
        ..Detection::default()
    }
}

/// Rows of GET with If-None-Match that are not supported for such a cause.
fn get_unchanged(
    case: &Case<'_>,
    at_least: f64,
    is_cause: fn(&Cause) -> bool,
) -> Option<Detection> {
    let mut rows = unsupported(case, "GetUnchanged");
    rows.retain(|found| is_cause(found.cause));
    let first = rows.first().filter(|_| rows.len() as f64 >= at_least)?;
    Some(Detection {
        figures: vec![text("row", &first.row.name)],
        ..found(&rows)
    })
}

fn no_etag(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let lacks = |cause: &Cause| matches!(cause, Cause::Header { name } if name == "ETag");
    get_unchanged(case, at_least, lacks)
}

fn etag_ignored(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let is_whole = |cause: &Cause| matches!(cause, Cause::Status { status: 200, .. });
    get_unchanged(case, at_least, is_whole)
}

fn uncompressed(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let (plain, offered) = (case.row("ListPlain")?, case.row("ListGzip")?);
    let (all, left) = (bytes_of(&plain), bytes_of(&offered));
    if all < LARGE || left < at_least * all {
        return None;
    }
    let figures = vec![
        bytes("plain", all),
        bytes("offered", left),
        ratio("ratio", left / all),
    ];
    let evidence = |row: &TestSummary, of: f64| Evidence {
        row: row.name.clone(),
        figures: vec![bytes("bytes", of)],
    };
    let operations = offered.course.operations as f64;
    Some(Detection {
        figures,
        evidence: vec![
            evidence(offered.summary, left),
            evidence(plain.summary, all),
        ],
        tests: vec![offered.name().to_owned(), plain.name().to_owned()],
        run: offered.run,
        saved: (left - at_least * all) * nanos_per_byte(case) * operations,
        ..Detection::default()
    })
}

fn infinity_declined(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let is_unnamed = |found: &UnsupportedRow<'_>| {
        // A server that has no other PROPFIND either declines no depth.
        let rows = &case.runs()[found.run].summary.tests;
        let mut others = rows.iter().filter(|row| row.method == "PROPFIND");
        let has_others = others.any(|row| row.status == Status::Ok);
        let is_named = matches!(
            found.cause,
            Cause::Status { status: 403, condition: Some(code) } if code == FINITE_DEPTH
        );
        has_others && !is_named
    };
    let mut rows = unsupported(case, "Infinity");
    rows.retain(is_unnamed);
    let first = rows.first().filter(|_| rows.len() as f64 >= at_least)?;
    let Cause::Status { status, .. } = first.cause else {
        return None;
    };
    Some(Detection {
        figures: vec![text("status", status.to_string())],
        ..found(&rows)
    })
}

/// Rows of which all operations failed, as far as they are described, because the response to
/// Depth: infinity was one to another depth.
fn cut_short<'a>(case: &Case<'a>) -> Vec<UnsupportedRow<'a>> {
    let runs = case.runs().iter().enumerate();
    let of_run = |(run, material): (usize, &'a Material)| {
        let rows = material.summary.tests.iter().zip(0..);
        rows.filter_map(move |(row, id)| {
            let causes = material.facts.failures.get(&MeasureId(id))?;
            let is_depth = |cause: &Option<Cause>| matches!(cause, Some(Cause::Depth { .. }));
            let outcomes = row.outcomes.plus(&row.left_out_outcomes);
            let all = outcomes.of(Outcome::WrongBody) == outcomes.total();
            let first = causes.first()?.as_ref()?;
            (all && causes.iter().all(is_depth)).then_some(UnsupportedRow {
                run,
                row,
                cause: first,
            })
        })
    };
    first_run(runs.flat_map(of_run).collect())
}

fn infinity_cut_short(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = cut_short(case);
    let first = rows.first().filter(|_| rows.len() as f64 >= at_least)?;
    let Cause::Depth { depth } = first.cause else {
        return None;
    };
    Some(Detection {
        figures: vec![
            text("row", &first.row.name),
            count("depth", u64::from(*depth)),
        ],
        ..found(&rows)
    })
}

fn infinity_unbounded(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let family = case.family("Infinity");
    let (members, row) = family.last().filter(|(members, _)| *members >= MANY)?;
    let (whole, size) = (row.whole()?, bytes_of(row));
    let beside = case.floor + size * nanos_per_byte(case);
    if whole.low - beside < at_least * 1e9 {
        return None;
    }
    Some(Detection {
        figures: vec![
            count("members", u64::from(*members)),
            whole.figure("whole"),
            bytes("bytes", size),
        ],
        // Nothing is saved: others can overload the server with it.
        ..Detection::on(&[&whole])
    })
}
