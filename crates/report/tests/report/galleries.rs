//! A gallery: what it says, and that hostile names stay text.

use insta::assert_snapshot;
use stats::testing::RunBuilder;
use stats::{Side, Summary, summarise};

use record::Run;
use report::gallery::{Exhibit, Gallery, gallery};
use report::page::PageRun;
use report::{Comparisons, Versus};

/// A run of three tests; the third fails where it takes no time.
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

struct Measured {
    name: &'static str,
    keeps: &'static str,
    runs: Vec<(Run, Summary)>,
}

fn measured(name: &'static str, keeps: &'static str, us: [u64; 3]) -> Measured {
    let runs = (0..3).map(|repeat| {
        let run = run(
            &format!("{name}{repeat}"),
            us.map(|us| if us == 0 { 0 } else { us + repeat }),
        );
        let summary = summarise(&run);
        (run, summary)
    });
    Measured {
        name,
        keeps,
        runs: runs.collect(),
    }
}

impl Measured {
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

fn files() -> Vec<(String, String)> {
    let servers = [
        measured("apache", "files", [100, 200, 50]),
        measured("</script><i>evil", "database", [300, 50, 50]),
        measured("nginx", "nothing", [80, 200, 0]),
    ];
    let versus = servers[1..].iter().map(|other| Versus {
        name: other.name.to_owned(),
        runs: Vec::new(),
        comparison: stats::compare(&servers[0].sides(), &other.sides(), 0.02).unwrap(),
    });
    let comparison = Comparisons {
        name: servers[0].name.to_owned(),
        runs: Vec::new(),
        versus: versus.collect(),
    };
    let exhibits = servers.iter().map(|server| Exhibit {
        name: server.name.to_owned(),
        title: format!("{} & Co.", server.name),
        version: "1.0 <beta>".to_owned(),
        properties: server.keeps,
        locks: server.keeps,
        shown: PageRun {
            name: Some(server.name.to_owned()),
            run: &server.runs[0].0,
            summary: &server.runs[0].1,
            details: None,
        },
        runs: server.runs.iter().map(|(_, summary)| summary).collect(),
        findings: Vec::new(),
    });
    let files = gallery(&Gallery {
        day: "2026-11-21".to_owned(),
        command: "prestan gallery DIR --repeat 3".to_owned(),
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
        for link in content
            .split("<a href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
        {
            assert!(names.contains(&link), "{path} points to {link}");
        }
    }
    let (_, test) = files
        .iter()
        .find(|(path, _)| path == "test-Put1K.html")
        .unwrap();
    assert!(test.contains("Put1K") && !test.contains("<th scope=\"row\">Get1K"));
}

#[test]
fn what_is_remarkable_is_said() {
    let files = files();
    let content = |name: &str| {
        let file = files.iter().find(|(path, _)| path == name);
        file.map(|(_, content)| content.as_str()).unwrap()
    };
    let (_, index) = content("index.html").split_once("</header>").unwrap();
    assert_snapshot!("gallery_index", index);
    assert_snapshot!("gallery_table", content("table.md"));
}
