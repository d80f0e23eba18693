//! Resources that a run makes on the server and removes at the end.

use engine::{RunError, RunPlace, RunSpec};
use record::{EventKind, LeftBehind};

use super::ended::EndedRun;
use crate::load::guard;

/// URLs of resources that the run makes on the server and removes at the end.
pub(super) fn created_urls(spec: &RunSpec, place: &RunPlace, makes_target: bool) -> Option<String> {
    let url = place.endpoint.target.url();
    match spec.plan.workspace {
        suite::Workspace::Collection | suite::Workspace::Furnished => {
            let name = engine::collection_name(&spec.run_id);
            let urls = place.endpoints().map(|endpoint| endpoint.target.url());
            let made: Vec<String> = urls.map(|url| format!("{url}{name}/")).collect();
            Some(made.join(" and "))
        }
        suite::Workspace::ReadOnly => makes_target.then_some(url),
    }
}

/// True if a run that ended so may have changed the server.
fn may_have_sent(error: &RunError) -> bool {
    matches!(error, RunError::Interrupted | RunError::Local(_))
}

/// Notes the target, which the run makes, for `prestan clean`, in case the run is killed; warns if
/// that is not possible. True if it is noted.
pub(super) fn note_target(spec: &RunSpec, place: &RunPlace) -> bool {
    let noted = engine::note_target(&spec.run_id, place, guard::length_of_made(&spec.plan));
    if let Err(why) = &noted {
        log::warn!(
            "{} is not noted for `prestan clean`: {why}; if this run is killed, \
             remove it by hand",
            place.endpoint.target.url()
        );
    }
    noted.is_ok()
}

/// Removes the target that the run made, and its note; a failure is recorded.
pub(super) fn remove_target(run: &mut EndedRun<'_>, is_noted: bool) {
    let was_sent = run.finished.error.as_ref().is_none_or(may_have_sent);
    let removed = if was_sent {
        engine::remove(run.place, run.cancel)
    } else {
        Ok(())
    };
    let Err(reason) = removed else {
        engine::forget_target(&run.spec.run_id, run.place);
        return;
    };
    let url = run.place.endpoint.target.url();
    let remedy = if is_noted {
        let collection = collection_above(&url);
        format!("`prestan clean {collection}` removes it later")
    } else {
        "remove it by hand".to_owned()
    };
    let left = LeftBehind {
        reason: format!("{reason}; this run made it, {remedy}"),
        url,
        own: true,
    };
    run.add(EventKind::LeftBehind(left));
}

/// The URL of the collection of a resource.
fn collection_above(url: &str) -> &str {
    let path = url.split('?').next().unwrap_or(url);
    path.rfind('/').map_or(path, |slash| &path[..=slash])
}
