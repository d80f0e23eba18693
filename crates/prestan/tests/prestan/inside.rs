//! Figures from inside of real servers on this machine.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::real::{is_installed, started};

/// The row of that name in the figures from inside its server.
fn row<'v>(document: &'v Value, name: &str) -> Option<&'v Value> {
    let rows = document["inside"]["rows"].as_array()?;
    rows.iter().find(|row| row["measure"] == name)
}

/// Calls of a row by name and target, per operation.
fn calls(row: &Value, call: &str, target: &str) -> f64 {
    let calls = row["traced"]["calls"].as_array().unwrap().iter();
    let of_both = calls.filter(|one| one["call"] == call && one["target"] == target);
    of_both
        .map(|one| one["per_operation"].as_f64().unwrap())
        .sum()
}

fn mean(row: &Value, figure: &str) -> f64 {
    row[figure]["mean"].as_f64().unwrap()
}

#[test]
fn costs_of_requests_are_counted_by_row() {
    if !is_installed("apache") {
        return;
    }
    let outcome =
        prestan!("run prestan --server apache --inside -r 200 --only Put1K,Get1K,Lock --json -")
            .ends(0);
    let document = outcome.json();
    let [put, get, lock] = ["Put1K", "Get1K", "Lock"].map(|name| row(&document, name).unwrap());
    // PUT alternates with DELETE, and LOCK with UNLOCK: one of four is counted, and after twelve,
    // one of sixteen.
    for (row, operations) in [(put, 21), (get, 200), (lock, 21)] {
        assert_eq!(row["operations"], operations, "{row}");
        let processor = mean(row, "processor_us");
        assert!((5.0..20_000.0).contains(&processor), "{row}");
        let [low, high] = [0, 1].map(|end| row["processor_us"]["ci95"][end].as_f64().unwrap());
        assert!(low <= processor && processor <= high, "{row}");
        let (reads, waits) = (mean(row, "reads"), mean(row, "waits"));
        assert!(reads >= 1.0 && waits > 0.0, "{row}");
    }
    // A kibibyte is received and sent.
    for row in [put, get] {
        let written = mean(row, "written_bytes");
        assert!((1024.0..4000.0).contains(&written), "{row}");
    }
    // Calls of mod_dav_fs and its database of locks (the same with strace).
    assert_eq!(calls(put, "rename", "collection"), 1.0, "{put}");
    assert_eq!(calls(get, "rename", "collection"), 0.0, "{get}");
    assert_eq!(calls(get, "openat", "collection"), 1.0, "{get}");
    assert_eq!(calls(lock, "fdatasync", "file"), 2.0, "{lock}");
    assert_eq!(calls(put, "fdatasync", "file"), 0.0, "{put}");
    for row in [put, get, lock] {
        let traced = &row["traced"];
        assert_eq!(traced["operations"], 5, "{row}");
        let is_close = (1.0 / 1.2..=1.2).contains(&traced["slowed"].as_f64().unwrap());
        let shares = traced["shares"].as_object();
        assert_eq!(shares.is_some(), is_close, "{row}");
        for share in shares.into_iter().flatten() {
            let percent = share.1.as_f64().unwrap();
            assert!((0.0..=100.0).contains(&percent), "{row}");
        }
    }
    let watched = document["inside"]["processes"].as_array().unwrap();
    assert!(watched.len() >= 2, "{watched:?}");
    let threads = watched.iter().map(|process| process["threads"].as_u64());
    assert!(threads.sum::<Option<u64>>() > Some(25), "{watched:?}");
}

#[test]
fn what_several_users_do_at_a_time_is_not_reported_for_one_row() {
    if !is_installed("nginx") {
        return;
    }
    let outcome =
        prestan!("run prestan --server nginx --inside -r 20 -c 2 --only Put1K,Get1K --json -")
            .ends(0);
    let document = outcome.json();
    // DELETE and PUT alternate, and users do not wait for each other.
    assert!(mean(row(&document, "Get1K").unwrap(), "processor_us") > 0.0);
    let put = row(&document, "Put1K").unwrap();
    assert_eq!(put["operations"], 0);
    assert_eq!(put["processor_us"], Value::Null);
}

#[test]
fn what_was_watched_is_reported_and_all_calls_are_listed() {
    if !is_installed("nginx") {
        return;
    }
    let outcome =
        prestan!("run prestan --server nginx --inside -r 5 --only Put1K --quiet --save saved")
            .ends(0);
    outcome.stdout_has("Watched: nginx (PID ");
    let listed = prestan!(outcome.again() => "report saved --layout calls").ends(0);
    let lines = listed.stdout.lines();
    let lines: Vec<Vec<&str>> = lines
        .map(|line| line.split_whitespace().collect())
        .collect();
    let line_of = |call: &str| lines.iter().find(|line| line.first() == Some(&call));
    // It writes to another file, and renames that; and, not in the sentences of the full report, it
    // waits for the request.
    assert_eq!(line_of("rename").map(|line| line[1]), Some("1"), "{listed}");
    assert!(line_of("epoll_wait").is_some(), "{listed}");
    listed.stdout_lacks("Rsp");
}

/// A control group of this machine, in which a server is; removed at the end.
struct MadeGroup {
    parent: &'static str,
    directory: PathBuf,
    pids: Vec<u32>,
}

impl MadeGroup {
    /// `None` where this process may not make one.
    fn of(pids: Vec<u32>) -> Option<MadeGroup> {
        let name = format!("prestan-inside-test-{}", std::process::id());
        let parents = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"];
        let made = parents.into_iter().find_map(|parent| {
            let directory = Path::new(parent).join(&name);
            std::fs::create_dir(&directory).ok()?;
            if !directory.join("cgroup.procs").exists() {
                let _ = std::fs::remove_dir(&directory);
                return None;
            }
            Some(MadeGroup {
                parent,
                directory,
                pids: pids.clone(),
            })
        })?;
        let is_in = made.move_to(&made.directory).is_ok();
        is_in.then_some(made)
    }

    fn move_to(&self, directory: &Path) -> std::io::Result<()> {
        let mut pids = self.pids.iter();
        pids.try_for_each(|pid| std::fs::write(directory.join("cgroup.procs"), pid.to_string()))
    }
}

impl Drop for MadeGroup {
    fn drop(&mut self) {
        let _ = self.move_to(Path::new(self.parent));
        let _ = std::fs::remove_dir(&self.directory);
    }
}

#[test]
fn processes_of_a_control_group_belong_to_a_server() {
    let Some(server) = started("nginx") else {
        return;
    };
    let all = inside::processes::descendants(&[server.pid()]);
    let worker = *all.iter().find(|pid| **pid != server.pid()).unwrap();
    let watched = |pid: u32| {
        let url = server.url();
        let outcome = prestan!("run prestan {url} --only Get1K -r 5 --pid {pid} --json -").ends(0);
        let document = outcome.json();
        let processes = document["inside"]["processes"].as_array().unwrap().iter();
        let pids = processes.map(|process| process["pid"].as_u64().unwrap());
        pids.collect::<Vec<_>>()
    };
    // A worker process has started nothing.
    assert_eq!(watched(worker), [u64::from(worker)]);
    // By now, all of them are there.
    let all = inside::processes::descendants(&[server.pid()]);
    let Some(_group) = MadeGroup::of(all.clone()) else {
        eprintln!("skipped: this process may not make a control group");
        return;
    };
    let all: Vec<u64> = all.into_iter().map(u64::from).collect();
    assert_eq!(watched(worker), all);
}

#[test]
fn a_load_is_set_against_the_processor_time_of_a_process() {
    let Some(server) = started("nginx") else {
        return;
    };
    std::fs::write(server.storage().join("file"), vec![b'x'; 1000]).unwrap();
    let pid = server.pid().to_string();
    let url = server.url();
    let outcome = prestan!("load GET {url}file -c 4 -d 2s --pid {pid} --json -").ends(0);
    let document = outcome.json();
    let first_row = &document["inside"]["rows"][0];
    let operations = first_row["operations"].as_f64().unwrap();
    // All operations of a load are counted, also those at its edges, and no processor does more
    // than a second a second.
    let counted = document["tests"][0]["n"].as_f64().unwrap_or(operations);
    assert!(operations >= counted * 0.9, "{first_row}");
    let busy = mean(first_row, "processor_us") * operations / 1e6;
    assert!(busy > 0.0 && busy < 2.0 * 8.0, "{first_row}");
    assert_eq!(first_row["traced"], Value::Null, "a load is not repeated");
}

#[test]
fn where_nobody_can_look_is_said() {
    // This test has a thread of its own.
    let thread = std::fs::read_link("/proc/thread-self").unwrap();
    let tid = thread.file_name().unwrap().to_str().unwrap();
    let process = std::process::id();
    let reason = format!("--pid {tid}: this is a thread of the process {process}");
    for (options, message) in [
        (
            "--inside",
            "--inside and --flame look into a server that runs on this machine, and do not know which process it is",
        ),
        ("--pid 4000000", "--pid 4000000: there is no such process"),
        (&format!("--pid {tid}"), &reason),
    ] {
        let outcome = prestan!("run prestan http://127.0.0.1:9/").words(options);
        outcome.ends(2).stderr_has(message);
    }
}

#[test]
fn a_server_that_was_traced_goes_on() {
    let Some(server) = started("nginx") else {
        return;
    };
    let (url, pid) = (server.url(), server.pid());
    let outcome = prestan!("run prestan {url} --only Get1K -r 5 --pid {pid} --json -").ends(0);
    let document = outcome.json();
    let get = row(&document, "Get1K").unwrap();
    // A system that forbids tracing of other programs reports it.
    let is_refused = document["warnings"].to_string().contains("ptrace_scope");
    let is_traced = calls(get, "openat", "collection") >= 1.0;
    assert!(is_refused || is_traced, "{document}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0"), "{status}");
    let url = server.url();
    prestan!("load OPTIONS {url} --total 10").ends(0);
}
