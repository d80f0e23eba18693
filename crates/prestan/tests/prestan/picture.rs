//! The picture in README: a command and its output, as a terminal shows them.

use std::fs;
use std::path::Path;

use crate::guides::{ShownCommand, blocks};

/// Of a character, in pixels.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 20.0;
const MARGIN: f64 = 16.0;
/// Of the bar above the text.
const BAR: f64 = 30.0;

/// Words that have a colour, from there to the end of their line.
const COLOURS: [(&str, &str); 4] = [
    ("slower", "#ff7b72"),
    ("faster", "#7ee787"),
    ("same", "#8b949e"),
    ("inconclusive", "#8b949e"),
];

/// Text of the picture, in which blanks stay apart.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace(' ', "\u{a0}")
}

/// A line at that height; each part is as wide as its characters, in any font.
fn line(y: f64, text: &str) -> String {
    let is_command = text.starts_with("$ ") || text.starts_with("    -");
    let colours = COLOURS.iter().filter(|_| !is_command);
    let found = colours.filter_map(|(word, colour)| Some((text.rfind(word)?, *colour)));
    let (at, colour) = found.min().unwrap_or((text.len(), ""));
    let usual = if is_command { "#ffffff" } else { "#c9d1d9" };
    let part = |from: usize, text: &str, colour: &str| {
        if text.trim().is_empty() {
            return String::new();
        }
        let x = MARGIN + from as f64 * WIDTH;
        let length = text.chars().count() as f64 * WIDTH;
        format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" fill=\"{colour}\">{}</text>\n",
            escaped(text)
        )
    };
    let before = text[..at].trim_end();
    part(0, before, usual) + &part(text[..at].chars().count(), &text[at..], colour)
}

fn picture(commands: &[ShownCommand]) -> String {
    let shown = |command: &ShownCommand| {
        let output = command.output.iter().filter(|line| *line != "...");
        command
            .written
            .iter()
            .chain(output)
            .cloned()
            .collect::<Vec<_>>()
    };
    let lines: Vec<String> = commands.iter().flat_map(shown).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max();
    let columns = columns.unwrap_or(0);
    let width = columns as f64 * WIDTH + 2.0 * MARGIN;
    let height = BAR + lines.len() as f64 * HEIGHT + MARGIN;
    let text = lines.iter().enumerate();
    let text: String = text
        .map(|(index, text)| line(BAR + (index as f64 + 0.75) * HEIGHT, text))
        .collect();
    let dots = [("#ff5f56", 18), ("#ffbd2e", 38), ("#27c93f", 58)];
    let dot = |(colour, x)| format!("<circle cx=\"{x}\" cy=\"15\" r=\"6\" fill=\"{colour}\"/>\n");
    let dots = dots.map(dot);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-size=\"14\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#161b22\"/>\n{}{text}</svg>\n",
        dots.concat()
    )
}

#[test]
fn the_picture_in_readme_is_the_comparison_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let blocks = blocks(&readme);
    let is_comparison = |block: &&Vec<ShownCommand>| block[0].line.starts_with("prestan compare");
    let drawn = picture(blocks.iter().find(is_comparison).unwrap());
    let path = root.join("docs/images/compare.svg");
    if std::env::var_os("PRESTAN_BLESS").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let stale = "docs/images/compare.svg is stale; `cargo xtask bless` renews it";
    assert!(kept == drawn, "{stale}");
}
