//! Flame graphs of servers on this machine: real ones.

use std::process::Command;

use serde_json::Value;

use crate::support::Prestan;
use crate::support::real::{is_installed, started};

/// Stacks of a row with a function whose name contains this, and their samples.
fn samples_with(row: &Value, function: &str) -> u64 {
    let stacks = row["stacks"].as_array().unwrap().iter();
    let stacks = stacks.filter(|stack| stack["stack"].as_str().unwrap().contains(function));
    stacks.map(|stack| stack["samples"].as_u64().unwrap()).sum()
}

#[test]
fn each_row_has_a_flame_graph_of_the_server() {
    if !is_installed("nginx") {
        return;
    }
    let prestan = Prestan::new();
    let outcome = prestan!(prestan => "run prestan --server nginx --flame -r 10 --only \
        Put1K,Get1K --json - --html page.html")
    .ends(0);
    let document = outcome.json();
    let rows = document["inside"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "--flame implies --inside");
    let warnings = document["warnings"].to_string();
    if warnings.contains("there are no flame graphs") {
        assert!(warnings.contains("perf_event_paranoid"), "{warnings}");
        return;
    }
    let flames = document["inside"]["flames"].as_array().unwrap();
    let names: Vec<&Value> = flames.iter().map(|flame| &flame["measure"]).collect();
    assert_eq!(names, ["Put1K", "Get1K"]);
    for row in flames {
        let samples = row["samples"].as_u64().unwrap();
        assert!(samples >= 20, "{row}");
        // All of them are of the server, and none of the program that measures.
        let other = row["other"].as_u64().unwrap();
        assert_eq!(samples_with(row, "nginx;") + other, samples, "{row}");
        assert_eq!(samples_with(row, "prestan;"), 0, "{row}");
    }
    // Its system calls: PUT makes a file, and both send a response.
    let [put, get] = &flames[..] else {
        unreachable!();
    };
    if put["without_kernel"] == false && put.to_string().contains("do_syscall_64_[k]") {
        assert!(samples_with(put, "sys_openat_[k]") > 0, "{put}");
        let sent = samples_with(get, "sys_writev_[k]") + samples_with(get, "do_writev_[k]");
        assert!(sent > 0, "{get}");
    }
    // nginx exports its functions.
    let named = samples_with(put, ";ngx_") + samples_with(get, ";ngx_");
    assert!(named > 0, "{put} {get}");
    let page = outcome.read("page.html");
    assert_eq!(page.matches("<figure data-id=\"flame-").count(), 2);

    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("Functions of the server with most samples");
}

/// Without rights of root, a server that has them cannot be looked into.
#[test]
fn where_sampling_is_not_allowed_the_rest_is_measured() {
    if !is_installed("nginx") {
        return;
    }
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let is_open = level.trim().parse::<i32>().is_ok_and(|level| level <= 0);
    let setpriv = |program: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", "--", program]);
        command
    };
    let given_up = setpriv("true").status();
    let may_give_up = given_up.is_ok_and(|status| status.success());
    if is_open || !may_give_up {
        eprintln!("skipped: everybody may sample here, or nobody may give rights up");
        return;
    }
    let server = started("nginx").unwrap();
    let outcome = setpriv(env!("CARGO_BIN_EXE_prestan"))
        .args(["run", "prestan", &server.url(), "--pid"])
        .arg(server.pid().to_string())
        .args("--flame --only Get1K -r 5 --no-save --json -".split(' '))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&outcome.stdout);
    let document: Value = serde_json::from_str(&printed)
        .unwrap_or_else(|_| panic!("{printed}{}", String::from_utf8_lossy(&outcome.stderr)));
    assert_eq!(document["inside"]["flames"], Value::Null, "{document}");
    let warnings = document["warnings"].to_string();
    for part in [
        "there are no flame graphs: cannot sample process",
        "perf_event_paranoid is",
        "run as root",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert!(document["inside"]["rows"][0]["processor_us"]["mean"].as_f64() > Some(0.0));
}
