//! The suites that are part of the program.

/// A suite that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name, as in `prestan run NAME URL`.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

/// All built-in suites.
pub const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "prestan",
        text: include_str!("../suites/prestan.yaml"),
    },
    Builtin {
        name: "listing",
        text: include_str!("../suites/listing.yaml"),
    },
    Builtin {
        name: "locks",
        text: include_str!("../suites/locks.yaml"),
    },
    Builtin {
        name: "features",
        text: include_str!("../suites/features.yaml"),
    },
    Builtin {
        name: "sizes",
        text: include_str!("../suites/sizes.yaml"),
    },
    Builtin {
        name: "calendar",
        text: include_str!("../suites/calendar.yaml"),
    },
    Builtin {
        name: "http-versions",
        text: include_str!("../suites/http-versions.yaml"),
    },
];

impl Builtin {
    /// The suite of that name.
    pub fn find(name: &str) -> Option<&'static Builtin> {
        BUILTIN.iter().find(|builtin| builtin.name == name)
    }
}
