//! Whatever a summary of a campaign contains, its reports are whole documents.

use experiment::{
    CellEstimate, ChartSummary, EstimateWarning, FigureRange, FindingPart, FindingSummary,
    OrderingCount, OutsideFigure, PairVerdict, ShownUnit, TableSummary,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::campaign_reports::check;
use crate::campaigns::plain;

const UNITS: [ShownUnit; 5] = [
    ShownUnit::S,
    ShownUnit::Ms,
    ShownUnit::Mbit,
    ShownUnit::Percent,
    ShownUnit::Number,
];
const VERDICTS: [PairVerdict; 3] = [
    PairVerdict::Holds,
    PairVerdict::Fails,
    PairVerdict::Inconclusive,
];

const WARNINGS: [EstimateWarning; 3] = [
    EstimateWarning::HeavyTail,
    EstimateWarning::Changing,
    EstimateWarning::Undetermined,
];

/// A number of any kind, ordinary ones more often.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -10.0..1000.0_f64, 1 => any::<f64>(), 1 => Just(0.0), 1 => Just(f64::NAN), 1 => 1e-9..1e9_f64]
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..20_usize, 1 => Just(usize::MAX)]
}

fn range() -> impl Strategy<Value = Option<FigureRange>> {
    option::of((number(), number()).prop_map(|(low, high)| FigureRange { low, high }))
}

fn estimate() -> impl Strategy<Value = CellEstimate> {
    let figures = (
        count(),
        option::of(number()),
        range(),
        range(),
        option::of(number()),
        count(),
        vec(prop::sample::select(&WARNINGS[..]), 0..3),
    );
    figures.prop_map(
        |(count, mean, interval, prediction, published, unfinished, warnings)| CellEstimate {
            count,
            mean,
            interval,
            prediction,
            published,
            unfinished,
            warnings,
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        any::<String>(),
        "(<|>|&|\"|'|\u{1b}|\n|漢|x){0,80}"
    ]
}

fn orders() -> impl Strategy<Value = OrderingCount> {
    let counts = (count(), count(), count());
    counts.prop_map(|(same, reversed, inconclusive)| OrderingCount {
        same,
        reversed,
        inconclusive,
    })
}

/// Rows and cells need not fit each other.
fn table() -> impl Strategy<Value = TableSummary> {
    let names = (text(), text(), vec(text(), 0..4), option::of(text()));
    let parts = (
        vec(vec(text(), 0..4), 0..5),
        vec((text(), prop::sample::select(&UNITS[..])), 0..5),
        vec(vec(estimate(), 0..5), 0..5),
        vec(orders(), 0..5),
    );
    (names, parts).prop_map(
        |((name, title, row_factors, note), (rows, columns, cells, orders))| TableSummary {
            name,
            title,
            row_factors,
            rows,
            columns,
            cells,
            orders,
            note,
        },
    )
}

fn chart() -> impl Strategy<Value = ChartSummary> {
    let figure = (text(), prop::sample::select(&UNITS[..]));
    let parts = (
        vec(text(), 0..12),
        vec(text(), 0..4),
        vec(vec(estimate(), 0..4), 0..12),
    );
    (text(), text(), figure, parts).prop_map(|(name, title, figure, (groups, bars, values))| {
        ChartSummary {
            name,
            title,
            figure,
            groups,
            bars,
            values,
        }
    })
}

fn finding() -> impl Strategy<Value = FindingSummary> {
    let verdict = || prop::sample::select(&VERDICTS[..]);
    let part = (text(), estimate(), estimate(), verdict());
    let part = part.prop_map(|(cell, of, than, verdict)| FindingPart {
        cell,
        of,
        than,
        verdict,
    });
    let parts = (text(), option::of(text()), verdict(), vec(part, 0..9));
    parts.prop_map(|(claim, source, verdict, parts)| FindingSummary {
        claim,
        source,
        verdict,
        parts,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_summary_breaks_a_report(
        counts in (count(), count()),
        failures in vec((text(), count()), 0..3),
        warnings in vec((text(), count()), 0..3),
        tables in vec(table(), 0..3),
        charts in vec(chart(), 0..3),
        findings in vec(finding(), 0..5),
        seconds in number(),
        means in vec((number(), number()), 0..3),
        estimates in vec(estimate(), 4),
    ) {
        let mut of = plain();
        (of.summary.planned_trials, of.summary.ended_trials) = counts;
        (of.summary.failures, of.summary.warnings) = (failures, warnings);
        (of.summary.tables, of.summary.charts, of.summary.findings) = (tables, charts, findings);
        of.trials[0].seconds = seconds;
        of.trials[1].figures.insert("browser.delay".to_owned(), seconds);
        let other = of.beside.as_mut().unwrap();
        (other.within, other.compared, other.share) = (counts.0, counts.1, Some(seconds));
        let template = other.outside[0].clone();
        other.outside = means
            .into_iter()
            .map(|(mean, high)| OutsideFigure {
                mean,
                prediction: FigureRange { low: mean, high },
                ..template.clone()
            })
            .collect();
        for (cell, estimate) in of.summary.cells.iter_mut().zip(estimates) {
            cell.estimate = estimate;
        }
        prop_assert_eq!(check(&of), Ok(()));
    }
}
