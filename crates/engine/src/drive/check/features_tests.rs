//! Headers that are missing, statuses that decline, and a 207 that comes compressed.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use suite::HeaderPlan;

use super::tests::{head, request};
use super::*;

const ONE: &str = "<multistatus xmlns='DAV:'><response><href>/a</href><propstat><prop><x/></prop>\
                   <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>";

fn verdict(request: &RequestPlan, status: &str, body: &[u8]) -> Result<Option<String>, Wrong> {
    let answered = Answered {
        head: &head(status),
        body,
        length: body.len() as u64,
        compared: None,
        first: true,
        contains: &[Cow::Borrowed("<response>")],
    };
    check(request, &answered)
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
    // What is inside counts.
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
    let name = "ETag".to_owned();
    assert_eq!(
        wrong,
        Wrong {
            outcome: Outcome::Unsupported,
            what: "200 OK without ETag".to_owned(),
            cause: Some(Cause::Header { name }),
        }
    );
    // A status that is not expected goes first.
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
    // A status that would be good elsewhere says what was expected.
    let mut get = request("GET", "");
    get.expect.status = suite::StatusSet(vec![suite::StatusTest::Exactly(304)]);
    get.unsupported.push(200);
    let whole = verdict(&get, "200 OK", b"file").unwrap_err();
    assert_eq!(whole.what, "200 OK; expected 304");
}
