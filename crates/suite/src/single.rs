//! A plan of one request: what `prestan load METHOD URL` does, as the plan of a suite.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use record::{MeasureId, MeasureRecord, SuiteRecord, TestId};

use crate::plan::{
    Body, Expect, HeaderPlan, Limit, Missing, Plan, RequestPlan, StatusSet, StatusTest, Step,
    TestPlan, Workspace,
};
use crate::resolve::sha256;
use crate::template::Text;

/// One request, as somebody asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Single {
    /// Method.
    pub method: String,
    /// Headers beside those of every request.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Vec<u8>>,
    /// Accepted statuses; `None` for what RFC 4918 and RFC 9110 promise.
    pub status: Option<StatusSet>,
}

/// The plan that sends it, again and again, to the target itself; and its description as text.
pub fn single(single: &Single) -> (Plan, String) {
    let text = described(single);
    let method = &single.method;
    let request = RequestPlan {
        method: method.clone(),
        path: Text::Fixed(String::new()),
        to: None,
        headers: headers(single),
        body: match &single.body {
            Some(bytes) => Body::Fixed(bytes.as_slice().into()),
            None => Body::None,
        },
        expect: Expect {
            status: status(single),
            body: None,
            length: None,
            properties: None,
            responses: None,
            missing: Missing::Noted,
            contains: Vec::new(),
        },
        unsupported: vec![405, 501],
        unsupported_without: Vec::new(),
        save: Vec::new(),
        measure: Some(MeasureId(0)),
    };
    let test = TestPlan {
        id: TestId(0),
        name: method.clone(),
        needs: None,
        shared: true,
        limit: Limit::Requests(1),
        saved: Vec::new(),
        setup: Vec::new(),
        body: vec![Step::Request(Arc::new(request))],
        cleanup: Vec::new(),
    };
    let plan = Plan {
        suite: SuiteRecord {
            name: "load".to_owned(),
            version: 1,
            title: format!("{method} of one resource"),
            sha256: sha256(text.as_bytes()),
        },
        workspace: Workspace::ReadOnly,
        params: BTreeMap::new(),
        measures: vec![MeasureRecord {
            name: method.clone(),
            test: TestId(0),
            method: method.clone(),
            by_chance: false,
        }],
        tests: vec![test],
        pages: Vec::new(),
    };
    (plan, text)
}

fn headers(single: &Single) -> Vec<HeaderPlan> {
    let header = |(name, value): &(String, String)| HeaderPlan {
        name: name.clone(),
        value: Text::Fixed(value.clone()),
    };
    single.headers.iter().map(header).collect()
}

fn status(single: &Single) -> StatusSet {
    let usual = match single.method.as_str() {
        "PROPFIND" | "PROPPATCH" | "REPORT" | "SEARCH" => StatusTest::Exactly(207),
        _ => StatusTest::Class(2),
    };
    single
        .status
        .clone()
        .unwrap_or_else(|| StatusSet(vec![usual]))
}

/// What is sent, in lines for people: the run keeps it beside its samples.
fn described(single: &Single) -> String {
    let mut text = format!(
        "# `prestan load`: one request, again and again\n{} target\n",
        single.method
    );
    for (name, value) in &single.headers {
        let _ = writeln!(text, "{name}: {value}");
    }
    if let Some(body) = &single.body {
        let digest = sha256(body);
        let _ = writeln!(text, "body: {} bytes, SHA-256 {digest}", body.len());
    }
    text
}
