//! Published figures: the CSV of an experiment file.

use std::collections::{BTreeMap, BTreeSet};

use crate::FileError;
use crate::cells::{check_level, known_factor};
use crate::file::{ExperimentSpec, OneOrMore, Where};
use crate::record::LevelCombination;

const MOST_LINES: usize = 4096;

/// Published figures of an experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedFigures(Vec<PublishedLine>);

/// A line: figures of all cells with these levels together.
#[derive(Debug, Clone, PartialEq)]
struct PublishedLine {
    number: usize,
    levels: Where,
    figures: BTreeMap<String, f64>,
}

enum PublishedColumn {
    Factor(String),
    Figure(String),
}

impl PublishedFigures {
    /// Parses those of an experiment. Empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// The first defective line, with its number.
    pub fn read(spec: &ExperimentSpec) -> Result<Self, FileError> {
        let mut lines = content_lines(&spec.published);
        let Some((_, header)) = lines.next() else {
            return Ok(PublishedFigures::default());
        };
        let columns = columns(spec, header)?;
        let mut published = PublishedFigures::default();
        for (number, line) in lines {
            if published.0.len() == MOST_LINES {
                let message = format!("has more than {MOST_LINES} lines");
                return Err(FileError::new("published", message));
            }
            published.0.push(read_line(spec, &columns, number, line)?);
        }
        published.check(spec)?;
        Ok(published)
    }

    fn check(&self, spec: &ExperimentSpec) -> Result<(), FileError> {
        let cells = spec.all_cells();
        let mut known = BTreeSet::new();
        for line in &self.0 {
            let place = format!("published line {}", line.number);
            if !cells.iter().any(|cell| line.levels.matches(cell)) {
                let message = "the experiment has no cell with these levels";
                return Err(FileError::new(place, message));
            }
            let levels = line.levels.0.iter();
            let levels: Vec<_> = levels
                .map(|(factor, axis)| (factor, axis.names()))
                .collect();
            for figure in line.figures.keys() {
                if !known.insert((levels.clone(), figure)) {
                    let message = format!("`{figure}` of these levels has another line");
                    return Err(FileError::new(place, message));
                }
            }
        }
        Ok(())
    }

    /// The published value of a figure for `some` of all cells of an experiment: that of a line for
    /// exactly these, or the mean of the lines of each of them.
    pub fn of(
        &self,
        figure: &str,
        some: &[LevelCombination],
        all: &[LevelCombination],
    ) -> Option<f64> {
        let lines = || {
            self.0
                .iter()
                .filter(|line| line.figures.contains_key(figure))
        };
        let is_exactly = |line: &&PublishedLine, cells: &[LevelCombination]| {
            let same = all.iter().filter(|cell| line.levels.matches(cell));
            cells.iter().all(|cell| line.levels.matches(cell)) && same.count() == cells.len()
        };
        let value = |line: &PublishedLine| line.figures.get(figure).copied();
        if some.is_empty() {
            return None;
        }
        if let Some(line) = lines().find(|line| is_exactly(line, some)) {
            return value(line);
        }
        let of_cell = |cell: &LevelCombination| {
            let cell = std::slice::from_ref(cell);
            lines().find(|line| is_exactly(line, cell)).and_then(value)
        };
        let values: Vec<f64> = some.iter().map(of_cell).collect::<Option<_>>()?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// Lines that are neither empty nor a comment, with their numbers.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.map(|(index, line)| (index + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn columns(spec: &ExperimentSpec, header: &str) -> Result<Vec<PublishedColumn>, FileError> {
    let place = "published";
    let (mut columns, mut names) = (Vec::new(), BTreeSet::new());
    for name in header.split(',').map(str::trim) {
        if !names.insert(name) {
            let message = format!("`{name}` is the name of two columns");
            return Err(FileError::new(place, message));
        }
        columns.push(if spec.factor(name).is_some() {
            PublishedColumn::Factor(name.to_owned())
        } else if spec.figures.contains_key(name) {
            PublishedColumn::Figure(name.to_owned())
        } else {
            let factors = spec.factors.iter().map(|factor| factor.name.as_str());
            let known = factors.chain(spec.figures.keys().map(String::as_str));
            let kind = "factor or figure";
            return Err(FileError::unknown(place, kind, name, known));
        });
    }
    let is_figure = |column: &PublishedColumn| matches!(column, PublishedColumn::Figure(_));
    if !columns.iter().any(is_figure) {
        return Err(FileError::new(place, "names no figure"));
    }
    Ok(columns)
}

fn read_line(
    spec: &ExperimentSpec,
    columns: &[PublishedColumn],
    number: usize,
    line: &str,
) -> Result<PublishedLine, FileError> {
    let place = format!("published line {number}");
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let message = format!("has {} fields, not {}", fields.len(), columns.len());
        return Err(FileError::new(place, message));
    }
    let (mut levels, mut figures) = (BTreeMap::new(), BTreeMap::new());
    for (column, field) in columns.iter().zip(fields) {
        match column {
            _ if field.is_empty() => {}
            PublishedColumn::Factor(name) => {
                check_level(known_factor(spec, &place, name)?, &place, field)?;
                levels.insert(name.clone(), OneOrMore::One(field.to_owned()));
            }
            PublishedColumn::Figure(name) => {
                let value = field.parse().ok().filter(|value: &f64| value.is_finite());
                let Some(value) = value else {
                    let message = format!("`{field}` is no number of `{name}`");
                    return Err(FileError::new(place, message));
                };
                figures.insert(name.clone(), value);
            }
        }
    }
    Ok(PublishedLine {
        number,
        levels: Where(levels),
        figures,
    })
}

/// The CSV without lines about levels that a factor no longer has, or about all levels of a factor
/// whose levels have changed.
pub(crate) fn without_levels(
    text: &str,
    changed: &BTreeSet<String>,
    is_kept: impl Fn(&str, &str) -> bool,
) -> String {
    if changed.is_empty() {
        return text.to_owned();
    }
    let mut lines = content_lines(text);
    let Some((_, header)) = lines.next() else {
        return String::new();
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    if changed.iter().any(|name| !names.contains(&name.as_str())) {
        return String::new();
    }
    let stays = |line: &&str| {
        let fields = line.split(',').map(str::trim);
        let mut levels = names.iter().zip(fields);
        levels.all(|(name, level)| !changed.contains(*name) || is_kept(name, level))
    };
    let kept: Vec<&str> = lines.map(|(_, line)| line).filter(stays).collect();
    if kept.is_empty() {
        return String::new();
    }
    format!("{header}\n{}\n", kept.join("\n"))
}
