//! Where reports go.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use report::page::{PageRun, ReportPage};
use report::{BesideResult, Diagnosed, TextLayout, TextOptions};
use runner::RunnerError;
use rustix::fs::Access;

pub(crate) use runner::words::number_of;

use crate::args::{AnswerOptions, ColorArg, FigureOptions, FormatOptions, LayoutArg, PagePlace};
use crate::command::kept::KeptRun;
use crate::document_file;
use crate::exit::ExitStatus;
use crate::figures;
use crate::screen::{self, Screen};
use crate::standard_output;

/// Width where there is no terminal to ask.
const USUAL_WIDTH: usize = 120;
/// Indentation of the second line of a message.
const INDENT: &str = "  ";

/// Says something to the user on standard error. Text of a server may stand in it, so control
/// characters are made visible; and a closed pipe is no reason to fail.
pub(crate) fn tell(text: &str) {
    let line = |line| Screen::Messages.line(&report::clean(line), INDENT);
    let lines: Vec<String> = text.split('\n').map(line).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Shows lines on standard error that are not ours to fold.
pub(crate) fn show(lines: &[String]) {
    let lines: Vec<String> = lines.iter().map(|line| report::clean(line)).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Says why a command line is refused, or what `--help` says, and with which status the program ends.
pub(crate) fn tell_usage(error: &clap::Error) -> i32 {
    let text = error.render();
    let plain = text.to_string();
    let colored = |screen: Screen| {
        if screen.has_colors(ColorArg::Auto) {
            text.ansi().to_string()
        } else {
            plain.clone()
        }
    };
    if !error.use_stderr() {
        let printed = print_described(&colored(Screen::Output));
        return printed.map_or_else(
            |failed| {
                tell(&format!("prestan: {failed}"));
                i32::from(ExitStatus::of(&failed).number())
            },
            |()| error.exit_code(),
        );
    }
    let fits = |line: &str| Screen::Messages.line(line, INDENT) == line;
    if plain.lines().all(fits) {
        let _ = write!(io::stderr(), "{}", colored(Screen::Messages));
    } else {
        tell(plain.trim_end());
    }
    error.exit_code()
}

/// The same as [`check`] for a report, in all formats that are wanted.
pub(crate) fn check_report(
    formats: &FormatOptions,
    output: &Option<PathBuf>,
) -> Result<(), RunnerError> {
    if takes_standard_output(formats) && Screen::Output.is_terminal() {
        return Err(RunnerError::Usage(
            "--log needs a file or a pipe: there are too many rows for a terminal".to_owned(),
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

/// Whether the rows of `--log` are on standard output, instead of the report.
fn takes_standard_output(formats: &FormatOptions) -> bool {
    formats.log.as_deref().is_some_and(standard_output::is)
}

/// The same as [`check`] for an answer, and more documents that go with it.
pub(crate) fn check_answer(
    answer: &AnswerOptions,
    more: &[&Option<PathBuf>],
) -> Result<(), RunnerError> {
    let documents = [&[&answer.json, &answer.output], more].concat();
    check(&documents, &answer.figures)
}

/// The same as [`check`] for documents and a page without figures in files.
pub(crate) fn check_documents(
    documents: &[&Option<PathBuf>],
    html: Option<&PagePlace>,
) -> Result<(), RunnerError> {
    let figures = FigureOptions {
        html: html.cloned(),
        ..FigureOptions::default()
    };
    check(documents, &figures)
}

/// Refuses two documents in one file, and places where nothing can be written, before anything is
/// measured for them. Directories for pages and figures are made.
fn check(documents: &[&Option<PathBuf>], figures: &FigureOptions) -> Result<(), RunnerError> {
    let documents = documents.iter().copied().flatten();
    let places = documents.chain(figures.html.iter().flat_map(PagePlace::files));
    let places: Vec<&Path> = places.map(PathBuf::as_path).collect();
    refuse_twice(&places)?;
    if let Some(PagePlace::Directory { directory, .. }) = &figures.html {
        figures::make_directory(directory)?;
    }
    for place in places.iter().filter(|place| !standard_output::is(place)) {
        document_file::announce(place);
        check_place(place)?;
    }
    figures::make_directories(figures)
}

/// Whether a file can be written there, as far as that can be known without writing it.
pub(crate) fn check_place(place: &Path) -> Result<(), RunnerError> {
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
    Err(RunnerError::Local(format!(
        "writing {} would fail, so nothing was done: {failed}",
        place.display()
    )))
}

fn refuse_twice(places: &[&Path]) -> Result<(), RunnerError> {
    let is_one = |own: &Path, other: &Path| {
        let is_same = own == other || (standard_output::is(own) && standard_output::is(other));
        is_same && !standard_output::discards(own) && !standard_output::discards(other)
    };
    let twice = places.iter().enumerate().find(|(index, path)| {
        let mut before = places[..*index].iter();
        before.any(|other| is_one(path, other))
    });
    match twice {
        Some((_, path)) => Err(RunnerError::Usage(format!(
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
) -> Result<(), RunnerError> {
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
    let has_text = output.is_some() || !takes_standard_output(formats);
    let printed = print_page(
        &page,
        &formats.figures,
        documents,
        output,
        formats.color,
        has_text.then_some(text),
    );
    printed.map_err(|failed| match failed {
        RunnerError::Local(why) => RunnerError::Local(format!("{why}{}", kept.unwrap_or_default())),
        other => other,
    })
}

/// Writes a page and its figures, and no text.
pub(crate) fn draw(page: &ReportPage<'_>, options: &FigureOptions) -> Result<(), RunnerError> {
    let mut documents = figures::documents(page, options).into_iter();
    let written = documents.try_for_each(|(path, text)| write(path, &text));
    written.and(figures::write(page, options))
}

/// Prints an answer: as a text, as JSON and with more documents where they are wanted, and the page
/// that goes with it with its figures.
pub(crate) fn print_answer<'a>(
    page: &ReportPage<'_>,
    answer: &'a AnswerOptions,
    json: impl FnOnce() -> String,
    more: impl IntoIterator<Item = (&'a Path, String)>,
    text: impl FnOnce(bool, usize) -> String,
) -> Result<(), RunnerError> {
    let json = answer.json.as_deref().map(|path| (path, json()));
    print_page(
        page,
        &answer.figures,
        json.into_iter().chain(more).collect(),
        answer.output.as_deref(),
        answer.color,
        Some(text),
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
    text: Option<impl FnOnce(bool, usize) -> String>,
) -> Result<(), RunnerError> {
    documents.extend(figures::documents(page, figures));
    let printed = print_all(documents, output, color, text);
    printed.and(figures::write(page, figures))
}

/// Prints documents and, unless one of them takes standard output, the text that is made for these
/// colours and this width, if there is one. Each is attempted.
pub(crate) fn print_all<'a>(
    mut documents: Vec<(&'a Path, String)>,
    output: Option<&'a Path>,
    color: ColorArg,
    text: Option<impl FnOnce(bool, usize) -> String>,
) -> Result<(), RunnerError> {
    let taken = documents.iter().any(|(path, _)| standard_output::is(path));
    let place = match output {
        None if taken => None,
        None => Some(Path::new(standard_output::NAME)),
        Some(path) => Some(path),
    };
    if let (Some(path), Some(text)) = (place, text) {
        let text = if standard_output::is(path) {
            let width = Screen::Output.columns().unwrap_or(USUAL_WIDTH);
            Screen::Output.shown(&text(Screen::Output.has_colors(color), width))
        } else {
            text(
                color == ColorArg::Always,
                screen::said_columns().unwrap_or(USUAL_WIDTH),
            )
        };
        documents.push((path, text));
    }
    let written = documents.iter().map(|(path, text)| write(path, text));
    let failures: Vec<String> = written
        .filter_map(|written| Some(written.err()?.to_string()))
        .collect();
    if failures.is_empty() {
        Ok(())
    } else {
        Err(RunnerError::Local(failures.join("; ")))
    }
}

/// Prints a list as a JSON document where that is wanted, and unless it takes standard output, as a
/// text of this width.
pub(crate) fn print_documents(
    json: Option<(&Path, String)>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), RunnerError> {
    let documents = json.into_iter().collect();
    print_all(
        documents,
        None,
        ColorArg::Never,
        Some(|_, width| text(width)),
    )
}

/// Writes a file, or standard output for `-`.
fn write(path: &Path, text: &str) -> Result<(), RunnerError> {
    write_with(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a file, or standard output for `-`, that is filled piece by piece.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RunnerError> {
    if !standard_output::is(path) {
        return document_file::write_with(path, fill);
    }
    if standard_output::was_closed() {
        return Err(RunnerError::Local(standard_output::CLOSED.to_owned()));
    }
    let mut standard_output = io::stdout().lock();
    match fill(&mut standard_output).and_then(|()| standard_output.flush()) {
        // Whoever closed the pipe has read enough: `prestan report | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(RunnerError::Local(format!(
            "writing to standard output failed: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// Prints a list; `indent` stands before the second line of an item that takes several.
pub(crate) fn print_list(
    items: impl IntoIterator<Item = String>,
    indent: &str,
) -> Result<(), RunnerError> {
    let lines = items.into_iter();
    let lines = lines.map(|item| format!("{}\n", Screen::Output.line(&item, indent)));
    print_text(&lines.collect::<String>())
}

/// Prints a text for people, which has its own line breaks.
pub(crate) fn print_described(text: &str) -> Result<(), RunnerError> {
    print_text(&Screen::Output.shown(text))
}

/// Prints a text as it is.
pub(crate) fn print_text(text: &str) -> Result<(), RunnerError> {
    write(Path::new(standard_output::NAME), text)
}
