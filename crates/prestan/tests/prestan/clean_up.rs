//! The end of a run on a server that is busy, lies, or is used by others: our resources are removed
//! or reported, others stay, and nothing waits endlessly.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use testbed::fault::{Builder, Fault, Rule};

use crate::support::faulty::{Faulty, checked, run_of, short_run, status};
use crate::support::load::{at_work, plain, seen, send, until};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan, Running};

const NONE: [&str; 0] = [];
/// The documented limit of ten seconds, on a busy machine.
const TEN_SECONDS: Duration = Duration::from_secs(18);

fn interrupted(running: Running) -> (Outcome, Duration) {
    let sent = Instant::now();
    let outcome = running.end_by(Signal::INT);
    (outcome, sent.elapsed())
}

/// How many requests with this method concerned the collection of the run as a whole.
fn asked(server: &Faulty, method: &str) -> usize {
    let mut exchanges = server.exchanges();
    exchanges.retain(|one| one.method == method && one.label().ends_with("(workspace)"));
    exchanges.len()
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
    let outcome = prestan!(short_run(&server.url(), "Get1K") => "--run-id wide").run();
    let result = checked(&outcome);
    let left = result["left_behind"].as_array().unwrap().len();
    assert_eq!(left, 1, "{outcome}");
    let looks = asked(&server, "PROPFIND");
    assert!((1000..1010).contains(&looks), "{looks}");
}

#[test]
fn many_names_like_ours_do_not_keep_a_run_from_its_work() {
    let server = plain();
    for number in 0..300 {
        fs::create_dir(server.demo.root().join(format!("PrestanTest-{number:03}"))).unwrap();
    }
    let outcome = short_run(&server.url(), "Get1K").run();
    let result = checked(&outcome);
    assert_eq!(row(&result, "Get1K")["status"], "ok", "{outcome}");
    outcome.stderr_has("200 more collections in ");
    // It requests its own marker twice.
    let looks = asked(&server, "GET");
    assert!(looks <= 100 + 2, "{looks}");
    assert_eq!(server.left().len(), 300);
    let cleaned = prestan!(outcome.again() => "clean {server}").run();
    let unmarked = cleaned.stdout.matches("no marker").count();
    assert_eq!(unmarked, 300, "{cleaned}");
}

#[test]
fn one_ctrl_c_at_a_frozen_server_is_enough() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "frozen");
    server.server.add_rule(Rule::new(Fault::Hang));
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has(&format!("{}PrestanTest-frozen/", server.url()));
}

#[test]
fn one_ctrl_c_is_enough_for_a_load_that_made_a_file() {
    let server = plain();
    let url = format!("{}new.bin", server.url());
    let running = prestan!("load PUT {url} --json - --body-size 1KiB --duration 60s").spawn();
    until("there are requests", || seen(&server, "PUT").len() > 20);
    server.server.add_rule(Rule::new(Fault::Hang));
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has(&url);
}

#[test]
fn one_ctrl_c_is_enough_where_nothing_can_be_removed() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "busy");
    let busy = Rule::new(status(503, &[], "")).method("DELETE");
    server.server.add_rule(busy);
    let (outcome, took) = interrupted(running);
    assert!(took < TEN_SECONDS, "{took:?}");
    outcome.stderr_has("PrestanTest-busy/");
}

#[test]
fn who_is_busy_for_a_moment_is_asked_again() {
    let busy = |code| Rule::new(status(code, &[], ""));
    let soon = |code| Rule::new(status(code, &[("Retry-After", "1")], ""));
    // By a proxy that waited no longer.
    let done = || Rule::new(Fault::RewriteStatus(504));
    let table = [
        ("the marker", busy(429), "PUT"),
        ("the collection", soon(503), "MKCOL"),
        ("is it there?", busy(429), "PROPFIND"),
        ("is it ours?", busy(429), "GET"),
        ("removal, refused", busy(403), "DELETE"),
        ("removal, too many", soon(429), "DELETE"),
        ("removal, a dead backend", busy(502), "DELETE"),
        ("removal, done behind a proxy", done(), "DELETE"),
        ("made behind a proxy", done(), "MKCOL"),
        ("removal, started anew", Rule::new(Fault::Reset), "DELETE"),
    ];
    let table = table.map(|(what, rule, method)| (what, rule.method(method).tag("(workspace)")));
    let of_test = busy(503).method("MKCOL").tag("(Get1K set-up)");
    let table = table.into_iter().chain([("the place of a test", of_test)]);
    // All at once: each of them waits for its server.
    let running = table.map(|(what, rule)| {
        let server = Faulty::new(|builder| builder.rule(rule.nth(1)));
        let running = short_run(&server.url(), "Get1K").spawn();
        (what, server, running)
    });
    for (what, server, running) in running.collect::<Vec<_>>() {
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
    let url = format!("{}new.bin", server.url());
    prestan!("load PUT {url} --json - --body-size 1KiB --total 5").ends(0);
    assert_eq!(server.left(), NONE);
}

#[test]
fn what_an_abort_leaves_is_named() {
    let server = plain();
    let running = at_work(Prestan::new(), &server, "aborted");
    send(&running, Signal::ABORT);
    let outcome = running.ends(-6);
    outcome.stderr_has(&format!(
        "still on the server: {server}PrestanTest-aborted/"
    ));
}

/// A run that gets no further than its marker, and cannot remove its collection.
fn without_marker(server: &Faulty) -> Outcome {
    let url = server.url();
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
    let busy = |method| Rule::new(status(503, &[], "")).method(method);
    let server = Faulty::new(|builder| {
        let builder = builder.rule(busy("PUT").tag("(workspace)"));
        builder.rule(busy("DELETE").tag("(workspace)"))
    });
    let outcome = without_marker(&server);
    server.server.clear_rules();

    // Another machine does not know the owner.
    let elsewhere = prestan!("clean --force {server}").run();
    elsewhere.stdout_has("no marker; not removed");

    let bare = server.demo.root().join("PrestanTest-bare");
    fs::write(bare.join("thesis.txt"), "years of work").unwrap();
    let left_alone = clean(&outcome, &server);
    let says = "wrote no marker into it";
    assert!(left_alone.contains(says), "{left_alone}");
    assert!(bare.join("thesis.txt").exists());

    fs::remove_file(bare.join("thesis.txt")).unwrap();
    assert_eq!(notes(outcome.home()), 1);
    assert!(clean(&outcome, &server).starts_with("removed: "));
    assert_eq!(server.left(), NONE);
    assert_eq!(notes(outcome.home()), 0);
    // Nor is anything noted of a run that went well.
    let run = short_run(&server.url(), "Get1K").run();
    assert_eq!(notes(run.home()), 0, "{run}");
}

#[test]
fn what_was_made_and_is_not_there_is_named() {
    let responds = |method, code| {
        let rule = Rule::new(status(code, &[], ""));
        rule.method(method).tag("(workspace)")
    };
    // Two servers that share an address and no storage: either may respond.
    let rules = [("MKCOL", 201), ("PUT", 409), ("DELETE", 404)];
    let rules = rules.map(|(method, code)| responds(method, code));
    let server = Faulty::new(|builder| rules.into_iter().fold(builder, Builder::rule));
    let outcome = short_run(&server.url(), "Get1K").run();
    assert_ne!(outcome.code, 0, "{outcome}");
    outcome.stderr_has("another server behind the same address");
}

#[test]
fn what_was_made_is_removed_although_its_request_is_said_to_have_failed() {
    for failure in [400, 500, 507] {
        let made = Rule::new(Fault::RewriteStatus(failure));
        let made = made.method("MKCOL").tag("(workspace)");
        let server = Faulty::new(|builder| builder.rule(made));
        let outcome = short_run(&server.url(), "Get1K").run();
        outcome.stderr_has(&format!("returned {failure} "));
        assert_ne!(outcome.code, 0, "{outcome}");
        assert_eq!(server.left(), NONE, "{outcome}");
        assert_eq!(notes(outcome.home()), 0, "{outcome}");
    }
}
