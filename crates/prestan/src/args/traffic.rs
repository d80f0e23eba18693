//! The command line of `prestan traffic`, and options of background traffic. The comments on fields are what `--help`
//! prints.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use runner::background::{
    BackgroundRequest, RequestedTraffic, STABLE_PERCENT, SinkPlace, TrafficEnds,
};
use traffic::BitRate;

use super::{positive_duration, whole};

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

    /// Permit sources of this address or network (192.0.2.0/24), or of any; may be repeated [default: of
    /// this machine only]
    #[arg(long, value_name = "ADDRESS", value_parser = network)]
    pub(crate) allow: Vec<AllowedNetwork>,

    /// How long a source may be silent until it is regarded as dead; longer where flows congest their own way
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
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub(crate) stable: f64,

    /// Seed of the schedules [default: a random one, which is printed]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// How long a sink may be silent until it is regarded as dead; longer where flows congest their own way
    #[arg(long, value_name = "TIME", default_value = "1.5s", value_parser = positive_duration)]
    pub(crate) silence: Duration,

    /// Write the result as a JSON document; - is standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Where flows go.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct SinkOptions {
    /// Sink of background traffic (`prestan traffic sink`), as HOST:PORT, or NAME=HOST:PORT for the flows to
    /// one host of the traffic file; may be repeated, for each host and version of IP [default: a sink in this process, on loopback]
    #[arg(long, value_name = "[NAME=]HOST:PORT", value_parser = sink)]
    pub(crate) sink: Vec<SinkPlace>,

    /// Send only the flows of this host of the traffic file
    ///
    /// The flows of other hosts are sent there, by a `prestan traffic run` of the same file and seed.
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub(crate) from_host: Option<String>,
}

impl SinkOptions {
    pub(crate) fn ends(&self) -> TrafficEnds {
        TrafficEnds {
            sinks: self.sink.clone(),
            from_host: self.from_host.clone(),
        }
    }
}

/// Background traffic beside a run.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Background traffic")]
pub(crate) struct BackgroundArgs {
    /// Send the flows of a traffic file while measuring (docs/TRAFFIC.md):
    /// FILE[,load=NAME][,stable=PERCENT][,for=TIME]
    ///
    /// They start before the measurement, which waits until flows with constant rates are stable (within 5 %, or
    /// `stable`), and stop at its end. What the sinks see is in the record and in every report.
    #[arg(long, value_name = "FILE[,KEY=VALUE...]", value_parser = background)]
    pub(crate) background: Option<RequestedTraffic>,

    #[command(flatten)]
    pub(crate) ends: SinkOptions,

    /// File with the token that the sinks share [default: the variable PRESTAN_TRAFFIC_TOKEN]
    #[arg(long, value_name = "FILE", requires = "sink")]
    pub(crate) sink_token_file: Option<PathBuf>,
}

impl BackgroundArgs {
    pub(crate) fn request(&self) -> BackgroundRequest {
        BackgroundRequest {
            traffic: self.background.clone(),
            ends: self.ends.ends(),
            token_file: self.sink_token_file.clone(),
        }
    }
}

fn background(text: &str) -> Result<RequestedTraffic, String> {
    let mut parts = text.split(',');
    let file = parts.next().unwrap_or_default();
    if file.is_empty() {
        return Err(format!(
            "`{text}` does not begin with a traffic file; write load.yaml,load=busy for example"
        ));
    }
    let mut found = RequestedTraffic {
        file: file.into(),
        load: None,
        stable_percent: STABLE_PERCENT,
        duration: None,
    };
    for part in parts {
        match part.split_once('=') {
            Some(("load", name)) if !name.is_empty() => found.load = Some(name.to_owned()),
            Some(("stable", share)) => found.stable_percent = percent(share)?,
            Some(("for", time)) => found.duration = Some(positive_duration(time)?),
            _ => {
                return Err(format!(
                    "`{part}` is no option of background traffic; use load=NAME, stable=PERCENT or for=TIME"
                ));
            }
        }
    }
    Ok(found)
}

/// The most that a sink agrees to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MaxRate {
    Limited(BitRate),
    Unlimited,
}

/// Addresses from which sources may connect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AllowedNetwork {
    Any,
    /// An address, and how many of its first bits count.
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

fn sink(text: &str) -> Result<SinkPlace, String> {
    let (name, address) = match text.split_once('=') {
        Some((name, address)) => (Some(name.to_owned()), address),
        None => (None, text),
    };
    let is_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    if name.as_deref() == Some("") || !address.rsplit_once(':').is_some_and(is_port) {
        return Err(format!(
            "`{text}` is no sink; write 192.0.2.1:7000, or there=192.0.2.1:7000 for the flows to one host"
        ));
    }
    Ok(SinkPlace {
        name,
        address: address.to_owned(),
    })
}

/// Reads `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim);
    let number: Option<f64> = number.and_then(|number| number.parse().ok());
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .ok_or_else(|| format!("`{text}` is no share; write 5% (0.1% to 100%)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_have_an_address_and_may_have_a_name() {
        let named = sink("there=sink.example:7000").unwrap();
        assert_eq!(named.name.as_deref(), Some("there"));
        assert_eq!(named.address, "sink.example:7000");
        assert_eq!(sink("[::1]:7").unwrap().address, "[::1]:7");
        for wrong in ["", "host", ":7", "host:x", "=host:7", "host:70000"] {
            assert!(sink(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn background_traffic_is_a_file_with_a_few_keys() {
        let whole = background("a/load.yaml,load=busy,stable=20%,for=3h").unwrap();
        let expected = RequestedTraffic {
            file: "a/load.yaml".into(),
            load: Some("busy".to_owned()),
            stable_percent: 20.0,
            duration: Some(Duration::from_secs(3 * 3600)),
        };
        assert_eq!(whole, expected);
        assert_eq!(
            background("load.yaml").unwrap().stable_percent,
            STABLE_PERCENT
        );
        for wrong in [
            "",
            ",load=a",
            "a,load=",
            "a,stable=0%",
            "a,stable=5",
            "a,for=0s",
            "a,b",
        ] {
            assert!(background(wrong).is_err(), "{wrong}");
        }
    }

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
        assert_eq!(percent("5%"), Ok(5.0));
        assert!(percent("0%").is_err() && percent("5").is_err() && percent("NaN%").is_err());
    }
}
