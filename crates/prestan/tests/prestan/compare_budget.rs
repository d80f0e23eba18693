//! `prestan compare` within a budget of time, with servers that it starts itself.

use std::fs;
use std::path::Path;
use std::time::Duration;

use record::PlanRecord;
use testbed::fault::{Fault, Rule};

use crate::support::faulty::Faulty;
use crate::support::load::plain;
use crate::support::rows::{names, row};
use crate::support::{Prestan, names_in, serve};

/// A comparison of two quick tests.
fn compare() -> Prestan {
    prestan!("compare --only Get1K,Put1K --warmup 1")
}

/// The plan of each run below a directory.
fn plans(directory: &Path) -> Vec<PlanRecord> {
    let runs = names_in(directory)
        .into_iter()
        .map(|name| directory.join(name));
    runs.map(|run| rundir::open(&run).unwrap().plan).collect()
}

#[test]
fn a_command_gets_a_path_that_needs_no_quotes() {
    let odd = tempfile::Builder::new()
        .prefix("a b'\"$(touch made)")
        .tempdir();
    let odd = odd.unwrap();
    let program = env!("CARGO_BIN_EXE_prestan");
    let command = format!("exec '{program}' serve --port {{{{ port }}}} {{{{ storage }}}}");
    prestan!(compare() => "--start-a {command} --start-b {command} --repeat 2 -r 3")
        .env("TMPDIR", odd.path().to_str().unwrap())
        .ends(0);
}

#[test]
fn two_builds_are_started_for_each_run_and_stopped() {
    let home = tempfile::tempdir().unwrap();
    let (save, log) = (home.path().join("kept"), home.path().join("starts"));
    fs::create_dir(&save).unwrap();
    let command = |side| format!("echo {side} >> '{}'; {}", log.display(), serve());
    let (a, b) = (command("a"), command("b"));
    let outcome =
        prestan!(compare() => "--start-a {a} --start-b {b} --repeat 3 -r 5 --save {} --json -", save)
            .ends(0);
    // The last one started is younger: in two consecutive blocks, each server once.
    let log = fs::read_to_string(&log).unwrap();
    let sides: Vec<&str> = log.lines().collect();
    assert_eq!(sides.len(), 6, "{log}");
    assert_eq!(sides[..2], [sides[3], sides[2]], "{log}");
    outcome.stdout_lacks("not restarted");
    let plans = plans(&save);
    assert_eq!(plans.len(), 6);
    // Both servers of a block are kept to the same processors, and the next block has others.
    let processors = |run: &str| {
        let mut found = plans.iter().filter(|plan| plan.run_id.ends_with(run));
        found.next().unwrap().processors.clone()
    };
    for block in 1..=3 {
        let [a, b] = ["a", "b"].map(|side| processors(&format!("-{side}{block}")));
        assert_eq!(a, b, "{block}");
    }
    let usable = std::thread::available_parallelism().unwrap().get();
    assert_eq!(processors("-a1").is_some(), usable > 1);
    assert!(usable == 1 || processors("-a1") != processors("-a2"));
    for plan in &plans {
        let (side, block) = plan.run_id.rsplit_once('-').unwrap().1.split_at(1);
        let block: usize = block.parse().unwrap();
        let started = plan.start_place.unwrap() as usize;
        assert_eq!(sides[2 * (block - 1) + started - 1], side, "{log}");
        // Nothing listens there any more.
        let url = &plan.target;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let address: std::net::SocketAddr = address.parse().unwrap();
        assert!(std::net::TcpStream::connect(address).is_err(), "{url}");
    }
}

#[test]
fn a_warning_about_a_server_is_printed_once_and_not_for_each_block() {
    let server = plain();
    let url = server.url().replace("http://", "http://ann:secret@");
    let outcome = prestan!(compare() => "{url} {url} --repeat 3 -r 1").run();
    let warnings = outcome.stderr.matches("process list").count();
    assert_eq!(warnings, 2, "one for A and one for B: {outcome}");
}

#[test]
fn a_command_that_does_not_serve_is_shown_with_what_it_said() {
    let command = serve();
    let outcome = prestan!(compare() => "--start-a {command} --start-b 'echo no such \
        option: {{{{ port }}}}; exit 3'")
    .ends(4);
    outcome.stderr_has("no such option");

    let server = plain();
    let url = server.url();
    let sleeping =
        |url: &str| prestan!(compare() => "--start-a 'sleep 9' --start-b 'sleep 9' {url}").ends(4);
    sleeping(&url).stderr_has("answers at");
    let with_password = url.replace("http://", "http://ann:secret@");
    sleeping(&with_password).stderr_lacks("secret");

    let table = "
        --start-a true => --start-b
        --start-a a --start-b b u1 u2 u3 => one for both
        --server nginx,colour=red --server nginx => no parameter
        a b --for 1s --repeat 2 => cannot be used with
        --start-a 'COMMAND' --start-b 'COMMAND' --repeat 1 --fail-if 'slower 5%'
          => several runs of each server
        --start-a 'COMMAND' --start-b 'COMMAND' --cacert none.pem => none.pem
        --start-a 'COMMAND' --start-b 'COMMAND' --unix-socket s => cannot be used with
        --start-a 'COMMAND' --start-b ./serve => --start-b: the command has no {{ port }}
        --start-a a --start-b 'COMMAND' http://127.0.0.1:{{port}}/dav/
          => --start-a: the command has no {{ port }}
    ";
    let command = command.replace('\'', "");
    for [options, said] in cases::rows(table) {
        let outcome = compare().words(&options.replace("COMMAND", &command)).run();
        assert_ne!(outcome.code, 0, "{outcome}");
        outcome.stderr_has(said);
    }
}

#[test]
fn a_comparison_that_cannot_begin_leaves_nothing_behind() {
    let (a, b) = (plain(), plain());
    let pid = std::process::id().to_string();
    let arguments = format!("compare {a} {b} --run-id week --repeat 1 -r 1");
    let refused = prestan!(Prestan::new().words(&arguments) => "--only Get1K,Put1K --warmup 1 --pid {pid} --pid \
        4000000").ends(2);
    let runs = prestan!(refused.again() => "runs").run();
    runs.stdout_lacks("week");
    runs.again().words(&arguments).ends(0);
}

#[test]
fn a_server_that_ends_by_itself_ends_the_comparison_and_is_named() {
    let program = env!("CARGO_BIN_EXE_prestan");
    // It ends in the third run of B, as after a crash.
    let crashes = format!(
        "'{program}' serve --port {{{{ port }}}} '{{{{ storage }}}}' & server=$!
         until [ -e '{{{{ storage }}}}'/PrestanTest-*-b3 ]; do sleep 0.01; done
         echo out of memory; kill -9 $server; exit 7"
    );
    let command = serve();
    let outcome =
        prestan!(compare() => "--start-a {command} --start-b {crashes} --repeat 4 -r 300").ends(4);
    outcome.stderr_has("B ended during run 3 (exit status: 7); its logs end with\n");
    outcome.stderr_has("out of memory");
    outcome.stderr_lacks("still on the server");
    // The runs before it are compared.
    outcome.stdout_has("Get1K");
    outcome.stdout_lacks("failed");
}

#[test]
fn blocks_go_on_for_a_while_with_the_rows_that_were_asked_for_and_no_others() {
    let (a, b) = (plain(), plain());
    // Lock and UnLock are rows of one test.
    let selection = "--only Lock*,UnLock --skip UnLock,LockCol,UnLockCol";
    let outcome = prestan!("compare {a} {b} --warmup 1 --for 2s --json -")
        .words(selection)
        .ends(0);
    let document = outcome.json();
    assert_eq!(names(&document), ["Lock"], "{document:#}");
    let pairs = document["b"][0]["pairs"].as_u64().unwrap();
    assert!(pairs > 2, "{document:#}");
    outcome.stdout_has("not restarted");
    let kept = outcome.home().join("state/prestan/runs");
    assert!(plans(&kept).iter().all(|plan| !plan.fresh_start));
}

#[test]
fn a_run_that_takes_turns_has_the_window_in_which_it_measured() {
    let slow = |delay: u64| {
        let rule = Rule::new(Fault::Delay(Duration::from_millis(delay))).tag("(Get1K)");
        Faulty::new(|builder| builder.rule(rule))
    };
    // Every round is longer than a batch, so that all of them end with handing over.
    let (a, b) = (slow(15), slow(40));
    let kept = tempfile::tempdir().unwrap();
    let save = kept.path().to_str().unwrap();
    prestan!(compare() => "{a} {b} --only Get1K --duration 0.1s --repeat 2 --save {save}").ends(0);
    let runs = names_in(kept.path());
    assert_eq!(runs.len(), 4);
    for run in runs {
        let document = prestan!("report {} --json -", kept.path().join(&run))
            .run()
            .json();
        let get = row(&document, "Get1K");
        let (n, mean_us) = (&get["operations"], &get["response_us"]["mean"]);
        let worked_s = n.as_f64().unwrap() * mean_us.as_f64().unwrap() / 1e6;
        let window_s = get["window_s"].as_f64().unwrap();
        let is_whole = window_s >= 0.9 * worked_s && window_s < 0.5;
        assert!(is_whole, "{worked_s}: {get:#}");
        // Delays alone leave no more than that.
        let most = if run.contains("-a") { 67.0 } else { 26.0 };
        assert!(get["per_second"].as_f64().unwrap() <= most, "{get:#}");
    }
}

#[test]
fn a_recorded_comparison_is_shown_again() {
    let (a, b) = (serve(), format!("true; {}", serve()));
    let measured =
        prestan!(compare() => "--start-a {a} --start-b {b} --repeat 2 -r 3 --run-id week").ends(0);
    measured.stderr_has("recorded; `prestan compare week` prints this again");

    let again = |arguments: &str| measured.again().words(arguments).run();
    let shown = again("compare week").ended(0);
    assert_eq!(shown.stdout, measured.stdout);
    assert_eq!(again("compare we").stdout, measured.stdout);
    let gated = again("compare week --fail-if 'slower 1000%'");
    assert_ne!(gated.code, 2, "{gated}");
    again("compare week --repeat 3").ended(2);

    let last = again("report");
    last.stderr_has("one of the runs of a comparison; `prestan compare week`");

    // A block counts only if each server has a run of it.
    again("runs remove week-b2").ended(0);
    let shown = again("compare week");
    shown.stdout_has("one run of each");
    again("compare week --fail-if slower").ended(2);
    again("runs remove week-b1").ended(0);
    let nothing = again("compare week").ended(2);
    nothing.stderr_has("ended before each server");
}
