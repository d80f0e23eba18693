//! The built-in suites resolve, and the main one measures the 23 names in their order.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use suite::{BUILTIN, Overrides, parse, resolve};

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
    for builtin in BUILTIN {
        let spec = parse(builtin.name, builtin.text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(spec.suite.value, builtin.name);
        resolve(builtin.name, builtin.text, &spec, &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Tests and rows of a built-in suite, with parameters as the command line sets them.
fn names(suite: &str, params: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let builtin = suite::Builtin::find(suite).unwrap();
    let spec = parse(builtin.name, builtin.text).unwrap();
    let params = params.iter().map(|(name, value)| {
        let value = suite::param_value(value);
        ((*name).to_owned(), value)
    });
    let overrides = Overrides {
        params: params.collect(),
        ..Overrides::default()
    };
    let plan = resolve(builtin.name, builtin.text, &spec, &overrides).unwrap();
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

#[test]
fn prestan_measures_the_23_names_of_2004_in_their_order() {
    let builtin = suite::Builtin::find("prestan").unwrap();
    let spec = parse(builtin.name, builtin.text).unwrap();
    let plan = resolve(builtin.name, builtin.text, &spec, &Overrides::default()).unwrap();
    let names: Vec<&str> = plan
        .measures
        .iter()
        .map(|measure| measure.name.as_str())
        .collect();
    assert_eq!(names, NAMES);
}
