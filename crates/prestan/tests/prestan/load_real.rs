//! `prestan load` against every server of `servers/`: 64 users who list a collection.

use std::fs;

use crate::support::Prestan;
use crate::support::load::counted;
use record::Outcome;
use testbed::real::{Recipe, recipes};
use testbed::{RealServer, need_or};

fn sixty_four_users_list_a_collection(recipe: &Recipe) {
    let Some(_) = need_or(recipe.installed()) else {
        return;
    };
    let server = RealServer::start(recipe).unwrap_or_else(|error| panic!("{error}"));
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(server.storage().join(name), name).unwrap();
    }
    let mut prestan = Prestan::new().args(["load", "PROPFIND", &server.url(), "--json", "-"]);
    prestan = prestan.args(["--depth", "1", "--users", "64", "--duration", "1s"]);
    if let Some((user, password)) = server.credentials() {
        let file = prestan.file("password", &password);
        prestan = prestan.args(["--user", &user, "--password-file"]).arg(file);
    }
    let outcome = prestan.run();
    assert_eq!(outcome.code, 0, "{}: {outcome}", recipe.name);
    let (result, run) = counted(&outcome);
    let name = &recipe.name;
    assert!(run.samples.len() > 64, "{name}: {outcome}");
    for sample in &run.samples {
        assert_eq!(sample.outcome, Outcome::Ok, "{name}: {sample:?}");
        assert_eq!(sample.status, Some(207), "{name}");
    }
    // Three files and the collection itself: the answer was read.
    assert!(run.samples.iter().all(|sample| sample.bytes_received > 500));
    assert_eq!(result["clock"], "kernel", "{name}");
    assert!(result["tests"][0]["response_us"]["p50"].as_f64().unwrap() > 0.0);
}

#[test]
fn sixty_four_users_list_a_collection_of_every_server() {
    for recipe in recipes() {
        sixty_four_users_list_a_collection(recipe);
    }
}
