//! What pages name is there: files, headings, and paths of this project, which also comments name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{assert_none, check, files, root};

/// Relative links of a page to files, or headings in them, that are not there.
fn broken_links(page: &Path, text: &str) -> Vec<String> {
    let directory = page.parent().unwrap();
    let leads_nowhere = |link: &&str| {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = if file.is_empty() {
            page.to_owned()
        } else {
            directory.join(file)
        };
        let is_page = !anchor.is_empty() && file_is_markdown(&path);
        !path.exists() || is_page && !anchors(&fs::read_to_string(path).unwrap()).contains(anchor)
    };
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.contains("://") && !link.contains(' '))
        .filter(leads_nowhere)
        .map(|link| format!("{}: {link} is not there", page.display()))
        .collect()
}

fn file_is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// What headings of a page are called in links to them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let page = root().join("README.md");
    assert_eq!(
        broken_links(
            &page,
            "[a](no/such/page.md) [b](Cargo.toml) [c](#guides) [d](#no-such) [e](ARCHITECTURE.md#x)"
        )
        .len(),
        3
    );
    for page in files(&root(), &[".md"]) {
        let text = fs::read_to_string(&page).unwrap();
        assert_none(&broken_links(&page, &text));
    }
}

/// Directories that are made, and not in the repository.
const MADE: [&str; 3] = ["fuzz/artifacts", "fuzz/corpus", "target/"];

/// Paths of the project between backticks that are not there. Capital letters stand for any name.
fn missing_paths(text: &str) -> Vec<String> {
    let is_path = |span: &&str| {
        let mut letters = span.chars();
        let (top, _) = span.split_once('/').unwrap_or_default();
        !top.is_empty()
            && root().join(top).is_dir()
            && letters.all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    };
    let is_missing = |span: &&str| {
        let is_placeholder =
            |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase());
        let known: Vec<&str> = span
            .split('/')
            .take_while(|part| !is_placeholder(part))
            .collect();
        let known = known.join("/");
        !root().join(&known).exists() && !MADE.iter().any(|made| known.starts_with(made))
    };
    let spans = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let missing = spans.filter(is_path).filter(is_missing);
    missing.map(|span| format!("{span} is not there")).collect()
}

fn comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let comments: Vec<&str> = lines.filter(|line| line.starts_with("//")).collect();
    comments.join("\n")
}

#[test]
fn paths_of_the_project_lead_somewhere() {
    let page = "`crates/lab/tests/none.rs` is not, `xtask/src/main.rs` is; `xtask/src/NAME.rs`, `crates/NAME/src/none`, \
                `fuzz/corpus/`, `text/html`, `cargo xtask/none`; `docs/none`";
    assert_eq!(
        missing_paths(page),
        [
            "crates/lab/tests/none.rs is not there",
            "xtask/src/NAME.rs is not there",
            "docs/none is not there"
        ]
    );
    assert_eq!(
        comments("  /// a\nlet b = \"`docs/none`\";\n//! c"),
        "/// a\n//! c"
    );
    assert_none(&check(files(&root(), &[".md"]), missing_paths));
    let sources = files(&root(), &[".rs"]);
    assert_none(&check(sources, |text| missing_paths(&comments(text))));
}
