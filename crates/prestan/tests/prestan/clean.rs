//! What `prestan clean` finds by what this machine keeps: collections that the server does not
//! list.

use std::fs;

use crate::support::faulty::{Faulty, run_of, status};
use crate::support::load::{send, until};
use crate::support::{Outcome, Prestan, Running};
use rustix::process::Signal;
use testbed::fault::{Fault, Rule};

/// A server whose listings have no collection that is named like ours.
fn unlisted() -> Rule {
    let hides = Fault::RewriteBody {
        from: "PrestanTest-".to_owned(),
        to: "Other-".to_owned(),
    };
    Rule::new(hides).method("PROPFIND").header("depth", "1")
}

/// A run of Get1K without end that has measured something, kept where runs are kept.
fn at_work(server: &Faulty, run_id: &str) -> Running {
    let before = server.measured("Get1K").len();
    let running = Prestan::new()
        .args([&server.server.url(), "--only", "Get1K", "-r", "1000000"])
        .args(["--run-id", run_id])
        .spawn();
    until("the server has seen measured requests", || {
        server.measured("Get1K").len() > before + 20
    });
    running
}

/// Kills it; nobody cleans up.
fn kill(running: Running) -> Outcome {
    send(&running, Signal::KILL);
    let outcome = running.wait();
    assert_eq!(outcome.code, -9, "{outcome}");
    outcome
}

#[track_caller]
fn clean(outcome: &Outcome, url: &str, options: &[&str]) -> Outcome {
    let options = options.iter().copied();
    let cleaned = outcome.again().args(["clean", url]).args(options).run();
    assert_eq!(cleaned.code, 0, "{cleaned}");
    cleaned
}

const NONE: [&str; 0] = [];

#[test]
fn a_collection_that_the_server_does_not_list_is_removed() {
    let server = Faulty::new(|builder| builder.rule(unlisted()));
    let url = server.server.url();
    let running = at_work(&server, "killed");
    let before = kill(running);
    assert_eq!(server.left(), ["PrestanTest-killed"]);

    // Another machine knows nothing of it, and neither does another target.
    let nothing = format!("nothing of ours in {url}\n");
    assert_eq!(clean(&Prestan::new().run(), &url, &[]).stdout, nothing);
    fs::create_dir(server.demo.root().join("other")).unwrap();
    let other = format!("{url}other/");
    let nothing_there = format!("nothing of ours in {other}\n");
    assert_eq!(clean(&before, &other, &[]).stdout, nothing_there);
    fs::remove_dir(server.demo.root().join("other")).unwrap();

    let removed = format!("removed: {url}PrestanTest-killed/\n");
    assert_eq!(clean(&before, &url, &[]).stdout, removed);
    assert_eq!(server.left(), NONE);
    assert_eq!(clean(&before, &url, &[]).stdout, nothing);
}

#[test]
fn a_collection_that_a_run_left_behind_is_removed_without_a_listing() {
    let refused = Rule::new(status(503, &[], "")).method("DELETE");
    let refused = refused.tag("(workspace)");
    let server = Faulty::new(|builder| builder.rule(refused));
    let url = server.server.url();
    let run = run_of(&url, "Put1K", 3).args(["--run-id", "left"]).run();
    assert!(run.stderr.contains("`prestan clean` removes it"), "{run}");
    assert_eq!(server.left(), ["PrestanTest-left"]);
    server.server.clear_rules();
    server.server.add_rule(unlisted());

    let removed = format!("removed: {url}PrestanTest-left/\n");
    assert_eq!(clean(&run, &url, &[]).stdout, removed);
    assert_eq!(server.left(), NONE);
}

#[test]
fn a_collection_that_is_not_listed_is_handled_like_one_that_is() {
    let server = Faulty::new(|builder| builder.rule(unlisted()));
    let url = server.server.url();
    let running = at_work(&server, "busy");
    // In the home of the run, while it goes on.
    let state = running.home().join("state");
    let cleaned = Prestan::new()
        .env("XDG_STATE_HOME", &state)
        .args(["clean", &url])
        .run();
    let said = format!("in use by the run of process {}", running.id());
    assert!(cleaned.stdout.contains(&said), "{cleaned}");
    assert_eq!(server.left(), ["PrestanTest-busy"]);

    let before = kill(running);
    let marker = "PrestanTest-busy/prestan-run.json";
    fs::remove_file(server.demo.root().join(marker)).unwrap();
    let cleaned = clean(&before, &url, &[]);
    assert!(cleaned.stdout.contains("without our marker"), "{cleaned}");
    assert_eq!(server.left(), ["PrestanTest-busy"]);
}
