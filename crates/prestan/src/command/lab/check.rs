//! `prestan lab check`: whether links are as described.

use std::time::Instant;

use lab::BuiltLab;
use topology::{LabNetwork, WireMeasurement, WireVerdict, judge, measured_table};

use super::{become_root, build, local, warn_of_lateness};
use crate::exit::{ExitStatus, Failed};
use crate::output::{number_of, print_text, tell};

/// A link, the end from which it was measured, and what was found.
type MeasuredWire = (usize, usize, WireMeasurement, WireVerdict);

pub(super) fn check(network: &LabNetwork) -> Result<ExitStatus, Failed> {
    become_root()?;
    let start = Instant::now();
    let lab = build(network)?;
    let took = start.elapsed();
    let measured = measure(&lab)?;
    warn_of_lateness(&lab);
    lab.end();
    let links = number_of(network.links.len(), "link");
    print_text(&format!(
        "built in {:.0} ms; {links}\n",
        took.as_secs_f64() * 1e3
    ))?;
    print_text(&measured_table(network, &measured))?;
    let wrong = measured
        .iter()
        .filter(|(.., verdict)| !verdict.is_as_described());
    match wrong.count() {
        0 => Ok(ExitStatus::Done),
        wrong => {
            tell(&format!(
                "prestan: failed: {wrong} of {} are not as described",
                number_of(measured.len(), "wire")
            ));
            Ok(ExitStatus::TestFailed)
        }
    }
}

/// Measures every direction of every link, one after the other.
fn measure(lab: &BuiltLab) -> Result<Vec<MeasuredWire>, Failed> {
    let network = lab.network();
    let mut measured = Vec::new();
    for (number, link) in network.links.iter().enumerate() {
        for from in [0, 1] {
            // What a hub sends on is measured from its stations.
            if link.ends[from].interface.is_none() {
                continue;
            }
            let own = lab.measure(number, from).map_err(local)?;
            let verdict = judge(&network.wire(link, from), &own);
            measured.push((number, from, own, verdict));
        }
    }
    Ok(measured)
}
