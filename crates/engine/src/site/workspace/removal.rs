//! Deleting a collection of ours with everything in it, locks included.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use wire::dav::{Multistatus, XmlLimits, parse_multistatus, path_of, same_resource, stands_within};

use super::held::HeldLock;
use crate::connection::client::{Client, PlainRequest};
use crate::site::probe::propfind_request;

/// How often a removal is tried, with locks released in between.
const ATTEMPTS: u32 = 3;
/// Levels below a collection in which locks are looked for. Some servers refuse Depth: infinity;
/// these reach every lock that the built-in suites take.
const LEVELS: u32 = 3;
/// Locks that a message names; the others are counted.
const NAMED: usize = 3;

const LOCKDISCOVERY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><lockdiscovery/><resourcetype/></prop></propfind>
"#;

/// Deletes a collection that a run of ours made; says why it is still there. `held` are locks whose
/// tokens are known, whatever the server shows.
pub(super) async fn remove_collection(
    client: &mut Client,
    path: &str,
    held: &[HeldLock],
) -> Result<(), String> {
    client.is_patient = true;
    let mut outcome = Err(String::new());
    let mut locks = LeftLocks::default();
    for attempt in 0..ATTEMPTS {
        let deleted = client
            .perform(PlainRequest::bare("DELETE", path, super::LABEL))
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
                _ => Err(format!("DELETE was answered {}", answer.head.status_text())),
            },
        };
        if outcome.is_ok() || attempt + 1 == ATTEMPTS {
            break;
        }
        locks = LeftLocks::within(client, path, held).await;
        if locks.with_token.is_empty() {
            break;
        }
        locks.release(client).await;
    }
    client.is_patient = false;
    outcome.map_err(|why| why + &locks.hidden_in_words(path, SystemTime::now()))
}

/// Locks that were taken inside a collection.
///
/// A lock whose root stands above the collection is somebody else's, and shows on our members all
/// the same (RFC 4918, section 15.8): it stays.
#[derive(Debug, Default)]
struct LeftLocks {
    /// Token, in angle brackets, and path.
    with_token: BTreeSet<(String, String)>,
    /// Those whose token the server does not show, and how long they last at most.
    hidden: Vec<(String, Option<Duration>)>,
}

impl LeftLocks {
    /// Those that are known, and those that the server shows.
    async fn within(client: &mut Client, collection: &str, held: &[HeldLock]) -> LeftLocks {
        let known = held
            .iter()
            .filter(|lock| stands_within(&lock.path, collection))
            .map(|lock| (lock.token.clone(), lock.path.clone()));
        let mut locks = LeftLocks {
            with_token: known.collect(),
            hidden: Vec::new(),
        };
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
                        match lock.token {
                            _ if !ours => {}
                            Some(token) => {
                                locks
                                    .with_token
                                    .insert((format!("<{token}>"), path.clone()));
                            }
                            None => locks.hidden.push((path.clone(), lock.timeout)),
                        }
                    }
                    if is_collection && !same_resource(&path, &parent) {
                        next.push(path);
                    }
                }
            }
            level = next;
        }
        // A collection is listed by itself and by the one above it.
        locks.hidden.sort();
        locks.hidden.dedup();
        locks
    }

    async fn release(&self, client: &mut Client) {
        for (token, path) in &self.with_token {
            let headers = [("Lock-Token", token.as_str())];
            let unlock = PlainRequest {
                headers: &headers,
                ..PlainRequest::bare("UNLOCK", path, super::LABEL)
            };
            client.perform(unlock).await;
        }
    }

    /// `; edit.md is locked until 2026-11-22T10:20:00Z by a lock whose token the server does not
    /// show: run `prestan clean` again then`; nothing without such locks.
    fn hidden_in_words(&self, collection: &str, now: SystemTime) -> String {
        if self.hidden.is_empty() {
            return String::new();
        }
        let named = self.hidden.iter().take(NAMED).map(|(path, timeout)| {
            let name = path.strip_prefix(collection).unwrap_or(path);
            let until = timeout.and_then(|timeout| now.checked_add(timeout));
            let until = until.map_or("for as long as the server likes".to_owned(), |end| {
                let end: DateTime<Utc> = end.into();
                format!("until {}", end.to_rfc3339_opts(SecondsFormat::Secs, true))
            });
            format!(
                "{} is locked {until}",
                if name.is_empty() { path } else { name }
            )
        });
        let named: Vec<String> = named.collect();
        let more = match self.hidden.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "; {}{more}, and the server does not show the tokens of these locks: unlock them there, \
             or run `prestan clean` again when they have ended",
            named.join(", ")
        )
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_locks_are_named_with_their_end() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let locks = |hidden: &[(&str, Option<u64>)]| LeftLocks {
            hidden: hidden
                .iter()
                .map(|(path, s)| ((*path).to_owned(), s.map(Duration::from_secs)))
                .collect(),
            ..LeftLocks::default()
        };
        let words = |hidden| locks(hidden).hidden_in_words("/PrestanTest-r/", now);
        assert_eq!(words(&[]), "");
        let one = words(&[("/PrestanTest-r/edit.md", Some(600))]);
        assert!(one.starts_with("; edit.md is locked until 2001-09-09T01:56:40Z, and the server"));
        let many: Vec<_> = (0..5).map(|_| ("/PrestanTest-r/", None)).collect();
        let many = words(&many);
        assert!(
            many.contains("/PrestanTest-r/ is locked for as long as the server likes and 2 more")
        );
        let endless = words(&[("/x", Some(u64::MAX))]);
        assert!(endless.contains("/x is locked for as long"), "{endless}");
    }
}
