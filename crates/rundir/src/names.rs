//! Names of the files of a run.

use std::ffi::OsStr;

use crate::files::PART;
use crate::samples::segment_number;

pub(crate) const PLAN: &str = "plan.yaml";
pub(crate) const SUITE: &str = "suite.yaml";
pub(crate) const ENV: &str = "env.json";
pub(crate) const EVENTS: &str = "events.jsonl";
/// The packets between a run and its servers, where they are kept.
pub const PACKETS: &str = "packets.pcapng";
/// Directory, in that of a run, of the loads beside it, which are runs of their own.
pub const BESIDE: &str = "beside";

/// True for the name of a file of a run, complete or not.
pub(crate) fn is_of_run(name: &OsStr) -> bool {
    let text = name.to_str().unwrap_or_default();
    let whole = text.strip_suffix(PART).unwrap_or(text);
    [PLAN, SUITE, ENV, EVENTS, PACKETS].contains(&whole) || segment_number(whole.as_ref()).is_some()
}
