//! Companions of a run: background traffic, and the recording of its packets.

use traffic::{Percentage, Traffic, TrafficSpec};

use super::SuiteSource;
use super::params::Params;
use crate::error::SuiteError;
use crate::plan::{BackgroundPlan, CapturePlan, Plan, TrafficOrigin};
use crate::position::{Located, Scalar};
use crate::quantity::{duration_with_unit, parse_size};
use crate::spec::{BackgroundKeys, BackgroundSpec, CaptureKeys, CaptureSpec, SuiteSpec};
use crate::template::Templates;

/// Smallest accepted deviation of a rate, in percent.
const LEAST_DEVIATION: f64 = 0.1;
/// Least bytes kept of a packet: its headers.
const LEAST_SNAP: u64 = 64;

/// Adds the companions of a suite to its plan.
pub(super) fn add(
    file: &SuiteSource<'_>,
    spec: &SuiteSpec,
    params: &Params,
    plan: &mut Plan,
) -> Result<(), SuiteError> {
    let traffic = spec.background.as_ref();
    let traffic = traffic.map(|traffic| background(file, traffic, params));
    plan.background = traffic.transpose()?;
    let packets = spec
        .capture
        .as_ref()
        .map(|capture_spec| capture(file, capture_spec, params));
    plan.capture = packets.transpose()?.flatten();
    Ok(())
}

/// Checks the keys of `background`. A traffic file is not read here.
fn background(
    file: &SuiteSource<'_>,
    written: &Located<BackgroundSpec>,
    params: &Params,
) -> Result<BackgroundPlan, SuiteError> {
    let keys = match &written.value {
        BackgroundSpec::File(name) => {
            return Ok(BackgroundPlan {
                traffic: TrafficOrigin::File(name.clone()),
                load: None,
                stable_percent: None,
                duration: None,
            });
        }
        BackgroundSpec::Keys(keys) => keys,
    };
    let text = |scalar: &Located<Scalar>| {
        let text = Templates::new(params, &[], &file.bounds).fixed(&scalar.value.0);
        text.map_err(|why| file.error(scalar.position, why))
    };
    let load = keys.load.as_ref().map(text).transpose()?;
    let traffic = match (&keys.file, &keys.traffic) {
        (Some(name), None) => TrafficOrigin::File(text(name)?),
        (None, Some(here)) => {
            check_load(file, keys, here, load.as_deref())?;
            TrafficOrigin::Here(here.value.clone())
        }
        _ => {
            let why = "background traffic needs either `file`, or `traffic` with what would stand in a file";
            return Err(file.error(written.position, why));
        }
    };
    let stable = keys.stable.as_ref();
    let stable = stable.map(|share| {
        number(file, share, params, |text| {
            let percent = text.parse().map(Percentage::percent)?;
            let is_possible = percent >= LEAST_DEVIATION;
            is_possible
                .then_some(percent)
                .ok_or_else(|| format!("no rate is as constant as {text}; write 5%"))
        })
    });
    let duration = keys.duration.as_ref();
    let duration = duration.map(|time| number(file, time, params, duration_with_unit));
    Ok(BackgroundPlan {
        traffic,
        load,
        stable_percent: stable.transpose()?,
        duration: duration.transpose()?,
    })
}

/// Checks the traffic within the suite, and that it has the load.
fn check_load(
    file: &SuiteSource<'_>,
    keys: &BackgroundKeys,
    Located {
        value: spec,
        position,
    }: &Located<TrafficSpec>,
    load: Option<&str>,
) -> Result<(), SuiteError> {
    let traffic = Traffic::new(spec).map_err(|error| file.error(*position, error.to_string()))?;
    let names: Vec<&str> = traffic.loads.keys().map(String::as_str).collect();
    let why = match (load, &names[..]) {
        (None, [_]) => return Ok(()),
        (Some(load), names) if names.contains(&load) => return Ok(()),
        (_, []) => "the traffic has no `loads`; only loads can be sent".to_owned(),
        (Some(load), _) => format!("there is no load `{load}`; there are {}", names.join(", ")),
        (None, _) => format!(
            "there are several loads; name one of {} with `load`",
            names.join(", ")
        ),
    };
    let position = keys.load.as_ref().map_or(*position, |load| load.position);
    Err(file.error(position, why))
}

/// Checks the keys of `capture`; `None` if nothing is recorded.
fn capture(
    file: &SuiteSource<'_>,
    written: &CaptureSpec,
    params: &Params,
) -> Result<Option<CapturePlan>, SuiteError> {
    let CaptureKeys { snap, size } = match written {
        CaptureSpec::Whole(false) => return Ok(None),
        CaptureSpec::Whole(true) => &CaptureKeys::default(),
        CaptureSpec::Keys(keys) => keys,
    };
    let bytes = |scalar: &Located<Scalar>| number(file, scalar, params, parse_size);
    let snap_length = snap.as_ref().map(bytes).transpose()?;
    if let (Some(..LEAST_SNAP), Some(written)) = (snap_length, snap) {
        let why = format!("keep at least {LEAST_SNAP} bytes of each packet, for its headers");
        return Err(file.error(written.position, why));
    }
    Ok(Some(CapturePlan {
        snap_length,
        most_bytes: size.as_ref().map(bytes).transpose()?,
    }))
}

/// A number with its unit, which may contain parameters.
fn number<T>(
    file: &SuiteSource<'_>,
    scalar: &Located<Scalar>,
    params: &Params,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, SuiteError> {
    let text = Templates::new(params, &[], &file.bounds).number(&scalar.value.0);
    let value = text.and_then(|text| read(&text));
    value.map_err(|why| file.error(scalar.position, why))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use crate::plan::{BackgroundPlan, CapturePlan, Plan, TrafficOrigin};
    use crate::{Overrides, parse, resolve};

    const TESTS: &str = "tests: [{name: T, loop: [{GET: a, measure: M}]}]\n";

    fn planned(keys: &str) -> Plan {
        let text = format!("suite: s\nparams: {{load: busy}}\n{keys}\n{TESTS}");
        let spec = parse("s.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
        let params = BTreeMap::from([("load".to_owned(), "calm".to_owned())]);
        let overrides = Overrides {
            params,
            ..Overrides::default()
        };
        resolve("s.yaml", &text, &spec, &overrides).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn background_traffic_is_a_file_or_has_keys() {
        let whole = BackgroundPlan {
            traffic: TrafficOrigin::File("load.yaml".to_owned()),
            load: Some("calm".to_owned()),
            stable_percent: Some(20.0),
            duration: Some(Duration::from_secs(3 * 3600)),
        };
        let short = BackgroundPlan {
            load: None,
            stable_percent: None,
            duration: None,
            ..whole.clone()
        };
        assert_eq!(planned("background: load.yaml").background, Some(short));
        let keys = r#"background: {file: load.yaml, load: "{{ load }}", stable: 20%, for: 3h}"#;
        assert_eq!(planned(keys).background, Some(whole));
        assert_eq!(planned("title: none").background, None);
    }

    #[test]
    fn traffic_may_stand_in_the_suite() {
        let plan = planned(
            "background:\n  traffic:\n    models: {m: {cbr: {rate: 1mbit, block: 1KiB}}}\n    components: {c: \
             {model: m, protocol: udp}}\n    loads: {calm: {flows: [{component: c}]}}",
        );
        let Some(BackgroundPlan {
            traffic: TrafficOrigin::Here(traffic),
            ..
        }) = plan.background
        else {
            panic!("{plan:?}");
        };
        assert!(traffic.loads.contains_key("calm"));
    }

    #[test]
    fn packets_are_kept_where_that_is_said() {
        let of = |keys: &str| planned(keys).capture;
        let all = CapturePlan {
            snap_length: None,
            most_bytes: None,
        };
        assert_eq!(of("capture: true"), Some(all));
        assert_eq!(of("capture: false"), None);
        // Other notations of truth values.
        assert_eq!((of("capture: yes"), of("capture: Off")), (Some(all), None));
        let part = CapturePlan {
            snap_length: Some(128),
            most_bytes: Some(1 << 20),
        };
        for size in ["1MiB", "0x100000", "1_048_576"] {
            assert_eq!(
                of(&format!("capture: {{snap: 0x80, size: {size}}}")),
                Some(part)
            );
        }
    }
}
