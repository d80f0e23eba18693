//! The binary against every server of `servers/`: the rows and their correctness, sums, agreement
//! with the server's own log, and an unchanged server at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::real::{is_installed, started};
use crate::support::rows::{self, assert_adds_up, rows, statuses};
use crate::support::{Outcome, Prestan};
use record::{Run, Sample};
use serde_json::Value;
use testbed::RealServer;

/// Measured operations of a row of a run with [`SMALL`]; MkCol makes three levels and five
/// collections in the lowest.
const OPERATIONS: u64 = 5;
const MKCOLS: u64 = 5 * (3 + 5);

/// Known properties of a server (all of them were observed before they were written down here).
struct Known {
    recipe: &'static str,
    /// Tokens of its DAV header.
    dav: &'static [&'static str],
    /// Rows that it does not support, with the expected evidence in the report; all others are ok.
    cannot: &'static [(&'static [&'static str], &'static str)],
}

const APACHE_DAV: &[&str] = &["1", "2", "<http://apache.org/dav/propset/fs/1>"];
const DEAD_PROPERTIES: &[&str] = &[
    "ProppatchMult",
    "ProppatchSingle",
    "PropfindDeadMult",
    "PropfindDeadSingle",
];

const APACHE: Known = Known {
    recipe: "apache",
    dav: APACHE_DAV,
    cannot: &[],
};
const APACHE_BASIC: Known = Known {
    recipe: "apache-basic",
    ..APACHE
};
const APACHE_DIGEST: Known = Known {
    recipe: "apache-digest",
    ..APACHE
};
const APACHE_HTTP2: Known = Known {
    recipe: "apache,http=2",
    ..APACHE
};
const APACHE_DIGEST_HTTP2: Known = Known {
    recipe: "apache-digest,http=2",
    ..APACHE
};
/// HTTP/2 has no reason phrases, so that the one shown is the registered one.
const NGINX_HTTP2: Known = Known {
    recipe: "nginx,http=2",
    dav: &["2"],
    cannot: &[(
        DEAD_PROPERTIES,
        "PROPPATCH prop: 405 Method Not Allowed (OPTIONS does not list PROPPATCH)",
    )],
};
/// The module of nginx has no PROPPATCH at all.
const NGINX: Known = Known {
    recipe: "nginx",
    dav: &["2"],
    cannot: &[(
        DEAD_PROPERTIES,
        "PROPPATCH prop: 405 Not Allowed (OPTIONS does not list PROPPATCH)",
    )],
};
const LIGHTTPD: Known = Known {
    recipe: "lighttpd",
    dav: &["1", "2", "3"],
    cannot: &[],
};
/// The file system of golang.org/x/net/webdav keeps no dead properties: 403 inside the 207.
const RCLONE: Known = Known {
    recipe: "rclone",
    dav: &["1", "2"],
    cannot: &[(
        DEAD_PROPERTIES,
        "PROPPATCH prop: 207 with 403 Forbidden inside for prop0",
    )],
};
const WSGIDAV: Known = Known {
    recipe: "wsgidav",
    dav: &["1", "2"],
    cannot: &[],
};
/// No dead properties, no COPY of a collection (so none to move or delete), no lock on one.
const DUFS: Known = Known {
    recipe: "dufs",
    dav: &["1", "2", "3"],
    cannot: &[
        (
            DEAD_PROPERTIES,
            "PROPPATCH prop: 207 with 403 Forbidden inside",
        ),
        (&["CopyCol"], "COPY copy_col/: 403 Forbidden"),
        (&["MoveCol", "DeleteCol"], "COPY source/: 403 Forbidden"),
        (&["LockCol", "UnLockCol"], "LOCK lockme2/: 404 Not Found"),
    ],
};

const CHEZDAV: Known = Known {
    recipe: "chezdav",
    dav: &["1", "2"],
    cannot: &[],
};
const TOMCAT: Known = Known {
    recipe: "tomcat",
    dav: &["1", "2", "3"],
    cannot: &[],
};
const TOMCAT_DIGEST: Known = Known {
    recipe: "tomcat-digest",
    ..TOMCAT
};
const SABREDAV: Known = Known {
    recipe: "sabredav",
    dav: &["1", "3", "extended-mkcol", "2"],
    cannot: &[],
};
/// The base of rclone, and so the same.
const XNET: Known = Known {
    recipe: "xnet",
    ..RCLONE
};
/// Stores calendars only, so that every PUT of the suite is refused; only MKCOL needs none.
const RADICALE: Known = Known {
    recipe: "radicale",
    dav: &[
        "1",
        "2",
        "3",
        "calendar-access",
        "addressbook",
        "extended-mkcol",
    ],
    cannot: &[
        (DEAD_PROPERTIES, "PUT prop: 400 Bad Request"),
        (
            &["PropfindLiveMult", "PropfindLiveSingle"],
            "PUT prop: 400 Bad Request",
        ),
        (
            &["Put1K", "Get1K", "Put64K", "Get64K", "Put1024K", "Get1024K"],
            "PUT res: 400 Bad Request",
        ),
        (&["Copy"], "PUT copy: 400 Bad Request"),
        (&["Move", "Delete"], "PUT source: 400 Bad Request"),
        (&["CopyCol"], "PUT copy_col/l2/l3/r0: 400 Bad Request"),
        (
            &["MoveCol", "DeleteCol"],
            "PUT source/l2/l3/r0: 400 Bad Request",
        ),
        (&["Lock", "UnLock"], "PUT lockme: 400 Bad Request"),
        (
            &["LockCol", "UnLockCol"],
            "PUT lockme2/l2/l3/r0: 400 Bad Request",
        ),
    ],
};
/// Made for calendars: no COPY, so nothing to move or delete, no locks, no dead properties.
const XANDIKOS: Known = Known {
    recipe: "xandikos",
    dav: &[
        "1",
        "2",
        "3",
        "calendar-access",
        "calendar-auto-scheduling",
        "addressbook",
        "extended-mkcol",
        "add-member",
        "sync-collection",
        "quota",
    ],
    cannot: &[
        (
            DEAD_PROPERTIES,
            "PROPPATCH prop: 207 with 404 Not Found inside for prop0",
        ),
        (&["Copy"], "COPY copy: 405 Method Not Allowed"),
        (&["Move", "Delete"], "COPY source: 405 Method Not Allowed"),
        (&["CopyCol"], "COPY copy_col/: 405 Method Not Allowed"),
        (
            &["MoveCol", "DeleteCol"],
            "COPY source/: 405 Method Not Allowed",
        ),
        (&["Lock", "UnLock"], "LOCK lockme: 405 Method Not Allowed"),
        (
            &["LockCol", "UnLockCol"],
            "LOCK lockme2/: 405 Method Not Allowed",
        ),
    ],
};

/// Starts a server, or skips the test. It serves a file of its owner, which must survive.
fn start(recipe: &str) -> Option<RealServer> {
    let server = started(recipe)?;
    fs::write(server.storage().join("precious.txt"), "not ours").unwrap();
    Some(server)
}

/// `prestan run prestan URL`, with credentials where the server wants them.
fn measure(server: &RealServer) -> Prestan {
    let mut prestan = prestan!("run prestan {} --json -", server.url());
    if server.recipe().is_http2 {
        prestan = prestan!(prestan => "--http 2");
    }
    let Some((user, password)) = server.credentials() else {
        return prestan;
    };
    let file = prestan.file("password", &password);
    prestan!(prestan => "--user {user} --password-file {}", file)
}

/// The whole suite against one server.
fn whole_suite(known: &Known) {
    let Some(server) = start(known.recipe) else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!(measure(&server) => "-r 5 -d 3 -w 5").ends(0);
    let document = outcome.json();
    assert_rows(known, &document);
    assert_adds_up(&document);
    assert_eq!(server.contents().unwrap(), before);
    assert_eq!(document["left_behind"].as_array().unwrap().len(), 0);
    assert_class(known, &document, &outcome);

    let run = rundir::load(&outcome.run()).unwrap();
    assert_eq!(defects_of_numbers(&run.samples), [] as [&str; 0]);
    if let Some(log) = server.logs().access {
        assert_log_tells_the_same(&log, &run);
    }
}

/// Each row agrees with the known properties of the server, with its evidence or its number of
/// operations.
fn assert_rows(known: &Known, document: &Value) {
    assert_eq!(rows::names(document), rows::of_prestan());
    for row in rows(document) {
        let name = row["measure"].as_str().unwrap();
        let cannot = known.cannot.iter().find(|(rows, _)| rows.contains(&name));
        match cannot {
            Some((_, evidence)) => {
                // Of another method than that of the row, the row was skipped.
                let is_own = evidence.split(' ').next() == row["method"].as_str();
                let word = if is_own { "not_supported" } else { "skipped" };
                assert_eq!(row["status"], word, "{row:#}");
                let said = row["evidence"].as_str().unwrap();
                assert!(said.contains(evidence), "{name}: {said}");
            }
            None => {
                assert_eq!(row["status"], "ok", "{row:#}");
                let wanted = if name == "MkCol" { MKCOLS } else { OPERATIONS };
                assert_eq!(row["operations"], wanted, "{row:#}");
            }
        }
    }
}

/// The class is in the document and in the text.
fn assert_class(known: &Known, document: &Value, outcome: &Outcome) {
    assert_eq!(document["server"]["dav"], serde_json::json!(known.dav));
    let text = prestan!(outcome.again() => "report").run().stdout;
    // A long list is continued on the next line.
    let text = text.replace("\n  ", " ");
    let line = format!("DAV Class: {}\n", known.dav.join(", "));
    assert!(text.contains(&line), "{text}");
}

/// Two measured requests never carry the same number.
fn defects_of_numbers(samples: &[Sample]) -> Vec<String> {
    let mut times = BTreeMap::<u64, u32>::new();
    for sample in samples {
        *times.entry(sample.number).or_default() += 1;
    }
    let twice = times.iter().filter(|(_, times)| **times > 1);
    let mut defects: Vec<String> = twice.map(|(number, _)| format!("{number} twice")).collect();
    if times.contains_key(&0) {
        defects.push("0 is for what is no operation".to_owned());
    }
    defects
}

/// A line of an access log: `"METHOD PATH HTTP/1.1" STATUS TIME [BYTES] "SUITE: NUMBER (WHAT)"`.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    method: &'a str,
    status: u16,
    number: u64,
    what: &'a str,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Option<Line<'a>> {
        let (_, rest) = text.split_once('"')?;
        let (request, rest) = rest.split_once("\" ")?;
        let (status, label) = rest.split_once(' ')?;
        let label = label.strip_suffix('"')?.rsplit_once('"')?.1;
        let (number, what) = label.strip_prefix("prestan: ")?.split_once(' ')?;
        Some(Line {
            method: request.split(' ').next()?,
            status: status.parse().ok()?,
            number: number.parse().ok()?,
            what: what.strip_prefix('(')?.strip_suffix(')')?,
        })
    }
}

/// Disagreements between the server's log and the run. A repeated request is in the log twice, or
/// once if its first connection ended before it was read.
fn disagreements(log: &str, run: &Run) -> Vec<String> {
    let mut lines = BTreeMap::<u64, Vec<Line>>::new();
    for line in log.lines().filter_map(Line::parse) {
        lines.entry(line.number).or_default().push(line);
    }
    let mut found = Vec::new();
    for sample in &run.samples {
        let measure = &run.plan.measures[usize::from(sample.measure.0)];
        let logged = lines.remove(&sample.number).unwrap_or_default();
        let told = |line: &Line| {
            line.method == measure.method
                && line.what == measure.name
                && Some(line.status) == sample.status
        };
        let agrees = match logged.as_slice() {
            [line] => told(line),
            [.., last] => sample.resent && told(last),
            [] => false,
        };
        if !agrees {
            found.push(format!("{sample:?}\nis in the log as {logged:?}"));
        }
    }
    // The rest was not measured, and is marked so.
    let measured = |line: &Line| {
        run.plan
            .measures
            .iter()
            .any(|measure| measure.name == line.what)
    };
    let unrecorded = lines.into_values().flatten().filter(measured);
    found.extend(unrecorded.map(|line| format!("{line:?} was not recorded")));
    found
}

/// Joins the access log with the run. Servers write it when they like, lighttpd after seconds.
fn assert_log_tells_the_same(log: &Path, run: &Run) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = disagreements(&fs::read_to_string(log).unwrap_or_default(), run);
        if found.is_empty() {
            return;
        }
        if Instant::now() > deadline {
            panic!("{} disagreements: {}", found.len(), found[0]);
        }
        thread::park_timeout(Duration::from_millis(20)); // between two looks at the file
    }
}

macro_rules! whole_suite {
    ($($(#[$ignored:meta])? $test:ident: $known:ident,)*) => {$(
        #[test]
        $(#[$ignored])?
        fn $test() {
            whole_suite(&$known);
        }
    )*};
}

whole_suite! {
    apache: APACHE,
    apache_basic: APACHE_BASIC,
    apache_digest: APACHE_DIGEST,
    apache_http2: APACHE_HTTP2,
    apache_digest_http2: APACHE_DIGEST_HTTP2,
    nginx_http2: NGINX_HTTP2,
    nginx: NGINX,
    lighttpd: LIGHTTPD,
    rclone: RCLONE,
    wsgidav: WSGIDAV,
    #[ignore = "nightly: dufs is built from source, which takes minutes"]
    dufs: DUFS,
    chezdav: CHEZDAV,
    tomcat: TOMCAT,
    tomcat_digest: TOMCAT_DIGEST,
    sabredav: SABREDAV,
    xnet: XNET,
    radicale: RADICALE,
    xandikos: XANDIKOS,
}

#[test]
fn every_recipe_is_measured_here() {
    let here = [
        APACHE,
        APACHE_BASIC,
        APACHE_DIGEST,
        CHEZDAV,
        DUFS,
        LIGHTTPD,
        NGINX,
        RADICALE,
        RCLONE,
        SABREDAV,
        TOMCAT,
        TOMCAT_DIGEST,
        WSGIDAV,
        XANDIKOS,
        XNET,
    ];
    let recipes = testbed::real::recipes().iter();
    let names: Vec<&str> = recipes.map(|recipe| &*recipe.name).collect();
    assert_eq!(names, here.map(|known| known.recipe));
}

/// Fifteen users, as in 2004.
fn fifteen_users(recipe: &str, may_fail: &[&str]) {
    let Some(server) = start(recipe) else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!(measure(&server) => "-c 15 -r 3 -w 3 -d 2").run();

    let document = outcome.json();
    assert_adds_up(&document);
    // Operations that begin before the last user has begun are left out, so there are always some.
    let left_out = document["left_out"].as_u64().unwrap();
    assert!(left_out > 0);
    let text = prestan!(outcome.again() => "report").run().stdout;
    assert!(text.contains(&format!("\n- {left_out} of ")), "{text}");
    let failed: Vec<&str> = statuses(&document)
        .into_iter()
        .filter(|(name, status)| *status == "failed" && !may_fail.contains(name))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(failed, [] as [&str; 0], "{outcome}");
    let failures = statuses(&document)
        .values()
        .any(|status| *status == "failed");
    assert_eq!(outcome.code, i32::from(failures), "{outcome}");
    // Exactly the leftovers are reported.
    let clean = server.contents().unwrap() == before;
    let named = !document["left_behind"].as_array().unwrap().is_empty();
    assert_ne!(clean, named, "{outcome}");
    assert!(clean || !may_fail.is_empty(), "{outcome}");
}

/// The lock database of mod_dav_fs is not safe against concurrent requests: it loses locks and
/// unlocks, and then refuses everything below a lock of which one half is lost ("The lock database
/// was found to be corrupt" in its log; seen in 2.4.71, with threads and with processes). So rows
/// of locks may fail, and a resource with such a lock cannot be removed.
#[test]
fn fifteen_users_of_apache() {
    fifteen_users("apache", &["Lock", "UnLock", "LockCol", "UnLockCol"]);
}

#[test]
fn fifteen_users_of_nginx() {
    fifteen_users("nginx", &[]);
}

#[test]
fn fifteen_users_of_lighttpd() {
    fifteen_users("lighttpd", &[]);
}

#[test]
fn a_hundred_requests_of_everything_with_the_classic_line() {
    let Some(server) = start("apache") else {
        return;
    };
    let before = server.contents().unwrap();

    let outcome = prestan!("{} -r 100 -d 3 -w 5 --json -", server.url()).ends(0);
    let document = outcome.json();
    assert_adds_up(&document);
    assert_eq!(rows::names(&document), rows::of_prestan());
    for row in rows(&document) {
        let each = if row["measure"] == "MkCol" {
            MKCOLS / 5
        } else {
            1
        };
        assert_eq!(row["status"], "ok", "{row:#}");
        assert_eq!(row["outcomes"]["ok"], 100 * each, "{row:#}");
    }
    assert_eq!(server.contents().unwrap(), before);
}

#[test]
fn prestan_starts_a_server_by_itself() {
    if !is_installed("apache-digest") {
        return;
    }
    let outcome =
        prestan!("run prestan --server apache-digest --json - -r 5 -d 3 -w 5 --only Get1K,Locks")
            .ends(0);
    let document = outcome.json();
    assert_eq!(rows::names(&document), ["Get1K", "Lock", "UnLock"]);
    assert!(statuses(&document).values().all(|status| *status == "ok"));
    // It disappears with the program.
    let target = document["target"].as_str().unwrap();
    prestan!(outcome.again() => "{target}").ends(4);
}

#[test]
fn a_server_that_nobody_knows_is_a_wrong_usage() {
    let outcome = prestan!("run prestan --server iis").ends(2);
    outcome.stderr_has("apache-digest");
}

/// A run of one measured GET with number 7.
fn run_of_one_get() -> Run {
    let prestan = Prestan::new();
    let outcome = prestan!(prestan => "demo --only Get1K -r 1 --warmup 0").run();
    let mut run = rundir::load(&outcome.run()).unwrap();
    run.samples[0].number = 7;
    run
}

#[test]
fn the_checks_of_this_file_can_fail() {
    let mut run = run_of_one_get();
    let sample = run.samples[0].clone();
    assert_eq!(defects_of_numbers(&run.samples), [] as [&str; 0]);
    assert_eq!(defects_of_numbers(&[sample.clone(), sample]).len(), 1);

    let good = "\"GET /x HTTP/1.1\" 200 12 \"prestan: 7 (Get1K)\"\n";
    let set_up = "\"PUT /x HTTP/1.1\" 201 12 \"prestan: 6 (Get1K set-up)\"\n";
    let none = [] as [&str; 0];
    assert_eq!(disagreements(&format!("{set_up}{good}"), &run), none);
    let twice = format!("{good}{good}");
    for bad in [
        "",
        "\"PUT /x HTTP/1.1\" 200 12 \"prestan: 7 (Get1K)\"\n",
        "\"GET /x HTTP/1.1\" 404 12 \"prestan: 7 (Get1K)\"\n",
        "\"GET /x HTTP/1.1\" 200 12 \"prestan: 7 (Put1K)\"\n",
        &twice,
    ] {
        assert_eq!(disagreements(bad, &run).len(), 1, "{bad}");
    }
    let unrecorded = good.replace("7", "8");
    assert_eq!(disagreements(&format!("{good}{unrecorded}"), &run).len(), 1);
    run.samples[0].resent = true;
    assert_eq!(disagreements(&twice, &run), none);
}
