//! A plan of one request: `prestan load METHOD URL` as the plan of a suite.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use record::{MeasureId, MeasureRecord, SuiteRecord, TestId, Verify};

use crate::plan::{
    Alternative, Body, HeaderPlan, Limit, LoopPlan, Missing, Plan, RequestPlan, StatusSet,
    StatusTest, Step, TestPlan, Workspace,
};
use crate::resolve::sha256;
use crate::template::{TemplateBounds, Templates, Text};

/// Characters that a path with a query may contain (RFC 3986, sections 3.3 and 3.4), and `%`: paths
/// on the command line are already encoded where necessary.
const PATH_AND_QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A request of one method to one resource, or to several of them in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Single {
    /// Method.
    pub method: String,
    /// Paths below the target, requested in turn.
    pub paths: RequestedPaths,
    /// Headers beside those of every request.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Vec<u8>>,
    /// Accepted statuses; `None`: those of RFC 4918 and RFC 9110.
    pub status: Option<StatusSet>,
}

/// Targets of the requests of a [`Single`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedPaths {
    /// The target itself.
    Target,
    /// These paths below the target, which is a collection.
    Below(Vec<RequestedPath>),
}

/// A path below the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedPath {
    /// Path with query; a template with `n` and `user`.
    pub template: String,
    /// The same with redacted credentials.
    pub shown: String,
}

/// The plan that repeats the request, and its description as text.
///
/// # Errors
/// The defect in the template of a path.
pub fn single(single: &Single) -> Result<(Plan, String), String> {
    let text = described(single);
    let method = &single.method;
    let paths = paths(&single.paths)?;
    let several = paths.len() > 1;
    let steps = paths.into_iter().map(|path| request(single, path));
    let body: Vec<Step> = if several {
        let alternatives = steps.map(|step| Alternative {
            weight: 1.0,
            steps: vec![step],
        });
        vec![Step::Choose(alternatives.collect())]
    } else {
        steps.collect()
    };
    let test = TestPlan {
        title: None,
        id: TestId(0),
        name: method.clone(),
        needs: None,
        shared: true,
        limit: Limit::Requests(1),
        http: None,
        saved: Vec::new(),
        setup: Vec::new(),
        loops: vec![LoopPlan {
            role: 0,
            users: 1,
            steps: body,
        }],
        cleanup: Vec::new(),
        label: None,
    };
    let plan = Plan {
        suite: SuiteRecord {
            name: "load".to_owned(),
            version: 1,
            title: title(single),
            sha256: sha256(text.as_bytes()),
        },
        workspace: Workspace::ReadOnly,
        targets: Vec::new(),
        params: BTreeMap::new(),
        written_params: BTreeMap::new(),
        measures: vec![MeasureRecord {
            name: method.clone(),
            test: TestId(0),
            method: method.clone(),
            by_chance: false,
            conditional: false,
            stop_watch: false,
            unit: None,
            role: 0,
            target: 0,
            verify: Verify::default(),
        }],
        tests: vec![test],
        pages: Vec::new(),
        constraints: Vec::new(),
        roles: Vec::new(),
        stop_watches: Vec::new(),
        conditions: Vec::new(),
        adapt: None,
        background: None,
        capture: None,
    };
    Ok((plan, text))
}

fn title(single: &Single) -> String {
    let method = &single.method;
    match &single.paths {
        RequestedPaths::Target => format!("{method} of one resource"),
        RequestedPaths::Below(paths) => match &paths[..] {
            [path] => format!("{method} of {}", path.shown),
            paths => format!("{method} of {} resources in turn", paths.len()),
        },
    }
}

fn paths(paths: &RequestedPaths) -> Result<Vec<Text>, String> {
    let RequestedPaths::Below(paths) = paths else {
        return Ok(vec![Text::Fixed(String::new())]);
    };
    let (params, bounds) = (BTreeMap::new(), TemplateBounds::default());
    let templates = Templates::new(&params, &[], &bounds);
    let path = |path: &RequestedPath| {
        let text = templates.text(&path.template);
        let text = text.map_err(|error| format!("`{}`: {error}", path.shown))?;
        Ok(text.map_literals(|text| utf8_percent_encode(text, PATH_AND_QUERY).to_string()))
    };
    paths.iter().map(path).collect()
}

fn request(single: &Single, path: Text) -> Step {
    let usual = match single.method.as_str() {
        "PROPFIND" | "PROPPATCH" | "REPORT" | "SEARCH" => StatusTest::Exactly(207),
        _ => StatusTest::Class(2),
    };
    let mut request = RequestPlan::new(&single.method, path, usual);
    if let Some(status) = &single.status {
        request.expect.status = status.clone();
    }
    request.expect.missing = Missing::Noted;
    if let Some(bytes) = &single.body {
        request.body = Body::Fixed(bytes.as_slice().into());
    }
    let headers = single.headers.iter();
    request.headers = headers
        .map(|(name, value)| HeaderPlan::fixed(name, value))
        .collect();
    request.measure = Some(MeasureId(0));
    Step::Request(Arc::new(request))
}

/// Description of the request in lines for people: the run keeps it beside its samples.
fn described(single: &Single) -> String {
    let mut text = "# `prestan load`: one request, again and again\n".to_owned();
    let method = &single.method;
    match &single.paths {
        RequestedPaths::Target => {
            let _ = writeln!(text, "{method} target");
        }
        RequestedPaths::Below(paths) => {
            for path in paths {
                let _ = writeln!(text, "{method} target/{}", path.shown);
            }
            // Redacted differences count, too.
            let templates: Vec<&str> = paths.iter().map(|path| &*path.template).collect();
            let digest = sha256(templates.join("\n").as_bytes());
            let _ = writeln!(text, "# SHA-256 of these paths: {digest}");
        }
    }
    for (name, value) in &single.headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    if let Some(body) = &single.body {
        let digest = sha256(body);
        let _ = writeln!(text, "body: {} bytes, SHA-256 {digest}", body.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requested(paths: &[&str]) -> Result<Plan, String> {
        let path = |path: &&str| RequestedPath {
            template: (*path).to_owned(),
            shown: (*path).to_owned(),
        };
        let (plan, _) = single(&Single {
            method: "GET".to_owned(),
            paths: RequestedPaths::Below(paths.iter().map(path).collect()),
            headers: Vec::new(),
            body: None,
            status: None,
        })?;
        Ok(plan)
    }

    #[test]
    fn paths_are_requested_in_turn_and_have_one_row() {
        let plan = requested(&["a b?x=1&y=%20", "f-{{ n % 3 }}"]).unwrap();
        let requests: Vec<&Text> = plan.requests().map(|request| &request.path).collect();
        assert_eq!(*requests[0], Text::Fixed("a%20b?x=1&y=%20".to_owned()));
        assert!(matches!(requests[1], Text::Live(_)), "{requests:?}");
        assert_eq!(plan.operations().len(), 2);
        assert_eq!(plan.measures.len(), 1);
        assert_eq!(plan.suite.title, "GET of 2 resources in turn");
    }

    #[test]
    fn what_is_wrong_with_a_template_is_an_error() {
        for (template, why) in [
            ("{{ m }}", "not known"),
            ("{{ n % 0 }}", "division by zero"),
        ] {
            let refused = requested(&[template]).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
