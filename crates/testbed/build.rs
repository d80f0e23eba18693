//! Lists the recipes of `servers/`, so that a new one is one file.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=servers");
    let entries = fs::read_dir("servers").expect("servers/ is beside this file");
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .collect();
    files.sort();
    let texts = files.iter().map(|path| {
        let name = path.file_stem().expect("it has an extension");
        // Not where it is now: the checkout may be moved, and what was built with it.
        format!(
            "({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{}\"))),",
            path.display()
        )
    });
    let list = format!("[{}]", texts.collect::<String>());
    let place = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&place).join("recipes.rs"), list).expect("cargo made the directory");
}
