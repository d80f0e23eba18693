//! `prestan lab check`: measures links.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use campaign::refusal;
use lab::BuiltLab;
use runner::words::number_of;
use runner::{RunnerError, laboratory};
use topology::{JudgedWire, LabNetwork, measured_json, measured_table};

use super::{become_root, warn_of_lateness};
use crate::exit::ExitStatus;
use terminal::output::{check_documents, print_documents, print_message};

/// Measuring time of a wire from which it is announced.
const SOON: Duration = Duration::from_secs(5);

/// Builds the network of a lab file, and measures its links. `json`: destination of the document.
pub(super) fn check(
    name: &str,
    network: &LabNetwork,
    json: &Option<PathBuf>,
) -> Result<ExitStatus, RunnerError> {
    check_documents(&[json], None)?;
    become_root()?;
    let start = Instant::now();
    let lab = laboratory::build(network)?;
    let took = start.elapsed();
    let wires = measure(&lab)?;
    warn_of_lateness(&lab);
    lab.end();
    let document = json.as_deref();
    let document = document.map(|path: &Path| (path, measured_json(name, network, &wires)));
    print_documents(document, |_| {
        format!(
            "built in {:.0} ms; {}\n{}",
            took.as_secs_f64() * 1e3,
            number_of(network.links.len(), "link"),
            measured_table(network, &wires)
        )
    })?;
    match refusal(network, &wires) {
        None => Ok(ExitStatus::Done),
        Some(why) => {
            print_message(&format!("prestan: failed: {why}"));
            Ok(ExitStatus::TestFailed)
        }
    }
}

/// Measures every direction of every link of a built laboratory, one after the other. Nothing else
/// should use its links.
fn measure(lab: &BuiltLab) -> Result<Vec<JudgedWire>, RunnerError> {
    let network = lab.network();
    let mut wires = Vec::new();
    for (number, link) in network.links.iter().enumerate() {
        for from in [0, 1] {
            // Frames that a hub sends on are measured from its stations.
            if link.ends[from].interface.is_none() {
                continue;
            }
            let time = lab.measuring_time(number, from);
            if time > SOON {
                print_message(&format!(
                    "prestan: measuring {}, which takes {} s at most",
                    network.ends(link, from).join(" -> "),
                    time.as_secs_f64().ceil()
                ));
            }
            let measured = lab.measure(number, from)?;
            wires.push(JudgedWire::new(network, number, from, measured));
        }
    }
    Ok(wires)
}
