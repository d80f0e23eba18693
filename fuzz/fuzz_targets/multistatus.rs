//! No body may cause a panic or a hang, or exceed the limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::coding::decoded;
use wire::dav::{
    XmlLimits, condition, href_path, lock_token_from_body, parse_multistatus, same_resource,
};

fuzz_target!(|body: &[u8]| {
    let limits = XmlLimits {
        bytes: 4096,
        depth: 16,
        responses: 8,
        properties: 32,
    };
    if let Ok(multistatus) = parse_multistatus(body, &limits) {
        assert!(multistatus.responses.len() <= limits.responses);
        for response in &multistatus.responses {
            href_path(&response.href);
            assert!(same_resource(&response.href, &response.href));
            assert!(
                response
                    .statuses()
                    .all(|status| (100..1000).contains(&status))
            );
        }
    }
    lock_token_from_body(body);
    condition(body);
    if let Ok(unpacked) = decoded(Some("gzip"), body, limits.bytes) {
        assert!(unpacked.len() <= limits.bytes);
    }
});
