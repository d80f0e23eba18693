//! Heads of requests and responses, for an observer that requests them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wire::redact;
use wire::response::ResponseHead;

use crate::watch::progress::Observer;

/// A head or remark, with redacted credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadRecord {
    /// The lines of a request head, just before it is sent.
    Request(Vec<String>),
    /// The lines of a response head, when it is complete.
    Response(Vec<String>),
    /// A remark: an interim response, or why there is no response.
    Remark(String),
}

/// Passes the heads of a run to its observer.
pub(crate) struct Heads {
    observer: Arc<dyn Observer>,
    /// Fields that the user gave: they may be secret.
    private: Vec<String>,
    clients: AtomicU32,
}

impl Heads {
    /// For an observer that requests them; these headers of requests are the user's.
    pub(crate) fn wanted_by(
        observer: &Arc<dyn Observer>,
        headers: &[(String, String)],
    ) -> Option<Arc<Heads>> {
        observer.wants_heads().then(|| {
            Arc::new(Heads {
                observer: Arc::clone(observer),
                private: headers.iter().map(|(name, _)| name.clone()).collect(),
                clients: AtomicU32::new(0),
            })
        })
    }

    pub(crate) fn for_client(self: &Arc<Heads>) -> HeadsOfClient {
        HeadsOfClient {
            client: self.clients.fetch_add(1, Ordering::Relaxed),
            heads: Arc::clone(self),
        }
    }
}

impl fmt::Debug for Heads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heads").finish_non_exhaustive()
    }
}

/// Passes on the heads of one client.
#[derive(Debug, Clone)]
pub(crate) struct HeadsOfClient {
    client: u32,
    heads: Arc<Heads>,
}

impl HeadsOfClient {
    /// Passes on a head that is about to be sent.
    pub(crate) fn request(&self, head: &[u8]) {
        let lines = redact::request_head(head, &self.heads.private);
        self.pass(HeadRecord::Request(lines));
    }

    pub(crate) fn response(&self, head: &ResponseHead) {
        self.pass(HeadRecord::Response(redact::response_head(head)));
    }

    pub(crate) fn interim(&self, status: u16) {
        self.pass(HeadRecord::Remark(format!("interim response {status}")));
    }

    pub(crate) fn failure(&self, what: &str) {
        self.pass(HeadRecord::Remark(what.to_owned()));
    }

    fn pass(&self, head: HeadRecord) {
        self.heads.observer.head_passed(self.client, &head);
    }
}
