//! The one rule for tests that need a program which may not be installed.

use std::env;

/// True if `program` is installed, so that a test that needs it can run.
///
/// A missing program skips the test on a developer's machine, with a message on standard error, and
/// fails it in CI (where the environment variable `CI` is set): a check that silently never runs is
/// worse than none.
///
/// # Panics
///
/// The program is missing and `CI` is set.
pub fn need(program: &str) -> bool {
    need_or(crate::real::find_program(program).ok_or_else(|| format!("{program} is not installed")))
        .is_some()
}

/// Like [`need`], for more than a single program: returns the value, or skips or fails the test.
///
/// # Panics
///
/// The value is missing and `CI` is set.
pub fn need_or<T>(found: Result<T, impl std::fmt::Display>) -> Option<T> {
    match found {
        Ok(value) => Some(value),
        Err(missing) if env::var_os("CI").is_none() => {
            eprintln!("skipped: {missing}; `cargo xtask setup` installs what tests need");
            None
        }
        Err(missing) => panic!("{missing}; in CI it must be there: run `cargo xtask setup` first"),
    }
}
