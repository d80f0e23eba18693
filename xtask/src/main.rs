//! Chores of this project: `cargo xtask TASK`.

mod setup;

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let task = env::args().nth(1);
    let outcome = match task.as_deref() {
        Some("setup") => setup::run(),
        _ => {
            eprintln!("usage: cargo xtask setup");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
