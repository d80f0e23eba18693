//! `prestan load` against every server of `servers/`: 64 users list a collection, if it accepts
//! that many connections.

use std::fs;

use crate::support::load::kept;
use crate::support::real::started;
use record::Outcome;
use testbed::real::{Recipe, recipes};

fn users_list_a_collection(recipe: &Recipe) {
    let users = recipe.expected.most_clients.unwrap_or(64);
    let Some(server) = started(&recipe.name) else {
        return;
    };
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(server.storage().join(name), name).unwrap();
    }
    let load = "--depth 1 --total 128 --warmup 1 --json -";
    let mut prestan = prestan!("load PROPFIND {} --users {users}", server.url()).words(load);
    if let Some((user, password)) = server.credentials() {
        let file = prestan.file("password", &password);
        prestan = prestan!(prestan => "--user {user} --password-file {}", file);
    }
    let outcome = prestan.run();
    assert_eq!(outcome.code, 0, "{}: {outcome}", recipe.name);
    let (result, run) = (outcome.json(), kept(&outcome));
    let name = &recipe.name;
    assert!(run.samples.len() as u64 > users, "{name}: {outcome}");
    for sample in &run.samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{name}: {sample:?}");
        assert_eq!(sample.status, Some(207), "{name}");
    }
    // Three files and the collection itself: the response was read.
    assert!(run.samples.iter().all(|sample| sample.bytes_received > 500));
    assert_eq!(result["clock"], "kernel", "{name}");
    assert!(result["tests"][0]["response_us"]["p50"].as_f64().unwrap() > 0.0);
}

/// Apache responds to HEAD of a collection as if it did not exist.
#[test]
fn nothing_that_was_there_is_removed() {
    let Some(server) = started("apache") else {
        return;
    };
    let directory = server.storage().join("mine");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("diary.txt"), "dear diary").unwrap();
    let lock = "<lockinfo xmlns='DAV:'><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>";
    for (method, options) in [
        ("PUT", &["--body", "x"][..]),
        ("PUT", &["--body", "x", "--writes"]),
        ("LOCK", &["--body", lock, "--writes"]),
    ] {
        for end in ["mine", "mine/"] {
            let url = format!("{}{end}", server.url());
            let few = ["--total", "3", "--warmup", "1", "-q"];
            let outcome = prestan!("load {method} {url}")
                .args(options)
                .args(few)
                .run();
            assert!(directory.join("diary.txt").is_file(), "{outcome}");
        }
    }
}

#[test]
fn users_list_a_collection_of_every_server() {
    for recipe in recipes().iter().filter(|recipe| !recipe.is_crate()) {
        users_list_a_collection(recipe);
    }
}

#[test]
#[ignore = "nightly: they are built from source, which takes minutes"]
fn users_list_a_collection_of_every_crate() {
    for recipe in recipes().iter().filter(|recipe| recipe.is_crate()) {
        users_list_a_collection(recipe);
    }
}
