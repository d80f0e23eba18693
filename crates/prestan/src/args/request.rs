//! Options of one repeated request. The comments on fields are the texts of `--help`.

use std::path::PathBuf;

use clap::Args;
use runner::load::LoadRequest;

use super::{VerifyOptions, WritesOptions, size};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestOptions {
    /// Send the requests to the URLs in this file in turn, one per line; all must be on one server
    ///
    /// A line may be a path, or a template like URL. Paths are relative to URL. Empty lines and
    /// lines that begin with # are skipped. All URLs together have one row in the report.
    #[arg(long, value_name = "FILE", conflicts_with = "mix")]
    pub(crate) urls: Option<PathBuf>,

    /// Repeat the loops of this suite instead of METHOD, with set-up and clean-up
    #[arg(long, value_name = "SUITE")]
    pub(crate) mix: Option<String>,

    /// Depth header: 0, 1 or infinity
    #[arg(long, value_name = "DEPTH", value_parser = ["0", "1", "infinity"])]
    pub(crate) depth: Option<String>,

    /// Body, or @ and the name of a file that holds it
    #[arg(long, value_name = "TEXT|@FILE", conflicts_with_all = ["body_file", "body_size"])]
    pub(crate) body: Option<String>,

    /// Body, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "body_size")]
    pub(crate) body_file: Option<PathBuf>,

    /// Body of this size (1KiB, 10MB) of text
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) body_size: Option<u64>,

    /// Expected status: 200 or 2xx; may be repeated [default: 2xx, 207 for PROPFIND]
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub(crate) expect: Vec<suite::StatusTest>,

    #[command(flatten)]
    pub(crate) verify: VerifyOptions,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,
}

impl RequestOptions {
    pub(crate) fn request(&self) -> LoadRequest {
        LoadRequest {
            urls: self.urls.clone(),
            mix: self.mix.clone(),
            depth: self.depth.clone(),
            body: self.body.clone(),
            body_file: self.body_file.clone(),
            body_size: self.body_size,
            expect: self.expect.clone(),
            verify: self.verify.verify,
            writes: self.writes.writes,
        }
    }
}

/// Parses `200` or `2xx`.
fn status(text: &str) -> Result<suite::StatusTest, String> {
    let help = || "write a status (200) or a class of statuses (2xx)".to_owned();
    match text.strip_suffix("xx") {
        Some(class) => match class.parse() {
            Ok(class @ 2..=5) => Ok(suite::StatusTest::Class(class)),
            _ => Err(help()),
        },
        None => match text.parse() {
            Ok(code @ 200..=599) => Ok(suite::StatusTest::Exactly(code)),
            _ => Err(help()),
        },
    }
}
