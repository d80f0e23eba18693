//! PROPFIND over collections of several sizes. The time that counts is that until the response is
//! complete: a server that streams has sent its first byte long before.

use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, Mean, NOTICEABLE, SizeUnit, SoundRow, families};
use crate::diagnose::figure::{Evidence, NamedQuantity, bytes, count, ratio, share, text, time};
use crate::diagnose::line::{FittedLine, line};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "cost-per-member",
        // µs for each member, beside the time of its bytes on the network; a directory entry is
        // read and written as XML in 5 to 30 µs, and by a script in less than 100.
        at_least: 100.0,
        figures: &["listing", "each", "members", "whole"],
        find: Detector::Once(per_member),
    },
    DiagnosisRule {
        name: "bytes-per-member",
        // bytes of the response to five named properties per member; most servers write 300 to 900.
        at_least: 2000.0,
        figures: &["bytes", "members", "whole"],
        find: Detector::Once(bytes_per_member),
    },
    DiagnosisRule {
        name: "listing-outgrows-members",
        // times the work for each member in the largest collection as in the next one; sizes
        // that fit no cache make 1.1 to 1.3.
        at_least: 1.5,
        figures: &["members", "whole", "fewer", "whole_of_fewer", "ratio"],
        find: Detector::EachTime(outgrows),
    },
    DiagnosisRule {
        name: "depth-zero-counts-members",
        // times the work for the largest collection as for the smallest, and 0.5 ms more; no member
        // is requested.
        at_least: 2.0,
        figures: &["members", "response", "fewest", "response_of_fewest"],
        find: Detector::Once(depth_zero),
    },
    DiagnosisRule {
        name: "allprop-against-named",
        // times as long for each member, and 50 µs at least; the further properties of allprop are
        // a few short texts.
        at_least: 2.0,
        figures: &["each", "each_beside", "ratio"],
        find: Detector::Once(allprop),
    },
    DiagnosisRule {
        name: "collections-against-files",
        // times as long for each member, and 50 µs; both are an entry of the collection.
        at_least: 2.0,
        figures: &["each", "each_beside", "ratio"],
        find: Detector::Once(collections),
    },
    DiagnosisRule {
        name: "buffered-listing",
        // of the time of the whole response passes before its first byte, of a response of 1 MiB
        // and after 1 s at least; most servers make smaller ones whole, which does not matter.
        at_least: 0.9,
        figures: &["row", "bytes", "first_byte", "share"],
        find: Detector::Once(buffered),
    },
];

/// Members below which times for each member say little.
const MANY: u32 = 100;

/// Nanoseconds that a member may cost more than one of another kind.
const PER_MEMBER: f64 = 50e3;

/// Bytes of a response that is called large.
const LARGE: f64 = 1_048_576.0;

/// Nanoseconds without a byte after which people assume a failure.
const LONG: f64 = 1e9;

/// Nanoseconds that a small request may lose after a large one, of which caches are full.
const COLD_AGAIN: f64 = 500e3;

struct ListingCost {
    name: &'static str,
    rows: Vec<(u32, Mean)>,
    line: FittedLine,
    /// Bytes of the response for each member.
    bytes: f64,
}

impl ListingCost {
    fn of(case: &Case<'_>, name: &'static str) -> Option<ListingCost> {
        let family = case.family(name);
        let whole = |(size, row): &(u32, SoundRow<'_>)| Some((*size, row.whole()?));
        let rows: Vec<(u32, Mean)> = family.iter().filter_map(whole).collect();
        let points: Vec<_> = rows.iter().map(|(size, mean)| mean.point(*size)).collect();
        let (size, largest) = family.last()?;
        Some(ListingCost {
            name,
            rows,
            line: line(&points)?,
            bytes: bytes_of(largest) / f64::from((*size).max(1)),
        })
    }

    /// Nanoseconds of all rows beyond so much for each member.
    fn beyond(&self, each: f64) -> f64 {
        let base = self.line.base.0.max(0.0);
        let beyond = |(size, mean): &(u32, Mean)| mean.beyond(base + each * f64::from(*size));
        self.rows.iter().map(beyond).sum()
    }

    /// True if each member significantly costs `each`, and noticeably more at the largest size.
    fn is_dear(&self, each: f64) -> bool {
        let largest = self.rows.last().map_or(0.0, |(size, _)| f64::from(*size));
        self.each().0 >= each && (self.line.slope.0 - each) * largest >= NOTICEABLE
    }

    /// Time for each member: its lower bound, and its upper bound.
    fn each(&self) -> (f64, f64) {
        let (slope, half) = self.line.slope;
        (slope - half, slope + half)
    }

    fn figure(&self, name: &'static str) -> NamedQuantity {
        let (low, high) = self.each();
        NamedQuantity {
            interval: Some((low.max(0.0), high)),
            ..time(name, self.line.slope.0)
        }
    }

    fn evidence(&self) -> Evidence {
        let mut figures = vec![
            self.figure("each"),
            time("fixed", self.line.base.0.max(0.0)),
        ];
        if let Some((size, mean)) = self.rows.last() {
            figures.extend([count("members", u64::from(*size)), mean.figure("whole")]);
        }
        Evidence {
            row: self.name.to_owned(),
            figures,
        }
    }

    fn tests(&self) -> Vec<String> {
        self.rows.iter().map(|(_, mean)| mean.row.clone()).collect()
    }

    fn run(&self) -> usize {
        self.rows.first().map_or(0, |(_, mean)| mean.run)
    }
}

pub(super) fn bytes_of(row: &SoundRow<'_>) -> f64 {
    row.course.received as f64 / row.course.operations.max(1) as f64
}

/// Nanoseconds that the network takes for a byte, by GET of a large file and of a small one; 0
/// where these are not known.
pub(super) fn nanos_per_byte(case: &Case<'_>) -> f64 {
    let whole = |name: &str| {
        let row = case.row(name)?;
        Some((bytes_of(&row), row.whole()?.mean))
    };
    let (Some((small, quick)), Some((large, slow))) = (whole("Get1K"), whole("Get1024K")) else {
        return 0.0;
    };
    if large > 2.0 * small {
        ((slow - quick) / (large - small)).max(0.0)
    } else {
        0.0
    }
}

fn per_member(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let per_byte = nanos_per_byte(case);
    let normal = |growth: &ListingCost| at_least * 1e3 + growth.bytes * per_byte;
    let growths = families(SizeUnit::Listed).filter_map(|name| ListingCost::of(case, name));
    let mut growths: Vec<ListingCost> = growths
        .filter(|growth| growth.is_dear(normal(growth)))
        .collect();
    growths.sort_by(|one, other| other.each().0.total_cmp(&one.each().0));
    // The plain one is the one to talk about, where it is one of them.
    let plain = growths.iter().position(|growth| growth.name == "Depth1");
    let shown = growths.get(plain.unwrap_or(0))?;
    let (size, largest) = shown.rows.last()?;
    let mut found = Detection {
        figures: vec![
            text("listing", shown.name),
            shown.figure("each"),
            count("members", u64::from(*size)),
            largest.figure("whole"),
        ],
        run: shown.run(),
        ..Detection::default()
    };
    for growth in &growths {
        found.evidence.push(growth.evidence());
        found.tests.extend(growth.tests());
        found.saved += growth.beyond(normal(growth));
    }
    Some(found)
}

fn bytes_per_member(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let growth = ListingCost::of(case, "Depth1")?;
    let (size, _) = growth.rows.last().filter(|(size, _)| *size >= MANY)?;
    if growth.bytes < at_least {
        return None;
    }
    let figures = vec![
        bytes("bytes", growth.bytes),
        count("members", u64::from(*size)),
        bytes("whole", growth.bytes * f64::from(*size)),
    ];
    let evidence = vec![Evidence {
        row: growth.name.to_owned(),
        figures: figures.clone(),
    }];
    let excess = (growth.bytes - at_least) * nanos_per_byte(case);
    let members = |(size, mean): &(u32, Mean)| f64::from(*size) * mean.n as f64;
    Some(Detection {
        figures,
        evidence,
        tests: growth.tests(),
        run: growth.run(),
        saved: excess * growth.rows.iter().map(members).sum::<f64>(),
        ..Detection::default()
    })
}

/// A large collection and the next smaller one, and the time of the larger at the threshold.
struct Outgrown {
    smaller: (u32, Mean),
    larger: (u32, Mean),
    times: f64,
    normal: f64,
}

fn outgrows(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let outgrown = |name| {
        let rows = case.family(name).into_iter();
        let rows: Vec<(u32, Mean)> = rows
            .filter_map(|(size, row)| Some((size, row.whole()?)))
            .collect();
        let [.., smaller, larger] = &rows[..] else {
            return None;
        };
        let times = f64::from(larger.0) / f64::from(smaller.0);
        let normal = case.normal_if_slower(&larger.1, &smaller.1, at_least * times)?;
        (smaller.0 >= MANY).then(|| Outgrown {
            smaller: smaller.clone(),
            larger: larger.clone(),
            times,
            normal,
        })
    };
    let all: Vec<Outgrown> = families(SizeUnit::Listed).filter_map(outgrown).collect();
    let first = all.first()?;
    let ((fewer, smaller), (members, larger)) = (&first.smaller, &first.larger);
    let mut found = Detection {
        figures: vec![
            count("members", u64::from(*members)),
            larger.figure("whole"),
            count("fewer", u64::from(*fewer)),
            smaller.figure("whole_of_fewer"),
            ratio("ratio", larger.mean / (smaller.mean * first.times)),
        ],
        run: larger.run,
        ..Detection::default()
    };
    for one in &all {
        found.add(&[&one.larger.1, &one.smaller.1]);
        found.saved += one.larger.1.beyond(one.normal);
    }
    Some(found)
}

fn depth_zero(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let family = case.family("Depth0");
    let ((few, smallest), (many, largest)) = (family.first()?, family.last()?);
    let (small, large) = (smallest.response()?, largest.response()?);
    let normal = case.normal_if_slower(&large, &small, at_least)?;
    if large.mean - normal < COLD_AGAIN {
        return None;
    }
    Some(Detection {
        figures: vec![
            count("members", u64::from(*many)),
            large.figure("response"),
            count("fewest", u64::from(*few)),
            small.figure("response_of_fewest"),
        ],
        saved: large.beyond(normal),
        ..Detection::on(&[&large, &small])
    })
}

fn allprop(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    beside(case, "Allprop", "Depth1", at_least)
}

fn collections(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    beside(case, "Collections", "Depth1", at_least)
}

/// Compares two kinds of listings by the cost of a member.
fn beside(
    case: &Case<'_>,
    dear: &'static str,
    cheap: &'static str,
    at_least: f64,
) -> Option<Detection> {
    let (dear, cheap) = (ListingCost::of(case, dear)?, ListingCost::of(case, cheap)?);
    let normal = (at_least * cheap.each().1).max(PER_MEMBER);
    if cheap.line.slope.0 <= 0.0 || !dear.is_dear(normal) {
        return None;
    }
    Some(Detection {
        figures: vec![
            dear.figure("each"),
            cheap.figure("each_beside"),
            ratio("ratio", dear.line.slope.0 / cheap.line.slope.0),
        ],
        evidence: vec![dear.evidence(), cheap.evidence()],
        tests: [dear.tests(), cheap.tests()].concat(),
        run: dear.run(),
        saved: dear.beyond(normal),
        ..Detection::default()
    })
}

fn buffered(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let mut found = Detection::default();
    let mut longest = 0.0;
    for row in case.rows().filter(|row| row.summary.method == "PROPFIND") {
        let (Some(response), Some(whole)) = (row.response(), row.whole()) else {
            continue;
        };
        // Both are of the same operations: their sum varies, not their share.
        let first = (response.mean - case.floor).max(0.0);
        let is_buffered = first >= at_least * (whole.mean - case.floor);
        if bytes_of(&row) < LARGE || response.low - case.floor < LONG || !is_buffered {
            continue;
        }
        if response.mean > longest {
            longest = response.mean;
            found.run = row.run;
            found.figures = vec![
                text("row", row.name()),
                bytes("bytes", bytes_of(&row)),
                response.figure("first_byte"),
                share("share", response.mean / whole.mean),
            ];
        }
        found.evidence.push(Evidence {
            row: row.name().to_owned(),
            figures: vec![response.figure("first_byte"), whole.figure("whole")],
        });
        found.tests.push(row.name().to_owned());
    }
    // Nothing is saved: the last byte comes when it came before.
    (!found.tests.is_empty()).then_some(found)
}
