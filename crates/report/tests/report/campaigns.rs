//! A campaign made by hand: three mixes, two servers, three repetitions, some of them missing or
//! unfinished.

use std::collections::BTreeMap;

use experiment::{
    BesideSummary, CampaignRecord, CampaignSummary, CellEstimate, CellFigure, ChartSummary,
    EstimateWarning, ExperimentSpec, FigureRange, FindingPart, FindingSummary, LevelCombination,
    OrderingCount, OutsideFigure, PairVerdict, ShownUnit, TableSummary, TrialRecord,
};
use figures::{Axis, Figure, FigureMark, MarkLook, MarkShape, Panel, Series};
use report::CampaignReport;
use serde_json::{Value, json};

pub(crate) struct Campaign {
    pub(crate) record: CampaignRecord,
    pub(crate) summary: CampaignSummary,
    pub(crate) trials: Vec<TrialRecord>,
    pub(crate) beside: Option<BesideSummary>,
    pictures: [Figure; 2],
}

impl Campaign {
    pub(crate) fn report(&self) -> CampaignReport<'_> {
        let mut report = CampaignReport::new(&self.record, &self.summary, &self.trials);
        report.picture = Some(&self.pictures);
        report.beside = self.beside.as_ref();
        report
    }
}

fn pictures() -> [Figure; 2] {
    let node = |x: f64| {
        let around = MarkShape::Rect {
            x: (x - 0.3, x + 0.3),
            y: (10.0, 40.0),
        };
        FigureMark::new(around, MarkLook::of(0)).with_row(["node".to_owned()])
    };
    let picture = Figure {
        id: "lab".to_owned(),
        title: "congestion".to_owned(),
        columns: vec!["what".to_owned()],
        panels: vec![Panel {
            series: vec![Series {
                key: None,
                marks: vec![node(0.0), node(1.0)],
            }],
            ..Panel::new(Axis::bare(-0.5, 1.5), Axis::bare(0.0, 50.0), 50.0)
        }],
        ..Figure::default()
    };
    [picture.clone(), picture]
}

fn cell(mean: f64, half: f64, published: Option<f64>) -> CellEstimate {
    let range = |half: f64| FigureRange {
        low: mean - half,
        high: mean + half,
    };
    CellEstimate {
        count: 3,
        mean: Some(mean),
        interval: Some(range(half)),
        prediction: Some(range(half * 1.414)),
        published,
        unfinished: 0,
        warnings: Vec::new(),
    }
}

fn single(mean: f64, published: Option<f64>) -> CellEstimate {
    CellEstimate {
        count: 1,
        interval: None,
        prediction: None,
        ..cell(mean, 0.0, published)
    }
}

fn doubtful(of: CellEstimate) -> CellEstimate {
    CellEstimate {
        warnings: vec![EstimateWarning::HeavyTail, EstimateWarning::Changing],
        ..of
    }
}

fn missing(published: f64) -> CellEstimate {
    CellEstimate {
        published: Some(published),
        ..CellEstimate::default()
    }
}

fn unfinished(mean: f64, half: f64, published: f64) -> CellEstimate {
    CellEstimate {
        unfinished: 1,
        ..cell(mean, half, Some(published))
    }
}

fn combination(mix: &str, server: &str) -> LevelCombination {
    let levels = [("mix", mix), ("server", server)];
    let levels = levels.map(|(factor, level)| (factor.to_owned(), level.to_owned()));
    LevelCombination(BTreeMap::from(levels))
}

/// Every text of it is `text` of a plain one.
pub(crate) fn campaign(text: &dyn Fn(&str) -> String) -> Campaign {
    Campaign {
        record: record(text),
        summary: CampaignSummary {
            planned_trials: 18,
            ended_trials: 14,
            failures: vec![(text("apache did not start within 10 s"), 1)],
            warnings: vec![(
                text("background traffic reached 96 % of its planned rate"),
                2,
            )],
            cells: cells(),
            tables: tables(text),
            charts: charts(text),
            findings: findings(text),
        },
        trials: trials(text),
        beside: Some(beside()),
        pictures: pictures(),
    }
}

pub(crate) fn plain() -> Campaign {
    campaign(&str::to_owned)
}

fn beside() -> BesideSummary {
    BesideSummary {
        compared: 12,
        within: 11,
        share: Some(11.0 / 12.0),
        outside: vec![OutsideFigure {
            cell: combination("c1", "apache"),
            figure: "server.captured".to_owned(),
            prediction: FigureRange {
                low: 50.66,
                high: 51.82,
            },
            mean: 53.4,
        }],
    }
}

fn record(text: &dyn Fn(&str) -> String) -> CampaignRecord {
    let level = |name: &str, title: &str, value: Value| json!({"name": name, "title": text(title), "values": value});
    let experiment: ExperimentSpec = serde_json::from_value(json!({
        "title": text("Web servers behind a congested link"),
        "source": text("A dissertation (2012), chapter 3"),
        "lab": text("congestion"),
        "factors": [
            {"name": "mix", "title": text("Mix"), "levels": [
                level("c1", "C1", json!({"stress": "50mbit", "background": "40mbit"})),
                level("c2", "C2", json!({"stress": "25mbit", "background": "60mbit"})),
                level("c3", "C3", json!({"stress": "60mbit", "background": "30mbit"})),
            ]},
            {"name": "server", "title": text("Server"), "servers": true, "levels": [
                level("apache", "Apache, CUBIC", json!({"recipe": "apache", "congestion": "cubic"})),
                level("iis", "stand-in for IIS", json!({"recipe": "bare", "congestion": text("compound")})),
            ]},
        ],
        "trial": {"settle": "5s", "measured": {"browser": {"from": "client", "to": "server", "path": text("/504k")}}},
        "figures": {
            "browser.delay": {"title": text("Delay"), "unit": "s", "more_is_better": false},
            "server.captured": {"title": text("Server throughput"), "unit": "mbit", "more_is_better": true},
        },
        "tables": [
            {"name": text("Table 8"), "title": text("Delay and throughput"), "rows": ["mix", "server"], "columns": []},
            {"name": text("Table 9"), "title": text("Smaller files"), "rows": ["mix"], "columns": []},
        ],
        "findings": [
            {"claim": text("CUBIC delays more than Compound where background traffic is greatest"), "source": text("p. 17"),
             "figure": "browser.delay", "of": {}, "than": {}, "relation": "more",
             "note": text("The stand-in has no delay-based window.")},
            {"claim": text("Throughput does not depend on the size of the file"), "figure": "server.captured",
             "of": {}, "than": {}, "relation": "about"},
            {"claim": text("A finding of other cells"), "figure": "server.captured", "of": {}, "than": {}, "relation": "less"},
        ],
        "differences": [text("The clients are programs, not browsers."), text("Compound TCP is a stand-in, not IIS.")],
    }))
    .unwrap();
    let facts = [
        ("kernel", "Linux 6.12"),
        ("processor", "Example 3000, 2 processors"),
        ("congestion control of server", "cubic"),
        ("apache", "2.4.66"),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), text(value)));
    let mixes = ["c1", "c2", "c3"].into_iter();
    let cells = mixes.flat_map(|mix| ["apache", "iis"].map(|server| combination(mix, server)));
    CampaignRecord {
        format: 1,
        program: text("0.1.0"),
        name: text("congestion"),
        experiment,
        cells: cells.collect(),
        repetitions: 3,
        seed: 7,
        command: text("prestan lab run congestion --repeat 3 --seed 7"),
        started: text("2026-11-21T04:06:00Z"),
        facts: BTreeMap::from(facts),
    }
}

fn cells() -> Vec<CellFigure> {
    let of = |mix, server, figure: &str, unit, estimate| CellFigure {
        cell: combination(mix, server),
        figure: figure.to_owned(),
        unit,
        estimate,
    };
    let (delay, captured) = ("browser.delay", "server.captured");
    vec![
        of(
            "c1",
            "apache",
            delay,
            ShownUnit::S,
            doubtful(cell(3.41, 0.32, Some(16.27))),
        ),
        of(
            "c1",
            "apache",
            captured,
            ShownUnit::Mbit,
            cell(51.24, 0.41, Some(55.34)),
        ),
        of(
            "c2",
            "apache",
            delay,
            ShownUnit::S,
            unfinished(62.0, 70.0, 29.09),
        ),
        of("c3", "iis", delay, ShownUnit::Ms, missing(34_350.0)),
    ]
}

fn tables(text: &dyn Fn(&str) -> String) -> Vec<TableSummary> {
    let row = |mix: &str, server: &str| vec![text(mix), text(server)];
    vec![TableSummary {
        name: text("Table 8"),
        title: text("Delay and throughput"),
        row_factors: vec![text("Mix"), text("Server")],
        rows: vec![
            row("C1", "Apache, CUBIC"),
            row("C1", "stand-in for IIS"),
            row("C2", "Apache, CUBIC"),
            row("C3", "stand-in for IIS"),
        ],
        columns: vec![
            (text("Delay"), ShownUnit::S),
            (text("Server throughput"), ShownUnit::Mbit),
            (text("Shared bandwidth"), ShownUnit::Percent),
        ],
        cells: vec![
            vec![
                cell(3.41, 0.32, Some(16.27)),
                cell(51.24, 0.41, Some(55.34)),
                cell(84.1, 2.0, None),
            ],
            vec![
                cell(2.2, 0.41, Some(31.01)),
                cell(52.02, 0.2, Some(63.92)),
                single(91.0, None),
            ],
            vec![
                unfinished(62.0, 70.0, 29.09),
                cell(26.1, 1.2, Some(32.48)),
                doubtful(cell(95.7, 12.0, None)),
            ],
            vec![missing(34.35), missing(79.96), CellEstimate::default()],
        ],
        orders: vec![
            OrderingCount {
                same: 1,
                reversed: 1,
                inconclusive: 1,
            },
            OrderingCount {
                same: 3,
                reversed: 0,
                inconclusive: 0,
            },
            OrderingCount::default(),
        ],
        note: None,
    }]
}

fn charts(text: &dyn Fn(&str) -> String) -> Vec<ChartSummary> {
    let names = |names: &[&str]| names.iter().map(|name| text(name)).collect();
    vec![
        ChartSummary {
            name: text("Figure 2"),
            title: text("Server delay: 504 KB"),
            figure: (text("Delay"), ShownUnit::S),
            groups: names(&["C1", "C2", "C3"]),
            bars: names(&["Apache, CUBIC", "stand-in for IIS"]),
            values: vec![
                vec![cell(3.41, 0.32, Some(16.27)), cell(2.2, 0.41, Some(31.01))],
                vec![unfinished(9.0, 14.0, 29.09), cell(3.0, 1.1, Some(30.08))],
                vec![cell(4.4, 0.2, Some(21.88)), missing(34.35)],
            ],
        },
        ChartSummary {
            name: text("Figure 12"),
            title: text("Delays without published figures"),
            figure: (text("Delay"), ShownUnit::Ms),
            groups: names(&[
                "nginx",
                "a server whose name is longer than any panel has room for, by far",
            ]),
            bars: names(&[""]),
            values: vec![vec![cell(3.41, 0.32, None)], vec![cell(310.0, 20.0, None)]],
        },
    ]
}

fn findings(text: &dyn Fn(&str) -> String) -> Vec<FindingSummary> {
    let part = |cell: &str, of, than, verdict| FindingPart {
        cell: text(cell),
        of,
        than,
        verdict,
    };
    vec![
        FindingSummary {
            claim: text("Throughput does not depend on the size of the file"),
            source: None,
            verdict: PairVerdict::Inconclusive,
            parts: vec![
                part(
                    "C1",
                    cell(51.2, 0.4, None),
                    cell(51.0, 0.4, None),
                    PairVerdict::Holds,
                ),
                part(
                    "C2",
                    cell(26.1, 1.2, None),
                    single(27.0, None),
                    PairVerdict::Inconclusive,
                ),
            ],
        },
        FindingSummary {
            claim: text("CUBIC delays more than Compound where background traffic is greatest"),
            source: Some(text("p. 17")),
            verdict: PairVerdict::Fails,
            parts: vec![part(
                "",
                cell(2.2, 0.4, None),
                cell(3.4, 0.3, None),
                PairVerdict::Fails,
            )],
        },
        FindingSummary {
            claim: text("The mix with the most stress has the highest throughput"),
            source: Some(text("Figure 5")),
            verdict: PairVerdict::Holds,
            parts: vec![part(
                "C3",
                cell(64.0, 0.4, None),
                cell(51.0, 0.3, None),
                PairVerdict::Holds,
            )],
        },
    ]
}

fn trials(text: &dyn Fn(&str) -> String) -> Vec<TrialRecord> {
    let trial = |mix: &str, repetition: u32, figures: &[(&str, f64)]| {
        let figures: BTreeMap<&str, f64> = figures.iter().copied().collect();
        let record = json!({
            "cell": combination(mix, "apache"), "repetition": repetition, "started": text("2026-11-21T04:06:10Z"),
            "seconds": 14.25, "figures": figures,
            "facts": {"congestion of server": if mix == "c1" { text("cubic") } else { text("reno") }},
        });
        serde_json::from_value::<TrialRecord>(record).unwrap()
    };
    vec![
        trial(
            "c1",
            1,
            &[
                ("browser.delay", 3.31),
                ("server.captured", 51.1e6),
                ("path.rtt", 0.000_31),
            ],
        ),
        TrialRecord {
            warnings: vec![text("background traffic reached 96 % of its planned rate")],
            ..trial(
                "c2",
                1,
                &[("browser.delay", 120.0), ("browser.unfinished", 1.0)],
            )
        },
        TrialRecord {
            failed: Some(text("apache did not start within 10 s")),
            ..trial("c3", 1, &[])
        },
    ]
}
