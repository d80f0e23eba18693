//! The one request of a load.

use std::fs;
use std::path::{Path, PathBuf};

use record::Verify;
use suite::{RequestedPaths, Single, StatusSet, StatusTest};

use wire::redact::redacted_target;

use crate::error::RunnerError;

/// Options of the requests of a load, beside method and URL.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// A file of URLs to request in turn.
    pub urls: Option<PathBuf>,
    /// The suite whose loops are repeated, in place of a method.
    pub mix: Option<String>,
    /// The header Depth.
    pub depth: Option<String>,
    /// The body, or `@` and the name of a file that has it.
    pub body: Option<String>,
    /// A file that has the body.
    pub body_file: Option<PathBuf>,
    /// Size of a body of text.
    pub body_size: Option<u64>,
    /// Expected statuses; none: the usual ones of the method.
    pub expect: Vec<StatusTest>,
    /// Verification of responses; `None`: as in the suite.
    pub verify: Option<Verify>,
    /// The server may be changed.
    pub writes: bool,
}

/// The request with these options, to these paths.
pub(super) fn single(
    method: &str,
    paths: RequestedPaths,
    request: &LoadRequest,
) -> Result<Single, RunnerError> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if method.is_empty() || !method.chars().all(token) {
        return Err(RunnerError::Usage(format!(
            "`{}` is no method; write GET, PROPFIND or PUT for example, and the URL after it",
            redacted_target(method)
        )));
    }
    let method = method.to_ascii_uppercase();
    if method == "LOCK" && !has_body(request) {
        return Err(RunnerError::Usage(
            "LOCK without a body only refreshes a lock (RFC 4918, section 9.10.2); give a body with --body, or \
             measure LOCK and UNLOCK in turn: `prestan load --mix locks --writes URL`"
                .to_owned(),
        ));
    }
    let status = if request.expect.is_empty() {
        None
    } else {
        Some(StatusSet(request.expect.clone()))
    };
    Ok(Single {
        headers: headers(&method, request),
        body: body(request)?,
        method,
        paths,
        status,
    })
}

/// True if these options give a body.
pub(super) fn has_body(request: &LoadRequest) -> bool {
    request.body.is_some() || request.body_file.is_some() || request.body_size.is_some()
}

/// A mix defines all of this itself.
pub(super) fn refuse_with_mix(request: &LoadRequest) -> Result<(), RunnerError> {
    let given = [
        ("--depth", request.depth.is_some()),
        ("--body", request.body.is_some()),
        ("--body-file", request.body_file.is_some()),
        ("--body-size", request.body_size.is_some()),
        ("--expect", !request.expect.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(RunnerError::Usage(format!(
            "{option} is for a METHOD; with --mix, the suite defines the requests"
        ))),
    }
}

fn headers(method: &str, request: &LoadRequest) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    if let Some(depth) = &request.depth {
        headers.push(("Depth".to_owned(), depth.clone()));
    }
    let is_xml = matches!(
        method,
        "PROPFIND" | "PROPPATCH" | "REPORT" | "SEARCH" | "LOCK"
    );
    if is_xml && (request.body.is_some() || request.body_file.is_some()) {
        headers.push(("Content-Type".to_owned(), "application/xml".to_owned()));
    }
    headers
}

fn body(request: &LoadRequest) -> Result<Option<Vec<u8>>, RunnerError> {
    let file = request
        .body
        .as_ref()
        .and_then(|text| text.strip_prefix('@'));
    if let (None, Some(text)) = (file, &request.body) {
        return Ok(Some(text.clone().into_bytes()));
    }
    if let Some(path) = file.map(Path::new).or(request.body_file.as_deref()) {
        let read = fs::read(path).map_err(|error| {
            RunnerError::Usage(format!(
                "reading the body from {} failed: {error}",
                path.display()
            ))
        })?;
        return Ok(Some(read));
    }
    Ok(request
        .body_size
        .map(|size| suite::filled(suite::Fill::default(), size as usize)))
}
