//! Runs recorded by older versions, read as they were recorded.
//!
//! `formats/N` is a run of format N of the suite in it, by two users on the demo server. `formats/N.csv`
//! is what is read of it; `PRESTAN_BLESS=1` writes it anew.

use std::env;
use std::fs;
use std::path::PathBuf;

use record::{COLUMNS, Cell, Holds, OLDEST_RUN_FORMAT, RUN_FORMAT, Run};

fn formats() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// Everything that the samples hold.
fn table(run: &Run) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut table = names.join(",") + "\n";
    for sample in &run.samples {
        let cells = COLUMNS.iter().map(|column| match (column.of)(sample) {
            Cell::Absent => String::new(),
            Cell::Number(number) => number.to_string(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Place(place) => match column.holds {
                Holds::Words(words) => words[place].to_owned(),
                _ => run.plan.measures[place].name.clone(),
            },
        });
        table += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    table
}

#[test]
fn runs_of_all_formats_are_read() {
    for format in OLDEST_RUN_FORMAT..=RUN_FORMAT {
        let run = rundir::load(&formats().join(format.to_string())).unwrap();
        assert_eq!(run.plan.format, format);
        assert_eq!(run.plan.load.users, 2);
        assert!(run.env.ended_at.is_some() && !run.events.is_empty());
        let read = table(&run);
        let expected = formats().join(format!("{format}.csv"));
        if env::var_os("PRESTAN_BLESS").is_some() {
            fs::write(&expected, &read).unwrap();
        }
        assert_eq!(
            fs::read_to_string(expected).unwrap(),
            read,
            "format {format}"
        );
    }
}

#[test]
fn a_format_of_the_future_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let newest = formats().join(RUN_FORMAT.to_string());
    for entry in fs::read_dir(newest).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), directory.path().join(entry.file_name())).unwrap();
    }
    let plan = directory.path().join("plan.yaml");
    let text = fs::read_to_string(&plan).unwrap();
    let future = format!("format: {}", RUN_FORMAT + 1);
    fs::write(
        &plan,
        text.replace(&format!("format: {RUN_FORMAT}"), &future),
    )
    .unwrap();
    let refused = rundir::load(directory.path()).unwrap_err().to_string();
    assert!(refused.contains("this version reads 3 to 5"), "{refused}");
}
