//! Background traffic and its sinks as command-line options.

use std::str::FromStr;
use std::time::Duration;

use super::asked::RequestedTraffic;
use super::task::{STABLE_PERCENT, SinkPlace};

/// Parses `FILE[,load=NAME][,stable=PERCENT][,for=TIME]`.
impl FromStr for RequestedTraffic {
    type Err = String;

    fn from_str(text: &str) -> Result<RequestedTraffic, String> {
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
                Some(("stable", share)) => found.stable_percent = stable_percent(share)?,
                Some(("for", time)) => found.duration = Some(time_of(time)?),
                _ => {
                    return Err(format!(
                        "`{part}` is no option of background traffic; use load=NAME, stable=PERCENT or for=TIME"
                    ));
                }
            }
        }
        Ok(found)
    }
}

/// Parses `[NAME=]HOST:PORT`.
impl FromStr for SinkPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<SinkPlace, String> {
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
}

/// Parses the largest deviation of a stable load from its mean: `5%`.
pub fn stable_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim);
    let number: Option<f64> = number.and_then(|number| number.parse().ok());
    number
        .filter(|percent| (0.1..=100.0).contains(percent))
        .ok_or_else(|| format!("`{text}` is no share; write 5% (0.1% to 100%)"))
}

fn time_of(text: &str) -> Result<Duration, String> {
    match suite::parse_duration(text)? {
        Duration::ZERO => Err("it must be more than 0".to_owned()),
        time => Ok(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_have_an_address_and_may_have_a_name() {
        let named = SinkPlace::from_str("there=sink.example:7000").unwrap();
        assert_eq!(named.name.as_deref(), Some("there"));
        assert_eq!(named.address, "sink.example:7000");
        assert_eq!(SinkPlace::from_str("[::1]:7").unwrap().address, "[::1]:7");
        for wrong in ["", "host", ":7", "host:x", "=host:7", "host:70000"] {
            assert!(SinkPlace::from_str(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn background_traffic_is_a_file_with_a_few_keys() {
        let whole = RequestedTraffic::from_str("a/load.yaml,load=busy,stable=20%,for=3h").unwrap();
        let expected = RequestedTraffic {
            file: "a/load.yaml".into(),
            load: Some("busy".to_owned()),
            stable_percent: 20.0,
            duration: Some(Duration::from_secs(3 * 3600)),
        };
        assert_eq!(whole, expected);
        assert_eq!(
            RequestedTraffic::from_str("load.yaml")
                .unwrap()
                .stable_percent,
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
            assert!(RequestedTraffic::from_str(wrong).is_err(), "{wrong}");
        }
        assert_eq!(stable_percent("5%"), Ok(5.0));
        for wrong in ["0%", "5", "NaN%"] {
            assert!(stable_percent(wrong).is_err(), "{wrong}");
        }
    }
}
