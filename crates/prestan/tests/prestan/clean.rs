//! `prestan clean` with records of this machine: collections that the server does not list, and
//! files that load runs made.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::interruption::kill;
use crate::support::faulty::{Faulty, run_of, status};
use crate::support::load::{at_work, plain, seen, until};
use crate::support::{Outcome, Prestan, Running};
use testbed::fault::{Fault, Rule};

/// A server whose listings have no collection that is named like ours.
fn unlisted() -> Rule {
    let hides = Fault::RewriteBody {
        from: "PrestanTest-".to_owned(),
        to: "Other-".to_owned(),
    };
    Rule::new(hides).method("PROPFIND").header("depth", "1")
}

/// A PUT without end that has made its file.
fn putting(server: &Faulty, url: &str) -> Running {
    let before = seen(server, "PUT").len();
    let running = prestan!("load PUT {url} --json - --body-size 1KiB --duration 60s").spawn();
    until("the server has seen measured requests", || {
        seen(server, "PUT").len() > before + 20
    });
    running
}

/// Kills it, and waits until the server has handled its last request.
fn kill_putting(running: Running, server: &Faulty) -> Outcome {
    let outcome = kill(running);
    let path = server.demo.root().join("new.bin");
    until("the last request has been carried out", || {
        fs::metadata(&path).is_ok_and(|file| file.len() == 1024)
    });
    outcome
}

#[track_caller]
fn clean(outcome: &Outcome, url: &str, options: &str) -> Outcome {
    prestan!(outcome.again() => "clean {url}")
        .words(options)
        .ends(0)
}

/// The notes on files in a home.
fn notes(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join("state/prestan/made"));
    let entries = entries.into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_collection_that_the_server_does_not_list_is_removed() {
    let server = Faulty::new(|builder| builder.rule(unlisted()));
    let url = server.url();
    let running = at_work(Prestan::new(), &server, "killed");
    let before = kill(running);
    assert_eq!(server.left(), ["PrestanTest-killed"]);

    // Neither another machine nor another target has a record of it.
    let nothing = format!("no leftovers of prestan in {url}\n");
    assert_eq!(clean(&Prestan::new().run(), &url, "").stdout, nothing);
    fs::create_dir(server.demo.root().join("other")).unwrap();
    let other = format!("{url}other/");
    let nothing_there = format!("no leftovers of prestan in {other}\n");
    assert_eq!(clean(&before, &other, "").stdout, nothing_there);
    fs::remove_dir(server.demo.root().join("other")).unwrap();

    let removed = format!("removed: {url}PrestanTest-killed/\n");
    assert_eq!(clean(&before, &url, "").stdout, removed);
    assert_eq!(server.left(), NONE);
    assert_eq!(clean(&before, &url, "").stdout, nothing);
}

#[test]
fn behind_a_proxy_that_removes_a_prefix_collections_are_found() {
    let changes = Fault::RewriteBody {
        from: "href>/".to_owned(),
        to: "href>/behind/".to_owned(),
    };
    let changes = Rule::new(changes).method("PROPFIND").header("depth", "1");
    let server = Faulty::new(|builder| builder.rule(changes));
    let url = server.url();
    kill(at_work(Prestan::new(), &server, "killed"));
    let removed = format!("removed: {url}PrestanTest-killed/\n");
    // On another machine.
    let elsewhere = Prestan::new().run();
    assert_eq!(clean(&elsewhere, &url, "").stdout, removed);
    assert_eq!(server.left(), NONE);
}

#[test]
fn a_collection_that_a_run_left_behind_is_removed_without_a_listing() {
    let refused = Rule::new(status(503, &[], "")).method("DELETE");
    let refused = refused.tag("(workspace)");
    let server = Faulty::new(|builder| builder.rule(refused));
    let url = server.url();
    let run = prestan!(run_of(&url, "Put1K", 3) => "--run-id left").run();
    run.stderr_has("`prestan clean` removes it");
    assert_eq!(server.left(), ["PrestanTest-left"]);
    server.server.clear_rules();
    server.server.add_rule(unlisted());

    let removed = format!("removed: {url}PrestanTest-left/\n");
    assert_eq!(clean(&run, &url, "").stdout, removed);
    assert_eq!(server.left(), NONE);
}

#[test]
fn a_collection_that_is_not_listed_is_handled_like_one_that_is() {
    let server = Faulty::new(|builder| builder.rule(unlisted()));
    let url = server.url();
    let running = at_work(Prestan::new(), &server, "busy");
    // In the home of the running run.
    let state = running.home().join("state");
    let cleaned = prestan!("clean {url}").env("XDG_STATE_HOME", &state).run();
    cleaned.stdout_has(&format!("in use by the run of process {}", running.id()));
    assert_eq!(server.left(), ["PrestanTest-busy"]);

    let before = kill(running);
    let marker = "PrestanTest-busy/prestan-run.json";
    fs::remove_file(server.demo.root().join(marker)).unwrap();
    let cleaned = clean(&before, &url, "");
    cleaned.stdout_has("but no marker");
    assert_eq!(server.left(), ["PrestanTest-busy"]);
}

#[test]
fn the_file_of_a_killed_load_is_removed() {
    let server = plain();
    let root = server.url();
    let url = format!("{root}new.bin");
    fs::write(server.demo.root().join("theirs.bin"), "not ours").unwrap();
    let running = putting(&server, &url);
    let noted = notes(running.home());
    assert_eq!(noted.len(), 1);
    let mode = fs::metadata(&noted[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // The run goes on: its file is not removed, even by force.
    let state = running.home().join("state");
    let cleaned = prestan!("clean --force {root}")
        .env("XDG_STATE_HOME", &state)
        .run();
    let said = format!(
        "left alone: {url} (in use by the run of process {}",
        running.id()
    );
    cleaned.stdout_has(&said);

    let before = kill_putting(running, &server);
    let dry = clean(&before, &root, "-n");
    assert_eq!(dry.stdout, format!("would be removed: {url}\n"));
    assert_eq!(server.left().len(), 2);
    let cleaned = clean(&before, &root, "");
    assert_eq!(cleaned.stdout, format!("removed: {url}\n"));
    assert_eq!(server.left(), ["theirs.bin"]);
    assert_eq!(notes(before.home()), [] as [&Path; 0]);
    let nothing = format!("no leftovers of prestan in {root}\n");
    assert_eq!(clean(&before, &root, "").stdout, nothing);
}

#[test]
fn a_file_that_was_replaced_or_removed_since_is_not_ours_any_more() {
    let server = plain();
    let root = server.url();
    let running = putting(&server, &format!("{root}new.bin"));
    let before = kill_putting(running, &server);
    let path = server.demo.root().join("new.bin");
    fs::write(&path, "my thesis").unwrap();
    let cleaned = clean(&before, &root, "");
    cleaned.stdout_has("or another program replaced it");
    assert_eq!(fs::read_to_string(&path).unwrap(), "my thesis");
    assert_eq!(notes(before.home()).len(), 1);

    fs::remove_file(&path).unwrap();
    let nothing = format!("no leftovers of prestan in {root}\n");
    assert_eq!(clean(&before, &root, "").stdout, nothing);
    assert_eq!(notes(before.home()), [] as [&Path; 0]);
}

#[test]
fn the_note_on_a_file_lasts_as_long_as_the_file() {
    let server = plain();
    let root = server.url();
    let url = format!("{root}new.bin");
    let put = || prestan!("load PUT {url} --json - --body x --requests 20 --quiet");
    let outcome = put().ends(0);
    assert_eq!(notes(outcome.home()), [] as [&Path; 0]);

    let locked = Rule::new(status(423, &[], "")).method("DELETE");
    server.server.add_rule(locked);
    let outcome = put().run();
    let hint = format!("this run made it, `prestan clean {root}` removes it later");
    outcome.stderr_has(&hint);
    assert_eq!(notes(outcome.home()).len(), 1);
    server.server.clear_rules();
    let cleaned = clean(&outcome, &root, "");
    assert_eq!(cleaned.stdout, format!("removed: {url}\n"));
    assert_eq!(server.left(), NONE);
    assert_eq!(notes(outcome.home()), [] as [&Path; 0]);
}

#[test]
fn a_secret_in_the_query_of_a_file_is_not_noted() {
    let server = plain();
    let url = format!("{}new.bin?token=s3cret-pw", server.url());
    let running = prestan!("load PUT {url} --json - --body x --requests 20 --quiet").ends(0);
    running.stderr_has("new.bin?token=(not shown) is not noted for `prestan clean`");
    assert!(!running.home().join("state/prestan/made").exists());
    assert_eq!(server.left(), NONE);
}

/// Servers of files have PUT and DELETE, and need no more of WebDAV.
#[test]
fn the_file_on_a_server_without_webdav_is_removed() {
    let without = |method| Rule::new(status(405, &[], "")).method(method);
    let server = Faulty::new(|builder| builder.rule(without("OPTIONS")).rule(without("PROPFIND")));
    let root = server.url();
    let url = format!("{root}new.bin");
    let running = putting(&server, &url);
    let before = kill_putting(running, &server);
    let cleaned = clean(&before, &root, "");
    assert_eq!(cleaned.stdout, format!("removed: {url}\n"));
    assert_eq!(server.left(), NONE);
    prestan!(before.again() => "clean {root}").ends(4);
}
