//! Experiments that are part of the program.

/// An experiment of `experiments/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinExperiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl BuiltinExperiment {
    /// The experiment of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static BuiltinExperiment> {
        BUILTIN_EXPERIMENTS.iter().find(|own| own.name == name)
    }

    /// The name of an experiment that is similar to this one.
    #[must_use]
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest::meant(name, BUILTIN_EXPERIMENTS.iter().map(|own| own.name))
    }
}

macro_rules! builtin {
    ($name:literal) => {
        BuiltinExperiment {
            name: $name,
            text: include_str!(concat!("../../../experiments/", $name, ".yaml")),
        }
    };
}

/// All of them.
pub const BUILTIN_EXPERIMENTS: &[BuiltinExperiment] = &[
    builtin!("congestion"),
    builtin!("competing"),
    builtin!("timers"),
    builtin!("minimum-rto"),
    builtin!("pairs"),
    builtin!("features"),
    builtin!("ipv6"),
    builtin!("http-versions"),
];
