//! A derive that derives nothing.

use proc_macro::TokenStream;

/// Accepts the attributes of the derive of `schemars`.
#[proc_macro_derive(JsonSchema, attributes(schemars))]
pub fn none(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
