//! Pictures of pages for inspection: on a screen and on a phone, light and dark.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::{output_of, root};

/// Width and height of a picture, in pixels: long enough for most pages.
const SIZES: [(u32, u32); 2] = [(1400, 7000), (390, 9000)];
/// Narrowest window of the browser, wider than a phone.
const NARROWEST: u32 = 500;
const BROWSER_OPTIONS: &str = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=5000";
/// The preference of light and dark, as Chromium numbers it.
const THEMES: [(&str, u32); 2] = [("light", 1), ("dark", 0)];

/// Makes the pictures; the argument is the directory with the pages.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [directory] = arguments else {
        bail!("write `cargo xtask screenshots DIR`: the directory with the pages");
    };
    let into = root()?.join("target/screenshots");
    fs::create_dir_all(&into).with_context(|| format!("make {}", into.display()))?;
    let mut taken = 0;
    for entry in fs::read_dir(directory).with_context(|| format!("read {directory}"))? {
        let page = entry?.path();
        if page.extension().is_some_and(|ending| ending == "html") {
            picture(&fs::canonicalize(&page)?, &into)?;
            taken += SIZES.len() * THEMES.len();
        }
    }
    if taken == 0 {
        bail!("{directory} has no page (*.html)");
    }
    message!("xtask: {taken} pictures in {}", into.display());
    Ok(())
}

fn picture(page: &Path, into: &Path) -> Result<()> {
    let name = page.file_stem().unwrap_or_default().to_string_lossy();
    let scratch = tempfile::tempdir().context("create a temporary directory")?;
    for (width, height) in SIZES {
        let frame = scratch.path().join("frame.html");
        let text = format!(
            "<!doctype html><meta name=color-scheme content='light dark'><style>body{{margin:0}}iframe{{border:0}}</style>\
             <iframe src='file://{}' width={width} height={height}></iframe>",
            page.display()
        );
        fs::write(&frame, text)?;
        for (theme, preference) in THEMES {
            let picture = into.join(format!("{name}-{width}-{theme}.png"));
            let mut browser = Command::new("chromium");
            let profile = scratch.path().join("profile");
            browser
                .args(BROWSER_OPTIONS.split(' '))
                .arg(format!(
                    "--blink-settings=preferredColorScheme={preference}"
                ))
                .arg(format!("--user-data-dir={}", profile.display()))
                .arg(format!("--window-size={},{height}", width.max(NARROWEST)))
                .arg(format!("--screenshot={}", picture.display()))
                .arg(&frame);
            output_of(&mut browser)?;
            if !picture.exists() {
                bail!("chromium made no picture of {}", page.display());
            }
        }
    }
    Ok(())
}
