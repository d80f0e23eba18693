//! Options of pages and figures. The comments on fields are the texts of `--help`.

use std::path::PathBuf;

use clap::Args;
use terminal::figure_files::{
    FigureRequest, FigureWidth, PagePlace, figure_name, figure_width, font,
};

/// Pages and figures.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FigureOptions {
    /// Write an HTML page with figures and tables; - is standard output
    ///
    /// The page is one self-contained file. For a directory (DIR/, or one that is there already),
    /// index.html, style.css and script.js are written into it, which web servers that forbid style
    /// and script inside of pages can show.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PagePlace>,

    /// Write each figure as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Write each figure as a PNG file into this directory; needs a program built with the feature
    /// png
    #[arg(long, value_name = "DIR")]
    pub(crate) png: Option<PathBuf>,

    /// With --svg and --png: only this figure, by name or the beginning of its name; may be
    /// repeated
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

impl FigureOptions {
    pub(crate) fn request(&self) -> FigureRequest {
        FigureRequest {
            html: self.html.clone(),
            svg: self.svg.clone(),
            png: self.png.clone(),
            names: self.figure.clone(),
            width: self.figure_width.clone(),
            font: self.font.clone(),
        }
    }
}
