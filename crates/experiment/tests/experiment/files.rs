//! Experiment files: plans made from them, and files that are refused.

use std::collections::BTreeSet;

use builtin::{BuiltinFile, EXPERIMENTS};
use experiment::{
    ChosenSuite, ExperimentSpec, FileError, LevelCombination, PublishedFigures, RecordedTrials,
    ShownUnit, TableSpec, TrialRecord, TrialSetup, planned_trials, summarise,
};
use proptest::prelude::*;

use crate::support::{RIGHT, built_in, campaign, cell, recorded, right};

fn changed(from: &str, to: &str) -> String {
    let text = RIGHT.replacen(from, to, 1);
    assert_ne!(text, RIGHT, "{from} is not there");
    text
}

fn names(cells: &[LevelCombination]) -> Vec<String> {
    let name = |cell: &LevelCombination| {
        let factors = ["mix", "load", "server"];
        factors.map(|factor| cell.level(factor)).join(" ")
    };
    cells.iter().map(name).collect()
}

#[test]
fn cells_are_those_of_the_file_of_short_and_of_scenarios() {
    let spec = right();
    let all = [
        "C1 75 apache",
        "C1 75 nginx",
        "C1 75 bare",
        "C1 100 apache",
        "C1 100 nginx",
        "C1 100 bare",
        "C2 75 apache",
        "C2 75 bare",
        "C2 100 apache",
        "C2 100 bare",
    ];
    assert_eq!(names(&spec.all_cells()), all);
    let chosen = |full: bool, scenarios: &[&str]| {
        let scenarios: Vec<String> = scenarios.iter().map(ToString::to_string).collect();
        spec.chosen_cells(full, &scenarios)
            .map(|cells| names(&cells))
            .map_err(|error| error.to_string())
    };
    assert_eq!(chosen(true, &[]).unwrap(), all);
    assert_eq!(chosen(false, &[]).unwrap().len(), 5);
    assert_eq!(
        chosen(false, &["C2"]).unwrap(),
        ["C2 75 apache", "C2 75 bare"]
    );
    assert_eq!(
        chosen(false, &["mix=C1", "server=nginx,bare"]).unwrap(),
        ["C1 75 nginx", "C1 75 bare"]
    );
    // Requested cells that are not in `short`.
    assert_eq!(
        chosen(false, &["load=100", "nginx"]).unwrap(),
        ["C1 100 nginx"]
    );
    let table = "
        => --scenario: no level is called ``
        mx=C1 => --scenario: no factor is called `mx`; known are mix, load, server
        mix=C4 => --scenario: no level of `mix` is called `C4`; known are C1, C2
        apach => --scenario: no level is called `apach`; did you mean `apache`?
    ";
    for [scenario, expected] in cases::rows(table) {
        let error = chosen(false, &[scenario]).unwrap_err();
        assert!(error.starts_with(expected), "{scenario}: {error}");
    }
    let error = chosen(true, &["C2", "nginx"]).unwrap_err();
    assert!(error.contains("no cell"), "{error}");
    let both = changed("name: 100", "name: C1")
        .replace(",100,", ",C1,")
        .replace("load: 100}", "load: C1}");
    let spec = ExperimentSpec::read("x", &both).unwrap_or_else(|error| panic!("{error}"));
    let error = spec.chosen_cells(true, &["C1".to_owned()]).unwrap_err();
    assert!(error.message().ends_with("write mix=C1"), "{error}");
}

#[test]
fn a_trial_is_filled_in_with_the_levels_of_its_cell() {
    let spec = right();
    let setup = |mix, load, server| {
        let cell = cell(&[("mix", mix), ("load", load), ("server", server)]);
        spec.setup(&cell).unwrap_or_else(|error| panic!("{error}"))
    };
    let idle = setup("C1", "75", "apache");
    assert!(idle.trial.requests.is_empty(), "a rate of 0 is no request");
    assert_eq!(idle.trial.servers["server"].recipe, "apache");
    assert_eq!(idle.trial.captures, ["server"]);
    let busy = setup("C2", "100", "apache");
    assert_eq!(
        busy.trial.requests["stress"].rate.bits_per_second(),
        40_000_000
    );
    let traffic = busy.trial.traffic.unwrap();
    let rate = traffic.file.loads["udp"].rate.unwrap();
    assert_eq!(rate.bits_per_second(), 100_000_000);
    // The lab's own keys stay, and `null` removes a key that a level does not have.
    let options = |setup: &experiment::TrialSetup| {
        let host = setup.network.find("stress").unwrap();
        setup.network.nodes[host].options.clone()
    };
    assert_eq!(options(&idle).congestion, "cubic");
    assert_eq!(options(&setup("C2", "75", "bare")).congestion, "reno");
    assert_eq!(idle.lab.every_host.congestion.as_deref(), Some("cubic"));
    let missing = cell(&[("mix", "C1"), ("load", "75")]);
    assert!(spec.setup(&missing).is_err());
}

#[test]
fn servers_of_the_command_line_replace_those_of_the_file() {
    let spec = right();
    let with = |servers: &[&str]| {
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        spec.with_servers(&servers)
    };
    let one = with(&["caddy,http=1"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        names(&one.all_cells()),
        [
            "C1 75 caddy-http-1",
            "C1 100 caddy-http-1",
            "C2 75 caddy-http-1",
            "C2 100 caddy-http-1"
        ]
    );
    let setup = one.setup(&one.all_cells()[0]).unwrap();
    assert_eq!(setup.trial.servers["server"].recipe, "caddy,http=1");
    assert_eq!(one.published, "");
    // A table about `apache` is about its copy; a claim about `bare` is about no server.
    assert_eq!((one.tables.len(), one.findings.len()), (2, 2));
    let two = with(&["nginx", "caddy"]).unwrap();
    assert_eq!(names(&two.all_cells()).len(), 2 + 4);
    assert!(two.published.contains("C1,nginx,75") && !two.published.contains("apache"));
    let same = with(&["bare", "apache", "nginx"]).unwrap();
    assert_eq!(PublishedFigures::read(&same), PublishedFigures::read(&spec));
    assert_eq!(same.findings.len(), 3);
    // A part about the model alone is repeated for each server, with the name of that server.
    let titles = |spec: &ExperimentSpec| {
        let title = |table: &TableSpec| format!("{}: {}", table.name, table.title);
        spec.tables.iter().map(title).collect::<Vec<_>>()
    };
    let congestion = built_in("congestion");
    let with_servers = |servers: &[&str]| {
        let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
        congestion.with_servers(&servers).unwrap()
    };
    let nginx = with_servers(&["nginx"]);
    assert!(titles(&nginx).contains(&"Table 8: C1, nginx and nginx".to_owned()));
    let columns = nginx.tables[0].columns.iter();
    let columns: Vec<&str> = columns
        .filter_map(|column| column.title.as_deref())
        .collect();
    assert_eq!(columns, ["ST nginx", "BT nginx"]);
    // The server of `nginx` is nginx.
    let servers = nginx.setup(&nginx.all_cells()[0]).unwrap().trial.servers;
    let recipes: Vec<&str> = servers
        .values()
        .map(|server| server.recipe.as_str())
        .collect();
    assert_eq!(recipes, ["nginx", "nginx"]);
    let both = titles(&with_servers(&["apache", "nginx"]));
    assert!(both.contains(&"Table 8, apache: C1, Apache and Apache".to_owned()));
    assert!(both.contains(&"Table 8, nginx: C1, nginx and nginx".to_owned()));
    let none = titles(&with_servers(&["not-iis"]));
    assert!(
        !none.iter().any(|title| title.contains("Apache")),
        "{none:?}"
    );
    let table = [
        (&["nginx", "nginx"][..], "named twice"),
        (&["a=b", "a,b"][..], "named twice"),
        (&[][..], "names no server"),
        (&[""][..], "no name of a level"),
    ];
    for (servers, expected) in table {
        let error = with(servers).unwrap_err();
        assert!(error.message().contains(expected), "{servers:?}: {error}");
    }
    let fixed = ExperimentSpec::read("x", &changed("servers: true", "servers: false")).unwrap();
    assert!(fixed.with_servers(&["nginx".to_owned()]).is_err());
}

/// An experiment with a suite of two rows in place of its measurements.
fn with_suite(spec: &ExperimentSpec) -> Result<ExperimentSpec, FileError> {
    spec.with_suite(ChosenSuite {
        name: "prestan",
        arguments: &["-r".to_owned(), "3".to_owned()],
        rows: &["Put1K".to_owned(), "Get1K".to_owned()],
    })
}

#[test]
fn a_suite_replaces_what_is_measured_and_nothing_else() {
    let congestion = built_in("congestion");
    let spec = with_suite(&congestion).unwrap();
    let factors: Vec<&str> = spec
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .collect();
    assert_eq!(factors, ["scenario", "after", "servers"]);
    // Apache behind four scenarios; the bare server only serves the background.
    let cells = spec
        .chosen_cells(false, &["servers=apache".to_owned()])
        .unwrap();
    assert_eq!(cells.len(), 4);
    let servers = spec.chosen_cells(true, &[]).unwrap();
    let servers: BTreeSet<&str> = servers.iter().map(|cell| cell.level("servers")).collect();
    assert_eq!(
        Vec::from_iter(servers),
        ["apache", "apache-and-not-iis", "apache-bbr", "apache-reno"]
    );
    let TrialSetup { trial, .. } = spec.setup(&cells[0]).unwrap();
    let before = congestion.all_cells();
    let before = before.iter().find(|cell| cell.level("servers") == "apache");
    let before = congestion.setup(before.unwrap()).unwrap().trial;
    assert_eq!(trial.requests, before.requests);
    assert_eq!(trial.traffic, before.traffic);
    assert_eq!(trial.servers, before.servers);
    let measured = &trial.measured["request"];
    let ends = (measured.from.as_str(), measured.to.as_str());
    assert_eq!(ends, ("client", "server"));
    assert_eq!(measured.suite.as_deref(), Some("prestan"));
    assert_eq!((measured.path.as_deref(), trial.captures.len()), (None, 0));

    let figures = [("request.Put1K.mean", 0.25), ("request.Get1K.mean", 0.125)];
    let trials: Vec<TrialRecord> = (1..=2)
        .flat_map(|repetition| {
            cells
                .iter()
                .map(move |cell| recorded(cell, repetition, &figures))
        })
        .collect();
    let summary = summarise(&spec, &campaign(&spec, cells.clone(), 2), &trials);
    let table = &summary.tables[0];
    assert_eq!(table.name, "Suite prestan");
    assert_eq!(table.row_factors, ["Test"]);
    assert_eq!(table.rows, [["Put1K"], ["Get1K"]]);
    let heading = ("no congestion, 8 s, Apache".to_owned(), ShownUnit::Ms);
    assert_eq!((table.columns.len(), &table.columns[3]), (4, &heading));
    assert_eq!(table.cells[1][3].mean, Some(125.0));
    assert_eq!(table.cells[0][0].mean, Some(250.0));
}

#[test]
fn a_suite_is_not_measured_at_servers_that_store_nothing() {
    let error = with_suite(&built_in("timers")).unwrap_err().to_string();
    assert!(error.contains("name others (--server apache)"), "{error}");
    let both = with_suite(&built_in("competing")).unwrap();
    let names: Vec<&str> = both
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["Suite prestan, request1", "Suite prestan, request2"]
    );
    let timers = BuiltinFile::find(EXPERIMENTS, "timers").unwrap().text;
    let text = timers.replacen("to: server, path: /320k}", "to: server, suite: prestan}", 9);
    let error = ExperimentSpec::read("x", &text).unwrap_err().to_string();
    assert!(error.contains("stores nothing"), "{error}");
}

fn record(cell: &LevelCombination, repetition: u32) -> TrialRecord {
    recorded(cell, repetition, &[("single.delay", 0.25)])
}

#[test]
fn each_repetition_has_each_cell_once_in_an_order_of_its_own() {
    let cells = right().all_cells();
    let trials = planned_trials(&cells, 3, 7, &[]);
    assert_eq!(trials.len(), 30);
    let order = |block: usize| {
        let block = &trials[block * 10..(block + 1) * 10];
        assert!(
            block
                .iter()
                .all(|trial| trial.repetition == block[0].repetition)
        );
        let cells: BTreeSet<_> = block.iter().map(|trial| &trial.cell).collect();
        assert_eq!(cells.len(), 10);
        block.iter().map(|trial| &trial.cell).collect::<Vec<_>>()
    };
    assert!(order(0) != order(1) && order(1) != order(2));
    assert_eq!(planned_trials(&cells, 3, 7, &[]), trials);
    assert_ne!(planned_trials(&cells, 3, 8, &[]), trials);
    // Neither more repetitions nor finished trials change the order of the others.
    assert_eq!(planned_trials(&cells, 4, 7, &[])[..30], trials);
    let done: Vec<TrialRecord> = trials[..13]
        .iter()
        .map(|trial| record(&trial.cell, trial.repetition))
        .collect();
    assert_eq!(planned_trials(&cells, 3, 7, &done), trials[13..]);
}

#[test]
fn a_torn_last_line_does_not_count() {
    let cells = right().all_cells();
    let mut text = Vec::new();
    for cell in &cells[..2] {
        text.extend(serde_json::to_vec(&record(cell, 1)).unwrap());
        text.push(b'\n');
    }
    let whole = text.len();
    let read = RecordedTrials::read(&text).unwrap();
    assert_eq!((read.trials.len(), read.whole_bytes), (2, whole));
    assert_eq!(read.trials[1], record(&cells[1], 1));
    text.extend(b"{\"cell\":{\"mix\":\"C1\xff");
    for end in whole..=text.len() {
        let read = RecordedTrials::read(&text[..end]).unwrap();
        assert_eq!((read.trials.len(), read.whole_bytes), (2, whole));
    }
    text.push(b'\n');
    let error = RecordedTrials::read(&text).unwrap_err();
    assert_eq!(error.location(), "trials.jsonl:3");
    assert_eq!(
        RecordedTrials::read(b"").unwrap(),
        RecordedTrials::default()
    );
}

#[test]
fn published_figures_are_found_by_the_cells_that_they_are_about() {
    let spec = right();
    let published = PublishedFigures::read(&spec).unwrap();
    let all = spec.all_cells();
    let cells = |figure: &str, levels: &[(&str, &str)]| {
        let matches = |cell: &&LevelCombination| {
            levels
                .iter()
                .all(|(factor, level)| cell.level(factor) == *level)
        };
        let some: Vec<LevelCombination> = all.iter().filter(matches).cloned().collect();
        published.of(figure, &some, &all)
    };
    let delay = "single.delay";
    assert_eq!(
        cells(
            delay,
            &[("mix", "C1"), ("load", "75"), ("server", "apache")]
        ),
        Some(0.5)
    );
    // A line for all loads together.
    assert_eq!(
        cells(delay, &[("mix", "C1"), ("server", "bare")]),
        Some(2.0)
    );
    // The mean of the lines of both loads.
    assert_eq!(
        cells(delay, &[("mix", "C1"), ("server", "apache")]),
        Some(0.75)
    );
    // One of them is not published.
    assert_eq!(cells(delay, &[("mix", "C1"), ("server", "nginx")]), None);
    assert_eq!(
        cells(
            "path.rtt",
            &[("mix", "C1"), ("load", "75"), ("server", "nginx")]
        ),
        Some(3.5)
    );
    assert_eq!(
        cells(
            "path.rtt",
            &[("mix", "C1"), ("load", "75"), ("server", "apache")]
        ),
        None
    );
    assert_eq!(published.of(delay, &[], &all), None);
}

#[test]
fn built_in_experiments_are_right_in_all_cells() {
    for BuiltinFile { name, text } in EXPERIMENTS {
        let spec = ExperimentSpec::read(name, text).unwrap_or_else(|error| panic!("{error}"));
        let again = serde_json::to_string(&spec).unwrap();
        let again: ExperimentSpec = serde_json::from_str(&again).unwrap();
        assert_eq!(again, spec, "{name}: a record is another experiment");
        for cell in spec.all_cells() {
            spec.setup(&cell)
                .unwrap_or_else(|error| panic!("{name}: {cell:?}: {error}"));
        }
    }
}

#[test]
fn the_schema_is_the_one_in_docs() {
    schemars::assert_published(
        "experiment.schema.json",
        &schemars::published::<ExperimentSpec>(),
    );
}

fn torn() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "*",
        "[",
        "]",
        "{",
        "}",
        ":",
        "\n",
        "- ",
        "'",
        "\"",
        "null",
        "0",
        "1e999",
        "-1",
        "mix",
        "{{ mix }}",
        "{{ [1]*9 }}",
        "*a",
        "&a ",
        "<<",
        "\u{1}",
        "é",
        "server",
        ",",
        "75",
    ]);
    (
        0..RIGHT.len(),
        0..40usize,
        prop::collection::vec(parts, 0..4),
    )
        .prop_map(|(at, cut, parts)| {
            let mut text: Vec<char> = RIGHT.chars().collect();
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, parts.concat().chars());
            text.into_iter().collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_it_panic(text in prop_oneof![torn(), ".{0,200}".prop_map(|text| text)]) {
        if let Ok(spec) = ExperimentSpec::read("x", &text) {
            for cell in spec.all_cells() {
                let _ = spec.setup(&cell);
            }
            let _ = spec.with_servers(&["nginx".to_owned(), text.clone()]);
            let _ = spec.chosen_cells(false, std::slice::from_ref(&text));
        }
    }

    #[test]
    fn no_template_makes_it_panic(template in "[\\{\\}%*+~\\[\\]()'0-9a-z.| -]{0,40}") {
        let text = RIGHT.replacen("\"{{ mix.rate }}\"", &format!("\"{{{{{template}}}}}\""), 1);
        let _ = ExperimentSpec::read("x", &text);
    }

    #[test]
    fn no_published_figures_make_it_panic(csv in "[a-zA-Z0-9.,\n #-]{0,200}") {
        let spec = ExperimentSpec { published: csv, ..right() };
        let _ = PublishedFigures::read(&spec);
        let _ = spec.with_servers(&["caddy".to_owned()]);
    }

    #[test]
    fn no_trials_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = RecordedTrials::read(&bytes);
    }
}

#[test]
fn a_value_of_a_level_is_inserted_as_it_is_written() {
    let server = "levels:\n      - {name: apache, title: Apache, values: {recipe: apache}}";
    let written =
        "levels:\n      - {name: apache, values: {recipe: apache, version: 1.10, half: 5e-1}}";
    let text = changed(server, written)
        .replace(
            "{{ server.recipe }}",
            "{{ server.recipe }},v={{ server.version }}-{{ server.half * 4 }}",
        )
        .replace(
            "values: {recipe: nginx}",
            "values: {recipe: nginx, version: 007, half: 1e0}",
        )
        .replace(
            "values: {recipe: h2o}",
            "values: {recipe: h2o, version: no, half: 2}",
        );
    let spec = ExperimentSpec::read("x", &text).unwrap_or_else(|error| panic!("{error}"));
    // The record of a campaign keeps it.
    let record = serde_json::to_string(&spec).unwrap();
    let again: ExperimentSpec = serde_json::from_str(&record).unwrap();
    assert_eq!(again, spec);
    for (server, recipe) in [
        ("apache", "apache,v=1.10-2.0"),
        ("nginx", "nginx,v=007-4"),
        ("bare", "h2o,v=no-8"),
    ] {
        let cell = cell(&[("mix", "C1"), ("load", "75"), ("server", server)]);
        for spec in [&spec, &again] {
            let setup = spec.setup(&cell).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(setup.trial.servers["server"].recipe, recipe);
        }
    }
}
