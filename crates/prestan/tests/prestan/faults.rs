//! The binary against servers that misbehave: one clear message each, the rest of the run
//! continues, measurements are saved, and the server is left clean.

use std::net::TcpListener;

use serde_json::Value;
use testbed::fault::{Builder, Fault, Rule};

use crate::support::Prestan;
use crate::support::faulty::{
    Faulty, IMPATIENT, LOOPBACK, PASSWORD, checked, count, evidence, no_secret_in, run_of,
    short_run, status, went_nowhere, with_credentials,
};
use crate::support::load::{operations, plain};
use crate::support::rows::row;

/// Faults of the three measured requests of one test, and the outcomes.
struct Case<'a> {
    test: &'a str,
    faults: Vec<Fault>,
    outcome: &'a str,
    /// Operations with that outcome; all, or the first where only that is read closely.
    times: u64,
    /// The evidence: the attempt, its target, the response, and a remedy.
    evidence: Vec<&'a str>,
}

/// The faults that need no other name than their own.
fn fault(name: &str) -> Fault {
    match name {
        "CloseBeforeResponse" => Fault::CloseBeforeResponse,
        "Reset" => Fault::Reset,
        "Hang" => Fault::Hang,
        "Garbage" => Fault::Garbage(b"\x00\x01garbage\xff\r\n\r\n".to_vec()),
        "EndlessHead" => Fault::EndlessHead,
        "Interim100" => Fault::Interim100(17),
        "Chunked" => Fault::Chunked,
        "ShorterThanSaid" => Fault::ShorterThanSaid,
        "CloseAfterBytes(20)" => Fault::CloseAfterBytes(20),
        "CloseAfterBytes(500000)" => Fault::CloseAfterBytes(500_000),
        "EndlessBody, chunked" => Fault::EndlessBody { chunked: true },
        "EndlessBody" => Fault::EndlessBody { chunked: false },
        "EarlyStatus(413)" => Fault::EarlyStatus { code: 413 },
        code => status(code.parse().unwrap(), &[], ""),
    }
}

/// Rows of a test, its faults, the outcome, and the evidence.
fn check_rows(table: &str) {
    for [test, faults, outcome, evidence] in cases::rows(table) {
        check(&Case {
            test,
            faults: faults.split(" and ").map(fault).collect(),
            outcome,
            times: 3,
            evidence: evidence.split(" | ").collect(),
        });
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
fn check(case: &Case<'_>) {
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
    for part in &case.evidence {
        assert!(evidence(hit).contains(part), "no `{part}`: {hit:#}");
    }
    assert_eq!(described(hit), case.times, "{hit:#}");
    for other in ["ProppatchSingle", "UnLockCol"] {
        let other = row(&result, other);
        let state = (&other["status"], &other["operations"]);
        assert_eq!(state, (&"ok".into(), &3.into()), "{other:#}");
    }
    assert_eq!(result["complete"]["state"], "complete");
    assert_eq!(faulty.left(), [""; 0]);
}

#[test]
fn responses_that_are_none() {
    check_rows(
        "
        Get1K => CloseBeforeResponse => reset => GET res: | without a response
        Get1K => Reset => reset => GET res: | reset
        Get1K => Hang => timeout => GET res: | within 300ms | --timeout
        Get1K => Garbage => protocol_error => GET res: | not HTTP | garbage
        Get1K => EndlessHead => protocol_error => GET res: | longer than 65536
        Get1K => Interim100 => protocol_error => GET res: | 16 interim
        ",
    );
}

#[test]
fn bodies_that_are_not_what_the_head_says() {
    check_rows(
        "
        Get1K => ShorterThanSaid => reset => GET res: | 1023 of 1024 body bytes | RFC 9112
        Get1K => Chunked and ShorterThanSaid => reset
          => GET res: | within the chunked body, after 1024 bytes
        Get1K => CloseAfterBytes(20) => reset => within the response head
        Get1024K => CloseAfterBytes(500000) => reset => of 1048576 body bytes
        Get1K => EndlessBody, chunked => timeout => within 300ms
        Get1K => EndlessBody => protocol_error => GET res: | body is longer than
        ",
    );
}

#[test]
fn responses_that_are_wrong() {
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
    let rewritten = |from: &str, to: &str| Fault::RewriteBody {
        from: from.to_owned(),
        to: to.to_owned(),
    };
    let other_namespace = || rewritten("http://webdav.org/neon/DavTester/", "urn:another");
    check_rows(
        "
        Put1K => 507 => refused => PUT res: 507 | expected | out of space: RFC 4918, section 11.5
        Put1K => 500 => wrong_status => PUT res: 500
        Put1024K => EarlyStatus(413) => wrong_status => PUT res: 413 | expected
        ",
    );
    let table = "
        Get1K => wrong_status
          => GET res: 302 Found | points to /elsewhere | redirects are not followed
        Get1K => wrong_body => received 6 bytes; expected 1024 | gzip | no Accept-Encoding
        Get1K => wrong_body => GET res: | received 14 bytes; expected 1024
        PropfindLiveSingle => wrong_body => PROPFIND prop: 207 with a body that is none
        PropfindLiveSingle => refused
          => PROPFIND prop: 207 with 403 Forbidden inside for creationdate
        ProppatchMult => wrong_body
          => PROPPATCH prop: 207 acknowledges 0 of 3 properties | not {http://webdav.org/neon/DavTester/}prop0 | it names {urn:another}prop0
        PropfindDeadMult => wrong_body => PROPFIND prop: 207 with 0 of 3 properties
        Delete => refused => DELETE delete: 207 with 423 Locked inside for /x
        PropfindDeadMult => wrong_body
          => PROPFIND prop: the response does not contain `value2-`
    ";
    let faults = [
        status(302, &[("Location", "/elsewhere")], ""),
        status(200, &[("Content-Encoding", "gzip")], "packed"),
        status(200, &[], "something else"),
        status(207, &[], "<multi"),
        multistatus(refused_propstat),
        other_namespace(),
        other_namespace(),
        multistatus(locked_member),
        rewritten("value2-", "other-"),
    ];
    let rows: Vec<[&str; 3]> = cases::rows(table);
    assert_eq!(rows.len(), faults.len());
    for ([test, outcome, evidence], fault) in rows.into_iter().zip(faults) {
        // The content of properties and bodies is compared in the first response of a test.
        let is_compared_once = evidence.contains("value2-");
        check(&Case {
            test,
            faults: vec![fault],
            outcome,
            times: if is_compared_once { 1 } else { 3 },
            evidence: evidence.split(" | ").collect(),
        });
    }
}
#[test]
fn a_bad_url_is_wrong_usage() {
    let table = "
        ftp://127.0.0.1/ => ftp
        http:// => names no host
        http://ann:s3cret-0f-ann@/ => empty host
        http://127.0.0.1:99999/ => invalid port
        http://127.0.0.1/?query => query
        '' =>
    ";
    for [url, says] in cases::rows(table) {
        let outcome = Prestan::new().words(url).ends(2);
        outcome.stderr_has(says);
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
    let not_a_webdav_server = || Rule::new(Fault::DropHeader("DAV".to_owned())).method("OPTIONS");
    let table = "
        no DAV, PROPFIND 405
          => no WebDAV collection | without a DAV header | 405 | check the path
        no DAV, PROPFIND 404 => no WebDAV collection | 404 | check the path
        no DAV, PROPFIND 200 => no WebDAV collection | PROPFIND with 200
        OPTIONS 404 => OPTIONS http:// | 404 | create it first
        all 401 => authentication failed | OPTIONS http:// | 401 | challenge
        all 403 => OPTIONS | 403 | right to look
        no DAV, PROPFIND 403 => PROPFIND with 403 | GET is not (404) | firewall
        PROPFIND 403, MKCOL 403 => MKCOL http:// | 403 | GET is not (404) | firewall
        all 429 => OPTIONS | 429 | limits requests
        all 421 => OPTIONS | 421 | this name
        no DAV, PROPFIND 502 => PROPFIND | 502 | no valid response
        all CloseBeforeResponse => OPTIONS http:// | without a response | perhaps it is https://
        all Reset => OPTIONS http:// | reset
        all Hang => OPTIONS http:// | within 300ms | --timeout
        all EndlessHead => OPTIONS http:// | longer than 65536
        MKCOL 507 => MKCOL http:// | 507 | out of space
        MKCOL 403 => MKCOL http:// | 403 | right to write
        PUT 507 => PUT prestan-run.json | 507 | out of space
    ";
    for [rules, says] in cases::rows(table) {
        let rules = rules
            .split(", ")
            .map(|rule| match rule.split_once(' ').unwrap() {
                ("no", _) => not_a_webdav_server(),
                ("all", name) => Rule::new(fault(name)),
                (method, name) => Rule::new(fault(name)).method(method),
            });
        cannot_be_measured(rules, says);
    }
    let https = "The plain HTTP request was sent to HTTPS port";
    for (fault, says) in [
        (
            status(301, &[("Location", "/dav/")], ""),
            "301 | /dav/ | not followed",
        ),
        (
            status(503, &[("Retry-After", "120")], ""),
            "OPTIONS | 503 | for the moment (Retry-After: 120)",
        ),
        (
            status(400, &[], https),
            "OPTIONS | 400 | perhaps it is https://",
        ),
        (
            Fault::Garbage(b"SSH-2.0-x\r\n".to_vec()),
            "OPTIONS http:// | SSH | port",
        ),
    ] {
        cannot_be_measured([Rule::new(fault)], says);
    }
}

#[track_caller]
fn cannot_be_measured(rules: impl IntoIterator<Item = Rule>, says: &str) {
    let faulty = Faulty::new(|builder| rules.into_iter().fold(builder, Builder::rule));
    let says: Vec<&str> = says.split(" | ").collect();
    went_nowhere(&faulty.prestan("Get1K").args(IMPATIENT).run(), &says);
    assert_eq!(faulty.left(), [""; 0], "{says:?}");
}

#[test]
fn several_users_each_meet_it() {
    let busy = Rule::new(status(503, &[], "")).tag("(Put1K)").every(4);
    let faulty = Faulty::new(|builder| builder.rule(busy));
    let url = faulty.url();
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
    assert_eq!(operations(put), seen.len() as u64, "{put:#}");
    assert_eq!(row(&result, "Get1K")["status"], "ok");
    assert_eq!(faulty.left(), [""; 0]);
}

/// The checks of this file and of its helpers must be able to fail.
#[test]
#[should_panic(expected = "left: 0")]
fn a_case_that_does_not_fail_is_found_out() {
    check_rows("Get1K => Chunked => reset =>");
}

#[test]
#[should_panic(expected = "`not-a-secret` is in")]
fn a_secret_in_the_run_directory_is_found() {
    let faulty = plain();
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
        let run = prestan!("{faulty} --only {test} -r 1 --warmup 0 --json -");
        let result = with_credentials(run).ends(1).json();
        assert!(evidence(row(&result, test)).contains(said), "{result:#}");
    }
}
