//! Files that a run puts into its collection before it measures, so that there is something to
//! fetch. They are read back before they are relied on, and are removed with the collection.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use record::Outcome;

use crate::connection::client::{Client, PlainRequest};
use crate::error::RunError;
use crate::event_loop::cancel::Cancel;

/// X-Prestan of these requests.
const LABEL: &str = "prestan: 0 (preparation)";

/// A file to be published.
#[derive(Clone)]
pub struct Publish {
    /// Path below the collection of the run, percent-encoded.
    pub path: String,
    /// Makes its content: files are in memory one at a time.
    pub content: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
}

impl fmt::Debug for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Publish");
        shown.field("path", &self.path).finish_non_exhaustive()
    }
}

/// Puts files below `root`, a path on the server, and reads them back.
pub(crate) async fn publish(
    client: &mut Client,
    root: &str,
    files: &[Publish],
    cancel: &Cancel,
) -> Result<(), RunError> {
    let mut made = BTreeSet::new();
    for Publish { path, content } in files {
        if cancel.is_cancelled() {
            return Err(RunError::Interrupted);
        }
        for collection in collections_above(path) {
            if made.insert(collection) {
                let path = format!("{root}{collection}");
                done(client, PlainRequest::bare("MKCOL", &path, LABEL)).await?;
            }
        }
        let (path, bytes) = (format!("{root}{path}"), content());
        let put = PlainRequest {
            body: Some(&bytes),
            ..PlainRequest::bare("PUT", &path, LABEL)
        };
        done(client, put).await?;
        let get = PlainRequest {
            keep_body: true,
            ..PlainRequest::bare("GET", &path, LABEL)
        };
        done(client, get).await?;
        if client.body() != bytes {
            let what = format!(
                "the content received differs from the content sent ({} bytes instead of {})",
                client.body().len(),
                bytes.len()
            );
            return Err(failed("GET", &client.absolute(&path), &what));
        }
    }
    Ok(())
}

/// The collections that contain a file, the outermost first: `a/`, `a/b/` of `a/b/c`.
fn collections_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..=at])
}

async fn done(client: &mut Client, request: PlainRequest<'_>) -> Result<(), RunError> {
    let (method, url) = (request.method, client.absolute(request.path));
    let exchange = client.perform(request).await;
    let by_first_attempt = exchange.repeats(method);
    match exchange.result {
        Ok(_) if by_first_attempt => Ok(()),
        Ok(head) if (200..300).contains(&head.status) => Ok(()),
        Ok(head) => {
            let what = format!("the server returned {}", head.status_text());
            Err(failed(method, &url, &what))
        }
        Err(failure) if failure.outcome == Outcome::Cancelled => Err(RunError::Interrupted),
        Err(failure) => Err(failed(method, &url, &failure.what)),
    }
}

fn failed(method: &str, url: &str, what: &str) -> RunError {
    RunError::NoWorkspace(format!(
        "putting the files of the pages there failed: {method} {url}: {what}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_above_a_file() {
        let above = |path| collections_above(path).collect::<Vec<_>>();
        assert_eq!(above("a/b/c"), ["a/", "a/b/"]);
        assert_eq!(above("c"), [""; 0]);
    }
}
