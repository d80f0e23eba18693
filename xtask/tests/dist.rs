//! `cargo xtask dist`, with the program of the tests: what is published is whole, works, and is the same
//! each time.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// `cargo test --workspace` makes the program; `cargo test -p xtask` only finds it. In CI it must be there.
#[test]
fn what_is_published_works_and_is_the_same_twice() {
    let test = env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap();
    let program = directory.join("prestan");
    if !program.is_file() {
        assert!(
            env::var_os("CI").is_none(),
            "{} is not built",
            program.display()
        );
        eprintln!("skipped: {} is not built", program.display());
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    // Without what only a debugger reads, as it is published.
    let stripped = temporary.path().join("prestan");
    let mut strip = Command::new("strip");
    assert!(
        strip
            .arg("-o")
            .arg(&stripped)
            .arg(program)
            .status()
            .unwrap()
            .success()
    );
    let [first, second] = ["first", "second"].map(|name| {
        let into = temporary.path().join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["dist", "--program"])
            .arg(&stripped)
            .arg("--into")
            .arg(&into)
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{error}");
        fs::read_to_string(into.join("SHA256SUMS")).unwrap()
    });
    assert_eq!(first, second);
    let names: Vec<&str> = first
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    for ending in [".tar.gz", ".deb", ".cdx.json"] {
        assert!(names.iter().any(|name| name.ends_with(ending)), "{names:?}");
    }

    // A damaged archive is found.
    let into = temporary.path().join("first");
    let archive = names.iter().find(|name| name.ends_with(".tar.gz")).unwrap();
    fs::write(into.join(archive), "damaged").unwrap();
    let mut check = Command::new("sha256sum");
    let status = check
        .args(["--check", "--status", "SHA256SUMS"])
        .current_dir(into)
        .status();
    assert!(!status.unwrap().success());
}
