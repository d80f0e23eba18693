use std::sync::Arc;

use suite::{Body, Expect, HeaderPlan, Missing, StatusSet, StatusTest, Text};
use wire::response::{Limits, ReadEvent, ResponseReader};

use super::*;

/// A request as in `suites/prestan.yaml`.
pub(super) fn request(method: &str, body: &str) -> RequestPlan {
    let status = match method {
        "PROPFIND" => StatusTest::Exactly(207),
        _ => StatusTest::Class(2),
    };
    RequestPlan {
        verify: record::Verify::default(),
        method: method.to_owned(),
        path: Text::Fixed("a".to_owned()),
        to: None,
        headers: Vec::new(),
        body: Body::Fixed(body.as_bytes().into()),
        expect: Expect {
            status: StatusSet(vec![status]),
            body: None,
            length: None,
            properties: None,
            responses: None,
            missing: Missing::Fails,
            contains: Vec::new(),
        },
        unsupported: vec![405, 501],
        unsupported_without: Vec::new(),
        save: Vec::new(),
        measure: None,
        target: 0,
        is_for_parts: false,
    }
}

pub(super) fn head(status: &str) -> ResponseHead {
    let message = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    let mut reader = ResponseReader::new(false, Limits::default());
    let mut at = 0;
    loop {
        let step = reader.step(&message.as_bytes()[at..]).unwrap();
        at += step.consumed;
        if step.event == ReadEvent::Head {
            return reader.head().unwrap().clone();
        }
    }
}

pub(super) fn response<'a>(
    head: &'a ResponseHead,
    body: &'a [u8],
    first: bool,
    contains: &'a [Cow<'a, [u8]>],
) -> CheckedResponse<'a> {
    CheckedResponse {
        head,
        body,
        length: body.len() as u64,
        compared: None,
        first,
        contains,
    }
}

fn verdict(request: &RequestPlan, status: &str, body: &str) -> Result<Option<String>, Wrong> {
    let contains = [Cow::Borrowed(b"".as_slice())];
    check(
        request,
        &response(&head(status), body.as_bytes(), true, &contains),
    )
}

fn outcome(request: &RequestPlan, status: &str, body: &str) -> Outcome {
    verdict(request, status, body).map_or_else(|wrong| wrong.outcome, |_| Outcome::Ok)
}

/// A 207 whose one response has these propstats: status and names.
fn propstats(stats: &[(u16, &str)]) -> String {
    let stats: String = stats
        .iter()
        .map(|(status, names)| {
            let props: String = names.split(' ').map(|name| format!("<{name}/>")).collect();
            format!("<propstat><prop>{props}</prop><status>HTTP/1.1 {status} x</status></propstat>")
        })
        .collect();
    format!("<multistatus xmlns='DAV:'><response><href>/a</href>{stats}</response></multistatus>")
}

fn member(status: u16) -> String {
    format!(
        "<multistatus xmlns='DAV:'><response><href>/a/b</href>\
         <status>HTTP/1.1 {status} x</status></response></multistatus>"
    )
}

#[test]
fn statuses() {
    let table = [
        ("PUT", "201 Created", Outcome::Ok),
        ("PUT", "200 OK", Outcome::Ok),
        ("PUT", "404 Not Found", Outcome::WrongStatus),
        ("PUT", "302 Found", Outcome::WrongStatus),
        ("PUT", "500 Oops", Outcome::WrongStatus),
        ("PUT", "507 ", Outcome::Refused),
        ("PUT", "403 Forbidden", Outcome::Refused),
        ("PUT", "423 Locked", Outcome::Refused),
        ("PUT", "503 Later", Outcome::Refused),
        ("COPY", "405 Not Allowed", Outcome::Unsupported),
        ("COPY", "501 Not Implemented", Outcome::Unsupported),
        ("PROPFIND", "200 OK", Outcome::WrongStatus),
    ];
    for (method, status, expected) in table {
        let found = outcome(&request(method, ""), status, "");
        assert_eq!(found, expected, "{method} {status}");
    }
}

#[test]
fn a_207_is_read_to_the_bottom() {
    use Outcome::{Ok, Refused, Unsupported, WrongBody, WrongStatus};
    let mut patch = request("PROPPATCH", "");
    patch.unsupported.push(403);
    let body = "<propfind xmlns='DAV:'><prop><x/><y/></prop></propfind>";
    let find = request("PROPFIND", body);
    let delete = request("DELETE", "");
    let table: &[(&RequestPlan, String, Outcome)] = &[
        (&patch, propstats(&[(200, "x y")]), Ok),
        (&patch, propstats(&[(403, "x"), (424, "y")]), Unsupported),
        (&patch, propstats(&[(424, "x"), (409, "y")]), WrongStatus),
        (&patch, propstats(&[(507, "x")]), Refused),
        (&patch, "<multistatus xmlns='DAV:'/>".to_owned(), WrongBody),
        (&find, propstats(&[(200, "x y")]), Ok),
        (&find, propstats(&[(200, "x"), (404, "y")]), WrongBody),
        (&find, propstats(&[(200, "x")]), WrongBody),
        (&find, propstats(&[(200, "x"), (401, "y")]), Refused),
        (&find, member(404), WrongStatus),
        (&find, "<multistatus".to_owned(), WrongBody),
        (&find, "no XML".to_owned(), WrongBody),
        (&delete, member(423), Refused),
        (&delete, member(200), Ok),
    ];
    for (request, body, expected) in table {
        let found = outcome(request, "207 Multi-Status", body);
        assert_eq!(found, *expected, "{} {body}", request.method);
    }
}

#[test]
fn a_missing_property_can_be_normal_and_is_then_noted() {
    let body = "<propfind xmlns='DAV:'><prop><x/><y/></prop></propfind>";
    let mut lenient = request("PROPFIND", body);
    lenient.expect.missing = Missing::Noted;
    let stats = [&[(200, "x"), (404, "y")][..], &[(200, "x")]];
    for given in stats.map(propstats) {
        let note = verdict(&lenient, "207 Multi-Status", &given).unwrap();
        assert_eq!(note.as_deref(), Some("the server does not give y"));
    }
    let all = propstats(&[(200, "x y")]);
    assert_eq!(verdict(&lenient, "207 x", &all), Ok(None));
}

#[test]
fn a_note_names_the_kind_of_resource_that_lacks_a_property() {
    let body = "<propfind xmlns='DAV:'><prop><resourcetype/><x/><y/><z/></prop></propfind>";
    let mut listing = request("PROPFIND", body);
    listing.expect.missing = Missing::Noted;
    type Listed<'a> = &'a [(&'a str, &'a str)];
    let table: [(Listed<'_>, Option<&str>); 6] = [
        (&[("/c/", "x y z"), ("/c/f", "x y z")], None),
        (
            &[("/c/", "x y"), ("/c/f", "x y z"), ("/c/g", "x y z")],
            Some("the server does not give z for collections"),
        ),
        (
            &[("/c/", "x y z"), ("/c/f", "y z"), ("/c/g", "x y z")],
            Some("the server does not give x for files"),
        ),
        (
            &[("/c/", "y"), ("/c/f", "x")],
            Some("the server does not give z; y for files; x for collections"),
        ),
        (&[("/c/f", "x y")], Some("the server does not give z")),
        (
            &[("/c/", "x y"), ("/c/d/", "x y")],
            Some("the server does not give z"),
        ),
    ];
    for (resources, wanted) in table {
        let responses: String = resources
            .iter()
            .map(|(href, given)| {
                let given: String = given.split(' ').map(|name| format!("<{name}/>")).collect();
                format!(
                    "<response><href>{href}</href><propstat><prop><resourcetype/>{given}</prop>\
                     <status>HTTP/1.1 200 OK</status></propstat></response>"
                )
            })
            .collect();
        let body = format!("<multistatus xmlns='DAV:'>{responses}</multistatus>");
        let note = verdict(&listing, "207 x", &body).unwrap();
        assert_eq!(note.as_deref(), wanted, "{resources:?}");
    }
}

const OURS: &str = "http://webdav.org/neon/DavTester/";

/// A PROPPATCH as in `suites/prestan.yaml`, of two properties, with a value that varies.
fn proppatch() -> RequestPlan {
    let text = "
suite: t
tests:
  - name: T
    loop:
      - PROPPATCH: a
        body:
          xml: |
            <D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><p0 xmlns='http://webdav.org/neon/DavTester/'>{{ n }}</p0></D:prop></D:set>
            <D:remove><D:prop><p1 xmlns='http://webdav.org/neon/DavTester/'/></D:prop></D:remove></D:propertyupdate>
        unsupported: [403]
        measure: T
";
    let spec = suite::parse("t", text).unwrap();
    let plan = suite::resolve("t", text, &spec, &suite::Overrides::default()).unwrap();
    match &plan.tests[0].loops[0].steps[0] {
        suite::Step::Request(request) => RequestPlan::clone(request),
        other => panic!("{other:?}"),
    }
}

fn acknowledged(namespace: &str, names: &str) -> String {
    let names: String = names
        .split_whitespace()
        .map(|name| format!("<{name} xmlns='{namespace}'/>"))
        .collect();
    format!(
        "<multistatus xmlns='DAV:'><response><href>/a</href><propstat><prop>{names}</prop>\
         <status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"
    )
}

#[test]
fn a_proppatch_is_ok_when_each_of_its_properties_is_acknowledged() {
    let request = proppatch();
    let table = [
        (acknowledged(OURS, "p0 p1"), None),
        (acknowledged(OURS, "p1 p0 p2"), None),
        (
            acknowledged(OURS, "p0"),
            Some("207 acknowledges 1 of 2 properties, not {}p1"),
        ),
        (
            acknowledged("urn:other", "p0 p1"),
            Some(
                "207 acknowledges 0 of 2 properties, not {}p0, {}p1; it names {urn:other}p0, \
                 {urn:other}p1 instead",
            ),
        ),
        (
            acknowledged(OURS, ""),
            Some("207 acknowledges 0 of 2 properties, not {}p0, {}p1"),
        ),
    ];
    for (body, wanted) in table {
        let wrong = verdict(&request, "207 x", &body).err();
        let is_body = |wrong: &Wrong| wrong.outcome == Outcome::WrongBody;
        assert!(wrong.as_ref().is_none_or(is_body));
        let what = wrong.map(|wrong| wrong.what);
        let wanted = wanted.map(|wanted| wanted.replace("{}", &format!("{{{OURS}}}")));
        assert_eq!(what, wanted, "{body}");
    }
    // A server that acknowledges without a multistatus acknowledges all (lighttpd).
    assert_eq!(outcome(&request, "204 No Content", ""), Outcome::Ok);
}

#[test]
fn a_server_without_dead_properties_has_one_word_for_it() {
    let request = proppatch();
    for (status, body) in [
        ("405 Not Allowed", String::new()),
        ("501 ", String::new()),
        ("403 Forbidden", String::new()),
        ("207 x", propstats(&[(403, "p0 p1")])),
        ("207 x", propstats(&[(404, "p0 p1")])),
        ("207 x", propstats(&[(424, "p0"), (404, "p1")])),
    ] {
        let found = outcome(&request, status, &body);
        assert_eq!(found, Outcome::Unsupported, "{status} {body}");
    }
    // Without 403 in the suite, the server has declined this property.
    let mut live = request;
    live.unsupported = vec![405, 501];
    for status in [403, 404] {
        let body = propstats(&[(status, "p0 p1")]);
        assert_eq!(outcome(&live, "207 x", &body), Outcome::Refused, "{status}");
    }
}

/// A multistatus with these hrefs only.
fn hrefs(hrefs: &[&str]) -> String {
    let responses: String = hrefs
        .iter()
        .map(|href| {
            format!(
                "<response><href>{href}</href><propstat><prop><resourcetype/></prop>\
                 <status>HTTP/1.1 200 OK</status></propstat></response>"
            )
        })
        .collect();
    format!("<multistatus xmlns='DAV:'>{responses}</multistatus>")
}

#[test]
fn depth_infinity_with_a_response_of_depth_1_has_its_name() {
    let body = "<propfind xmlns='DAV:'><prop><resourcetype/></prop></propfind>";
    let mut infinite = request("PROPFIND", body);
    infinite.headers.push(HeaderPlan {
        name: "Depth".to_owned(),
        value: Text::Fixed("infinity".to_owned()),
    });
    infinite.expect.responses = Some(4);
    let all = hrefs(&["/c/", "/c/d/", "/c/d/e", "/c/f"]);
    assert_eq!(outcome(&infinite, "207 x", &all), Outcome::Ok);
    let table = [
        (
            hrefs(&["http://h/c/", "http://h/c/d/", "http://h/c/f"]),
            "Depth: infinity answered as Depth: 1: 207 with 3 responses; expected 4 (a server that \
             declines infinity answers 403: RFC 4918, section 9.1)",
        ),
        (
            hrefs(&["/c/"]),
            "Depth: infinity answered as Depth: 0: 207 with 1 response; expected 4 (a server that \
             declines infinity answers 403: RFC 4918, section 9.1)",
        ),
        (
            hrefs(&["/c/", "/c/d/", "/c/d/e"]),
            "207 with 3 responses; expected 4",
        ),
        (
            hrefs(&["/c/", "/c/d/", "/c/e", "/c/f", "/c/g"]),
            "207 with 5 responses; expected 4",
        ),
    ];
    for (body, wanted) in table {
        let wrong = verdict(&infinite, "207 x", &body).unwrap_err();
        assert_eq!((wrong.outcome, &*wrong.what), (Outcome::WrongBody, wanted));
    }
    infinite.headers[0].value = Text::Fixed("1".to_owned());
    let wrong = verdict(&infinite, "207 x", &hrefs(&["/c/"])).unwrap_err();
    assert_eq!(wrong.what, "207 with 1 response; expected 4");
}

#[test]
fn counts_inside_a_207() {
    let mut counting = request("PROPFIND", "");
    counting.expect.properties = Some(2);
    counting.expect.responses = Some(1);
    let given = propstats(&[(200, "x y")]);
    assert_eq!(outcome(&counting, "207 x", &given), Outcome::Ok);
    let given = propstats(&[(200, "x")]);
    assert_eq!(outcome(&counting, "207 x", &given), Outcome::WrongBody);
    counting.expect.responses = Some(2);
    let given = propstats(&[(200, "x y")]);
    assert_eq!(outcome(&counting, "207 x", &given), Outcome::WrongBody);
}

#[test]
fn only_requested_properties_count() {
    let body = "<propfind xmlns='DAV:'><prop><x xmlns='urn:y'/><z/></prop></propfind>";
    let mut counting = request("PROPFIND", body);
    counting.expect.properties = Some(2);
    counting.expect.missing = Missing::Noted;
    let wrong = verdict(&counting, "207 x", &propstats(&[(200, "x z q")])).unwrap_err();
    assert_eq!(wrong.what, "207 with 1 of 2 properties for /a");
    let given = "<multistatus xmlns='DAV:' xmlns:y='urn:y'><response><href>/a</href><propstat>\
                 <prop><y:x>1</y:x><z/></prop><status>HTTP/1.1 200 </status></propstat></response>\
                 </multistatus>";
    assert_eq!(verdict(&counting, "207 x", given), Ok(None));
}

#[test]
fn length_every_time_and_content_the_first_time() {
    let mut get = request("GET", "");
    get.expect.body = Some(Arc::from(&b"abc"[..]));
    let check = |body: &str, first: bool| {
        super::check(
            &get,
            &response(&head("200 OK"), body.as_bytes(), first, &[]),
        )
    };
    assert_eq!(check("abc", true), Ok(None));
    assert_eq!(check("abx", false), Ok(None));
    let wrong = check("abx", true).unwrap_err();
    assert!(wrong.what.contains("from byte 2 on"), "{}", wrong.what);
    assert_eq!(check("ab", false).unwrap_err().outcome, Outcome::WrongBody);
}

#[test]
fn a_length_alone_may_be_expected() {
    let mut get = request("GET", "");
    get.expect.length = Some(3);
    assert_eq!(outcome(&get, "200 OK", "xyz"), Outcome::Ok);
    let wrong = verdict(&get, "200 OK", "xy").unwrap_err();
    assert_eq!(wrong.outcome, Outcome::WrongBody);
    assert_eq!(wrong.what, "received 2 bytes; expected 3");
}

#[test]
fn what_the_first_response_must_contain() {
    let get = request("GET", "");
    let contains = [b"value7-", b"value8-"].map(|text| Cow::Borrowed(text.as_slice()));
    let check = |first: bool| {
        let body = b"some value7- here";
        super::check(&get, &response(&head("200 OK"), body, first, &contains))
    };
    assert!(check(true).unwrap_err().what.contains("value8-"));
    assert_eq!(check(false), Ok(None));
}

#[test]
fn messages_name_the_clause() {
    let what_is_wrong =
        |method: &str, status: &str| verdict(&request(method, ""), status, "").unwrap_err().what;
    assert_eq!(
        what_is_wrong("PUT", "507 Insufficient Storage"),
        "507 Insufficient Storage; expected 2xx (the server is out of space: RFC 4918, \
         section 11.5)"
    );
    let failed_move = what_is_wrong("MOVE", "412 ");
    assert!(failed_move.starts_with("412 Precondition Failed; expected 2xx (the dest"));
}

/// Outcomes of responses to a GET whose body is to be `abc`, and of a 207, for each way to verify.
#[test]
fn less_is_verified_on_demand() {
    let outcome_of = |request: &RequestPlan, verify, first, status, body: &str| {
        let request = RequestPlan {
            verify,
            ..request.clone()
        };
        let (head, contains) = (head(status), [Cow::Borrowed(b"b".as_slice())]);
        let response = response(&head, body.as_bytes(), first, &contains);
        super::outcome(&check(&request, &response))
    };
    use Verify::{First, Full, Head};
    let mut get = request("GET", "");
    get.expect.body = Some(b"abc"[..].into());
    let of = |verify, first, status, body| outcome_of(&get, verify, first, status, body);
    for verify in [Full, First] {
        assert_eq!(of(verify, true, "200 OK", "abc"), Outcome::Ok);
        assert_eq!(of(verify, true, "200 OK", "abd"), Outcome::WrongBody);
    }
    assert_eq!(of(First, false, "200 OK", "abd"), Outcome::Ok);
    assert_eq!(of(First, false, "200 OK", "ab"), Outcome::WrongBody);
    // Everything of the head: status, length, headers.
    assert_eq!(of(Head, true, "200 OK", "xyz"), Outcome::Ok);
    assert_eq!(of(Head, true, "200 OK", "ab"), Outcome::WrongBody);
    assert_eq!(of(Head, true, "404 Not Found", "abc"), Outcome::WrongStatus);
    let mut tagged = get.clone();
    tagged.unsupported_without = vec!["ETag".to_owned()];
    let outcome = outcome_of(&tagged, Head, true, "200 OK", "abc");
    assert_eq!(outcome, Outcome::Unsupported);
    // The contents of a 207 are not read.
    let propfind = request("PROPFIND", "");
    let of = |verify| outcome_of(&propfind, verify, true, "207 Multi-Status", "no XML");
    assert_eq!((of(First), of(Head)), (Outcome::WrongBody, Outcome::Ok));
}
