//! System calls on the storage of a server, of one run.

use std::collections::BTreeMap;

use constraint::StorageCall;
use record::{CallTarget, TracedCall};

use super::InsideRow;

/// A system call and its target, with its kind.
pub(crate) type CallKey = (StorageCall, String, CallTarget);

/// The kind of a call on a file or a directory, or on all of them; `None` of any other call.
pub(crate) fn storage_kind(call: &TracedCall) -> Option<StorageCall> {
    let is_storage = match call.target {
        CallTarget::Collection | CallTarget::File { .. } => true,
        CallTarget::Nothing => NAMES_NO_FILE.contains(&&*call.call),
        _ => false,
    };
    StorageCall::from_system_call(&call.call).filter(|_| is_storage)
}

/// The kinds of a call on the storage: a synchronous write is a flush, too.
pub(crate) fn storage_kinds(call: &TracedCall) -> impl Iterator<Item = StorageCall> + use<> {
    let flush = call.synchronous.then_some(StorageCall::Fsync);
    storage_kind(call).into_iter().chain(flush)
}

/// True if a call waits until data is on the disk.
pub(crate) fn is_flush(call: &TracedCall) -> bool {
    storage_kinds(call).any(|kind| kind == StorageCall::Fsync)
}

/// They wait for the disk, and have neither a path nor a descriptor as an argument.
const NAMES_NO_FILE: [&str; 2] = ["sync", "msync"];

impl InsideRow {
    /// Calls on files and directories per operation, by kind; empty where calls were not counted.
    pub fn storage_calls(&self) -> Vec<(StorageCall, f64)> {
        let Some(calls) = CallsInRun::of(self) else {
            return Vec::new();
        };
        let kinds =
            StorageCall::all().map(|kind| (kind, calls.number(|(counted, ..)| *counted == kind)));
        kinds.filter(|(_, number)| *number > 0.0).collect()
    }
}

pub(crate) struct CallsInRun {
    operations: u64,
    pub(crate) counts: BTreeMap<CallKey, u64>,
}

impl CallsInRun {
    /// The counts of a row; `None` where nothing was counted, or no operation was ok.
    pub(crate) fn of(row: &InsideRow) -> Option<CallsInRun> {
        let traced = row.traced_calls()?;
        let mut counts = BTreeMap::new();
        for call in &traced.calls {
            for kind in storage_kinds(call) {
                let key = (kind, call.call.clone(), call.target.clone());
                *counts.entry(key).or_default() += call.count;
            }
        }
        Some(CallsInRun {
            operations: traced.operations,
            counts,
        })
    }

    /// Per operation, of the chosen ones. Summed up, then divided: equal numbers are equal.
    pub(crate) fn number(&self, is_chosen: impl Fn(&CallKey) -> bool) -> f64 {
        let chosen = self.counts.iter().filter(|(key, _)| is_chosen(key));
        chosen.map(|(_, count)| count).sum::<u64>() as f64 / self.operations as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::traced_call;

    #[test]
    fn calls_that_name_no_file_wait_for_the_disk_all_the_same() {
        let kind = |name, target| storage_kind(&traced_call(name, target, 1));
        for name in ["sync", "msync"] {
            let kind = kind(name, CallTarget::Nothing);
            assert_eq!(kind, Some(StorageCall::Fsync), "{name}");
        }
        // Reading from a descriptor that is no file is no call on the storage.
        assert_eq!(kind("read", CallTarget::Nothing), None);
        assert_eq!(
            kind("fsync", CallTarget::Collection),
            Some(StorageCall::Fsync)
        );
    }

    #[test]
    fn a_synchronous_write_is_a_write_and_a_flush() {
        let write = |synchronous| TracedCall {
            synchronous,
            bytes: 4096,
            ..traced_call("pwrite64", CallTarget::Collection, 1)
        };
        let kinds = |synchronous| storage_kinds(&write(synchronous)).collect::<Vec<_>>();
        assert_eq!(kinds(true), [StorageCall::Write, StorageCall::Fsync]);
        assert_eq!(kinds(false), [StorageCall::Write]);
        assert!(is_flush(&write(true)) && !is_flush(&write(false)));
    }
}
