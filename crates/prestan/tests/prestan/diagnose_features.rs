//! `prestan diagnose` says what a server lacks, and nothing of a server that has it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::attempts;
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

/// Result and findings of a run of these tests.
struct Said {
    result: Value,
    findings: BTreeMap<String, Value>,
    /// A warning disqualifies some of them: that nothing is said of these is no news.
    is_disqualified: bool,
}

/// A run of these tests of a suite, and what is found in it.
fn diagnosed(faulty: &Faulty, suite: &str, only: &str, options: &[&str]) -> Said {
    let outcome = prestan!("run {suite} {faulty} --only {only} -r 6 --warmup 1 --quiet --json -")
        .args(options.iter().copied())
        .run();
    let diagnosed = prestan!(outcome.again() => "diagnose --json -").run();
    let document = diagnosed.json();
    let found = document["findings"].as_array().unwrap().clone();
    let mut left_out = document["left_out"].as_array().unwrap().iter();
    let named = found.into_iter().map(|found| {
        let rule = found["rule"].as_str().unwrap().to_owned();
        (rule, found)
    });
    Said {
        result: outcome.json(),
        is_disqualified: left_out.any(|left| left["disqualified"] == true),
        findings: named
            .filter(|(rule, _)| RULES.contains(&rule.as_str()))
            .collect(),
    }
}

impl Said {
    /// These are all findings, and nothing kept others from being found.
    fn only(&self, rules: &[&str]) -> bool {
        let found = self.findings.keys().map(String::as_str);
        found.eq(rules.iter().copied()) && !self.is_disqualified
    }

    fn text(&self, rule: &str) -> &str {
        self.findings[rule]["text"].as_str().unwrap()
    }
}

/// Measures until these are the findings, and no others.
#[track_caller]
fn says(rules: &[&str], (suite, only): (&str, &str), build: impl Fn(Builder) -> Builder) -> Said {
    let mut wrong = Vec::new();
    for _ in attempts() {
        let said = diagnosed(&Faulty::new(&build), suite, only, &[]);
        if said.only(rules) {
            return said;
        }
        wrong.push((said.findings, said.is_disqualified));
    }
    panic!("{} times not {rules:?}: {wrong:#?}", wrong.len());
}

const UNCHANGED: (&str, &str) = ("features", "GetUnchanged");
const COMPRESSION: (&str, &str) = ("features", "List*");
const INFINITY: (&str, &str) = ("listing", "Depth1x10,Infinityx10");

#[test]
fn files_without_an_etag() {
    let said = says(&["no-etag"], UNCHANGED, |builder| {
        builder.rule(Rule::new(Fault::DropHeader("ETag".to_owned())).method("GET"))
    });
    let row = row(&said.result, "GetUnchanged");
    assert_eq!(row["status"], "not_supported");
    assert_eq!(row["evidence"], "GET file: 200 OK without ETag");
}

#[test]
fn files_that_are_sent_again() {
    let said = says(&["etag-ignored"], UNCHANGED, |builder| {
        let again = status(200, &[("ETag", "\"x\"")], "the whole file");
        builder.rule(Rule::new(again).header("If-None-Match", ""))
    });
    let row = row(&said.result, "GetUnchanged");
    assert_eq!(row["status"], "not_supported");
    assert_eq!(row["evidence"], "GET file: 200 OK; expected 304");
}

#[test]
fn of_a_server_that_answers_304_nothing_is_said() {
    let said = says(&[], UNCHANGED, |builder| builder);
    let row = row(&said.result, "GetUnchanged");
    assert_eq!(
        (&row["status"], &row["operations"]),
        (&"ok".into(), &6.into())
    );
}

/// The demo server does not compress.
#[test]
fn listings_that_are_not_compressed() {
    let said = says(&["uncompressed-listing"], COMPRESSION, |builder| builder);
    let evidence = said.findings["uncompressed-listing"]["evidence"].to_string();
    assert!(evidence.contains("ListGzip") && evidence.contains("ListPlain"));
}

#[test]
fn of_a_compressed_listing_nothing_is_said_and_it_is_checked_all_the_same() {
    let said = says(&[], COMPRESSION, |builder| {
        builder.rule(Rule::new(Fault::Gzip).header("Accept-Encoding", "gzip"))
    });
    let bytes = |name: &str| row(&said.result, name)["bytes_received"].as_u64().unwrap();
    assert!(
        bytes("ListGzip") * 5 < bytes("ListPlain"),
        "{:#}",
        said.result
    );
    assert_eq!(row(&said.result, "ListGzip")["status"], "ok");

    let faulty = Faulty::new(|builder| {
        let broken = Fault::RewriteBody {
            from: "200 OK".to_owned(),
            to: "500 Internal Server Error".to_owned(),
        };
        let offered = |fault| Rule::new(fault).header("Accept-Encoding", "gzip");
        builder.rule(offered(broken)).rule(offered(Fault::Gzip))
    });
    let broken = diagnosed(&faulty, COMPRESSION.0, COMPRESSION.1, &[]);
    let row = row(&broken.result, "ListGzip");
    assert_eq!(row["status"], "failed");
    let evidence = row["evidence"].as_str().unwrap();
    assert!(
        evidence.contains("207 with 500 Internal Server Error inside"),
        "{evidence}"
    );
    assert!(broken.findings.is_empty(), "{:#?}", broken.findings);
}

/// A PROPFIND with Depth: infinity meets this.
fn on_infinity(fault: Fault) -> Rule {
    Rule::new(fault)
        .method("PROPFIND")
        .header("Depth", "infinity")
}

#[test]
fn depth_infinity_that_is_declined_otherwise() {
    for code in [400, 403, 501] {
        let said = says(&["infinity-declined-otherwise"], INFINITY, |builder| {
            builder.rule(on_infinity(status(code, &[], "no")))
        });
        let text = said.text("infinity-declined-otherwise");
        assert!(text.contains(&code.to_string()), "{text}");
        assert_eq!(row(&said.result, "Infinityx10")["status"], "not_supported");
    }
}

#[test]
fn depth_infinity_that_is_declined_as_it_should_be() {
    let error =
        r#"<?xml version="1.0"?><D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>"#;
    let said = says(&[], INFINITY, |builder| {
        builder.rule(on_infinity(status(403, &[], error)))
    });
    let row = row(&said.result, "Infinityx10");
    let evidence = row["evidence"].as_str().unwrap();
    assert!(
        evidence.contains("403 Forbidden, propfind-finite-depth; a server may decline"),
        "{evidence}"
    );
}

#[test]
fn depth_infinity_that_is_answered_as_depth_1() {
    let member = |href: &str| {
        format!(
            "<D:response><D:href>{href}</D:href><D:propstat><D:prop><D:getetag/></D:prop>\
             <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        )
    };
    let body = format!(
        "<D:multistatus xmlns:D='DAV:'>{}{}</D:multistatus>",
        member("/tree/"),
        member("/tree/c1/")
    );
    let said = says(&["infinity-cut-short"], INFINITY, |builder| {
        builder.rule(on_infinity(status(207, &[], &body)))
    });
    let text = said.text("infinity-cut-short");
    assert!(
        text.contains("Infinityx10") && text.contains("Depth: 1"),
        "{text}"
    );
    assert_eq!(row(&said.result, "Infinityx10")["status"], "failed");
}

#[test]
fn depth_infinity_that_takes_long_and_that_does_not() {
    let large = ("listing", "Infinityx1000");
    let said = says(&["infinity-unbounded"], large, |builder| {
        builder.rule(on_infinity(Fault::AnswerAfter(Duration::from_millis(700))))
    });
    let text = said.text("infinity-unbounded");
    assert!(text.contains("1000 members"), "{text}");
    says(&[], large, |builder| builder);
}

#[test]
fn sessions_that_are_not_resumed() {
    let authority = Authority::new();
    let measured = |resumes: bool, options: &[&str]| {
        let faulty = Faulty::new(|builder| {
            let tls = authority.server(Certificate::Valid);
            let close = Fault::CloseAfterRequests {
                requests: 1,
                announced: true,
            };
            let tls = if resumes {
                tls
            } else {
                tls.without_resumption()
            };
            builder.tls(tls).rule(Rule::new(close))
        });
        let mut all = vec!["--insecure"];
        all.extend(options);
        diagnosed(&faulty, "prestan", "Get1K,Put1K", &all)
    };
    let find = |resumes: bool, options: &[&str], rules: &[&str]| {
        let mut attempts = attempts().map(|_| measured(resumes, options));
        let found = attempts.find(|said| said.only(rules));
        assert!(found.is_some(), "{resumes} {options:?}: never {rules:?}");
    };
    find(false, &[], &["tls-not-resumed"]);
    find(true, &[], &[]);
    find(false, &["--tls-resumption", "off"], &[]);
}
