//! Loads beside a run, on the command line.

use clap::Args;
use runner::beside::BesideRequest;

/// Loads beside a run.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Beside")]
pub(crate) struct BesideOptions {
    /// Repeat the loops of this suite while the other one is measured:
    /// SUITE[,name=NAME][,users=N][,rate=R][,only=TEST]
    ///
    /// Its users start before the measurement, continue until its end, and clean up. They form a
    /// closed loop, or with rate an open loop (operations per second, Poisson arrivals). May be
    /// repeated. Each load is recorded and reported under its name (default: the name of the
    /// suite).
    #[arg(long, value_name = "SUITE[,KEY=VALUE...]", value_parser = beside)]
    pub(crate) beside: Vec<BesideRequest>,

    /// Do the tests of the suite at the same time instead of one after another
    ///
    /// The first one is measured as usual. Each of the others is repeated beside it, as --beside
    /// does, with as many users, and reported under its name.
    #[arg(long, conflicts_with = "beside")]
    pub(crate) compete: bool,
}

/// Most users of a load.
const MOST_USERS: u32 = 100_000;

fn beside(text: &str) -> Result<BesideRequest, String> {
    let mut parts = text.split(',');
    let mut found = BesideRequest {
        suite: parts.next().unwrap_or_default().to_owned(),
        name: None,
        users: None,
        rate: None,
        only: Vec::new(),
    };
    if found.suite.is_empty() {
        return Err(format!(
            "`{text}` does not begin with a suite; write listing,users=8 for example"
        ));
    }
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key {
            "name" if engine::is_run_id(value) => found.name = Some(value.to_owned()),
            "name" => {
                return Err(format!(
                    "name={value}: use up to 64 letters, digits, - and _"
                ));
            }
            "users" => {
                let users = value
                    .parse()
                    .ok()
                    .filter(|users| (1..=MOST_USERS).contains(users));
                let what = || format!("users={value}: write a number from 1 to {MOST_USERS}");
                found.users = Some(users.ok_or_else(what)?);
            }
            "only" if !value.is_empty() => found.only.push(value.to_owned()),
            "rate" => {
                let rate: Option<f64> = value.trim_end_matches("/s").parse().ok();
                let rate = rate.filter(|rate| *rate > 0.0 && rate.is_finite());
                let what = || format!("rate={value}: write operations per second, 50 for example");
                found.rate = Some(rate.ok_or_else(what)?);
            }
            _ => {
                return Err(format!(
                    "`{part}` is no option of a load; use name=NAME, users=N, rate=R or only=TEST"
                ));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_beside_a_run_is_a_suite_with_a_few_keys() {
        let whole = beside("listing,name=readers,users=8,rate=50/s,only=A,only=B*").unwrap();
        let expected = BesideRequest {
            suite: "listing".to_owned(),
            name: Some("readers".to_owned()),
            users: Some(8),
            rate: Some(50.0),
            only: vec!["A".to_owned(), "B*".to_owned()],
        };
        assert_eq!(whole, expected);
        assert_eq!(beside("my/suite.yaml").unwrap().suite, "my/suite.yaml");
        for wrong in [
            "",
            ",users=8",
            "a,users=0",
            "a,users=x",
            "a,rate=-1",
            "a,rate=inf",
            "a,name=",
            "a,b",
            "a,only=",
            "a,name=../x",
        ] {
            assert!(beside(wrong).is_err(), "{wrong}");
        }
    }
}
