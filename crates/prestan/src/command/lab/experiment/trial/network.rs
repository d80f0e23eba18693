//! The laboratory of a trial, and whether the trial can take place in it.

use experiment::{MeasuredSpec, TrialSpec};
use serde_json::{Map, Value};
use topology::{LabHostSpec, LabNetwork, LabNode, LabSpec};

/// The network of a laboratory, with what a trial has different.
pub(in super::super) fn network_of(lab: &LabSpec, trial: &TrialSpec) -> Result<LabNetwork, String> {
    let mut lab = lab.clone();
    for (name, differs) in &trial.hosts {
        let Some(host) = lab.hosts.get_mut(name) else {
            let names: Vec<&str> = lab.hosts.keys().map(String::as_str).collect();
            return Err(format!(
                "trial.hosts: no host of the laboratory is called `{name}`; there are {}",
                names.join(", ")
            ));
        };
        *host = merged(host, differs)?;
    }
    LabNetwork::new(&lab).map_err(|error| error.to_string())
}

/// A host with what differs. One that is bare has nothing of the other, whose keys belong to the kernel.
fn merged(host: &LabHostSpec, differs: &LabHostSpec) -> Result<LabHostSpec, String> {
    let object = |spec: &LabHostSpec| match serde_json::to_value(spec) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("a host is no object".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let (host, differs) = (object(host)?, object(differs)?);
    let is_bare = differs.get("bare").is_some_and(|bare| !bare.is_null());
    let host = if is_bare { Map::new() } else { host };
    serde_json::from_value(Value::Object(overlaid(host, differs))).map_err(|error| error.to_string())
}

fn overlaid(mut under: Map<String, Value>, over: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in over {
        match (under.remove(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => {
                under.insert(key, Value::Object(overlaid(below, above)));
            }
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
    under
}

/// Whether all hosts exist, and captures can tell requests apart.
pub(super) fn check(network: &LabNetwork, trial: &TrialSpec) -> Result<(), String> {
    let exists = |place: String, name: &str| match find(network, name) {
        Some(node) if node.kind.has_addresses() => Ok(()),
        _ => Err(match network.nearest_host(name) {
            Some(nearest) => {
                format!("{place}: no host is called `{name}`; did you mean `{nearest}`?")
            }
            None => format!("{place}: no host is called `{name}`"),
        }),
    };
    for host in trial.servers.keys() {
        exists("trial.servers".to_owned(), host)?;
    }
    for host in &trial.captures {
        exists("trial.captures".to_owned(), host)?;
    }
    for (name, spec) in &trial.requests {
        exists(format!("trial.requests.{name}.from"), &spec.from)?;
        exists(format!("trial.requests.{name}.to"), &spec.to)?;
    }
    for (name, spec) in &trial.measured {
        exists(format!("trial.measured.{name}.from"), &spec.from)?;
        exists(format!("trial.measured.{name}.to"), &spec.to)?;
        if spec.path.is_some() == spec.suite.is_some() {
            return Err(format!(
                "trial.measured.{name}: has either a path or a suite"
            ));
        }
        told_apart(trial, name, spec)?;
    }
    Ok(())
}

fn find<'a>(network: &'a LabNetwork, name: &str) -> Option<&'a LabNode> {
    network.find(name).map(|node| &network.nodes[node])
}

/// A capture tells requests apart by their hosts, and by their paths.
fn told_apart(trial: &TrialSpec, name: &str, spec: &MeasuredSpec) -> Result<(), String> {
    let is_same = |from: &str, to: &str, path: Option<&str>| {
        from == spec.from && to == spec.to && path == spec.path.as_deref()
    };
    if spec.path.is_none() || !trial.captures.contains(&spec.to) {
        return Ok(());
    }
    let others = trial.measured.iter().filter(|(other, _)| *other != name);
    let measured = others
        .filter(|(_, other)| is_same(&other.from, &other.to, other.path.as_deref()))
        .map(|(other, _)| format!("measured.{other}"));
    let requests = trial.requests.iter();
    let requests = requests
        .filter(|(_, other)| is_same(&other.from, &other.to, Some(&other.path)))
        .map(|(other, _)| format!("requests.{other}"));
    match measured.chain(requests).next() {
        None => Ok(()),
        Some(other) => Err(format!(
            "trial.measured.{name}: has the hosts and the path of trial.{other}, so that a capture cannot tell \
             them apart; let one of them come from another host"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LAB: &str = "every_host: {congestion: cubic}\nhosts: {client: {}, server: {quickack: true, sysctl: \
                       {net.ipv4.tcp_sack: 1}}}\nlinks: [{ends: [client, server]}]\n";

    fn trial(differs: &Value) -> TrialSpec {
        let mut trial = json!({
            "measured": {"one": {"from": "client", "to": "server", "path": "/320k"}},
            "captures": ["server"],
        });
        if let (Some(trial), Some(differs)) = (trial.as_object_mut(), differs.as_object()) {
            trial.extend(differs.clone());
        }
        serde_json::from_value(trial).unwrap()
    }

    #[test]
    fn hosts_of_a_trial_have_what_differs_and_what_the_laboratory_has() {
        let lab = LabSpec::read("lab", LAB).unwrap();
        let differs = json!({"hosts": {"server":
            {"congestion": "reno", "sysctl": {"net.ipv4.tcp_dsack": 0}}}});
        let network = network_of(&lab, &trial(&differs)).unwrap();
        let server = find(&network, "server").unwrap();
        assert_eq!(server.options.congestion, "reno");
        assert_eq!(server.options.quickack, Some(true));
        let has = |key: &str| server.sysctls.iter().any(|(own, _)| own == key);
        assert!(has("net.ipv4.tcp_sack") && has("net.ipv4.tcp_dsack"));
        assert_eq!(find(&network, "client").unwrap().options.congestion, "cubic");
    }

    #[test]
    fn what_cannot_take_place_is_said_with_its_key() {
        let lab = LabSpec::read("lab", LAB).unwrap();
        let table = [
            (json!({}), ""),
            (
                json!({"hosts": {"sever": {}}}),
                "trial.hosts: no host of the laboratory is called `sever`; there are client, server",
            ),
            (
                json!({"captures": ["clint"]}),
                "trial.captures: no host is called `clint`; did you mean `client`?",
            ),
            (
                json!({"measured": {"one": {"from": "client", "to": "server"}}}),
                "trial.measured.one: has either a path or a suite",
            ),
            (
                json!({"requests": {"stress":
                    {"from": "client", "to": "server", "path": "/320k", "rate": "1mbit"}}}),
                "trial.measured.one: has the hosts and the path of trial.requests.stress, so that a capture",
            ),
            (
                json!({"requests": {"stress":
                    {"from": "client", "to": "server", "path": "/504k", "rate": "1mbit"}}}),
                "",
            ),
        ];
        for (differs, expected) in table {
            let trial = trial(&differs);
            let network = network_of(&lab, &trial);
            let found = network.and_then(|network| check(&network, &trial));
            let found = found.err().unwrap_or_default();
            assert!(found.starts_with(expected), "{found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{found}");
        }
    }
}
