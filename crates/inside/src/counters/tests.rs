use std::io::{Read, Write};
use std::process::{Child, Command};
use std::thread;

use super::*;
use crate::testing::shell;

/// A process that always computes, bound to the first processor.
fn worker(policy: &[&str]) -> Child {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).args(policy);
    command.args(["sh", "-c", "while :; do :; done"]);
    command.spawn().unwrap()
}

#[test]
fn a_server_that_has_no_processor_does_not_rest() {
    let mut server = worker(&["chrt", "-i", "0"]);
    let mut others = [(); 2].map(|()| worker(&[]));
    let counters = ServerCounters::of(&[server.id()]).unwrap();
    let rested = (0..20).filter(|_| counters.wait_for_rest()).count();
    for child in others.iter_mut().chain([&mut server]) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(rested, 0);
    let mut asleep = Command::new("sleep").arg("60").spawn().unwrap();
    let counters = ServerCounters::of(&[asleep.id()]).unwrap();
    let rests = (0..200).any(|_| counters.wait_for_rest());
    asleep.kill().unwrap();
    asleep.wait().unwrap();
    assert!(rests);
}

#[test]
fn a_process_that_ignores_the_end_of_its_children_takes_nothing_over() {
    for (ignored, expected) in [("CHLD", false), ("HUP", true)] {
        let mut process = Command::new("env")
            .arg(format!("--ignore-signal={ignored}"))
            .args(["sleep", "60"])
            .spawn()
            .unwrap();
        while name(process.id()) != "sleep" {
            thread::yield_now();
        }
        let waits = waits_for_children(process.id());
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(waits, expected, "{ignored}");
    }
    assert!(!waits_for_children(u32::MAX / 4));
}

/// A shell that starts a process that uses 0.3 s of processor time, and waits for it.
#[test]
fn what_children_did_is_counted_once_whether_they_were_seen_or_not() {
    let script =
        "read -r begin; timeout --signal=INT 0.4 sh -c 'while :; do :; done'; echo; read -r leave";
    for looks in [false, true] {
        let (mut shell, mut commands, mut output) = shell(script);
        let mut counters = ServerCounters::of(&[shell.id()]).unwrap();
        let mut all = InsideCounts::default();
        commands.write_all(b"begin\n").unwrap();
        let begun = Instant::now();
        while looks && begun.elapsed() < Duration::from_millis(300) {
            counters.look_again();
            all.add(&counters.read());
            thread::yield_now();
        }
        output.read_exact(&mut [0]).unwrap();
        all.add(&counters.read());
        // The time that the kernel accounted to the child: the shell waited for it.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", shell.id())).unwrap();
        let children = proc_files::stat(&stat).unwrap().children_ticks * counters.tick;
        drop(commands);
        shell.wait().unwrap();
        assert!(children > 20_000_000, "{children}");
        let beyond = all.processor.abs_diff(children);
        assert!(
            beyond < 30_000_000,
            "{looks}: {} of {children}",
            all.processor
        );
    }
}

#[test]
fn nothing_is_read_of_more_threads_than_files_may_be_open() {
    let (mut shell, commands, _output) =
        shell("sleep 60 & a=$!; sleep 60 & read leave; kill $a $!");
    let roots = [shell.id()];
    let with_files = |limit| ServerCounters::with_files(&roots, None, Some(limit)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while with_files(1_024).processes().len() < 3 {
        assert!(Instant::now() < deadline);
    }
    let (few, enough) = (with_files(8), with_files(12));
    assert!(few.lacks_threads() && !enough.lacks_threads());
    let missing = few.missing().join("; ");
    assert!(
        missing.contains("has 3 threads") && missing.contains("may open 8 in all"),
        "{missing}"
    );
    assert!(!enough.missing().join("; ").contains("threads"));
    drop(commands);
    shell.wait().unwrap();
}

#[test]
fn processes_that_start_and_end_are_told() {
    let script = "read begin; sleep 60 & read end; kill $!; wait $!; read leave";
    let (mut shell, mut commands, _output) = shell(script);
    let mut counters = ServerCounters::of(&[shell.id()]).unwrap();
    let processes = counters.processes();
    assert_eq!(processes.len(), 1, "{processes:?}");
    assert_eq!((processes[0].pid, processes[0].threads), (shell.id(), 1));
    counters.look_again();
    counters.read();
    assert_eq!(counters.cautions(), [""; 0]);

    let mut until = |line: &[u8], processes: usize| {
        commands.write_all(line).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while counters.processes().len() != processes {
            assert!(Instant::now() < deadline, "{:?}", counters.processes());
            counters.look_again();
            counters.read();
        }
        counters.cautions().join("; ")
    };
    let started = until(b"begin\n", 2);
    assert!(
        started.starts_with("one process of the server started"),
        "{started}"
    );
    assert!(!started.contains("ended"), "{started}");
    // The shell waits for it, and has its counts.
    let ended = until(b"end\n", 1);
    assert_eq!(ended, started);
    drop(commands);
    shell.wait().unwrap();
}
