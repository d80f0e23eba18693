//! No document may cause a panic or a hang, and the files that it names can be requested.

#![no_main]

use html::{MOST_PARTS, named_parts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| {
    let named = named_parts(document, "http://h:81/a/index.html");
    assert!(named.paths.len() <= MOST_PARTS);
    for path in named.paths {
        assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()));
    }
});
