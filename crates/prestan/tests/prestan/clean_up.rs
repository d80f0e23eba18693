//! The end of a run on a server that is busy, lies, or is used by others: our resources are removed
//! or reported, others stay, and nothing waits endlessly.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::fault::{Fault, Rule};

use crate::support::faulty::{Faulty, checked, run_of, short_run, status};
use crate::support::load::{at_work, plain, seen, send, until};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan, Running};

const NONE: [&str; 0] = [];
/// The documented limit of ten seconds, on a busy machine.
const TEN_SECONDS: Duration = Duration::from_secs(18);

fn interrupted(running: Running) -> (Outcome, Duration) {
    let sent = Instant::now();
    send(&running, Signal::INT);
    let outcome = running.ends(-Signal::INT.as_raw());
    (outcome, sent.elapsed())
}

/// How many requests with this method concerned the collection of the run as a whole.
fn asked(server: &Faulty, method: &str) -> usize {
    let exchanges = server.server.exchanges();
    let is_asked = |label: &str| label.ends_with("(workspace)");
    let of_method = exchanges
        .iter()
        .filter(|exchange| exchange.method == method);
    of_method
        .filter(|exchange| exchange.header("x-prestan").is_some_and(is_asked))
        .count()
}

#[test]
fn a_collection_in_the_place_of_the_runs_own_stays() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "moved");
    let root = server.demo.root();
    let moved = root.join("PrestanTest-moved");
    fs::rename(&moved, root.join("elsewhere")).unwrap();
    fs::create_dir(&moved).unwrap();
    fs::write(moved.join("thesis.txt"), "years of work").unwrap();

    let (outcome, _) = interrupted(running);

    assert!(moved.join("thesis.txt").exists(), "{outcome}");
    outcome.stderr_has("the collection there has no marker");
    // One of another run is not that of this one, either.
    let running = at_work(Prestan::new(), &server, "other");
    let moved = root.join("PrestanTest-other");
    fs::remove_dir_all(&moved).unwrap();
    fs::rename(root.join("elsewhere"), &moved).unwrap();
    let (outcome, _) = interrupted(running);
    assert!(moved.exists(), "{outcome}");
    outcome.stderr_has("the marker of the run moved");
}

#[test]
fn a_server_that_lists_more_the_more_it_is_asked_is_left_in_the_end() {
    let lists = |members: Range<u32>| {
        let members: String = members
            .map(|number| {
                format!(
                    "<response><href>/PrestanTest-wide/{number}/</href><propstat><prop><resourcetype><collection/>\
                     </resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat></response>"
                )
            })
            .collect();
        let listing = format!("<multistatus xmlns=\"DAV:\">{members}</multistatus>");
        let lists = Rule::new(status(207, &[], &listing)).header("depth", "1");
        lists.method("PROPFIND").path("PrestanTest-wide")
    };
    let locked = Rule::new(status(423, &[], "")).method("DELETE");
    // As many in each of them would be 240 MB of XML.
    let server = Faulty::new(|builder| {
        builder
            .rule(lists(0..1200).nth(1))
            .rule(lists(0..2))
            .rule(locked)
    });
    let outcome = prestan!(short_run(&server.server.url(), "Get1K") => "--run-id wide").run();
    let result = checked(&outcome);
    assert_eq!(
        result["left_behind"].as_array().unwrap().len(),
        1,
        "{outcome}"
    );
    let looks = asked(&server, "PROPFIND");
    assert!((1000..1010).contains(&looks), "{looks}");
}

#[test]
fn many_names_like_ours_do_not_keep_a_run_from_its_work() {
    let server = plain();
    for number in 0..300 {
        fs::create_dir(server.demo.root().join(format!("PrestanTest-{number:03}"))).unwrap();
    }
    let outcome = short_run(&server.server.url(), "Get1K").run();
    let result = checked(&outcome);
    assert_eq!(row(&result, "Get1K")["status"], "ok", "{outcome}");
    outcome.stderr_has("200 more collections in ");
    // It requests its own marker twice.
    let looks = asked(&server, "GET");
    assert!(looks <= 100 + 2, "{looks}");
    assert_eq!(server.left().len(), 300);
    let cleaned = prestan!(outcome.again() => "clean {server}").run();
    assert_eq!(
        cleaned.stdout.matches("no marker").count(),
        300,
        "{cleaned}"
    );
}

#[test]
fn one_ctrl_c_at_a_frozen_server_is_enough() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "frozen");
    server.server.add_rule(Rule::new(Fault::Hang));
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has(&format!("{}PrestanTest-frozen/", server.server.url()));
}

#[test]
fn one_ctrl_c_is_enough_for_a_load_that_made_a_file() {
    let server = plain();
    let url = format!("{}new.bin", server.server.url());
    let running = prestan!("load PUT {url} --json - --body-size 1KiB --duration 60s").spawn();
    until("the server has seen requests", || {
        seen(&server, "PUT").len() > 20
    });
    server.server.add_rule(Rule::new(Fault::Hang));
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has(&url);
}

#[test]
fn one_ctrl_c_is_enough_where_nothing_can_be_removed() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "busy");
    server
        .server
        .add_rule(Rule::new(status(503, &[], "")).method("DELETE"));
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has("PrestanTest-busy/");
}

#[test]
fn who_is_busy_for_a_moment_is_asked_again() {
    let busy = |code, headers: &[(&str, &str)]| Rule::new(status(code, headers, "")).nth(1);
    let soon = [("Retry-After", "1")];
    let table = [
        (
            "the marker",
            busy(429, &[]).method("PUT").tag("(workspace)"),
        ),
        (
            "the collection",
            busy(503, &soon).method("MKCOL").tag("(workspace)"),
        ),
        (
            "the place of a test",
            busy(503, &[]).method("MKCOL").tag("(Get1K set-up)"),
        ),
        (
            "is it there?",
            busy(429, &[]).method("PROPFIND").tag("(workspace)"),
        ),
        (
            "is it ours?",
            busy(429, &[]).method("GET").tag("(workspace)"),
        ),
        (
            "removal, refused",
            busy(403, &[]).method("DELETE").tag("(workspace)"),
        ),
        (
            "removal, too many",
            busy(429, &soon).method("DELETE").tag("(workspace)"),
        ),
        (
            "removal, a dead backend",
            busy(502, &[]).method("DELETE").tag("(workspace)"),
        ),
        (
            "removal, done behind a proxy that waited no longer",
            Rule::new(Fault::RewriteStatus(504))
                .nth(1)
                .method("DELETE")
                .tag("(workspace)"),
        ),
        (
            "made behind a proxy that waited no longer",
            Rule::new(Fault::RewriteStatus(504))
                .nth(1)
                .method("MKCOL")
                .tag("(workspace)"),
        ),
        (
            "removal, a server that is started anew",
            Rule::new(Fault::Reset)
                .nth(1)
                .method("DELETE")
                .tag("(workspace)"),
        ),
    ];
    // All at once: each of them waits for its server.
    let running = table.map(|(what, rule)| {
        let server = Faulty::new(|builder| builder.rule(rule));
        let running = short_run(&server.server.url(), "Get1K").spawn();
        (what, server, running)
    });
    for (what, server, running) in running {
        let outcome = running.wait();
        let result = checked(&outcome);
        assert_eq!(row(&result, "Get1K")["status"], "ok", "{what}: {outcome}");
        let left = result["left_behind"].as_array().unwrap();
        assert_eq!(left.len(), 0, "{what}: {outcome}");
        assert_eq!(server.left(), NONE, "{what}: {outcome}");
    }
}

#[test]
fn the_file_of_a_load_is_removed_from_a_server_that_is_busy_for_a_moment() {
    let busy = Rule::new(status(503, &[("Retry-After", "1")], "")).nth(1);
    let server = Faulty::new(|builder| builder.rule(busy.method("DELETE")));
    let url = format!("{}new.bin", server.server.url());
    prestan!("load PUT {url} --json - --body-size 1KiB --total 5").ends(0);
    assert_eq!(server.left(), NONE);
}

#[test]
fn what_an_abort_leaves_is_named() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "aborted");
    send(&running, Signal::ABORT);
    let outcome = running.ends(-6);
    let left = format!(
        "still on the server: {}PrestanTest-aborted/",
        server.server.url()
    );
    outcome.stderr_has(&left);
}

/// A run that gets no further than its marker, and cannot remove its collection.
fn without_marker(server: &Faulty) -> Outcome {
    let url = server.server.url();
    let outcome = prestan!(run_of(&url, "Get1K", 3) => "--run-id bare").run();
    assert_ne!(outcome.code, 0, "{outcome}");
    outcome.stderr_has("writing the marker");
    outcome.stderr_has("`prestan clean` may");
    assert_eq!(server.left(), ["PrestanTest-bare"]);
    outcome
}

fn clean(outcome: &Outcome, server: &Faulty) -> String {
    let cleaned = prestan!(outcome.again() => "clean {server}").ends(0);
    cleaned.stdout
}

fn notes(home: &Path) -> usize {
    fs::read_dir(home.join("state/prestan/made")).map_or(0, Iterator::count)
}

#[test]
fn a_collection_without_a_marker_is_removed_by_who_made_it_while_it_is_empty() {
    let busy = |method| {
        Rule::new(status(503, &[], ""))
            .method(method)
            .tag("(workspace)")
    };
    let declining = || Faulty::new(|builder| builder.rule(busy("PUT")).rule(busy("DELETE")));
    let server = declining();
    let outcome = without_marker(&server);
    server.server.clear_rules();

    // Another machine does not know the owner.
    let elsewhere = prestan!("clean --force {server}").run();
    elsewhere.stdout_has("no marker; not removed");

    let bare = server.demo.root().join("PrestanTest-bare");
    fs::write(bare.join("thesis.txt"), "years of work").unwrap();
    let left_alone = clean(&outcome, &server);
    assert!(
        left_alone.contains("wrote no marker into it"),
        "{left_alone}"
    );
    assert!(bare.join("thesis.txt").exists());

    fs::remove_file(bare.join("thesis.txt")).unwrap();
    assert_eq!(notes(outcome.home()), 1);
    assert!(clean(&outcome, &server).starts_with("removed: "));
    assert_eq!(server.left(), NONE);
    assert_eq!(notes(outcome.home()), 0);
    // Nor is anything noted of a run that went well.
    let run = short_run(&server.server.url(), "Get1K").run();
    assert_eq!(notes(run.home()), 0, "{run}");
}

#[test]
fn what_was_made_and_is_not_there_is_named() {
    let answers = |method, code| {
        let rule = Rule::new(status(code, &[], ""));
        rule.method(method).tag("(workspace)")
    };
    // Two servers that share an address and no storage: either may respond.
    let server = Faulty::new(|builder| {
        let builder = builder
            .rule(answers("MKCOL", 201))
            .rule(answers("PUT", 409));
        builder.rule(answers("DELETE", 404))
    });
    let outcome = short_run(&server.server.url(), "Get1K").run();
    assert_ne!(outcome.code, 0, "{outcome}");
    outcome.stderr_has("another server behind the same address");
}

#[test]
fn what_was_made_is_removed_although_its_request_is_said_to_have_failed() {
    for failure in [400, 500, 507] {
        let made = Rule::new(Fault::RewriteStatus(failure));
        let made = made.method("MKCOL").tag("(workspace)");
        let server = Faulty::new(|builder| builder.rule(made));
        let outcome = short_run(&server.server.url(), "Get1K").run();
        outcome.stderr_has(&format!("returned {failure} "));
        assert_ne!(outcome.code, 0, "{outcome}");
        assert_eq!(server.left(), NONE, "{outcome}");
        assert_eq!(notes(outcome.home()), 0, "{outcome}");
    }
}
