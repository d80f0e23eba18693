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
fn outcome_of(status: u16) -> Outcome {
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
        let what = format!("the server does not give {}", names(&absent));
        match request.expect.missing {
            Missing::Fails => return Err(wrong_body(format!("207, and {what}"))),
            Missing::Noted => note = Some(what),
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
    if let Some(expected) = &request.expect.body {
        if answered.length != expected.len() as u64 {
            return Err(wrong_body(format!(
                "{} bytes came back; expected {}",
                answered.length,
                expected.len()
            )));
        }
        if answered.first && answered.body != &expected[..] {
            let at = answered
                .body
                .iter()
                .zip(expected.iter())
                .position(|(a, b)| a != b);
            return Err(wrong_body(format!(
                "the content that came back differs from what was sent, from byte {} on",
                at.unwrap_or(answered.body.len().min(expected.len()))
            )));
        }
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
