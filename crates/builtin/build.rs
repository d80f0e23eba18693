//! Lists the files of the directories with built-in files, so that a new one is one file.

use std::ffi::OsStr;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let output = env::var_os("OUT_DIR").expect("cargo sets it");
    let write = |file: &str, text: String| {
        fs::write(Path::new(&output).join(file), text).expect("cargo made the directory");
    };
    for directory in ["suites", "labs", "experiments", "servers"] {
        let files = names(directory).into_iter().map(|name| {
            // Not the path that it has now: the checkout may be moved, and what was built with it.
            let path = format!(
                "concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../{directory}/{name}.yaml\")"
            );
            format!("BuiltinFile {{ name: {name:?}, text: include_str!({path}) }},")
        });
        write(
            &format!("{directory}.rs"),
            format!("&[{}]", files.collect::<String>()),
        );
    }
    let servers = names("servers").into_iter();
    let servers = servers.map(|name| format!("{}: {name:?},", name.replace('-', "_")));
    let each_server = format!(
        "/// Calls a macro with a module name and the name of each file of `servers/`: `nginx: \"nginx\",`.\n\
         #[macro_export]\n\
         macro_rules! each_server {{ ($macro:ident) => {{ $macro! {{ {} }} }} }}",
        servers.collect::<String>()
    );
    write("each_server.rs", each_server);
}

/// Names of the YAML files of a directory, without their ending, sorted.
fn names(directory: &str) -> Vec<String> {
    let directory = Path::new("../..").join(directory);
    println!("cargo::rerun-if-changed={}", directory.display());
    let entries = fs::read_dir(&directory).expect("the directory is part of the sources");
    let files = entries.map(|entry| entry.expect("the directory can be read").path());
    let files = files.filter(|file| file.extension() == Some(OsStr::new("yaml")));
    let mut names: Vec<String> = files
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}
