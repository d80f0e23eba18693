//! A row an operation, for spreadsheets and scripts (RFC 4180): all that was recorded, in the
//! columns of `samples-*.parquet`.

use record::{PlanRecord, Sample, Timing};

use crate::csv::{cell, lines, optional};

/// Names of the columns; times are nanoseconds since the run began, as far as they are not a
/// duration, and empty where an operation did not come so far.
const COLUMNS: [&str; 21] = [
    "measure",
    "user",
    "number",
    "visit",
    "outcome",
    "status",
    "planned_ns",
    "started_ns",
    "sent_ns",
    "acked_ns",
    "first_ns",
    "done_ns",
    "timing",
    "bias_ns",
    "connect_ns",
    "tls_ns",
    "tls_resumed",
    "resent",
    "bytes_sent",
    "bytes_received",
    "body_received",
];

/// The header line.
pub fn log_header() -> String {
    lines([COLUMNS.map(str::to_owned)])
}

/// A line for each of these operations of a run of that plan.
pub fn log(plan: &PlanRecord, samples: &[Sample]) -> String {
    lines(samples.iter().map(|sample| row(plan, sample)))
}

fn row(plan: &PlanRecord, sample: &Sample) -> [String; COLUMNS.len()] {
    let measure = plan.measures.get(usize::from(sample.measure.0));
    let moments = &sample.moments;
    let (timing, bias) = match sample.timing {
        Timing::User => ("user", None),
        Timing::Kernel { bias } => ("kernel", bias),
        Timing::Missed => ("missed", None),
    };
    [
        measure.map_or(String::new(), |measure| cell(&measure.name)),
        sample.user.to_string(),
        sample.number.to_string(),
        optional(sample.visit),
        sample.outcome.name().to_owned(),
        optional(sample.status),
        moments.planned.to_string(),
        moments.started.to_string(),
        optional(moments.sent),
        optional(moments.acked),
        optional(moments.first),
        optional(moments.done),
        timing.to_owned(),
        optional(bias),
        optional(sample.connect.map(|connect| connect.tcp)),
        optional(sample.connect.and_then(|connect| connect.tls)),
        optional(sample.connect.and_then(|connect| connect.resumed)),
        sample.resent.to_string(),
        sample.bytes_sent.to_string(),
        sample.bytes_received.to_string(),
        sample.body_received.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use record::{Connect, Outcome};
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
        let text = log_header() + &log(&run.plan, &run.samples);
        let rows: Vec<Vec<&str>> = text
            .split_terminator("\r\n")
            .map(|line| line.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()));
        let of = |row: usize, column: &str| {
            let at = COLUMNS.iter().position(|name| *name == column).unwrap();
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
    }
}
