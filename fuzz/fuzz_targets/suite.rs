//! No suite file may cause a panic or a hang; plans have unique names.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use suite::{Overrides, parse, resolve};

fuzz_target!(|text: &str| {
    let Ok(spec) = parse("fuzz", text) else {
        return;
    };
    // A million members or a gigabyte of body is allowed, and not a defect.
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if text
        .as_bytes()
        .windows(4)
        .any(|four| digits(&String::from_utf8_lossy(four)))
    {
        return;
    }
    if let Ok(plan) = resolve("fuzz", text, &spec, &Overrides::default()) {
        let names: BTreeSet<&str> = plan
            .measures
            .iter()
            .map(|measure| measure.name.as_str())
            .collect();
        assert_eq!(names.len(), plan.measures.len());
        assert!(!names.is_empty());
    }
});
