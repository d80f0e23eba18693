//! Documents that do not fit, and those of runs that ended before writing them.

use std::fs;
use std::process::{Command, Stdio};

use testbed::need_or;

use crate::support::load::plain;
use crate::support::words::words_of;
use crate::support::{Outcome, Prestan, can_mount, in_a_shell, names_in};

/// A run in `run`, and its document.
fn a_run() -> Outcome {
    prestan!("demo -q --only Get1K -r 3 --save run --json out.json").ends(0)
}

#[test]
fn a_document_that_is_too_large_leaves_the_old_one() {
    let outcome = a_run();
    let old = fs::read(outcome.home().join("out.json")).unwrap();
    let script = "ulimit -f 1; exec \"$1\" report run --json out.json --csv out.csv";
    let (code, said) = in_a_shell(outcome.home(), "sh", script, &[]);
    assert_eq!(code, 1, "{said}");
    let says = "writing out.json failed: File too large";
    assert!(said.contains(says), "{said}");
    let kept = "prestan: out.json was there before this run, which did not write it";
    assert!(said.contains(kept), "{said}");
    assert_eq!(fs::read(outcome.home().join("out.json")).unwrap(), old);
    let names = names_in(outcome.home());
    assert!(
        !names.iter().any(|name| name.ends_with(".part")),
        "{names:?}"
    );
}

#[test]
fn a_full_disk_keeps_what_it_has() {
    if !can_mount() {
        return;
    }
    let outcome = a_run();
    fs::create_dir(outcome.home().join("disk")).unwrap();
    // The files on this disk disappear with its namespace.
    let script = "mount -t tmpfs -o size=256k tmpfs disk || exit 9
                  cp out.json disk/out.json; dd if=/dev/zero of=disk/fill 2>dd
                  \"$1\" report run --json disk/out.json; code=$?
                  cmp out.json disk/out.json || exit 8
                  ls -A disk; exit $code";
    let (code, said) = in_a_shell(outcome.home(), "unshare -rm sh", script, &[]);
    assert_eq!(code, 1, "{said}");
    let failed = "writing disk/out.json failed: No space left on device";
    assert!(said.contains(failed), "{said}");
    assert!(said.contains("fill\nout.json\n"), "{said}");
    assert!(!said.contains(".part"), "{said}");
}

#[test]
fn what_a_series_saved_before_the_disk_was_full_is_reported() {
    if !can_mount() {
        return;
    }
    let server = plain();
    let url = server.url();
    let script = "mount -t tmpfs -o size=160k tmpfs disk || exit 9
                  \"$@\" --save disk/kept 2>said >report; code=$?
                  told=$(grep 'of the series' said | grep -o 'report disk/kept/[^`]*' | tail -1)
                  [ -n \"$told\" ] || exit 8
                  \"$1\" $told | grep -c '^Interrupted\\|killed'; cat said; exit $code";
    for command in [
        "sweep --only Get1K --vary users=1,2 --repeat 100 -r 3 --warmup 0",
        "compare --only Get1K --repeat 100 -r 3 --warmup 0",
        "search OPTIONS --find users --while 'failures == 0' --duration 50ms",
    ] {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("disk")).unwrap();
        let mut words = words_of(command);
        words.push(url.clone());
        if command.starts_with("compare") {
            words.push(url.clone());
        }
        let (code, said) = in_a_shell(home.path(), "unshare -rm sh", script, &words);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("No space left on device"), "{said}");
        // The report of a run that is complete.
        assert!(said.starts_with("0\n"), "{said}");
    }
}

/// The directory of a run that could not begin would be in the way of the next one.
#[test]
fn nothing_is_left_of_a_run_for_which_there_was_no_room() {
    if !can_mount() {
        return;
    }
    let server = plain();
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("disk")).unwrap();
    let script = "mount -t tmpfs -o size=64k tmpfs disk || exit 9
                  dd if=/dev/zero of=disk/fill 2>dd; truncate -s -4096 disk/fill
                  \"$@\" --save disk/kept; code=$?; ls -A disk; exit $code";
    let words = [server.url()];
    let (code, said) = in_a_shell(home.path(), "unshare -rm sh", script, &words);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.lines().any(|line| line == "fill"), "{said}");
    assert!(!said.contains("\nkept\n"), "{said}");
}

#[test]
fn a_run_that_cannot_begin_says_whose_documents_are_there() {
    let said = "prestan: out.json was there before this run, which did not write it";
    let table = "
        http://127.0.0.1:1/ => 4
        run none.yaml http://127.0.0.1:1/ => 2
        load GET http://127.0.0.1:1/ --duration 1s => 4
        compare http://127.0.0.1:1/ http://127.0.0.1:1/ => 4
    ";
    for [line, code] in cases::rows(table) {
        let prestan = Prestan::new();
        prestan.file("out.json", "{}");
        let prestan = prestan!(prestan.words(line) => "--json out.json");
        let outcome = prestan.ends(code.parse().unwrap());
        assert_eq!(outcome.stderr.matches(said).count(), 1, "{outcome}");
        let prestan = Prestan::new();
        fs::create_dir(prestan.home().join("figs")).unwrap();
        prestan.file("figs/ecdf-Get1K.svg", "<svg/>");
        let figures = prestan!(prestan.words(line) => "--svg figs").run();
        let old = "prestan: figs/ecdf-Get1K.svg was there before this run, which did not write it";
        assert_eq!(figures.stderr.matches(old).count(), 1, "{figures}");
        let new = prestan!(Prestan::new().words(line) => "--svg figs").run();
        new.stderr_lacks("was there before");
    }
}

/// Devices are written to, and never replaced.
#[test]
fn a_device_is_never_replaced() {
    let outcome = a_run();
    let device = outcome.home().join("full");
    std::os::unix::fs::symlink("/dev/full", &device).unwrap();
    let report = prestan!(outcome.again() => "report run --json full").ends(1);
    report.stderr_has("writing full failed: No space left on device");
    assert!(device.is_symlink());
    let report = prestan!(outcome.again() => "report run --json /dev/stdout").ends(0);
    report.stdout_has("\"schema_version\"");
    // It is the destination of one document, under any name.
    let script = "\"$1\" report run --json /dev/stdout > written && cat written";
    let (code, said) = in_a_shell(outcome.home(), "sh", script, &[]);
    let is_json = serde_json::from_str::<serde_json::Value>(&said).is_ok();
    assert!(code == 0 && is_json, "{said}");
    prestan!(outcome.again() => "report run --json /dev/stdout --csv -").ends(2);
    // Nothing is lost where nothing is kept.
    std::os::unix::fs::symlink("/dev/null", outcome.home().join("null")).unwrap();
    let script = "\"$1\" report run --json - --csv null --junit null > null";
    let (code, said) = in_a_shell(outcome.home(), "sh", script, &[]);
    assert_eq!((code, said.as_str()), (0, ""));
    assert!(outcome.home().join("null").is_symlink());
}

/// Waiting for a disk takes longer than drawing.
#[test]
fn documents_wait_for_the_disk_and_figures_do_not() {
    let home = tempfile::tempdir().unwrap();
    let traced = Command::new("strace")
        .arg("-o")
        .arg(home.path().join("calls"))
        .arg("true")
        .stderr(Stdio::null())
        .status();
    let works = traced.is_ok_and(|status| status.success());
    if need_or(works.then_some(()).ok_or("strace that may trace")).is_none() {
        return;
    }
    let outcome = a_run();
    let script = "strace -f -o calls -e trace=fsync,fdatasync,syncfs \"$1\" report run --json out.json --svg figs >said
                  ls figs | wc -l; grep -c 'sync(' calls";
    let (code, said) = in_a_shell(outcome.home(), "sh", script, &[]);
    let counts: Vec<u32> = said
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    let [figures, syncs] = counts[..] else {
        panic!("{said}")
    };
    assert!(code == 0 && figures > 2 && syncs == 1, "{said}");
}
