//! Bare hosts of lab files: features and defects.

use topology::{CongestionControl, SenderSettings, TimeoutResend};
use topology::{LabNetwork, LabNode, LabNodeKind, described};
use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};

fn lab(bare: &str) -> String {
    format!(
        "hosts:\n  client: {{to: {{server: {{congestion: reno}}}}}}\n  server: {{bare: {bare}}}\nrouters: {{r: {{}}}}\n\
         links:\n  - {{ends: [client, r]}}\n  - {{ends: [r, server]}}\n"
    )
}

fn network(bare: &str) -> LabNetwork {
    LabNetwork::parse("x", &lab(bare)).unwrap_or_else(|error| panic!("{bare}: {error}"))
}

fn node<'a>(network: &'a LabNetwork, name: &str) -> &'a LabNode {
    &network.nodes[network.find(name).unwrap()]
}

fn sender(bare: &str) -> SenderSettings {
    match node(&network(bare), "server").kind {
        LabNodeKind::Bare(planned) => planned.sender,
        other => panic!("{bare}: {other:?}"),
    }
}

#[test]
fn features_are_those_of_the_preset_but_for_what_is_given() {
    let plain = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    let conventional = SenderSettings::conventional(CongestionControl::Cubic);
    let mut given = conventional;
    given.rto.weights.alpha = 0.5;
    given.rto.weights.beta = PAPER_WEIGHTS[2].beta;
    given.rto.factor = 2.0;
    given.rto.granularity_ns = 1e6;
    given.rto.minimum_ns = 0.0;
    given.initial_rto_ns = 3_000_000_000;
    given.maximum_rto_ns = 8_000_000_000;
    given.sampling = SamplingStrategy::Some;
    given.backoff = false;
    given.timeout_resend = TimeoutResend::FirstSegment;
    given.fast_recovery = false;
    given.sack = false;
    given.timestamps = false;
    given.congestion_control = CongestionControl::Reno;
    given.initial_window_segments = 3;
    let all = "{preset: conventional, weights: W3, alpha: 0.5, k: 2, granularity: 1ms, rto_min: 0, rto_initial: 3s, \
               rto_max: 8s, sampling: some, backoff: false, timeout_resend: first-segment, fast_recovery: false, \
               sack: false, timestamps: false, congestion: reno, initial_window: 3}";
    let table = [
        ("", plain),
        ("{}", plain),
        ("{preset: bare}", plain),
        ("{preset: conventional}", conventional),
        ("{preset: not-iis}", SenderSettings::not_iis()),
        (
            "{weights: W9, sampling: all}",
            SenderSettings::bare(PAPER_WEIGHTS[8], SamplingStrategy::All),
        ),
        (
            "{preset: conventional, congestion: compound}",
            SenderSettings::conventional(CongestionControl::Compound),
        ),
        (all, given),
    ];
    for (bare, expected) in table {
        assert_eq!(sender(bare), expected, "{bare}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_key() {
    let place = "hosts.server.bare.";
    let table = "
        {alpha: 0} => alpha: alpha and beta
        {beta: 1.5} => beta: alpha and beta
        {k: -1} => k: the factor K
        {granularity: 100ns} => granularity: the granularity G
        {rto_min: 2m} => rto_min: the minimum and the initial timeout
        {rto_initial: 2m} => rto_initial: the minimum
        {rto_max: 2h} => rto_max: the minimum
        {initial_window: 0} => initial_window: the initial window
        {fast_recovery: true} => fast_recovery: fast recovery needs
        {preset: conventional, fast_retransmit: false} => fast_retransmit: fast recovery needs
    ";
    for [bare, expected] in cases::rows(table) {
        let error = LabNetwork::parse("x", &lab(bare)).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{place}{expected}")),
            "{bare}: {error}"
        );
    }
    let table = [
        ("{preset: not-is}", "did you mean `not-iis`?"),
        ("{preset: onee}", "unknown name `onee`, expected one of "),
        ("{wieghts: W1}", "did you mean `weights`?"),
        ("{weights: W10}", "did you mean `W1`?"),
        ("{k: many}", "expected a number, found `many`"),
    ];
    for (bare, expected) in table {
        let error = LabNetwork::parse("x", &lab(bare)).unwrap_err().to_string();
        assert!(
            error.starts_with("x:3:") && error.contains(expected),
            "{bare}: {error}"
        );
    }
}

#[test]
fn what_a_bare_host_cannot_have_is_refused() {
    let defects = "
        bare: {} => bare: {}, congestion: reno => hosts.server.congestion: is for the TCP of the kernel
        bare: {} => bare: {}, sysctl: {net.ipv4.tcp_sack: 0} => hosts.server.sysctl: is for the TCP of the kernel
        hosts:↵ => every_host: {bare: {}}↵hosts:↵ => every_host.bare: belongs to single hosts
        hosts:↵ => server_host: server↵hosts:↵ => server_host: `server` is a bare host
        - {ends: [client, r]}↵ => - {ends: [client, r]}↵  - {ends: [client, server]}↵ => hosts.server: has several links
    ";
    cases::assert_refused(&lab("{}"), defects, |text| LabNetwork::parse("x", text));
}

#[test]
fn a_bare_host_is_reached_like_others_and_needs_no_routes() {
    let network = network("{preset: not-iis, weights: W2, rto_min: 50ms}");
    let server = node(&network, "server");
    assert_eq!((server.routes.len(), server.neighbours.len()), (0, 0));
    let addresses: Vec<String> = server.interfaces[0]
        .addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(addresses, ["198.18.1.1/24", "2001:2:0:1::1/64"]);
    let r = node(&network, "r");
    let known = r
        .neighbours
        .iter()
        .filter(|interface| interface.ethernet == server.interfaces[0].ethernet);
    assert_eq!(known.count(), 2);
    let client = node(&network, "client");
    let special = client
        .routes
        .iter()
        .filter(|route| route.options.congestion == "reno");
    assert_eq!(special.count(), 2);
    assert_eq!(network.server_host, None);
    let text = described("x", &network);
    let expected = "bare server, not IIS, W2, one round trip of a window, G = 250 µs, rto_min 50 ms, compound, initial \
                    window 2, fast recovery, SACK";
    assert!(text.contains(expected), "{text}");
}
