//! Checks that the parts of an experiment file fit together.

use std::collections::BTreeSet;

use topology::LabNetwork;

use crate::FileError;
use crate::cells::{check_level, is_any, known_factor};
use crate::figures::FigureTerms;
use crate::file::{
    ColumnSpec, ExperimentSpec, FactorSpec, FindingSpec, Relation, TableSpec, Where,
};
use crate::published::PublishedFigures;
use crate::record::LevelCombination;
use crate::setup::TrialSetup;
use crate::trial_check::is_plain;
use crate::trial_figures::OTHER_FIGURES;

const MOST_COMBINATIONS: usize = 4096;
const MOST_REPETITIONS: u32 = 1000;

/// Words of the language of templates, which a name must not be.
const TEMPLATE_WORDS: [&str; 12] = [
    "true", "false", "none", "not", "and", "or", "in", "is", "if", "else", "loop", "self",
];

pub(crate) fn experiment(spec: &ExperimentSpec) -> Result<(), FileError> {
    one_line("title", &spec.title)?;
    factors(spec)?;
    if !(1..=MOST_REPETITIONS).contains(&spec.repeat) {
        let message = format!("is {}: not from 1 to {MOST_REPETITIONS}", spec.repeat);
        return Err(FileError::new("repeat", message));
    }
    for (key, parts) in [("cells", &spec.cells), ("short", &spec.short)] {
        for (index, part) in parts.iter().enumerate() {
            condition(spec, &format!("{key}[{index}]"), part)?;
        }
    }
    let cells = spec.all_cells();
    if !cells.iter().any(|cell| is_any(&spec.short, cell)) {
        return Err(FileError::new("short", "matches no cell"));
    }
    figures(spec)?;
    let names = spec.tables.iter().map(|table| table.name.as_str());
    unique("tables", names)?;
    for (index, table_spec) in spec.tables.iter().enumerate() {
        table(spec, &format!("tables[{index}]"), table_spec)?;
    }
    charts(spec)?;
    for (index, finding_spec) in spec.findings.iter().enumerate() {
        finding(spec, &format!("findings[{index}]"), finding_spec)?;
    }
    PublishedFigures::read(spec)?;
    trials(spec, &cells)
}

fn one_line(place: &str, text: &str) -> Result<(), FileError> {
    if text.trim().is_empty() {
        return Err(FileError::new(place, "is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(FileError::new(place, "has more than one line"));
    }
    Ok(())
}

fn unique<'a>(place: &str, names: impl Iterator<Item = &'a str>) -> Result<(), FileError> {
    let mut known = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !known.insert(name) {
            let message = format!("`{name}` is another's name already");
            return Err(FileError::new(format!("{place}[{index}].name"), message));
        }
    }
    Ok(())
}

fn factors(spec: &ExperimentSpec) -> Result<(), FileError> {
    if spec.factors.is_empty() {
        return Err(FileError::new("factors", "is empty"));
    }
    let names = spec.factors.iter().map(|factor| factor.name.as_str());
    unique("factors", names)?;
    for (index, factor_spec) in spec.factors.iter().enumerate() {
        factor(&format!("factors[{index}]"), factor_spec)?;
    }
    if spec.combinations() > MOST_COMBINATIONS {
        let message = format!("have more than {MOST_COMBINATIONS} combinations of levels");
        return Err(FileError::new("factors", message));
    }
    Ok(())
}

fn factor(place: &str, factor: &FactorSpec) -> Result<(), FileError> {
    template_name(&format!("{place}.name"), &factor.name)?;
    if factor.levels.is_empty() {
        return Err(FileError::new(format!("{place}.levels"), "is empty"));
    }
    let names = factor.levels.iter().map(|level| level.name.as_str());
    unique(&format!("{place}.levels"), names)?;
    for (index, level) in factor.levels.iter().enumerate() {
        let place = format!("{place}.levels[{index}]");
        if !is_plain(&level.name, "-_.+") {
            let message = format!(
                "`{}` is no name of a level: it has letters, digits and -_.+, at most 64",
                level.name
            );
            return Err(FileError::new(format!("{place}.name"), message));
        }
        for name in level.values.keys() {
            let place = format!("{place}.values.{name}");
            template_name(&place, name)?;
            if name == "name" {
                let message = "is the name of the level already";
                return Err(FileError::new(place, message));
            }
        }
    }
    Ok(())
}

fn template_name(place: &str, name: &str) -> Result<(), FileError> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins && is_plain(name, "_") && !TEMPLATE_WORDS.contains(&name) {
        return Ok(());
    }
    let message = format!(
        "`{name}` is no name for templates: it has letters, digits and _, a letter first, and is no word of theirs"
    );
    Err(FileError::new(place, message))
}

fn condition(spec: &ExperimentSpec, place: &str, part: &Where) -> Result<(), FileError> {
    for (name, levels) in &part.0 {
        let factor = known_factor(spec, place, name)?;
        let place = format!("{place}.{name}");
        if levels.names().is_empty() {
            return Err(FileError::new(place, "names no level"));
        }
        for level in levels.names() {
            check_level(factor, &place, level)?;
        }
    }
    Ok(())
}

fn figures(spec: &ExperimentSpec) -> Result<(), FileError> {
    for (name, figure) in &spec.figures {
        let place = format!("figures.{name}");
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_. ".contains(c))
        {
            let message = "a name of a figure has letters, digits, blanks and -_.";
            return Err(FileError::new(place, message));
        }
        if spec.factor(name).is_some() {
            let message = "is the name of a factor already";
            return Err(FileError::new(place, message));
        }
        one_line(&format!("{place}.title"), &figure.title)?;
    }
    Ok(())
}

fn known_figure(spec: &ExperimentSpec, place: &str, name: &str) -> Result<(), FileError> {
    if spec.figures.contains_key(name) {
        return Ok(());
    }
    let known = spec.figures.keys().map(String::as_str);
    Err(FileError::unknown(
        format!("{place}.figure"),
        "figure",
        name,
        known,
    ))
}

/// A figure that is compared with another: known, and of the same unit.
fn same_unit(spec: &ExperimentSpec, place: &str, one: &str, other: &str) -> Result<(), FileError> {
    if !spec.figures.contains_key(other) {
        let known = spec.figures.keys().map(String::as_str);
        return Err(FileError::unknown(place, "figure", other, known));
    }
    let unit = |name: &str| spec.figures.get(name).map(|figure| figure.unit);
    if unit(one) == unit(other) {
        return Ok(());
    }
    let message = format!("`{other}` has another unit than `{one}`");
    Err(FileError::new(place, message))
}

fn table(spec: &ExperimentSpec, place: &str, table: &TableSpec) -> Result<(), FileError> {
    one_line(&format!("{place}.name"), &table.name)?;
    condition(spec, &format!("{place}.where"), &table.within)?;
    for (key, is_empty) in [
        ("rows", table.rows.is_empty()),
        ("columns", table.columns.is_empty()),
    ] {
        if is_empty {
            return Err(FileError::new(format!("{place}.{key}"), "is empty"));
        }
    }
    let mut rows = BTreeSet::new();
    for (index, name) in table.rows.iter().enumerate() {
        let place = format!("{place}.rows[{index}]");
        known_factor(spec, &place, name)?;
        if !rows.insert(name) {
            return Err(FileError::new(place, format!("`{name}` is named twice")));
        }
    }
    let unit = |column: &ColumnSpec| spec.figures.get(&column.figure).map(|figure| figure.unit);
    let first = table.columns.first().and_then(unit);
    for (index, column) in table.columns.iter().enumerate() {
        let place = format!("{place}.columns[{index}]");
        known_figure(spec, &place, &column.figure)?;
        if table.turned.is_some() && unit(column) != first {
            let message =
                "has another unit than the first column, and a table with `turned` has one";
            return Err(FileError::new(place, message));
        }
        condition(spec, &format!("{place}.where"), &column.within)?;
    }
    Ok(())
}

fn charts(spec: &ExperimentSpec) -> Result<(), FileError> {
    unique(
        "charts",
        spec.charts.iter().map(|chart| chart.name.as_str()),
    )?;
    for (index, chart) in spec.charts.iter().enumerate() {
        let place = format!("charts[{index}]");
        one_line(&format!("{place}.name"), &chart.name)?;
        known_figure(spec, &place, &chart.figure)?;
        for (index, figure) in chart.also.iter().enumerate() {
            same_unit(
                spec,
                &format!("{place}.also[{index}]"),
                &chart.figure,
                figure,
            )?;
        }
        condition(spec, &format!("{place}.where"), &chart.within)?;
        known_factor(spec, &format!("{place}.groups"), &chart.groups)?;
        let Some(bars) = &chart.bars else {
            continue;
        };
        let place = format!("{place}.bars");
        known_factor(spec, &place, bars)?;
        if *bars == chart.groups {
            let message = format!("`{bars}` is the factor of the groups already");
            return Err(FileError::new(place, message));
        }
    }
    Ok(())
}

fn finding(spec: &ExperimentSpec, place: &str, finding: &FindingSpec) -> Result<(), FileError> {
    one_line(&format!("{place}.claim"), &finding.claim)?;
    known_figure(spec, place, &finding.figure)?;
    let sides = [("of", &finding.of), ("than", &finding.than)];
    for (key, part) in sides.into_iter().chain([("where", &finding.cells)]) {
        condition(spec, &format!("{place}.{key}"), part)?;
    }
    if let Some(other) = &finding.than_figure {
        same_unit(
            spec,
            &format!("{place}.than_figure"),
            &finding.figure,
            other,
        )?;
    }
    let is_same_figure = finding
        .than_figure
        .as_ref()
        .is_none_or(|than_figure| *than_figure == finding.figure);
    if is_same_figure && finding.of == finding.than {
        let message = "has the cells of the other side, `of`";
        return Err(FileError::new(format!("{place}.than"), message));
    }
    let place = format!("{place}.within");
    match (finding.relation, finding.within) {
        (Relation::About, None) => {
            let message = "is missing: how far apart may they be?";
            Err(FileError::new(place, message))
        }
        (Relation::About, Some(within))
            if !(0.0..100.0).contains(&within.percent()) || within.percent() == 0.0 =>
        {
            Err(FileError::new(place, "is not between 0% and 100%"))
        }
        (Relation::Less | Relation::More | Relation::Mixed, Some(_)) => {
            let message = "is for `about`";
            Err(FileError::new(place, message))
        }
        _ => Ok(()),
    }
}

/// Checks the laboratory, and trials of cells that together have each level of each factor.
fn trials(spec: &ExperimentSpec, cells: &[LevelCombination]) -> Result<(), FileError> {
    LabNetwork::new(&spec.lab()?).map_err(|error| error.below("lab"))?;
    let mut covered = BTreeSet::new();
    let (mut setups, mut sources) = (Vec::new(), Vec::new());
    for cell in cells {
        let is_new = cell.0.iter().filter(|level| covered.insert(*level)).count() > 0;
        if is_new {
            setups.push(spec.setup(cell)?);
            sources.push(FigureTerms::new(spec, cell)?);
        }
    }
    let begins = beginnings(&setups);
    let known: BTreeSet<String> = setups.iter().flat_map(TrialSetup::figures).collect();
    for (name, source) in sources.iter().flat_map(FigureTerms::all) {
        let first = source.split('.').next().unwrap_or_default();
        if !begins.contains(first) {
            let place = format!("figures.{name}");
            let kind = "measurement, request or captured host";
            let known = begins.iter().copied();
            return Err(FileError::unknown(place, kind, first, known));
        }
        let is_of_row = || setups.iter().any(|setup| setup.has_figure_of_row(source));
        if !known.contains(source) && !is_of_row() {
            let place = format!("figures.{name}");
            let is_near = |candidate: &&str| candidate.split('.').next() == Some(first);
            let known = known.iter().map(String::as_str).filter(is_near);
            let kind = "figure of a trial";
            return Err(FileError::unknown(place, kind, source, known));
        }
    }
    Ok(())
}

/// First parts of names of figures: measurements, requests, captured or bare hosts, the rest.
fn beginnings(setups: &[TrialSetup]) -> BTreeSet<&str> {
    let setup_figures = setups.iter().flat_map(|setup| {
        let trial = &setup.trial;
        let named = trial.measured.keys().chain(trial.requests.keys());
        let bare = setup.network.nodes.iter().map(|node| &node.name);
        let bare = bare.filter(|name| setup.is_bare(name));
        named.chain(&trial.captures).chain(bare).map(String::as_str)
    });
    setup_figures.chain(OTHER_FIGURES).collect()
}
