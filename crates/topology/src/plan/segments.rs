//! Networks: sets of links that switches and hubs join.

use super::{LabNetwork, LabNodeKind};
use crate::FileError;

/// Numbers the networks, and checks that each is a tree of links with one MTU.
pub(super) fn number(network: &mut LabNetwork) -> Result<(), FileError> {
    let is_joining = |node: usize, network: &LabNetwork| {
        matches!(
            network.nodes[node].kind,
            LabNodeKind::Switch | LabNodeKind::Hub(_)
        )
    };
    // Each switch and hub begins as a group of its own.
    let mut groups: Vec<usize> = (0..network.nodes.len()).collect();
    for (number, link) in network.links.iter().enumerate() {
        let [one, other] = link.ends.map(|end| end.node);
        if !is_joining(one, network) || !is_joining(other, network) {
            continue;
        }
        let (one, other) = (groups[one], groups[other]);
        if one == other {
            return Err(FileError::new(
                format!("links[{number}].ends"),
                "closes a loop of switches, in which frames would circulate",
            ));
        }
        for group in &mut groups {
            if *group == other {
                *group = one;
            }
        }
    }
    let mut numbers: Vec<Option<usize>> = vec![None; network.nodes.len()];
    let mut next = 0;
    let mut of_links = Vec::new();
    for link in &network.links {
        let joining = link.ends.iter().find(|end| is_joining(end.node, network));
        let number = match joining {
            Some(end) => *numbers[groups[end.node]].get_or_insert(next),
            None => next,
        };
        next = next.max(number + 1);
        of_links.push(number);
    }
    for node in &mut network.nodes {
        for interface in &mut node.interfaces {
            interface.segment = of_links[interface.link];
        }
    }
    check(network)
}

fn check(network: &LabNetwork) -> Result<(), FileError> {
    let mut mtus: Vec<Option<u32>> = vec![None; network.links.len()];
    for node in &network.nodes {
        let mut seen = Vec::new();
        for interface in &node.interfaces {
            let place = format!("links[{}]", interface.link);
            if *mtus[interface.segment].get_or_insert(interface.mtu) != interface.mtu {
                return Err(FileError::new(
                    format!("{place}.mtu"),
                    "differs from that of other links of its network, which switches join: they would lose \
                     what is longer",
                ));
            }
            if node.kind.has_addresses() && seen.contains(&interface.segment) {
                return Err(FileError::new(
                    format!("{place}.ends"),
                    format!("`{}` has another link to the same network", node.name),
                ));
            }
            seen.push(interface.segment);
        }
    }
    Ok(())
}
