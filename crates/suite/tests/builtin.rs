//! The built-in suites resolve, and the main one measures the 23 names in their order.

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
