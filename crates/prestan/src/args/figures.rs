//! The options for pages and figures. The comments on its fields are what `--help` prints.

use std::path::PathBuf;

use clap::Args;

/// Things to look at.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FigureOptions {
    /// Write an HTML page with figures and tables; - is standard output
    ///
    /// The page is one self-contained file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write each figure as an SVG file into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,

    /// Write each figure as a PNG file into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) png: Option<PathBuf>,
}

impl FigureOptions {
    /// Something is to be drawn.
    pub(crate) fn any(&self) -> bool {
        self.html.is_some() || self.svg.is_some() || self.png.is_some()
    }
}
