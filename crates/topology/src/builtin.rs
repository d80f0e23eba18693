//! Labs that are part of the program.

/// A lab of `labs/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinLab {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl BuiltinLab {
    /// The lab of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static BuiltinLab> {
        BUILTIN_LABS.iter().find(|lab| lab.name == name)
    }

    /// The name of a lab that is similar to this one.
    #[must_use]
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest::meant(name, BUILTIN_LABS.iter().map(|lab| lab.name))
    }
}

macro_rules! builtin {
    ($name:literal) => {
        BuiltinLab {
            name: $name,
            text: include_str!(concat!("../../../labs/", $name, ".yaml")),
        }
    };
}

/// All of them.
pub const BUILTIN_LABS: &[BuiltinLab] = &[
    builtin!("link"),
    builtin!("congestion"),
    builtin!("competing"),
    builtin!("ipv6"),
    builtin!("one-segment"),
    builtin!("segments"),
    builtin!("bare"),
];
