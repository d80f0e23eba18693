//! A row an operation, for spreadsheets and scripts (RFC 4180): all that was recorded, in the
//! columns of `samples-*.parquet`, and whether the operation counts.

use record::{COLUMNS, Cell, Column, Holds, PlanRecord, Sample};
use stats::MeasurementWindow;

use crate::csv::{cell, lines};

/// The header line.
pub fn log_header() -> String {
    let names = COLUMNS.iter().map(|column| column.name).chain(["counted"]);
    lines([names.map(str::to_owned)])
}

/// A line for each of these operations of a run of that plan, whose measures have these windows.
pub fn log(plan: &PlanRecord, windows: &[MeasurementWindow], samples: &[Sample]) -> String {
    let counts = |sample: &Sample| {
        let window = windows.get(usize::from(sample.measure.0));
        window.is_some_and(|window| window.contains(sample))
    };
    let row = |sample| {
        let cells = COLUMNS.iter();
        let cells = cells.map(move |column| shown(plan, column, (column.cell)(sample)));
        cells.chain([counts(sample).to_string()])
    };
    lines(samples.iter().map(row))
}

fn shown(plan: &PlanRecord, column: &Column, of: Cell) -> String {
    match (of, column.holds) {
        (Cell::Number(number), _) => number.to_string(),
        (Cell::Flag(flag), _) => flag.to_string(),
        (Cell::Index(index), Holds::Words(words)) => words[index].to_owned(),
        (Cell::Index(index), _) => {
            let measure = plan.measures.get(index);
            measure.map_or(String::new(), |measure| cell(&measure.name))
        }
        (Cell::Absent, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use record::{Connect, Outcome, Timing};
    use stats::testing::RunBuilder;

    use super::*;

    #[test]
    fn every_operation_is_a_line_with_a_cell_for_each_column() {
        let run = RunBuilder::new(1).test("=Get", &[("=Get", "GET")]);
        let mut run = run.ok("=Get", 2, |i| 100 + i).build();
        let broken = &mut run.samples[1];
        broken.outcome = Outcome::Reset;
        broken.status = None;
        broken.moments.first = None;
        broken.visit = Some(7);
        broken.timing = Timing::Kernel { bias: Some(-5) };
        broken.connect = Some(Connect {
            tcp: 30,
            tls: Some(40),
            resumed: Some(true),
        });
        let window = MeasurementWindow::Between {
            start: run.samples[1].moments.started,
            end: u64::MAX,
        };
        let text = log_header() + &log(&run.plan, &[window], &run.samples);
        let rows: Vec<Vec<&str>> = text
            .split_terminator("\r\n")
            .map(|line| line.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len() + 1));
        let of = |row: usize, column: &str| {
            let at = rows[0].iter().position(|name| *name == column).unwrap();
            rows[row][at]
        };
        // Nothing that a spreadsheet takes for a formula.
        assert_eq!(of(1, "measure"), "'=Get");
        assert_eq!((of(1, "outcome"), of(1, "status")), ("ok", "207"));
        assert_eq!((of(1, "visit"), of(1, "connect_ns")), ("", ""));
        assert_eq!((of(2, "outcome"), of(2, "status")), ("reset", ""));
        assert_eq!((of(2, "visit"), of(2, "bias_ns")), ("7", "-5"));
        assert_eq!((of(2, "connect_ns"), of(2, "tls_ns")), ("30", "40"));
        assert_eq!((of(1, "tls_resumed"), of(2, "tls_resumed")), ("", "true"));
        assert_eq!(of(2, "first_ns"), "");
        // Operations that began outside of the window are in the log, and do not count.
        assert_eq!((of(1, "counted"), of(2, "counted")), ("false", "true"));
    }
}
