//! The columns of samples, in `samples-*.parquet` and in `--log`.
//!
//! Each column is declared once, with the conversion between cells and samples.

use crate::{Connect, HttpVersion, MeasureId, Outcome, PlanRecord, Sample, Segments, Timing};

/// A column.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Type of its cells.
    pub holds: Holds,
    /// Every sample of every run has a cell in it.
    pub is_required: bool,
    /// Samples of a run of that plan may have a value in it that a [blank](Sample::blank) one has
    /// not. Otherwise the column is empty, so that all runs have the same columns.
    pub is_needed: fn(&PlanRecord) -> bool,
    /// The cell of a sample.
    pub cell: fn(&Sample) -> Cell,
    /// Puts a cell into a sample, with the columns in their order; `None` if the cell is invalid in
    /// this column.
    pub put: fn(&mut Sample, Cell) -> Option<()>,
}

/// Type of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Names of measures of the plan.
    Measures,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Numbers of 32 bits.
    Int32,
    /// Numbers of 64 bits.
    Int64,
    /// Yes or no.
    Flags,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// No value: the operation did not get so far, or has no such property.
    Absent,
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// A measure of the plan, or one of the words of the column, by its index.
    Index(usize),
}

/// All columns. Times are nanoseconds since the run began; absent if the operation did not get so
/// far. `timing` is the clock of *sent* and *first*: `user`, `kernel`, or `missed` if a kernel time
/// stamp never arrived; `bias_ns` is the amount by which a user-space clock would have
/// over-reported the response time.
pub const COLUMNS: [Column; 31] = [
    required(
        "measure",
        Holds::Measures,
        |sample| Cell::Index(usize::from(sample.measure.0)),
        |sample, cell| {
            set(
                &mut sample.measure,
                cell.index()?.try_into().ok().map(MeasureId),
            )
        },
    ),
    required(
        "user",
        Holds::Int32,
        |sample| Cell::Number(i64::from(sample.user.cast_signed())),
        |sample, cell| {
            set(
                &mut sample.user,
                i32::try_from(cell.number()?).ok().map(i32::cast_unsigned),
            )
        },
    ),
    required(
        "number",
        Holds::Int64,
        |sample| Cell::of(sample.number),
        |sample, cell| set(&mut sample.number, cell.count()),
    ),
    optional(
        "visit",
        Holds::Int64,
        |sample| Cell::or_absent(sample.visit),
        |sample, cell| set(&mut sample.visit, cell.some_count()),
    ),
    required(
        "outcome",
        Holds::Words(&Outcome::NAMES),
        |sample| Cell::Index(sample.outcome as usize),
        |sample, cell| {
            set(
                &mut sample.outcome,
                Outcome::ALL.get(cell.index()?).copied(),
            )
        },
    ),
    optional(
        "status",
        Holds::Int32,
        |sample| Cell::or_absent(sample.status.map(u64::from)),
        |sample, cell| set(&mut sample.status, cell.some_small()),
    ),
    required(
        "planned_ns",
        Holds::Int64,
        |sample| Cell::of(sample.moments.planned),
        |sample, cell| set(&mut sample.moments.planned, cell.count()),
    ),
    required(
        "started_ns",
        Holds::Int64,
        |sample| Cell::of(sample.moments.started),
        |sample, cell| set(&mut sample.moments.started, cell.count()),
    ),
    optional(
        "sent_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.moments.sent),
        |sample, cell| set(&mut sample.moments.sent, cell.some_count()),
    ),
    optional(
        "acked_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.moments.acked),
        |sample, cell| set(&mut sample.moments.acked, cell.some_count()),
    ),
    optional(
        "first_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.moments.first),
        |sample, cell| set(&mut sample.moments.first, cell.some_count()),
    ),
    optional(
        "done_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.moments.done),
        |sample, cell| set(&mut sample.moments.done, cell.some_count()),
    ),
    required(
        "timing",
        Holds::Words(&["user", "kernel", "missed"]),
        |sample| match sample.timing {
            Timing::User => Cell::Index(0),
            Timing::Kernel { .. } => Cell::Index(1),
            Timing::Missed => Cell::Index(2),
        },
        |sample, cell| {
            let timings = [Timing::User, Timing::Kernel { bias: None }, Timing::Missed];
            set(&mut sample.timing, timings.get(cell.index()?).copied())
        },
    ),
    optional(
        "bias_ns",
        Holds::Int64,
        |sample| match sample.timing {
            Timing::Kernel { bias: Some(bias) } => Cell::Number(bias),
            _ => Cell::Absent,
        },
        |sample, cell| {
            if let Timing::Kernel { bias } = &mut sample.timing {
                *bias = cell.number();
            }
            Some(())
        },
    ),
    optional(
        "connect_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.connect.map(|connect| connect.tcp)),
        |sample, cell| {
            let connect = |tcp| Connect {
                tcp,
                tls: None,
                resumed: None,
            };
            set(
                &mut sample.connect,
                cell.some_count().map(|tcp| tcp.map(connect)),
            )
        },
    ),
    optional(
        "tls_ns",
        Holds::Int64,
        |sample| Cell::or_absent(sample.connect.and_then(|connect| connect.tls)),
        |sample, cell| {
            let tls = cell.some_count()?;
            sample.connect = sample.connect.map(|connect| Connect { tls, ..connect });
            Some(())
        },
    ),
    optional(
        "tls_resumed",
        Holds::Flags,
        |sample| match sample.connect.and_then(|connect| connect.resumed) {
            Some(resumed) => Cell::Flag(resumed),
            None => Cell::Absent,
        },
        |sample, cell| {
            let resumed = cell.flag();
            sample.connect = sample.connect.map(|connect| Connect { resumed, ..connect });
            Some(())
        },
    ),
    required(
        "resent",
        Holds::Flags,
        |sample| Cell::Flag(sample.resent),
        |sample, cell| set(&mut sample.resent, cell.flag()),
    ),
    required(
        "bytes_sent",
        Holds::Int64,
        |sample| Cell::of(sample.bytes_sent),
        |sample, cell| set(&mut sample.bytes_sent, cell.count()),
    ),
    required(
        "bytes_received",
        Holds::Int64,
        |sample| Cell::of(sample.bytes_received),
        |sample, cell| set(&mut sample.bytes_received, cell.count()),
    ),
    required(
        "body_received",
        Holds::Int64,
        |sample| Cell::of(sample.body_received),
        |sample, cell| set(&mut sample.body_received, cell.count()),
    ),
    only(
        |plan| !plan.others.is_empty(),
        required(
            "target",
            Holds::Int32,
            |sample| Cell::of(u64::from(sample.target)),
            |sample, cell| set(&mut sample.target, cell.small()),
        ),
    ),
    only(
        |plan| !plan.roles.is_empty(),
        required(
            "role",
            Holds::Int32,
            |sample| Cell::of(u64::from(sample.role)),
            |sample, cell| set(&mut sample.role, cell.small()),
        ),
    ),
    only(
        |plan| plan.load.pace.stages() > 1 || plan.load.adapt.is_some(),
        required(
            "phase",
            Holds::Int32,
            |sample| Cell::of(u64::from(sample.phase)),
            |sample, cell| set(&mut sample.phase, cell.small()),
        ),
    ),
    optional(
        "connection",
        Holds::Int64,
        |sample| Cell::or_absent(sample.connection.map(u64::from)),
        |sample, cell| set(&mut sample.connection, cell.some_small()),
    ),
    optional(
        "protocol",
        Holds::Words(&HttpVersion::NAMES),
        |sample| {
            let version = sample.protocol;
            version.map_or(Cell::Absent, |version| Cell::Index(version as usize))
        },
        |sample, cell| {
            sample.protocol = match cell {
                Cell::Absent => None,
                _ => Some(*HttpVersion::ALL.get(cell.index()?)?),
            };
            Some(())
        },
    ),
    only(
        |plan| plan.load.http.version == HttpVersion::Http2,
        optional(
            "stream",
            Holds::Int64,
            |sample| Cell::or_absent(sample.stream.map(u64::from)),
            |sample, cell| set(&mut sample.stream, cell.some_small()),
        ),
    ),
    only(
        PlanRecord::has_pipelines,
        optional(
            "shares_first",
            Holds::Flags,
            |sample| {
                if sample.shares_first {
                    Cell::Flag(true)
                } else {
                    Cell::Absent
                }
            },
            |sample, cell| {
                sample.shares_first = cell != Cell::Absent && cell.flag()?;
                Some(())
            },
        ),
    ),
    only(
        PlanRecord::has_segments,
        optional(
            "segments_sent",
            Holds::Int64,
            |sample| Cell::or_absent(sample.segments.map(|segments| u64::from(segments.sent))),
            |sample, cell| {
                let segments = |sent| Segments { sent, received: 0 };
                set(
                    &mut sample.segments,
                    cell.some_small().map(|sent| sent.map(segments)),
                )
            },
        ),
    ),
    only(
        PlanRecord::has_segments,
        optional(
            "segments_received",
            Holds::Int64,
            |sample| {
                let received = |segments: Segments| u64::from(segments.received);
                Cell::or_absent(sample.segments.map(received))
            },
            |sample, cell| {
                let received = cell.some_small()?.unwrap_or_default();
                sample.segments = sample.segments.map(|segment| Segments {
                    received,
                    ..segment
                });
                Some(())
            },
        ),
    ),
    only(
        |plan| plan.pages.iter().any(|page| page.parts.is_some()),
        optional(
            "parts",
            Holds::Int32,
            |sample| Cell::or_absent(sample.parts.map(u64::from)),
            |sample, cell| set(&mut sample.parts, cell.some_small()),
        ),
    ),
];

const fn required(
    name: &'static str,
    holds: Holds,
    cell: fn(&Sample) -> Cell,
    put: fn(&mut Sample, Cell) -> Option<()>,
) -> Column {
    Column {
        name,
        holds,
        is_required: true,
        is_needed: |_| true,
        cell,
        put,
    }
}

const fn optional(
    name: &'static str,
    holds: Holds,
    cell: fn(&Sample) -> Cell,
    put: fn(&mut Sample, Cell) -> Option<()>,
) -> Column {
    Column {
        is_required: false,
        ..required(name, holds, cell, put)
    }
}

/// A column that only some runs need; it is empty in others.
const fn only(is_needed: fn(&PlanRecord) -> bool, column: Column) -> Column {
    Column {
        is_required: false,
        is_needed,
        ..column
    }
}

/// Sets a field.
fn set<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

impl Cell {
    /// A count or a time; files have signed numbers.
    fn of(number: u64) -> Cell {
        Cell::Number(number.cast_signed())
    }

    fn or_absent(number: Option<u64>) -> Cell {
        number.map_or(Cell::Absent, Cell::of)
    }

    fn index(self) -> Option<usize> {
        match self {
            Cell::Index(index) => Some(index),
            _ => None,
        }
    }

    fn number(self) -> Option<i64> {
        match self {
            Cell::Number(number) => Some(number),
            _ => None,
        }
    }

    fn flag(self) -> Option<bool> {
        match self {
            Cell::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// A number that is not negative.
    fn count(self) -> Option<u64> {
        u64::try_from(self.number()?).ok()
    }

    /// A small number.
    fn small<T: TryFrom<u64>>(self) -> Option<T> {
        self.count()?.try_into().ok()
    }

    /// No number, or a small one.
    fn some_small<T: TryFrom<u64>>(self) -> Option<Option<T>> {
        match self {
            Cell::Absent => Some(None),
            _ => self.small().map(Some),
        }
    }

    /// No number, or one that is not negative.
    fn some_count(self) -> Option<Option<u64>> {
        match self {
            Cell::Absent => Some(None),
            _ => self.count().map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_their_cells() {
        let mut whole = Sample::blank();
        whole.measure = MeasureId(3);
        whole.user = 7;
        whole.visit = Some(0);
        whole.outcome = Outcome::Refused;
        whole.status = Some(423);
        whole.moments.sent = Some(5);
        whole.timing = Timing::Kernel { bias: Some(-4) };
        whole.connect = Some(Connect {
            tcp: 1,
            tls: Some(2),
            resumed: Some(false),
        });
        whole.segments = Some(Segments {
            sent: 6,
            received: 5,
        });
        whole.resent = true;
        whole.shares_first = true;
        (whole.target, whole.role, whole.phase) = (1, 2, 4);
        (whole.connection, whole.protocol, whole.stream) =
            (Some(9), Some(HttpVersion::Http10), Some(11));
        for sample in [Sample::blank(), whole] {
            let mut read = Sample::blank();
            for column in &COLUMNS {
                let cell = (column.cell)(&sample);
                assert!(cell != Cell::Absent || !column.is_required, "{column:?}");
                assert_eq!((column.put)(&mut read, cell), Some(()), "{column:?}");
            }
            assert_eq!(read, sample);
        }
    }

    #[test]
    fn a_cell_of_another_kind_is_refused() {
        for column in &COLUMNS {
            if column.is_required {
                let refused = (column.put)(&mut Sample::blank(), Cell::Absent);
                assert_eq!(refused, None, "{column:?}");
            }
        }
        for name in ["number", "visit", "sent_ns", "connect_ns"] {
            let column = COLUMNS.iter().find(|column| column.name == name).unwrap();
            let refused = (column.put)(&mut Sample::blank(), Cell::Number(-1));
            assert_eq!(refused, None, "{name}");
        }
    }
}
