//! The built-in suites resolve, and the main one measures the 23 names in their order.

use std::sync::Arc;

use builtin::{BuiltinFile, SUITES};
use suite::{Body, Overrides, Piece, Plan, RequestPlan, Variable, parse, resolve};

const NAMES: [&str; 23] = [
    "ProppatchMult",
    "ProppatchSingle",
    "PropfindDeadMult",
    "PropfindDeadSingle",
    "PropfindLiveMult",
    "PropfindLiveSingle",
    "Put1K",
    "Get1K",
    "Put64K",
    "Get64K",
    "Put1024K",
    "Get1024K",
    "Copy",
    "Move",
    "Delete",
    "MkCol",
    "CopyCol",
    "MoveCol",
    "DeleteCol",
    "Lock",
    "UnLock",
    "LockCol",
    "UnLockCol",
];

#[test]
fn every_built_in_suite_resolves_with_its_defaults() {
    for builtin in SUITES {
        let spec = parse(builtin.name, builtin.text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.suite.value, builtin.name);
        let plan = resolve(builtin.name, builtin.text, &spec, &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"));
        // Serialising does not change it.
        let sent = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&sent).unwrap(), plan);
    }
}

/// The plan of a built-in suite, with parameters as the command line sets them.
fn plan(suite: &str, params: &[(&str, &str)]) -> Plan {
    let builtin = BuiltinFile::find(SUITES, suite).unwrap();
    let spec = parse(builtin.name, builtin.text).unwrap();
    let params = params.iter();
    let params = params.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let overrides = Overrides {
        params: params.collect(),
        ..Overrides::default()
    };
    resolve(builtin.name, builtin.text, &spec, &overrides).unwrap()
}

/// Tests and rows of that plan.
fn names(suite: &str, params: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let plan = plan(suite, params);
    (
        plan.tests.into_iter().map(|test| test.name).collect(),
        plan.measures.into_iter().map(|row| row.name).collect(),
    )
}

#[test]
fn a_list_makes_one_test_of_every_value() {
    let (tests, rows) = names("listing", &[]);
    assert_eq!(tests.len(), 12);
    assert_eq!(tests[..2], ["Filesx10", "Filesx100"]);
    assert_eq!(rows.len(), 24);
    assert_eq!(rows[..3], ["Depth0x10", "Depth1x10", "Allpropx10"]);
    let (tests, rows) = names("locks", &[("held", "0, 7")]);
    assert_eq!(tests, ["Heldx0", "Heldx7", "Shared", "Contention"]);
    assert_eq!(rows[..2], ["LockHeldx0", "RefreshHeldx0"]);
    assert_eq!(rows[5], "LockHeldx7");
}

#[test]
fn one_value_leaves_names_as_they_are() {
    let (tests, rows) = names("listing", &[("members", "35")]);
    assert_eq!(tests, ["Files", "Collections", "Infinity"]);
    assert_eq!(
        rows,
        [
            "Depth0",
            "Depth1",
            "Allprop",
            "Propname",
            "Collections",
            "Infinity"
        ]
    );
}

/// The body of the request of that measure, in the seventh iteration.
fn body_of(plan: &Plan, measure: &str) -> Vec<u8> {
    let id = plan.measures.iter().position(|row| row.name == measure);
    assert!(id.is_some(), "{measure}");
    let is_measured =
        |request: &&Arc<RequestPlan>| request.measure.map(|id| usize::from(id.0)) == id;
    match &plan.looped_requests().find(is_measured).unwrap().body {
        Body::Fixed(bytes) => bytes.to_vec(),
        Body::Live(text) => {
            let pieces = text.0.pieces().iter();
            let filled = pieces.map(|piece| match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Variable(Variable::Iteration) => "7",
                other => panic!("{other:?}"),
            });
            filled.collect::<String>().into_bytes()
        }
        Body::None => Vec::new(),
    }
}

/// Content-Length of the requests printed by Xu (2004, sections 5.1, 5.2 and 5.4).
#[test]
fn bodies_have_the_lengths_that_were_printed_in_2004() {
    let plan = plan("prestan", &[]);
    // Ours has `-N` behind the value of each property.
    let ours = |properties: usize| properties * "-7".len();
    let table = [
        ("ProppatchMult", 1065 + ours(10)),
        ("ProppatchSingle", 192 + ours(1)),
        ("PropfindDeadMult", 611),
        ("PropfindDeadSingle", 143),
        ("PropfindLiveMult", 404),
        ("PropfindLiveSingle", 121),
        ("Put1K", 1024),
        ("Put64K", 65_536),
        ("Put1024K", 1_048_576),
        ("Lock", 179),
        ("LockCol", 179),
    ];
    for (measure, length) in table {
        let body = body_of(&plan, measure);
        assert_eq!(body.len(), length, "{measure}");
        let text = String::from_utf8(body).unwrap();
        if !measure.starts_with("Put") {
            assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
        }
    }
}

#[test]
fn prestan_measures_the_23_names_of_2004_in_their_order() {
    assert_eq!(names("prestan", &[]).1, NAMES);
}

#[test]
fn the_sites_of_the_versions_have_the_sizes_of_the_paper() {
    let plan = plan("http-versions", &[]);
    let sites: Vec<(usize, u64)> = plan
        .pages
        .iter()
        .map(|page| (page.files.len(), page.bytes.unwrap()))
        .collect();
    assert_eq!(sites, [[(13, 80_000); 6], [(6, 545_000); 6]].concat());
    let uses: Vec<String> = plan.tests[..6]
        .iter()
        .map(|test| test.http.unwrap().to_string())
        .collect();
    let expected = [
        "HTTP/1.0, a connection for each request",
        "HTTP/1.0, a connection for each request, 4 connections a user, all files of a page at once",
        "HTTP/1.1, new connections for each page",
        "HTTP/1.1, 16 requests pipelined, new connections for each page, all files of a page at once",
        "HTTP/1.0, 4 connections a user, new connections for each page",
        "HTTP/1.0, new connections for each page",
    ];
    assert_eq!(uses, expected);
    let again = plan.tests[6..].iter().map(|test| test.http);
    assert!(again.eq(plan.tests[..6].iter().map(|test| test.http)));
    // As one load they would all be on the same connections.
    assert_eq!(
        plan.http(),
        Err(("Serial_13".to_owned(), "Parallel_13".to_owned()))
    );
}

#[test]
fn the_nearest_key_decides_what_is_verified() {
    let text = "suite: s
verify: head
tests:
  - name: T
    loop:
      - GET: a
        measure: OfSuite
      - GET: b
        measure: Own
        verify: full
      - GET: c
      - page: P
        measure: OfPage
        verify: none
        steps: [{GET: d}, {GET: e, measure: OfFile, verify: first}]
  - name: U
    verify: none
    loop: [{GET: a, measure: OfTest}, {GET: b, measure: OfTest, verify: first}]
";
    let plan = |verify| {
        let spec = parse("s", text).unwrap();
        let overrides = Overrides {
            verify,
            ..Overrides::default()
        };
        resolve("s", text, &spec, &overrides).unwrap()
    };
    let verified = |plan: &Plan| -> Vec<(String, &'static str)> {
        let rows = plan.measures.iter();
        rows.map(|row| (row.name.clone(), row.verify.name()))
            .collect()
    };
    let found = verified(&plan(None));
    let found: Vec<(&str, &str)> = found.iter().map(|(name, how)| (&**name, *how)).collect();
    let expected = [
        ("OfSuite", "head"),
        ("Own", "full"),
        ("OfPage", "none"),
        ("OfFile", "first"),
        // The least verification of its requests.
        ("OfTest", "none"),
    ];
    assert_eq!(found, expected);
    // Unmeasured requests are verified, because others may depend on them.
    let unchanged = plan(None);
    let unmeasured = unchanged
        .looped_requests()
        .find(|request| request.measure.is_none());
    assert_eq!(unmeasured.unwrap().verify, record::Verify::First);
    let all = plan(Some(record::Verify::Full));
    assert!(verified(&all).iter().all(|(_, how)| *how == "full"));
}
