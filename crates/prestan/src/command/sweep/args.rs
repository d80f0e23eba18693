//! The command line of `prestan sweep`. The comments on fields are the texts of `--help`.

use clap::Args;
use report::Design;

use crate::args::choices::{DESIGN, choice};
use crate::args::{
    FailIfOptions, FlameOptions, LabOptions, LoadOptions, MeasuringOptions, ResultOptions,
    RunsOptions, ServersOptions, StartOptions, SuiteOptions, share, whole,
};

#[derive(Debug, Args)]
#[command(
    override_usage = "prestan sweep [OPTIONS] --vary <NAME=VALUES>... <URL>...\n       \
                            prestan sweep [OPTIONS] --vary <NAME=VALUES>... --server <NAME>..."
)]
pub(crate) struct SweepArgs {
    /// Collections to measure in: of one server, or of several
    #[arg(value_name = "URL", required_unless_present_any = ["server", "start"], conflicts_with_all = ["server", "start"])]
    pub(crate) urls: Vec<String>,

    #[command(flatten)]
    pub(crate) servers: ServersOptions,

    #[command(flatten)]
    pub(crate) start: StartOptions,

    #[command(flatten)]
    pub(crate) plan: SweepOptions,

    #[command(flatten)]
    pub(crate) load: LoadOptions,

    #[command(flatten)]
    pub(crate) how: MeasuringOptions,

    #[command(flatten)]
    pub(crate) flame: FlameOptions,

    #[command(flatten)]
    pub(crate) result: ResultOptions,

    #[command(flatten)]
    pub(crate) condition: FailIfOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Sweep")]
pub(crate) struct SweepOptions {
    /// Parameter to vary, and its values: width=10,30,100,300; may be repeated
    ///
    /// A parameter of the suite, users, or rate in requests per second (with --mix).
    #[arg(long, value_name = "NAME=VALUES", required = true, value_parser = vary)]
    pub(crate) vary: Vec<Vary>,

    /// Combinations of values to measure
    #[arg(long, value_parser = choice(DESIGN), default_value = "grid", value_name = "DESIGN")]
    pub(crate) design: Design,

    /// Number of runs of each combination
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = whole(2..=100_u32))]
    pub(crate) repeat: u32,

    /// Largest effect that counts as none
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    pub(crate) same_within: f64,

    #[command(flatten)]
    pub(crate) suite: SuiteOptions,

    /// Repeat the loops of the suite as a load, at full speed or at a rate, with set-up and
    /// clean-up
    #[arg(long, requires = "duration")]
    pub(crate) mix: bool,
}

/// A parameter with its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vary {
    pub(crate) name: String,
    /// In ascending order: as a number, and as written.
    pub(crate) values: Vec<(f64, String)>,
}

/// Parses `width=10,30,100` or `size=1KiB,1MiB`.
fn vary(text: &str) -> Result<Vary, String> {
    let help = "write a parameter and its values, width=10,30,100 for example";
    let (name, values) = text.split_once('=').ok_or(help)?;
    let value = |written: &str| {
        let written = written.trim();
        let number = written
            .parse::<f64>()
            .ok()
            .filter(|number| *number >= 0.0 && number.is_finite());
        match number.or_else(|| suite::parse_size(written).ok().map(|bytes| bytes as f64)) {
            Some(number) => Ok((number, written.to_owned())),
            None => Err(format!("`{written}` is neither a number nor a size")),
        }
    };
    let mut values: Vec<(f64, String)> = values
        .split(',')
        .map(value)
        .collect::<Result<_, String>>()?;
    values.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    if values.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("a value is given twice".to_owned());
    }
    if values.len() < 2 {
        return Err("give at least two values, and three or more to fit a law".to_owned());
    }
    let name = match name.trim() {
        "concurrency" => "users",
        name => name,
    };
    Ok(Vary {
        name: name.to_owned(),
        values,
    })
}
