//! Options of several commands, and the parsers of values. The comments on fields are the texts of
//! `--help`.

mod background;
mod beside;
pub(crate) mod choices;
mod connect;
mod figures;
mod lab;
mod options;
mod output;
mod request;
mod server;
mod side;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use constraint::Constraint;
use record::NoteRecord;

pub(crate) use background::{BackgroundArgs, SinkOptions};
pub(crate) use beside::BesideOptions;
pub(crate) use connect::ConnectOptions;
use connect::connecting;
pub(crate) use figures::FigureOptions;
pub(crate) use lab::LabOptions;
pub(crate) use options::{
    ClockOptions, FlameOptions, LabelOptions, LoadOptions, MeasuringOptions, PipelineOptions,
    RoundsOptions, RunOptions, RunningOptions, SuiteOptions, VerifyOptions, WARMUP, WarmupOptions,
    WritesOptions,
};
pub(crate) use output::{
    CaptureFileOptions, FailIfOptions, FormatOptions, JunitOptions, OutputOptions, ResultOptions,
    RunsOptions,
};
pub(crate) use request::RequestOptions;
pub(crate) use server::{ServerOptions, ServersOptions, StartOptions, command_server};
pub(crate) use side::{SideOptions, VerdictOptions};

/// User and password as in 2004.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Login {
    /// User name; --user is safer, because the process list does not show its password
    #[arg(value_name = "USER", requires = "login_password")]
    pub(crate) login_user: Option<String>,

    /// Password; visible to every user of this machine in the process list
    #[arg(value_name = "PASSWORD")]
    pub(crate) login_password: Option<String>,
}

/// Options with their defaults.
pub(crate) fn defaults<T: Args>() -> T {
    let matches = T::augment_args(clap::Command::new("")).try_get_matches_from([""]);
    let defaults = matches.and_then(|matches| T::from_arg_matches(&matches));
    defaults.unwrap_or_else(|error| unreachable!("no option is required: {error}"))
}

/// True if one of these options was given.
pub(crate) fn is_given<T: Args + PartialEq>(options: &T) -> bool {
    *options != defaults()
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    suite::parse_duration(text)
}

/// Parses a constraint; its names are checked when the plan is known.
pub(crate) fn constraint(text: &str) -> Result<Constraint, String> {
    Constraint::parse(text).map_err(|error| error.marked(text))
}

pub(crate) fn size(text: &str) -> Result<u64, String> {
    suite::parse_size(text)
}

pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        duration => Ok(duration),
    }
}

/// Parses a whole number in a range.
pub(crate) fn whole<T>(
    range: impl RangeBounds<T> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    let bound = |word: &str, bound: Bound<&T>| match bound {
        Bound::Included(number) => format!(" {word} {number}"),
        Bound::Excluded(_) | Bound::Unbounded => String::new(),
    };
    let from = bound("from", range.start_bound());
    let to = bound("to", range.end_bound());
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("write a whole number{from}{to}")),
    }
}

/// Parses `full`.
fn verify(text: &str) -> Result<record::Verify, String> {
    let mut all = record::Verify::ALL.into_iter();
    all.find(|verify| verify.name() == text)
        .ok_or_else(|| "write full, first, head or none".to_owned())
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn note(text: &str) -> Result<NoteRecord, String> {
    let (name, text) = name_and_value(text).map_err(|_| "write NAME=TEXT")?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/');
    if name.is_empty() || name.chars().count() > 40 || !name.chars().all(is_name) {
        return Err(format!(
            "`{name}` is no name for a note; use up to 40 letters, digits, blanks, - _ . and /"
        ));
    }
    if text.is_empty() || text.chars().count() > 500 || text.chars().any(char::is_control) {
        return Err("the text of a note has up to 500 characters on one line".to_owned());
    }
    Ok(NoteRecord { name, text })
}

/// Name of a server in reports.
fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 60 || text.chars().any(char::is_control) {
        return Err("a label has up to 60 characters on one line".to_owned());
    }
    Ok(text.to_owned())
}

pub(crate) fn run_id(text: &str) -> Result<String, String> {
    let id = engine::is_run_id(text).then(|| text.to_owned());
    id.ok_or_else(|| "use up to 64 letters, digits, - and _".to_owned())
}

/// Parses `2%`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim);
    match number.and_then(|number| number.parse::<f64>().ok()) {
        Some(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("write a share with its sign, 5% for example".to_owned()),
    }
}

/// Parses `500` or `500/s`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.trim().parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 10_000_000.0 => Ok(rate),
        _ => Err("write a rate per second, 500 or 0.5/s, at most ten million".to_owned()),
    }
}
