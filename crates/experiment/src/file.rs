//! An experiment file as it is written.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use topology::LabSpec;
use traffic::Percentage;
use yaml::WrittenValue;

/// A whole experiment file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Experiment of Prestan")]
pub struct ExperimentSpec {
    /// What it is, in one line.
    pub title: String,
    /// Where it comes from: author, year, chapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The laboratory in which it takes place.
    pub lab: LabChoice,
    /// What is varied, in the order in which tables have it.
    pub factors: Vec<FactorSpec>,
    /// Which combinations of levels are measured; default: all. A combination that several parts name is measured once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Where>,
    /// Which of them are measured without `--full`; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<Where>,
    /// Repetitions of each cell; default 3.
    #[serde(default = "three")]
    pub repeat: u32,
    /// One trial. Its texts are templates: `{{ mix.stress }}` is the value `stress` of the level that the factor `mix` has
    /// in the cell, `{{ mix }}` its name. A text that is one template and nothing else becomes the value itself, whatever
    /// it is; `null` removes its entry. Between the braces are expressions: arithmetic, `a if mix.name == 'C1' else b`, and
    /// the filters `default`, `int` and `round`; `{{ mix.rate | default(none) }}` is for values that not all levels have.
    /// What results is a [`crate::TrialSpec`].
    pub trial: serde_json::Value,
    /// The figures that tables and charts use, by their names.
    pub figures: BTreeMap<String, FigureSpec>,
    /// Tables of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSpec>,
    /// Charts of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<ChartSpec>,
    /// Claims that are judged by the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingSpec>,
    /// Published figures as CSV. The first line names factors and figures; an empty field of a factor means the mean over all
    /// of its levels, an empty figure that it was not published. In the units of `figures`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub published: String,
    /// What differs from the source, and why, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
}

fn three() -> u32 {
    3
}

/// A built-in laboratory by its name, or one that is described here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LabChoice {
    /// Its name (`prestan lab list`).
    Named(String),
    /// What a lab file contains.
    Described(Box<LabSpec>),
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorSpec {
    /// Its name in templates, conditions and on the command line.
    pub name: String,
    /// How people call it; default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether `--server a,b` replaces its levels: each becomes the first level with `recipe: a`, without published figures
    /// unless the file has a level of this name.
    #[serde(default)]
    pub servers: bool,
    /// Its levels, in order.
    pub levels: Vec<LevelSpec>,
}

/// A level of a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelSpec {
    /// Its name.
    pub name: String,
    /// How people call it; default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its values, for templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub values: BTreeMap<String, WrittenValue>,
}

/// Some combinations of levels: by factor, the levels that match. A factor that is not named matches with all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Where(pub BTreeMap<String, OneOrMore>);

/// A name, or several. Names may look like numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = OneOrMore;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a list of names")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMore, E> {
                Ok(OneOrMore::One(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<OneOrMore, A::Error> {
                let mut more = Vec::new();
                while let Some(OneName(name)) = names.next_element()? {
                    more.push(name);
                }
                Ok(OneOrMore::More(more))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

/// A name in a list of names.
struct OneName(String);

impl<'de> Deserialize<'de> for OneName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match OneOrMore::deserialize(deserializer)? {
            OneOrMore::One(name) => Ok(OneName(name)),
            OneOrMore::More(_) => Err(de::Error::custom("a list in a list of names")),
        }
    }
}

/// How a figure is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// What it is, in some words.
    pub title: String,
    /// Its unit, also in `published`.
    pub unit: ShownUnit,
    /// Whether more is better; default: neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_is_better: Option<bool>,
    /// The figure of a trial that it is, as a template: `pages.Serial_{{ site }}.page.mean`; default: that of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Instead of the figure itself, how far it is from this figure of the same trial, whatever the sign. A template, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_from: Option<String>,
}

/// The unit in which a figure is shown. Trials give seconds, bit/s, shares from 0 to 1, and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShownUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Mbit/s, of 1,000,000 bit.
    Mbit,
    /// Percent.
    Percent,
    /// A number.
    Number,
}

/// A table: its rows are combinations of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its name in the source: `Table 8`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The cells that it is about.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub within: Where,
    /// The factors whose levels are its rows.
    pub rows: Vec<String>,
    /// Where many figures of few cells are shown: the columns are shown as rows under this heading, and the rows as columns. All
    /// figures have the same unit then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned: Option<String>,
    /// Its columns. Each shows the mean over all cells that match `where` of table and column, and the row.
    pub columns: Vec<ColumnSpec>,
    /// What differs from the published table, and why, or that it is not explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// The figure.
    pub figure: String,
    /// Its heading; default: the title of the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The cells that it is about.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub within: Where,
}

/// A chart: bars of one figure, in groups, published ones beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// Its name in the source: `Figure 2`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The figure.
    pub figure: String,
    /// The cells that it is about.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub within: Where,
    /// The factor whose levels are groups on the axis.
    pub groups: String,
    /// The factor whose levels are the bars of a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bars: Option<String>,
    /// Further figures of the same unit: each has bars of its own in each group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// A claim about a figure: that it is less (or the like) in some cells than in others, with all other factors the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingSpec {
    /// The claim, in a sentence.
    pub claim: String,
    /// Where the source has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The figure.
    pub figure: String,
    /// The cells whose figure is `relation` ...
    #[serde(default, skip_serializing_if = "is_everywhere")]
    pub of: Where,
    /// ... that of these cells.
    #[serde(default, skip_serializing_if = "is_everywhere")]
    pub than: Where,
    /// Whether it is less, more, about the same, or neither consistently.
    pub relation: Relation,
    /// For `about`: how far apart they may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Percentage>,
    /// Restricts both sides.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub cells: Where,
    /// The figure of the cells of `than`; default: the same. With another, both sides may be the same cells, and are compared
    /// within each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_figure: Option<String>,
    /// Why it does not hold here, where it does not. A report says that it is unexplained where this is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How two figures relate to one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Less than.
    Less,
    /// More than.
    More,
    /// The same, but for `within`.
    About,
    /// Less in some parts, and more in others: neither is consistently so.
    Mixed,
}

fn is_everywhere(within: &Where) -> bool {
    within.0.is_empty()
}
