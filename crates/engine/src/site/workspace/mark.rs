//! The place of a run's marker on the server.
//!
//! The marker is a file in the collection of the run. A server that stores calendars and address
//! books alone refuses such a file (Radicale responds 400); there the marker is a dead property of
//! the collection.

use suite::{Plan, RequestPlan, Text};

use super::marker::{MARKER, Marker};
use super::{LABEL, result_of};
use crate::connection::client::{Client, Exchange, PlainRequest};
use crate::site::probe::propfind_request;
use crate::site::retries::perform_with_retries;

/// Prefix of the value of the property. Hexadecimal digits follow, which need no escaping in XML:
/// the value is found in a response with any prefixes of names.
const BEGINNING: &str = "prestan-run-";

const MARKER_REQUEST: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><run xmlns="urn:prestan"/></prop></propfind>
"#;

/// The status with which a server refused the marker as a file, and then took it as a property: it
/// stores no such files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilesRefused(pub(crate) u16);

impl FilesRefused {
    /// The same plan, in which a PUT of anything but calendar data or a contact is not supported if
    /// its response is like that to the marker.
    pub(crate) fn applied_to(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        plan.change_requests(|request| {
            if request.method == "PUT" && !is_calendar_data(request) {
                request.unsupported.push(self.0);
            }
        });
        plan
    }

    /// Its meaning, for a report.
    pub(crate) fn in_words(self) -> String {
        format!(
            "the server stores no plain files: it responded to PUT {MARKER} with {}, so the marker of this run is \
             a property of its collection, and a PUT with this response counts as not supported, unless it \
             is one of an event or a contact",
            self.0
        )
    }
}

fn is_calendar_data(request: &RequestPlan) -> bool {
    request.headers.iter().any(|header| match &header.value {
        Text::Fixed(value) if header.name.eq_ignore_ascii_case("Content-Type") => {
            value.starts_with("text/calendar") || value.starts_with("text/vcard")
        }
        _ => false,
    })
}

/// Marks the collection of a run at this path.
pub(super) async fn mark(
    client: &mut Client,
    path: &str,
    url: &str,
    run_id: &str,
) -> Result<Option<FilesRefused>, String> {
    let marker = Marker::new(run_id);
    let json = serde_json::to_vec_pretty(&marker).unwrap_or_default();
    let marker_path = format!("{path}{MARKER}");
    let put = PlainRequest {
        body: Some(&json),
        ..PlainRequest::bare("PUT", &marker_path, LABEL)
    };
    let put = perform_with_retries(client, put).await.exchange;
    let what = match put.result {
        Ok(head) => match head.status {
            200..=299 => return Ok(None),
            // Refusals of the content, not of the user or for the moment: no 401, 423, 429, 507.
            400 | 403 | 405 | 415 | 422 if mark_by_property(client, path, &marker).await => {
                return Ok(Some(FilesRefused(head.status)));
            }
            _ => result_of("PUT", &head),
        },
        Err(failure) => failure.what,
    };
    Err(format!(
        "writing the marker of the run in {url} failed: PUT {MARKER}: {what}"
    ))
}

/// True if the server keeps the marker as a property: it may respond 207 and keep nothing.
async fn mark_by_property(client: &mut Client, path: &str, marker: &Marker) -> bool {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <propertyupdate xmlns=\"DAV:\"><set><prop><run xmlns=\"urn:prestan\">{}</run></prop></set>\
         </propertyupdate>\n",
        value_of(marker)
    );
    let proppatch = PlainRequest {
        headers: &[("Content-Type", "application/xml")],
        body: Some(body.as_bytes()),
        ..PlainRequest::bare("PROPPATCH", path, LABEL)
    };
    client.perform(proppatch).await;
    read_property(client, path).await.as_ref() == Some(marker)
}

/// State of the collection of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MadeCollectionState {
    /// A collection with this marker.
    Marked(Marker),
    /// A collection that has no marker.
    Unmarked,
    /// No collection.
    Nothing,
    /// The server does not report it.
    Unknown,
}

/// The marker of the collection at this path; `None` if it has none.
pub(super) async fn read(client: &mut Client, path: &str) -> Option<Marker> {
    match look(client, path).await {
        MadeCollectionState::Marked(marker) => Some(marker),
        _ => None,
    }
}

/// Reads the state of the collection at this path. Only a clear response counts: a server that
/// refuses GET, or is too busy, leaves it unknown.
pub(super) async fn look(client: &mut Client, path: &str) -> MadeCollectionState {
    let marker_path = format!("{path}{MARKER}");
    let get = PlainRequest {
        keep_body: true,
        ..PlainRequest::bare("GET", &marker_path, LABEL)
    };
    let status = |got: Exchange| got.result.map_or(0, |head| head.status);
    let is_file_missing = match status(perform_with_retries(client, get).await.exchange) {
        200 => match serde_json::from_slice(client.body()) {
            Ok(marker) => return MadeCollectionState::Marked(marker),
            // A page with which a proxy responds to every GET, for example.
            Err(_) => false,
        },
        404 | 410 => true,
        _ => false,
    };
    let propfind = propfind_request(path, "0", MARKER_REQUEST, LABEL);
    let listing = perform_with_retries(client, propfind).await;
    match status(listing.exchange) {
        207 => match marker_in(client.body()) {
            Some(marker) => MadeCollectionState::Marked(marker),
            None if is_file_missing => MadeCollectionState::Unmarked,
            None => MadeCollectionState::Unknown,
        },
        404 | 410 if is_file_missing => MadeCollectionState::Nothing,
        _ => MadeCollectionState::Unknown,
    }
}

async fn read_property(client: &mut Client, path: &str) -> Option<Marker> {
    let propfind = propfind_request(path, "0", MARKER_REQUEST, LABEL);
    let listing = client.perform(propfind).await;
    let has_response = listing.result.is_ok_and(|head| head.status == 207);
    has_response.then(|| marker_in(client.body()))?
}

fn value_of(marker: &Marker) -> String {
    let json = serde_json::to_vec(marker).unwrap_or_default();
    let digits = json.iter().map(|byte| format!("{byte:02x}"));
    BEGINNING.chars().map(String::from).chain(digits).collect()
}

fn marker_in(body: &[u8]) -> Option<Marker> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, rest) = text.split_once(BEGINNING)?;
    let end = rest.find(|c: char| !c.is_ascii_hexdigit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    let pairs = digits.as_bytes().chunks(2);
    let bytes = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    serde_json::from_slice(&bytes.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_comes_back_from_a_property() {
        let marker = Marker::new("r-1");
        let value = value_of(&marker);
        let body = format!("<x:run xmlns:x=\"urn:prestan\">{value}</x:run>");
        assert_eq!(marker_in(body.as_bytes()), Some(marker));
        let cut = &value[..value.len() - 3];
        for body in [
            "",
            "<run/>",
            BEGINNING,
            "prestan-run-7b7d",
            "prestan-run-é",
            cut,
        ] {
            assert_eq!(marker_in(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn a_put_with_the_response_of_the_marker_is_not_supported_unless_it_is_an_event() {
        let text = "suite: s\ntests:\n  - name: T\n    setup: [{PUT: a, body: {size: 64}}]\n    loop:\n      \
                    - PUT: b.ics\n        body: {text: x, type: text/calendar; charset=utf-8}\n        \
                    measure: Event\n      - GET: a\n        measure: Get\n";
        let spec = suite::parse("s", text).unwrap();
        let plan = suite::resolve("s", text, &spec, &suite::Overrides::default()).unwrap();
        let plan = FilesRefused(400).applied_to(&plan);
        let requests = plan.requests();
        let unsupported = requests.map(|request| request.unsupported.as_slice());
        let expected: [&[u16]; 3] = [&[405, 501, 400], &[405, 501], &[405, 501]];
        assert_eq!(unsupported.collect::<Vec<_>>(), expected);
    }
}
