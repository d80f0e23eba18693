//! `--server a,b`: other servers than those of the file.

use std::collections::{BTreeMap, BTreeSet};

use yaml::WrittenValue;

use crate::FileError;
use crate::file::{
    ChartSpec, ColumnSpec, ExperimentSpec, FactorSpec, LevelSpec, OneOrMore, TableSpec, Where,
};
use crate::published;

struct Replaced {
    /// Levels that the file has, too.
    kept: BTreeSet<String>,
    /// The level of the file of which the others are copies.
    model: LevelSpec,
    copies: Vec<LevelSpec>,
}

impl Replaced {
    /// The levels that replace this level of the file in conditions.
    fn instead_of(&self, level: &str) -> Vec<String> {
        let kept = self.kept.contains(level).then(|| level.to_owned());
        let copies = self.copies.iter().filter(|_| level == self.model.name);
        kept.into_iter()
            .chain(copies.map(|copy| copy.name.clone()))
            .collect()
    }

    /// Replaces the model by this level in a text.
    fn renamed(&self, text: &str, level: &str) -> String {
        match self.copies.iter().find(|copy| copy.name == level) {
            Some(copy) => text.replace(shown(&self.model), shown(copy)),
            None => text.to_owned(),
        }
    }

    /// Changes name and title of a table or chart to those of one about this level.
    fn rename(&self, (name, title): (&mut String, &mut String), level: &str, among_others: bool) {
        *title = self.renamed(title, level);
        if among_others {
            *name = format!("{name}, {level}");
        }
    }
}

fn shown(level: &LevelSpec) -> &str {
    level.title.as_ref().unwrap_or(&level.name)
}

/// A part of a report that is about some cells, and has a text about them.
trait PartOfReport: Clone {
    fn within(&mut self) -> &mut Where;
    /// Changes the text to one about this level; `among_others`: from now on about several levels.
    fn rename(&mut self, replaced: &Replaced, level: &str, among_others: bool);
}

impl PartOfReport for TableSpec {
    fn within(&mut self) -> &mut Where {
        &mut self.within
    }

    fn rename(&mut self, replaced: &Replaced, level: &str, among_others: bool) {
        replaced.rename((&mut self.name, &mut self.title), level, among_others);
    }
}

impl PartOfReport for ColumnSpec {
    fn within(&mut self) -> &mut Where {
        &mut self.within
    }

    fn rename(&mut self, replaced: &Replaced, level: &str, among_others: bool) {
        self.title = match &self.title {
            Some(title) => Some(replaced.renamed(title, level)),
            None => among_others.then(|| level.to_owned()),
        };
    }
}

impl PartOfReport for ChartSpec {
    fn within(&mut self) -> &mut Where {
        &mut self.within
    }

    fn rename(&mut self, replaced: &Replaced, level: &str, among_others: bool) {
        replaced.rename((&mut self.name, &mut self.title), level, among_others);
    }
}

impl ExperimentSpec {
    /// The same with these servers as the levels of each factor that has `servers`. A server that
    /// is a level of the file stays as it is; any other becomes a copy of the first level with a
    /// `recipe`: wherever that level has its `recipe` as a value, the copy has this server.
    /// Conditions of cells, tables and charts that name this first level are about its copies, too:
    /// a table, column or chart about this level alone becomes one for each copy, with the title of
    /// the copy in its text. Parts about no remaining server are left out, and so are published
    /// figures and findings about servers of the file that are not chosen.
    ///
    /// # Errors
    /// The experiment has no such factor, a server is named twice, or no cell is left.
    pub fn with_servers(&self, servers: &[String]) -> Result<ExperimentSpec, FileError> {
        let place = "--server";
        let mut spec = self.clone();
        let mut replaced = BTreeMap::new();
        for factor in spec.factors.iter_mut().filter(|factor| factor.servers) {
            replaced.insert(factor.name.clone(), replace(factor, servers)?);
        }
        if replaced.is_empty() {
            let message = "the servers of this experiment are part of it";
            return Err(FileError::new(place, message));
        }
        adapt_all(&mut spec.cells, &replaced);
        adapt_all(&mut spec.short, &replaced);
        if spec.cells.is_empty() && !self.cells.is_empty() {
            let message = "the experiment has no cell with these servers";
            return Err(FileError::new(place, message));
        }
        for table in &mut spec.tables {
            table.columns = adapt_parts(&table.columns, &replaced);
        }
        spec.tables.retain(|table| !table.columns.is_empty());
        spec.tables = adapt_parts(&spec.tables, &replaced);
        spec.charts = adapt_parts(&spec.charts, &replaced);
        spec.findings.retain_mut(|finding| {
            let parts = [&mut finding.of, &mut finding.than, &mut finding.cells];
            parts.into_iter().all(|part| keep(part, &replaced))
        });
        let changed = replaced.iter().filter(|(name, replacement)| {
            let before = self.factor(name).map_or(0, |factor| factor.levels.len());
            replacement.kept.len() != before || !replacement.copies.is_empty()
        });
        let changed: BTreeSet<String> = changed.map(|(name, _)| name.clone()).collect();
        let is_kept = |factor: &str, level: &str| {
            let replacement = replaced.get(factor);
            replacement.is_some_and(|replacement| replacement.kept.contains(level))
        };
        spec.published = published::without_levels(&self.published, &changed, is_kept);
        spec.check()?;
        Ok(spec)
    }
}

fn replace(factor: &mut FactorSpec, servers: &[String]) -> Result<Replaced, FileError> {
    let place = "--server";
    let has_recipe = |level: &&LevelSpec| level.values.contains_key("recipe");
    let first = factor.levels.iter().find(has_recipe);
    let Some(model) = first.or(factor.levels.first()).cloned() else {
        let message = format!("the factor `{}` has no level", factor.name);
        return Err(FileError::new(place, message));
    };
    let mut replaced = Replaced {
        kept: BTreeSet::new(),
        model: model.clone(),
        copies: Vec::new(),
    };
    let mut levels: Vec<LevelSpec> = Vec::new();
    for server in servers {
        let level = match factor.level(server) {
            Some(level) => {
                replaced.kept.insert(server.clone());
                level.clone()
            }
            None => {
                let level = copy(&model, server);
                replaced.copies.push(level.clone());
                level
            }
        };
        if levels.iter().any(|known| known.name == level.name) {
            let message = format!("`{server}` is named twice");
            return Err(FileError::new(place, message));
        }
        levels.push(level);
    }
    if levels.is_empty() {
        return Err(FileError::new(place, "names no server"));
    }
    factor.levels = levels;
    Ok(replaced)
}

fn copy(model: &LevelSpec, server: &str) -> LevelSpec {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let plain = |c: char| if is_allowed(c) { c } else { '-' };
    let mut values = model.values.clone();
    let replaced = values.insert("recipe".to_owned(), WrittenValue::quoted(server));
    // Other hosts of this level may have the same server.
    let same = values
        .values_mut()
        .filter(|value| Some(&**value) == replaced.as_ref());
    same.for_each(|value| *value = WrittenValue::quoted(server));
    LevelSpec {
        name: server.chars().map(plain).collect(),
        title: Some(server.to_owned()),
        values,
    }
}

fn adapt_all(parts: &mut Vec<Where>, replaced: &BTreeMap<String, Replaced>) {
    parts.retain_mut(|part| adapt(part, replaced));
}

/// Changes the conditions and texts of parts of a report: a part about a single replaced server
/// becomes one for each server.
fn adapt_parts<P: PartOfReport>(parts: &[P], replaced: &BTreeMap<String, Replaced>) -> Vec<P> {
    let mut parts = parts.to_vec();
    for (factor, replacement) in replaced {
        parts = parts
            .into_iter()
            .flat_map(|part| for_each_server(part, factor, replacement))
            .collect();
    }
    parts
}

fn for_each_server<P: PartOfReport>(mut part: P, factor: &str, replaced: &Replaced) -> Vec<P> {
    let instead = match part.within().0.get_mut(factor) {
        None => return vec![part],
        Some(levels) if levels.names().len() == 1 => replaced.instead_of(&levels.names()[0]),
        Some(levels) => {
            let names = levels.names().iter();
            *levels = OneOrMore::More(names.flat_map(|name| replaced.instead_of(name)).collect());
            let is_about_some = !levels.names().is_empty();
            return is_about_some.then_some(part).into_iter().collect();
        }
    };
    let among_others = instead.len() > 1;
    let of_server = |name: &String| {
        let mut changed = part.clone();
        let condition = OneOrMore::One(name.clone());
        changed.within().0.insert(factor.to_owned(), condition);
        changed.rename(replaced, name, among_others);
        changed
    };
    instead.iter().map(of_server).collect()
}

/// Changes the levels of a condition. False if nothing can match any more.
fn adapt(part: &mut Where, replaced: &BTreeMap<String, Replaced>) -> bool {
    change(part, replaced, |name, replacement| {
        replacement.instead_of(name)
    })
}

/// The same without copies.
fn keep(part: &mut Where, replaced: &BTreeMap<String, Replaced>) -> bool {
    change(part, replaced, |name, replacement| {
        let kept = replacement.kept.contains(name).then(|| name.to_owned());
        kept.into_iter().collect()
    })
}

fn change(
    part: &mut Where,
    replaced: &BTreeMap<String, Replaced>,
    names: impl Fn(&str, &Replaced) -> Vec<String>,
) -> bool {
    part.0.iter_mut().all(|(factor, levels)| {
        let Some(replacement) = replaced.get(factor) else {
            return true;
        };
        let new = levels
            .names()
            .iter()
            .flat_map(|name| names(name, replacement));
        *levels = OneOrMore::More(new.collect());
        !levels.names().is_empty()
    })
}
