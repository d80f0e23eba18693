//! The command line of `prestan traffic`. The comments on fields are the texts of `--help`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use runner::background::stable_percent;
use traffic::BitRate;

use crate::args::{SinkOptions, positive_duration, whole};

#[derive(Debug, Args)]
pub(crate) struct TrafficArgs {
    #[command(subcommand)]
    pub(crate) action: TrafficAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrafficAction {
    /// Check a traffic file, and print the flows of its loads with their planned rates
    Check {
        /// Traffic file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Receive background traffic until Ctrl-C, and count what arrives
    ///
    /// A sink agrees only with sources that share its token, within these limits. Anybody else is
    /// refused before anything is sent.
    Sink(TrafficSinkArgs),
    /// Send the flows of a traffic file to sinks, and print what the sinks see
    ///
    /// Without --sink, both ends are in this process, on loopback.
    Run(TrafficRunArgs),
    /// Print the JSON schema of traffic files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct TrafficSinkArgs {
    /// Address and port at which sources ask; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,

    /// File with the token that sources must share (16 bytes or more) [default: the variable
    /// PRESTAN_TRAFFIC_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The most that all flows together may send: 100mbit, 1gbit; none permits flows without a rate
    #[arg(long, value_name = "RATE", default_value = "1gbit", value_parser = most_rate)]
    pub(crate) max_rate: MaxRate,

    /// Most flows at a time
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole(1..=10_000_u32))]
    pub(crate) max_flows: u32,

    /// The longest that a flow may last
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = positive_duration)]
    pub(crate) max_time: Duration,

    /// Permit sources of this address or network (192.0.2.0/24), or of any; may be repeated
    /// [default: of this machine only]
    #[arg(long, value_name = "ADDRESS", value_parser = network)]
    pub(crate) allow: Vec<AllowedNetwork>,

    /// How long a source may be silent until it is regarded as dead; longer where flows congest
    /// their own way
    #[arg(long, value_name = "TIME", default_value = "1.5s", value_parser = positive_duration)]
    pub(crate) silence: Duration,

    /// Print JSON lines instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrafficRunArgs {
    /// Traffic file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Load of the file [default: its only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) load: Option<String>,

    #[command(flatten)]
    pub(crate) ends: SinkOptions,

    /// File with the token that the sinks share [default: the variable PRESTAN_TRAFFIC_TOKEN]
    #[arg(long, value_name = "FILE", requires = "sink")]
    pub(crate) token_file: Option<PathBuf>,

    /// How long to send [default: as long as the load lasts, or until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub(crate) duration: Option<Duration>,

    /// How far from its mean each of three seconds may be for a load of constant rates to be stable
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = stable_percent)]
    pub(crate) stable: f64,

    /// Seed of the schedules [default: a random one, which is printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// How long a sink may be silent until it is regarded as dead; longer where flows congest their
    /// own way
    #[arg(long, value_name = "TIME", default_value = "1.5s", value_parser = positive_duration)]
    pub(crate) silence: Duration,

    /// Write the result as a JSON document; - is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Largest total rate that a sink accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MaxRate {
    Limited(BitRate),
    Unlimited,
}

/// Addresses from which sources may connect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AllowedNetwork {
    Any,
    /// An address, and the number of its first bits that count.
    Network(IpAddr, u8),
}

fn most_rate(text: &str) -> Result<MaxRate, String> {
    match text {
        "none" => Ok(MaxRate::Unlimited),
        rate => rate.parse().map(MaxRate::Limited),
    }
}

fn network(text: &str) -> Result<AllowedNetwork, String> {
    if text == "any" {
        return Ok(AllowedNetwork::Any);
    }
    let help =
        || format!("`{text}` is no address; write 192.0.2.1, 192.0.2.0/24, 2001:db8::/32 or any");
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| help())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| help()))?;
    if bits > most {
        return Err(help());
    }
    Ok(AllowedNetwork::Network(address, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_addresses_with_a_number_of_bits() {
        let of = |text: &str| network(text).ok();
        let address = "192.0.2.0".parse().unwrap();
        assert_eq!(
            of("192.0.2.0/24"),
            Some(AllowedNetwork::Network(address, 24))
        );
        assert_eq!(of("192.0.2.0"), Some(AllowedNetwork::Network(address, 32)));
        assert_eq!(of("any"), Some(AllowedNetwork::Any));
        for wrong in [
            "",
            "192.0.2.0/33",
            "::1/129",
            "host",
            "192.0.2.0/-1",
            "1/2/3",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
