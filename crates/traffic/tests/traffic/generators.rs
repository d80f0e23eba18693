//! Other programs in traffic files: accepted and refused ones, and their ports.

use proptest::prelude::*;
use traffic::{GeneratorReadiness, GeneratorReportFormat, Traffic, TrafficSpec};

/// A correct file, of which tests change a part.
const RIGHT: &str = "
models:
  m: {cbr: {rate: 1mbit, block: 1000}}
components:
  u: {model: m, protocol: udp, port: 7000}
generators:
  g:
    source: {command: [iperf3, -c, '{destination}', -p, '{port}', --json], report: iperf3}
    sink: {command: [iperf3, -s, -1, -p, '{port}']}
    port: 5201
  h:
    source: {command: [sh, -c, 'send $0', '{destination}'], ready: {line: begun}}
loads:
  l:
    flows: [{component: u}]
    generators: [{generator: g, n: 2}, {generator: h}, {generator: g}]
  only: {generators: [{generator: h}]}
";

#[test]
fn generators_are_planned_with_their_ports() {
    let traffic = Traffic::parse("x", RIGHT).unwrap();
    let seen: Vec<_> = traffic.loads["l"]
        .generators
        .iter()
        .map(|generator| (&*generator.name, generator.instance, generator.port))
        .collect();
    assert_eq!(
        seen,
        [
            ("g", 0, Some(5201)),
            ("g", 1, Some(5202)),
            ("h", 0, None),
            ("g", 2, Some(5203)),
        ]
    );
    let only = &traffic.loads["only"];
    assert!(only.flows.is_empty());
    let source = &only.generators[0].spec.source;
    let begun = GeneratorReadiness::Line("begun".to_owned());
    assert_eq!(source.ready, Some(begun));
    assert_eq!(source.report, GeneratorReportFormat::None);
    let spec = TrafficSpec::read("x", RIGHT).unwrap();
    let written = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<TrafficSpec>(&written).unwrap(), spec);
}

/// The replaced text, its replacement, and the message.
const DEFECTS: &str = "
    -c, '{destination}', -p => -c, 192.0.2.1, -p => generators.g.source.command: has no argument with {destination}
    command: [sh, -c, 'send $0', '{destination}'] => command: ['{destination}']
        => generators.h.source.command: has no argument with {destination}
    command: [iperf3, -s, -1, -p, '{port}'] => command: [] => generators.g.sink.command: names no program
    ready: {line: begun} => ready: {line: ''} => generators.h.source.ready.line: is no part of a line
    ready: {line: begun} => ready: listening => generators.h.source.ready: waits for {port}, which neither
    ready: {line: begun} => report: {figures: {}} => generators.h.source.report.figures: has no text
    ready: {line: begun} => decoder: [ITGDec, x] => generators.h.source.decoder: prints a report, and
    port: 5201 => port: 0 => generators.g.port: is 0; ports begin at 1
    port: 5201 => ready_within: 11m => generators.g.ready_within: is not more than 0 s and at most 10 min
    port: 5201 => stop_within: 11s => generators.g.stop_within: is more than 10 s
    port: 5201 => port: 65535 => loads.l.generators[0].n: 65535 is the last port
    port: 5201 => port: 6999 => loads.l.generators[0].generator: port 7000 of instance 1 has another use
    {generator: g, n: 2} => {generator: x} => loads.l.generators[0].generator: there is no generator `x`
    {generator: g, n: 2} => {generator: g, n: 0} => loads.l.generators[0].n: is 0
    {generator: g, n: 2} => {generator: g, n: 63} => loads.l.generators: 65 generators are too many
    only: {generators: [{generator: h}]} => only: {start: 1s} => loads.only.flows: is missing or empty
    ↵  h: => ↵  h h: => generators.h h: a name has letters
    ready: {line: begun} => redy: started => x:12:
";

#[test]
fn defects_are_named_with_their_key() {
    cases::assert_refused(RIGHT, DEFECTS, |text| Traffic::parse("x", text));
}

proptest! {
    #[test]
    fn any_command_is_planned_or_refused(argument in ".{0,20}", port in any::<u16>(), n in any::<u32>()) {
        let mut spec = TrafficSpec::read("x", RIGHT).unwrap();
        let generator = spec.generators.get_mut("g").unwrap();
        generator.source.command.push(argument);
        generator.port = Some(port);
        spec.loads.get_mut("l").unwrap().generators[0].n = n;
        if let Ok(traffic) = Traffic::new(&spec) {
            prop_assert!(traffic.loads["l"].generators.len() <= 64);
        }
    }
}
