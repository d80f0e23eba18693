//! Options have the same meaning in all commands, and a command lacks one only for a reason.

use std::collections::{BTreeMap, BTreeSet};

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory as _, Parser as _};

use crate::command::Cli;

/// Commands without options about measuring servers. All others have every option, except for
/// documented reasons.
const OTHERS: [&str; 12] = [
    "analyze",
    "capture",
    "clean",
    "completions",
    "lab",
    "man",
    "report",
    "runs",
    "serve",
    "servers",
    "suites",
    "traffic",
];

/// The line of 2004, which has no sub-command.
const LINE: &str = "2004";

/// Options with a different meaning in another command.
const ANOTHER_THING: [&str; 8] = [
    "depth",
    "duration",
    "fail-if",
    "mix",
    "repeat",
    "same-within",
    "server",
    "suite",
];

/// The commands that measure servers, each with its options.
fn measuring() -> BTreeMap<String, Vec<Arg>> {
    let program = Cli::command();
    for other in OTHERS {
        assert!(program.find_subcommand(other).is_some(), "{other}");
    }
    let line = [(LINE, &program)];
    let commands = program.get_subcommands();
    let commands = commands.map(|command| (command.get_name(), command));
    let measuring = commands.filter(|(name, _)| !OTHERS.contains(name));
    let options = |command: &clap::Command| command.get_arguments().cloned().collect();
    let all = measuring.chain(line);
    all.map(|(name, command)| (name.to_owned(), options(command)))
        .collect()
}

/// Options that only some of these commands have, with those that do, according to the
/// documentation.
fn decided(all: &BTreeMap<String, Vec<Arg>>) -> BTreeMap<String, BTreeSet<&str>> {
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
        let (named, are_named) = match commands.strip_prefix("all but ") {
            Some(without) => (without, false),
            None => (commands, true),
        };
        let named: BTreeSet<&str> = named.split(", ").collect();
        let unknown = named.iter().find(|name| !all.contains_key(**name));
        assert_eq!(unknown, None, "{row}");
        let commands = all.keys().map(String::as_str);
        let commands: BTreeSet<&str> = commands
            .filter(|name| named.contains(name) == are_named)
            .collect();
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
    let all = measuring();
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (name, options) in &all {
        for option in options.iter().filter_map(Arg::get_long) {
            found.entry(option.to_owned()).or_default().insert(name);
        }
    }
    found.retain(|_, commands| commands.len() < all.len());
    assert_eq!(found, decided(&all));
}

#[test]
fn an_option_says_the_same_in_all_commands() {
    let all = measuring();
    let mut said: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for option in all.values().flatten() {
        let Some(name) = option.get_long() else {
            continue;
        };
        let texts = [option.get_help(), option.get_long_help()];
        let text = texts.into_iter().flatten().map(ToString::to_string);
        said.entry(name).or_default().insert(text.collect());
    }
    said.retain(|_, texts| texts.len() > 1);
    let differing: Vec<&str> = said.into_keys().collect();
    assert_eq!(differing, ANOTHER_THING);
}

#[test]
fn nothing_is_said_of_the_way_to_a_server_that_a_recipe_starts() {
    let options: [&[&str]; 4] = [
        &["--addresses", "random"],
        &["--haproxy-protocol"],
        &["--tls-resumption", "off"],
        &["--user", "ann"],
    ];
    for option in options {
        let line = ["prestan", "run", "listing", "--server", "nginx"];
        let refused = Cli::try_parse_from(line.iter().chain(option)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{option:?}");
    }
}
