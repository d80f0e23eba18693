//! The built-in experiments: their published figures, and their trials in some cells.

use std::collections::BTreeMap;

use experiment::{BARE_RECIPE, ExperimentSpec, LevelCombination, PublishedFigures, TrialSetup};
use topology::LabNodeKind;

use crate::support::{built_in, cell, recorded};

fn setup(spec: &ExperimentSpec, levels: &[(&str, &str)]) -> TrialSetup {
    spec.setup(&cell(levels))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Experiment, cell, figure, and its value in the dissertation's appendix. `*`: mean over a factor.
type Published = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<f64>,
);

const PUBLISHED: &[Published] = &[
    // Tables 8, 13, 14, 15; 2 and 3.
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C1"),
            ("size", "504k"),
            ("servers", "apache"),
        ],
        "request.delay",
        Some(16.27),
    ),
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C3"),
            ("size", "160k"),
            ("servers", "not-iis"),
        ],
        "server.new",
        Some(64.17),
    ),
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C2"),
            ("size", "504k"),
            ("servers", "not-iis-and-apache"),
        ],
        "stress.throughput",
        Some(24.28),
    ),
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C2"),
            ("size", "504k"),
            ("servers", "apache-and-not-iis"),
        ],
        "request.delay",
        Some(42.42),
    ),
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C2"),
            ("size", "*"),
            ("servers", "apache"),
        ],
        "stress.share",
        Some(95.7),
    ),
    (
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C3"),
            ("size", "504k"),
            ("servers", "apache-and-not-iis"),
        ],
        "bt.share",
        Some(98.0),
    ),
    // Tables 16, 23, 4.
    (
        "competing",
        &[("servers", "four-apache")],
        "request2.delay",
        Some(36.0),
    ),
    // Not the 50 s of the text.
    (
        "competing",
        &[("servers", "mixed")],
        "request2.delay",
        Some(21.45),
    ),
    (
        "competing",
        &[("servers", "not-iis")],
        "stress2.share",
        Some(88.1),
    ),
    // Tables 27, 32, 6, 35.
    (
        "timers",
        &[
            ("background", "125"),
            ("weight", "W6"),
            ("strategy", "some"),
        ],
        "request.delay",
        Some(2653.046),
    ),
    (
        "timers",
        &[("background", "100"), ("weight", "W1"), ("strategy", "all")],
        "request.throughput",
        Some(0.461),
    ),
    (
        "timers",
        &[("background", "125"), ("weight", "W9"), ("strategy", "one")],
        "rto.short_exceeded_long",
        Some(4.0),
    ),
    (
        "timers",
        &[("background", "75"), ("weight", "W1"), ("strategy", "one")],
        "rto.short_exceeded",
        Some(17.0),
    ),
    (
        "timers",
        &[("background", "125"), ("weight", "W9"), ("strategy", "one")],
        "avoided.1.00",
        Some(54.17),
    ),
    (
        "timers",
        &[("background", "75"), ("weight", "W1"), ("strategy", "one")],
        "avoided.1.00",
        None,
    ),
    // Tables 36 and 38.
    (
        "pairs",
        &[("background", "125"), ("pair", "apache-and-bare")],
        "second.goodput",
        Some(0.04),
    ),
    (
        "pairs",
        &[("background", "125"), ("pair", "not-iis-and-bare")],
        "second.delay",
        Some(37.84),
    ),
    // Tables 39 to 42, and the delays without congestion.
    (
        "ipv6",
        &[("condition", "C5B"), ("ip", "v6"), ("server", "bare")],
        "request.goodput",
        Some(3.2),
    ),
    // 0.088 s.
    (
        "ipv6",
        &[("condition", "C5B"), ("ip", "v4"), ("server", "apache")],
        "request.delay",
        Some(88.0),
    ),
    (
        "ipv6",
        &[("condition", "none"), ("ip", "v6"), ("server", "bare")],
        "request.delay",
        Some(116.0),
    ),
];

#[test]
fn published_figures_are_those_of_the_dissertation() {
    let mut read = BTreeMap::new();
    for (name, levels, figure, expected) in PUBLISHED {
        let (spec, published) = read.entry(*name).or_insert_with(|| {
            let spec = built_in(name);
            let published = PublishedFigures::read(&spec).unwrap();
            (spec, published)
        });
        let all = spec.all_cells();
        let is_meant = |cell: &&LevelCombination| {
            let mut levels = levels.iter();
            levels.all(|(factor, level)| *level == "*" || cell.level(factor) == *level)
        };
        let some: Vec<LevelCombination> = all.iter().filter(is_meant).cloned().collect();
        assert!(!some.is_empty(), "{name} {levels:?}");
        let found = published.of(figure, &some, &all);
        assert_eq!(found, *expected, "{name} {levels:?} {figure}");
    }
}

#[test]
fn shares_of_the_dissertation_are_client_throughput_over_the_planned_rate() {
    let spec = built_in("congestion");
    let published = PublishedFigures::read(&spec).unwrap();
    let all = spec.all_cells();
    for (scenario, stress, bt) in [("C1", 50.0, 40.0), ("C2", 25.0, 60.0), ("C3", 60.0, 30.0)] {
        for servers in ["apache", "not-iis"] {
            let is_meant = |cell: &&LevelCombination| {
                cell.level("scenario") == scenario
                    && cell.level("servers") == servers
                    && cell.level("after") == "8s"
            };
            let some: Vec<LevelCombination> = all.iter().filter(is_meant).cloned().collect();
            let value = |figure: &str| published.of(figure, &some, &all).unwrap();
            for (share, throughput, planned) in [
                ("stress.share", "stress.throughput", stress),
                ("bt.share", "bt.throughput", bt),
            ] {
                let computed = 100.0 * value(throughput) / planned;
                // Table 2 has one decimal, truncated or rounded.
                let printed = value(share);
                assert!(
                    (computed - printed).abs() < 0.16,
                    "{scenario} {servers}: {printed}, {computed}"
                );
            }
        }
    }
}

#[test]
fn trials_are_what_the_papers_describe() {
    let congestion = built_in("congestion");
    let c1 = [("after", "8s"), ("scenario", "C1"), ("size", "504k")];
    let apache = setup(&congestion, &[c1[0], c1[1], c1[2], ("servers", "apache")]);
    let rate = |setup: &TrialSetup, name: &str| setup.trial.requests[name].rate.bits_per_second();
    assert_eq!(rate(&apache, "stress"), 50_000_000);
    assert_eq!(rate(&apache, "bt"), 40_000_000);
    assert_eq!(apache.trial.servers.len(), 2);
    assert_eq!(
        apache.trial.measured["request"].path.as_deref(),
        Some("/504k")
    );
    // The stress requests 320 KB, whatever is measured.
    assert_eq!(apache.trial.requests["stress"].path, "/320k");
    let different = setup(
        &congestion,
        &[c1[0], c1[1], c1[2], ("servers", "not-iis-and-apache")],
    );
    assert_eq!(different.trial.servers["server"].recipe, BARE_RECIPE);
    assert_eq!(different.trial.servers["bt-server"].recipe, "apache");
    assert!(different.is_bare("server") && !different.is_bare("bt-server"));
    let idle = [
        ("after", "8s"),
        ("scenario", "none"),
        ("size", "160k"),
        ("servers", "apache"),
    ];
    let idle = setup(&congestion, &idle).trial;
    assert!(idle.requests.is_empty() && idle.traffic.is_none());

    // Three servers.
    let competing = setup(&built_in("competing"), &[("servers", "mixed")]).trial;
    assert_eq!((competing.servers.len(), competing.requests.len()), (3, 3));

    let timers = built_in("timers");
    let levels = [("background", "75"), ("weight", "W9"), ("strategy", "some")];
    let trial = setup(&timers, &levels);
    let node = trial.network.find("server").unwrap();
    let LabNodeKind::Bare(server) = trial.network.nodes[node].kind else {
        panic!("the server is a bare host");
    };
    let weights = server.sender.rto.weights;
    assert_eq!((weights.alpha, weights.beta), (1.0 / 16.0, 1.0 / 8.0));
    assert_eq!(rate(&trial, "bt"), 67_500_000);

    let ipv6 = built_in("ipv6");
    let levels = [("condition", "C5B"), ("ip", "v6"), ("server", "apache")];
    let trial = setup(&ipv6, &levels).trial;
    assert!(trial.servers["server"].ipv6);
    let traffic = trial.traffic.unwrap();
    let flows = traffic.file.loads["mix"].flows.iter().map(|flow| flow.n);
    assert_eq!(flows.sum::<u32>(), 10);

    let versions = built_in("http-versions");
    // Its flows go in both directions.
    let with_flows = versions.all_cells();
    let with_flows = with_flows.iter().find(|cell| cell.level("flows") == "50");
    let in_both = versions.setup(with_flows.unwrap()).unwrap();
    for figure in ["traffic.flow.rate", "traffic.flow.backward.rate"] {
        assert!(in_both.has_figure(figure), "{figure}");
    }
    assert!(!in_both.has_figure("traffic.flow.forward.rate"));
    let levels = [
        ("setup", "one-segment-13"),
        ("flows", "50"),
        ("server", "apache"),
    ];
    let trial = setup(&versions, &levels);
    assert!(
        trial.network.find("hub").is_some(),
        "the lab is that of the level"
    );
    let levels = [("setup", "http2-6"), ("flows", "0"), ("server", "apache")];
    let trial = setup(&versions, &levels).trial;
    assert_eq!(trial.servers["ltpc8"].recipe, "apache,http=2");
    assert!(trial.traffic.is_none());
}

#[test]
fn figures_have_names_that_depend_on_the_cell_and_differences() {
    let record = |name: &str, levels: &[(&str, &str)], figures: &[(&str, f64)]| {
        let trial = recorded(&cell(levels), 1, figures);
        built_in(name).with_own_figures(&[trial]).remove(0).figures
    };
    let timers = record(
        "timers",
        &[("background", "75"), ("weight", "W5"), ("strategy", "all")],
        &[
            ("server.rto.W5.all.short_within", 0.75),
            ("server.rto.W1.all.short_within", 0.25),
        ],
    );
    assert_eq!(timers["rto.short_within"], 0.75);
    assert!(!timers.contains_key("rto.long_within"));
    let congestion = record(
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C1"),
            ("size", "504k"),
            ("servers", "apache"),
        ],
        &[("stress.share", 0.25), ("bt.share", 0.75)],
    );
    assert_eq!(congestion["share.apart"], 0.5);
    let one_side = record(
        "congestion",
        &[
            ("after", "8s"),
            ("scenario", "C1"),
            ("size", "504k"),
            ("servers", "apache"),
        ],
        &[("stress.share", 0.25)],
    );
    assert!(!one_side.contains_key("share.apart"));
}
