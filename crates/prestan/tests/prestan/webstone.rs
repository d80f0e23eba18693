//! `prestan webstone`: pages are counted correctly, regardless of the server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use record::Run;
use serde_json::Value;
use testbed::fault::{Fault, Rule};

use crate::support::faulty::{Faulty, status};
use crate::support::load::{kept, plain};
use crate::support::pages::{counted, furnished, generate, listed, number, webstone};
use crate::support::rows::names;
use crate::support::{Prestan, names_in};

/// The pages of a user in their order, by the measure of their first file.
fn sequence(run: &Run, user: u32) -> Vec<u16> {
    let mut visits: BTreeMap<u64, (u64, u16)> = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| sample.user == user) {
        let first = visits.entry(sample.visit.unwrap()).or_insert((u64::MAX, 0));
        *first = (*first).min((sample.moments.started, sample.measure.0));
    }
    let mut visits: Vec<(u64, u16)> = visits.into_values().collect();
    visits.sort_unstable();
    visits.into_iter().map(|(_, measure)| measure).collect()
}

#[test]
fn pages_are_counted_and_every_file_is_a_row() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "--children 3").ends(0);
    let (result, run) = counted(&outcome);
    let webstone = &result["webstone"];
    assert_eq!(webstone["children"], 3);
    assert_eq!(webstone["retrieved"]["errors"], 0);
    assert!(number(&webstone["retrieved"]["pages"]) > 10, "{outcome}");
    assert_eq!(webstone["pages"][0]["bytes"], 3572);
    assert_eq!(webstone["pages"][1]["bytes"], 5120);
    for (page, size) in [(0, 3572), (1, 5120)] {
        let retrieved = &webstone["pages"][page]["retrieved"];
        let bytes = number(&retrieved["body_bytes"]);
        assert_eq!(bytes, size * number(&retrieved["pages"]));
    }
    let names = names(&result);
    let expected = [
        "Page0-1-file1k_html",
        "Page0-2-file2k_gif",
        "Page0-3-file500_html",
        "Page1-1-file4k_html",
        "Page1-2-file1k_html",
    ];
    assert_eq!(names, expected);
    // One connection each, opened before it counts.
    assert_eq!(webstone["retrieved"]["connects"], 0);
    assert!(webstone["in_progress"].as_f64().unwrap() <= 3.0);
    // Pages are drawn by weight, 3 to 1: far from 1 to 1.
    let hits = |page: usize| number(&webstone["pages"][page]["retrieved"]["pages"]);
    assert!(hits(0) > hits(1), "{outcome}");
    // Files of a page follow one another.
    let mut by_visit: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for sample in &run.samples {
        let files = by_visit.entry(sample.visit.unwrap()).or_default();
        files.push(sample.moments);
    }
    for moments in by_visit.values_mut() {
        moments.sort_by_key(|moments| moments.started);
        let in_order = |pair: &[record::Moments]| pair[0].done.unwrap() <= pair[1].started;
        assert!(moments.windows(2).all(in_order), "{moments:?}");
    }
}

#[test]
fn the_report_is_that_of_1995_and_more() {
    let server = furnished();
    let outcome = prestan!(listed() => "{server} --duration 300ms --user ann:open-sesame --header \
        'X-Mine: open-sesame'")
    .ends(0);
    // First the command, with redacted credentials.
    let options = "--duration 300ms --user '(not shown)' --header 'X-Mine: (not shown)'";
    let mut lines = outcome.stdout.lines();
    let command = lines.find(|line| line.starts_with("prestan webstone"));
    assert!(command.unwrap().ends_with(options), "{outcome}");
    outcome.stdout_lacks("open-sesame");
    // All lines are in a snapshot of `report`.
    for part in [
        "\nPage # 1 (Page1)\n",
        "\nPage size 3572\n",
        "\nWEBSTONE number: ",
        "\nTotal number of clients: 1\n",
        "\nTotal number of errors to server: 0\n",
        "\nBeyond WebSTONE, with 95 % intervals:\n",
    ] {
        outcome.stdout_has(part);
    }
}

#[test]
fn files_are_put_there_and_removed_again() {
    let server = plain();
    let outcome = prestan!(webstone(&server.url()) => "--prepare -c 2").ends(0);
    let (result, _) = counted(&outcome);
    assert_eq!(result["webstone"]["retrieved"]["errors"], 0);
    assert_eq!(server.left(), [""; 0], "{outcome}");
    for change in server.exchanges() {
        let is_change = ["PUT", "MKCOL", "DELETE"].contains(&&*change.method);
        assert!(
            !is_change || change.path.contains("/PrestanTest-"),
            "{change:?}"
        );
    }
}

#[test]
fn files_that_come_back_differently_are_not_measured() {
    let faults = [
        (
            status(200, &[], "something else"),
            "differs from the content sent",
        ),
        (status(404, &[], ""), "the server returned 404 Not Found"),
        (Fault::ShorterThanSaid, "GET "),
    ];
    for (fault, said) in faults {
        let rule = Rule::new(fault).method("GET").path("file2k");
        let server = Faulty::new(|builder| builder.rule(rule));
        let outcome = prestan!(webstone(&server.url()) => "--prepare").ends(4);
        outcome.stderr_has("putting the files of the pages there failed: GET ");
        outcome.stderr_has(said);
        assert_eq!(server.left(), [""; 0], "{outcome}");
    }
}

#[test]
fn the_same_seed_gives_the_same_pages_whoever_is_faster() {
    let server = furnished();
    let pages = |seed: &str, warmup: &str| {
        let outcome =
            prestan!(webstone(&server.url()) => "--seed {seed} -c 2 --warmup {warmup}").ends(0);
        let run = kept(&outcome);
        [sequence(&run, 0), sequence(&run, 1)]
    };
    // However long it warms up.
    let (one, same, other) = (pages("7", "0s"), pages("7", "50ms"), pages("8", "0s"));
    let agree = |a: &[u16], b: &[u16]| {
        let both = a.len().min(b.len());
        assert!(both > 20, "{both} pages");
        a[..both] == b[..both]
    };
    assert!(agree(&one[0], &same[0]) && agree(&one[1], &same[1]));
    assert!(
        !agree(&one[0], &one[1]),
        "children have sequences of their own"
    );
    assert!(!agree(&one[0], &other[0]));
}

#[test]
fn repetitions_go_through_the_list() {
    let server = furnished();
    let outcome = prestan!(listed() => "{server} --json - --repeat 5 -c 3").ends(0);
    let (result, run) = counted(&outcome);
    let mut of_page = BTreeMap::new();
    for sample in &run.samples {
        *of_page.entry(sample.measure.0).or_insert(0) += 1;
    }
    assert!(of_page.values().all(|times| *times == 5 * 3), "{of_page:?}");
    assert_eq!(result["load"]["in_turn"], true);
}

#[test]
fn a_connection_for_every_file_as_in_1995() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "--classic -c 2").ends(0);
    let (result, run) = counted(&outcome);
    assert!(run.samples.iter().all(|sample| sample.connect.is_some()));
    assert_eq!(result["load"]["http"]["version"], "1.0");
    let retrieved = &result["webstone"]["retrieved"];
    assert_eq!(retrieved["connects"], retrieved["files"]);
    // Counted by the end of visits, and timed by their beginning: one of three files a child apart.
    let timed = number(&retrieved["connect_us"]["n"]);
    let opened = number(&retrieved["connects"]);
    assert!(timed.abs_diff(opened) <= 6, "{timed} {opened}");
}

#[test]
fn files_of_a_page_in_parallel() {
    let slow = Rule::new(Fault::AnswerAfter(Duration::from_millis(20))).method("GET");
    let server = Faulty::new(|builder| builder.rule(slow));
    generate(server.demo.root());
    let outcome = prestan!(webstone(&server.url()) => "--parallel 4").ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(result["webstone"]["retrieved"]["errors"], 0);
    // The first alone, and the other two together.
    let mut of_first_page: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| sample.measure.0 < 3) {
        let files = of_first_page.entry(sample.visit.unwrap()).or_default();
        files.push((sample.measure.0, sample.moments));
    }
    assert!(!of_first_page.is_empty());
    for files in of_first_page.values_mut() {
        files.sort_by_key(|(measure, _)| *measure);
        let [(_, first), (_, second), (_, third)] = files[..] else {
            panic!("three files: {files:?}")
        };
        let (begin, end) = (
            second.started.max(third.started),
            second.first.min(third.first),
        );
        assert!(first.done.unwrap() <= second.started.min(third.started));
        assert!(begin < end.unwrap());
    }
}

#[test]
fn files_of_a_page_in_a_pipeline() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "--pipeline 8 -c 2").ends(0);
    let (result, run) = counted(&outcome);
    assert_eq!(result["webstone"]["retrieved"]["errors"], 0);
    // All files of a page leave at once, and no file of the next one before it is complete.
    for user in 0..2 {
        let mut visits: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
        for sample in run.samples.iter().filter(|sample| sample.user == user) {
            let started = sample.moments.started;
            let (sent, done) = (sample.moments.sent.unwrap(), sample.moments.done.unwrap());
            let visit = visits.entry(sample.visit.unwrap());
            let page = visit.or_insert((started, sent, done));
            *page = (page.0.min(started), page.1.max(sent), page.2.max(done));
        }
        let mut visits: Vec<_> = visits.into_values().collect();
        visits.sort_unstable();
        let in_order = visits.windows(2).all(|pair| pair[0].2 <= pair[1].0);
        assert!(in_order, "{visits:?}");
    }
}

#[test]
fn children_are_spread_over_several_servers() {
    let (one, other) = (furnished(), furnished());
    let outcome = prestan!(listed() => "{one} {other} --json - --repeat 20 -c 4").ends(0);
    let (_, run) = counted(&outcome);
    assert_eq!(run.plan.others.len(), 1);
    for (server, users) in [(&one, [0, 2]), (&other, [1, 3])] {
        let samples = run.samples.iter().filter(|one| users.contains(&one.user));
        let exchanges = server.exchanges();
        let measured = exchanges.iter().map(|one| one.label());
        let measured =
            measured.filter(|label| label.contains("(Page") && !label.contains(": 0000000000 "));
        assert_eq!(samples.count(), measured.count());
    }
}

#[test]
fn two_ways_to_the_same_server_share_its_files() {
    let server = plain();
    let (one, other) = (server.url(), server.url());
    let other = other.replace("127.0.0.1", "localhost");
    assert_ne!(one, other);
    let outcome = prestan!(webstone(&one) => "{other} --prepare -c 3").ends(0);
    let (result, _) = counted(&outcome);
    let servers = result["webstone"]["servers"].as_array().unwrap();
    let place_of = |server: &Value| {
        let url = server["url"].as_str().unwrap().to_owned();
        (url, number(&server["children"]))
    };
    let places: Vec<_> = servers.iter().map(place_of).collect();
    assert_eq!(places, [(one, 2), (other, 1)]);
    let pages = |server: &Value| number(&server["retrieved"]["pages"]);
    assert!(servers.iter().all(|server| pages(server) > 0));
    let all: u64 = servers.iter().map(pages).sum();
    assert_eq!(all, number(&result["webstone"]["retrieved"]["pages"]));
    // Put once, and removed once.
    let exchanges = server.exchanges();
    let count = |method: &str| exchanges.iter().filter(|one| one.method == method).count();
    assert_eq!((count("PUT"), count("DELETE")), (4 + 1, 1));
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_password_goes_to_its_own_server_only() {
    let (one, other) = (furnished(), furnished());
    let with_password = one.url().replace("http://", "http://ann:s3cret@");
    let outcome = prestan!(listed() => "{with_password} {other} --json - --repeat 2 -c 2").ends(0);
    let sent = |server: &Faulty| {
        let mut exchanges = server.exchanges().into_iter();
        exchanges.any(|one| one.header("authorization").is_some())
    };
    assert!(sent(&one) && !sent(&other));
    outcome.stdout_lacks("s3cret");
    outcome.stderr_lacks("s3cret");
}

#[test]
fn the_suite_of_a_list_is_for_any_command() {
    let server = furnished();
    let printed = prestan!(listed() => "--print").ends(0);

    let run = printed.again();
    let suite = run.file("pages.yaml", &printed.stdout);
    let outcome = prestan!(run => "run {} {server} -r 20 -c 2 --json -", suite).ends(0);
    let (result, _) = counted(&outcome);
    assert!(number(&result["webstone"]["retrieved"]["pages"]) > 0);

    let load = Prestan::new();
    let suite = load.file("pages.yaml", &printed.stdout);
    let outcome =
        prestan!(load => "load --mix {} {server} --rate 100 --duration 500ms --json -", suite)
            .ends(0);
    let (result, run) = counted(&outcome);
    let visits: BTreeSet<_> = run.samples.iter().map(|one| one.visit).collect();
    // A rate of pages, not of files.
    assert!((20..100).contains(&visits.len()), "{}", visits.len());
    let pages = number(&result["webstone"]["retrieved"]["pages"]);
    assert_eq!(pages, visits.len() as u64);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_sent() {
    let server = plain();
    let url = server.url();
    let wrong = |arguments: &str, said: &str| {
        let prestan = Prestan::new();
        prestan.file("bad.list", "1 2\n/a\n");
        prestan.file("unsized.list", "1 1\n/a.html\n");
        fs::write(prestan.home().join("latin1.list"), b"1 1\n/gr\xfc\xdfe\n").unwrap();
        let arguments = arguments.replace("URL", &url);
        let outcome = prestan!(prestan => "webstone").words(&arguments).ends(2);
        outcome.stderr_has(said);
    };
    let table = "
        bad.list URL => bad.list:1: the page has 2 files, and only 1 follow
        no-such-mix URL => general-modem, general, media-rich
        unsized.list URL --prepare => /a.html 14KiB
        latin1.list URL => latin1.list:2: this is not UTF-8
        --page /a=5,/a/b=5 URL --prepare => /a/b needs a directory there
        --page /prestan-run.json=5 URL --prepare => marks its collection with
        general => no server is given
        general URL URL => give more --children
        --page /../x URL => leads out
    ";
    for [arguments, said] in cases::rows(table) {
        wrong(arguments, said);
    }
    for files in ["/d/=5", "/=5", "/a//b=5"] {
        for option in ["--prepare", "--generate files"] {
            wrong(
                &format!("--page {files} URL {option}"),
                "it is no name of a file",
            );
        }
    }
    assert_eq!(server.exchanges().len(), 0);
}

#[test]
fn several_numbers_of_children_give_the_load_curve() {
    let server = furnished();
    let outcome = prestan!(webstone(&server.url()) => "--children 1..4").ends(0);
    let curve = outcome.json();
    assert_eq!(curve["while"], Value::Null);
    assert_eq!(curve["counted"], "pages");
    let points = curve["points"].as_array().unwrap();
    let load = |point: &Value| point["load"].as_f64().unwrap();
    let loads: Vec<f64> = points.iter().map(load).collect();
    assert_eq!(loads, [1.0, 2.0, 4.0]);
    assert_eq!(outcome.runs().len(), 3);
    for (point, run) in points.iter().zip(outcome.runs()) {
        let report = prestan!(outcome.again() => "report {} --json -", run).run();
        let report = report.json();
        let rate = report["webstone"]["number"].as_f64().unwrap() / 60.0;
        let throughput = point["throughput_per_s"].as_f64().unwrap();
        assert!((throughput - rate).abs() < 1e-3, "{throughput} {rate}");
        let p50_us = &report["webstone"]["retrieved"]["page_us"]["p50"];
        let [shown, p50_us] = [&point["p50_us"], p50_us].map(|of| of.as_f64().unwrap());
        // The series has six digits.
        assert!((shown - p50_us).abs() <= 5e-6 * p50_us, "{shown} {p50_us}");
    }
    prestan!(webstone(&server.url()) => "-c 1,2 --csv x.csv").ends(2);
}

/// On any machine, in any year: figures of a seed can be repeated.
#[test]
fn a_seed_means_the_same_sequence_everywhere() {
    let server = plain();
    let outcome =
        prestan!("webstone general {server} --prepare --seed 7 -c 2 --duration 400ms --json -")
            .ends(0);
    let run = kept(&outcome);
    let pages = |user| -> String {
        let of_first = |first: u16| {
            let mut pages = run.plan.pages.iter();
            pages.position(|page| page.files[0].0 == first).unwrap()
        };
        let pages = sequence(&run, user).into_iter().map(of_first);
        pages.take(24).map(|page| page.to_string()).collect()
    };
    assert_eq!(pages(0), "003320030400201200001300");
    assert_eq!(pages(1), "000020031022002024222023");
}

#[test]
fn what_would_fill_the_disk_is_not_written() {
    let prestan = Prestan::new();
    let outcome =
        prestan!(prestan => "webstone --page /file5m.bin,/file8000000000m.bin --generate files")
            .ends(1);
    outcome.stderr_has(" are free in files");
    assert_eq!(names_in(&outcome.home().join("files")), [""; 0]);
}

#[test]
fn a_server_without_webdav_has_its_files_put_there_otherwise() {
    let server = Faulty::new(|builder| {
        builder
            .rule(Rule::new(Fault::DropHeader("dav".to_owned())).method("OPTIONS"))
            .rule(Rule::new(status(405, &[], "")).method("PROPFIND"))
    });
    let outcome = prestan!(webstone(&server.url()) => "--prepare").ends(4);
    outcome.stderr_has("`prestan webstone --generate DIR` writes them");
}

#[test]
fn generated_files_replace_nothing() {
    let directory = tempfile::tempdir().unwrap();
    generate(directory.path());
    generate(directory.path());
    fs::write(directory.path().join("file1k.html"), "mine").unwrap();
    let outcome = prestan!(listed() => "--generate {}", directory.path()).ends(1);
    outcome.stderr_has("another file is there, and stays");
    let kept = fs::read(directory.path().join("file1k.html")).unwrap();
    assert_eq!(kept, b"mine");
}
