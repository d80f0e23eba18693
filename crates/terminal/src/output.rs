//! Output of reports.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use report::page::{PageRun, ReportPage};
use report::{BesideResult, Diagnosed, TextLayout, TextOptions};
use runner::RunnerError;
use runner::words::number_of;
use rustix::fs::Access;

use crate::document_file;
use crate::figure_files::{self, FigureRequest, PagePlace};
use crate::screen::{self, ColorChoice, Screen};
use crate::standard_output;

/// Width without a terminal.
const USUAL_WIDTH: usize = 120;
/// Indentation of the second line of a message.
const INDENT: &str = "  ";

/// Prints a message on standard error. It may quote a server, so control characters are made
/// visible; a closed pipe is no error.
pub fn print_message(text: &str) {
    let line = |line| Screen::Messages.line(&report::clean(line), INDENT);
    let lines: Vec<String> = text.split('\n').map(line).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Prints a text formatted by another program: `colored` if colours are shown, otherwise `plain` as
/// [`print_message`] does.
pub fn print_formatted(plain: &str, colored: &str) {
    let fits = |line: &str| Screen::Messages.line(line, INDENT) == line;
    if plain.lines().all(fits) {
        let text = if Screen::Messages.has_colors(ColorChoice::Auto) {
            colored
        } else {
            plain
        };
        let _ = write!(io::stderr(), "{text}");
    } else {
        print_message(plain.trim_end());
    }
}

/// Prints lines on standard error without folding them.
pub fn show(lines: &[String]) {
    let lines: Vec<String> = lines.iter().map(|line| report::clean(line)).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Formats and destinations of a result of several runs.
#[derive(Debug, Clone, Default)]
pub struct ResultRequest {
    /// Destination of the text, instead of standard output.
    pub output: Option<PathBuf>,
    /// The JSON document.
    pub json: Option<PathBuf>,
    /// Destination of the Markdown.
    pub markdown: Option<PathBuf>,
    /// The page, and figures in files.
    pub figures: FigureRequest,
    /// Colours of the text.
    pub color: ColorChoice,
}

/// Formats and destinations of the report of a run.
#[derive(Debug, Clone, Default)]
pub struct ReportRequest {
    /// Those that all results have.
    pub result: ResultRequest,
    /// Destination of rows as CSV.
    pub csv: Option<PathBuf>,
    /// Destination of rows and constraints as test cases.
    pub junit: Option<PathBuf>,
    /// Destination of samples as CSV.
    pub log: Option<PathBuf>,
    /// Layout of the text.
    pub layout: TextLayout,
}

impl ReportRequest {
    /// Samples go to standard output, instead of the text.
    fn logs_to_output(&self) -> bool {
        self.log.as_deref().is_some_and(standard_output::is)
    }
}

/// Refuses two documents of a report in one file, and files that cannot be written, before anything
/// is measured. Makes directories of pages and figures.
pub fn check_report(report: &ReportRequest) -> Result<(), RunnerError> {
    if report.logs_to_output() && Screen::Output.is_terminal() {
        return Err(RunnerError::Usage(
            "--log needs a file or a pipe: there are too many rows for a terminal".to_owned(),
        ));
    }
    check_result(&report.result, &[&report.csv, &report.junit, &report.log])
}

/// The same as [`check_report`] for a result of several runs, and further documents.
pub fn check_result(result: &ResultRequest, more: &[&Option<PathBuf>]) -> Result<(), RunnerError> {
    let documents = [&[&result.json, &result.markdown, &result.output], more].concat();
    check(&documents, &result.figures)
}

/// The same as [`check_report`] for documents and a page without figures in files.
pub fn check_documents(
    documents: &[&Option<PathBuf>],
    html: Option<&PagePlace>,
) -> Result<(), RunnerError> {
    let figures = FigureRequest {
        html: html.cloned(),
        ..FigureRequest::default()
    };
    check(documents, &figures)
}

fn check(documents: &[&Option<PathBuf>], figures: &FigureRequest) -> Result<(), RunnerError> {
    let documents = documents.iter().copied().flatten();
    let paths = documents.chain(figures.html.iter().flat_map(PagePlace::files));
    let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
    refuse_twice(&paths)?;
    if let Some(PagePlace::Directory { directory, .. }) = &figures.html {
        figure_files::make_directory(directory)?;
    }
    for path in paths.iter().filter(|path| !standard_output::is(path)) {
        document_file::announce(path);
        check_path(path)?;
    }
    figure_files::make_directories(figures)
}

/// Checks that a file can be written, as far as that is possible without writing it.
pub fn check_path(path: &Path) -> Result<(), RunnerError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let allowed = if path.exists() {
        rustix::fs::access(path, Access::WRITE_OK)
    } else {
        rustix::fs::access(directory, Access::WRITE_OK)
    };
    let failed = match allowed {
        Err(error) => io::Error::from(error).to_string(),
        Ok(()) if path.is_dir() => "it is a directory".to_owned(),
        Ok(()) => return Ok(()),
    };
    Err(RunnerError::Local(format!(
        "writing {} would fail, so nothing was done: {failed}",
        path.display()
    )))
}

fn refuse_twice(paths: &[&Path]) -> Result<(), RunnerError> {
    let is_one = |path: &Path, other: &Path| {
        let is_same = path == other || (standard_output::is(path) && standard_output::is(other));
        is_same && !standard_output::discards(path) && !standard_output::discards(other)
    };
    let twice = paths.iter().enumerate().find(|(index, path)| {
        let mut before = paths[..*index].iter();
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

/// Prints a run and its loads beside it in all requested formats. Each is attempted, so that a full
/// disk for one does not prevent the others.
pub fn print(
    shown: PageRun<'_>,
    diagnosed: Option<Diagnosed>,
    beside: &[BesideResult<'_>],
    request: &ReportRequest,
    saved_to: Option<String>,
) -> Result<(), RunnerError> {
    let PageRun { run, summary, .. } = shown;
    let ReportRequest {
        result,
        csv,
        junit,
        layout,
        ..
    } = request;
    let kept = saved_to
        .as_ref()
        .map(|path| format!("; the run itself is kept, `prestan report {path}` prints it again"));
    let json = result
        .json
        .as_deref()
        .map(|path| (path, report::json(run, summary, beside)));
    let csv = csv.as_deref().map(|path| (path, report::csv(run, summary)));
    let junit = junit
        .as_deref()
        .map(|path| (path, report::junit(run, summary)));
    let page = ReportPage {
        runs: vec![shown],
        diagnosed: diagnosed.as_ref().map(std::slice::from_ref),
        ..ReportPage::default()
    };
    let text = |color, width| {
        let options = TextOptions {
            color,
            width,
            layout: *layout,
            saved_to: saved_to.clone(),
        };
        report::text(run, summary, beside, &options)
    };
    if *layout == TextLayout::Of2004 && !summary.warnings.is_empty() {
        let count = summary.warnings.len();
        let warnings = number_of(count, "warning");
        let them = if count == 1 { "it" } else { "them" };
        print_message(&format!(
            "prestan: {warnings}: `prestan report` prints {them}; the layout of 2004 has no place for \
             {them}"
        ));
    }
    let has_text = result.output.is_some() || !request.logs_to_output();
    let documents = json.into_iter().chain(csv).chain(junit).collect();
    let printed = print_page(&page, result, documents, (has_text, text));
    printed.map_err(|failed| match failed {
        RunnerError::Local(why) => RunnerError::Local(format!("{why}{}", kept.unwrap_or_default())),
        other => other,
    })
}

/// A report as a fenced block of Markdown; no line of the report can end it.
fn in_markdown(text: &impl Fn(bool, usize) -> String) -> String {
    let text = text(false, USUAL_WIDTH);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// Writes a page and its figures, and no text.
pub fn draw(page: &ReportPage<'_>, options: &FigureRequest) -> Result<(), RunnerError> {
    let mut documents = figure_files::documents(page, options).into_iter();
    let written = documents.try_for_each(|(path, text)| write(path, &text));
    written.and(figure_files::write(page, options))
}

/// Prints a result of several runs: as text, as JSON and with further documents if requested, with
/// its page and figures.
pub fn print_result<'a>(
    page: &ReportPage<'_>,
    result: &'a ResultRequest,
    json: impl FnOnce() -> String,
    more: impl IntoIterator<Item = (&'a Path, String)>,
    text: impl Fn(bool, usize) -> String,
) -> Result<(), RunnerError> {
    let json = result.json.as_deref().map(|path| (path, json()));
    print_page(
        page,
        result,
        json.into_iter().chain(more).collect(),
        (true, text),
    )
}

/// Prints documents and a text as [`print_all`] does, with their page and figures if requested.
/// Each is attempted.
fn print_page<'a>(
    page: &ReportPage<'_>,
    result: &'a ResultRequest,
    mut documents: Vec<(&'a Path, String)>,
    (is_printed, text): (bool, impl Fn(bool, usize) -> String),
) -> Result<(), RunnerError> {
    // A comparison has a table of its own.
    let markdown = result.markdown.as_deref();
    let markdown = markdown.filter(|path| documents.iter().all(|(other, _)| other != path));
    documents.extend(markdown.map(|path| (path, in_markdown(&text))));
    documents.extend(figure_files::documents(page, &result.figures));
    let text = is_printed.then_some(text);
    let printed = print_all(documents, result.output.as_deref(), result.color, text);
    printed.and(figure_files::write(page, &result.figures))
}

/// Prints documents and, unless one of them goes to standard output, the text for these colours and
/// this width, if there is one. Each is attempted.
pub fn print_all<'a>(
    mut documents: Vec<(&'a Path, String)>,
    output: Option<&'a Path>,
    color: ColorChoice,
    text: Option<impl FnOnce(bool, usize) -> String>,
) -> Result<(), RunnerError> {
    let taken = documents.iter().any(|(path, _)| standard_output::is(path));
    let path = match output {
        None if taken => None,
        None => Some(Path::new(standard_output::NAME)),
        Some(path) => Some(path),
    };
    if let (Some(path), Some(text)) = (path, text) {
        let text = if standard_output::is(path) {
            let width = Screen::Output.columns().unwrap_or(USUAL_WIDTH);
            Screen::Output.shown(&text(Screen::Output.has_colors(color), width))
        } else {
            text(
                color == ColorChoice::Always,
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

/// Prints a list as a JSON document if requested; unless that goes to standard output, also as a
/// text of this width.
pub fn print_documents(
    json: Option<(&Path, String)>,
    text: impl FnOnce(usize) -> String,
) -> Result<(), RunnerError> {
    let documents = json.into_iter().collect();
    print_all(
        documents,
        None,
        ColorChoice::Never,
        Some(|_, width| text(width)),
    )
}

/// Writes a file, or standard output for `-`.
fn write(path: &Path, text: &str) -> Result<(), RunnerError> {
    write_with(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a file, or standard output for `-`, that `fill` fills in pieces.
pub fn write_with(
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
        // The reader has closed the pipe: `prestan report | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(RunnerError::Local(format!(
            "writing to standard output failed: {error}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// Prints a list; `indent` precedes the second line of an item of several lines.
pub fn print_list(
    items: impl IntoIterator<Item = String>,
    indent: &str,
) -> Result<(), RunnerError> {
    let lines = items.into_iter();
    let lines = lines.map(|item| format!("{}\n", Screen::Output.line(&item, indent)));
    print_text(&lines.collect::<String>())
}

/// Prints names and their descriptions, in two columns.
pub fn print_named(items: &[(&str, String)]) -> Result<(), RunnerError> {
    let width = items.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = items
        .iter()
        .map(|(name, text)| format!("{name:width$} {text}"));
    print_list(lines, &" ".repeat(width + 1))
}

/// Prints a text that has its own line breaks.
pub fn print_described(text: &str) -> Result<(), RunnerError> {
    print_text(&Screen::Output.shown(text))
}

/// Prints a text unchanged.
pub fn print_text(text: &str) -> Result<(), RunnerError> {
    write(Path::new(standard_output::NAME), text)
}
