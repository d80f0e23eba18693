//! The report for people: whole pages as snapshots, and what must hold for any of them.

use record::Run;
use report::{TextLayout, TextOptions};

use crate::runs;

fn page(run: &Run, width: usize, color: bool) -> String {
    let options = TextOptions {
        color,
        width,
        saved_to: None,
        ..TextOptions::default()
    };
    report::text(run, &stats::summarise(run), &[], &options)
}

#[test]
fn everything_well() {
    let options = TextOptions {
        saved_to: Some("runs/k3f9".into()),
        ..TextOptions::default()
    };
    let run = runs::classic();
    let text = report::text(&run, &stats::summarise(&run), &[], &options);
    insta::assert_snapshot!("classic_100", text);
}

#[test]
fn something_of_everything() {
    insta::assert_snapshot!("mixed_120", page(&runs::mixed(), 120, false));
    insta::assert_snapshot!("mixed_80", page(&runs::mixed(), 80, false));
}

#[test]
fn colours_mark_what_is_wrong_and_nothing_else() {
    let colored = page(&runs::mixed(), 120, true);
    insta::assert_snapshot!("mixed_color", colored.replace('\u{1b}', "ESC"));
    let plain = colored.replace("\u{1b}[31m", "").replace("\u{1b}[33m", "");
    assert_eq!(
        plain.replace("\u{1b}[0m", ""),
        page(&runs::mixed(), 120, false)
    );
    let well = runs::classic();
    assert_eq!(page(&well, 120, true), page(&well, 120, false));
}

#[test]
fn interrupted() {
    insta::assert_snapshot!("interrupted", page(&runs::interrupted(), 100, false));
}

#[test]
fn never_reached() {
    insta::assert_snapshot!("empty", page(&runs::empty(), 100, false));
}

#[test]
fn the_clock_of_the_kernel_says_what_the_other_one_would_have_said() {
    insta::assert_snapshot!("kernel", page(&runs::kernel(), 120, false));
}

#[test]
fn load_runs() {
    insta::assert_snapshot!("closed", page(&runs::closed(), 120, false));
    insta::assert_snapshot!("open", page(&runs::open(), 120, false));
}

#[test]
fn what_goes_on_inside() {
    let run = runs::looked_into();
    insta::assert_snapshot!("looked_into", page(&run, 160, false));
    let all_calls = |run: &record::Run| {
        let options = TextOptions {
            layout: TextLayout::Calls,
            ..TextOptions::default()
        };
        report::text(run, &stats::summarise(run), &[], &options)
    };
    insta::assert_snapshot!("all_calls", all_calls(&run));
    let without = all_calls(&runs::kernel());
    assert!(without.contains("No calls were counted"), "{without}");
}

#[test]
fn what_a_server_says_of_its_times() {
    insta::assert_snapshot!("server_view", page(&runs::server_view(), 100, false));
}

#[test]
fn pages() {
    insta::assert_snapshot!("pages", page(&runs::pages(), 120, false));
}

/// Tests that each fetched a page in a different way.
#[test]
fn pages_of_a_suite() {
    let mut run = runs::pages();
    run.plan.load.pace = record::Pace::Rounds;
    run.plan.tests[0].http = Some(record::Http {
        per_page: true,
        ..record::Http::default()
    });
    for sample in run
        .samples
        .iter_mut()
        .filter(|sample| sample.measure.0 == 1)
    {
        sample.segments = Some(record::Segments {
            sent: 7,
            received: 6,
        });
    }
    let text = page(&run, 120, false);
    insta::assert_snapshot!("pages_of_a_suite", text);
    // Facts about one page must not appear at the other.
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    let ends = |name: &str| {
        line(name)
            .split_whitespace()
            .rev()
            .take(2)
            .collect::<Vec<_>>()
    };
    assert_eq!(ends("Page0 "), ["6", "7"], "{text}");
    assert_eq!(ends("Page1 "), ["-", "-"], "{text}");
    for width in [100, 80, 60] {
        let text = page(&run, width, false);
        let table = text.lines().filter(|line| line.starts_with("Page"));
        assert!(
            table.map(str::len).all(|length| length <= width + 4),
            "{text}"
        );
    }
}

#[test]
fn connections() {
    let run = runs::connecting();
    insta::assert_snapshot!("connecting", page(&run, 120, false));
    // Not where a kept connection was opened anew once in a while.
    let mut kept = run;
    kept.samples
        .iter_mut()
        .skip(19)
        .for_each(|sample| sample.connect = None);
    assert!(!page(&kept, 120, false).contains("Connecting"));
}

/// Section 7 of Trent and Sake (1995), line by line, with one word spelt right.
#[test]
fn every_line_of_1995_is_there() {
    let text = page(&runs::pages(), 120, false);
    let expected = [
        "Page # 0 ",
        "Total number of times page was hit ",
        "Total time ",
        "Maximum Response time ",
        "Total connect time for page ",
        "Maximum time to connect ",
        "Total amount of data moved ",
        "Page size ",
        "Total number of connects ",
        "Page # 1 ",
        "WEBSTONE number: ",
        "Total number of clients: ",
        "Total cumulative time of test for all hosts (sec): ",
        "Total number of pages retrieved from server: ",
        "Total number of errors to server: ",
        "Total number of connects to server: ",
        "Average time per connect: ",
        "Maximum time to connect: ",
        "Total amount of data moved: ",
        "Total bytes of body moved: ",
        "Total bytes of header moved ",
        "Average body size: ",
        "Average retrieval size ",
        "Thruput = ",
        "Average Response time: ",
        "Maximum Response time: ",
        // Those of its later versions.
        "Server connection rate: ",
        "Server error rate: ",
        "Error Level: ",
        "Sum of client response times: ",
        "                               Average       Std Dev       Minimum       Maximum",
        "Connect time (sec) ",
        "Response time (sec) ",
        "Response size (bytes) ",
        "Body size (bytes) ",
    ];
    let mut lines = text.lines();
    for beginning in expected {
        assert!(
            lines.any(|line| line.starts_with(beginning)),
            "{beginning}\n{text}"
        );
    }
}

/// Section 5.6 of Xu (2004), line by line.
#[test]
fn the_layout_of_2004() {
    let options = TextOptions {
        layout: TextLayout::Of2004,
        ..TextOptions::default()
    };
    let text = |run: &Run| report::text(run, &stats::summarise(run), &[], &options);
    let classic = text(&runs::classic());
    let (head, rows) = classic.split_once("ProppatchMult").unwrap();
    let expected = "Prestan, Version 0.1.0\n\nServer Warming Up.....Done\n\nStart Testing \
                    127.0.0.1:8080/dav:\n\n* Number of Requests 100\n* Number of Dead Properties \
                    10\n* Depth of Collection 10\n* Width of Collection 100\n* Type of Methods \
                    WebDAV\n\n";
    assert_eq!(head, expected);
    let rows = format!("ProppatchMult{rows}");
    let (single, collections) = rows.split_once("\n\n").unwrap();
    assert!(single.contains("\nDelete\t") && collections.starts_with("MkCol\t"));
    let lines = single.lines().chain(collections.lines());
    let read = lines.map(|line| {
        let (name, time) = line.split_once("\tRsp = ").unwrap();
        time.strip_suffix(" [us]").unwrap().parse::<u64>().unwrap();
        name
    });
    let names: Vec<&str> = runs::CLASSIC.iter().map(|(name, _, _)| *name).collect();
    assert_eq!(read.collect::<Vec<_>>(), names);

    let mixed = text(&runs::mixed());
    assert!(
        mixed.ends_with(
            "\nLock\tnot supported\nUnLock\tnot supported\nPropfindLiveSingle\tfailed\n"
        )
    );
}

#[test]
fn a_page_keeps_to_its_width_from_80_columns_on() {
    for run in [
        runs::classic(),
        runs::mixed(),
        runs::interrupted(),
        runs::empty(),
        runs::kernel(),
        runs::closed(),
        runs::open(),
        runs::pages(),
        runs::connecting(),
    ] {
        for width in 80..140 {
            let text = page(&run, width, false);
            let widest = text
                .lines()
                .map(textwrap::core::display_width)
                .max()
                .unwrap();
            assert!(widest <= width, "{widest} of {width} columns:\n{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        }
    }
}

#[test]
fn nothing_that_a_server_says_reaches_the_terminal_as_a_command() {
    let text = page(&runs::mixed(), 120, false);
    assert!(text.contains("Evil\\u{1b}[2J/1.0"));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn a_brief_report_has_its_figures_and_one_sentence_about_their_limits() {
    let brief = |run: &Run| {
        let options = TextOptions {
            layout: TextLayout::Brief,
            ..TextOptions::default()
        };
        report::text(run, &stats::summarise(run), &[], &options)
    };
    insta::assert_snapshot!("brief", brief(&runs::classic()));
    for run in [
        runs::classic(),
        runs::mixed(),
        runs::kernel(),
        runs::interrupted(),
    ] {
        let text = brief(&run);
        let sentences = ["Limits: ", "Inconclusive: "].map(|word| text.matches(word).count());
        assert_eq!(sentences.iter().sum::<usize>(), 1, "{text}");
        assert!(!text.contains("Warnings:"), "{text}");
    }
}
