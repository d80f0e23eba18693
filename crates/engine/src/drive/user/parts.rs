//! The parts of a page that its first file names.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use record::EventKind;
use wire::coding::decoded;
use wire::html::{MOST_BYTES, NamedParts, named_parts};
use wire::response::ResponseHead;
use wire::shown::redacted_url;

use super::{Attempt, Log};
use crate::connection::client::Client;
use crate::drive::step::RequestStep;

/// How often it is told that a page names other parts than before.
const MOST_NOTES: u32 = 8;
/// Parts that a note lists.
const LISTED: usize = 40;

/// The parts that were found last by the users of one thread: the same file again need not be read again.
#[derive(Default)]
pub(crate) struct FoundParts {
    last: RefCell<Option<ReadPage>>,
    notes: Cell<u32>,
}

/// A file that was read.
struct ReadPage {
    url: String,
    body: Vec<u8>,
    parts: Rc<[Rc<RequestStep>]>,
}

impl Log {
    /// The parts that the file names which a client has just received; `stands_for` is what all of them have in common.
    pub(super) fn parts(
        &self,
        client: &Client,
        attempt: &Attempt<'_>,
        stands_for: &RequestStep,
    ) -> Rc<[Rc<RequestStep>]> {
        let begun = self.context.clock.now();
        let first = attempt.step;
        let config = &self.worker.configs_of(self.id)[first.target()];
        let url = config.target.absolute(&first.path(&attempt.values()));
        let body = client.body();
        let known = stands_for.found.last.borrow().as_ref().and_then(|last| {
            (last.url == url && last.body == body).then(|| Rc::clone(&last.parts))
        });
        let parts = known.unwrap_or_else(|| {
            let named = client.head().map_or_else(
                || Err("it has no head".to_owned()),
                |head| read(head, body, &url),
            );
            self.tell_of_parts(first, stands_for, &named);
            let paths = named.map_or(Vec::new(), |named| named.paths);
            let parts = paths.iter().map(|path| Rc::new(stands_for.part(path)));
            let parts: Rc<[Rc<RequestStep>]> = parts.collect();
            *stands_for.found.last.borrow_mut() = Some(ReadPage {
                url,
                body: body.to_vec(),
                parts: Rc::clone(&parts),
            });
            parts
        });
        self.worker.vitals.excuse(self.context.clock.now() - begun);
        parts
    }

    fn tell_of_parts(
        &self,
        first: &RequestStep,
        stands_for: &RequestStep,
        named: &Result<NamedParts, String>,
    ) {
        let FoundParts { notes, .. } = &stands_for.found;
        let Some(measure) = first.plan.measure.or(stands_for.plan.measure) else {
            return;
        };
        if notes.get() == MOST_NOTES {
            return;
        }
        notes.set(notes.get() + 1);
        let text = match named {
            Ok(named) => described(named),
            Err(why) => format!("its parts are not known: {why}"),
        };
        self.context
            .journal
            .write(EventKind::Note { measure, text });
    }
}

/// What the body of a response names.
fn read(head: &ResponseHead, body: &[u8], url: &str) -> Result<NamedParts, String> {
    let kind = head.headers.get("Content-Type");
    let other = kind.filter(|kind| !kind.to_ascii_lowercase().contains("html"));
    if let Some(other) = other {
        return Err(format!(
            "it is no HTML (Content-Type: {})",
            other.escape_default()
        ));
    }
    let coding = head.headers.get("Content-Encoding");
    let document = decoded(coding, body, MOST_BYTES).map_err(|error| error.to_string())?;
    Ok(named_parts(&document, url))
}

/// What a file names, in words.
fn described(named: &NamedParts) -> String {
    let NamedParts {
        paths,
        elsewhere,
        refused,
        is_cut,
    } = named;
    let mut text = match paths.len() {
        0 => "it names no part".to_owned(),
        1 => "it names 1 part".to_owned(),
        count => format!("it names {count} parts"),
    };
    let listed: Vec<String> = paths
        .iter()
        .take(LISTED)
        .map(|path| redacted_url(path))
        .collect();
    if !listed.is_empty() {
        text.push_str(&format!(": {}", listed.join(", ")));
    }
    if paths.len() > LISTED {
        text.push_str(&format!(" and {} more", paths.len() - LISTED));
    }
    for (count, what) in [
        (*elsewhere, "on other servers"),
        (
            *refused,
            "too many, or with a path that is too long or names a method",
        ),
    ] {
        if count > 0 {
            text.push_str(&format!("; not requested: {count} {what}"));
        }
    }
    if *is_cut {
        text.push_str("; the file is too long, or a tag of it, and was not read to its end");
    }
    text
}
