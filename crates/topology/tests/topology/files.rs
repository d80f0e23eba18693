//! Lab files: plans and defects.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::path::Path;

use builtin::{BuiltinFile, LABS};
use proptest::prelude::*;
use topology::{
    InterfaceAddress, LabNetwork, LabNode, LabNodeKind, LabSpec, WireQueue, described,
    measured_schema, pictures, svg,
};

const RIGHT: &str = r#"
title: A lab
every_host: {congestion: reno, sysctl: {net.ipv4.tcp_sack: 0}}
hosts:
  client: {quickack: true, to: {server: {congestion: cubic, rto_min: 50ms}}}
  server: {initial_window: 4}
  third: {}
routers:
  r1: {}
switches:
  s1: {}
links:
  - {ends: [client, s1], rate: 10mbit, queue: 64KiB, forth: {delay: 5ms, loss: 1%}}
  - {ends: [third, s1]}
  - {ends: [s1, r1]}
  - {ends: [r1, server], mtu: 1400, delay: 20ms, jitter: 2ms, addresses: {server: [192.0.2.9/28]}}
"#;

/// A change of the valid file, and the beginning of the error.
const DEFECTS: &str = "
    title: A lab => titel: A lab => x:2:1:
    quickack: true => quickak: true => x:5:12:
    delay: 20ms => delay: 1ms => links[3].jitter:
    delay: 20ms => delay: 20 apples => x:
    rate: 10mbit, =>  => links[0].queue: nothing waits where there is no rate
    queue: 64KiB => queue: 0 => links[0].queue: is 0
    queue: 64KiB => queue: 100B => links[0].queue: has no room
    queue: 64KiB => queue: many => x:
    forth: {delay: 5ms => forth: {jitter: 5ms => links[0].forth.jitter: is longer than the delay
    loss: 1% => loss: 101% => x:
    mtu: 1400 => mtu: 600 => links[3].mtu: is 600
    ends: [third, s1] => ends: [third, s1], mtu: 9000 => links[1].mtu: differs
    [third, s1] => [thirt, s1] => links[1].ends: no node is called `thirt`; did you mean `third`?
    [third, s1] => [third, third] => links[1].ends: joins `third` to itself
    [third, s1] => [client, s1] => hosts.third: has no link
    third: {} => third: {}↵  r1: {} => routers.r1: the name is taken by one of `hosts`
    third: {} => third: {}↵  a/b: {} => hosts.a/b: a name has letters
    third: {} => third: {}↵  R1: {} => routers.r1: the name is taken by one of `hosts`
    third: {} => third: {}↵  localhost: {} => hosts.localhost: is the name that every host
    third: {} => third: {}↵  10: {} => hosts.10: programs take a number for an address
    third: {} => third: {}↵  0x7f000001: {} => hosts.0x7f000001: programs take a number
    third: {} => third: {}↵  1.2: {} => hosts.1.2: a name has letters
    to: {server => to: {sever => hosts.client.to.sever: no node is called `sever`; did you mean `server`?
    to: {server => to: {s1 => hosts.client.to.s1: is not another host
    rto_min: 50ms => rto_min: 50us => hosts.client.to.server.rto_min:
    initial_window: 4 => initial_window: 0 => hosts.server.initial_window:
    congestion: reno => congestion: Reno! => every_host.congestion: `Reno!`
    net.ipv4.tcp_sack => kernel.hostname => every_host.sysctl.kernel.hostname:
    {server: [192.0.2.9/28]} => {client: [192.0.2.9/28]} => links[3].addresses: `client` is no end
    192.0.2.9/28 => 192.0.2.9 => links[3].addresses.server: `192.0.2.9` is no address
    192.0.2.9/28 => 192.0.2.9/31 => links[3].addresses.server:
    192.0.2.9/28] => 192.0.2.9/28, 192.0.2.10/28] => links[3].addresses.server: has two
    {server: [192.0.2.9/28]} => {server: [192.0.2.9/28], r1: [192.0.2.9/28]} => links[3].addresses.
    {server: [192.0.2.9/28]} => {server: [192.0.2.9/28], r1: [192.0.2.33/28]} => links[3].addresses:
    192.0.2.9/28 => 198.18.0.9/16 => links: two networks overlap
    title: A lab => server_host: r1 => server_host: `r1` is a router
    title: A lab => server_host: servr => server_host: no node is called `servr`
    - {ends: [third, s1]} => - {ends: [third, s1]}↵  - {ends: [third, s1]} => links[2].ends: `third` has another link
";

#[test]
fn defects_are_named_with_their_key() {
    cases::assert_refused(RIGHT, DEFECTS, |text| LabNetwork::parse("x", text));
}

#[test]
fn a_key_that_is_meant_is_suggested() {
    let error = LabNetwork::parse("x", &RIGHT.replace("quickack", "quickak")).unwrap_err();
    assert!(
        error.message().ends_with("did you mean `quickack`?"),
        "{error}"
    );
}

#[test]
fn loops_of_switches_and_shaped_links_of_hubs_are_refused() {
    let text = |links: &str| {
        format!(
            "hosts: {{a: {{}}, b: {{}}}}\nswitches: {{s: {{}}, t: {{}}}}\nhubs: {{h: {{}}, i: {{}}}}\nlinks:\n{links}"
        )
    };
    let base = "  - {ends: [a, s]}\n  - {ends: [s, t]}\n  - {ends: [h, b]}\n  - {ends: [i, b]}\n";
    let table = [
        ("", ""),
        ("  - {ends: [t, s]}\n", "links[4].ends: closes a loop"),
        ("  - {ends: [t, h]}\n", ""),
        (
            "  - {ends: [t, h], rate: 1mbit}\n",
            "links[4].ends: a hub is at one end",
        ),
        ("  - {ends: [i, h]}\n", "links[4].ends: joins two hubs"),
    ];
    for (link, expected) in table {
        match LabNetwork::parse("x", &text(&format!("{base}{link}"))) {
            Ok(_) => assert_eq!(expected, "", "{link}"),
            Err(error) => {
                let error = error.to_string();
                assert!(
                    !expected.is_empty() && error.starts_with(expected),
                    "{link}: {error}"
                );
            }
        }
    }
}

fn node<'a>(network: &'a LabNetwork, name: &str) -> &'a LabNode {
    &network.nodes[network.find(name).unwrap()]
}

fn addresses(node: &LabNode) -> Vec<String> {
    let addresses = node
        .interfaces
        .iter()
        .flat_map(|interface| &interface.addresses);
    addresses.map(ToString::to_string).collect()
}

#[test]
fn a_lab_is_planned_with_addresses_routes_and_options() {
    let network = LabNetwork::parse("x", RIGHT).unwrap();
    let client = node(&network, "client");
    assert_eq!(addresses(client), ["198.18.0.1/24", "2001:2::1/64"]);
    let server = node(&network, "server");
    assert_eq!(addresses(server), ["192.0.2.9/28", "2001:2:0:1::1/64"]);
    let r1 = node(&network, "r1");
    assert_eq!(
        addresses(r1),
        [
            "198.18.0.3/24",
            "2001:2::3/64",
            "192.0.2.1/28",
            "2001:2:0:1::2/64"
        ]
    );
    assert!(
        r1.sysctls
            .iter()
            .any(|sysctl| sysctl.key == "net.ipv4.ip_forward"
                && sysctl.value == "1"
                && sysctl.place.is_none())
    );
    let routes: Vec<String> = client
        .routes
        .iter()
        .map(|route| {
            let via = route
                .via
                .map(|via| format!(" via {via}"))
                .unwrap_or_default();
            format!("{}{via} {}", route.to, route.options.congestion)
        })
        .collect();
    assert_eq!(
        routes,
        [
            "198.18.0.0/24 reno",
            "2001:2::/64 reno",
            "192.0.2.0/28 via 198.18.0.3 reno",
            "2001:2:0:1::/64 via 2001:2::3 reno",
            "192.0.2.9/32 via 198.18.0.3 cubic",
            "2001:2:0:1::1/128 via 2001:2::3 cubic",
        ]
    );
    let exception = &client.routes[4].options;
    assert_eq!(exception.rto_min, Some(50_000_000));
    assert_eq!(exception.quickack, Some(true));
    assert_eq!(server.options.initial_window, Some(4));
    assert!(
        server
            .sysctls
            .iter()
            .any(|sysctl| sysctl.key == "net.ipv4.tcp_sack"
                && sysctl.value == "0"
                && sysctl.place.is_some())
    );
    let [forth, back] = network.links[0].wires;
    assert_eq!((forth.delay, back.delay), (5_000_000, 0));
    assert_eq!((forth.loss, back.loss), (0.01, 0.0));
    assert_eq!(forth.queue, WireQueue::Bytes(65_536));
    assert_eq!(network.links[3].wires[0].jitter, 2_000_000);
    assert!(!network.links[1].is_shaped());
    assert_eq!(network.server_host, network.find("server"));
    let s1 = network.find("s1").unwrap();
    let ports: Vec<&str> = network.switched(s1).iter().map(|(_, port)| *port).collect();
    assert_eq!(ports, ["eth0", "eth1", "eth2"]);
}

#[test]
fn built_in_labs_are_right_and_have_pictures() {
    for BuiltinFile { name, text } in LABS {
        let network =
            LabNetwork::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!network.title.is_empty(), "{name}");
        // The server of a lab with a bare host is the host itself.
        let is_bare = |node: &LabNode| matches!(node.kind, LabNodeKind::Bare(_));
        let has_bare = network.nodes.iter().any(is_bare);
        assert_eq!(network.server_host.is_none(), has_bare, "{name}");
        check_paths(&network);
        let text = described(name, &network);
        let drawn = svg(name, &network);
        for node in &network.nodes {
            assert!(
                text.contains(&node.name) && drawn.contains(&format!(">{}</text>", node.name)),
                "{name}: {}",
                node.name
            );
        }
        for picture in pictures(name, &network) {
            let rows: Vec<&[String]> = picture.rows().collect();
            let links = network.links.len();
            assert_eq!(rows.len(), links + network.nodes.len());
            // A phone may have no space for a name; it is in the table.
            let names = network.nodes.iter().map(|node| &node.name);
            assert!(rows[links..].iter().map(|row| &row[0]).eq(names));
        }
    }
}

fn keys(schema: &serde_json::Value, found: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                if name == "properties"
                    && let Some(properties) = value.as_object()
                {
                    found.extend(properties.keys().cloned());
                }
                keys(value, found);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn the_example_has_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab.example.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let network = LabNetwork::parse("example.yaml", &text).unwrap();
    check_paths(&network);
    let mut known = BTreeSet::new();
    keys(&serde_json::from_str(topology::SCHEMA).unwrap(), &mut known);
    assert!(known.len() > 25, "{known:?}");
    let missing = known
        .iter()
        .filter(|key| !text.contains(&format!("{key}:")));
    assert_eq!(missing.collect::<Vec<_>>(), [] as [&String; 0]);
}

#[test]
fn the_bottleneck_of_the_congestion_lab_is_that_of_the_paper() {
    let lab = BuiltinFile::find(LABS, "congestion").unwrap();
    let network = LabNetwork::parse(lab.name, lab.text).unwrap();
    let count = |kind: LabNodeKind| {
        network
            .nodes
            .iter()
            .filter(|node| node.kind == kind)
            .count()
    };
    assert_eq!(count(LabNodeKind::Router), 4);
    assert_eq!(count(LabNodeKind::Switch), 5);
    let shaped: Vec<_> = network
        .links
        .iter()
        .filter(|link| link.is_shaped())
        .collect();
    assert_eq!(shaped.len(), 1);
    assert!(
        shaped[0]
            .wires
            .iter()
            .all(|wire| wire.rate == Some(100_000_000))
    );
    // Four routers are on the way from the client to the server.
    assert_eq!(hops(&network, "client", "server"), Some(4));
    assert_eq!(hops(&network, "client", "stress"), Some(0));
}

#[test]
fn the_schemas_are_those_in_docs() {
    schemars::assert_published("lab.schema.json", &schemars::published::<LabSpec>());
    schemars::assert_published("lab-check.schema.json", &schemars::open(&measured_schema()));
}

/// Routers that a packet passes to an address, by the routes of each; `None` if it does not arrive.
fn follow(network: &LabNetwork, from: usize, to: IpAddr) -> Option<usize> {
    let mut at = from;
    for hops in 0..=network.nodes.len() {
        let node = &network.nodes[at];
        let is_own = |address: &InterfaceAddress| address.ip == to;
        if node
            .interfaces
            .iter()
            .flat_map(|interface| &interface.addresses)
            .any(is_own)
        {
            return Some(hops.saturating_sub(1));
        }
        let alone = InterfaceAddress { ip: to, prefix: 0 }.alone();
        let matching = node.routes.iter().filter(|route| {
            let cut = InterfaceAddress {
                prefix: route.to.prefix,
                ..alone
            };
            cut.ip.is_ipv4() == route.to.ip.is_ipv4() && cut.network().ip == route.to.ip
        });
        let route = matching.max_by_key(|route| route.to.prefix)?;
        let next = route.via.unwrap_or(to);
        let neighbour = node
            .neighbours
            .iter()
            .find(|neighbour| neighbour.ip == next)?;
        assert_eq!(
            neighbour.device, route.device,
            "a neighbour is at the device of the route"
        );
        at = network.nodes.iter().position(|other| {
            let mut interfaces = other.interfaces.iter();
            interfaces.any(|interface| interface.ethernet == neighbour.ethernet)
        })?;
        assert!(
            route.via.is_none() || network.nodes[at].kind == LabNodeKind::Router,
            "only routers forward"
        );
    }
    None
}

fn hops(network: &LabNetwork, from: &str, to: &str) -> Option<usize> {
    let to = node(network, to).interfaces[0].addresses[0].ip;
    follow(network, network.find(from)?, to)
}

/// Every node with addresses reaches every connected address, in both versions, with the fewest
/// routers; no address is assigned twice; no two networks overlap.
fn check_paths(network: &LabNetwork) {
    let mut seen = BTreeSet::new();
    let nodes = || network.nodes.iter().enumerate();
    for (_, node) in nodes() {
        for interface in &node.interfaces {
            for address in &interface.addresses {
                assert!(seen.insert(address.ip), "{address} twice");
            }
            let versions = interface
                .addresses
                .iter()
                .map(|address| address.ip.is_ipv4());
            let expected: &[bool] = if node.kind.has_addresses() {
                &[true, false]
            } else {
                &[]
            };
            assert_eq!(versions.collect::<Vec<_>>(), expected);
        }
    }
    // A bare host has no routes: it responds to the sender of a segment.
    for (from, node) in nodes().filter(|(_, node)| node.kind.has_kernel()) {
        let distances = distances(network, from);
        for (_, other) in nodes() {
            for interface in &other.interfaces {
                for address in &interface.addresses {
                    let found = follow(network, from, address.ip);
                    let expected = if node.name == other.name {
                        Some(0)
                    } else {
                        distances[interface.segment]
                    };
                    if other.kind == LabNodeKind::Router {
                        // A router may be reached at another of its addresses, on the path.
                        assert_eq!(found.is_some(), expected.is_some());
                        assert!(found <= expected, "{} to {address}", node.name);
                    } else {
                        assert_eq!(found, expected, "{} to {address}", node.name);
                    }
                }
            }
        }
    }
}

/// Routers between a node and each network, found by a breadth-first search.
fn distances(network: &LabNetwork, from: usize) -> Vec<Option<usize>> {
    let mut distances = vec![None; network.links.len()];
    let mut open: VecDeque<(usize, usize)> = VecDeque::new();
    for interface in &network.nodes[from].interfaces {
        distances[interface.segment] = Some(0);
        open.push_back((interface.segment, 0));
    }
    while let Some((segment, distance)) = open.pop_front() {
        let routers = network.nodes.iter().filter(|node| {
            let mut interfaces = node.interfaces.iter();
            node.kind == LabNodeKind::Router
                && interfaces.any(|interface| interface.segment == segment)
        });
        for router in routers {
            for interface in &router.interfaces {
                if distances[interface.segment].is_none() {
                    distances[interface.segment] = Some(distance + 1);
                    open.push_back((interface.segment, distance + 1));
                }
            }
        }
    }
    distances
}

/// Files with hosts, routers and switches, joined at random.
fn files() -> impl Strategy<Value = String> {
    let link = (0_usize..9, 0_usize..9);
    prop::collection::vec(link, 1..14).prop_map(|links| {
        const NAMES: [&str; 9] = ["h0", "h1", "h2", "r0", "r1", "r2", "s0", "s1", "s2"];
        let used: BTreeSet<&str> = links
            .iter()
            .flat_map(|(one, other)| [NAMES[*one], NAMES[*other]])
            .collect();
        let section = |title: &str, first: char| {
            let names = used.iter().filter(|name| name.starts_with(first));
            let names: Vec<String> = names.map(|name| format!("{name}: {{}}")).collect();
            format!("{title}: {{{}}}\n", names.join(", "))
        };
        let mut text = section("hosts", 'h') + &section("routers", 'r') + &section("switches", 's');
        text += "links:\n";
        for (one, other) in links {
            text += &format!("  - {{ends: [{}, {}]}}\n", NAMES[one], NAMES[other]);
        }
        text
    })
}

proptest! {
    #[test]
    fn whatever_is_planned_has_addresses_and_shortest_routes(text in files()) {
        if let Ok(network) = LabNetwork::parse("x", &text) {
            check_paths(&network);
            let _ = pictures("x", &network);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z:{}\\[\\], \n-]{0,80}", at in 0_usize..400, length in 0_usize..20) {
        let _ = LabNetwork::parse("x", &text);
        let mut right = RIGHT.to_owned();
        let end = (at + length).min(right.len());
        if at < end && right.is_char_boundary(at) && right.is_char_boundary(end) {
            right.replace_range(at..end, &text);
        }
        let _ = LabNetwork::parse("x", &right);
    }
}
