//! The parts of a page that its first file names.

use std::rc::Rc;

use html::{MOST_BYTES, NamedParts, named_parts};
use record::EventKind;
use wire::coding::beginning;
use wire::redact::redacted_link;
use wire::response::ResponseHead;

use super::{Attempt, Log};
use crate::connection::client::Client;
use crate::drive::step::{ReadPage, RequestStep};

/// Parts that a note lists.
const LISTED: usize = 40;

impl Log {
    /// The parts that the file names which a client has just received; `stands_for` contains their
    /// common fields.
    ///
    /// # Errors
    /// The file cannot be read, with the reason.
    pub(super) fn parts(
        &self,
        client: &Client,
        attempt: &Attempt<'_>,
        stands_for: &RequestStep,
    ) -> Result<Rc<[Rc<RequestStep>]>, String> {
        let begun = self.context.clock.now();
        let first = attempt.step;
        let config = &self.worker.configs_of(self.id)[first.target()];
        let url = config.target.absolute(&first.path(&attempt.values()));
        let parts = match stands_for.found.known(&url, client.body()) {
            Some(parts) => Ok(parts),
            None => self.read_parts(client, first, stands_for, url),
        };
        self.worker.vitals.excuse(self.context.clock.now() - begun);
        parts
    }

    fn read_parts(
        &self,
        client: &Client,
        first: &RequestStep,
        stands_for: &RequestStep,
        url: String,
    ) -> Result<Rc<[Rc<RequestStep>]>, String> {
        let (Some(head), body) = (client.head(), client.body()) else {
            unreachable!("a response that is expected has a head");
        };
        let named = read(head, body, &url)?;
        let text = described(&named, &url);
        if let Some(measure) = first.plan.measure.or(stands_for.plan.measure)
            && stands_for.found.is_news(&text)
        {
            let journal = &self.context.journal;
            journal.write(EventKind::Note { measure, text });
        }
        let parts = named.paths.iter();
        let parts: Rc<[_]> = parts.map(|path| Rc::new(stands_for.part(path))).collect();
        stands_for.found.keep(ReadPage {
            url,
            body: body.to_vec(),
            parts: Rc::clone(&parts),
        });
        Ok(parts)
    }
}

/// The files that the body of a response names.
fn read(head: &ResponseHead, body: &[u8], url: &str) -> Result<NamedParts, String> {
    let kind = head.headers.get("Content-Type");
    let other = kind.filter(|kind| !kind.to_ascii_lowercase().contains("html"));
    if let Some(other) = other {
        return Err(format!(
            "a page of HTML was expected, whose parts are requested (Content-Type: {})",
            other.escape_default()
        ));
    }
    let coding = head.headers.get("Content-Encoding");
    // Of a longer body, one byte more was kept (`KeptBody::Beginning`).
    let is_whole = body.len() <= MOST_BYTES;
    let read = beginning(coding, body, is_whole, MOST_BYTES);
    let (document, has_more) = read.map_err(|error| format!("its parts are not known: {error}"))?;
    let named = named_parts(&document, url);
    Ok(NamedParts {
        is_cut: named.is_cut || has_more,
        ..named
    })
}

/// The files that the file at that URL names, as text: parts beside or below it without the path
/// that they share.
fn described(named: &NamedParts, url: &str) -> String {
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
    let rest = url.split("://").nth(1).unwrap_or_default();
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let path = path.split('?').next().unwrap_or_default();
    let directory = &path[..path.rfind('/').map_or(0, |at| at + 1)];
    let listed: Vec<String> = paths
        .iter()
        .take(LISTED)
        .map(|path| redacted_link(path.strip_prefix(directory).unwrap_or(path)))
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
