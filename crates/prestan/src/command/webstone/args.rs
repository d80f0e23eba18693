//! The command line of `prestan webstone`. The comments on fields are the texts of `--help`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::args::{
    LabOptions, MeasuringOptions, OutputOptions, PipelineOptions, RunningOptions, ServerOptions,
    WritesOptions, duration, positive_duration, whole,
};

/// Most children of a run.
const MOST: u32 = 100_000;

/// Numbers of children in order; at least one, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Children(pub(crate) Vec<u32>);

/// Parses `24`, `1..64` (1, 2, 4 ... 64) or `1,6,24`.
fn children(text: &str) -> Result<Children, String> {
    let number = |text: &str| match text.trim().parse() {
        Ok(number @ 1..=MOST) => Ok(number),
        _ => Err(format!(
            "`{text}` is not a number of children from 1 to {MOST}"
        )),
    };
    if let Some((from, to)) = text.split_once("..") {
        let (from, to) = (number(from)?, number(to)?);
        if from >= to {
            return Err(format!("{from} is not less than {to}"));
        }
        let doubled = std::iter::successors(Some(from), |number| number.checked_mul(2));
        return Ok(Children(
            doubled
                .take_while(|number| *number < to)
                .chain([to])
                .collect(),
        ));
    }
    let mut numbers = text
        .split(',')
        .map(number)
        .collect::<Result<Vec<u32>, _>>()?;
    numbers.sort_unstable();
    match numbers.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(format!("{} is given twice", twice[0])),
        None => Ok(Children(numbers)),
    }
}

#[derive(Debug, Args)]
#[command(
    override_usage = "prestan webstone [OPTIONS] [MIX|FILELIST] <URL>...\n       \
                            prestan webstone [OPTIONS] --page <FILES> <URL>...\n       \
                            prestan webstone [OPTIONS] --server <NAME> [MIX|FILELIST]"
)]
pub(crate) struct WebstoneArgs {
    /// Mix (general-modem, general, media-rich, general-and-media-rich, webstone-1995) or file list
    /// [default: general], and the servers, among which the children are divided
    #[arg(value_name = "MIX|FILELIST|URL")]
    pub(crate) things: Vec<String>,

    #[command(flatten)]
    pub(crate) server: ServerOptions,

    #[command(flatten)]
    pub(crate) pages: PagesOptions,

    #[command(flatten)]
    pub(crate) load: ChildrenOptions,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) output: OutputOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Pages")]
pub(crate) struct PagesOptions {
    /// Page to fetch, instead of those of a list; may be repeated:
    /// [WEIGHT:]FILE[=SIZE][,FILE[=SIZE]...]
    #[arg(long = "page", value_name = "FILES")]
    pub(crate) pages: Vec<String>,

    /// First PUT the files to the server, into a collection of the run, which is removed at the end
    #[arg(long)]
    pub(crate) prepare: bool,

    /// Write the files into this directory, for a server without PUT, and exit
    #[arg(long, value_name = "DIR", conflicts_with = "prepare")]
    pub(crate) generate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) writes: WritesOptions,

    /// Print the pages as a suite, for use with other commands, and exit
    #[arg(long, conflicts_with_all = ["prepare", "generate"])]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct ChildrenOptions {
    /// Concurrent children, over all servers; several numbers (1..64, doubling, or 1,6,24) give the
    /// load curve
    #[arg(short = 'c', long, visible_aliases = ["users", "concurrency"], value_name = "N|N..M|N,M",
          default_value = "1", value_parser = children)]
    pub(crate) children: Children,

    /// Length of the measurement window [default: 1m]
    #[arg(long, value_name = "TIME", conflicts_with = "repeat", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// Fetch every page N times per child, in the order of the list, instead of choosing pages by
    /// weight for a time
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000_u64))]
    pub(crate) repeat: Option<u64>,

    /// Time for which children fetch pages before measuring [default: one page each]
    #[arg(long = "warmup-time", alias = "warmup", value_name = "TIME", value_parser = duration)]
    pub(crate) warmup: Option<Duration>,

    /// As in 1995: HTTP/1.0, and a connection for each file
    #[arg(long, conflicts_with = "pipeline")]
    pub(crate) classic: bool,

    /// Connections of each child: the first file of a page alone, then this many files at a time,
    /// as in browsers
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "pipeline",
          value_parser = whole(1..=64_u32))]
    pub(crate) parallel: u32,

    #[command(flatten)]
    pub(crate) pipeline: PipelineOptions,

    #[command(flatten)]
    pub(crate) running: RunningOptions,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_children() {
        let read = |text| children(text).map(|children| children.0);
        assert_eq!(read("24"), Ok(vec![24]));
        assert_eq!(read("1..64"), Ok(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(read("3..20"), Ok(vec![3, 6, 12, 20]));
        assert_eq!(read("24, 1,6"), Ok(vec![1, 6, 24]));
        for wrong in ["0", "x", "4..4", "8..2", "1,1", "1..", "..3", "100001", ""] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
