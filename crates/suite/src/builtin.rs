//! The suites that are part of the program.

use yaml::BuiltinFile;

macro_rules! builtin {
    ($name:literal) => {
        BuiltinFile {
            name: $name,
            text: include_str!(concat!("../suites/", $name, ".yaml")),
        }
    };
}

/// Those of `suites/`, as in `prestan run NAME URL`.
pub const BUILTIN: &[BuiltinFile] = &[
    builtin!("prestan"),
    builtin!("listing"),
    builtin!("locks"),
    builtin!("features"),
    builtin!("sizes"),
    builtin!("calendar"),
    builtin!("http-versions"),
];
