//! Experiments that are part of the program.

use yaml::BuiltinFile;

macro_rules! builtin {
    ($name:literal) => {
        BuiltinFile {
            name: $name,
            text: include_str!(concat!("../../../experiments/", $name, ".yaml")),
        }
    };
}

/// Those of `experiments/`.
pub const BUILTIN_EXPERIMENTS: &[BuiltinFile] = &[
    builtin!("congestion"),
    builtin!("competing"),
    builtin!("timers"),
    builtin!("minimum-rto"),
    builtin!("pairs"),
    builtin!("features"),
    builtin!("ipv6"),
    builtin!("http-versions"),
];
