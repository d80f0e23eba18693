//! Changes that a load may make on a server.
//!
//! | request | may be sent |
//! |---|---|
//! | a method that only reads | always |
//! | PUT of a new resource | always; it is removed at the end, except by a search |
//! | LOCK of a new resource | with `--writes`; it is removed at the end, except by a search |
//! | PUT of an existing resource, any other method | with `--writes` |
//! | several resources in turn: a method that makes some | never |
//! | a mix with such requests | with `--writes`, in a collection of its own |

use engine::{Presence, RunPlace};
use suite::{Body, Plan, Workspace};
use wire::target::Target;

use crate::error::RunnerError;

/// Methods that change nothing: those of suites that only read, and TRACE, which suites cannot
/// send.
fn reading() -> impl Iterator<Item = &'static str> {
    suite::READING.iter().copied().chain(["TRACE"])
}

/// The permission of a request, before any is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Permitted.
    Granted,
    /// Permitted if there is no resource at the target.
    IfAbsent,
}

/// Methods of a plan that change something.
fn changing(plan: &Plan) -> Vec<String> {
    let methods = plan.requests().map(|request| request.method.clone());
    let mut changing: Vec<String> = methods
        .filter(|method| !reading().any(|safe| safe == method))
        .collect();
    changing.sort();
    changing.dedup();
    changing
}

/// The permission of the one request of a plan.
pub fn single(plan: &Plan, writes: bool, target: &Target) -> Result<Permission, RunnerError> {
    match changing(plan).first().map(String::as_str) {
        None if target.names_a_method() && !writes => Err(RunnerError::Usage(format!(
            "the query of {} names another method, and the server may take the request for one \
             with that method, which may change the resource; if that is intended, give --writes",
            target.url()
        ))),
        None => Ok(Permission::Granted),
        Some("PUT") => Ok(Permission::IfAbsent),
        // LOCK makes an empty resource where none is (RFC 4918, section 7.3).
        Some("LOCK") if writes => Ok(Permission::IfAbsent),
        Some(_) if writes => Ok(Permission::Granted),
        Some(method) => Err(RunnerError::Usage(format!(
            "{method} {} may change the server, and cannot be undone; if that is intended, give --writes \
             ({}, and PUT where nothing is, need no permission)",
            target.url(),
            reading().collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// The permission of the requests of a plan to several resources, at these URLs.
pub fn several(plan: &Plan, writes: bool, urls: &[Target]) -> Result<Permission, RunnerError> {
    let makes = ["PUT", "MKCOL", "COPY", "MOVE", "LOCK"];
    if let Some(method) = changing(plan)
        .iter()
        .find(|making| makes.contains(&making.as_str()))
    {
        return Err(RunnerError::Usage(format!(
            "{method} of several resources may leave new ones on the server; write a suite, which \
             works in a collection of its own and removes it, and run it with --mix SUITE --writes"
        )));
    }
    let permissions = urls.iter().map(|url| single(plan, writes, url));
    permissions.fold(Ok(Permission::Granted), Result::and)
}

/// The permission of the requests of a suite.
pub fn mix(plan: &mut Plan, writes: bool) -> Result<Permission, RunnerError> {
    if let Err((one, other)) = plan.http() {
        return Err(RunnerError::Usage(format!(
            "the suite `{}` cannot be one load: its tests {one} and {other} use connections in different ways \
             (key `http`); choose one of them, as in `prestan run ... --beside {},only={one}`",
            plan.suite.name, plan.suite.name
        )));
    }
    let changing = changing(plan);
    if !changing.is_empty() && !writes {
        return Err(RunnerError::Usage(format!(
            "the mix `{}` changes the server: it sends {}; if that is intended, give --writes, and it \
             works in a collection of its own, which is removed at the end",
            plan.suite.name,
            changing.join(", ")
        )));
    }
    if changing.is_empty() {
        // Nothing is made, so resources are read below the target itself.
        plan.workspace = Workspace::ReadOnly;
    }
    Ok(Permission::Granted)
}

/// Looks for a resource at the target if the permission depends on it; true if the run will make
/// one.
pub fn look(permission: Permission, place: &RunPlace, writes: bool) -> Result<bool, RunnerError> {
    let target = &place.endpoint.target;
    match permission {
        Permission::Granted => return Ok(false),
        // The new resource may be a collection, or be in one with other names.
        Permission::IfAbsent if target.path().ends_with('/') && !writes => {
            return Err(RunnerError::Usage(format!(
                "PUT {}: this is the URL of a collection; append the name of a new resource",
                target.url()
            )));
        }
        Permission::IfAbsent if target.path().ends_with('/') => return Ok(false),
        Permission::IfAbsent => {}
    }
    match engine::look(place).map_err(RunnerError::from)? {
        Presence::Absent => Ok(true),
        Presence::There(_) | Presence::Unknown(_) if writes => Ok(false),
        Presence::There(answer) => Err(RunnerError::Usage(format!(
            "PUT {} would overwrite a resource ({answer}), and cannot be undone; give a URL without a \
             resource, where it is removed at the end, or --writes",
            target.url()
        ))),
        Presence::Unknown(answer) => Err(RunnerError::Usage(format!(
            "PUT {}: whether a resource is there, which it would overwrite, is not known ({answer}); if none is, or it may \
             be lost, give --writes",
            target.url()
        ))),
    }
}

/// Bytes of the resource that the one request of a plan makes; `None` if they may change.
pub(crate) fn length_of_made(plan: &Plan) -> Option<u64> {
    let request = plan.requests().next()?;
    match &request.body {
        _ if request.method == "LOCK" => Some(0),
        Body::None => Some(0),
        Body::Fixed(bytes) => Some(bytes.len() as u64),
        Body::Live(_) => None,
    }
}
