//! `prestan gallery`: real servers, a site, and a browser that goes through it.

use std::fs;
use std::path::Path;

use crate::support::browser::Browser;
use crate::support::load::until;
use crate::support::real::is_installed;
use crate::support::{Prestan, names_in};
use rustix::process::Signal;
use testbed::need_or;
use testbed::real::{Recipe, UrlScheme, recipes, tool_cache};

/// Pages of a site, each with the names of files to which it points.
fn pointed_to(site: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for page in names_in(site) {
        if !page.ends_with(".html") {
            continue;
        }
        let text = fs::read_to_string(site.join(&page)).unwrap();
        let (before_data, _) = text.split_once("<script").unwrap_or((&text, ""));
        for part in before_data.split("href=\"").skip(1) {
            let (to, _) = part.split_once('"').unwrap();
            found.push((page.clone(), to.to_owned()));
        }
    }
    found
}

#[test]
fn servers_are_shown_side_by_side() {
    let mut needed = ["apache", "lighttpd", "nginx"].into_iter();
    if !needed.all(is_installed) {
        return;
    }
    let home = tempfile::TempDir::new().unwrap();
    let site = home.path().join("site");
    let directory = site.to_string_lossy().into_owned();
    let older = "--server lighttpd,nginx --repeat 2 -r 1 --warmup 0 --only Get1K";
    prestan!("gallery {directory}").words(older).ends(0);
    fs::write(site.join("test-Old.html"), "old").unwrap();
    fs::write(site.join("note.txt"), "mine").unwrap();

    let options = "--server lighttpd,nginx,apache --repeat 3 -r 4 -w 3 -d 2 --only Put1K,Get1K,ProppatchSingle";
    let outcome = prestan!("gallery {directory}").words(options).ends(0);
    // Pages of an older gallery are removed, and nothing else.
    assert!(!site.join("test-Old.html").exists() && site.join("note.txt").exists());
    outcome.stderr_has("open index.html");

    let read = |name: &str| fs::read_to_string(site.join(name)).unwrap();
    let table = read("table.md");
    let begins = "| | apache | lighttpd | nginx |\n|---|---:|---:|---:|\n";
    assert!(table.starts_with(begins), "{table}");
    let proppatch = table.lines().find(|line| line.contains("ProppatchSingle"));
    assert!(proppatch.unwrap().contains("| – |"), "{table}");
    for (page, to) in pointed_to(&site) {
        let to = to.split('#').next().unwrap();
        let is_there = to.is_empty() || site.join(to).is_file();
        assert!(is_there, "{page} points to {to}");
    }
    let measured = read("measured.html");
    for part in ["database", "--repeat 3"] {
        assert!(measured.contains(part), "{measured}");
    }

    // Directories of runs are private.
    let home_of_runs = outcome.home().to_string_lossy().into_owned();
    let has_home = read("comparison.html").contains(&home_of_runs);
    assert!(!has_home, "{home_of_runs}");

    let Some(mut browser) = Browser::start() else {
        return;
    };
    let dark = serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.call("Emulation.setEmulatedMedia", dark);
    for page in ["index.html", "measured.html"] {
        browser.open_in_site(&site, page);
        let ground = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_eq!(ground, "rgb(20, 23, 26)", "{page} is not dark");
        let color = browser.evaluate("getComputedStyle(document.querySelector('nav a')).color");
        assert_ne!(color, "rgb(0, 0, 238)", "the style is not there");
    }
    for page in ["server-nginx.html", "test-Get1K.html", "comparison.html"] {
        browser.open_in_site(&site, page);
        browser.until("document.documentElement.dataset.ready === 'true'");
        let figures = browser.evaluate("document.querySelectorAll('figure svg path').length");
        assert!(figures.as_u64().unwrap() > 5, "{page}: {figures}");
    }
    // The ranking is on the first screen, of a phone as well.
    let phone =
        serde_json::json!({"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    for page in ["index.html", "test-Get1K.html"] {
        browser.open_in_site(&site, page);
        let seen = browser.evaluate(
            "[document.querySelector('#answer td[class*=heat]').getBoundingClientRect().bottom < innerHeight,
              document.documentElement.scrollWidth <= 390]",
        );
        assert_eq!(seen, serde_json::json!([true, true]), "{page}");
    }
    assert_eq!(browser.problems(), [""; 0]);
}

#[test]
fn what_all_servers_did_before_ctrl_c_is_shown() {
    if !["lighttpd", "nginx"].into_iter().all(is_installed) {
        return;
    }
    let prestan = Prestan::new();
    let site = prestan.home().join("site");
    let options = "--server lighttpd,nginx --repeat 200 -r 1 --warmup 0 --only Get1K";
    let running = prestan!(prestan => "gallery {}", site)
        .words(options)
        .spawn();
    let runs = running.home().join("state/prestan/runs");
    until("the third pair of runs", || {
        let mut runs = fs::read_dir(&runs).into_iter().flatten().flatten();
        runs.any(|run| run.file_name().to_string_lossy().ends_with("-a3"))
    });
    let outcome = running.end_by(Signal::INT);
    outcome.stderr_has("is incomplete: it shows ");
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    for part in ["the measurement ended early; this is ", " of 200 runs"] {
        assert!(index.contains(part), "{index}");
    }
    assert!(site.join("server-nginx.html").is_file());
}

/// Without names, all of them: a page for each, with a text about unsupported tests.
#[test]
fn every_server_has_a_page_and_works() {
    let is_open = |recipe: &&Recipe| recipe.auth == UrlScheme::None && !recipe.is_crate();
    let open: Vec<&Recipe> = recipes().iter().filter(is_open).collect();
    let installed = open.iter().map(|recipe| need_or(recipe.installed()));
    if installed.collect::<Option<Vec<_>>>().is_none() {
        return;
    }
    let home = tempfile::TempDir::new().unwrap();
    let site = home.path().join("site");
    let directory = site.to_string_lossy().into_owned();
    let options = "--repeat 2 -r 2 -w 2 -d 2 --warmup 0 --only ProppatchSingle,Put1K,Get1K,MkCol";
    // Some of them are in the tool cache, which is not in the home of a test.
    let tools = tool_cache().unwrap();
    let cache = tools.ancestors().nth(2).unwrap();
    let prestan = prestan!("gallery {directory}").env("XDG_CACHE_HOME", cache);
    prestan.words(options).ends(0);

    let page = |name: &str| fs::read_to_string(site.join(format!("server-{name}.html"))).unwrap();
    for recipe in open {
        assert!(page(&recipe.name).contains(&recipe.limits), "{recipe:?}");
    }
    assert!(page("nginx").contains("Has no PROPPATCH, so there are no dead properties."));
    let table = fs::read_to_string(site.join("table.md")).unwrap();
    assert!(!table.contains("failed"), "{table}");
    let head = table.lines().next().unwrap();
    let radicale = head
        .split(" | ")
        .position(|name| name == "radicale")
        .unwrap();
    let has_figure = |line: &&str| {
        let cell = line.trim_end_matches(" |").split(" | ").nth(radicale);
        cell.is_some_and(|cell| cell.ends_with('s') && line.starts_with("| "))
    };
    let with_figure: Vec<&str> = table.lines().filter(has_figure).collect();
    assert_eq!(with_figure.len(), 1, "{table}");
    assert!(with_figure[0].starts_with("| MkCol "), "{table}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let home = Prestan::new();
    home.file("letter.txt", "mine");
    home.file("index.html", "mine");
    let table = "
        . => something in it that is no gallery
        new --server nosuch => no server is called `nosuch`
        new --server nginx => a gallery needs at least two
        new --repeat 1 => write a whole number from 2 to 200
    ";
    let mut home = home.run();
    for [arguments, says] in cases::rows(table) {
        home = prestan!(home.again() => "gallery").words(arguments).ends(2);
        home.stderr_has(says);
        home.stderr_lacks("was there before");
    }
    assert!(!home.home().join("new").exists());
    let outcome = prestan!(home.again() => "gallery letter.txt").run();
    // With a single server, that is reported first.
    let says = [
        "nothing could be written to",
        "a gallery needs at least two",
    ];
    assert!(
        says.iter().any(|says| outcome.stderr.contains(says)),
        "{outcome}"
    );
    assert_eq!(outcome.read("letter.txt"), "mine");
}
