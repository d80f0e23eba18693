//! An experiment file as written.

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
    /// Title, in one line.
    pub title: String,
    /// Origin: author, year, chapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its laboratory.
    pub lab: LabChoice,
    /// Factors that are varied, in the order of tables.
    pub factors: Vec<FactorSpec>,
    /// Combinations of levels that are measured; default: all. A combination that several parts
    /// name is measured once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Where>,
    /// Combinations that are measured without `--full`; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<Where>,
    /// Repetitions of each cell; default 3.
    #[serde(default = "three")]
    pub repeat: u32,
    /// One trial. Its texts are templates: `{{ mix.stress }}` is the value `stress` of the level
    /// that the factor `mix` has in the cell, `{{ mix }}` its name. A text that is one template and
    /// nothing else becomes the value itself, of any type; `null` removes its entry. Between the
    /// braces are expressions: arithmetic, `a if mix.name == 'C1' else b`, and the filters
    /// `default`, `int` and `round`; `{{ mix.rate | default(none) }}` is for values that some
    /// levels lack. The result is a [`crate::TrialSpec`].
    pub trial: serde_json::Value,
    /// The figures of tables and charts, by name.
    pub figures: BTreeMap<String, FigureSpec>,
    /// Tables of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableSpec>,
    /// Charts of the report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<ChartSpec>,
    /// Claims, judged by the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingSpec>,
    /// Published figures as CSV. The first line names factors and figures; an empty field of a
    /// factor means the mean over all of its levels, an empty figure that it was not published. In
    /// the units of `figures`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub published: String,
    /// Differences from the source and their reasons, in sentences.
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
    /// The content of a lab file.
    Described(Box<LabSpec>),
}

/// A property that is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactorSpec {
    /// Its name in templates, conditions and on the command line.
    pub name: String,
    /// Title for people; default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `--server a,b` replaces its levels: each server becomes the first level with `recipe: a`,
    /// without published figures unless the file has a level of this name.
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
    /// Title for people; default: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its values, for templates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub values: BTreeMap<String, WrittenValue>,
}

/// Some combinations of levels: the matching levels of each factor. A factor that is not named
/// matches with all.
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

struct OneName(String);

impl<'de> Deserialize<'de> for OneName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match OneOrMore::deserialize(deserializer)? {
            OneOrMore::One(name) => Ok(OneName(name)),
            OneOrMore::More(_) => Err(de::Error::custom("a list in a list of names")),
        }
    }
}

/// Description of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Title, in some words.
    pub title: String,
    /// Its unit, also in `published`.
    pub unit: ShownUnit,
    /// True if more is better, false if less is; default: neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_is_better: Option<bool>,
    /// The corresponding figure of a trial, as a template: `pages.Serial_{{ site }}.page.mean`;
    /// default: the figure of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Shows the absolute difference from this figure of the same trial, instead of the figure
    /// itself. A template, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_from: Option<String>,
}

/// The unit in which a figure is shown. Trials give seconds, bit/s, shares from 0 to 1, and
/// numbers.
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
    /// Title.
    pub title: String,
    /// Its cells.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub within: Where,
    /// The factors whose levels are its rows.
    pub rows: Vec<String>,
    /// For many figures of few cells: columns are shown as rows under this heading, and rows as
    /// columns. All figures must have the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned: Option<String>,
    /// Its columns. Each shows the mean over all cells that match `where` of table and column, and
    /// the row.
    pub columns: Vec<ColumnSpec>,
    /// Difference from the published table and its reason, or that it is not explained.
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
    /// Its cells.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub within: Where,
}

/// A chart: bars of one figure, in groups, published ones beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartSpec {
    /// Its name in the source: `Figure 2`.
    pub name: String,
    /// Title.
    pub title: String,
    /// The figure.
    pub figure: String,
    /// Its cells.
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

/// A claim about a figure: for example that it is less in some cells than in others, with all other
/// factors the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingSpec {
    /// The claim, in a sentence.
    pub claim: String,
    /// Its position in the source.
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
    /// Less, more, about the same, or neither consistently.
    pub relation: Relation,
    /// For `about`: largest relative difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Percentage>,
    /// Restricts both sides.
    #[serde(default, rename = "where", skip_serializing_if = "is_everywhere")]
    pub cells: Where,
    /// The figure of the cells of `than`; default: the same. With another one, both sides may be
    /// the same cells, and are compared within each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than_figure: Option<String>,
    /// The reason, if it does not hold here. Without one, a report shows it as unexplained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Relation of two figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Less than.
    Less,
    /// More than.
    More,
    /// Equal within `within`.
    About,
    /// Less in some parts, and more in others: consistently neither.
    Mixed,
}

fn is_everywhere(within: &Where) -> bool {
    within.0.is_empty()
}
