//! `prestan diagnose` reports features that a server lacks, and none that it has, according to the
//! record.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::support::faulty::{Faulty, status};
use crate::support::rows::row;
use serde_json::Value;
use testbed::fault::{Authority, Builder, Certificate, Fault, Rule};

/// The rules that are tried here.
const RULES: [&str; 7] = [
    "tls-not-resumed",
    "no-etag",
    "etag-ignored",
    "uncompressed-listing",
    "infinity-unbounded",
    "infinity-cut-short",
    "infinity-declined-otherwise",
];

/// Runs these tests of a suite, checks that these are the findings, and gives the result. None of
/// them is about times of a few milliseconds; a row that the machine disqualifies has no finding.
#[track_caller]
fn says(
    rules: &[&str],
    (suite, options): (&str, &str),
    build: impl FnOnce(Builder) -> Builder,
) -> Value {
    let faulty = Faulty::new(build);
    let run = prestan!("run {suite} {faulty} -r 6 --warmup 1 --quiet --json -").words(options);
    let outcome = run.run();
    let document = prestan!(outcome.again() => "diagnose --json -").run();
    let document = document.json();
    let all = |list: &str| document[list].as_array().unwrap().iter();
    let found = all("findings").map(|found| found["rule"].as_str().unwrap());
    let found: BTreeSet<&str> = found.filter(|rule| RULES.contains(rule)).collect();
    let wanted: BTreeSet<&str> = rules.iter().copied().collect();
    let is_disqualified = all("left_out").any(|left| left["disqualified"] == true);
    let is_less = is_disqualified && found.is_subset(&wanted);
    assert!(found == wanted || is_less, "not {rules:?}: {document:#}");
    outcome.json()
}

/// Checks the status of a row, and a part of its evidence.
#[track_caller]
fn assert_row(result: &Value, name: &str, status: &str, evidence: &str) {
    let row = row(result, name);
    assert_eq!(row["status"], status, "{row:#}");
    let found = row["evidence"].as_str().unwrap_or_default();
    assert!(found.contains(evidence), "{row:#}");
}

const UNCHANGED: (&str, &str) = ("features", "--only GetUnchanged");
const COMPRESSION: (&str, &str) = ("features", "--only List*");
const INFINITY: (&str, &str) = ("listing", "--only Depth1x10,Infinityx10");

#[test]
fn files_that_are_sent_again_and_that_are_not() {
    let result = says(&["no-etag"], UNCHANGED, |builder| {
        builder.rule(Rule::new(Fault::DropHeader("ETag".to_owned())).method("GET"))
    });
    let evidence = "GET file: 200 OK without ETag";
    assert_row(&result, "GetUnchanged", "not_supported", evidence);

    let result = says(&["etag-ignored"], UNCHANGED, |builder| {
        let again = status(200, &[("ETag", "\"x\"")], "the whole file");
        builder.rule(Rule::new(again).header("If-None-Match", ""))
    });
    let evidence = "GET file: 200 OK; expected 304";
    assert_row(&result, "GetUnchanged", "not_supported", evidence);

    let result = says(&[], UNCHANGED, |builder| builder);
    assert_eq!(row(&result, "GetUnchanged")["operations"], 6);
}

#[test]
fn listings_that_are_compressed_and_that_are_not() {
    // The demo server does not compress.
    says(&["uncompressed-listing"], COMPRESSION, |builder| builder);

    let offered = |fault| Rule::new(fault).header("Accept-Encoding", "gzip");
    let result = says(&[], COMPRESSION, |builder| {
        builder.rule(offered(Fault::Gzip))
    });
    let bytes = |name: &str| row(&result, name)["bytes_received"].as_u64().unwrap();
    assert!(bytes("ListGzip") * 5 < bytes("ListPlain"), "{result:#}");
    assert_row(&result, "ListGzip", "ok", "");

    // It is checked nevertheless.
    let broken = Fault::RewriteBody {
        from: "200 OK".to_owned(),
        to: "500 Internal Server Error".to_owned(),
    };
    let result = says(&[], COMPRESSION, |builder| {
        builder.rule(offered(broken)).rule(offered(Fault::Gzip))
    });
    let evidence = "207 with 500 Internal Server Error inside";
    assert_row(&result, "ListGzip", "failed", evidence);
}

/// A PROPFIND with Depth: infinity meets this.
fn on_infinity(fault: Fault) -> impl FnOnce(Builder) -> Builder {
    let rule = Rule::new(fault).method("PROPFIND");
    |builder| builder.rule(rule.header("Depth", "infinity"))
}

#[test]
fn depth_infinity_that_is_declined() {
    let declined = status(501, &[], "no");
    let rules = ["infinity-declined-otherwise"];
    let result = says(&rules, INFINITY, on_infinity(declined));
    assert_row(&result, "Infinityx10", "not_supported", "501");

    let error =
        r#"<?xml version="1.0"?><D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>"#;
    let result = says(&[], INFINITY, on_infinity(status(403, &[], error)));
    let evidence = "403 Forbidden, propfind-finite-depth; a server may decline";
    assert_row(&result, "Infinityx10", "not_supported", evidence);
}

#[test]
fn depth_infinity_that_is_answered_as_depth_1_or_takes_long() {
    let member = |href: &str| {
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:prop><D:getetag/></D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let body = ["/tree/", "/tree/c1/"].map(member).concat();
    let body = format!("<D:multistatus xmlns:D='DAV:'>{body}</D:multistatus>");
    let cut_short = on_infinity(status(207, &[], &body));
    let result = says(&["infinity-cut-short"], INFINITY, cut_short);
    assert_row(&result, "Infinityx10", "failed", "");

    let large = ("listing", "--only Infinityx1000");
    let slow = on_infinity(Fault::AnswerAfter(Duration::from_millis(700)));
    says(&["infinity-unbounded"], large, slow);
}

#[test]
fn sessions_that_are_not_resumed() {
    let authority = Authority::new();
    let only = "--insecure --only Get1K,Put1K";
    let by_choice = format!("{only} --tls-resumption off");
    for (resumes, options, rules) in [
        (false, only, &["tls-not-resumed"][..]),
        (true, only, &[]),
        (false, &by_choice, &[]),
    ] {
        let close = Fault::CloseAfterRequests {
            requests: 1,
            announced: true,
        };
        let tls = authority.server(Certificate::Valid);
        let tls = if resumes {
            tls
        } else {
            tls.without_resumption()
        };
        says(rules, ("prestan", options), |builder| {
            builder.tls(tls).rule(Rule::new(close))
        });
    }
}
