//! Leftovers of killed runs on a server.

use std::collections::BTreeSet;
use std::path::PathBuf;

use wire::dav::{last_segment, path_of, same_resource};
use wire::target::Target;

use super::held::HeldLock;
use super::made::{is_empty, remove_resource};
use super::marker::{Life, Marker};
use super::removal::{members, remove_collection};
use super::{Occupancy, PREFIX, collection_path, is_run_id, occupancy_of};
use crate::connection::client::Client;
use crate::error::RunError;
use crate::site::probe::RESOURCETYPE;

/// A collection on a server that is named like those of runs, or a resource that a run noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its URL.
    pub url: String,
    pub(super) path: String,
    pub(crate) kind: LeftoverKind,
    /// Name of the run that made it.
    pub(crate) run_id: String,
    /// State of its run.
    pub state: LeftoverState,
}

/// Kind of a leftover, with the notes on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeftoverKind {
    /// The collection of its run.
    Collection,
    /// That collection, without a marker.
    Unmarked { notes: Vec<PathBuf> },
    /// The file at the target of its run.
    File { notes: Vec<PathBuf> },
}

/// State of the run of a collection with such a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftoverState {
    /// The marker is there, and its run has ended.
    Ended {
        /// When the run began, RFC 3339.
        started_at: String,
    },
    /// The marker is there, and its run is still in progress, on this machine.
    Running {
        /// Its process.
        pid: u32,
    },
    /// The marker is there, and its run is or was on another machine or in another container.
    Unseen {
        /// When the run began, RFC 3339.
        started_at: String,
    },
    /// Without a marker: not made by a run.
    Foreign,
    /// A file whose size is not the one that the run sent.
    Replaced,
    /// Made by its run without a marker, and not known to be empty.
    Filled,
}

impl LeftoverState {
    /// One clause about it, for a message.
    fn reason(&self) -> String {
        match self {
            LeftoverState::Ended { started_at } => format!(
                "left behind by a run that began at {started_at}; `prestan clean` removes it"
            ),
            LeftoverState::Running { pid } => format!("in use by the run of process {pid}"),
            LeftoverState::Unseen { started_at } => format!(
                "of a run on another machine or in another container, which began at {started_at} \
                 and may go on; if it does not, `prestan clean --force` removes it"
            ),
            LeftoverState::Foreign => {
                "has a name like a collection of prestan, but no marker; not removed".to_owned()
            }
            LeftoverState::Replaced => "a run made it, but its size is not the one that the run \
                                        sent: the run was killed while it sent it, or another \
                                        program replaced it; if it is not needed, `prestan clean \
                                        --force` removes it"
                .to_owned(),
            LeftoverState::Filled => {
                "a run made it and wrote no marker into it, and it is not, or \
                                      cannot be seen to be, empty; not removed"
                    .to_owned()
            }
        }
    }
}

impl Leftover {
    /// One clause about it, for a message.
    pub fn reason(&self) -> String {
        self.state.reason()
    }

    /// True if `prestan clean` removes it; with `force`, also if the end of its run is unknown.
    pub fn is_removable(&self, force: bool) -> bool {
        match self.state {
            LeftoverState::Ended { .. } => true,
            LeftoverState::Unseen { .. } | LeftoverState::Replaced => force,
            LeftoverState::Running { .. } | LeftoverState::Foreign | LeftoverState::Filled => false,
        }
    }
}

/// Names listed at other paths that are looked up in the target without success, before the search
/// ends.
const MOST_IN_VAIN: usize = 100;

/// Collections of other runs in the target; none if the server does not list its members. At most
/// `most` are checked; the number of others that it lists is returned with them.
///
/// The server's list is only a hint: the path is made anew from the target and a valid run id, so
/// that no response can lead elsewhere. Behind a proxy that changes paths, the target and its
/// members are listed elsewhere; these count if they exist.
pub(crate) async fn leftovers(
    client: &mut Client,
    target: &Target,
    own_run: Option<&str>,
    most: usize,
) -> (Vec<Leftover>, usize) {
    let Some(listing) = members(client, target.path(), RESOURCETYPE).await else {
        return (Vec::new(), 0);
    };
    let hrefs = listing.responses.iter().map(|response| &*response.href);
    let listed = ListedNames::new(hrefs, target, own_run);
    let others = listed.here.len().saturating_sub(most);
    let mut found = Vec::new();
    for run_id in listed.here.into_iter().skip(others) {
        found.push(leftover(client, target, run_id).await);
    }
    let mut in_vain = 0;
    for run_id in listed.elsewhere.into_iter().rev() {
        if found.len() >= most || in_vain >= MOST_IN_VAIN {
            break;
        }
        let path = collection_path(target, &run_id);
        if occupancy_of(client, &path).await.ok() == Some(Occupancy::Taken) {
            found.push(leftover(client, target, run_id).await);
        } else {
            in_vain += 1;
        }
    }
    found.sort_by(|one, other| one.run_id.cmp(&other.run_id));
    (found, others)
}

/// Run ids of other runs in names that a server lists.
#[derive(Debug, Default, PartialEq)]
struct ListedNames {
    /// Runs in the target.
    here: BTreeSet<String>,
    /// Runs listed at other paths, if the target itself is.
    elsewhere: BTreeSet<String>,
}

impl ListedNames {
    fn new<'a>(
        hrefs: impl Iterator<Item = &'a str>,
        target: &Target,
        own_run: Option<&str>,
    ) -> ListedNames {
        let mut listed = ListedNames::default();
        let mut are_paths_changed = true;
        for href in hrefs {
            are_paths_changed &= !same_resource(path_of(href), target.path());
            let name = last_segment(href).unwrap_or_default();
            let run_id = name.strip_prefix(PREFIX).unwrap_or_default();
            if !is_run_id(run_id) || own_run == Some(run_id) {
                continue;
            }
            let names = if same_resource(path_of(href), &collection_path(target, run_id)) {
                &mut listed.here
            } else {
                &mut listed.elsewhere
            };
            names.insert(run_id.to_owned());
        }
        let ListedNames { here, elsewhere } = &mut listed;
        elsewhere.retain(|run_id| are_paths_changed && !here.contains(run_id));
        listed
    }
}

/// Collections of these runs that exist in the target and are not among those that were `listed`:
/// some servers do not list them.
pub(crate) async fn unlisted(
    client: &mut Client,
    target: &Target,
    listed: &[Leftover],
    run_ids: &[String],
) -> Result<Vec<Leftover>, RunError> {
    let is_listed = |run_id: &String| listed.iter().any(|leftover| leftover.run_id == *run_id);
    let is_wanted = |run_id: &&String| is_run_id(run_id) && !is_listed(run_id);
    let run_ids: BTreeSet<&String> = run_ids.iter().filter(is_wanted).collect();
    let mut found = Vec::new();
    for run_id in run_ids {
        if occupancy_of(client, &collection_path(target, run_id)).await? == Occupancy::Taken {
            found.push(leftover(client, target, run_id.clone()).await);
        }
    }
    Ok(found)
}

/// The existing collection of a run.
async fn leftover(client: &mut Client, target: &Target, run_id: String) -> Leftover {
    let path = collection_path(target, &run_id);
    Leftover {
        state: state(client, &path, &run_id).await,
        url: target.absolute(&path),
        path,
        kind: LeftoverKind::Collection,
        run_id,
    }
}

/// State of the collection of a run.
pub(super) async fn state(client: &mut Client, path: &str, run_id: &str) -> LeftoverState {
    let marker = super::mark::read(client, path).await;
    match marker.filter(|marker| marker.run_id == run_id) {
        Some(marker) => state_of(&marker),
        None => LeftoverState::Foreign,
    }
}

/// State of the run of this marker.
pub(super) fn state_of(marker: &Marker) -> LeftoverState {
    let started_at = marker.started_at;
    let started_at = started_at.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    match marker.life() {
        Life::Running => LeftoverState::Running { pid: marker.pid },
        Life::Ended => LeftoverState::Ended { started_at },
        Life::Unseen => LeftoverState::Unseen { started_at },
    }
}

/// Removes a leftover; refuses one that is not [removable](Leftover::is_removable). `held` are the
/// locks of its run whose tokens are known.
pub(crate) async fn remove_leftover(
    client: &mut Client,
    leftover: &Leftover,
    held: &[HeldLock],
    force: bool,
) -> Result<(), String> {
    if !leftover.is_removable(force) {
        return Err(leftover.reason());
    }
    match leftover.kind {
        LeftoverKind::Unmarked { .. } if !is_empty(client, &leftover.path).await => {
            Err(LeftoverState::Filled.reason())
        }
        LeftoverKind::Collection | LeftoverKind::Unmarked { .. } => {
            let removed = remove_collection(client, &leftover.path, held).await;
            removed.map(drop)
        }
        LeftoverKind::File { .. } => remove_resource(client, &leftover.path, &leftover.url).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_target_come_before_those_that_are_listed_elsewhere() {
        let target = Target::parse("http://h/dav/").unwrap();
        let foreign = (0..150).map(|number| format!("/elsewhere/PrestanTest-z{number}/"));
        let own_name = ["a/", "own/", "z3"].map(|name| format!("http://h/dav/PrestanTest-{name}"));
        let hrefs: Vec<String> = foreign.chain(own_name).collect();
        let listed = |target_at| {
            let hrefs = hrefs.iter().map(String::as_str).chain([target_at]);
            ListedNames::new(hrefs, &target, Some("own"))
        };
        for (target_at, elsewhere) in [("/elsewhere/", 149), ("/dav/", 0)] {
            let listed = listed(target_at);
            assert_eq!(listed.here, ["a", "z3"].map(str::to_owned).into());
            assert_eq!(listed.elsewhere.len(), elsewhere);
        }
    }
}
