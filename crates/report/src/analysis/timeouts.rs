//! The study of retransmission timeouts over the round trips of a capture.

use trace::connection::ConnectionFigures;
use trace::round_trip::RttSample;
use trace::rto::{
    PAPER_THRESHOLDS_NS, PAPER_WEIGHTS, RtoFormula, RtoStudyRow, RtoWeights, SamplingStrategy,
    study,
};

use super::figures::UNKNOWN;
use crate::document::{Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow};
use crate::figure::percent;
use crate::lists::number_of;
use crate::units::human;

/// Which formulas are studied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FormulaName {
    /// W1 to W9 of the dissertation.
    Paper,
    /// This one.
    One(RtoFormula),
}

/// Timeouts of formulas over the round trips of a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeoutStudy {
    /// Which formulas.
    pub formulas: FormulaName,
    /// Round trips.
    pub round_trips: u64,
    /// Directions that have some.
    pub directions: u64,
    /// Round trips that were too many to be kept.
    pub left_out: u64,
    /// The rows: for each formula some, one and all round trips of a window.
    pub rows: Vec<RtoStudyRow>,
}

impl TimeoutStudy {
    /// Over all directions of these connections.
    pub fn of(connections: &[ConnectionFigures], formulas: FormulaName) -> TimeoutStudy {
        let directions = connections
            .iter()
            .flat_map(|connection| [&connection.from_client.rtt, &connection.from_server.rtt]);
        let directions: Vec<_> = directions.filter(|rtt| rtt.count() > 0).collect();
        let samples: Vec<&[RttSample]> = directions.iter().map(|rtt| rtt.samples()).collect();
        let kept: u64 = samples.iter().map(|samples| samples.len() as u64).sum();
        let all: u64 = directions.iter().map(|rtt| rtt.count()).sum();
        let formulas_of = match formulas {
            FormulaName::Paper => PAPER_WEIGHTS.map(RtoFormula::paper).to_vec(),
            FormulaName::One(formula) => vec![formula],
        };
        TimeoutStudy {
            formulas,
            round_trips: kept,
            directions: directions.len() as u64,
            left_out: all.saturating_sub(kept),
            rows: study(&samples, &formulas_of),
        }
    }
}

pub(super) fn strategy(of: SamplingStrategy) -> &'static str {
    match of {
        SamplingStrategy::One => "one",
        SamplingStrategy::Some => "some",
        SamplingStrategy::All => "all",
    }
}

/// A weight as the dissertation writes it: 3/16.
fn weight(of: f64) -> String {
    let sixteenths = of * 16.0;
    if (sixteenths - sixteenths.round()).abs() > 1e-9 {
        return format!("{of}");
    }
    let (mut above, mut below) = (sixteenths.round() as u64, 16);
    while above > 0 && above % 2 == 0 && below > 1 {
        (above, below) = (above / 2, below / 2);
    }
    match below {
        _ if above == 0 => "0".to_owned(),
        1 => above.to_string(),
        below => format!("{above}/{below}"),
    }
}

fn formula(of: &RtoFormula) -> String {
    let RtoFormula {
        weights: RtoWeights { alpha, beta },
        factor,
        granularity_ns,
        minimum_ns,
    } = of;
    let minimum = match *minimum_ns {
        0.0 => "no minimum".to_owned(),
        minimum_ns => format!("minimum {}", human(minimum_ns)),
    };
    format!(
        "α = {}, β = {}, K = {factor}, G = {}, {minimum}",
        weight(*alpha),
        weight(*beta),
        human(*granularity_ns)
    )
}

fn heading(of: &TimeoutStudy) -> String {
    let settings = match &of.formulas {
        FormulaName::Paper => "W1 to W9, K = 4, G = 250 µs".to_owned(),
        FormulaName::One(one) => formula(one),
    };
    format!(
        "Timeouts of other settings ({settings}), over {} of {}",
        number_of(of.round_trips, "round trip"),
        number_of(of.directions, "direction")
    )
}

fn name(of: &TimeoutStudy, row: &RtoStudyRow) -> [String; 2] {
    let RtoWeights { alpha, beta } = row.formula.weights;
    let weights = format!("{}, {}", weight(alpha), weight(beta));
    let weights = match of.formulas {
        FormulaName::Paper => format!("W{} ({weights})", row.weights),
        FormulaName::One(_) => weights,
    };
    [weights, strategy(row.strategy).to_owned()]
}

fn share(of: Option<f64>) -> String {
    of.map_or_else(|| UNKNOWN.to_owned(), percent)
}

pub(super) fn section(of: &TimeoutStudy) -> Block {
    let named = |row| name(of, row).into_iter();
    let first = of.rows.iter().map(|row| {
        let shares = row.table.shares().map(|shares| shares.map(Some));
        let shares = shares.unwrap_or_default().map(share);
        let total = row.table.total().to_string();
        named(row).chain([total]).chain(shares).collect()
    });
    let second = of.rows.iter().map(|row| {
        let shares = row.up_to.into_iter().chain(row.within).map(share);
        named(row).chain(shares).collect()
    });
    let classes = [
        "n",
        "RTT <= RTO <= 1 s",
        "RTO < RTT < 1 s",
        "RTO <= 1 s <= RTT",
        "RTT < RTO > 1 s",
        "RTT >= RTO > 1 s",
    ];
    // The study has four minimums, in the order of the thresholds.
    let minimums = |before: &str| {
        let mut minimums = PAPER_THRESHOLDS_NS.map(|ns| format!("{} s", ns / 1e9));
        minimums[0].insert_str(0, before);
        minimums
    };
    let thresholds = [minimums("RTO <= "), minimums("RTT within ")].concat();
    let mut blocks = vec![
        table(
            "Segments by their round trip and timeout (Table 6)",
            &classes,
            first,
        ),
        table(
            "Segments that avoid retransmission with a minimum RTO (Figures 21 and 22, Tables 34 and 35), and those \
             whose round trip is within the timeout raised to the minimum",
            &thresholds,
            second,
        ),
        Block::Note(
            "samples: the round trips of a window that are used: the first (one), every second (some), all. \
             Segments sent before the first of them was complete are not counted."
                .into(),
        ),
    ];
    if of.left_out > 0 {
        let count = match of.left_out {
            1 => "1 round trip was".to_owned(),
            count => format!("{count} round trips were"),
        };
        let note = format!("{count} left out: each direction keeps its first ones.");
        blocks.push(Block::Note(note.into()));
    }
    Block::Section("timeouts", heading(of), blocks)
}

fn table(
    name: &str,
    figures: &[impl AsRef<str>],
    rows: impl Iterator<Item = Vec<String>>,
) -> Block {
    let named = ["α, β", "samples"].map(|name| TableColumn::new(name, ColumnKind::Text));
    let figures = figures.iter();
    let figures = figures.map(|name| TableColumn::new(name.as_ref(), ColumnKind::Number));
    Block::Table(ReportTable {
        name: name.to_owned(),
        is_titled: true,
        columns: named.into_iter().chain(figures).collect(),
        rows: rows
            .map(|cells| TableRow::new(cells.into_iter().map(TableCell::from)))
            .collect(),
        ..ReportTable::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_written_as_fractions() {
        let table = [
            (0.125, "1/8"),
            (0.25, "1/4"),
            (0.375, "3/8"),
            (0.1875, "3/16"),
            (1.0, "1"),
            (0.0, "0"),
            (0.1, "0.1"),
        ];
        for (of, expected) in table {
            assert_eq!(weight(of), expected);
        }
    }
}
