//! Runs that end early: by Ctrl-C, by SIGTERM, twice, or killed. Leftovers on the server, the
//! record of the run, and their removal by `prestan clean`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::faulty::Faulty;
use crate::support::load::{at_work, plain, send, until};
use crate::support::real::started;
use crate::support::rows::{assert_adds_up, row};
use crate::support::{Outcome, Prestan, Running, names_in};
use rustix::process::Signal;
use testbed::fault::{Fault, Rule};

/// A lock is held during a pause that is longer than a test may take.
const HELD: &str = r#"
suite: held
tests:
  - name: Held
    needs: class 2
    setup:
      - PUT: edit.md
        body: {size: 1KiB}
    loop:
      - LOCK: edit.md
        depth: 0
        timeout: 600s
        body:
          xml: |
            <lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope>
            <locktype><write/></locktype></lockinfo>
        save: {token: lock-token}
        measure: Lock
      - think: {constant: 600s}
      - UNLOCK: edit.md
        headers: {Lock-Token: "{{ token }}"}
"#;

/// A run of Get1K that has measured something, kept in `run` below its home.
fn kept_at_work(server: &Faulty, run_id: &str) -> (Running, PathBuf) {
    let prestan = prestan!("--save run");
    let kept = prestan.home().join("run");
    (at_work(prestan, server, run_id), kept)
}

/// A run that holds a lock and thinks.
fn holding_a_lock(url: &str, run_id: &str) -> Running {
    let prestan = Prestan::new();
    let suite = prestan.file("held.yaml", HELD);
    prestan!(prestan => "run {} {url} --warmup 0 --save run --run-id {run_id} -r 1000000", suite)
        .spawn()
}

/// Ends a run and checks the properties of every interrupted run.
fn ended_in_order_by(signal: Signal) {
    let server = plain();
    let (running, kept) = kept_at_work(&server, "cut");

    let outcome = running.end_by(signal);
    outcome.stderr_has("interrupted; cleaning up");
    outcome.stdout_has("\nInterrupted by the user\n");
    assert_eq!(server.left(), [""; 0]);

    let json = prestan!(outcome.again() => "report --json - {}", kept).ends(0);
    let document = json.json();
    assert_eq!(document["complete"]["state"], "interrupted");
    assert_adds_up(&document);
    let measured = row(&document, "Get1K")["outcomes"]["ok"].as_u64().unwrap();
    let seen = server.measured("Get1K").len() as u64;
    // The last one may have been cut off.
    assert!(
        (seen - 1..=seen).contains(&measured),
        "{measured} of {seen}"
    );
    assert_eq!(document["left_behind"].as_array().unwrap().len(), 0);
    let text = prestan!(outcome.again() => "report run").run();
    assert_eq!(text.stdout, outcome.stdout);
}

#[test]
fn ctrl_c_cleans_up_and_keeps_what_was_measured() {
    ended_in_order_by(Signal::INT);
}

#[test]
fn sigterm_and_sighup_are_like_ctrl_c() {
    ended_in_order_by(Signal::TERM);
    ended_in_order_by(Signal::HUP);
}

/// The state of a process that has not been waited for, and its processor time.
fn state_of(pid: u32) -> (String, Duration) {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux reports them in hundredths of a second, regardless of its timer.
    (fields[0].to_owned(), Duration::from_millis(10 * ticks))
}

#[test]
fn a_suite_of_20000_tests_ends_soon_after_sigterm() {
    let server = plain();
    let prestan = Prestan::new();
    let test =
        |number| format!("  - {{name: T{number}, loop: [{{GET: file, measure: M{number}}}]}}\n");
    let tests: String = (0..20_000).map(test).collect();
    prestan.file("many.yaml", &format!("suite: many\ntests:\n{tests}"));
    let running = prestan!(prestan => "run many.yaml {server} -r 1").spawn();
    until("a test is measured", || !server.measured("M1").is_empty());
    let (_, before) = state_of(running.id());

    send(&running, Signal::TERM);
    until("it has ended", || state_of(running.id()).0 == "Z");
    let (_, after) = state_of(running.id());

    assert_eq!(running.wait().code, -Signal::TERM.as_raw());
    // A program that is not optimised takes 2 s; one that looks at all tests for each of them, 15.
    let spent = after - before;
    assert!(spent < Duration::from_secs(6), "{spent:?}");
}

#[test]
fn ctrl_c_ends_a_pause_and_releases_the_lock_held_in_it() {
    let server = plain();
    let running = holding_a_lock(&server.url(), "held");
    until("the lock is there", || !server.measured("Lock").is_empty());

    running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
    let mut exchanges = server.exchanges().into_iter();
    let unlock = exchanges.find(|one| one.method == "UNLOCK").unwrap();
    assert_eq!(unlock.status, Some(204));
}

#[test]
fn many_users_in_their_set_up_are_interrupted_as_well() {
    let server = plain();
    let running = prestan!("{server} --only CopyCol -c 20 -w 100000 --save run").spawn();
    until("the trees are growing", || server.exchanges().len() > 200);
    running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_second_ctrl_c_leaves_at_once_and_names_what_is_left() {
    // The DELETE of the run's collection never gets a response.
    let stuck = Rule::new(Fault::Hang).method("DELETE").tag("(workspace)");
    let server = Faulty::new(|builder| builder.rule(stuck));
    let (running, kept) = kept_at_work(&server, "stuck");
    send(&running, Signal::INT);
    // Two signals at the same time are one: the second has to wait for the first.
    until("the users have ended", || has_event(&kept, "interrupted"));

    let outcome = running.end_by(Signal::INT);
    let left = format!("stopped at once; still on the server: {server}PrestanTest-stuck/");
    outcome.stderr_has(&left);
    assert_eq!(server.left(), ["PrestanTest-stuck"]);
}

/// True if an event is in the record of a run.
pub(crate) fn has_event(run: &Path, kind: &str) -> bool {
    let events = fs::read_to_string(run.join("events.jsonl"));
    events.is_ok_and(|events| events.contains(&format!("\"event\":\"{kind}\"")))
}

/// Kills it, without a clean-up.
pub(crate) fn kill(running: Running) -> Outcome {
    send(&running, Signal::KILL);
    running.ends(-9)
}

#[test]
fn what_a_killed_run_left_is_named_listed_and_removed_and_nothing_else() {
    let server = plain();
    let root = server.demo.root();
    fs::create_dir(root.join("PrestanTest-xyz")).unwrap();
    fs::write(root.join("PrestanTest-xyz/thesis.tex"), "not ours").unwrap();
    fs::write(root.join("PrestanTest-file"), "a file, not a collection").unwrap();
    fs::write(root.join("precious.txt"), "not ours").unwrap();
    let (running, _) = kept_at_work(&server, "killed");
    let before = kill(running);
    let url = server.url();
    let collection = format!("{url}PrestanTest-killed/");
    let foreign = format!("{url}PrestanTest-xyz/");
    let left = || server.left();
    let theirs = ["PrestanTest-file", "PrestanTest-xyz", "precious.txt"];
    let all = [
        "PrestanTest-file",
        "PrestanTest-killed",
        "PrestanTest-xyz",
        "precious.txt",
    ];

    let next = prestan!(before.again() => "{url} --only Put1K -r 1").ends(0);
    next.stderr_has(&collection);
    next.stdout_has(&format!("{collection} (of an earlier run)"));
    next.stdout_lacks(&foreign);
    next.stderr_lacks(&foreign);
    assert_eq!(left(), all);

    let dry = prestan!(before.again() => "clean -n {url}").ends(0);
    dry.stdout_has(&format!("would be removed: {collection}\n"));
    dry.stdout_has(&format!("left alone: {foreign} ("));
    assert_eq!(left(), all);

    let clean = prestan!(before.again() => "clean {url}").ends(0);
    clean.stdout_has(&format!("removed: {collection}\n"));
    clean.stdout_has(&format!("left alone: {foreign} ("));
    assert_eq!(left(), theirs);
    let thesis = fs::read_to_string(root.join("PrestanTest-xyz/thesis.tex")).unwrap();
    assert_eq!(thesis, "not ours");
}

#[test]
fn nothing_to_clean_is_said() {
    let server = plain();
    let outcome = prestan!("clean {server}").ends(0);
    let said = format!("no leftovers of prestan in {server}\n");
    assert_eq!(outcome.stdout, said);
}

#[test]
fn a_marker_of_another_collection_is_none() {
    let server = plain();
    let (running, _) = kept_at_work(&server, "killed");
    let outcome = kill(running);
    let root = server.demo.root();
    let (from, to) = (
        root.join("PrestanTest-killed"),
        root.join("PrestanTest-kept"),
    );
    fs::rename(from, to).unwrap();

    let clean = prestan!(outcome.again() => "clean {server}").ends(0);
    clean.stdout_has("left alone: ");
    assert_eq!(server.left(), ["PrestanTest-kept"]);
}

/// The number of a process is given to another one, sooner or later.
#[test]
fn the_number_of_a_living_process_does_not_make_a_run_go_on() {
    let server = plain();
    let (running, _) = kept_at_work(&server, "killed");
    let number = format!("\"pid\": {},", running.id());
    let outcome = kill(running);
    let marker = server
        .demo
        .root()
        .join("PrestanTest-killed/prestan-run.json");
    let text = fs::read_to_string(&marker).unwrap();
    assert!(text.contains(&number), "{text}");
    // Not this one, which may have begun in the same tick of the system's clock.
    let first = "\"pid\": 1,";
    fs::write(&marker, text.replace(&number, first)).unwrap();

    let clean = prestan!(outcome.again() => "clean {server}").ends(0);
    assert_eq!(server.left(), [""; 0], "{clean}");
}

/// The response of Apache to a DELETE of a locked resource is 424, that of the demo server 423.
fn a_lock_is_no_obstacle(url: &str, storage: &Path) {
    let running = holding_a_lock(url, "locked");
    let kept = running.home().join("run");
    let locked = storage.join("PrestanTest-locked/Held-u0/edit.md");
    until("a run is at its lock", || {
        locked.exists() && has_event(&kept, "measuring_started")
    });
    // The server has the lock before the client has its token.
    let tokens = running.home().join("state/prestan/locks/locked.jsonl");
    until("the token is kept", || {
        fs::read_to_string(&tokens).is_ok_and(|text| text.ends_with('\n'))
    });
    let outcome = kill(running);

    let clean = prestan!(outcome.again() => "clean {url}").ends(0);
    clean.stdout_has("removed: ");
    assert!(!storage.join("PrestanTest-locked").exists(), "{clean}");
}

/// Some servers show that something is locked and keep the token to themselves.
fn secretive() -> Faulty {
    let hides = Fault::RewriteBody {
        from: "locktoken".to_owned(),
        to: "secret".to_owned(),
    };
    Faulty::new(|builder| builder.rule(Rule::new(hides).method("PROPFIND")))
}

#[test]
fn a_lock_whose_token_the_server_hides_is_released_by_who_took_it() {
    use std::os::unix::fs::PermissionsExt;
    let server = secretive();
    a_lock_is_no_obstacle(&server.url(), server.demo.root());

    let running = holding_a_lock(&server.url(), "again");
    let kept = running.home().join("state/prestan/locks");
    // The final name: the file is written under another name.
    let file = kept.join("again.jsonl");
    until("the token is kept", || file.exists());
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    let outcome = running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0], "{outcome}");
    assert_eq!(names_in(&kept), [""; 0]);
}

#[test]
fn a_lock_that_cannot_be_released_is_named_with_its_end() {
    let server = secretive();
    let url = server.url();
    let running = holding_a_lock(&url, "locked");
    until("the lock is there", || is_locked(&url));
    kill(running);
    // From another machine: without the tokens.
    let clean = prestan!("clean --debug {url}").ends(1);
    clean.stdout_has("DELETE returned 423 Locked; Held-u0/edit.md is locked until 20");
    clean.stdout_has("run `prestan clean` again");
    clean.stderr_has("[0] > DELETE /PrestanTest-locked/ HTTP/1.1");
    clean.stderr_has("[0] < HTTP/1.1 423");
    assert_eq!(server.left(), ["PrestanTest-locked"]);
}

/// True if the file is locked, according to the server.
fn is_locked(url: &str) -> bool {
    use std::io::{Read, Write};
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let request = format!(
        "PUT /PrestanTest-locked/Held-u0/edit.md HTTP/1.1\r\nHost: {host}\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response);
    response.starts_with("HTTP/1.1 423 ")
}

#[test]
fn a_lock_in_what_was_left_is_released() {
    let server = plain();
    a_lock_is_no_obstacle(&server.url(), server.demo.root());
}

#[test]
fn a_lock_in_what_was_left_is_released_on_apache() {
    let Some(server) = started("apache") else {
        return;
    };
    a_lock_is_no_obstacle(&server.url(), &server.storage());
}

#[test]
fn a_run_that_goes_on_is_left_alone() {
    let server = plain();
    let (running, _) = kept_at_work(&server, "busy");

    let clean = prestan!("clean {server}").ends(0);
    clean.stdout_has(&format!("in use by the run of process {}", running.id()));
    assert_eq!(server.left(), ["PrestanTest-busy"]);

    let second = prestan!("{server} --only Put1K -r 1").ends(0);
    second.stdout_has("two runs at a time disturb");
    second.stdout_lacks("of an earlier run");

    running.end_by(Signal::INT);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn a_run_that_cannot_be_kept_is_not_begun() {
    let server = plain();
    let prestan = Prestan::new();
    let file = prestan.file("file", "");
    let below_a_file = file.join("run");

    let outcome = prestan!(prestan => "{server} --save {}", below_a_file).ends(1);
    let said = format!("prestan: writing {} failed: ", below_a_file.display());
    assert!(outcome.stderr.starts_with(&said), "{outcome}");
    assert_eq!(server.exchanges().len(), 0);
}

#[test]
fn a_run_is_never_written_over_another() {
    let server = plain();
    let first = prestan!("{server} --only Get1K -r 1 --save run").ends(0);
    let seen = server.exchanges().len();

    let second = prestan!(first.again() => "{server} --only Get1K -r 1 --save run").ends(1);
    second.stderr_has("there is a run in this directory already");
    assert_eq!(server.exchanges().len(), seen);
}

#[test]
fn a_full_disk_for_one_report_does_not_take_the_others_along() {
    let server = plain();

    let outcome = prestan!("{server} --only Get1K -r 1 --json /dev/full --csv rows.csv").ends(1);
    outcome.stderr_has("prestan: writing /dev/full failed: No space left on device");
    let hint = format!(
        "`prestan report {}` prints it again",
        outcome.run().display()
    );
    outcome.stderr_has(&hint);
    outcome.stdout_has("\nGet1K   Rsp = ");
    assert_eq!(outcome.read("rows.csv").lines().count(), 2);
    assert_eq!(server.left(), [""; 0]);
}

#[test]
fn progress_names_no_test_that_was_not_reached() {
    let server = plain();
    let running = prestan!("{server} --only Get1K,Copy,Move -r 1000000").spawn();
    let reached = |test| !server.measured(test).is_empty();
    until("a test is measured", || {
        ["Get1K", "Copy", "Move"].into_iter().any(reached)
    });
    let outcome = running.end_by(Signal::INT);
    let lines = outcome.stderr.lines();
    let of_tests = lines.filter(|line| line.contains('%')).count();
    assert!(of_tests <= 1, "{outcome}");
}
