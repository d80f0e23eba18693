//! References of pages and comments: files, headings, and paths of this project exist.

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

/// Titles of a page, without lines of code that begin like one.
fn titles(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let is_heading = move |line: &&str| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    };
    let headings = text.lines().filter(is_heading);
    headings.map(|line| line.trim_start_matches('#').trim())
}

/// Anchors of a page, as GitHub makes them of its titles: a title that stands again gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for title in titles(text) {
        let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let kept: String = title.to_lowercase().chars().filter(is_kept).collect();
        let anchor = kept.replace(' ', "-");
        let mut free = (0..).map(|again| match again {
            0 => anchor.clone(),
            _ => format!("{anchor}-{again}"),
        });
        let free = free.find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
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
    let anchors = anchors("# A b\n```sh\n# code\n```\n## It's `c` \n## A b\n");
    assert_eq!(Vec::from_iter(anchors), ["a-b", "a-b-1", "its-c"]);
    let pages = files(&root(), &[".md"]).into_iter();
    let broken = pages.flat_map(|page| broken_links(&page, &fs::read_to_string(&page).unwrap()));
    assert_none(&broken.collect::<Vec<_>>());
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

/// Lines of comments in Rust and YAML, without their marks.
fn comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let comments = lines.filter(|line| line.starts_with("//") || line.starts_with("# "));
    let texts: Vec<&str> = comments
        .map(|line| line.trim_start_matches(['/', '!', '#']).trim())
        .collect();
    texts.join("\n")
}

/// Documents that comments cite, and sections of them (the page, a comma, the title in quotation
/// marks), that are not there.
fn missing_sections(comments: &str) -> Vec<String> {
    let text = comments.replace('\n', " ");
    let cited = text.match_indices("docs/").filter_map(|(at, _)| {
        let (path, rest) = text[at..].split_once(".md")?;
        let is_path = path
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/_-".contains(c));
        let section = rest.trim_start_matches('`').strip_prefix(", \"");
        let section = section.and_then(|rest| rest.split_once('"'));
        is_path.then(|| (format!("{path}.md"), section.map(|(title, _)| title)))
    });
    let is_missing = |(path, section): &(String, Option<&str>)| {
        let page = fs::read_to_string(root().join(path));
        let has = |page: &str| section.is_none_or(|section| titles(page).any(|it| it == section));
        !page.is_ok_and(|page| has(&page))
    };
    let missing = cited.filter(is_missing);
    missing
        .map(|(path, section)| format!("{path} {section:?} is not there"))
        .collect()
}

#[test]
fn documents_and_sections_that_comments_cite_are_there() {
    let code = "/// As `docs/SUITES.md`, \"Pages of\n/// tests\" and docs/LABS.md, \"No such\".\nlet x = \"docs/a.md\";";
    let yaml =
        "\n# docs/none.md says so; docs/STABILITY.md, \"What stays the same\"; target/docs/src";
    assert_eq!(
        missing_sections(&comments(&(code.to_owned() + yaml))),
        [
            "docs/SUITES.md Some(\"Pages of tests\") is not there",
            "docs/LABS.md Some(\"No such\") is not there",
            "docs/none.md None is not there"
        ]
    );
    let sources = files(&root(), &[".rs", ".yaml", ".yml", ".toml"]);
    assert_none(&check(sources, |text| missing_sections(&comments(text))));
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
    assert_eq!(comments("  /// a\nlet b = \"`docs/none`\";\n//! c"), "a\nc");
    assert_none(&check(files(&root(), &[".md"]), missing_paths));
    let sources = files(&root(), &[".rs"]);
    assert_none(&check(sources, |text| missing_paths(&comments(text))));
}
