//! Destinations of pages and figures, and the drawing of figures in files.

mod picture;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use figures::FileStyle;
use report::page::{self, FigureKind, PageDocument, ReportPage};
use runner::RunnerError;

use crate::document_file;
use crate::output::print_message;

/// Destination of a page.
#[derive(Debug, Clone)]
pub enum PagePlace {
    /// One file.
    File(PathBuf),
    /// One file each, in the order of [`PageDocument::files`].
    Directory {
        /// Where it is.
        directory: PathBuf,
        /// Page, style and script.
        files: [PathBuf; 3],
    },
}

impl From<OsString> for PagePlace {
    fn from(place: OsString) -> PagePlace {
        let directory = PathBuf::from(&place);
        if !place.as_encoded_bytes().ends_with(b"/") && !directory.is_dir() {
            return PagePlace::File(directory);
        }
        let files = PageDocument::FILES.map(|name| directory.join(name));
        PagePlace::Directory { directory, files }
    }
}

impl PagePlace {
    /// Files to write.
    pub fn files(&self) -> &[PathBuf] {
        match self {
            PagePlace::File(file) => std::slice::from_ref(file),
            PagePlace::Directory { files, .. } => files,
        }
    }

    /// Content of each file.
    pub fn documents(&self, page: &PageDocument) -> Vec<(&Path, String)> {
        match self {
            PagePlace::File(file) => vec![(file.as_path(), page.whole())],
            PagePlace::Directory { files, .. } => files
                .iter()
                .map(PathBuf::as_path)
                .zip(page.files())
                .collect(),
        }
    }
}

/// Requested pages and figures.
#[derive(Debug, Clone, Default)]
pub struct FigureRequest {
    /// The page.
    pub html: Option<PagePlace>,
    /// Directory for figures as SVG.
    pub svg: Option<PathBuf>,
    /// Directory for figures as PNG.
    pub png: Option<PathBuf>,
    /// Names of figures, or beginnings of their names; all without any.
    pub names: Vec<String>,
    /// Width.
    pub width: Option<FigureWidth>,
    /// Font.
    pub font: Option<String>,
}

impl FigureRequest {
    /// A page or figures are requested.
    pub fn any(&self) -> bool {
        self.html.is_some() || self.svg.is_some() || self.png.is_some()
    }

    /// Options about figures in files are given, and no files are requested.
    fn is_without_files(&self) -> bool {
        let is_styled = !self.names.is_empty() || self.width.is_some() || self.font.is_some();
        is_styled && self.svg.is_none() && self.png.is_none()
    }
}

/// Refuses a name that no figure of any command has, before anything is measured.
pub fn figure_name(text: &str) -> Result<String, String> {
    let (kind, rest) = text
        .split_once('-')
        .map_or((text, None), |(kind, rest)| (kind, Some(rest)));
    let is_kind = |known: &str| match rest {
        Some(_) => known == kind,
        None => !kind.is_empty() && known.starts_with(kind),
    };
    let kinds = FigureKind::ALL.map(FigureKind::name);
    if kinds.into_iter().any(is_kind) {
        Ok(text.to_owned())
    } else {
        Err(format!("names of figures begin with {}", kinds.join(", ")))
    }
}

/// Width of figures.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureWidth {
    /// In units of 1/96 inch.
    pub pixels: u32,
    /// Text of the option.
    pub written: String,
}

/// A figure outside of this range cannot be read or drawn.
const WIDTHS: RangeInclusive<f64> = 200.0..=4000.0;

/// Parses `85mm`, `3.3in`, `600px` or `600`.
pub fn figure_width(text: &str) -> Result<FigureWidth, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let scale = match unit {
        "" | "px" => 1.0,
        "mm" => 96.0 / 25.4,
        "cm" => 96.0 / 2.54,
        "in" => 96.0,
        _ => return Err("write a width as 85mm, 8.5cm, 3.3in or 600px".to_owned()),
    };
    let pixels = number.parse::<f64>().map_err(|error| error.to_string())? * scale;
    if !WIDTHS.contains(&pixels) {
        return Err("figures are from 53mm (200px) to 1058mm (4000px) wide; a number without a unit is in px".to_owned());
    }
    Ok(FigureWidth {
        pixels: pixels.round() as u32,
        written: text.to_owned(),
    })
}

/// Parses the name of a font, which must not end an attribute of an SVG.
pub fn font(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_alphanumeric() || " -_,'".contains(c);
    if !text.is_empty() && text.chars().all(is_name) {
        Ok(text.to_owned())
    } else {
        Err("a font is a name: 'Times New Roman'".to_owned())
    }
}

/// The files of the page, if requested, with their contents.
pub fn documents<'a>(page: &ReportPage<'_>, options: &'a FigureRequest) -> Vec<(&'a Path, String)> {
    let place = options.html.as_ref();
    place.map_or(Vec::new(), |place| {
        place.documents(&page::document_of(page))
    })
}

/// Makes the requested directories, and refuses options for files if there are none.
pub(crate) fn make_directories(options: &FigureRequest) -> Result<(), RunnerError> {
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

/// Makes a directory and its parents.
pub fn make_directory(directory: &Path) -> Result<(), RunnerError> {
    fs::create_dir_all(directory).map_err(|error| {
        RunnerError::Local(format!("making {} failed: {error}", directory.display()))
    })
}

/// Writes the figures into the requested directories. A figure that does not exist is no failure: a
/// run has no distribution of times if nothing was measured, and reports the reason.
pub fn write(page: &ReportPage<'_>, options: &FigureRequest) -> Result<(), RunnerError> {
    let (svg, png) = (options.svg.as_deref(), options.png.as_deref());
    if svg.is_none() && png.is_none() {
        return Ok(());
    }
    let width = options.width.as_ref();
    let usual = FileStyle::default();
    let style = FileStyle {
        width: width.map_or(usual.width, |width| width.pixels),
        unit: width.map_or(usual.unit, |width| width.written.clone()),
        font: options.font.clone(),
    };
    let all = page::figures_of(page);
    let measured = page::measured_of(page);
    let is_wanted = |name: &str| {
        let mut wanted = options.names.iter();
        options.names.is_empty() || wanted.any(|wanted| is_called(name, wanted))
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
        let letters: Vec<String> = undrawn.iter().map(char::to_string).collect();
        print_message(&format!(
            "prestan: the font of PNG files has no {}: these letters are missing in the pictures; --svg has them",
            letters.join(" ")
        ));
    }
    let is_there = |wanted: &str| all.iter().any(|figure| is_called(&figure.id, wanted));
    let missing = options.names.iter().filter(|wanted| !is_there(wanted));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if !missing.is_empty() {
        let names: Vec<&str> = all.iter().map(|figure| figure.id.as_str()).collect();
        let there = match &names[..] {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        print_message(&format!(
            "prestan: no figure is called {}, so no file has it; there are {there}",
            missing.join(" or ")
        ));
    }
    Ok(())
}

/// True if a figure is requested: by its name, by some of its words (`bars-single` for
/// `bars-single-log`), or by the beginning of the first (`hist`).
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
    use super::*;

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

    #[test]
    fn a_figure_has_a_kind() {
        for right in ["ecdf", "hist", "bars-single-log"] {
            assert!(figure_name(right).is_ok(), "{right}");
        }
        for wrong in ["", "violin", "ecdfs", "Forest"] {
            assert!(figure_name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn widths_are_lengths() {
        let pixels = |text| figure_width(text).map(|width| width.pixels);
        assert_eq!(pixels("85mm"), Ok(321));
        assert_eq!(pixels("8.5cm"), Ok(321));
        assert_eq!(pixels("3.5in"), Ok(336));
        assert_eq!(pixels("600px"), Ok(600));
        assert_eq!(pixels("600"), Ok(600));
        for wrong in [
            "", "mm", "85 m", "1mm", "9999px", "-85mm", "8.5.1cm", "85MM",
        ] {
            assert!(pixels(wrong).is_err(), "{wrong}");
        }
        assert!(font("Times New Roman").is_ok());
        for wrong in ["", "a;b", "\"", "a<b"] {
            assert!(font(wrong).is_err(), "{wrong}");
        }
    }
}
