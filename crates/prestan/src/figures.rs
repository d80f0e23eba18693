//! Where pages and figures go.

mod scripts;

use std::fs;
use std::path::Path;

use report::page::{self, ReportPage};
use scripts::{Figure, FigureError, FigureStyle, Painter};

use crate::args::FigureOptions;
use crate::exit::Failed;

/// The page, where one is wanted.
pub(crate) fn document<'a>(
    page: &ReportPage<'_>,
    options: &'a FigureOptions,
) -> Option<(&'a Path, String)> {
    let path = options.html.as_deref()?;
    Some((path, page::html(page)))
}

/// Makes the directories that are wanted, and refuses options for files where there are none.
pub(crate) fn make_directories(options: &FigureOptions) -> Result<(), Failed> {
    if options.is_without_files() {
        return Err(Failed::Usage(
            "--figure, --figure-width and --font are for figures in files; add --svg DIR or --png \
             DIR"
            .to_owned(),
        ));
    }
    for directory in [&options.svg, &options.png].into_iter().flatten() {
        fs::create_dir_all(directory).map_err(|error| {
            Failed::Local(format!("making {} failed: {error}", directory.display()))
        })?;
    }
    Ok(())
}

/// Writes the figures into the directories that are wanted.
pub(crate) fn write(page: &ReportPage<'_>, options: &FigureOptions) -> Result<(), Failed> {
    let (svg, png) = (options.svg.as_deref(), options.png.as_deref());
    if svg.is_none() && png.is_none() {
        return Ok(());
    }
    let painter = Painter::default();
    let width = options.figure_width.as_ref();
    let usual = FigureStyle::default();
    let style = FigureStyle {
        width: width.map_or(usual.width, |width| width.pixels),
        unit: width.map_or(usual.unit, |width| width.written.clone()),
        font: options.font.clone(),
        only: options.figure.clone(),
    };
    let names = scripts::draw(&page::figure_data(page), &style, |figure: Figure| {
        if let Some(directory) = svg {
            save(directory, &figure.name, "svg", figure.svg.as_bytes())?;
        }
        if let Some(directory) = png {
            save(directory, &figure.name, "png", &painter.png(&figure)?)?;
        }
        Ok::<(), Failed>(())
    })?;
    let is_there = |wanted: &str| names.iter().any(|name| scripts::is_called(name, wanted));
    let missing = options.figure.iter().find(|wanted| !is_there(wanted));
    if let Some(missing) = missing {
        return Err(Failed::Usage(format!(
            "no figure is called {missing}; there are {}",
            names.join(", ")
        )));
    }
    Ok(())
}

fn save(directory: &Path, name: &str, ending: &str, bytes: &[u8]) -> Result<(), Failed> {
    let path = directory.join(format!("{name}.{ending}"));
    fs::write(&path, bytes)
        .map_err(|error| Failed::Local(format!("writing {} failed: {error}", path.display())))
}

impl From<FigureError> for Failed {
    fn from(error: FigureError) -> Failed {
        Failed::Local(error.to_string())
    }
}
