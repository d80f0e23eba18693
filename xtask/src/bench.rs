//! `cargo xtask bench NAME`: the benchmarks of `benches/`, with everything they need built; and the
//! benchmark of building itself.

mod build;

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::project::{build_release, root};

/// Builds `prestan` and the benchmarks as users install them, and runs the latter with these
/// arguments.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let [name, rest @ ..] = arguments
        && name == "build"
    {
        return build::run(rest);
    }
    // Separately: together, the program would have the features that only benchmarks need.
    build_release(&["prestan"])?;
    let programs = build_release(&["benches"])?;
    let mut benches = Command::new(programs.join("benches"));
    let status = benches.args(arguments).current_dir(root()?).status();
    let status = status.context("starting the benchmarks")?;
    if !status.success() {
        bail!("the benchmark failed ({status})");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    /// Marks of tables that occur twice.
    fn repeated(pages: &[String]) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let tables = pages.iter().flat_map(|page| page.lines());
        let tables = tables.filter(|line| line.starts_with("<!-- bench:"));
        tables.filter(|line| !known.insert(*line)).collect()
    }

    #[test]
    fn the_tables_of_a_benchmark_stand_once() {
        let table = "<!-- bench:cost -->\n".to_owned();
        assert_eq!(repeated(&[table.clone(), table]), ["<!-- bench:cost -->"]);
        let root = root().unwrap();
        let documents = fs::read_dir(root.join("docs")).unwrap();
        let documents = documents.map(|entry| entry.unwrap().path());
        let pages = documents.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        let pages = pages.chain([root.join("README.md")]);
        let pages: Vec<String> = pages
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        assert!(pages.iter().any(|page| page.contains("<!-- bench:")));
        assert_eq!(repeated(&pages), [] as [&str; 0]);
    }
}
