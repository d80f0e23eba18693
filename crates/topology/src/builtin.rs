//! Labs that are part of the program.

use yaml::BuiltinFile;

macro_rules! builtin {
    ($name:literal) => {
        BuiltinFile {
            name: $name,
            text: include_str!(concat!("../../../labs/", $name, ".yaml")),
        }
    };
}

/// Those of `labs/`.
pub const BUILTIN_LABS: &[BuiltinFile] = &[
    builtin!("link"),
    builtin!("congestion"),
    builtin!("competing"),
    builtin!("ipv6"),
    builtin!("one-segment"),
    builtin!("segments"),
    builtin!("bare"),
];
