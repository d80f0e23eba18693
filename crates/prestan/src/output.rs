//! Where reports go.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::{env, fs};

use record::Run;
use report::TextOptions;

use crate::args::{ColorArg, FormatOptions};
use crate::exit::Failed;

/// Narrowest and widest report on a terminal, in columns.
const WIDTHS: std::ops::RangeInclusive<usize> = 60..=160;
/// Width where there is no terminal to ask.
const USUAL_WIDTH: usize = 120;

/// Prints a run in all formats that were asked for.
pub(crate) fn print(
    run: &Run,
    summary: &stats::Summary,
    formats: &FormatOptions,
    output: Option<&Path>,
    saved_to: Option<String>,
) -> Result<(), Failed> {
    let mut standard_output_taken = false;
    if let Some(path) = &formats.json {
        standard_output_taken |= write(path, &report::json(run, summary))?;
    }
    if let Some(path) = &formats.csv {
        standard_output_taken |= write(path, &report::csv(run, summary))?;
    }
    let to_terminal = output.is_none() && io::stdout().is_terminal();
    let options = TextOptions {
        color: colors(formats.color, to_terminal),
        width: width(to_terminal),
        saved_to,
    };
    match output {
        Some(path) => {
            write(path, &report::text(run, summary, &options))?;
        }
        None if standard_output_taken => {}
        None => {
            write(Path::new("-"), &report::text(run, summary, &options))?;
        }
    }
    Ok(())
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
    let columns = env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let measured = if to_terminal { terminal() } else { None };
    columns
        .or(measured)
        .unwrap_or(USUAL_WIDTH)
        .clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Writes a file, or standard output for `-`; true when it was the latter.
fn write(path: &Path, text: &str) -> Result<bool, Failed> {
    if path.as_os_str() != "-" {
        return fs::write(path, text)
            .map(|()| false)
            .map_err(|error| Failed::Local(format!("writing {} failed: {error}", path.display())));
    }
    match io::stdout().lock().write_all(text.as_bytes()) {
        // Whoever closed the pipe has read enough: `prestan report | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(Failed::Local(format!(
            "writing to standard output failed: {error}"
        ))),
        Ok(()) => Ok(true),
    }
}

/// Prints a text that is no report.
pub(crate) fn print_text(text: &str) -> Result<(), Failed> {
    write(Path::new("-"), text).map(|_| ())
}
