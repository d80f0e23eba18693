//! The options for pages and figures. The comments on its fields are what `--help` prints.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use report::page::{FigureKind, PageDocument};

/// Where a page is to be written.
#[derive(Debug, Clone)]
pub(crate) enum PagePlace {
    /// As one file.
    File(PathBuf),
    /// With its style and its script into a directory: where each of them goes, in the order of
    /// [`PageDocument::files`].
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The files.
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
    /// All files that are written.
    pub(crate) fn files(&self) -> &[PathBuf] {
        match self {
            PagePlace::File(file) => std::slice::from_ref(file),
            PagePlace::Directory { files, .. } => files,
        }
    }

    /// What is written to each of them.
    pub(crate) fn documents(&self, page: &PageDocument) -> Vec<(&Path, String)> {
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

/// Things to look at.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FigureOptions {
    /// Write an HTML page with figures and tables; - is standard output
    ///
    /// The page is one self-contained file. For a directory (DIR/, or one that is there already), index.html, style.css
    /// and script.js are written into it, which web servers that forbid style and script inside of pages can show.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PagePlace>,

    /// Write each figure as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Write each figure as a PNG file into this directory; needs a program built with the feature png
    #[arg(long, value_name = "DIR")]
    pub(crate) png: Option<PathBuf>,

    /// With --svg and --png: only this figure, by name or the beginning of its name; may be repeated
    ///
    /// Names are those of the files: bars-single-log, histogram-Put1K, ecdf, timeline, throughput,
    /// percentiles, status, pages, matrix, forest, sweep, search.
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = figure_name)]
    pub(crate) figure: Vec<String>,

    /// With --svg and --png: width of figures, 85mm, 3.3in or 760px [default: 760px]
    #[arg(long, value_name = "WIDTH", value_parser = figure_width)]
    pub(crate) figure_width: Option<FigureWidth>,

    /// With --svg: font of figures
    #[arg(long, value_name = "FONT", value_parser = font)]
    pub(crate) font: Option<String>,
}

/// Refuses a name that no figure of any command has, before anything is measured for it.
fn figure_name(text: &str) -> Result<String, String> {
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

/// How wide figures are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FigureWidth {
    /// Of 1/96 inch.
    pub(crate) pixels: u32,
    /// As it was written.
    pub(crate) written: String,
}

/// Narrower or wider than this, a figure cannot be read or drawn.
const WIDTHS: std::ops::RangeInclusive<f64> = 200.0..=4000.0;

/// Reads `85mm`, `3.3in`, `600px` or `600`.
fn figure_width(text: &str) -> Result<FigureWidth, String> {
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

/// The name of a font ends no attribute of an SVG.
fn font(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_alphanumeric() || " -_,'".contains(c);
    if !text.is_empty() && text.chars().all(is_name) {
        Ok(text.to_owned())
    } else {
        Err("a font is a name: 'Times New Roman'".to_owned())
    }
}

impl FigureOptions {
    /// Something is said of figures in files, and there are none.
    pub(crate) fn is_without_files(&self) -> bool {
        let is_styled =
            !self.figure.is_empty() || self.figure_width.is_some() || self.font.is_some();
        is_styled && self.svg.is_none() && self.png.is_none()
    }

    /// Something is to be drawn.
    pub(crate) fn any(&self) -> bool {
        self.html.is_some() || self.svg.is_some() || self.png.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
