//! Where reports go.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::{env, process};

use report::page::{PageRun, ReportPage};
use report::{BesideResult, Diagnosed, TextLayout, TextOptions};
use rustix::fs::Access;

use crate::args::{AnswerOptions, ColorArg, FigureOptions, FormatOptions, LayoutArg};
use crate::command::kept::KeptRun;
use crate::document_file;
use crate::exit::Failed;
use crate::figures;
use crate::standard_output;

/// Narrowest and widest report on a terminal, in columns.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=160;
/// Width where there is no terminal to ask.
const USUAL_WIDTH: usize = 120;
/// Indentation of the second line of a message.
const INDENT: &str = "  ";
/// Stands for standard output where a file could stand.
const STANDARD_OUTPUT: &str = "-";

/// Says something to the user on standard error. Text of a server may stand in it, so control
/// characters are made visible; and a closed pipe is no reason to fail.
pub(crate) fn tell(text: &str) {
    let columns = columns(io::stderr().is_terminal());
    let line = |line| folded(&report::clean(line), columns, INDENT);
    let lines: Vec<String> = text.split('\n').map(line).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Shows lines on standard error that are not ours to fold.
pub(crate) fn show(lines: &[String]) {
    let lines: Vec<String> = lines.iter().map(|line| report::clean(line)).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Says why a command line is refused, or what `--help` says.
pub(crate) fn tell_usage(error: &clap::Error) {
    if !error.use_stderr() && standard_output::was_closed() {
        tell(&format!("prestan: {}", standard_output::CLOSED));
        process::exit(1);
    }
    let text = error.render().to_string();
    let columns = columns(io::stderr().is_terminal());
    let fits = |line: &str| folded(line, columns, INDENT) == line;
    if !error.use_stderr() || text.lines().all(fits) {
        let _ = error.print();
    } else {
        tell(text.trim_end());
    }
}

/// A line in so many columns. One that begins with a blank is an excerpt or an example, and stays as
/// it is.
fn folded(line: &str, columns: Option<usize>, indent: &str) -> String {
    match columns {
        Some(columns) if !line.starts_with(' ') => report::wrap(columns, "", indent, line),
        _ => line.to_owned(),
    }
}

/// The same as [`check`] for a report, in all formats that are wanted.
pub(crate) fn check_report(
    formats: &FormatOptions,
    output: &Option<PathBuf>,
) -> Result<(), Failed> {
    if formats.log.as_deref().is_some_and(is_standard_output) {
        return Err(Failed::Usage(
            "--log needs a file: there are too many rows for a terminal".to_owned(),
        ));
    }
    let documents = [
        &formats.json,
        &formats.csv,
        &formats.junit,
        &formats.log,
        output,
    ];
    check(&documents, &formats.figures)
}

/// The same as [`check`] for an answer, and more documents that go with it.
pub(crate) fn check_answer(
    answer: &AnswerOptions,
    more: &[&Option<PathBuf>],
) -> Result<(), Failed> {
    let documents = [&[&answer.json, &answer.output], more].concat();
    check(&documents, &answer.figures)
}

/// The same as [`check`] for documents alone.
pub(crate) fn check_documents(documents: &[&Option<PathBuf>]) -> Result<(), Failed> {
    check(documents, &FigureOptions::default())
}

/// Refuses two documents in one file, and places where nothing can be written, before anything is
/// measured for them. Directories for figures are made.
fn check(documents: &[&Option<PathBuf>], figures: &FigureOptions) -> Result<(), Failed> {
    let places = documents.iter().copied().chain([&figures.html]);
    let places: Vec<&Path> = places.filter_map(Option::as_deref).collect();
    refuse_twice(&places)?;
    for place in places.iter().filter(|place| !is_standard_output(place)) {
        document_file::announce(place);
        check_place(place)?;
    }
    figures::make_directories(figures)
}

/// Whether a file can be written there, as far as that can be known without writing it.
pub(crate) fn check_place(place: &Path) -> Result<(), Failed> {
    let directory = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let allowed = if place.exists() {
        rustix::fs::access(place, Access::WRITE_OK)
    } else {
        rustix::fs::access(directory, Access::WRITE_OK)
    };
    let failed = match allowed {
        Err(error) => io::Error::from(error).to_string(),
        Ok(()) if place.is_dir() => "it is a directory".to_owned(),
        Ok(()) => return Ok(()),
    };
    Err(Failed::Local(format!(
        "writing {} would fail, so nothing was done: {failed}",
        place.display()
    )))
}

fn refuse_twice(places: &[&Path]) -> Result<(), Failed> {
    let twice = places
        .iter()
        .enumerate()
        .find(|(index, path)| places[..*index].contains(path));
    match twice {
        Some((_, path)) => Err(Failed::Usage(format!(
            "two documents would be written to {}; give each a file of its own",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Prints a run, with what went on beside it, in all formats that were asked for. Each is attempted, so that a full disk for
/// one does not take the others along.
pub(crate) fn print(
    shown: PageRun<'_>,
    diagnosed: Option<Diagnosed>,
    beside: &[(String, KeptRun)],
    formats: &FormatOptions,
    output: Option<&Path>,
    saved_to: Option<String>,
) -> Result<(), Failed> {
    let PageRun { run, summary, .. } = shown;
    let beside: Vec<BesideResult<'_>> = beside
        .iter()
        .map(|(name, load)| BesideResult {
            name,
            run: &load.run,
            summary: &load.summary,
        })
        .collect();
    let kept = saved_to
        .as_ref()
        .map(|path| format!("; the run itself is kept, `prestan report {path}` prints it again"));
    let json = formats
        .json
        .as_deref()
        .map(|path| (path, report::json(run, summary, &beside)));
    let csv = formats
        .csv
        .as_deref()
        .map(|path| (path, report::csv(run, summary)));
    let junit = formats
        .junit
        .as_deref()
        .map(|path| (path, report::junit(run, summary)));
    let page = ReportPage {
        runs: vec![shown],
        diagnosed: diagnosed.as_ref().map(std::slice::from_ref),
        ..ReportPage::default()
    };
    let documents = json.into_iter().chain(csv).chain(junit).collect();
    let text = |color, width| {
        let options = TextOptions {
            color,
            width,
            layout: match formats.layout.unwrap_or_default() {
                LayoutArg::Full => TextLayout::Full,
                LayoutArg::Brief => TextLayout::Brief,
                LayoutArg::Of2004 => TextLayout::Of2004,
                LayoutArg::Calls => TextLayout::Calls,
            },
            saved_to,
        };
        report::text(run, summary, &beside, &options)
    };
    if formats.layout == Some(LayoutArg::Of2004) && !summary.warnings.is_empty() {
        let count = summary.warnings.len();
        let warnings = number_of(count, "warning");
        let them = if count == 1 { "it" } else { "them" };
        tell(&format!(
            "prestan: {warnings}: `prestan report` prints {them}; the layout of 2004 has no place for \
             {them}"
        ));
    }
    let printed = print_page(
        &page,
        &formats.figures,
        documents,
        output,
        formats.color,
        text,
    );
    printed.map_err(|failed| match failed {
        Failed::Local(why) => Failed::Local(format!("{why}{}", kept.unwrap_or_default())),
        other => other,
    })
}

/// Writes a page and its figures, and no text.
pub(crate) fn draw(page: &ReportPage<'_>, options: &FigureOptions) -> Result<(), Failed> {
    let html = figures::document(page, options);
    let written = html.map_or(Ok(()), |(path, html)| write(path, &html));
    written.and(figures::write(page, options))
}

/// Prints an answer: as a text, as JSON and with more documents where they are wanted, and the page
/// that goes with it with its figures.
pub(crate) fn print_answer<'a>(
    page: &ReportPage<'_>,
    answer: &'a AnswerOptions,
    json: impl FnOnce() -> String,
    more: Option<(&'a Path, String)>,
    text: impl FnOnce(bool, usize) -> String,
) -> Result<(), Failed> {
    let json = answer.json.as_deref().map(|path| (path, json()));
    print_page(
        page,
        &answer.figures,
        json.into_iter().chain(more).collect(),
        answer.output.as_deref(),
        answer.color,
        text,
    )
}

/// Prints documents and a text as [`print_all`] does, and the page that goes with them with its
/// figures, where they are wanted. Each is attempted.
fn print_page<'a>(
    page: &ReportPage<'_>,
    figures: &'a FigureOptions,
    mut documents: Vec<(&'a Path, String)>,
    output: Option<&'a Path>,
    color: ColorArg,
    text: impl FnOnce(bool, usize) -> String,
) -> Result<(), Failed> {
    documents.extend(figures::document(page, figures));
    let printed = print_all(documents, output, color, text);
    printed.and(figures::write(page, figures))
}

/// Prints documents and, unless one of them takes standard output, the text that is made for these
/// colours and this width. Each is attempted.
pub(crate) fn print_all<'a>(
    mut documents: Vec<(&'a Path, String)>,
    output: Option<&'a Path>,
    color: ColorArg,
    text: impl FnOnce(bool, usize) -> String,
) -> Result<(), Failed> {
    let taken = documents.iter().any(|(path, _)| is_standard_output(path));
    let place = match output {
        None if taken => None,
        None => Some(Path::new(STANDARD_OUTPUT)),
        Some(path) => Some(path),
    };
    if let Some(path) = place {
        let to_terminal = is_standard_output(path) && io::stdout().is_terminal();
        let text = text(colors(color, to_terminal), width(to_terminal));
        let is_plain = to_terminal && !is_unicode(|name| env::var(name).ok());
        let text = if is_plain { in_ascii(&text) } else { text };
        documents.push((path, text));
    }
    let written = documents.iter().map(|(path, text)| write(path, text));
    let failures: Vec<String> = written
        .filter_map(|written| Some(written.err()?.to_string()))
        .collect();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Failed::Local(failures.join("; ")))
    }
}

/// Prints a list as a JSON document where that is wanted, and unless it takes standard output, as a
/// text of this width.
pub(crate) fn print_documents(
    json: Option<(&Path, String)>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), Failed> {
    let documents = json.into_iter().collect();
    print_all(documents, None, ColorArg::Never, |_, width| text(width))
}

/// Whether a terminal with this environment shows more than ASCII, as the C library decides it.
fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let decisive = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find(set);
    let locale = decisive.and_then(variable).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// The signs of reports as they are written without others than ASCII.
fn in_ascii(text: &str) -> String {
    let signs = [('µ', "u"), ('±', "+-"), ('×', "x"), ('÷', "/"), ('–', "-")];
    let plain = |sign: char| signs.iter().find(|(of, _)| *of == sign);
    text.chars().fold(String::new(), |mut all, sign| {
        match plain(sign) {
            Some((_, ascii)) => all.push_str(ascii),
            None => all.push(sign),
        }
        all
    })
}

fn colors(when: ColorArg, to_terminal: bool) -> bool {
    match when {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            to_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

fn width(to_terminal: bool) -> usize {
    columns(to_terminal).unwrap_or(USUAL_WIDTH)
}

/// Columns to keep to: those that `COLUMNS` says, or those of the terminal.
fn columns(on_terminal: bool) -> Option<usize> {
    let said = env::var("COLUMNS").ok();
    let said = said.and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let measured = if on_terminal { terminal() } else { None };
    let columns: Option<usize> = said.or(measured);
    columns.map(|columns| columns.clamp(*WIDTHS.start(), *WIDTHS.end()))
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

/// Writes a file, or standard output for `-`.
fn write(path: &Path, text: &str) -> Result<(), Failed> {
    write_with(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a file, or standard output for `-`, that is filled piece by piece.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failed> {
    if !is_standard_output(path) {
        return document_file::write_with(path, fill);
    }
    if standard_output::was_closed() {
        return Err(Failed::Local(standard_output::CLOSED.to_owned()));
    }
    let mut standard_output = io::stdout().lock();
    match fill(&mut standard_output).and_then(|()| standard_output.flush()) {
        // Whoever closed the pipe has read enough: `prestan report | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failed::Local(format!(
            "writing to standard output failed: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// `1 run`, `2 runs`.
pub(crate) fn number_of(count: usize, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// Prints a list; `indent` stands before the second line of an item that takes several.
pub(crate) fn print_list(
    items: impl IntoIterator<Item = String>,
    indent: &str,
) -> Result<(), Failed> {
    let columns = columns(io::stdout().is_terminal());
    let lines = items.into_iter();
    let lines = lines.map(|item| format!("{}\n", folded(&item, columns, indent)));
    print_text(&lines.collect::<String>())
}

/// Prints a text as it is.
pub(crate) fn print_text(text: &str) -> Result<(), Failed> {
    write(Path::new(STANDARD_OUTPUT), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_unicode_gets_none_of_our_signs() {
        let of = |set: &'static [(&str, &str)]| {
            is_unicode(|name| {
                let found = set.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LANG", "C.UTF-8")]) && of(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")]));
        assert!(!of(&[]) && !of(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert_eq!(
            in_ascii("45 µs ±3 %, ×2 – größe"),
            "45 us +-3 %, x2 - größe"
        );
    }
}
