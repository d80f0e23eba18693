//! Other programs as sources of traffic inside a laboratory.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use flow::external::{
    ExternalDestination, ExternalGenerator, ExternalReport, ExternalRole, ExternalSettings,
    ReadyCondition,
};
use lab::{ForwarderSettings, TwoHosts};

use super::support::{DEADLINE, can_build};

const PORT: u16 = 5201;

#[test]
fn iperf3_sends_from_one_host_to_the_other() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    let outside = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([198, 18, 0, 3])];
    for address in outside {
        assert!(
            ExternalDestination::inside(&hosts, address).is_err(),
            "{address}"
        );
    }
    let server = TwoHosts::SERVER.ipv4.into();
    let destination = ExternalDestination::inside(&hosts, server).unwrap();
    let program = |role, host: &lab::Namespace, line: &str| {
        let arguments = line.split(' ').map(str::to_owned).collect();
        ExternalSettings {
            port: Some(PORT),
            namespace: Some(Arc::new(host.descriptor().unwrap())),
            report: ExternalReport::Iperf3,
            stop_patience: Duration::from_secs(5),
            ..ExternalSettings::new(role, arguments, destination)
        }
    };
    let line = "iperf3 -s -1 -p {port} --json";
    let sink = ExternalGenerator::start(ExternalSettings {
        ready: ReadyCondition::Listening(PORT),
        ..program(ExternalRole::Sink, &hosts.server, line)
    })
    .unwrap();
    if let Err(error) = sink.ready(DEADLINE) {
        assert!(std::env::var_os("CI").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let line = "iperf3 -c {destination} -p {port} -u -b 8M -l 1000 -t 1 --json";
    let source = program(ExternalRole::Source, &hosts.client, line);
    let source = ExternalGenerator::start(source).unwrap();
    let [source, sink] = [source, sink].map(|handle| handle.finish(DEADLINE).unwrap());
    let totals = source
        .figures
        .unwrap()
        .with_sink(sink.figures.unwrap())
        .totals();
    assert!(totals.packets.unwrap() > 500, "{totals:?}");
    assert_eq!(totals.lost, Some(0), "{totals:?}");
    // All of it passed the link.
    let bytes = hosts.forwarder.stop().unwrap().forth.delivered_bytes;
    assert!(bytes > totals.received_bytes.unwrap(), "{bytes} {totals:?}");
}
