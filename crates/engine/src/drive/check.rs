//! Checks a response against the plan: status, body, and the inside of a 207.
//!
//! `docs/methodology/quantities.md`, "Outcomes", has the table of faults and their results.

mod multistatus;

use std::borrow::Cow;

use record::{Cause, Outcome, Verify};
use suite::{RequestPlan, Text};
use wire::coding::decoded;
use wire::dav::{XmlLimits, condition, xml_text};
use wire::redact::redacted_link;
use wire::response::ResponseHead;

use crate::connection::body::ComparedBody;

/// A response, as seen by the checks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedResponse<'a> {
    pub(crate) head: &'a ResponseHead,
    /// The body, as far as it was kept.
    pub(crate) body: &'a [u8],
    /// Its whole length.
    pub(crate) length: u64,
    /// Difference from the expected body, if it was compared as it arrived.
    pub(crate) compared: Option<ComparedBody>,
    /// Checked closely, as the first response to this request of a test is.
    pub(crate) first: bool,
    /// Texts that the first response must contain.
    pub(crate) contains: &'a [Cow<'a, [u8]>],
}

/// The defect of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) outcome: Outcome,
    pub(crate) what: String,
    /// The same as data, if a rule of `stats::diagnose` needs it.
    pub(crate) cause: Option<Cause>,
}

impl Wrong {
    pub(crate) fn new(outcome: Outcome, what: String) -> Wrong {
        Wrong {
            outcome,
            what,
            cause: None,
        }
    }
}

pub(crate) fn outcome<T>(verdict: &Result<T, Wrong>) -> Outcome {
    match verdict {
        Ok(_) => Outcome::Ok,
        Err(wrong) => wrong.outcome,
    }
}

/// True for failures of a server that does not respond; even a response that is not HTTP is one.
pub(crate) fn is_without_response(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::ConnectFailed | Outcome::Timeout | Outcome::Reset
    )
}

/// Checks a response; a good one may come with a note for the reader of the report.
pub(crate) fn check(
    request: &RequestPlan,
    response: &CheckedResponse<'_>,
) -> Result<Option<String>, Wrong> {
    check_status(request, response)?;
    check_headers(request, response)?;
    if request.verify == Verify::Head {
        return check_length(request, response).map(|()| None);
    }
    if response.head.status != 207 {
        return check_body(request, response).map(|()| None);
    }
    let coding = response.head.headers.get("Content-Encoding");
    let body = decoded(coding, response.body, XmlLimits::default().bytes)
        .map_err(|error| wrong_body(format!("207 with a body that is none: {error}")))?;
    let note = multistatus::check(request, &body)?;
    let text = xml_text(&body, &XmlLimits::default()).unwrap_or_default();
    let body = text.as_bytes();
    check_body(request, &CheckedResponse { body, ..*response })?;
    Ok(note)
}

fn check_status(request: &RequestPlan, response: &CheckedResponse<'_>) -> Result<(), Wrong> {
    let status = response.head.status;
    if request.unsupported.contains(&status) && !request.expect.status.contains(status) {
        return Err(unsupported(request, response));
    }
    if request.expect.status.contains(status) {
        return Ok(());
    }
    let mut what = format!(
        "{}; expected {}{}",
        response.head.status_text(),
        request.expect.status,
        clause(&request.method, status)
    );
    if let Some(location) = response.head.headers.get("Location")
        && (300..400).contains(&status)
    {
        what.push_str(&format!(
            "; it points to {}, and redirects are not followed",
            redacted_link(location)
        ));
    }
    Err(Wrong::new(outcome_of(status), what))
}

/// A status that means that the server does not have this feature.
fn unsupported(request: &RequestPlan, response: &CheckedResponse<'_>) -> Wrong {
    let status = response.head.status;
    let condition = condition(response.body);
    let mut what = response.head.status_text();
    if status < 400 {
        what.push_str(&format!("; expected {}", request.expect.status));
    }
    if let Some(condition) = &condition {
        what.push_str(&format!(", {condition}"));
    }
    // A 405 means that there is no PROPFIND at all.
    if is_infinite(request) && status != 405 {
        what.push_str("; a server may decline Depth: infinity (RFC 4918, section 9.1)");
    }
    Wrong {
        cause: Some(Cause::Status { status, condition }),
        ..Wrong::new(Outcome::Unsupported, what)
    }
}

/// A PROPFIND with Depth: infinity.
fn is_infinite(request: &RequestPlan) -> bool {
    let infinity = Text::Fixed("infinity".to_owned());
    let mut headers = request.headers.iter();
    request.method == "PROPFIND"
        && headers
            .any(|header| header.name.eq_ignore_ascii_case("Depth") && header.value == infinity)
}

fn check_headers(request: &RequestPlan, response: &CheckedResponse<'_>) -> Result<(), Wrong> {
    let mut needed = request.unsupported_without.iter();
    let Some(name) = needed.find(|name| response.head.headers.get(name).is_none()) else {
        return Ok(());
    };
    let what = format!("{} without {name}", response.head.status_text());
    Err(Wrong {
        cause: Some(Cause::Header { name: name.clone() }),
        ..Wrong::new(Outcome::Unsupported, what)
    })
}

/// The outcome of a status: a refusal of a server that understood the request is distinguished from
/// a failure.
pub(crate) fn outcome_of(status: u16) -> Outcome {
    match status {
        401 | 402 | 403 | 423 | 424 | 429 | 503 | 507 | 508 => Outcome::Refused,
        _ => Outcome::WrongStatus,
    }
}

/// The section of the standard about a status in this context.
fn clause(method: &str, status: u16) -> &'static str {
    match (method, status) {
        ("MKCOL", 405) => " (something is there already: RFC 4918, section 9.3.1)",
        ("MKCOL" | "PUT" | "COPY" | "MOVE", 409) => {
            " (the parent collection is missing: RFC 4918, sections 9.3.1, 9.7.1, 9.8.5)"
        }
        ("COPY" | "MOVE", 412) => " (the destination exists: RFC 4918, section 10.6)",
        (_, 415) => " (the server does not want this body: RFC 9110, section 15.5.16)",
        (_, 423) => " (RFC 4918, section 11.3)",
        (_, 424) => " (something else failed first: RFC 4918, section 11.4)",
        (_, 507) => " (the server is out of space: RFC 4918, section 11.5)",
        _ => "",
    }
}

fn check_length(request: &RequestPlan, response: &CheckedResponse<'_>) -> Result<(), Wrong> {
    if let Some(expected) = request.expect.length()
        && response.length != expected
    {
        let length = response.length;
        return Err(wrong_body(format!(
            "received {length} bytes; expected {expected}"
        )));
    }
    Ok(())
}

fn check_body(request: &RequestPlan, response: &CheckedResponse<'_>) -> Result<(), Wrong> {
    check_length(request, response)?;
    if let Some(expected) = &request.expect.body
        && response.first
    {
        let differs_at = match response.compared {
            Some(ComparedBody::Alike) => None,
            Some(ComparedBody::Differs(at)) => Some(at),
            None => difference(response.body, expected),
        };
        if let Some(at) = differs_at {
            return Err(wrong_body(format!(
                "the content received differs from the content sent, from byte {at} on"
            )));
        }
    }
    let contains = response.contains.iter();
    for text in contains.filter(|text| response.first && !text.is_empty()) {
        let mut windows = response.body.windows(text.len());
        if !windows.any(|window| window == &text[..]) {
            let text = String::from_utf8_lossy(text);
            let what = format!("the response does not contain `{text}`");
            return Err(wrong_body(what));
        }
    }
    Ok(())
}

fn difference(body: &[u8], expected: &[u8]) -> Option<u64> {
    if body == expected {
        return None;
    }
    let at = body.iter().zip(expected).position(|(a, b)| a != b);
    Some(at.unwrap_or(body.len().min(expected.len())) as u64)
}

fn wrong_body(what: String) -> Wrong {
    Wrong::new(Outcome::WrongBody, what)
}

/// A note, not a failure: the response itself is complete.
pub(crate) fn surplus() -> String {
    "a response was followed by more bytes than its head announced (RFC 9112, section 6.3), and the \
     connection was closed"
        .to_owned()
}

/// A note, too.
pub(crate) fn without_close_notify() -> String {
    "a response without a length ended with a TLS connection that was not closed in order (no close_notify): whether it is \
     whole is not known (RFC 9112, section 9.8)"
        .to_owned()
}

#[cfg(test)]
mod features_tests;
#[cfg(test)]
mod tests;
