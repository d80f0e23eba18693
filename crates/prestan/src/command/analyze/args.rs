//! The command line of `prestan analyze`. The comments on fields are the texts of `--help`.

use std::path::PathBuf;

use clap::Args;
use report::FormulaName;
use trace::rto::{RtoFormula, RtoWeights};

use terminal::figure_files::PagePlace;
use terminal::screen::ColorChoice;

use crate::args::choices::{COLOR, choice};
use crate::args::duration;

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    /// Capture file of any program, pcap or pcapng; - is standard input [default: the packets in
    /// the record of --run]
    #[arg(value_name = "FILE", required_unless_present = "run")]
    pub(crate) file: Option<PathBuf>,

    /// Analyse only the connections with this server
    ///
    /// Where a capture does not have the beginning of a connection, the end with the higher port is
    /// taken for the client, unless this option names the server.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: Option<String>,

    /// Retransmission timeouts that other settings would have had
    ///
    /// Without a value: the study of Loukili (2012), nine pairs of weights with one, some and all
    /// round trips of each window. With a value, one setting:
    /// alpha=1/8,beta=1/4,k=4,g=250us,min=0.2 (what is left out is as in RFC 6298, without a
    /// minimum).
    #[arg(long, value_name = "SETTING", num_args = 0..=1, require_equals = true,
          default_missing_value = "W1-W9", value_parser = formula)]
    pub(crate) rto: Option<FormulaName>,

    /// Compare the response times of a recorded run with those in the capture
    ///
    /// Operations and exchanges are joined by the number in X-Prestan.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: AnalysisOutput,
}

/// Formats and destinations of the analysis.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct AnalysisOutput {
    /// Write the report to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the result as a JSON document; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write one CSV row per request; - is standard output, instead of the report
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write a page with time-sequence graphs, round trips, throughput and flight size; for DIR/,
    /// with style and script beside it
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PagePlace>,

    /// When to use colours
    #[arg(long, value_parser = choice(COLOR), default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
}

/// Parses `W1-W9`, or `alpha=1/8,beta=1/4,k=4,g=250us,min=0.2`.
fn formula(text: &str) -> Result<FormulaName, String> {
    if text == "W1-W9" {
        return Ok(FormulaName::Paper);
    }
    let mut formula = RtoFormula::paper(RtoWeights {
        alpha: 1.0 / 8.0,
        beta: 1.0 / 4.0,
    });
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(help)?;
        let weight = || number(value).filter(|value| (0.0..=1.0).contains(value));
        let nanos = || duration(value).ok().map(|time| time.as_nanos() as f64);
        let (field, value) = match name.trim() {
            "alpha" => (&mut formula.weights.alpha, weight()),
            "beta" => (&mut formula.weights.beta, weight()),
            "k" => (&mut formula.factor, number(value)),
            "g" => (&mut formula.granularity_ns, nanos()),
            "min" => (&mut formula.minimum_ns, nanos()),
            _ => return Err(help()),
        };
        *field = value.ok_or_else(help)?;
    }
    Ok(FormulaName::One(formula))
}

/// A number, or a fraction.
fn number(text: &str) -> Option<f64> {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let [above, below]: [Option<f64>; 2] = [above, below].map(|part| part.trim().parse().ok());
    let value = above? / below?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

fn help() -> String {
    "write alpha=1/8,beta=1/4,k=4,g=250us,min=0.2; weights are between 0 and 1".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_timeouts() {
        let read = |text: &str| formula(text);
        assert_eq!(read("W1-W9"), Ok(FormulaName::Paper));
        let Ok(FormulaName::One(one)) = read("alpha=3/16,beta=0.5,k=2,g=1ms,min=0.2") else {
            panic!("a setting");
        };
        let RtoWeights { alpha, beta } = one.weights;
        assert_eq!((alpha, beta, one.factor), (0.1875, 0.5, 2.0));
        assert_eq!((one.granularity_ns, one.minimum_ns), (1e6, 2e8));
        let Ok(FormulaName::One(usual)) = read("min=1s") else {
            panic!("a setting");
        };
        assert_eq!((usual.weights.alpha, usual.minimum_ns), (0.125, 1e9));
        for wrong in [
            "",
            "alpha",
            "alpha=2",
            "alpha=1/0",
            "alpha=-1",
            "beta=NaN",
            "k=x",
            "min=1 parsec",
            "z=1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
