//! Files of a crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::arrows::ours;
use crate::rust_code::{RustCode, files_of};
use crate::{assert_none, root};

/// Files in the largest cycle that a mind holds, apart from a module and the modules below it.
const LARGEST: usize = 4;

/// Modules around a module, and its name; the crate's root is the empty path.
type ModulePath = [String];

/// The modules of a crate that are files.
struct Modules(BTreeMap<Vec<String>, RustCode>);

/// Files that a file imports, each with the imported names.
type Imports<'a> = BTreeMap<&'a ModulePath, BTreeSet<&'a str>>;

/// The path, if it has several parts, of which this is the last.
fn ends_with<'a>(path: &'a [String], name: &String) -> Option<&'a [String]> {
    (path.len() > 1 && path.last() == Some(name)).then_some(path)
}

impl Modules {
    /// Of paths of files below `src`, each with its text.
    fn new(files: impl Iterator<Item = (String, String)>) -> Modules {
        let module = |(file, text): (String, String)| {
            let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
            let is_root = ["lib", "main"].contains(&path);
            let parts = path.split('/').filter(|_| !is_root);
            (parts.map(str::to_owned).collect(), RustCode::of(&text))
        };
        Modules(files.map(module).collect())
    }

    fn read(source: &Path) -> Modules {
        let read = |file: std::path::PathBuf| {
            let text = fs::read_to_string(&file).unwrap();
            (
                file.strip_prefix(source).unwrap().display().to_string(),
                text,
            )
        };
        Modules::new(files_of(source).into_iter().map(read))
    }

    /// The file that defines what this path names in a module, through any `use` on the way; none
    /// where the path leads out of the crate, or to a module.
    fn definer(&self, module: &ModulePath, path: &[String]) -> Option<&ModulePath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.definer(&[], rest),
            "self" => return self.definer(module, rest),
            "super" => return self.definer(module.split_last()?.1, rest),
            _ => {}
        }
        let (module, code) = self.0.get_key_value(module)?;
        let child = [module, &[first.clone()][..]].concat();
        if self.0.contains_key(&child) {
            return self.definer(&child, rest);
        }
        if code.items.iter().any(|item| item.name == *first) {
            return Some(module);
        }
        let mut imports = code
            .imports
            .iter()
            .filter_map(|import| match &import.parts[..] {
                [path @ .., word, alias] if word == "as" => (alias == first).then_some(path),
                [path @ .., word] if word == "self" => ends_with(path, first),
                path => ends_with(path, first),
            });
        imports.find_map(|path| self.definer(module, &[path, rest].concat()))
    }

    /// Imports of each file from others, but for those of its own module above and below it.
    fn imports(&self) -> BTreeMap<&ModulePath, Imports<'_>> {
        let of_module = |(module, code): (_, _)| {
            let (module, code): (&Vec<String>, &RustCode) = (module, code);
            let mut imports = Imports::new();
            for name in code.imports.iter().chain(&code.names) {
                let path = name
                    .parts
                    .split(|part| part == "as")
                    .next()
                    .unwrap_or_default();
                let found = self.definer(module, path).filter(|definer| {
                    let is_below = definer.starts_with(module) || module.starts_with(definer);
                    // All modules of the crate stand below its root.
                    let is_root = definer.is_empty() != module.is_empty();
                    is_root || !is_below
                });
                if let (Some(definer), Some(name)) = (found, path.last()) {
                    imports.entry(definer).or_default().insert(name);
                }
            }
            (&module[..], imports)
        };
        self.0.iter().map(of_module).collect()
    }

    /// Cycles of more files than [`LARGEST`], with the names that tie each.
    fn large_cycles(&self) -> Vec<String> {
        let imports = self.imports();
        let modules = imports.keys().copied();
        let reached: BTreeMap<_, _> = modules
            .map(|module| (module, reached(&imports, module)))
            .collect();
        let cycle_of = |module: &&ModulePath| -> BTreeSet<_> {
            let both = reached[module]
                .iter()
                .filter(|other| reached[*other].contains(module));
            both.copied().collect()
        };
        let cycles: BTreeSet<_> = imports.keys().map(cycle_of).collect();
        let large = cycles.into_iter().filter(|cycle| cycle.len() > LARGEST);
        large
            .map(|cycle| {
                let ties = cycle.iter().flat_map(|from| {
                    let inside = imports[from].iter().filter(|(to, _)| cycle.contains(*to));
                    inside.map(|(to, names)| {
                        let names: Vec<&str> = names.iter().copied().collect();
                        format!(
                            "\n  {} -> {}: {}",
                            from.join("::"),
                            to.join("::"),
                            names.join(", ")
                        )
                    })
                });
                format!(
                    "{} files import each other:{}",
                    cycle.len(),
                    ties.collect::<String>()
                )
            })
            .collect()
    }
}

/// All files that a file imports, and those that they import.
fn reached<'a>(
    imports: &BTreeMap<&'a ModulePath, Imports<'a>>,
    from: &'a ModulePath,
) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let found = imports[module].keys();
        open.extend(found.filter(|found| reached.insert(**found)));
    }
    reached
}

#[test]
fn files_that_import_each_other_are_few() {
    let files = |all: &[(&str, &str)]| {
        let all = all
            .iter()
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
        Modules::new(all).large_cycles()
    };
    let ring = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use e::E;"),
        ("a.rs", "use crate::b::{B as Other}; pub struct A;"),
        ("b.rs", "mod below; pub use below::C as B;"),
        ("b/below.rs", "use super::super::c; pub struct C(c::C);"),
        ("c/mod.rs", "pub struct C; fn f() { crate::d::D::new(); }"),
        ("d.rs", "use crate::E; pub struct D;"),
        ("e.rs", "pub struct E(super::a::A);"),
    ];
    let found = files(&ring);
    assert_eq!(found.len(), 1, "{found:?}");
    for tie in [
        "5 files",
        "a -> b::below: B",
        "b::below -> c: C",
        "d -> e: E",
        "e -> a: A",
    ] {
        assert!(found[0].contains(tie), "{tie}: {found:?}");
    }
    // One of these imports only in tests.
    let mut open = ring;
    open[6].1 = "pub struct E; #[cfg(test)] mod tests { use crate::a::A; }";
    assert!(files(&open).is_empty());
    // A module and those below it.
    assert!(
        files(&[
            ("lib.rs", "mod a;"),
            (
                "a.rs",
                "mod b; mod c; mod d; mod e; use {b::B, c::C, d::D, e::E}; pub struct A;"
            ),
            ("a/b.rs", "use super::A; pub struct B;"),
            ("a/c.rs", "use super::A; pub struct C;"),
            ("a/d.rs", "use super::A; pub struct D;"),
            ("a/e.rs", "use super::A; pub struct E;"),
        ])
        .is_empty()
    );
    let mut defects = Vec::new();
    for name in ours() {
        let modules = Modules::read(&root().join("crates").join(&name).join("src"));
        let cycles = modules.large_cycles().into_iter();
        defects.extend(cycles.map(|cycle| format!("{name}: {cycle}")));
    }
    assert_none(&defects);
}
