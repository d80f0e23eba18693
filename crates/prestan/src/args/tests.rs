//! Which command has which option.

use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory as _;

use super::Cli;

/// The commands that measure servers.
const MEASURING: [&str; 8] = [
    "compare", "diagnose", "gallery", "load", "run", "search", "sweep", "webstone",
];

/// The options that not all of these commands have, each with those that do, as the documentation says.
fn decided() -> BTreeMap<String, BTreeSet<&'static str>> {
    let text = include_str!("../../../../docs/DECISIONS.md");
    let (_, table) = text
        .split_once("## Options that a command does not have")
        .unwrap();
    let mut decided = BTreeMap::new();
    for row in table.lines().filter(|line| line.starts_with("| `--")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [options, commands, why] = cells[..] else {
            panic!("{row}");
        };
        assert!(why.ends_with('.'), "a reason is a sentence: {row}");
        let commands: BTreeSet<&str> = match commands.strip_prefix("all but ") {
            Some(without) => {
                let without: Vec<&str> = without.split(", ").collect();
                MEASURING
                    .into_iter()
                    .filter(|name| !without.contains(name))
                    .collect()
            }
            None => commands.split(", ").collect(),
        };
        for option in options.split(", ") {
            let option = option.trim_matches('`').trim_start_matches("--").to_owned();
            assert!(
                decided.insert(option, commands.clone()).is_none(),
                "twice: {row}"
            );
        }
    }
    decided
}

#[test]
fn each_option_is_decided_for_each_command_that_measures() {
    let program = Cli::command();
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for name in MEASURING {
        let command = program.find_subcommand(name).unwrap();
        for option in command.get_arguments().filter_map(clap::Arg::get_long) {
            found.entry(option.to_owned()).or_default().insert(name);
        }
    }
    found.retain(|_, commands| commands.len() < MEASURING.len());
    assert_eq!(found, decided());
}
