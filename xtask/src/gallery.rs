//! `cargo xtask gallery`: measures all servers, and makes a site of them in `target/gallery`, which
//! `cargo xtask docs` includes. Its table and two pictures of it go into the guide.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::{between, cargo, finish, root};

const BEGIN: &str = "<!-- gallery -->\n";
const END: &str = "<!-- /gallery -->";

/// Runs and requests that make intervals of a few percent in some minutes.
const HOW: [&str; 4] = ["--repeat", "10", "-r", "20"];

/// A page, and the picture of its top in `docs/images`.
const PICTURES: [(&str, &str); 2] = [("index", "gallery"), ("test-CopyCol", "gallery-copycol")];

/// Directory of the site.
pub(crate) fn directory() -> Result<PathBuf> {
    Ok(root()?.join("target/gallery"))
}

pub(crate) fn run() -> Result<()> {
    let root = root()?;
    let run = "run --release --package prestan -- gallery target/gallery";
    let words: Vec<&str> = run.split(' ').chain(HOW).collect();
    cargo(&words, &[])?;
    let site = directory()?;
    let table = site.join("table.md");
    let table = fs::read_to_string(&table).with_context(|| format!("read {}", table.display()))?;
    let guide = root.join("docs/guides/servers.md");
    let text = fs::read_to_string(&guide)?;
    fs::write(&guide, between(&text, (BEGIN, END), &(table + "\n"))?)?;
    for (page, picture) in PICTURES {
        let page = site.join(page).with_extension("html");
        let picture = root.join("docs/images").join(picture).with_extension("png");
        photograph(&page, &picture)?;
    }
    Ok(())
}

/// Makes a picture of the top of a page in a browser, as wide as the tables of the gallery, and not
/// larger than shown in the guides.
fn photograph(page: &Path, picture: &Path) -> Result<()> {
    let screenshot = format!("--screenshot={}", picture.display());
    finish(
        Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--hide-scrollbars"])
            .args(["--window-size=1140,905", "--force-device-scale-factor=0.75"])
            .arg(screenshot)
            .arg(format!("file://{}", page.display())),
    )
}
