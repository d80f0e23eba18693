//! Is the answer what the plan expects? Reads a 207 to the bottom.

use std::borrow::Cow;

use record::Outcome;
use suite::{Body, Missing, RequestPlan};
use wire::dav::{Multistatus, PropName, XmlLimits, parse_multistatus, requested_properties};
use wire::response::ResponseHead;

/// An answer, as the checker sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered<'a> {
    pub(crate) head: &'a ResponseHead,
    /// The body, as far as it was kept.
    pub(crate) body: &'a [u8],
    /// Its whole length.
    pub(crate) length: u64,
    /// The first answer to this request of a test is read more closely.
    pub(crate) first: bool,
    /// Texts that the first answer must contain.
    pub(crate) contains: &'a [Cow<'a, str>],
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) outcome: Outcome,
    pub(crate) what: String,
}

/// How an operation with this verdict ended.
pub(crate) fn outcome<T>(verdict: &Result<T, Wrong>) -> Outcome {
    match verdict {
        Ok(_) => Outcome::Ok,
        Err(wrong) => wrong.outcome,
    }
}

/// Checks an answer; a good one may come with a note for the reader of the report.
pub(crate) fn check(
    request: &RequestPlan,
    answered: &Answered<'_>,
) -> Result<Option<String>, Wrong> {
    check_status(request, answered)?;
    let note = match answered.head.status {
        207 => check_multistatus(request, answered)?,
        _ => None,
    };
    check_body(request, answered)?;
    Ok(note)
}

fn check_status(request: &RequestPlan, answered: &Answered<'_>) -> Result<(), Wrong> {
    let status = answered.head.status;
    if request.unsupported.contains(&status) && !request.expect.status.contains(status) {
        return Err(Wrong {
            outcome: Outcome::Unsupported,
            what: status_line(answered.head),
        });
    }
    if request.expect.status.contains(status) {
        return Ok(());
    }
    let mut what = format!(
        "{}; expected {}{}",
        status_line(answered.head),
        request.expect.status,
        clause(&request.method, status)
    );
    if let Some(location) = answered.head.headers.get("Location")
        && (300..400).contains(&status)
    {
        what.push_str(&format!(
            "; it points to {location}, and redirects are not followed"
        ));
    }
    Err(Wrong {
        outcome: outcome_of(status),
        what,
    })
}

/// A server that understood and declined is told from one that did something else.
pub(crate) fn outcome_of(status: u16) -> Outcome {
    match status {
        401 | 402 | 403 | 423 | 424 | 429 | 503 | 507 | 508 => Outcome::Refused,
        _ => Outcome::WrongStatus,
    }
}

fn status_line(head: &ResponseHead) -> String {
    let reason = head.reason.trim();
    match reason.is_empty() {
        true => named(head.status),
        false => format!("{} {reason}", head.status),
    }
}

/// A status with the words of its RFC.
fn named(status: u16) -> String {
    let words = match status {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        412 => "Precondition Failed",
        423 => "Locked",
        424 => "Failed Dependency",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        507 => "Insufficient Storage",
        _ => return status.to_string(),
    };
    format!("{status} {words}")
}

/// Where the standard says what a status means here.
fn clause(method: &str, status: u16) -> &'static str {
    match (method, status) {
        ("MKCOL", 405) => " (something is there already: RFC 4918, section 9.3.1)",
        ("MKCOL" | "PUT" | "COPY" | "MOVE", 409) => {
            " (the parent collection is missing: RFC 4918, sections 9.3.1, 9.7.1, 9.8.5)"
        }
        ("COPY" | "MOVE", 412) => " (the destination exists: RFC 4918, section 10.6)",
        ("COPY" | "MOVE", 502) => {
            " (the destination is taken for another server: RFC 4918, section 9.8.5; does a proxy \
             change Host?)"
        }
        (_, 415) => " (the server does not want this body: RFC 9110, section 15.5.16)",
        (_, 423) => " (RFC 4918, section 11.3)",
        (_, 424) => " (something else failed first: RFC 4918, section 11.4)",
        (_, 507) => " (the server is out of space: RFC 4918, section 11.5)",
        _ => "",
    }
}

fn check_multistatus(
    request: &RequestPlan,
    answered: &Answered<'_>,
) -> Result<Option<String>, Wrong> {
    let multistatus =
        parse_multistatus(answered.body, &XmlLimits::default()).map_err(|error| Wrong {
            outcome: Outcome::WrongBody,
            what: format!("207 with a body that is none: {error}"),
        })?;
    if let Some(wanted) = request.expect.responses
        && multistatus.responses.len() != wanted as usize
    {
        return Err(wrong_body(format!(
            "207 with {} responses; expected {wanted}",
            multistatus.responses.len()
        )));
    }
    for response in &multistatus.responses {
        if let Some(status) = response.status
            && status >= 300
        {
            return Err(inside(request, status, &format!("for {}", response.href)));
        }
    }
    match request.method.as_str() {
        "PROPPATCH" => check_proppatch(request, &multistatus).map(|()| None),
        "PROPFIND" => check_propfind(request, &multistatus),
        _ => Ok(None),
    }
}

/// A PROPPATCH succeeds as a whole or not at all (RFC 4918, section 9.2).
fn check_proppatch(request: &RequestPlan, multistatus: &Multistatus) -> Result<(), Wrong> {
    let propstats = || {
        multistatus
            .responses
            .iter()
            .flat_map(|response| &response.propstats)
    };
    // 424 only says that another one failed.
    let culprit = propstats()
        .find(|propstat| propstat.status >= 300 && propstat.status != 424)
        .or_else(|| propstats().find(|propstat| propstat.status >= 300));
    if let Some(propstat) = culprit {
        return Err(inside(
            request,
            propstat.status,
            &format!("for {}", names(&propstat.props)),
        ));
    }
    if multistatus.responses.is_empty() {
        return Err(wrong_body("207 without a response inside".to_owned()));
    }
    Ok(())
}

fn check_propfind(
    request: &RequestPlan,
    multistatus: &Multistatus,
) -> Result<Option<String>, Wrong> {
    if multistatus.responses.is_empty() {
        return Err(wrong_body("207 without a response inside".to_owned()));
    }
    let requested = match &request.body {
        Body::Fixed(bytes) => requested_properties(bytes),
        Body::None | Body::Live(_) => Vec::new(),
    };
    let mut note = None;
    for response in &multistatus.responses {
        for propstat in &response.propstats {
            if propstat.status >= 300 && propstat.status != 404 {
                let what = format!("for {}", names(&propstat.props));
                return Err(inside(request, propstat.status, &what));
            }
        }
        let given: Vec<&PropName> = response
            .propstats
            .iter()
            .filter(|propstat| propstat.status < 300)
            .flat_map(|propstat| &propstat.props)
            .collect();
        if let Some(wanted) = request.expect.properties
            && given.len() < wanted as usize
        {
            return Err(wrong_body(format!(
                "207 with {} of {wanted} properties for {}",
                given.len(),
                response.href
            )));
        }
        let absent: Vec<PropName> = requested
            .iter()
            .filter(|name| !given.contains(name))
            .cloned()
            .collect();
        if absent.is_empty() {
            continue;
        }
        match request.expect.missing {
            Missing::Fails => {
                let what = format!("207, and the server does not give {}", names(&absent));
                return Err(wrong_body(what));
            }
            Missing::Noted => {
                let all: Vec<&str> = absent.iter().map(|prop| prop.name.as_str()).collect();
                note = Some(format!("the server does not give {}", all.join(", ")));
            }
        }
    }
    Ok(note)
}

/// A status inside a 207.
fn inside(request: &RequestPlan, status: u16, about: &str) -> Wrong {
    let outcome = match request.unsupported.contains(&status) {
        true => Outcome::Unsupported,
        false => outcome_of(status),
    };
    let clause = clause(&request.method, status);
    Wrong {
        outcome,
        what: format!("207 with {} inside {about}{clause}", named(status)),
    }
}

/// A few names, the rest counted.
fn names(props: &[PropName]) -> String {
    const SHOWN: usize = 4;
    if props.is_empty() {
        return "the properties".to_owned();
    }
    // The suite says which namespaces; here the names are enough.
    let mut shown: Vec<&str> = props
        .iter()
        .take(SHOWN)
        .map(|prop| prop.name.as_str())
        .collect();
    shown.dedup();
    let list = shown.join(", ");
    match props.len().saturating_sub(SHOWN) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

fn check_body(request: &RequestPlan, answered: &Answered<'_>) -> Result<(), Wrong> {
    if let Some(expected) = request.expect.length()
        && answered.length != expected
    {
        return Err(wrong_body(format!(
            "{} bytes came back; expected {expected}",
            answered.length
        )));
    }
    if let Some(expected) = &request.expect.body
        && answered.first
        && answered.body != &expected[..]
    {
        let mut pairs = answered.body.iter().zip(expected.iter());
        let at = pairs.position(|(a, b)| a != b);
        return Err(wrong_body(format!(
            "the content that came back differs from what was sent, from byte {} on",
            at.unwrap_or(answered.body.len().min(expected.len()))
        )));
    }
    if answered.first {
        for text in answered.contains {
            let found = answered
                .body
                .windows(text.len().max(1))
                .any(|window| window == text.as_bytes());
            if !found && !text.is_empty() {
                return Err(wrong_body(format!("the answer does not contain `{text}`")));
            }
        }
    }
    Ok(())
}

fn wrong_body(what: String) -> Wrong {
    Wrong {
        outcome: Outcome::WrongBody,
        what,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use suite::{Expect, StatusSet, StatusTest, Text};
    use wire::response::{Event, Limits, ResponseReader};

    use super::*;

    /// A request as `suites/prestan.yaml` would have it.
    fn request(method: &str, body: &str) -> RequestPlan {
        let status = match method {
            "PROPFIND" => StatusTest::Exactly(207),
            _ => StatusTest::Class(2),
        };
        RequestPlan {
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
            save: Vec::new(),
            measure: None,
        }
    }

    fn head(status: &str) -> ResponseHead {
        let message = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let mut reader = ResponseReader::new(false, Limits::default());
        let mut at = 0;
        loop {
            let step = reader.step(&message.as_bytes()[at..]).unwrap();
            at += step.consumed;
            if step.event == Event::Head {
                return reader.head().unwrap().clone();
            }
        }
    }

    /// The outcome of an answer, with what is said about it.
    fn verdict(request: &RequestPlan, status: &str, body: &str) -> Result<Option<String>, Wrong> {
        let answered = Answered {
            head: &head(status),
            body: body.as_bytes(),
            length: body.len() as u64,
            first: true,
            contains: &[Cow::Borrowed("")],
        };
        check(request, &answered)
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
                format!(
                    "<propstat><prop>{props}</prop><status>HTTP/1.1 {status} x</status></propstat>"
                )
            })
            .collect();
        format!(
            "<multistatus xmlns='DAV:'><response><href>/a</href>{stats}</response></multistatus>"
        )
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
            assert_eq!(
                outcome(&request(method, ""), status, ""),
                expected,
                "{method} {status}"
            );
        }
    }

    #[test]
    fn a_207_is_read_to_the_bottom() {
        let mut proppatch = request("PROPPATCH", "");
        proppatch.unsupported.push(403);
        let propfind = request(
            "PROPFIND",
            "<propfind xmlns='DAV:'><prop><x/><y/></prop></propfind>",
        );
        let delete = request("DELETE", "");
        let table: &[(&RequestPlan, String, Outcome)] = &[
            (&proppatch, propstats(&[(200, "x y")]), Outcome::Ok),
            (
                &proppatch,
                propstats(&[(403, "x"), (424, "y")]),
                Outcome::Unsupported,
            ),
            (
                &proppatch,
                propstats(&[(424, "x"), (409, "y")]),
                Outcome::WrongStatus,
            ),
            (&proppatch, propstats(&[(507, "x")]), Outcome::Refused),
            (
                &proppatch,
                "<multistatus xmlns='DAV:'/>".to_owned(),
                Outcome::WrongBody,
            ),
            (&propfind, propstats(&[(200, "x y")]), Outcome::Ok),
            (
                &propfind,
                propstats(&[(200, "x"), (404, "y")]),
                Outcome::WrongBody,
            ),
            (&propfind, propstats(&[(200, "x")]), Outcome::WrongBody),
            (
                &propfind,
                propstats(&[(200, "x"), (401, "y")]),
                Outcome::Refused,
            ),
            (&propfind, member(404), Outcome::WrongStatus),
            (&propfind, "<multistatus".to_owned(), Outcome::WrongBody),
            (&propfind, "no XML".to_owned(), Outcome::WrongBody),
            (&delete, member(423), Outcome::Refused),
            (&delete, member(200), Outcome::Ok),
        ];
        for (request, body, expected) in table {
            let got = verdict(request, "207 Multi-Status", body);
            let got_outcome = got
                .as_ref()
                .map_or_else(|wrong| wrong.outcome, |_| Outcome::Ok);
            assert_eq!(got_outcome, *expected, "{} {body}: {got:?}", request.method);
        }
    }

    #[test]
    fn a_missing_property_can_be_normal_and_is_then_noted() {
        let body = "<propfind xmlns='DAV:'><prop><x/><y/></prop></propfind>";
        let mut lenient = request("PROPFIND", body);
        lenient.expect.missing = Missing::Noted;
        for given in [
            propstats(&[(200, "x"), (404, "y")]),
            propstats(&[(200, "x")]),
        ] {
            let note = verdict(&lenient, "207 Multi-Status", &given).unwrap();
            assert_eq!(note.as_deref(), Some("the server does not give y"));
        }
        assert_eq!(
            verdict(&lenient, "207 x", &propstats(&[(200, "x y")])),
            Ok(None)
        );
    }

    #[test]
    fn counts_inside_a_207() {
        let mut counting = request("PROPFIND", "");
        counting.expect.properties = Some(2);
        counting.expect.responses = Some(1);
        assert_eq!(
            outcome(&counting, "207 x", &propstats(&[(200, "x y")])),
            Outcome::Ok
        );
        assert_eq!(
            outcome(&counting, "207 x", &propstats(&[(200, "x")])),
            Outcome::WrongBody
        );
        counting.expect.responses = Some(2);
        assert_eq!(
            outcome(&counting, "207 x", &propstats(&[(200, "x y")])),
            Outcome::WrongBody
        );
    }

    #[test]
    fn length_every_time_and_content_the_first_time() {
        let mut get = request("GET", "");
        get.expect.body = Some(Arc::from(&b"abc"[..]));
        let check = |body: &str, first: bool| {
            let answered = Answered {
                head: &head("200 OK"),
                body: body.as_bytes(),
                length: body.len() as u64,
                first,
                contains: &[],
            };
            super::check(&get, &answered)
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
        assert_eq!(wrong.what, "2 bytes came back; expected 3");
    }

    #[test]
    fn what_the_first_answer_must_contain() {
        let get = request("GET", "");
        let check = |first: bool| {
            let answered = Answered {
                head: &head("200 OK"),
                body: b"some value7- here",
                length: 17,
                first,
                contains: &[Cow::Borrowed("value7-"), Cow::Borrowed("value8-")],
            };
            super::check(&get, &answered)
        };
        assert!(check(true).unwrap_err().what.contains("value8-"));
        assert_eq!(check(false), Ok(None));
    }

    #[test]
    fn messages_name_the_clause() {
        let said = |method: &str, status: &str| {
            verdict(&request(method, ""), status, "").unwrap_err().what
        };
        assert_eq!(
            said("PUT", "507 Insufficient Storage"),
            "507 Insufficient Storage; expected 2xx (the server is out of space: RFC 4918, \
             section 11.5)"
        );
        assert!(
            said("MOVE", "412 ").starts_with("412 Precondition Failed; expected 2xx (the dest")
        );
    }
}
