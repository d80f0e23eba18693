//! Deleting a collection of ours with everything in it, locks included.

use std::collections::BTreeSet;

use wire::dav::{Multistatus, XmlLimits, parse_multistatus, path_of, same_resource, stands_within};

use crate::client::{Client, Request};
use crate::probe::propfind_request;

/// How often a removal is tried, with locks released in between.
const ATTEMPTS: u32 = 3;
/// Levels below a collection in which locks are looked for. Some servers refuse Depth: infinity;
/// these reach every lock that the built-in suites take.
const LEVELS: u32 = 3;

const LOCKDISCOVERY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><lockdiscovery/><resourcetype/></prop></propfind>
"#;

/// Deletes a collection that a run of ours made; says why it is still there.
pub(super) async fn remove_collection(client: &mut Client, path: &str) -> Result<(), String> {
    client.is_patient = true;
    let mut outcome = Err(String::new());
    for attempt in 0..ATTEMPTS {
        let deleted = client
            .perform(Request::bare("DELETE", path, super::LABEL))
            .await;
        outcome = match deleted.result {
            Err(failure) => {
                outcome = Err(format!("DELETE: {}", failure.what));
                break;
            }
            Ok(answer) => match answer.head.status {
                207 => Err("DELETE was answered 207: some members could not be removed".to_owned()),
                404 => Ok(()),
                status if status < 300 => Ok(()),
                status => Err(format!(
                    "DELETE was answered {status} {}",
                    answer.head.reason
                )),
            },
        };
        if outcome.is_ok() || attempt + 1 == ATTEMPTS || !release_locks(client, path).await {
            break;
        }
    }
    client.is_patient = false;
    outcome
}

/// Releases the locks that were taken inside `collection`; true when there were any.
///
/// A lock whose root stands above `collection` is somebody else's, and shows on our members all
/// the same (RFC 4918, section 15.8): it stays.
async fn release_locks(client: &mut Client, collection: &str) -> bool {
    let mut locks = BTreeSet::new();
    let mut level = vec![collection.to_owned()];
    for _ in 0..LEVELS {
        let mut next = Vec::new();
        for parent in level {
            let Some(found) = members(client, &parent, LOCKDISCOVERY).await else {
                continue;
            };
            let inside = found
                .responses
                .into_iter()
                .filter(|response| stands_within(&response.href, collection));
            for response in inside {
                let path = path_of(&response.href).to_owned();
                let is_collection = response.is_collection || path.ends_with('/');
                for lock in response.locks {
                    let ours = lock
                        .root
                        .as_ref()
                        .is_none_or(|root| stands_within(root, collection));
                    if ours {
                        locks.insert((lock.token, path.clone()));
                    }
                }
                if is_collection && !same_resource(&path, &parent) {
                    next.push(path);
                }
            }
        }
        level = next;
    }
    for (token, path) in &locks {
        let token = format!("<{token}>");
        let headers = [("Lock-Token", token.as_str())];
        let unlock = Request {
            headers: &headers,
            ..Request::bare("UNLOCK", path, super::LABEL)
        };
        client.perform(unlock).await;
    }
    !locks.is_empty()
}

/// The members of a collection, and itself, with what `body` asks for; `None` where the server
/// does not say.
pub(super) async fn members(
    client: &mut Client,
    path: &str,
    body: &'static [u8],
) -> Option<Multistatus> {
    let asked = client
        .perform(propfind_request(path, "1", body, super::LABEL))
        .await;
    if asked.result.ok()?.head.status != 207 {
        return None;
    }
    parse_multistatus(client.body(), &XmlLimits::default()).ok()
}
