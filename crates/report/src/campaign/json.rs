//! A campaign for programs: the types of `wire` filled from a campaign.

use experiment::{
    BesideSummary, CellEstimate, CellFigure, ChartSummary, EstimateWarning, FigureRange,
    FigureSpec, FindingPart, FindingSummary, OrderingCount, OutsideFigure, PairVerdict, ShownUnit,
    TableSummary, TrialRecord,
};

use super::numbers::in_base;
use super::wire::{
    BaseUnit, BesideCampaignJson, CampaignDocument, CampaignFigureJson, CampaignFindingJson,
    CellJson, ChartJson, ColumnJson, EstimateJson, EstimateWarningJson, FactorJson,
    FindingPartJson, LevelJson, OfTrials, OrdersJson, OutsideJson, PairVerdictJson, SCHEMA_VERSION,
    TableJson, TableRowJson, TrialJson,
};
use super::{CampaignReport, caveats, words};
use crate::json::pretty;
#[cfg(feature = "schema")]
use crate::json::schema_of;

/// The campaign for programs: one JSON document, for which `docs/campaign.schema.json` is
/// published. Ends with a newline.
pub fn campaign_json(of: &CampaignReport<'_>) -> String {
    let (record, spec, summary) = (of.record, of.experiment, of.summary);
    pretty(&CampaignDocument {
        schema_version: SCHEMA_VERSION,
        program: record.program.clone(),
        experiment: record.name.clone(),
        title: spec.title.clone(),
        source: spec.source.clone(),
        command: Some(of.record.command.clone()).filter(|command| !command.is_empty()),
        started: record.started.clone(),
        seed: record.seed.into(),
        repetitions: record.repetitions,
        facts: record.facts.clone(),
        planned_trials: summary.planned_trials,
        ended_trials: summary.ended_trials,
        failures: of_trials(&summary.failures),
        warnings: of_trials(&summary.warnings),
        missing: caveats::missing(of),
        conclusion: words::conclusion(of),
        factors: factors(of),
        figures: spec.figures.iter().map(CampaignFigureJson::from).collect(),
        cells: summary.cells.iter().map(CellJson::from).collect(),
        tables: summary.tables.iter().map(table).collect(),
        charts: summary.charts.iter().map(chart).collect(),
        findings: summary
            .findings
            .iter()
            .map(|one| finding(of, one))
            .collect(),
        differences: spec.differences.clone(),
        beside: of.beside.map(|other| beside(of, other)),
        trials: of.trials.iter().map(TrialJson::from).collect(),
    })
}

/// The JSON schema of [`campaign_json`]: the content of `docs/campaign.schema.json`.
#[cfg(feature = "schema")]
pub fn campaign_schema() -> String {
    schema_of::<CampaignDocument>()
}

/// Rounded to twelve digits: what a conversion between decimal units adds behind them is not part
/// of a figure.
pub(super) fn decimal(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

fn of_trials(texts: &[(String, usize)]) -> Vec<OfTrials> {
    let texts = texts.iter();
    texts
        .map(|(text, trials)| OfTrials {
            text: text.clone(),
            trials: *trials,
        })
        .collect()
}

fn factors(of: &CampaignReport<'_>) -> Vec<FactorJson> {
    let titled = |name: &String, title: &Option<String>| title.as_ref().unwrap_or(name).clone();
    let factors = of.experiment.factors.iter();
    factors
        .map(|factor| FactorJson {
            name: factor.name.clone(),
            title: titled(&factor.name, &factor.title),
            levels: factor
                .levels
                .iter()
                .map(|level| LevelJson {
                    name: level.name.clone(),
                    title: titled(&level.name, &level.title),
                })
                .collect(),
        })
        .collect()
}

fn estimate(of: &CellEstimate, unit: Option<ShownUnit>) -> EstimateJson {
    // Without a known unit they stay as people see them.
    let base = |value: f64| in_base(value, unit.unwrap_or(ShownUnit::Number)).map(decimal);
    let ends = |range: FigureRange| Some([base(range.low)?, base(range.high)?]);
    EstimateJson {
        repetitions: of.count,
        unfinished: of.unfinished,
        mean: of.mean.and_then(base),
        ci95: of.interval.and_then(ends),
        predicted: of.prediction.and_then(ends),
        published: of.published.and_then(base),
        warnings: of
            .warnings
            .iter()
            .map(|warning| (*warning).into())
            .collect(),
    }
}

fn table(of: &TableSummary) -> TableJson {
    let units: Vec<ShownUnit> = of.columns.iter().map(|(_, unit)| *unit).collect();
    let columns = of
        .columns
        .iter()
        .enumerate()
        .map(|(column, (title, unit))| ColumnJson {
            title: title.clone(),
            unit: (*unit).into(),
            orders: of.orders.get(column).copied().unwrap_or_default().into(),
        });
    let rows = of
        .rows
        .iter()
        .zip(&of.cells)
        .map(|(levels, cells)| TableRowJson {
            levels: levels.clone(),
            cells: cells
                .iter()
                .zip(&units)
                .map(|(cell, unit)| estimate(cell, Some(*unit)))
                .collect(),
        });
    TableJson {
        name: of.name.clone(),
        title: of.title.clone(),
        row_factors: of.row_factors.clone(),
        columns: columns.collect(),
        rows: rows.collect(),
        note: caveats::of_table(of),
    }
}

fn chart(of: &ChartSummary) -> ChartJson {
    let (figure, unit) = &of.figure;
    let group = |values: &Vec<CellEstimate>| {
        let values = values.iter();
        values.map(|value| estimate(value, Some(*unit))).collect()
    };
    ChartJson {
        name: of.name.clone(),
        title: of.title.clone(),
        figure: figure.clone(),
        unit: (*unit).into(),
        groups: of.groups.clone(),
        bars: of.bars.clone(),
        values: of.values.iter().map(group).collect(),
    }
}

fn finding(of: &CampaignReport<'_>, finding: &FindingSummary) -> CampaignFindingJson {
    let unit = words::unit_of(of, finding);
    let part = |part: &FindingPart| FindingPartJson {
        cell: part.cell.clone(),
        of: estimate(&part.of, unit),
        than: estimate(&part.than, unit),
        verdict: part.verdict.into(),
    };
    CampaignFindingJson {
        claim: finding.claim.clone(),
        source: finding.source.clone(),
        verdict: finding.verdict.into(),
        unit: unit.map(BaseUnit::from),
        parts: finding.parts.iter().map(part).collect(),
        note: caveats::of_finding(of, finding),
    }
}

fn beside(of: &CampaignReport<'_>, other: &BesideSummary) -> BesideCampaignJson {
    let outside = |figure: &OutsideFigure| {
        let unit = of.figure(&figure.figure).map(|spec| spec.unit);
        let numbers = CellEstimate {
            mean: Some(figure.mean),
            prediction: Some(figure.prediction),
            ..CellEstimate::default()
        };
        let numbers = estimate(&numbers, unit);
        OutsideJson {
            cell: figure.cell.0.clone(),
            figure: figure.figure.clone(),
            unit: unit.map(BaseUnit::from),
            predicted: numbers.predicted,
            mean: numbers.mean,
        }
    };
    BesideCampaignJson {
        compared: other.compared,
        within: other.within,
        outside: other.outside.iter().map(outside).collect(),
    }
}

impl From<EstimateWarning> for EstimateWarningJson {
    fn from(of: EstimateWarning) -> EstimateWarningJson {
        match of {
            EstimateWarning::HeavyTail => EstimateWarningJson::HeavyTail,
            EstimateWarning::Changing => EstimateWarningJson::Changing,
            EstimateWarning::Undetermined => EstimateWarningJson::Undetermined,
        }
    }
}

impl From<(&String, &FigureSpec)> for CampaignFigureJson {
    fn from((name, spec): (&String, &FigureSpec)) -> CampaignFigureJson {
        CampaignFigureJson {
            name: name.clone(),
            title: spec.title.clone(),
            unit: spec.unit.into(),
            more_is_better: spec.more_is_better,
        }
    }
}

impl From<&CellFigure> for CellJson {
    fn from(of: &CellFigure) -> CellJson {
        CellJson {
            cell: of.cell.0.clone(),
            figure: of.figure.clone(),
            unit: of.unit.into(),
            estimate: estimate(&of.estimate, Some(of.unit)),
        }
    }
}

impl From<OrderingCount> for OrdersJson {
    fn from(of: OrderingCount) -> OrdersJson {
        OrdersJson {
            as_published: of.same,
            reversed: of.reversed,
            inconclusive: of.inconclusive,
        }
    }
}

impl From<PairVerdict> for PairVerdictJson {
    fn from(of: PairVerdict) -> PairVerdictJson {
        match of {
            PairVerdict::Holds => PairVerdictJson::Holds,
            PairVerdict::Fails => PairVerdictJson::Fails,
            PairVerdict::Inconclusive => PairVerdictJson::Inconclusive,
        }
    }
}

impl From<&TrialRecord> for TrialJson {
    fn from(of: &TrialRecord) -> TrialJson {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let figures = of.figures.iter();
        TrialJson {
            cell: of.cell.0.clone(),
            repetition: of.repetition,
            started: of.started.clone(),
            seconds: finite(of.seconds),
            figures: figures
                .map(|(name, value)| (name.clone(), finite(*value)))
                .collect(),
            facts: of.facts.clone(),
            warnings: of.warnings.clone(),
            failed: of.failed.clone(),
        }
    }
}
