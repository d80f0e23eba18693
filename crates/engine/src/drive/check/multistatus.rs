//! The contents of a 207 (RFC 4918, section 13): the resources, and the properties by name.

use std::borrow::Cow;

use record::{Cause, Outcome};
use suite::{Body, Missing, Piece, RequestPlan};
use wire::dav::{
    Multistatus, PropName, ResourceResponse, XmlLimits, level, parse_multistatus,
    requested_properties,
};
use wire::response::status_text;

use super::{Wrong, clause, is_infinite, outcome_of, wrong_body};

/// Replaces a run-time variable when the names in a body are read: no name contains it.
const VARIABLE: &str = "\u{1a}";

/// Names that a message lists; more are counted.
const SHOWN: usize = 4;

/// Checks the body of a 207; a good one may come with a note for the reader of the report.
pub(super) fn check(request: &RequestPlan, body: &[u8]) -> Result<Option<String>, Wrong> {
    let multistatus = parse_multistatus(body, &XmlLimits::default())
        .map_err(|error| wrong_body(format!("207 with a body that is none: {error}")))?;
    check_number(request, &multistatus)?;
    for response in &multistatus.responses {
        if let Some(status) = response.status
            && status >= 300
        {
            let about = format!("for {}", response.href);
            return Err(inside(request, status, &about));
        }
    }
    match request.method.as_str() {
        "PROPPATCH" => check_proppatch(request, &multistatus).map(|()| None),
        "PROPFIND" => check_propfind(request, &multistatus),
        _ => Ok(None),
    }
}

fn check_number(request: &RequestPlan, multistatus: &Multistatus) -> Result<(), Wrong> {
    let found = multistatus.responses.len();
    let Some(wanted) = request.expect.responses.map(|wanted| wanted as usize) else {
        return Ok(());
    };
    if found == wanted {
        return Ok(());
    }
    let responses = if found == 1 { "response" } else { "responses" };
    let what = format!("207 with {found} {responses}; expected {wanted}");
    Err(match response_depth(request, multistatus) {
        Some(depth) if found < wanted => Wrong {
            cause: Some(Cause::Depth { depth }),
            ..wrong_body(format!(
                "Depth: infinity answered as Depth: {depth}: {what} (a server that declines infinity \
                 answers 403: RFC 4918, section 9.1)"
            ))
        },
        _ => wrong_body(what),
    })
}

/// Depth of a response to a request with Depth: infinity: 0 or 1, if nothing in it lies deeper.
fn response_depth(request: &RequestPlan, multistatus: &Multistatus) -> Option<u8> {
    let levels = || {
        let responses = multistatus.responses.iter();
        responses.map(|response| level(&response.href))
    };
    let depth = u8::try_from(levels().max()? - levels().min()?).ok()?;
    (is_infinite(request) && depth <= 1).then_some(depth)
}

/// Checks a PROPPATCH, which succeeds as a whole or not at all (RFC 4918, section 9.2), and has
/// succeeded if the response acknowledges each property of the request.
fn check_proppatch(request: &RequestPlan, multistatus: &Multistatus) -> Result<(), Wrong> {
    let propstats = || {
        let responses = multistatus.responses.iter();
        responses.flat_map(|response| &response.propstats)
    };
    // 424 only means that another property failed.
    let culprit = propstats()
        .find(|propstat| propstat.status >= 300 && propstat.status != 424)
        .or_else(|| propstats().find(|propstat| propstat.status >= 300));
    if let Some(propstat) = culprit {
        let about = format!("for {}", local_names(&propstat.props));
        let mut wrong = inside(request, propstat.status, &about);
        // Servers without dead properties decline one with 403, or, like xandikos, with 404.
        if propstat.status == 404 {
            wrong.outcome = outcome_inside(request, 403);
        }
        return Err(wrong);
    }
    if multistatus.responses.is_empty() {
        return Err(wrong_body("207 without a response inside".to_owned()));
    }
    let requested = asked_for(&request.body);
    let acknowledged: Vec<&PropName> = propstats().flat_map(|propstat| &propstat.props).collect();
    let missing: Vec<&PropName> = requested
        .iter()
        .filter(|name| !acknowledged.contains(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut what = format!(
        "207 acknowledges {} of {} properties, not {}",
        requested.len() - missing.len(),
        requested.len(),
        full_names(missing)
    );
    let others: Vec<&PropName> = acknowledged
        .into_iter()
        .filter(|name| !requested.contains(name))
        .collect();
    if !others.is_empty() {
        what.push_str(&format!("; it names {} instead", full_names(others)));
    }
    Err(wrong_body(what))
}

fn check_propfind(
    request: &RequestPlan,
    multistatus: &Multistatus,
) -> Result<Option<String>, Wrong> {
    if multistatus.responses.is_empty() {
        return Err(wrong_body("207 without a response inside".to_owned()));
    }
    let requested = asked_for(&request.body);
    let mut absent = Absent::default();
    for response in &multistatus.responses {
        let all_missing = || {
            let propstats = &response.propstats;
            !propstats.is_empty() && propstats.iter().all(|propstat| propstat.status == 404)
        };
        // A request without property names cannot miss a property: the resource is missing.
        if response.is_missing() || (all_missing() && named_in(&request.body).is_empty()) {
            return Err(inside(request, 404, &format!("for {}", response.href)));
        }
        for propstat in &response.propstats {
            let status = propstat.status;
            if status >= 300 && status != 404 {
                let about = format!("for {}", local_names(&propstat.props));
                return Err(inside(request, status, &about));
            }
        }
        let given: Vec<&PropName> = response
            .propstats
            .iter()
            .filter(|propstat| propstat.status < 300)
            .flat_map(|propstat| &propstat.props)
            .collect();
        let lacking: Vec<&PropName> = requested
            .iter()
            .filter(|name| !given.contains(name))
            .collect();
        if let Some(wanted) = request.expect.properties {
            // A property that was not requested does not count, even if only its namespace differs.
            let counted = if requested.is_empty() {
                given.len()
            } else {
                requested.len() - lacking.len()
            };
            if counted < wanted as usize {
                return Err(wrong_body(format!(
                    "207 with {counted} of {wanted} properties for {}",
                    response.href
                )));
            }
        }
        if request.expect.missing == Missing::Fails && !lacking.is_empty() {
            return Err(wrong_body(format!(
                "207, and the server does not give {}",
                full_names(lacking)
            )));
        }
        absent.add(response, lacking);
    }
    Ok(absent.note())
}

/// Requested properties that are missing, separately for collections and other resources.
#[derive(Default)]
struct Absent<'a> {
    collections: Kind<'a>,
    others: Kind<'a>,
}

#[derive(Default)]
struct Kind<'a> {
    seen: bool,
    lacking: Vec<&'a str>,
}

impl<'a> Absent<'a> {
    fn add(&mut self, response: &ResourceResponse, lacking: Vec<&'a PropName>) {
        // Without resourcetype, a slash at the end of the href decides.
        let kind = if response.is_collection || response.href.ends_with('/') {
            &mut self.collections
        } else {
            &mut self.others
        };
        kind.seen = true;
        for name in lacking {
            if !kind.lacking.contains(&name.name.as_str()) {
                kind.lacking.push(&name.name);
            }
        }
    }

    /// The note: `the server does not give getetag; getcontentlength for collections`.
    fn note(&self) -> Option<String> {
        let both = self.collections.seen && self.others.seen;
        let lacked_by_both = |name: &&str| {
            let lacks = |kind: &Kind<'_>| kind.lacking.contains(name);
            !both || (lacks(&self.collections) && lacks(&self.others))
        };
        let of = |kind: &Kind<'a>, wanted: bool| -> String {
            let names = kind.lacking.iter().copied();
            let names: Vec<&str> = names
                .filter(|name| lacked_by_both(name) == wanted)
                .collect();
            names.join(", ")
        };
        let anywhere = if self.others.seen {
            of(&self.others, true)
        } else {
            of(&self.collections, true)
        };
        let parts = [
            (anywhere, ""),
            (of(&self.others, false), " for files"),
            (of(&self.collections, false), " for collections"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, of_which)| format!("{names}{of_which}"))
            .collect();
        (!parts.is_empty()).then(|| format!("the server does not give {}", parts.join("; ")))
    }
}

/// The properties that a request names. Names that contain a run-time variable are left out.
fn asked_for(body: &Body) -> Vec<PropName> {
    let mut names = named_in(body);
    names.retain(|name| !name.name.contains(VARIABLE) && !name.namespace.contains(VARIABLE));
    names
}

/// The same with all names: [`VARIABLE`] replaces run-time variables.
fn named_in(body: &Body) -> Vec<PropName> {
    let text: Cow<'_, [u8]> = match body {
        Body::None => return Vec::new(),
        Body::Fixed(bytes) => Cow::Borrowed(bytes),
        Body::Live(text) => {
            let pieces = text.0.pieces().iter();
            let filled: String = pieces
                .map(|piece| match piece {
                    Piece::Literal(text) => text.as_str(),
                    Piece::Variable(_) | Piece::Computed(_) => VARIABLE,
                })
                .collect();
            Cow::Owned(filled.into_bytes())
        }
    };
    requested_properties(&text)
}

fn outcome_inside(request: &RequestPlan, status: u16) -> Outcome {
    if request.unsupported.contains(&status) {
        Outcome::Unsupported
    } else {
        outcome_of(status)
    }
}

/// A status inside a 207.
fn inside(request: &RequestPlan, status: u16, about: &str) -> Wrong {
    let clause = clause(&request.method, status);
    let text = status_text(status);
    let what = format!("207 with {text} inside {about}{clause}");
    Wrong::new(outcome_inside(request, status), what)
}

/// A few names without their namespaces, which are in the suite.
fn local_names(props: &[PropName]) -> String {
    let mut names: Vec<&str> = props.iter().map(|prop| prop.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        "the properties".to_owned()
    } else {
        listed(names.into_iter().map(str::to_owned))
    }
}

/// A few names with their namespaces, which may be the defect.
fn full_names(props: Vec<&PropName>) -> String {
    listed(props.into_iter().map(PropName::to_string))
}

/// The first names, the others counted.
fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let list = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}
