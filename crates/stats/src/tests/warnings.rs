//! Every warning in a run in which it must be given, and in one in which it must not.

use record::{AddressResponses, EventKind, Http, MeasureId, Outcome, RowOrigins, Sample};

use super::op;
use crate::testing::{self, RunBuilder};
use crate::{Conclusion, summarise};

fn put(users: u32) -> RunBuilder {
    RunBuilder::new(users).test("Upload", &[("Put1K", "PUT")])
}

fn ops(builder: RunBuilder, samples: impl IntoIterator<Item = Sample>) -> RunBuilder {
    samples
        .into_iter()
        .fold(builder, |builder, sample| builder.sample("Put1K", sample))
}

/// The one warning of that kind that the run gives, as text.
#[track_caller]
fn fires(kind: &str, builder: RunBuilder) -> String {
    let warnings = summarise(&builder.build()).warnings;
    let mut matching = warnings
        .iter()
        .filter(|warning| warning.kind.name() == kind);
    let found = matching
        .next()
        .unwrap_or_else(|| panic!("no {kind} in {warnings:?}"));
    assert_eq!(matching.next(), None, "twice");
    let shares = found.shares.iter();
    let shares = shares.map(|share| format!("{} {} of {}; ", share.name, share.count, share.of));
    shares.collect::<String>() + &format!("{:?}", found.detail)
}

#[track_caller]
fn silent(kind: &str, builder: RunBuilder) {
    let warnings = summarise(&builder.build()).warnings;
    assert!(
        warnings.iter().all(|warning| warning.kind.name() != kind),
        "{warnings:?}"
    );
}

#[test]
fn a_clean_run_of_a_hundred_gives_no_warning_at_all() {
    let run = put(3).ok("Put1K", 100, |i| 100 + i % 7).build();
    assert_eq!(summarise(&run).warnings, []);
}

#[test]
fn users_idle() {
    let text = fires("users_idle", ops(put(3), [op(0, 0, 10)]));
    assert!(text.contains("Upload 2 of 3"), "{text}");
    silent(
        "users_idle",
        ops(put(3), [op(0, 0, 10), op(1, 0, 10), op(2, 0, 10)]),
    );
    silent("users_idle", put(3));
    let unsupported = EventKind::NotSupported {
        test: record::TestId(0),
        step: None,
        evidence: "405".into(),
    };
    silent(
        "users_idle",
        put(3)
            .ops("Put1K", 1, Outcome::Unsupported, |_| 0)
            .run_event(unsupported),
    );
}

#[test]
fn no_overlap() {
    let apart = || ops(put(2), [op(0, 0, 10), op(1, 20, 30)]);
    let text = fires("no_overlap", apart());
    assert!(text.contains("Upload 0 of 2; Raise(Requests)"), "{text}");
    let by_duration = apart().with(|run| run.plan.load.requests = None);
    assert!(fires("no_overlap", by_duration).contains("Raise(Duration)"));
    silent("no_overlap", ops(put(2), [op(0, 0, 10), op(1, 10, 30)]));
}

#[test]
fn window_small() {
    let edges = [op(0, 0, 10), op(0, 10, 20), op(0, 20, 35)];
    let small = edges.clone().into_iter().chain([op(1, 25, 40)]);
    let text = fires("window_small", ops(put(2), small));
    assert!(text.contains("Upload 1 of 4; Raise(Requests)"), "{text}");
    // Operations that only maintained the load are no sign of a small window.
    let after = [op(1, 10, 40), op(1, 40, 50), op(1, 50, 60), op(1, 60, 70)];
    silent("window_small", ops(put(2), edges.into_iter().chain(after)));
}

#[test]
fn early_responses() {
    let mut early = op(0, 0, 100);
    early.moments.sent = Some(90);
    early.moments.first = Some(50);
    let text = fires(
        "early_responses",
        ops(put(1), [early.clone(), op(0, 100, 110)]),
    );
    assert!(text.contains("Put1K 1 of 2"), "{text}");
    early.outcome = Outcome::WrongStatus;
    silent("early_responses", ops(put(1), [early, op(0, 100, 110)]));
}

#[test]
fn shared_stamps() {
    let together = Sample {
        shares_first: true,
        ..op(0, 0, 10)
    };
    let text = fires("shared_stamps", ops(put(1), [op(0, 0, 10), together]));
    assert!(text.contains("Put1K 1 of 2"), "{text}");
    silent("shared_stamps", ops(put(1), [op(0, 0, 10)]));
}

#[test]
fn resent() {
    let again = Sample {
        resent: true,
        ..op(0, 0, 10)
    };
    assert!(fires("resent", ops(put(1), [again, op(0, 10, 20)])).contains("Put1K 1 of 2"));
    silent("resent", ops(put(1), [op(0, 0, 10)]));
}

#[test]
fn reconnects() {
    let connecting = |i: u64| Sample {
        connect: testing::connect(5, None),
        ..op(0, i * 10, i * 10 + 10)
    };
    let kept = |i: u64| op(0, i * 10, i * 10 + 10);
    let text = fires("reconnects", ops(put(1), (0..10).map(connecting)));
    assert!(text.contains("Put1K 10 of 10"), "{text}");
    silent(
        "reconnects",
        ops(put(1), (0..5).map(kept).chain((5..10).map(connecting))),
    );
    silent("reconnects", ops(put(1), (0..3).map(connecting)));
    let first_of_each_user = (0..10).map(|user| Sample {
        user: user as u32,
        ..connecting(0)
    });
    silent("reconnects", ops(put(10), first_of_each_user));
    // It was requested, of the whole run, or of the test.
    for http in [
        Http {
            keep_alive: false,
            ..Http::default()
        },
        Http {
            per_page: true,
            ..Http::default()
        },
    ] {
        let of_test = put(1).with(|run| run.plan.tests[0].http = Some(http));
        silent("reconnects", ops(of_test, (0..10).map(connecting)));
        let of_run = put(1).with(|run| run.plan.load.http = http);
        silent("reconnects", ops(of_run, (0..10).map(connecting)));
    }
}

#[test]
fn dropped() {
    let text = fires(
        "dropped",
        put(1)
            .ok("Put1K", 3, |_| 9)
            .ops("Put1K", 2, Outcome::Dropped, |_| 0),
    );
    assert!(text.contains("Put1K 2 of 5"), "{text}");
    silent(
        "dropped",
        put(1)
            .ok("Put1K", 3, |_| 9)
            .ops("Put1K", 2, Outcome::Timeout, |_| 0),
    );
}

/// Where the responses of a row came from: from a cache, and from addresses of two servers.
fn origins(cached: u64, addresses: &[(u16, &str, u64)]) -> EventKind {
    let addresses = addresses.iter();
    EventKind::Origins(RowOrigins {
        measure: MeasureId(0),
        cached,
        cache: (cached > 0).then(|| "varnish".to_owned()),
        addresses: addresses
            .map(|&(target, address, responses)| AddressResponses {
                target,
                address: address.to_owned(),
                responses,
            })
            .collect(),
    })
}

#[test]
fn cached() {
    let hundred = || put(1).ok("Put1K", 100, |_| 100);
    let threads = || {
        hundred()
            .run_event(origins(60, &[]))
            .run_event(origins(38, &[]))
    };
    let text = fires("cached", threads());
    assert_eq!(text, "Put1K 98 of 100; Text(\"varnish\")");
    let summary = summarise(&threads().build());
    assert_eq!(summary.tests[0].conclusion(), Conclusion::Pass);
    silent("cached", hundred());
}

#[test]
fn several_addresses() {
    let hundred = || put(1).ok("Put1K", 100, |_| 100);
    let both = origins(0, &[(0, "a:80", 70), (0, "b:80", 30)]);
    let text = fires("several_addresses", hundred().run_event(both));
    assert_eq!(text, "Put1K 30 of 100; Text(\"a:80 70, b:80 30\")");
    let servers = origins(0, &[(0, "a:80", 50), (1, "b:80", 50)]);
    silent("several_addresses", hundred().run_event(servers));
}

#[test]
fn few_for_percentiles() {
    let text = fires("few_for_percentiles", put(1).ok("Put1K", 99, |_| 100));
    assert!(text.contains("Put1K 99 of 100; Raise(Requests)"), "{text}");
    silent("few_for_percentiles", put(1).ok("Put1K", 100, |_| 100));
    silent("few_for_percentiles", put(1));
}

#[test]
fn orphans() {
    let stray = |builder: RunBuilder| {
        builder.with(|run| {
            run.samples
                .push(testing::sample(MeasureId(1), 0, Outcome::Ok))
        })
    };
    assert!(fires("orphans", stray(put(1))).starts_with("Count(1)"));
    silent(
        "orphans",
        stray(put(1).test("Delete", &[("Delete", "DELETE")])),
    );
}

#[test]
fn recorded() {
    let warning = || EventKind::Warning {
        text: "the clock was set".into(),
    };
    assert_eq!(
        fires("recorded", put(1).run_event(warning()).run_event(warning())),
        "Text(\"the clock was set\")"
    );
    silent("recorded", put(1).run_event(EventKind::Interrupted));
}
