//! `MemLs` with locks that expire.
//!
//! `MemLs` stores the end of a lock and never uses it, so that a resource locked by a killed client
//! would stay locked until the server ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use dav_server::davpath::DavPath;
use dav_server::ls::{DavLock, DavLockSystem, LsFuture};
use dav_server::memls::MemLs;
use futures_util::FutureExt;
use xmltree::Element;

/// A lock system; clones are the same.
#[derive(Debug, Clone)]
pub(super) struct LockTable {
    memory: Box<MemLs>,
    /// Tokens by the end they once had; a refreshed lock has several, and only the last is true.
    ends: Arc<Mutex<BTreeMap<(SystemTime, String), DavPath>>>,
}

impl LockTable {
    pub(super) fn new() -> LockTable {
        LockTable {
            memory: MemLs::new(),
            ends: Arc::default(),
        }
    }

    /// Removes expired locks.
    fn expire(&self) {
        let now = SystemTime::now();
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(entry) = ends.first_entry()
            && entry.key().0 <= now
        {
            let ((_, token), path) = entry.remove_entry();
            // MemLs never waits.
            let locks = self.memory.discover(&path).now_or_never();
            let lock = locks.into_iter().flatten().find(|lock| lock.token == token);
            if lock
                .and_then(|lock| lock.timeout_at)
                .is_some_and(|end| end <= now)
            {
                let _ = self.memory.unlock(&path, &token).now_or_never();
            }
        }
    }

    fn note_end(&self, lock: &DavLock) {
        if let Some(end) = lock.timeout_at {
            let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
            ends.insert((end, lock.token.clone()), (*lock.path).clone());
        }
    }
}

impl DavLockSystem for LockTable {
    fn lock(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        owner: Option<&Element>,
        timeout: Option<Duration>,
        shared: bool,
        deep: bool,
    ) -> LsFuture<'_, Result<DavLock, DavLock>> {
        self.expire();
        let memory = &self.memory;
        let locked = memory.lock(path, principal, owner, timeout, shared, deep);
        Box::pin(async move { locked.await.inspect(|lock| self.note_end(lock)) })
    }

    fn refresh(
        &'_ self,
        path: &DavPath,
        token: &str,
        timeout: Option<Duration>,
    ) -> LsFuture<'_, Result<DavLock, ()>> {
        self.expire();
        let refreshed = self.memory.refresh(path, token, timeout);
        Box::pin(async move { refreshed.await.inspect(|lock| self.note_end(lock)) })
    }

    fn unlock(&'_ self, path: &DavPath, token: &str) -> LsFuture<'_, Result<(), ()>> {
        self.expire();
        self.memory.unlock(path, token)
    }

    fn check(
        &'_ self,
        path: &DavPath,
        principal: Option<&str>,
        ignore_principal: bool,
        deep: bool,
        submitted_tokens: &[String],
    ) -> LsFuture<'_, Result<(), DavLock>> {
        self.expire();
        let memory = &self.memory;
        memory.check(path, principal, ignore_principal, deep, submitted_tokens)
    }

    fn discover(&'_ self, path: &DavPath) -> LsFuture<'_, Vec<DavLock>> {
        self.expire();
        self.memory.discover(path)
    }

    fn delete(&'_ self, path: &DavPath) -> LsFuture<'_, Result<(), ()>> {
        self.memory.delete(path)
    }
}
