//! No file list may panic or hang; one that can be read makes a suite that can be run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use suite::{Overrides, parse, resolve};
use webstone::FileList;

fuzz_target!(|text: &str| {
    let Ok(list) = FileList::parse("fuzz.list", text) else {
        return;
    };
    assert!(!list.pages.is_empty());
    assert!(list.pages.iter().all(|page| !page.files.is_empty()));
    let text = list.suite_text("fuzz");
    let spec = parse("fuzz", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let plan = resolve("fuzz", &text, &spec, &Overrides::default());
    let plan = plan.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(plan.pages.len(), list.pages.len());
});
