//! The parts of pages that were found last.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::RequestStep;

/// Most notes about a page that names other parts than before.
const MOST_NOTES: usize = 8;
/// Files that are kept as read: those of this many users of a thread, each with a separate
/// collection.
const MOST_KEPT: usize = 16;

/// The parts that the users of one thread found last: an identical file is not read again.
#[derive(Default)]
pub(crate) struct FoundParts {
    /// Files, the last one first.
    read: RefCell<VecDeque<ReadPage>>,
    reported: RefCell<Vec<String>>,
}

/// A file that was read.
pub(crate) struct ReadPage {
    pub(crate) url: String,
    pub(crate) body: Vec<u8>,
    pub(crate) parts: Rc<[Rc<RequestStep>]>,
}

impl FoundParts {
    pub(crate) fn known(&self, url: &str, body: &[u8]) -> Option<Rc<[Rc<RequestStep>]>> {
        let read = self.read.borrow();
        let mut pages = read.iter();
        let known = pages.find(|page| page.url == url && page.body == body)?;
        Some(Rc::clone(&known.parts))
    }

    pub(crate) fn keep(&self, page: ReadPage) {
        let mut read = self.read.borrow_mut();
        read.retain(|kept| kept.url != page.url);
        read.truncate(MOST_KEPT - 1);
        read.push_front(page);
    }

    /// True if this is to be reported: once, and for a limited number of pages.
    pub(crate) fn is_news(&self, text: &str) -> bool {
        let mut reported = self.reported.borrow_mut();
        let is_news =
            reported.len() < MOST_NOTES && !reported.iter().any(|earlier| earlier == text);
        if is_news {
            reported.push(text.to_owned());
        }
        is_news
    }
}
