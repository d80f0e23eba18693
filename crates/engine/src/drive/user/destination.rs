//! Why COPY and MOVE are declined though their source and the collection of their destination are there.
//!
//! Their Destination has a whole URL, which a server compares with what it takes for its own (RFC 4918, section
//! 9.8.5), and proxies that change scheme, host or path of requests often leave it as it is. So after such a response
//! PROPFIND asks for both places, once for each user, test and status.

use suite::RequestPlan;
use wire::target::Scheme;

use super::Log;
use super::request::Attempt;
use super::script::Memory;
use crate::connection::client::Client;
use crate::site::probe::{LABEL, RESOURCETYPE, propfind_request};

/// What was found of declined destinations: the status of the response, and what is to be said of it.
pub(super) type ExplainedDestinations = Vec<(u16, String)>;

/// Whether a response with this status may say that a server reads Destination otherwise than it is meant, and not that
/// it does not have this.
pub(super) fn may_be_misread(request: &RequestPlan, status: u16) -> bool {
    let is_about_destination = matches!(status, 403 | 404 | 409 | 502);
    request.to.is_some() && is_about_destination && !request.unsupported.contains(&status)
}

impl Log {
    /// Looks why the destination of a request was declined with this status. Empty where nothing is known.
    pub(super) async fn explained_destination(
        &self,
        client: &mut Client,
        memory: &mut Memory,
        attempt: &Attempt<'_>,
        status: u16,
    ) -> String {
        let mut known = memory.destinations.iter();
        if let Some((_, why)) = known.find(|(of, _)| *of == status) {
            return why.clone();
        }
        let values = attempt.values();
        let to = attempt.step.destination(&values);
        let (to, _) = to
            .trim_end_matches('/')
            .rsplit_once('/')
            .unwrap_or_default();
        let (source, parent) = (attempt.step.path(&values), format!("{to}/"));
        let mut statuses = [None; 2];
        for (place, path) in [source, parent].into_iter().enumerate() {
            let asked = propfind_request(&path, "0", RESOURCETYPE, LABEL);
            statuses[place] = client.perform(asked).await.trace.status;
            if statuses[place].is_none() {
                break;
            }
        }
        let why = explanation(status, statuses, client.scheme());
        memory.destinations.push((status, why.to_owned()));
        why.to_owned()
    }
}

/// What is to be said of that status, where PROPFIND of the source and of the collection of the destination had
/// these.
fn explanation(status: u16, propfind: [Option<u16>; 2], scheme: Scheme) -> &'static str {
    match (status, propfind, scheme) {
        (502, [None, _] | [_, None], _) => "; PROPFIND had no response there",
        (502, [_, Some(502..=504)], _) => {
            "; PROPFIND fails there, too: a proxy had no valid response from the server behind it; is that running?"
        }
        (502, [_, Some(207)], Scheme::Https) => {
            "; PROPFIND works there: the server takes the destination for another server (RFC 4918, section 9.8.5), \
             perhaps because a proxy ends TLS and the server expects http:// in Destination; the proxy has to change \
             that (nginx: proxy_set_header Destination; Apache: RequestHeader edit Destination ^https: http: early; \
             HAProxy: http-request replace-header Destination)"
        }
        (502, [_, Some(207)], Scheme::Http) => {
            "; PROPFIND works there: the server takes the destination for another server (RFC 4918, section 9.8.5); \
             does a proxy change Host?"
        }
        (_, [Some(207), Some(207)], _) => {
            "; PROPFIND finds the source and the collection of the destination: does a proxy change paths (remove /dav, \
             for example), and not that of Destination?"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declined_destination_is_explained_by_what_works() {
        let (there, bad, missing) = (Some(207), Some(502), Some(404));
        let table = [
            (502, [bad, bad], Scheme::Https, "no valid response"),
            (502, [None, None], Scheme::Http, "had no response there"),
            (502, [there, there], Scheme::Https, "expects http://"),
            (502, [there, there], Scheme::Http, "change Host"),
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
        for declined in [Some(401), missing, Some(429)] {
            assert_eq!(explanation(502, [declined, declined], Scheme::Http), "");
        }
    }
}
