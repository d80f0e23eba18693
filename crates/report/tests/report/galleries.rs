//! A gallery: its content, and hostile names, which stay text.

use std::convert::Infallible;

use insta::assert_snapshot;
use stats::testing::RunBuilder;
use stats::{PoolRun, Pooled, Resolution, Share, Side, Summary, Warning, WarningKind, summarise};

use record::Run;
use report::gallery::{Exhibit, Gallery, gallery};
use report::page::PageRun;
use report::{Comparisons, Diagnosed, DiagnosedRun, Versus};

fn run(id: &str, us: [u64; 3]) -> Run {
    let builder = RunBuilder::new(1)
        .with(|run| run.plan.run_id = id.to_owned())
        .test("Put1K", &[("Put1K", "PUT")])
        .ok("Put1K", 30, |i| us[0] + i % 5)
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 30, |i| us[1] + i % 3)
        .test("<b>Lock", &[("<b>Lock", "LOCK")]);
    let builder = match us[2] {
        0 => builder.ops("<b>Lock", 3, record::Outcome::WrongStatus, |_| 1),
        time => builder.ok("<b>Lock", 30, |_| time),
    };
    builder.build()
}

pub(crate) struct Measured {
    pub(crate) name: &'static str,
    pub(crate) keeps: &'static str,
    pub(crate) runs: Vec<(Run, Summary)>,
    pub(crate) pooled: Pooled,
}

fn measured(name: &'static str, keeps: &'static str, us: [u64; 3]) -> Measured {
    let runs = (0..3).map(|repeat| {
        run(
            &format!("{name}{repeat}"),
            us.map(|us| if us == 0 { 0 } else { us + repeat }),
        )
    });
    Measured::of(name, keeps, runs.collect())
}

impl Measured {
    pub(crate) fn of(name: &'static str, keeps: &'static str, runs: Vec<Run>) -> Measured {
        let parts: Vec<_> = runs
            .iter()
            .map(|run| PoolRun {
                plan: &run.plan,
                events: &run.events,
                env: &run.env,
                pieces: || Ok([Ok::<_, Infallible>(&run.samples)]),
            })
            .collect();
        let Ok(pooled) = stats::pool(&parts, Some(Resolution::for_rows(8)));
        let summarised = |run: Run| {
            let summary = summarise(&run);
            (run, summary)
        };
        Measured {
            name,
            keeps,
            pooled,
            runs: runs.into_iter().map(summarised).collect(),
        }
    }

    fn sides(&self) -> Vec<Side<'_>> {
        self.runs
            .iter()
            .map(|(run, summary)| Side {
                plan: &run.plan,
                env: &run.env,
                summary,
            })
            .collect()
    }
}

pub(crate) fn files() -> Vec<(String, String)> {
    files_of(&[
        measured("apache", "files", [100, 200, 50]),
        measured("</script><i>evil", "database", [300, 50, 50]),
        measured("nginx", "nothing", [80, 200, 0]),
    ])
}

pub(crate) fn files_of(servers: &[Measured]) -> Vec<(String, String)> {
    planned(servers, servers[0].runs.len())
}

/// The files of a gallery for which this number of runs of each server was planned.
fn planned(servers: &[Measured], planned: usize) -> Vec<(String, String)> {
    let versus = servers[1..].iter().map(|other| Versus {
        name: other.name.to_owned(),
        runs: Vec::new(),
        seeds: Vec::new(),
        notes: Vec::new(),
        comparison: stats::compare(&servers[0].sides(), &other.sides(), 0.02).unwrap(),
    });
    let comparison = Comparisons {
        name: servers[0].name.to_owned(),
        runs: Vec::new(),
        seeds: Vec::new(),
        notes: Vec::new(),
        versus: versus.collect(),
        incomplete: None,
    };
    let exhibits = servers.iter().map(|server| Exhibit {
        name: server.name.to_owned(),
        title: format!("{} & Co.", server.name),
        version: "1.0 <beta>".to_owned(),
        properties: server.keeps,
        locks: server.keeps,
        limits: "Has no <PROPPATCH>.",
        shown: PageRun {
            name: Some(server.name.to_owned()),
            run: &server.runs[0].0,
            summary: server.pooled.summary(),
            details: Some(server.pooled.details.clone()),
        },
        diagnosed: Some(Diagnosed {
            runs: vec![DiagnosedRun::of(
                &server.pooled.material,
                server.name.to_owned(),
            )],
            diagnosis: stats::diagnose_pooled(server.pooled.material.clone(), Vec::new()),
            incomplete: None,
        }),
    });
    let files = gallery(&Gallery {
        day: "2026-11-21".to_owned(),
        command: "prestan gallery DIR --repeat 3".to_owned(),
        runs: servers[0].runs.len(),
        planned,
        exhibits: exhibits.collect(),
        comparison: &comparison,
    });
    files
        .into_iter()
        .map(|file| (file.path, file.content))
        .collect()
}

#[test]
fn the_site_is_complete_and_its_names_are_safe() {
    let files = files();
    let names: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        names,
        [
            "index.html",
            "measured.html",
            "comparison.html",
            "table.md",
            "server-apache.html",
            "server---script--i-evil.html",
            "server-nginx.html",
            "test-Put1K.html",
            "test-Get1K.html",
            "test--b-Lock.html",
            "assets/prestan.css",
            "assets/prestan.js",
        ]
    );
    for (path, content) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        assert!(
            !content.contains("</script><i>") && !content.contains("<b>"),
            "{path}"
        );
        let (markup, _) = content.split_once("<script").unwrap_or((content, ""));
        let links = markup.split("href=\"").skip(1);
        let links: Vec<&str> = links.map(|rest| rest.split('"').next().unwrap()).collect();
        assert!(links.len() > 9, "{path}: {links:?}");
        for link in links {
            let is_here = link.starts_with('#') || names.contains(&link);
            assert!(is_here, "{path} points to {link}");
        }
        assert!(content.contains("default-src 'none'"), "{path}");
    }
    let limits = "Has no &lt;PROPPATCH&gt;.";
    assert!(content(&files, "server-nginx.html").contains(limits));
    assert!(!content(&files, "comparison.html").contains(limits));
    let test = content(&files, "test-Put1K.html");
    assert!(test.contains("Put1K") && !test.contains("<th scope=\"row\">Get1K"));
}

/// A gallery of one suite on two servers, with a change of the first one's runs.
fn changed(names: [&'static str; 2], change: impl Fn(&mut Summary)) -> Vec<(String, String)> {
    let mut servers = names.map(|name| measured(name, "files", [100, 200, 50]));
    change(&mut servers[0].pooled.material.summary);
    files_of(&servers)
}

fn content<'a>(files: &'a [(String, String)], name: &str) -> &'a str {
    let file = files.iter().find(|(path, _)| path == name);
    file.map(|(_, content)| content.as_str()).unwrap()
}

#[test]
fn warnings_stand_with_the_rows_that_they_are_about() {
    let share = |name: &str| Share {
        name: name.to_owned(),
        count: 99,
        of: 100,
    };
    let files = changed(["apache", "nginx"], |summary| {
        let of = |name: &str, warning: Warning, summary: &mut Summary| {
            let row = summary.tests.iter_mut().find(|row| row.name == name);
            row.unwrap().warnings = vec![warning];
        };
        let saturated = |name: &str| Warning::of(WarningKind::Saturated, vec![share(name)]);
        let resent = Warning::of(WarningKind::Resent, vec![share("Put1K")]);
        of("Get1K", saturated("Get1K"), summary);
        of("Put1K", resent, summary);
        summary.warnings = vec![Warning::of(WarningKind::ClockStepped, Vec::new())];
    });
    let warning = "the load generator may have changed the times of Get1K of apache in all runs";
    assert!(content(&files, "index.html").contains(warning));
    assert!(content(&files, "table.md").contains(&format!("Warning: {warning}")));
    let put = content(&files, "test-Put1K.html");
    assert!(
        !put.contains("Inconclusive:") && !put.contains("Get1K 99"),
        "{put}"
    );
    assert!(put.contains("Put1K 99") && put.contains("clock"));
    let get = content(&files, "test-Get1K.html");
    assert!(
        get.contains("Inconclusive:") && get.contains("Get1K 99"),
        "{get}"
    );
    assert!(!get.contains("Put1K 99"));
}

#[test]
fn a_gallery_that_ended_early_says_so() {
    let servers = ["apache", "nginx"].map(|name| measured(name, "files", [100, 200, 50]));
    let runs = servers[0].runs.len();
    let (whole, cut) = (planned(&servers, runs), planned(&servers, 10));
    let said = format!("the measurement ended early; this is {runs} of 10 runs of each server");
    for page in ["index.html", "measured.html", "table.md"] {
        assert!(content(&cut, page).contains(&said), "{page}");
        assert!(!content(&whole, page).contains("Incomplete:"), "{page}");
    }
}

#[test]
fn what_one_server_says_is_not_told_of_all() {
    let mut servers = ["apache", "nginx"].map(|name| measured(name, "files", [100, 200, 50]));
    let said = servers[0].runs[0].0.env.server.as_mut().unwrap();
    said.software = Some("OnlyApache/1".to_owned());
    said.dav = vec!["9, 8".to_owned()];
    let files = files_of(&servers);
    let measured = content(&files, "measured.html");
    assert!(!measured.contains("OnlyApache"), "{measured}");
    assert_eq!(measured.matches("9, 8").count(), 1, "{measured}");
    assert!(measured.contains("<strong>bias</strong>") && measured.contains("Concurrency: 1"));
}

#[test]
fn pages_of_names_that_look_alike_are_not_overwritten() {
    let files = changed(["a_b", "a-b"], |_| {});
    let others = changed(["a.b", "a:b"], |_| {});
    for (files, first, second) in [
        (&files, "server-a_b.html", "server-a-b.html"),
        (&others, "server-a-b.html", "server-a-b-2.html"),
    ] {
        for name in [first, second] {
            let count = files.iter().filter(|(path, _)| path == name).count();
            assert_eq!(count, 1, "{name}");
            assert!(content(files, "index.html").contains(&format!("href=\"{name}\"")));
        }
    }
}

#[test]
fn what_is_remarkable_is_said() {
    let files = files();
    let (_, index) = content(&files, "index.html")
        .split_once("</header>")
        .unwrap();
    assert_snapshot!("gallery_index", index);
    assert_snapshot!("gallery_table", content(&files, "table.md"));
}
