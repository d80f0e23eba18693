//! `cargo xtask guides`: the figures of README and the guides, from runs of the current program.
//!
//! ```text
//! console blocks   --run in full--> the same blocks with new figures --> docs/images/compare.svg
//! FIGURES          --run--> one figure of each --> docs/images
//! ```

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::project::{build_release, cargo, finish, root};
use crate::setup;

/// An image of the guides, its command, and the figure to use. `URL` is that of the embedded
/// server.
const FIGURES: [(&str, &str, &str); 6] = [
    (
        "measure",
        "run prestan --server apache -r 100",
        "bars-single-log",
    ),
    (
        "compare-forest",
        "compare --server nginx --server lighttpd --for 60s --only Put*,Get*,Copy,Move,Delete",
        "forest-1",
    ),
    (
        "sweep",
        "sweep --server apache --server nginx --vary width=10,30,100,300 --only CopyCol -r 10",
        "sweep-width-CopyCol",
    ),
    (
        "load",
        "load PROPFIND URL --depth 1 --users 8 --duration 20s",
        "timeline-PROPFIND",
    ),
    (
        "search",
        "search OPTIONS URL --find users --to 256 --duration 1s --while p99<5ms",
        "search",
    ),
    (
        "pages",
        "webstone general URL --prepare --children 8 --duration 20s",
        "pages",
    ),
];

pub(crate) fn run() -> Result<()> {
    setup::run()?;
    let program = build_release(&["prestan"])?.join("prestan");
    let test = |name: &str, variable| {
        let command = format!("test --package prestan --test prestan -- {name}");
        cargo(&command.split(' ').collect::<Vec<_>>(), &[variable])
    };
    test(
        "guides::commands",
        ("PRESTAN_GUIDES", program.clone().into()),
    )?;
    test("picture::", ("PRESTAN_BLESS", "1".into()))?;
    draw(&program)
}

/// Makes the images.
fn draw(program: &Path) -> Result<()> {
    let server = EmbeddedServer::start(program)?;
    for (image, command, figure) in FIGURES {
        message!("xtask: prestan {command}");
        let directory = tempfile::tempdir()?;
        let words = command.split(' ');
        let words = words.map(|word| word.replace("URL", &server.url));
        let mut run = Command::new(program);
        run.args(words)
            .args(["--quiet", "--svg"])
            .arg(directory.path())
            .env("XDG_STATE_HOME", directory.path())
            .stdout(Stdio::null());
        // The results do not matter here, even if inconclusive.
        let status = run.status().with_context(|| format!("run {run:?}"))?;
        if !matches!(status.code(), Some(0 | 1 | 3)) {
            bail!("{run:?}: {status}");
        }
        let drawn = directory.path().join(format!("{figure}.svg"));
        let image = root()?.join(format!("docs/images/{image}.svg"));
        fs::copy(&drawn, &image)
            .with_context(|| format!("`prestan {command}` drew no {figure}"))?;
    }
    Ok(())
}

/// `prestan serve`, until dropped.
struct EmbeddedServer {
    process: Child,
    url: String,
}

impl EmbeddedServer {
    fn start(program: &Path) -> Result<EmbeddedServer> {
        let mut serve = Command::new(program);
        let mut process = serve.arg("serve").stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take();
        let output = output.context("no output of `prestan serve`")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let url = line.split_whitespace().last().unwrap_or_default();
        Ok(EmbeddedServer {
            process,
            url: url.to_owned(),
        })
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        let stop = finish(Command::new("kill").arg(self.process.id().to_string()));
        // It removes its directory when it ends.
        if stop.is_ok() {
            let _ = self.process.wait();
        }
    }
}
