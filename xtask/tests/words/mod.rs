//! The English of comments, texts and documents.

use std::fs;

use super::{assert_none, check, files, root};

/// Words at which a reader of other software must stop, or for which the project has another one.
const STRANGE: [&str; 24] = [
    "bins of time",
    "broken off",
    "choreography",
    "conspicuous",
    "dearest",
    "doubt",
    "doubts",
    "errand",
    "good enough",
    "let us in",
    "lets somebody in",
    "lets us in",
    "nothing of ours",
    "so manieth",
    "somebody",
    "surely",
    "surprise",
    "thread that measures",
    "time of an answer",
    "to and fro",
    "unclear",
    "what was told",
    "would be seen from",
    "would have been seen",
];

/// Lines that have a strange word; words that are parts of others are none.
fn strange(text: &str) -> Vec<String> {
    let is_there = |line: &str, word: &str| {
        let line = line.to_lowercase();
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
        })
    };
    let lines = (1..).zip(text.lines());
    lines
        .filter_map(|(number, line)| {
            let word = STRANGE.iter().find(|word| is_there(line, word))?;
            Some(format!("line {number}: {word}"))
        })
        .collect()
}

#[test]
fn words_are_those_of_the_field() {
    let table = [
        ("/// Aborts it when somebody interrupts.", 1),
        (
            "//! An errand.\n/// Boxed, because it is moved to and fro.",
            2,
        ),
        ("/// Findings, most costly first.\nfn dearest_first() {}", 0),
    ];
    for (text, expected) in table {
        assert_eq!(strange(text).len(), expected, "{text}");
    }
    let mut sources = files(&root(), &[".rs", ".md", ".yaml"]);
    sources.retain(|file| !file.ends_with("xtask/tests/words/mod.rs"));
    assert_none(&check(sources, strange));
}

/// Words that begin a sentence without its subject, or a second line of it.
const OPENINGS: [&str; 5] = ["It", "What", "Whether", "That", "Who"];

/// Share of doc lines that may begin so.
const TOLERATED: f64 = 0.03;

/// Number of doc lines, and those that begin with one of [`OPENINGS`].
fn openings(text: &str) -> (usize, Vec<String>) {
    let lines = text.lines().map(str::trim_start).enumerate();
    let docs = lines.filter_map(|(index, line)| {
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))?;
        Some((index + 1, doc.trim_start()))
    });
    let mut all = 0;
    let mut open = Vec::new();
    for (number, doc) in docs {
        all += 1;
        let first = doc.split(|c: char| !c.is_alphanumeric()).next();
        if first.is_some_and(|word| OPENINGS.contains(&word)) {
            open.push(format!("line {number}: {doc}"));
        }
    }
    (all, open)
}

#[test]
fn comments_begin_with_their_subject() {
    let (all, open) =
        openings("/// What a timer did.\nfn f() {}\n/// Itself.\n// It is.\n//! Who?");
    assert_eq!((all, open.len()), (3, 2), "{open:?}");
    let (mut all, mut open) = (0, Vec::new());
    for file in files(&root(), &[".rs"]) {
        let (lines, found) = openings(&fs::read_to_string(&file).unwrap());
        all += lines;
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        open.extend(found.into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(all > 0, "the rule looks at nothing");
    let share = open.len() as f64 / all as f64;
    assert!(
        share <= TOLERATED,
        "{share:.3} of {all}\n{}",
        open.join("\n")
    );
}

/// Columns of a line of code; a comment is no wider.
const WIDTH: usize = 100;

/// Comments that are wider. Rows of tables, diagrams and addresses cannot be folded.
fn wide(text: &str) -> Vec<String> {
    let is_fixed = |comment: &str| {
        comment.trim_start().starts_with('|')
            || ["--", "->", "   ", "://"]
                .iter()
                .any(|sign| comment.contains(sign))
    };
    let lines = (1..).zip(text.lines());
    let comments = lines.filter_map(|(number, line)| {
        let comment = line.trim_start().strip_prefix("//")?;
        let is_wide =
            line.chars().count() > WIDTH && !is_fixed(comment.trim_start_matches(['/', '!']));
        is_wide.then(|| format!("line {number}: {line}"))
    });
    comments.collect()
}

#[test]
fn comments_are_as_wide_as_code() {
    let long = "word ".repeat(20);
    let table = [
        (format!("/// {long}."), 1),
        (format!("    // {}", &long[..94]), 1),
        (format!("/// {}", &long[..96]), 0),
        (format!("//! | {long} |"), 0),
        (format!("//! a -> {long}"), 0),
        (format!("let text = \"// {long}\";"), 0),
    ];
    for (text, expected) in table {
        assert_eq!(wide(&text).len(), expected, "{text}");
    }
    assert_none(&check(files(&root(), &[".rs"]), wide));
}
