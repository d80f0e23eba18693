//! Where pages and figures go.

mod picture;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use figures::FileStyle;
use report::page::{self, ReportPage};
use runner::RunnerError;

use crate::args::FigureOptions;
use crate::document_file;
use crate::output::tell;

/// The page, where one is wanted: its files, and what is in each.
pub(crate) fn documents<'a>(
    page: &ReportPage<'_>,
    options: &'a FigureOptions,
) -> Vec<(&'a Path, String)> {
    let place = options.html.as_ref();
    place.map_or(Vec::new(), |place| {
        place.documents(&page::document_of(page))
    })
}

/// Makes the directories that are wanted, and refuses options for files where there are none.
pub(crate) fn make_directories(options: &FigureOptions) -> Result<(), RunnerError> {
    if options.is_without_files() {
        return Err(RunnerError::Usage(
            "--figure, --figure-width and --font are for figures in files; add --svg DIR or --png \
             DIR"
            .to_owned(),
        ));
    }
    if options.png.is_some() {
        picture::check()?;
    }
    for (directory, ending) in [(&options.svg, "svg"), (&options.png, "png")] {
        if let Some(directory) = directory {
            make_directory(directory)?;
            document_file::announce_all(directory, ending);
        }
    }
    Ok(())
}

/// Makes a directory, with those above it.
pub(crate) fn make_directory(directory: &Path) -> Result<(), RunnerError> {
    fs::create_dir_all(directory).map_err(|error| {
        RunnerError::Local(format!("making {} failed: {error}", directory.display()))
    })
}

/// Writes the figures into the directories that are wanted. One that there is not is no failure: a run has no
/// distribution of times where nothing was measured, and says why.
pub(crate) fn write(page: &ReportPage<'_>, options: &FigureOptions) -> Result<(), RunnerError> {
    let (svg, png) = (options.svg.as_deref(), options.png.as_deref());
    if svg.is_none() && png.is_none() {
        return Ok(());
    }
    let width = options.figure_width.as_ref();
    let usual = FileStyle::default();
    let style = FileStyle {
        width: width.map_or(usual.width, |width| width.pixels),
        unit: width.map_or(usual.unit, |width| width.written.clone()),
        font: options.font.clone(),
    };
    let all = page::figures_of(page);
    let measured = page::measured_of(page);
    let is_wanted = |name: &str| {
        let mut wanted = options.figure.iter();
        options.figure.is_empty() || wanted.any(|wanted| is_called(name, wanted))
    };
    let mut undrawn = BTreeSet::new();
    for figure in all.iter().filter(|figure| is_wanted(&figure.id)) {
        let drawn = figures::file(figure, &style, &measured);
        if let Some(directory) = svg {
            save(directory, &figure.id, "svg", drawn.as_bytes())?;
        }
        if let Some(directory) = png {
            let picture = picture::png(&figure.id, &drawn)?;
            save(directory, &figure.id, "png", &picture.bytes)?;
            undrawn.extend(picture.missing);
        }
    }
    for (directory, ending) in [(svg, "svg"), (png, "png")] {
        if let Some(directory) = directory {
            document_file::all_written(directory, ending);
        }
    }
    if !undrawn.is_empty() {
        tell(&format!(
            "prestan: the font of PNG files has no {}: these letters are missing in the pictures; --svg has them",
            undrawn
                .iter()
                .map(char::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        ));
    }
    let is_there = |wanted: &str| all.iter().any(|figure| is_called(&figure.id, wanted));
    let missing = options.figure.iter().filter(|wanted| !is_there(wanted));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        let names: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
        let there = match &names[..] {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        tell(&format!(
            "prestan: no figure is called {}, so no file has it; there are {there}",
            missing.join(" or ")
        ));
    }
    Ok(())
}

/// Whether a figure is asked for: by its name, by some of its words (`bars-single` of `bars-single-log`), or by the
/// beginning of the first (`hist`).
fn is_called(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-') || !wanted.contains('-'))
}

fn save(directory: &Path, name: &str, ending: &str, bytes: &[u8]) -> Result<(), RunnerError> {
    let path = directory.join(format!("{name}.{ending}"));
    document_file::write_drawn(&path, bytes)
}

#[cfg(test)]
mod tests {
    use super::is_called;

    #[test]
    fn figures_are_called_by_name_words_or_the_beginning_of_their_kind() {
        for (name, wanted, expected) in [
            ("histogram-Get1K", "hist", true),
            ("histogram-Get1K", "histogram", true),
            ("histogram-Get1K", "histogram-Get1K", true),
            ("histogram-Get1K", "histogram-Get", false),
            ("bars-single-log", "bars-single", true),
            ("forest-10", "forest-1", false),
            ("ecdf-Get1K", "hist", false),
        ] {
            assert_eq!(is_called(name, wanted), expected, "{name} {wanted}");
        }
    }
}
