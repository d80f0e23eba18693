//! Tables of the last benchmarks, put into pages between marks: `<!-- bench:cost -->` ... `<!--
//! /bench:cost -->`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::table::BenchTable;

/// The pages that may have marks, each in one of them, from the root of the project.
const PAGES: [&str; 3] = ["README.md", "docs/ACCURACY.md", "docs/COST.md"];

/// Replaces the text between the marks of a benchmark, in the page that has them.
pub fn replace(root: &Path, name: &str, tables: &[BenchTable], below: &str) -> Result<()> {
    let tables: Vec<_> = tables.iter().map(BenchTable::markdown).collect();
    let below = if below.is_empty() {
        String::new()
    } else {
        format!("\n{below}\n")
    };
    let text = format!("\n{}{below}\n", tables.join("\n"));
    for page in PAGES {
        let path = root.join(page);
        let what = || format!("put the tables of `{name}` into {}", path.display());
        let old = fs::read_to_string(&path).with_context(what)?;
        if let Some(new) = between(&old, name, &text).with_context(what)? {
            return fs::write(&path, new).with_context(what);
        }
    }
    bail!(
        "none of {} has the marks `{}` and `{}`",
        PAGES.join(", "),
        opening(name),
        closing(name)
    );
}

fn opening(name: &str) -> String {
    format!("<!-- bench:{name} -->")
}

fn closing(name: &str) -> String {
    format!("<!-- /bench:{name} -->")
}

/// A page with the new text; `None` without marks.
fn between(page: &str, name: &str, text: &str) -> Result<Option<String>> {
    let (opening, closing) = (opening(name), closing(name));
    let Some((before, rest)) = page.split_once(&opening) else {
        return Ok(None);
    };
    let Some((_, after)) = rest.split_once(&closing) else {
        bail!("`{opening}` has no `{closing}` behind it");
    };
    Ok(Some(format!("{before}{opening}\n{text}{closing}{after}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = "a\n<!-- bench:cost -->\nold\n<!-- /bench:cost -->\nb\n";
        let new = between(page, "cost", "new\n").unwrap().unwrap();
        assert_eq!(
            new,
            "a\n<!-- bench:cost -->\nnew\n<!-- /bench:cost -->\nb\n"
        );
        assert_eq!(between(&new, "cost", "new\n").unwrap().unwrap(), new);
        assert_eq!(between(page, "scale", "new").unwrap(), None);
        assert!(between("<!-- bench:cost --> and no end", "cost", "new").is_err());
    }
}
