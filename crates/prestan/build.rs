//! Refuses other systems in one sentence, before the errors of what needs Linux (epoll, the
//! kernel's time stamps) would fill the screen.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system != "linux" {
        println!(
            "cargo::error=Prestan runs on Linux only, and not on {system}: use the container image (Containerfile)"
        );
    }
}
