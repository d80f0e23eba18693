//! The binary against servers that misbehave: one clear message each, the rest of the run goes
//! on, what was measured is kept, and the server is left clean.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::Outcome;
use support::faulty::{Faulty, checked, count, row, short_run};
use testbed::fault::{Fault, Rule};

/// What befalls the three measured requests of one test, and what becomes of them.
struct Case {
    test: &'static str,
    faults: Vec<Fault>,
    outcome: &'static str,
    /// Operations with that outcome; all, or the first where only that is read closely.
    times: u64,
    /// The evidence: what was attempted, on what, what came back, what to try.
    evidence: &'static [&'static str],
}

fn case(
    test: &'static str,
    faults: impl Into<Vec<Fault>>,
    outcome: &'static str,
    evidence: &'static [&'static str],
) -> Case {
    Case {
        test,
        faults: faults.into(),
        outcome,
        evidence,
    }
}

fn status(code: u16, headers: &[(&str, &str)], body: &str) -> Fault {
    let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Fault::Status {
        code,
        headers: headers.iter().map(header).collect(),
        body: body.into(),
    }
}

/// Runs the test of the case between two others, which nothing befalls.
fn check(case: &Case) -> Outcome {
    let t = std::time::Instant::now();
    let faulty = Faulty::new(|mut builder| {
        for fault in &case.faults {
            builder = builder.rule(Rule::new(fault.clone()).tag(&format!("({})", case.test)));
        }
        builder
    });
    let outcome = faulty
        .prestan(&format!("ProppatchSingle,{},UnLockCol", case.test))
        .run();
    let result = checked(&outcome);
    let hit = row(&result, case.test);

    assert_eq!(outcome.code, 1, "{outcome}");
    assert_eq!(hit["status"], "failed", "{hit:#}");
    assert_eq!(hit["operations"], 3, "{hit:#}");
    assert_eq!(count(hit, case.outcome), case.times, "{hit:#}");
    let evidence = hit["evidence"].as_str().unwrap();
    for part in case.evidence {
        assert!(evidence.contains(part), "no `{part}` in `{evidence}`");
    }
    assert_eq!(
        hit["failures"].as_array().unwrap().len() as u64,
        case.times,
        "{hit:#}"
    );
    for other in ["ProppatchSingle", "UnLockCol"] {
        let other = row(&result, other);
        assert_eq!(
            (&other["status"], &other["operations"]),
            (&"ok".into(), &3.into()),
            "{other:#}"
        );
    }
    assert_eq!(result["complete"]["state"], "complete");
    assert_eq!(faulty.left(), [""; 0]);
    eprintln!("T1 {} {:?}", hit["evidence"], t.elapsed());
    drop(faulty);
    eprintln!("T2 {:?}", t.elapsed());
    outcome
}

/// Each case for itself, and all that fail.
fn check_all(cases: &[Case]) {
    cases.iter().for_each(|case| drop(check(case)));
}

#[test]
fn answers_that_are_none() {
    check_all(&[
        case(
            "Get1K",
            [Fault::CloseBeforeResponse],
            "reset",
            &["GET res: ", "without an answer"],
        ),
        case("Get1K", [Fault::Reset], "reset", &["GET res: ", "reset"]),
        case(
            "Get1K",
            [Fault::Hang],
            "timeout",
            &["GET res: ", "within 300ms", "--timeout"],
        ),
        case(
            "Get1K",
            [Fault::Garbage(b"\x00\x01garbage\xff\r\n\r\n".to_vec())],
            "protocol_error",
            &["GET res: ", "not HTTP", "garbage"],
        ),
        case(
            "Get1K",
            [Fault::EndlessHead],
            "protocol_error",
            &["GET res: ", "longer than 65536"],
        ),
        case(
            "Get1K",
            [Fault::Interim100(17)],
            "protocol_error",
            &["GET res: ", "16 interim"],
        ),
    ]);
}

#[test]
fn bodies_that_are_not_what_the_head_says() {
    check_all(&[
        case(
            "Get1K",
            [Fault::ShorterThanSaid],
            "reset",
            &["GET res: ", "1023 of 1024 body bytes", "RFC 9112"],
        ),
        case(
            "Get1K",
            [Fault::Chunked, Fault::ShorterThanSaid],
            "reset",
            &["GET res: ", "within the chunked body, after 1024 bytes"],
        ),
        case(
            "Get1K",
            [Fault::CloseAfterBytes(20)],
            "reset",
            &["within the response head"],
        ),
        case(
            "Get1024K",
            [Fault::CloseAfterBytes(500_000)],
            "reset",
            &["of 1048576 body bytes"],
        ),
        case(
            "Get1K",
            [Fault::EndlessBody { chunked: true }],
            "timeout",
            &["within 300ms"],
        ),
        case(
            "Get1K",
            [Fault::EndlessBody { chunked: false }],
            "protocol_error",
            &["GET res: ", "body is longer than"],
        ),
    ]);
}

#[test]
fn answers_that_are_wrong() {
    let multistatus = |inside: &str| {
        let text = format!(
            "<D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>/x</D:href>{inside}\
             </D:response></D:multistatus>"
        );
        status(207, &[("Content-Type", "application/xml")], &text)
    };
    let refused_propstat = "<D:propstat><D:prop><D:creationdate/></D:prop>\
                            <D:status>HTTP/1.1 403 Forbidden</D:status></D:propstat>";
    let locked_member = "<D:status>HTTP/1.1 423 Locked</D:status>";
    check_all(&[
        case(
            "Put1K",
            [status(507, &[], "")],
            "refused",
            &[
                "PUT res: 507",
                "expected",
                "out of space: RFC 4918, section 11.5",
            ],
        ),
        case(
            "Put1K",
            [status(423, &[], "")],
            "refused",
            &["PUT res: 423 Locked"],
        ),
        case(
            "Put1K",
            [status(503, &[], "")],
            "refused",
            &["PUT res: 503"],
        ),
        case(
            "Put1K",
            [status(500, &[], "")],
            "wrong_status",
            &["PUT res: 500"],
        ),
        case(
            "Put1024K",
            [Fault::EarlyStatus { code: 413 }],
            "wrong_status",
            &["PUT res: 413", "expected"],
        ),
        case(
            "Get1K",
            [status(302, &[("Location", "/elsewhere")], "")],
            "wrong_status",
            &[
                "GET res: 302 Found",
                "points to /elsewhere",
                "redirects are not followed",
            ],
        ),
        case(
            "Get1K",
            [status(404, &[], "")],
            "wrong_status",
            &["GET res: 404 Not Found"],
        ),
        case(
            "Get1K",
            [status(200, &[], "something else")],
            "wrong_body",
            &["GET res: ", "14 bytes came back; expected 1024"],
        ),
        case(
            "PropfindLiveSingle",
            [status(207, &[], "<multi")],
            "wrong_body",
            &["PROPFIND prop: 207 with a body that is none"],
        ),
        case(
            "PropfindLiveSingle",
            [multistatus(refused_propstat)],
            "refused",
            &["PROPFIND prop: 207 with 403 Forbidden inside for creationdate"],
        ),
        case(
            "Delete",
            [multistatus(locked_member)],
            "refused",
            &["DELETE delete: 207 with 423 Locked inside for /x"],
        ),
        case(
            "PropfindDeadMult",
            [Fault::RewriteBody {
                from: "value2-".to_owned(),
                to: "other-".to_owned(),
            }],
            "wrong_body",
            &["PROPFIND prop: "],
        ),
    ]);
}
