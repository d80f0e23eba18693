//! Where the responses of a row came from, for programs.

use schemars::JsonSchema;
use serde::Serialize;
use stats::ResponseOrigins;

/// Responses from a cache: their times are those of the cache.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Cached", deny_unknown_fields)]
pub(crate) struct CachedJson {
    /// How many.
    pub(crate) responses: u64,
    /// What the caches are called.
    pub(crate) by: Vec<String>,
}

/// Responses from one of several addresses of a server.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Address", deny_unknown_fields)]
pub(crate) struct AddressJson {
    /// Address and port.
    pub(crate) address: String,
    /// How many.
    pub(crate) responses: u64,
}

/// Responses from caches; `None` where none came from one.
pub(crate) fn cached(of: &ResponseOrigins) -> Option<CachedJson> {
    (of.cached > 0).then(|| CachedJson {
        responses: of.cached,
        by: of.caches.clone(),
    })
}

/// Responses from each address, where there are several.
pub(crate) fn addresses(of: &ResponseOrigins) -> Vec<AddressJson> {
    let all = of.addresses.iter().map(|own| AddressJson {
        address: own.address.clone(),
        responses: own.responses,
    });
    all.collect()
}
