//! Explains why COPY and MOVE are declined though their source and the collection of their
//! destination exist.
//!
//! Their Destination has a whole URL, which a server compares with its own (RFC 4918, section
//! 9.8.5), and proxies that change scheme, host or path of requests often leave it unchanged. So
//! after such a response PROPFIND checks both, once for each user, test, status and method.

use suite::RequestPlan;
use wire::target::Scheme;

use super::Log;
use super::request::Attempt;
use super::script::Memory;
use crate::connection::client::{Client, PlainRequest};
use crate::site::probe::{LABEL, RESOURCETYPE, propfind_request};

/// Explanations of declined destinations.
pub(super) type ExplainedDestinations = Vec<(DeclinedRequest, String)>;

/// Key of an explanation.
#[derive(Debug, PartialEq)]
pub(super) struct DeclinedRequest {
    method: String,
    status: u16,
    /// The suite takes this status for a missing feature, which a simple file does not need.
    means_unsupported: bool,
}

impl DeclinedRequest {
    fn new(method: &str, unsupported: &[u16], status: u16) -> DeclinedRequest {
        DeclinedRequest {
            method: method.to_owned(),
            status,
            means_unsupported: unsupported.contains(&status),
        }
    }
}

/// True if a response with this status may mean that the server misreads Destination.
pub(super) fn may_be_misread(request: &RequestPlan, status: u16) -> bool {
    request.to.is_some() && is_about_destination(status)
}

/// Statuses of servers for a destination that they take for another server's, or whose collection
/// they do not find.
fn is_about_destination(status: u16) -> bool {
    matches!(status, 400 | 403 | 404 | 409 | 502)
}

impl Log {
    /// Explains why the destination of a request was declined with this status. Empty if unknown,
    /// and if the server only lacks the feature.
    pub(super) async fn explained_destination(
        &self,
        client: &mut Client,
        memory: &mut Memory,
        attempt: &Attempt<'_>,
        status: u16,
    ) -> String {
        let (values, plan) = (attempt.values(), &attempt.step.plan);
        let declined = DeclinedRequest::new(&plan.method, &plan.unsupported, status);
        let mut known = memory.destinations.iter();
        if let Some((_, why)) = known.find(|(of, _)| *of == declined) {
            return why.clone();
        }
        let to = attempt.step.destination(&values);
        let parent = to.trim_end_matches('/').rsplit_once('/');
        let (to, _) = parent.unwrap_or_default();
        let (source, parent) = (attempt.step.path(&values), format!("{to}/"));
        let mut statuses = [None; 2];
        for (index, path) in [&source, &parent].into_iter().enumerate() {
            let request = propfind_request(path, "0", RESOURCETYPE, LABEL);
            statuses[index] = client.perform(request).await.trace.status;
            if statuses[index].is_none() {
                break;
            }
        }
        let mut why = explanation(status, statuses, client.scheme());
        if !why.is_empty() && declined.means_unsupported {
            why = if is_file_declined(client, &plan.method, &parent).await {
                format!("; a file is declined, too{why}")
            } else {
                String::new()
            };
        }
        memory.destinations.push((declined, why.clone()));
        why
    }
}

/// True if COPY or MOVE of a new file within a collection is declined with the status of the
/// destination.
async fn is_file_declined(client: &mut Client, method: &str, collection: &str) -> bool {
    let [file, copy] = ["file", "copy"].map(|name| format!("{collection}PrestanTest-{name}"));
    let put = PlainRequest {
        body: Some(b"x"),
        ..PlainRequest::bare("PUT", &file, LABEL)
    };
    let put = client.perform(put).await.trace.status;
    if !put.is_some_and(|status| (200..300).contains(&status)) {
        return false;
    }
    let destination = client.absolute(&copy);
    let moved = PlainRequest {
        headers: &[("Destination", &*destination)],
        ..PlainRequest::bare(method, &file, LABEL)
    };
    let moved = client.perform(moved).await.trace.status;
    for path in [file, copy] {
        // One of them may not exist.
        let delete = PlainRequest::bare("DELETE", &path, LABEL);
        client.perform(delete).await;
    }
    moved.is_some_and(is_about_destination)
}

/// The explanation of that status, given the statuses of PROPFIND for the source and for the
/// collection of the destination.
fn explanation(status: u16, propfind: [Option<u16>; 2], scheme: Scheme) -> String {
    let are_there = propfind == [Some(207); 2];
    match (status, propfind) {
        (502, [None, _] | [_, None]) => "; PROPFIND had no response there".to_owned(),
        (502, [_, Some(502..=504)]) => {
            "; PROPFIND fails there, too: a proxy had no valid response from the server behind it; is that running?"
                .to_owned()
        }
        (400 | 502, _) if are_there => {
            let taken = match status {
                502 => "takes the destination for another server (RFC 4918, section 9.8.5)",
                _ => "may take the destination for another server, as nginx does with this status",
            };
            let reason = match scheme {
                Scheme::Https => {
                    ", perhaps because a proxy changes Host, or ends TLS and the server expects http:// in Destination; \
                     the proxy has to change that (nginx: proxy_set_header Destination; Apache: RequestHeader edit \
                     Destination ^https: http: early; HAProxy: http-request replace-header Destination)"
                }
                Scheme::Http => "; does a proxy change Host, or ask the server over TLS?",
            };
            format!("; PROPFIND works there: the server {taken}{reason}")
        }
        _ if are_there => {
            "; PROPFIND finds the source and the collection of the destination: does a proxy change paths (remove /dav, \
             for example), and not that of Destination?"
                .to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_that_of_the_same_method_and_meaning_of_the_status() {
        let copy = |unsupported: &[u16]| DeclinedRequest::new("COPY", unsupported, 403);
        assert_eq!(copy(&[409]), copy(&[]));
        assert_ne!(copy(&[403]), copy(&[]));
        assert_ne!(copy(&[]), DeclinedRequest::new("MOVE", &[], 403));
        assert_ne!(copy(&[]), DeclinedRequest::new("COPY", &[], 409));
    }

    #[test]
    fn a_declined_destination_is_explained_by_what_works() {
        let (there, bad, missing) = (Some(207), Some(502), Some(404));
        let table = [
            (502, [bad, bad], Scheme::Https, "no valid response"),
            (502, [None, None], Scheme::Http, "had no response there"),
            (502, [there, there], Scheme::Https, "expects http://"),
            (502, [there, there], Scheme::Http, "change Host"),
            (400, [there, there], Scheme::Https, "expects http://"),
            (400, [there, there], Scheme::Http, "change Host"),
            (403, [there, there], Scheme::Http, "change paths"),
            (409, [there, there], Scheme::Http, "change paths"),
            (404, [there, there], Scheme::Https, "change paths"),
        ];
        for (status, propfind, scheme, part) in table {
            let why = explanation(status, propfind, scheme);
            assert!(why.contains(part), "{status} {propfind:?}: {why}");
        }
        for propfind in [[missing, there], [there, missing], [there, None]] {
            assert_eq!(explanation(409, propfind, Scheme::Http), "");
        }
        for declined in [Some(400), Some(401), missing, Some(429)] {
            for status in [400, 502] {
                assert_eq!(explanation(status, [declined; 2], Scheme::Http), "");
            }
        }
    }
}
