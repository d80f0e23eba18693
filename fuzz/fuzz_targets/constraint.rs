//! No text may make the language of constraints panic, and its output means the same.

#![no_main]

use std::collections::BTreeMap;

use constraint::{Constraint, Scope};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parsed = match Constraint::parse(text) {
        Ok(parsed) => parsed,
        Err(error) => return assert!(error.offset <= text.len().max(2000)),
    };
    assert_eq!(Constraint::parse(&parsed.to_string()).as_ref(), Ok(&parsed));
    let scope = Scope {
        components: None,
        subject: constraint::ConstraintSubject::Run,
        measurements: vec!["Get", "Put"],
        parameters: BTreeMap::from([("width", 10.0)]),
        constraints: BTreeMap::from([("other", &parsed)]),
    };
    let _ = parsed.check(&scope);
});
