//! Structural rules that no compiler checks.
//!
//! Every rule is a function from a text to its defects, and has a text in which it must find one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arrows;
mod cycles;
mod loops;
mod pages;
mod rust_code;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrows::{PURE, dependencies, ours};
use rust_code::{RustCode, files_of};

/// Names that a pure crate does not use outside its tests.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    // What hides one of these.
    "std::*",
    "std::self",
    "std::as",
    "Instant",
    "SystemTime",
    "Utc::now",
    "Local::now",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
    "dbg!",
    "stdin",
    "stdout",
    "stderr",
    "tokio",
    "rand::rng",
    "rand::random",
    "libc",
    "rustix",
    "socket2",
    "tempfile",
];

/// Most lines of a file.
const LONGEST: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// All files below `directory` with one of these endings, without what is built or stored.
fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                let is_made = name.starts_with("target")
                    || [".git", "corpus", "artifacts"].contains(&name.as_str());
                if !is_made {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Applies a rule to files and gathers what it finds.
fn check(files: Vec<PathBuf>, rule: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    assert!(!files.is_empty(), "the rule looks at nothing");
    files
        .into_iter()
        .flat_map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(root()).unwrap().display().to_string();
            rule(&text)
                .into_iter()
                .map(move |defect| format!("{name}: {defect}"))
        })
        .collect()
}

fn assert_none(defects: &[String]) {
    assert!(defects.is_empty(), "\n{}\n", defects.join("\n"));
}

/// Where a text has one of these names.
fn named(text: &str, searched: &[&str]) -> Vec<String> {
    let names = RustCode::of(text).names.into_iter();
    names
        .filter_map(|name| {
            let found = searched.iter().find(|searched| name.contains(searched))?;
            Some(format!("line {}: {found}", name.line))
        })
        .collect()
}

fn impurities(text: &str) -> Vec<String> {
    named(text, IMPURE)
}

#[test]
fn pure_crates_know_no_clock_socket_file_or_terminal() {
    let table = [
        ("fn f() { let t = Instant::now(); }", 1),
        ("use std::fs::File;", 1),
        ("use std::{fmt, fs as disk, io::{self, stdout}};", 2),
        ("use std::*;", 1),
        ("use std as core;", 1),
        ("fn f() { println!(\"{}\", std::env::args().count()) }", 2),
        // What follows an item for tests, and what is not for tests.
        (
            "#[cfg(test)]\nmod tests;\nfn f() { std::fs::read(\"x\"); }",
            1,
        ),
        (
            "#[cfg(test)]\nuse std::{env, fs};\nuse std::net::IpAddr;",
            1,
        ),
        (
            "#[cfg(test)]\n#[path = \"x.rs\"]\nmod x { use std::fs; }\nuse std::env;",
            1,
        ),
        (
            "#[cfg(test)]\npub(crate) fn f() { std::fs::read(\"x\"); }\nfn g() { eprint!() }",
            1,
        ),
        ("#[cfg(not(test))]\nuse std::fs;", 1),
        ("mod a { mod b { fn f() { SystemTime::now(); } } }", 1),
        ("macro_rules! m { () => { std::process::exit(1) } }", 1),
        // Comments, strings, tests and names that only look like it.
        (
            "//! std::fs\n/// std::fs\nfn f() { /* std::fs */ \"// std::fs\"; }",
            0,
        ),
        (
            "#[cfg(any(test, feature = \"testing\"))]\npub mod testing;",
            0,
        ),
        ("#[test]\nfn f() { std::fs::read(\"x\"); }", 0),
        (
            "use std::fmt; fn f(instant: InstantaneousRate, fs: Fs) {}",
            0,
        ),
    ];
    for (text, expected) in table {
        let found = impurities(text);
        assert_eq!(found.len(), expected, "{text}\n{found:?}");
    }
    for (name, _) in PURE {
        let source = root().join("crates").join(name).join("src");
        let compiled = files_of(&source);
        let all = files(&source, &[".rs"]).len();
        assert!(
            2 * compiled.len() > all,
            "{name}: {} of {all} files",
            compiled.len()
        );
        assert_none(&check(compiled, impurities));
    }
}

/// Macros that panic when the other end of a pipe is closed, in the middle of a user's run.
fn prints(text: &str) -> Vec<String> {
    named(text, &["print!", "println!", "eprint!", "eprintln!"])
}

#[test]
fn a_closed_pipe_is_no_reason_to_panic() {
    assert_eq!(prints("fn f() { eprintln!(\"x\") }").len(), 1);
    assert_eq!(
        prints("#[cfg(test)]\nmod tests;\nfn f() { std::println!() }").len(),
        1
    );
    for name in [
        "prestan", "terminal", "engine", "rundir", "runner", "campaign", "../xtask",
    ] {
        let sources = files(&root().join("crates").join(name).join("src"), &[".rs"]);
        let sources = sources.into_iter().filter(|path| !is_test_file(path));
        assert_none(&check(sources.collect(), prints));
    }
}

/// Names that end the program or write to a terminal.
const OF_THE_BINARY: [&str; 4] = ["process::exit", "ExitCode", "io::stdout", "io::stderr"];

#[test]
fn one_library_knows_the_terminal_and_only_the_binary_its_arguments_and_its_end() {
    assert_eq!(
        named("use std::io::{self, stderr};", &OF_THE_BINARY).len(),
        1
    );
    for name in ours().iter().filter(|name| *name != "prestan") {
        let places = &OF_THE_BINARY[..if name == "terminal" { 2 } else { 4 }];
        let sources = files_of(&root().join("crates").join(name).join("src"));
        assert_none(&check(sources, |text| named(text, places)));
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = fs::read_to_string(manifest).unwrap();
        assert!(!knows_arguments(&text), "{name} knows clap");
    }
}

/// True if a manifest names a parser of command lines.
fn knows_arguments(manifest: &str) -> bool {
    let mut names = dependencies(manifest).into_iter();
    names.any(|name| name.starts_with("clap"))
}

#[test]
fn a_manifest_names_the_parser_of_arguments_in_any_way() {
    for manifest in [
        "[dependencies]\nclap.workspace = true",
        "[dependencies.clap]\nworkspace = true",
        "[dependencies]\nlog = \"1\"\n'clap_builder' = \"4\"",
        "[build-dependencies]\nclap = \"4\"",
        "[target.'cfg(unix)'.dependencies]\nwords = { package = \"clap\", version = \"4\" }",
    ] {
        assert!(knows_arguments(manifest), "{manifest}");
    }
    assert!(!knows_arguments(
        "[package]\nname = \"a\"\n# clap\n[dependencies]\nlog = \"1\""
    ));
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        part == "tests" || part == "tests.rs"
    })
}

/// A row of comparisons is called so in every report.
const ROW_NAMES: &[&str] = &["\"WEBSTONE number\""];

/// Texts of two words or more: phrases and sentences for people. What an error says stands in
/// attributes, and what a panic says is for developers.
fn phrases(text: &str) -> Vec<String> {
    let is_word = |part: &&str| {
        let part = part.trim_matches(|c: char| c.is_ascii_punctuation());
        part.len() > 1 && part.chars().all(char::is_alphabetic)
    };
    let is_phrase = |text: &str| {
        let pieces = text.split('{').map(|piece| piece.rsplit('}').next());
        let words = pieces.flatten().flat_map(str::split_whitespace);
        words.filter(is_word).count() > 1 && !ROW_NAMES.contains(&text)
    };
    let texts = RustCode::of(text).texts.into_iter();
    texts
        .filter(|(_, text)| is_phrase(text))
        .map(|(line, text)| format!("line {line}: {text}"))
        .collect()
}

#[test]
fn statistics_are_figures_and_no_sentences() {
    let table = [
        ("fn f() -> &'static str { \"less than linear\" }", 1),
        ("fn f() { format!(\"{n} of {all} failed: {}\", why) }", 1),
        (
            "const A: &[(&str, &str)] = &[(\"a\", \"two words\"), (\"b\", \"three long words\")];",
            2,
        ),
        (
            "fn f() { format!(\"page {}\", name); \"not_supported\" }",
            0,
        ),
        (
            "fn f() { x.expect(\"it has rows\"); unreachable!(\"it has rows\") }",
            0,
        ),
        ("#[error(\"`{0}` is no number\")]\nstruct Error(String);", 0),
        ("/// Two words.\n#[test]\nfn f() { \"two words\" }", 0),
    ];
    for (text, expected) in table {
        let found = phrases(text);
        assert_eq!(found.len(), expected, "{text}\n{found:?}");
    }
    assert_none(&check(files_of(&root().join("crates/stats/src")), phrases));
}

/// The modules of the engine: each may use those before it.
const ROOMS: [&str; 7] = [
    "clock",
    "event_loop",
    "watch",
    "connection",
    "site",
    "drive",
    "run",
];

/// Rooms that a file of a room names though they come after it.
fn rooms_behind(room: &str, text: &str) -> Vec<String> {
    let behind = ROOMS.iter().skip_while(|own| **own != room).skip(1);
    let behind: Vec<String> = behind.map(|room| format!("crate::{room}")).collect();
    let is_named = |line: &&str| {
        let named = |path: &String| {
            let ends = |at: usize| {
                !line[at + path.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            };
            line.match_indices(&**path).any(|(at, _)| ends(at))
        };
        behind.iter().any(named)
    };
    text.lines().filter(is_named).map(str::to_owned).collect()
}

#[test]
fn rooms_of_the_engine_know_only_those_before_them() {
    assert_eq!(
        rooms_behind("clock", "use crate::run::run;\nuse crate::clock;").len(),
        1
    );
    assert_eq!(rooms_behind("run", "use crate::drive::Drive;").len(), 0);
    assert_eq!(rooms_behind("watch", "use crate::runner;").len(), 0);
    let source = root().join("crates/engine/src");
    for room in ROOMS {
        let sources = files(&source.join(room), &[".rs"]);
        assert!(!sources.is_empty(), "{room}");
        assert_none(&check(sources, |text| rooms_behind(room, text)));
    }
}

/// Names of types that are defined twice in these files, each a name and a text.
fn types_defined_twice(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in files {
        for item in RustCode::of(text).types() {
            let place = format!("{file}:{}", item.line);
            places.entry(item.name.clone()).or_default().push(place);
        }
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    twice
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect()
}

#[test]
fn a_type_name_stands_once() {
    let file = |text: &str| ("a.rs".to_owned(), text.to_owned());
    let once = "struct A; pub(crate) enum B { A } #[cfg(test)] mod tests { struct A; } use c::A;";
    assert_eq!(types_defined_twice(&[file(once)]).len(), 0);
    assert_eq!(
        types_defined_twice(&[file(once), file("mod x { trait B {} }")]).len(),
        1
    );

    let crates = ours()
        .into_iter()
        .map(|name| root().join("crates").join(name));
    let sources = crates
        .chain([root().join("xtask")])
        .map(|path| path.join("src"));
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        (
            file.strip_prefix(root()).unwrap().display().to_string(),
            text,
        )
    };
    let files: Vec<_> = sources
        .flat_map(|source| files_of(&source))
        .map(read)
        .collect();
    assert!(files.len() > 100, "{} files", files.len());
    assert_none(&types_defined_twice(&files));
}

/// Matches of a condition, which `if` says more plainly.
fn matched_conditions(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_arm = |line: &str| line.starts_with("true =>") || line.starts_with("false =>");
    let pairs = lines.windows(2).enumerate();
    pairs
        .filter(|(_, pair)| pair[0].ends_with('{') && is_arm(pair[1]))
        .map(|(index, pair)| format!("line {}: {}", index + 1, pair[0]))
        .collect()
}

#[test]
fn a_condition_is_asked_with_if() {
    let matched = "let x = match flag {\n    true => 1,\n    false => 2,\n};";
    assert_eq!(matched_conditions(matched).len(), 1);
    assert_eq!(
        matched_conditions("let x = if flag { 1 } else { 2 };").len(),
        0
    );
    let crates = ours()
        .into_iter()
        .map(|name| root().join("crates").join(name));
    let sources = crates.flat_map(|path| files(&path, &[".rs"]));
    assert_none(&check(sources.collect(), matched_conditions));
}

fn unfinished(text: &str) -> Vec<String> {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("todo", "!("),
    ];
    let marked = text
        .lines()
        .enumerate()
        .filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
    let line = |(index, line): (usize, &str)| format!("line {}: {}", index + 1, line.trim());
    marked.map(line).collect()
}

#[test]
fn nothing_is_left_for_later() {
    assert_eq!(unfinished(concat!("// TO", "DO: later")).len(), 1);
    assert_none(&check(
        files(&root(), &[".rs", ".md", ".yaml", ".toml"]),
        unfinished,
    ));
}

fn too_long(text: &str) -> Vec<String> {
    match text.lines().count() {
        lines if lines > LONGEST => vec![format!("{lines} lines; {LONGEST} are the limit")],
        _ => Vec::new(),
    }
}

/// Tests in the tables of promises exist.
#[test]
fn every_promise_has_a_test() {
    let sources = files(&root().join("crates"), &[".rs"]);
    let sources: Vec<String> = sources
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let is_there = |name: &str| {
        let head = format!("fn {name}(");
        sources.iter().any(|text| text.contains(&head))
    };
    let mut defects = Vec::new();
    let mut promises = 0;
    for page in ["SECURITY.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let (_, table) = text.split_once(" | tests |\n|---|---|\n").unwrap();
        for row in table.lines().take_while(|line| line.starts_with('|')) {
            promises += 1;
            let (promise, tests) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
            let absent = tests
                .split(", ")
                .filter(|name| !is_there(name.trim_matches('`')));
            defects
                .extend(absent.map(|name| format!("{page}: {promise}: there is no test {name}")));
        }
    }
    assert!(promises >= 15, "the rule looks at {promises} promises");
    assert_none(&defects);
}

#[test]
fn a_file_is_one_idea() {
    assert_eq!(too_long(&"\n".repeat(LONGEST + 1)).len(), 1);
    let hand_written = files(&root(), &[".rs", ".js", ".css", ".html"]);
    let hand_written = hand_written
        .into_iter()
        .filter(|path| !path.to_string_lossy().ends_with(".min.js"))
        .collect();
    assert_none(&check(hand_written, too_long));
}

/// Paths of the machine of the author.
fn machine_paths(text: &str) -> Vec<String> {
    let places = [
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("/home", "/"),
        concat!("/Use", "rs/"),
    ];
    text.lines()
        .enumerate()
        .filter(|(_, line)| places.iter().any(|place| line.contains(place)))
        .map(|(index, line)| format!("line {}: {}", index + 1, line.trim()))
        .collect()
}

#[test]
fn no_path_of_one_machine_is_named() {
    assert_eq!(machine_paths(concat!("cat /ro", "ot/secret")).len(), 1);
    let all = files(
        &root(),
        &[".rs", ".md", ".yaml", ".toml", ".json", ".snap", ".txt"],
    );
    assert_none(&check(all, machine_paths));
}
