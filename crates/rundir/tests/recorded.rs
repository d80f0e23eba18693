//! A recorded run is read as it was recorded, and a run of another format is refused.
//!
//! `recorded` is a run of the suite in it, by two users on the demo server, and `recorded.csv` is
//! its samples as read (`PRESTAN_BLESS=1` writes it again). After a change of the layout that makes
//! this run unreadable, raise [`RUN_FORMAT`] and record it again.

use std::env;
use std::fs;
use std::path::PathBuf;

use record::{COLUMNS, Cell, Holds, RUN_FORMAT, Run};

fn recorded() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// All values of the samples.
fn table(run: &Run) -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut table = names.join(",") + "\n";
    for sample in &run.samples {
        let cells = COLUMNS.iter().map(|column| match (column.cell)(sample) {
            Cell::Absent => String::new(),
            Cell::Number(number) => number.to_string(),
            Cell::Flag(flag) => flag.to_string(),
            Cell::Index(index) => match column.holds {
                Holds::Words(words) => words[index].to_owned(),
                _ => run.plan.measures[index].name.clone(),
            },
        });
        table += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    table
}

#[test]
fn a_recorded_run_is_read() {
    let run = rundir::load(&recorded()).unwrap();
    assert_eq!(run.plan.format, RUN_FORMAT);
    assert_eq!(run.plan.load.users, 2);
    assert!(run.env.ended_at.is_some() && !run.events.is_empty());
    let read = table(&run);
    let expected = recorded().with_extension("csv");
    if env::var_os("PRESTAN_BLESS").is_some() {
        fs::write(&expected, &read).unwrap();
    }
    assert_eq!(fs::read_to_string(expected).unwrap(), read);
}

#[test]
fn another_format_is_refused_whatever_else_it_has() {
    let plan = fs::read_to_string(recorded().join("plan.yaml")).unwrap();
    let format_line = format!("format: {RUN_FORMAT}\n");
    for format in [RUN_FORMAT - 1, RUN_FORMAT + 1] {
        let directory = tempfile::tempdir().unwrap();
        let other = plan.replace(
            &format_line,
            &format!("format: {format}\nsuits: unknown here\n"),
        );
        fs::write(directory.path().join("plan.yaml"), other).unwrap();
        let refused = rundir::load(directory.path()).unwrap_err().to_string();
        let message = format!(
            "plan.yaml: the run has format {format}, and this version of Prestan reads format {RUN_FORMAT} only; \
             read it with the version that recorded it, or measure again"
        );
        assert!(refused.ends_with(&message), "{refused}");
    }
}
