//! `cargo xtask gallery`: makes `docs/gallery` anew, and the table of its guide with it.

use std::fs;

use anyhow::{Context, Result};

use crate::project::{between, cargo, root};

const BEGIN: &str = "<!-- gallery -->\n";
const END: &str = "<!-- /gallery -->";

/// As many runs, and requests in each, as make intervals of a few percent in some minutes.
const HOW: [&str; 4] = ["--repeat", "10", "-r", "20"];

pub(crate) fn run() -> Result<()> {
    let root = root()?;
    let run = [
        "run",
        "--profile=release-lto",
        "--package",
        "prestan",
        "--",
        "gallery",
        "docs/gallery",
    ];
    cargo(&[&run[..], &HOW].concat(), &[])?;
    let table = root.join("docs/gallery/table.md");
    let table = fs::read_to_string(&table).with_context(|| format!("read {}", table.display()))?;
    let guide = root.join("docs/guides/servers.md");
    let text = fs::read_to_string(&guide)?;
    fs::write(&guide, between(&text, (BEGIN, END), &(table + "\n"))?)?;
    Ok(())
}
