//! The binary against servers that misbehave: one clear message each, the rest of the run
//! continues, measurements are saved, and the server is left clean.

use std::net::TcpListener;

use crate::support::Outcome;
use crate::support::faulty::{
    Faulty, IMPATIENT, LOOPBACK, PASSWORD, USER, checked, count, no_secret_in, run_of, short_run,
    status, went_nowhere,
};
use crate::support::rows::row;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

/// Faults of the three measured requests of one test, and the outcomes.
struct Case {
    test: &'static str,
    faults: Vec<Fault>,
    outcome: &'static str,
    /// Operations with that outcome; all, or the first where only that is read closely.
    times: u64,
    /// The evidence: the attempt, its target, the response, and a remedy.
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
        times: 3,
        evidence,
    }
}

/// How many failures are in the groups of them, each of which has an example.
fn described(row: &Value) -> u64 {
    let groups = row["failures"].as_array().unwrap().iter();
    let groups = groups.inspect(|group| assert!(group["example"].is_string(), "{row:#}"));
    groups.map(|group| group["count"].as_u64().unwrap()).sum()
}

/// True if the server does not respond, so that the time limit has to end it.
fn keeps_waiting(fault: &Fault) -> bool {
    matches!(fault, Fault::Hang | Fault::EndlessBody { chunked: true })
}

/// Runs the test of the case between two others, which nothing befalls.
fn check(case: &Case) -> Outcome {
    let faulty = Faulty::new(|mut builder| {
        for fault in &case.faults {
            builder = builder.rule(Rule::new(fault.clone()).tag(&format!("({})", case.test)));
        }
        builder
    });
    let mut prestan = faulty.prestan(&format!("ProppatchSingle,{},UnLockCol", case.test));
    if case.faults.iter().any(keeps_waiting) {
        prestan = prestan.args(IMPATIENT);
    }
    let outcome = prestan.run();
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
    assert_eq!(described(hit), case.times, "{hit:#}");
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
            &["GET res: ", "without a response"],
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
            [status(200, &[("Content-Encoding", "gzip")], "packed")],
            "wrong_body",
            &[
                "received 6 bytes; expected 1024",
                "gzip",
                "no Accept-Encoding",
            ],
        ),
        case(
            "Get1K",
            [status(200, &[], "something else")],
            "wrong_body",
            &["GET res: ", "received 14 bytes; expected 1024"],
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
            "ProppatchMult",
            [other_namespace()],
            "wrong_body",
            &[
                "PROPPATCH prop: 207 acknowledges 0 of 3 properties",
                "not {http://webdav.org/neon/DavTester/}prop0",
                "it names {urn:another}prop0",
            ],
        ),
        case(
            "PropfindDeadMult",
            [other_namespace()],
            "wrong_body",
            &["PROPFIND prop: 207 with 0 of 3 properties"],
        ),
        case(
            "Delete",
            [multistatus(locked_member)],
            "refused",
            &["DELETE delete: 207 with 423 Locked inside for /x"],
        ),
        Case {
            // The content of properties and bodies is compared in the first response of a test.
            times: 1,
            ..case(
                "PropfindDeadMult",
                [Fault::RewriteBody {
                    from: "value2-".to_owned(),
                    to: "other-".to_owned(),
                }],
                "wrong_body",
                &["PROPFIND prop: the response does not contain `value2-`"],
            )
        },
    ]);
}

/// A server that reports properties in another namespace.
fn other_namespace() -> Fault {
    Fault::RewriteBody {
        from: "http://webdav.org/neon/DavTester/".to_owned(),
        to: "urn:another".to_owned(),
    }
}

#[test]
fn a_bad_url_is_wrong_usage() {
    for (url, says) in [
        ("ftp://127.0.0.1/", "ftp"),
        ("http://", "names no host"),
        ("http://ann:s3cret-0f-ann@/", "empty host"),
        ("http://127.0.0.1:99999/", "invalid port"),
        ("http://127.0.0.1/?query", "query"),
        ("", ""),
    ] {
        let outcome = prestan!("{url}").run();
        assert_eq!(outcome.code, 2, "{url}: {outcome}");
        assert!(outcome.stderr.contains(says), "{url}: {outcome}");
        no_secret_in(&outcome, &[PASSWORD]);
        assert_eq!(outcome.runs().len(), 0);
    }
}

#[test]
fn a_closed_port() {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let outcome = short_run(&format!("http://{addr}/dav/"), "Get1K").run();
    let tried = format!("OPTIONS http://{addr}/dav/");
    went_nowhere(&outcome, &["cannot be reached", &tried, "refused"]);
}

#[test]
fn targets_that_cannot_be_measured() {
    let not_dav = |propfind: u16| {
        vec![
            Rule::new(Fault::DropHeader("DAV".to_owned())).method("OPTIONS"),
            Rule::new(status(propfind, &[], "")).method("PROPFIND"),
        ]
    };
    let all = |fault: Fault| vec![Rule::new(fault)];
    let to = |method: &str, fault: Fault| vec![Rule::new(fault).method(method)];
    let table: [(Vec<Rule>, &[&str]); 22] = [
        (
            not_dav(405),
            &[
                "no WebDAV collection",
                "without a DAV header",
                "405",
                "check the path",
            ],
        ),
        (
            not_dav(404),
            &["no WebDAV collection", "404", "check the path"],
        ),
        (not_dav(200), &["no WebDAV collection", "PROPFIND with 200"]),
        (
            to("OPTIONS", status(404, &[], "")),
            &["OPTIONS http://", "404", "create it first"],
        ),
        (
            all(status(301, &[("Location", "/dav/")], "")),
            &["301", "/dav/", "not followed"],
        ),
        (
            all(status(401, &[], "")),
            &[
                "authentication failed",
                "OPTIONS http://",
                "401",
                "challenge",
            ],
        ),
        (
            all(status(403, &[], "")),
            &["OPTIONS", "403", "right to look"],
        ),
        (
            not_dav(403),
            &["PROPFIND with 403", "GET is not (404)", "firewall"],
        ),
        (
            [
                to("PROPFIND", status(403, &[], "")),
                to("MKCOL", status(403, &[], "")),
            ]
            .concat(),
            &["MKCOL http://", "403", "GET is not (404)", "firewall"],
        ),
        (
            all(status(503, &[("Retry-After", "120")], "")),
            &["OPTIONS", "503", "for the moment (Retry-After: 120)"],
        ),
        (
            all(status(429, &[], "")),
            &["OPTIONS", "429", "limits requests"],
        ),
        (all(status(421, &[], "")), &["OPTIONS", "421", "this name"]),
        (not_dav(502), &["PROPFIND", "502", "no valid response"]),
        (
            all(status(
                400,
                &[],
                "The plain HTTP request was sent to HTTPS port",
            )),
            &["OPTIONS", "400", "perhaps it is https://"],
        ),
        (
            all(Fault::CloseBeforeResponse),
            &[
                "OPTIONS http://",
                "without a response",
                "perhaps it is https://",
            ],
        ),
        (all(Fault::Reset), &["OPTIONS http://", "reset"]),
        (
            all(Fault::Hang),
            &["OPTIONS http://", "within 300ms", "--timeout"],
        ),
        (
            all(Fault::Garbage(b"SSH-2.0-x\r\n".to_vec())),
            &["OPTIONS http://", "SSH", "port"],
        ),
        (
            all(Fault::EndlessHead),
            &["OPTIONS http://", "longer than 65536"],
        ),
        (
            to("MKCOL", status(507, &[], "")),
            &["MKCOL http://", "507", "out of space"],
        ),
        (
            to("MKCOL", status(403, &[], "")),
            &["MKCOL http://", "403", "right to write"],
        ),
        (
            to("PUT", status(507, &[], "")),
            &["PUT prestan-run.json", "507", "out of space"],
        ),
    ];
    for (rules, says) in table {
        let faulty = Faulty::new(|builder| rules.into_iter().fold(builder, |b, rule| b.rule(rule)));
        went_nowhere(&faulty.prestan("Get1K").args(IMPATIENT).run(), says);
        assert_eq!(faulty.left(), [""; 0], "{says:?}");
    }
}

#[test]
fn several_users_each_meet_it() {
    let busy = Rule::new(status(503, &[], "")).tag("(Put1K)").every(4);
    let faulty = Faulty::new(|builder| builder.rule(busy));
    let url = faulty.server.url();
    let outcome = prestan!(run_of(&url, "Put1K,Get1K", 10) => "-c 4").run();
    let result = checked(&outcome);
    assert_eq!(outcome.code, 1, "{outcome}");
    let put = row(&result, "Put1K");
    let outside = &put["left_out_outcomes"]["refused"];
    let refused = count(put, "refused") + outside.as_u64().unwrap();
    let seen = faulty.measured("Put1K");
    let turned_away = seen.iter().filter(|one| one.status == Some(503)).count();
    assert!(turned_away >= 10, "{put:#}");
    assert_eq!(refused, turned_away as u64, "{put:#}");
    let all = put["operations"].as_u64().unwrap() + put["left_out"].as_u64().unwrap();
    assert_eq!(all, seen.len() as u64, "{put:#}");
    assert_eq!(row(&result, "Get1K")["status"], "ok");
    assert_eq!(faulty.left(), [""; 0]);
}

/// The checks of this file and of its helpers must be able to fail.
#[test]
#[should_panic(expected = "left: 0")]
fn a_case_without_a_fault_is_found_out() {
    check(&case("Get1K", [], "reset", &[]));
}

#[test]
#[should_panic(expected = "`not-a-secret` is in")]
fn a_secret_in_the_run_directory_is_found() {
    let faulty = Faulty::new(|builder| builder);
    let outcome = prestan!(faulty.prestan("Get1K") => "--run-id not-a-secret").run();
    no_secret_in(&outcome, &["not-a-secret"]);
}

/// A destination that was accepted before, as in a warm-up, is understood.
#[test]
fn a_destination_that_was_never_accepted_is_explained() {
    for (test, code, said) in [
        ("Copy", 409, "PROPFIND finds the source and the collection"),
        (
            "Move",
            502,
            "does a proxy change Host, or ask the server over TLS?",
        ),
    ] {
        let rule = Rule::new(status(code, &[], "")).tag(&format!("({test})"));
        let faulty = Faulty::new(|builder| builder.rule(rule));
        let outcome = prestan!("{faulty} --only {test} -r 1 --warmup 0 --json -")
            .env("PRESTAN_USER", USER)
            .env("PRESTAN_PASSWORD", PASSWORD)
            .ends(1);
        let row = row(&outcome.json(), test).clone();
        assert!(row["evidence"].as_str().unwrap().contains(said), "{row:#}");
    }
}
