//! The access log of a server, joined to the operations of a run by the numbers in `X-Prestan`.
//!
//! A line is `"METHOD PATH HTTP/1.1" STATUS TIME [BYTES] "SUITE: NUMBER (ROW)"`, as configured by
//! the recipes in `servers/`. Other lines are counted only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use record::{AccessLogRecord, MeasureId, Nanos, ServerTimeBatches, ServerTimeSource, ServerTimes};

/// Most operations that are joined: 40 MB.
const MOST_OPERATIONS: usize = 1_000_000;
/// Longest line, in bytes. A path may have eight kibibytes.
const LONGEST_LINE: usize = 64 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// Longest time that is accepted: a day.
const LONGEST: f64 = 86_400e9;

/// A log while it is written, and the operations to be joined with it.
pub struct AccessLog<Source = File> {
    source: Source,
    unit: LogUnit,
    /// Prefix of the number in `X-Prestan`.
    prefix: String,
    rows: Vec<String>,
    operations: Vec<LoggedOperation>,
    /// Indices of the operations by number.
    indices: BTreeMap<u64, usize>,
    /// Operations that have a line.
    found: usize,
    /// The beginning of an incomplete line; cut where it is too long.
    begun: Vec<u8>,
    counts: AccessLogRecord,
}

/// Unit of the times in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogUnit {
    /// Seconds, in steps of a millisecond.
    Seconds,
    /// Microseconds.
    Microseconds,
}

/// An operation that was ok, and its entry in the log.
struct LoggedOperation {
    measure: MeasureId,
    ours: Nanos,
    server: Nanos,
    lines: u32,
}

#[derive(Debug, PartialEq)]
struct LogLine<'a> {
    time: Nanos,
    label: &'a str,
}

impl LogUnit {
    fn in_nanoseconds(self) -> f64 {
        match self {
            LogUnit::Seconds => 1e9,
            LogUnit::Microseconds => 1e3,
        }
    }

    /// The smallest step of such times.
    fn resolution(self) -> Nanos {
        match self {
            LogUnit::Seconds => 1_000_000,
            LogUnit::Microseconds => 1_000,
        }
    }
}

impl AccessLog {
    /// Opens the log of a server, for a run of this suite with these rows.
    pub fn open(
        path: &Path,
        unit: LogUnit,
        suite: &str,
        rows: Vec<String>,
    ) -> io::Result<AccessLog> {
        Ok(AccessLog::new(File::open(path)?, unit, suite, rows))
    }
}

impl<Source: Read> AccessLog<Source> {
    fn new(source: Source, unit: LogUnit, suite: &str, rows: Vec<String>) -> AccessLog<Source> {
        AccessLog {
            source,
            unit,
            prefix: format!("{suite}: "),
            rows,
            operations: Vec::new(),
            indices: BTreeMap::new(),
            found: 0,
            begun: Vec::new(),
            counts: AccessLogRecord::default(),
        }
    }

    /// Adds an operation of the run that was ok: its number, row, and total time. Operations are
    /// added in the order of their ends, and before the log is read.
    pub fn look_for(&mut self, number: u64, measure: MeasureId, ours: Nanos) {
        if self.operations.len() == MOST_OPERATIONS {
            self.counts.beyond += 1;
            return;
        }
        self.indices.insert(number, self.operations.len());
        self.operations.push(LoggedOperation {
            measure,
            ours,
            server: 0,
            lines: 0,
        });
    }

    /// Reads the lines that are new since the last call. True when all operations have been found.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut piece = vec![0; PIECE];
        loop {
            let count = match self.source.read(&mut piece) {
                Ok(0) => return Ok(self.found == self.operations.len()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut lines = piece[..count].split(|byte| *byte == b'\n').peekable();
            while let Some(part) = lines.next() {
                let room = (LONGEST_LINE + 1).saturating_sub(self.begun.len());
                self.begun.extend_from_slice(&part[..part.len().min(room)]);
                // The rest after the last line end is the beginning of a line.
                if lines.peek().is_some() {
                    let line = std::mem::take(&mut self.begun);
                    self.take(&line);
                }
            }
        }
    }

    fn take(&mut self, line: &[u8]) {
        let parsed = (line.len() <= LONGEST_LINE)
            .then(|| LogLine::parse(line, self.unit))
            .flatten();
        let Some(line) = parsed else {
            self.counts.unreadable_lines += 1;
            return;
        };
        match self.index_of(line.label) {
            Some(index) => {
                let operation = &mut self.operations[index];
                operation.server = line.time;
                operation.lines = operation.lines.saturating_add(1);
                self.found += usize::from(operation.lines == 1);
            }
            None => self.counts.other_lines += 1,
        }
    }

    /// The index of the operation with that `X-Prestan`.
    fn index_of(&self, label: &str) -> Option<usize> {
        let (number, row) = label.strip_prefix(&self.prefix)?.split_once(' ')?;
        let row = row.strip_prefix('(')?.strip_suffix(')')?;
        let index = *self.indices.get(&number.parse().ok()?)?;
        let measure = usize::from(self.operations[index].measure.0);
        (self.rows.get(measure).map(String::as_str) == Some(row)).then_some(index)
    }

    /// Both times of the operations that have one line, by row, and the number of these operations.
    pub fn join(self) -> (Vec<ServerTimes>, AccessLogRecord) {
        let mut counts = self.counts;
        // A line without an end was cut.
        counts.unreadable_lines += u64::from(!self.begun.is_empty());
        counts.operations = self.operations.len() as u64;
        let mut rows: BTreeMap<MeasureId, (u64, ServerTimeBatches)> = BTreeMap::new();
        for operation in &self.operations {
            match operation.lines {
                0 => counts.missing += 1,
                1 => {
                    counts.joined += 1;
                    let (operations, batches) = rows.entry(operation.measure).or_default();
                    *operations += 1;
                    batches.push(operation.server, operation.ours);
                }
                _ => counts.ambiguous += 1,
            }
        }
        let times = rows
            .into_iter()
            .map(|(measure, (operations, batches))| ServerTimes {
                measure,
                source: ServerTimeSource::AccessLog,
                operations,
                resolution: self.unit.resolution(),
                batches: batches.into_batches(),
            });
        (times.collect(), counts)
    }
}

impl LogLine<'_> {
    fn parse(line: &[u8], unit: LogUnit) -> Option<LogLine<'_>> {
        // Parsed from its end: only the server writes there, apart from the label.
        let text = std::str::from_utf8(line).ok()?.trim_end();
        let (rest, label) = text.strip_suffix('"')?.rsplit_once('"')?;
        let (_, figures) = rest.strip_prefix('"')?.rsplit_once("\" ")?;
        let mut figures = figures.split_ascii_whitespace();
        figures.next()?.parse::<u16>().ok()?;
        let time: f64 = figures.next()?.parse().ok()?;
        let time = time * unit.in_nanoseconds();
        (0.0..=LONGEST).contains(&time).then_some(LogLine {
            time: time.round() as Nanos,
            label,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PUT: MeasureId = MeasureId(0);
    const GET: MeasureId = MeasureId(1);

    fn log(written: &[u8], unit: LogUnit) -> AccessLog<&[u8]> {
        let rows = ["Put1K", "Get1K"].map(str::to_owned).to_vec();
        AccessLog::new(written, unit, "prestan", rows)
    }

    fn sums(times: &ServerTimes) -> (MeasureId, u64, Nanos, Nanos) {
        let sum = |of: fn(&record::ServerTimeBatch) -> Nanos| times.batches.iter().map(of).sum();
        (
            times.measure,
            times.operations,
            sum(|operation| operation.server),
            sum(|operation| operation.ours),
        )
    }

    #[test]
    fn lines_are_joined_to_operations_by_their_numbers() {
        let written = "\
\"PUT /PrestanTest-1/a HTTP/1.1\" 201 400 120 \"prestan: 0000000003 (Put1K)\"
\"PUT /PrestanTest-1/a HTTP/1.1\" 201 77 120 \"prestan: 2 (warm-up)\"
\"GET /%22 HTTP/1.1\" 200 30 9 \"prestan: 0000000004 (Get1K)\"
\"GET / HTTP/1.1\" 200 31 9 \"prestan: 0000000004 (Put1K)\"
\"GET / HTTP/1.1\" 200 31 9 \"other: 0000000003 (Put1K)\"
\"GET / HTTP/1.1\" 401 1 9 \"prestan: 0000000006 (Get1K)\"
\"GET / HTTP/1.1\" 200 32 9 \"prestan: 0000000006 (Get1K)\"
\"PUT /b HTTP/1.1\" 201 600 \"prestan: 0000000005 (Put1K)\"
";
        let mut log = log(written.as_bytes(), LogUnit::Microseconds);
        for (number, row, ours) in [
            (3, PUT, 500_000),
            (4, GET, 90_000),
            (5, PUT, 700_000),
            (6, GET, 8),
            (7, GET, 8),
        ] {
            log.look_for(number, row, ours);
        }
        assert!(!log.read().unwrap(), "the seventh is not in it");
        let (times, counts) = log.join();
        let found: Vec<_> = times.iter().map(sums).collect();
        assert_eq!(
            found,
            [(PUT, 2, 1_000_000, 1_200_000), (GET, 1, 30_000, 90_000)]
        );
        assert!(times.iter().all(|time| time.resolution == 1_000));
        let expected = AccessLogRecord {
            operations: 5,
            joined: 3,
            missing: 1,
            ambiguous: 1,
            beyond: 0,
            other_lines: 3,
            unreadable_lines: 0,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_log_may_be_written_in_pieces_and_cut() {
        struct Pieces(Vec<Option<&'static [u8]>>);
        impl Read for Pieces {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match self.0.pop() {
                    None | Some(None) => Ok(0),
                    Some(Some(piece)) => {
                        buffer[..piece.len()].copy_from_slice(piece);
                        Ok(piece.len())
                    }
                }
            }
        }
        let mut pieces: Vec<Option<&[u8]>> = vec![
            Some(b"\"GET / HTTP/1.1\" 200 0.0"),
            None,
            Some(b"02 7 \"prestan: 7 (Get1K)\"\r\n\"GET / HTT"),
            None,
            Some(b"P/1.1\" 200 1.000 7 \"prestan: 8 (Get1K)\"\n\"GE"),
        ];
        pieces.reverse();
        let mut log = AccessLog::new(
            Pieces(pieces),
            LogUnit::Seconds,
            "prestan",
            vec!["Put1K".to_owned(), "Get1K".to_owned()],
        );
        log.look_for(7, GET, 3_000_000);
        log.look_for(8, GET, 1_100_000_000);
        let found: Vec<bool> = (0..3).map(|_| log.read().unwrap()).collect();
        assert_eq!(found, [false, false, true]);
        let (times, counts) = log.join();
        assert_eq!(sums(&times[0]), (GET, 2, 1_002_000_000, 1_103_000_000));
        assert_eq!(
            (times[0].resolution, counts.unreadable_lines),
            (1_000_000, 1)
        );
    }

    #[test]
    fn lines_that_are_none_are_counted() {
        let long = format!(
            "\"GET /{} HTTP/1.1\" 200 1 \"prestan: 1 (Get1K)\"",
            "x".repeat(LONGEST_LINE)
        );
        for line in [
            "",
            "\"",
            "\"\"",
            "\"GET / HTTP/1.1\" 200 \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 200 - \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 200 -5 \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 200 nan \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 200 inf \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 200 1e300 \"prestan: 1 (Get1K)\"",
            "\"GET / HTTP/1.1\" 2000000 5 \"prestan: 1 (Get1K)\"",
            "GET / HTTP/1.1 200 5 prestan: 1 (Get1K)",
            "\"GET / HTTP/1.1\" 200 5 \"prestan: 1 (Get1K)",
            &long,
        ] {
            let written = format!("{line}\n");
            let mut log = log(written.as_bytes(), LogUnit::Microseconds);
            log.look_for(1, GET, 5);
            assert!(!log.read().unwrap(), "{line}");
            let (times, counts) = log.join();
            assert_eq!(
                (times, counts.unreadable_lines, counts.missing),
                (vec![], 1, 1),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_line_and_every_operation_is_counted_once(
            lines in prop::collection::vec(
                prop_oneof![
                    "\"[ -~]{0,9}\" 20[0-9] [0-9]{1,5} \"prestan: [0-9]{1,2} \\((Get1K|Put1K)\\)\"",
                    "[ -~]{0,40}",
                ],
                0..40,
            ),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            numbers in prop::collection::btree_set(0..40_u64, 0..30),
        ) {
            let mut written = lines.join("\n").into_bytes();
            written.push(b'\n');
            written.extend(&bytes);
            let in_log = written.split(|byte| *byte == b'\n').count() - usize::from(written.ends_with(b"\n"));
            let mut log = log(&written, LogUnit::Microseconds);
            for number in &numbers {
                log.look_for(*number, MeasureId((number % 2) as u16), 5);
            }
            let is_complete = log.read().unwrap();
            let lines_of_operations: u64 = log.operations.iter().map(|operation| u64::from(operation.lines)).sum();
            let (times, counts) = log.join();
            prop_assert_eq!(counts.operations, numbers.len() as u64);
            prop_assert_eq!(counts.joined + counts.missing + counts.ambiguous, counts.operations);
            prop_assert_eq!(is_complete, counts.missing == 0);
            prop_assert_eq!(lines_of_operations + counts.other_lines + counts.unreadable_lines, in_log as u64);
            prop_assert_eq!(times.iter().map(|time| time.operations).sum::<u64>(), counts.joined);
        }
    }
}
