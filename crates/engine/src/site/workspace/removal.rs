//! Deletion of the collection of a run with everything in it, locks included.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use wire::dav::{Multistatus, XmlLimits, is_within, parse_multistatus, path_of, same_resource};

use super::held::HeldLock;
use super::mark::{MadeCollectionState, look};
use crate::connection::client::{Client, PlainRequest};
use crate::site::probe::propfind_request;
use crate::site::retries::perform_with_retries;

/// Attempts of a removal, with locks released in between.
const ATTEMPTS: u32 = 3;
/// Levels below a collection in which locks are searched. Some servers refuse Depth: infinity;
/// these reach every lock that the built-in suites take.
const LEVELS: u32 = 3;
/// Most collections in which locks are searched, in one removal.
const MOST_LOOKS: usize = 1000;
/// Most locks that are released, in one removal.
const MOST_UNLOCKS: usize = 1000;
/// Locks that a message names; the others are counted.
const NAMED: usize = 3;

const LOCKDISCOVERY: &[u8] = br#"<?xml version="1.0" encoding="utf-8"?>
<propfind xmlns="DAV:"><prop><lockdiscovery/><resourcetype/></prop></propfind>
"#;

/// Result of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// The server removed it.
    Deleted,
    /// The collection did not exist when it was to be removed.
    WasGone,
}

/// Deletes a collection that a run made; fails with the reason. `held` are locks whose tokens are
/// known, whatever the server shows.
///
/// At most 1000 PROPFIND are sent in search of locks, and 1000 UNLOCK to release them in addition
/// to those of `held`.
pub(super) async fn remove_collection(
    client: &mut Client,
    path: &str,
    held: &[HeldLock],
) -> Result<Removal, String> {
    client.is_patient = true;
    let removed = remove_with_locks(client, path, held).await;
    client.is_patient = false;
    removed
}

async fn remove_with_locks(
    client: &mut Client,
    path: &str,
    held: &[HeldLock],
) -> Result<Removal, String> {
    let mut allowance = Allowance {
        looks: MOST_LOOKS,
        unlocks: MOST_UNLOCKS + held.len() * ATTEMPTS as usize,
    };
    let mut locks = LeftLocks::default();
    let mut attempt = 1;
    loop {
        let why = match delete(client, path).await {
            Ok(removal) => return Ok(removal),
            Err(DeleteRefused::Final(why)) => return Err(why),
            Err(DeleteRefused::PerhapsLocked(why)) => why,
        };
        if attempt < ATTEMPTS {
            locks = LeftLocks::within(client, path, held, &mut allowance).await;
        }
        if attempt == ATTEMPTS || locks.with_token.is_empty() {
            return Err(why + &locks.hidden_in_words(path, SystemTime::now()));
        }
        locks.release(client, &mut allowance).await;
        attempt += 1;
    }
}

/// Why a deletion was refused.
enum DeleteRefused {
    Final(String),
    /// Locks in it may be the reason.
    PerhapsLocked(String),
}

async fn delete(client: &mut Client, path: &str) -> Result<Removal, DeleteRefused> {
    let request = PlainRequest::bare("DELETE", path, super::LABEL);
    let deleted = perform_with_retries(client, request).await;
    let repeats = deleted.may_be_done || deleted.exchange.repeats("DELETE");
    match deleted.exchange.result {
        Err(failure) => Err(DeleteRefused::Final(format!("DELETE: {}", failure.what))),
        Ok(head) => match head.status {
            207 => Err(DeleteRefused::PerhapsLocked(
                "DELETE returned 207: some members could not be removed".to_owned(),
            )),
            404 | 410 if !repeats => Ok(Removal::WasGone),
            404 | 410 => Ok(Removal::Deleted),
            status if status < 300 => Ok(Removal::Deleted),
            // A proxy gave up waiting for a server that may have carried it out.
            504 if look(client, path).await == MadeCollectionState::Nothing => Ok(Removal::Deleted),
            _ => Err(DeleteRefused::PerhapsLocked(format!(
                "DELETE returned {}",
                head.status_text()
            ))),
        },
    }
}

/// Remaining requests for releasing locks.
#[derive(Debug)]
struct Allowance {
    looks: usize,
    unlocks: usize,
}

/// Takes one of the remaining ones; false if there is none.
fn take_one(left: &mut usize) -> bool {
    let is_left = *left > 0;
    *left -= usize::from(is_left);
    is_left
}

/// Locks that were taken inside a collection.
///
/// A lock whose root is above the collection belongs to another user, and shows on the members all
/// the same (RFC 4918, section 15.8): it stays.
#[derive(Debug, Default)]
struct LeftLocks {
    /// Token, in angle brackets, and path.
    with_token: BTreeSet<(String, String)>,
    /// Locks whose token the server does not show, and their longest duration.
    hidden: Vec<(String, Option<Duration>)>,
}

impl LeftLocks {
    /// The known locks, and those that the server shows.
    async fn within(
        client: &mut Client,
        collection: &str,
        held: &[HeldLock],
        allowance: &mut Allowance,
    ) -> LeftLocks {
        let within = held.iter().filter(|lock| is_within(&lock.path, collection));
        let known = within.map(|lock| (lock.token.clone(), lock.path.clone()));
        let mut locks = LeftLocks {
            with_token: known.collect(),
            ..LeftLocks::default()
        };
        let mut level = BTreeSet::from([collection.to_owned()]);
        for _ in 0..LEVELS {
            let mut next = BTreeSet::new();
            for parent in level {
                if !take_one(&mut allowance.looks) {
                    break;
                }
                let Some(found) = members(client, &parent, LOCKDISCOVERY).await else {
                    continue;
                };
                let responses = found.responses.into_iter();
                for response in responses.filter(|one| is_within(&one.href, collection)) {
                    let path = path_of(&response.href).to_owned();
                    let is_collection = response.is_collection || path.ends_with('/');
                    for lock in response.locks {
                        let root = lock.root.as_ref();
                        let ours = root.is_none_or(|root| is_within(root, collection));
                        match lock.token {
                            _ if !ours => {}
                            Some(token) => {
                                let token = format!("<{token}>");
                                locks.with_token.insert((token, path.clone()));
                            }
                            None => locks.hidden.push((path.clone(), lock.timeout)),
                        }
                    }
                    if is_collection
                        && !same_resource(&path, &parent)
                        && next.len() < allowance.looks
                    {
                        next.insert(path);
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

    async fn release(&self, client: &mut Client, allowance: &mut Allowance) {
        for (token, path) in &self.with_token {
            if !take_one(&mut allowance.unlocks) {
                break;
            }
            let headers = [("Lock-Token", token.as_str())];
            let unlock = PlainRequest {
                headers: &headers,
                ..PlainRequest::bare("UNLOCK", path, super::LABEL)
            };
            client.perform(unlock).await;
        }
    }

    /// Text about locks without tokens: `; edit.md is locked until 2026-11-22T10:20:00Z by a lock
    /// whose token the server does not show: run `prestan clean` again then`; empty without such
    /// locks.
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

/// The members of a collection, and itself, with the properties of `body`; `None` if the server
/// does not report them.
pub(super) async fn members(
    client: &mut Client,
    path: &str,
    body: &'static [u8],
) -> Option<Multistatus> {
    let propfind = propfind_request(path, "1", body, super::LABEL);
    let listing = client.perform(propfind).await;
    if listing.result.ok()?.status != 207 {
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
        let endless = "/PrestanTest-r/ is locked for as long as the server likes and 2 more";
        assert!(many.contains(endless));
        let endless = words(&[("/x", Some(u64::MAX))]);
        assert!(endless.contains("/x is locked for as long"), "{endless}");
    }
}
