//! Missing headers, statuses that decline, and a compressed 207.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use suite::{Body, HeaderPlan, Missing};

use super::tests::{head, request, response};
use super::*;

const ONE: &str = "<multistatus xmlns='DAV:'><response><href>/a</href><propstat><prop><x/></prop>\
                   <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>";

fn verdict(request: &RequestPlan, status: &str, body: &[u8]) -> Result<Option<String>, Wrong> {
    let contains = [Cow::Borrowed(b"<response>".as_slice())];
    check(request, &response(&head(status), body, true, &contains))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_207_is_unpacked_before_it_is_read() {
    let mut propfind = request("PROPFIND", "");
    propfind.expect.responses = Some(1);
    let packed = "207 x\r\nContent-Encoding: gzip";
    assert_eq!(verdict(&propfind, packed, &gzip(ONE)), Ok(None));
    assert_eq!(verdict(&propfind, "207 x", ONE.as_bytes()), Ok(None));
    // The contents count.
    propfind.expect.responses = Some(2);
    let wrong = verdict(&propfind, packed, &gzip(ONE)).unwrap_err();
    assert_eq!(wrong.what, "207 with 1 response; expected 2");
    for (status, body) in [
        (packed, ONE.as_bytes()),
        ("207 x\r\nContent-Encoding: br", b"x"),
    ] {
        let wrong = verdict(&propfind, status, body).unwrap_err();
        assert_eq!(wrong.outcome, Outcome::WrongBody);
        assert!(wrong.what.contains("Content-Encoding"), "{}", wrong.what);
    }
}

#[test]
fn a_header_that_is_missing_means_that_there_is_no_such_thing() {
    let mut get = request("GET", "");
    get.unsupported_without = vec!["ETag".to_owned()];
    let with = "200 OK\r\netag: \"x\"";
    assert_eq!(verdict(&get, with, b"<response>"), Ok(None));
    let wrong = verdict(&get, "200 OK", b"<response>").unwrap_err();
    let expected = Wrong {
        outcome: Outcome::Unsupported,
        what: "200 OK without ETag".to_owned(),
        cause: Some(Cause::Header {
            name: "ETag".to_owned(),
        }),
    };
    assert_eq!(wrong, expected);
    // An unexpected status is reported first.
    let wrong = verdict(&get, "404 Not Found", b"").unwrap_err();
    assert_eq!(wrong.outcome, Outcome::WrongStatus);
}

#[test]
fn a_status_that_declines_is_kept_with_its_code() {
    let mut propfind = request("PROPFIND", "");
    propfind.unsupported.push(403);
    let code = b"<D:error xmlns:D='DAV:'><D:propfind-finite-depth/></D:error>";
    let plain = verdict(&propfind, "403 Forbidden", code).unwrap_err();
    assert_eq!(plain.what, "403 Forbidden, propfind-finite-depth");
    let condition = Some("propfind-finite-depth".to_owned());
    let status = 403;
    assert_eq!(plain.cause, Some(Cause::Status { status, condition }));
    propfind.headers.push(HeaderPlan {
        name: "depth".to_owned(),
        value: Text::Fixed("infinity".to_owned()),
    });
    let infinite = verdict(&propfind, "403 Forbidden", b"no").unwrap_err();
    assert_eq!(
        infinite.what,
        "403 Forbidden; a server may decline Depth: infinity (RFC 4918, section 9.1)"
    );
    let condition = None;
    assert_eq!(infinite.cause, Some(Cause::Status { status, condition }));
    let none = verdict(&propfind, "405 Not Allowed", b"").unwrap_err();
    assert_eq!(none.what, "405 Not Allowed");
    // A status that would be good for another request is reported with the expected one.
    let mut get = request("GET", "");
    get.expect.status = suite::StatusSet(vec![suite::StatusTest::Exactly(304)]);
    get.unsupported.push(200);
    let whole = verdict(&get, "200 OK", b"file").unwrap_err();
    assert_eq!(whole.what, "200 OK; expected 304");
}

/// Response of nginx-dav-ext before its version 2 to a PROPFIND of a missing resource.
const NOTHING: &str = "<multistatus xmlns='DAV:'><response><href>/a</href><propstat><prop>\n</prop>\
                       <status>HTTP/1.1 404 Not Found</status></propstat></response></multistatus>";

#[test]
fn a_404_for_no_property_is_one_for_the_resource() {
    let named = "<propfind xmlns='DAV:'><prop><x/><y xmlns='urn:y'/></prop></propfind>";
    let allprop = "<propfind xmlns='DAV:'><allprop/></propfind>";
    let propname = "<propfind xmlns='DAV:'><propname/></propfind>";
    let absent = NOTHING.replace('\n', "<x/><y xmlns='urn:y'/>");
    let half = absent.replace(
        "<propstat>",
        "<propstat><prop><z/></prop><status>HTTP/1.1 200 OK</status></propstat><propstat>",
    );
    let check = |body: Body, response_body: &str| {
        let mut propfind = request("PROPFIND", "");
        propfind.body = body;
        propfind.expect.missing = Missing::Noted;
        verdict(&propfind, "207 Multi-Status", response_body.as_bytes()).map_err(|wrong| wrong.what)
    };
    let failure = Err("207 with 404 Not Found inside for /a".to_owned());
    let note = Ok(Some("the server does not give x, y".to_owned()));
    let cases = [
        ("", NOTHING, &failure),
        (allprop, NOTHING, &failure),
        (propname, NOTHING, &failure),
        (named, NOTHING, &failure),
        ("", &absent, &failure),
        (allprop, &absent, &failure),
        (named, &absent, &note),
        (named, &half, &note),
        (allprop, &half, &Ok(None)),
    ];
    for (body, response_body, expected) in cases {
        let verdict_text = check(Body::Fixed(body.as_bytes().into()), response_body);
        assert_eq!(verdict_text, *expected, "{body} {response_body}");
    }
    assert_eq!(check(Body::None, NOTHING), failure);
    // A name with a run-time variable is a name.
    let text = "{suite: t, tests: [{name: T, loop: [{PROPFIND: a, measure: T, body: {xml: \
                \"<propfind xmlns='DAV:'><prop><p{{ n }}/></prop></propfind>\"}}]}]}";
    let spec = suite::parse("t", text).unwrap();
    let plan = suite::resolve("t", text, &spec, &suite::Overrides::default()).unwrap();
    let suite::Step::Request(live) = &plan.tests[0].loops[0].steps[0] else {
        panic!("{plan:?}")
    };
    assert!(matches!(live.body, Body::Live(_)));
    let response_body = NOTHING.replace('\n', "<p1/>");
    assert_eq!(check(live.body.clone(), &response_body), Ok(None));
}

/// Required texts are searched in the decoded response.
#[test]
fn a_207_in_utf_16_is_read() {
    let body = format!("\u{feff}{ONE}");
    let body: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut propfind = request("PROPFIND", "");
    propfind.expect.responses = Some(1);
    assert_eq!(verdict(&propfind, "207 x", &body), Ok(None));
}
