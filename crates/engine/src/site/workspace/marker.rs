//! The marker in the collection of a run: its run, and if that is in progress.

use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Name of the marker in the collection of a run: no file of the run may have it.
pub const MARKER: &str = "prestan-run.json";
/// Longest time for which a run is assumed to be in progress, if that cannot be checked.
const LONGEST_RUN: Duration = Duration::from_secs(24 * 3600);

/// Identifies the collection of a run, and shows if the run is in progress. Names no owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    /// Explanation, for a person who finds it.
    about: String,
    /// Run id; the name of the collection ends with it.
    pub(super) run_id: String,
    /// When it was made.
    pub(super) started_at: DateTime<Utc>,
    /// The machine, since its last start.
    boot_id: String,
    /// Namespace of its process numbers: containers have one each.
    pid_namespace: String,
    /// Process of the run.
    pub(super) pid: u32,
    /// When that process began, in the kernel's ticks: its number may have been reused.
    pid_since: u64,
}

/// State of the run that wrote a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// In progress on this machine.
    Running,
    Ended,
    /// On another machine or in another container, started less than a day ago.
    Unseen,
}

impl Marker {
    /// The marker of a run of this process.
    pub(super) fn new(run_id: &str) -> Self {
        let pid = std::process::id();
        Marker {
            about: "a run of Prestan works here; if none does any more, `prestan clean` removes it"
                .to_owned(),
            run_id: run_id.to_owned(),
            started_at: SystemTime::now().into(),
            boot_id: boot_id(),
            pid_namespace: pid_namespace(),
            pid,
            pid_since: process_since(pid).unwrap_or_default(),
        }
    }

    /// State of its run as seen from here.
    pub(super) fn life(&self) -> Life {
        let same_place = !self.boot_id.is_empty()
            && self.boot_id == boot_id()
            && self.pid_namespace == pid_namespace();
        if same_place {
            // If processes of others are hidden, invisible ones may exist.
            let sees_others = process_since(1).is_some();
            match process_since(self.pid) {
                Some(since) if since == self.pid_since => return Life::Running,
                Some(_) => return Life::Ended,
                None if sees_others => return Life::Ended,
                None => {}
            }
        }
        let now: DateTime<Utc> = SystemTime::now().into();
        let age = now.signed_duration_since(self.started_at).to_std();
        if age.is_ok_and(|age| age > LONGEST_RUN) {
            Life::Ended
        } else {
            Life::Unseen
        }
    }
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

fn pid_namespace() -> String {
    let name = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    name.display().to_string()
}

/// When a process began, in ticks since the system did; `None` if there is none (proc(5): field 22
/// of `stat`, the 20th after the name, which may contain anything and stands in parentheses).
fn process_since(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    // A zombie does no work.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_running_ended_or_out_of_sight() {
        let marker = Marker::new("r");
        assert_eq!(marker.life(), Life::Running);
        let life_of = |change: fn(&mut Marker)| {
            let mut changed = marker.clone();
            change(&mut changed);
            changed.life()
        };
        assert_eq!(life_of(|changed| changed.pid_since += 1), Life::Ended);
        let container = life_of(|changed| changed.pid_namespace = "pid:[1]".to_owned());
        assert_eq!(container, Life::Unseen);
        let elsewhere = life_of(|changed| changed.boot_id = "another".to_owned());
        assert_eq!(elsewhere, Life::Unseen);
        let old = life_of(|changed| {
            changed.boot_id = "another".to_owned();
            changed.started_at = (SystemTime::now() - 2 * LONGEST_RUN).into();
        });
        assert_eq!(old, Life::Ended);
    }
}
