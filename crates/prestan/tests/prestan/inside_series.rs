//! Figures from inside of real servers, from run to run.

use serde_json::Value;
use testbed::real::tool_cache;

use crate::support::Prestan;
use crate::support::real::is_installed;

/// A branch of WsgiDAV whose PUT waits until the file is on the disk.
const BRANCH: &str = include_str!("../../../../benches/branches/fsync/sitecustomize.py");

/// `prestan` that finds the programs of servers which have been built for tests.
fn prestan() -> Prestan {
    let tools = tool_cache().unwrap();
    let cache = tools.ancestors().nth(2).unwrap();
    Prestan::new().env("XDG_CACHE_HOME", cache)
}

/// The entry of a list that has this name under `key`.
fn named<'v>(list: &'v Value, key: &str, name: &str) -> Option<&'v Value> {
    list.as_array()?.iter().find(|entry| entry[key] == name)
}

#[test]
fn a_branch_with_one_fsync_more_is_found_and_the_server_itself_is_not() {
    if !is_installed("wsgidav") {
        return;
    }
    let compared = |with: &str| {
        let prestan = prestan();
        std::fs::create_dir(prestan.home().join("branch")).unwrap();
        prestan.file("branch/sitecustomize.py", BRANCH);
        let other = with.replace("HOME", &prestan.home().display().to_string());
        prestan!(prestan => "compare --server wsgidav --server {other} --inside --only Put1K,Get1K -r 3 --repeat 5 \
            --json - --fail-if 'fsync > 0'").run()
    };
    let branch = compared("wsgidav,env.PYTHONPATH=HOME/branch").ended(1);
    branch.stderr_has("Put1K");
    let document = branch.json();
    let put = named(&document["tests"], "measure", "Put1K").unwrap();
    let fsync = named(&put["inside"]["costs"], "cost", "fsync").unwrap();
    assert_eq!(fsync["is_fact"], true);
    assert_eq!(fsync["verdict"], "more");
    assert_eq!((&fsync["a"], &fsync["b"]), (&0.0.into(), &1.0.into()));
    let get = named(&document["tests"], "measure", "Get1K").unwrap();
    let costs = get["inside"]["costs"].as_array().unwrap();
    let mut costs = costs.iter().filter(|cost| cost["cost"] != "processor");
    let differs = |cost: &Value| cost["verdict"] == "more" || cost["verdict"] == "less";
    assert!(!costs.any(differs), "{get}");

    compared("wsgidav").ended(0);
}

#[test]
fn calls_for_each_member_are_a_law() {
    if !is_installed("nginx") {
        return;
    }
    let outcome = prestan!(prestan() => "sweep --server nginx --suite listing --vary members=5,10,20 --param \
        requests=3 --only Depth1* --repeat 2 --inside --json -")
        .run();
    let document = outcome.json();
    let inside = &document["tests"][0]["servers"][0]["inside"];
    // ngx_http_dav_ext_module reads the attributes of the collection and of each member.
    let stat = named(&inside["calls"], "call", "stat").unwrap_or_else(|| panic!("{outcome}"));
    assert_eq!(stat["growth"], "linear", "{stat}");
    let per_member = stat["per_unit"]["members"].as_f64().unwrap();
    assert!((per_member - 1.0).abs() < 1e-9, "{stat}");
    // It logs each request once, including the one before the first that counts.
    for name in ["open", "write"] {
        let call = named(&inside["calls"], "call", name).unwrap();
        assert_eq!(call["growth"], "constant", "{call}");
        assert_eq!(call["base"].as_f64(), Some(1.0), "{call}");
    }
    let words = inside["words"].as_str().unwrap();
    assert!(words.contains("members"), "{words}");
}

#[test]
fn a_cause_is_named_with_what_the_server_does() {
    if !is_installed("wsgidav") {
        return;
    }
    let run = prestan!(prestan() => "run listing --server wsgidav --inside --param members=10,100 --param \
        requests=20 --only Depth1* --save kept")
        .env("TMPDIR", "/tmp")
        .run();
    let diagnosed = prestan!(run.again() => "diagnose kept --json -").run();
    let document = diagnosed.json();
    let Some(found) = named(&document["findings"], "rule", "calls-per-member") else {
        // A busy machine may disqualify rows of a run: such a run reports that, and no findings
        // about the server.
        let mut left_out = document["left_out"].as_array().unwrap().iter();
        let is_disqualified = left_out.any(|row| row["disqualified"] == true);
        assert!(is_disqualified, "{diagnosed}");
        return;
    };
    // WsgiDAV reads the attributes of the same file again for each property.
    let calls = named(&found["figures"], "name", "calls").unwrap();
    assert_eq!(calls["value"], "18 stat", "{found}");
}
