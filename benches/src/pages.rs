//! Processor time of the client per file of a page, compared with load generators that fetch the
//! same files over as many connections.
//!
//! wrk and h2load have no pages: they go through a list in which every file occurs in proportion to
//! its weight, one request after the other on each connection, like a child of WebSTONE between two
//! draws. Round by round, as in `cost`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::child::{self, FinishedChild};
use crate::comparison::Attainment;
use crate::cost::{interval, order, ratios};
use crate::load::{self, Prestan, RequestedClock};
use crate::machine::BenchMachine;
use crate::numbers::Median;
use crate::peers::Peer;
use crate::server::BenchServer;
use crate::table::{BenchTable, micros};
use crate::{BenchReport, BenchSize};

/// The mix.
const MIX: &str = "general";
/// Kept connections of every client: the children.
const CHILDREN: u32 = 24;
/// Largest acceptable cost of a file, as a multiple of the cheapest other tool.
const AT_MOST: f64 = 1.1;

/// All results.
#[derive(Debug, Serialize, Deserialize)]
pub struct PagesReport {
    machine: BenchMachine,
    rounds: usize,
    /// Seconds of each client in each round.
    seconds: u64,
    clients: Vec<PagesClient>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PagesClient {
    name: String,
    /// Processor time per file, in microseconds.
    cpu: Median,
    /// Multiple of the cheapest other tool, round by round.
    of_cheapest: Option<Median>,
    /// Pages per second.
    per_second: Median,
    verdict: Option<Attainment>,
}

/// A client of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PagesContender {
    Prestan(RequestedClock),
    Peer(Peer),
}

impl PagesContender {
    fn name(self) -> String {
        match self {
            PagesContender::Prestan(clock) => format!("prestan webstone, {} clock", clock.name()),
            PagesContender::Peer(peer) => peer.name().to_owned(),
        }
    }
}

/// Result of one run of a client.
#[derive(Debug, Clone, Copy)]
struct PagesTurn {
    cpu_us: f64,
    pages_per_second: f64,
}

struct PagesBench<'a> {
    prestan: &'a Prestan,
    url: String,
    list: List<'a>,
    seconds: u64,
}

/// The files of the mix in proportion to their weights.
struct List<'a> {
    directory: &'a Path,
    files_per_page: f64,
}

/// Measures everything.
pub fn run(prestan: &Prestan, size: BenchSize) -> Result<PagesReport> {
    let (rounds, seconds) = size.of((11, 5), (3, 1));
    let nginx = BenchServer::nginx()?;
    let mut generate = prestan.command();
    generate
        .args(["webstone", MIX, "--generate"])
        .arg(nginx.storage());
    child::run(&mut generate)?;
    let lists = tempfile::tempdir()?;
    let bench = PagesBench {
        prestan,
        url: nginx.root(),
        list: List::write(lists.path(), &nginx.root())?,
        seconds,
    };
    let is_comparable = |peer: &Peer| [Peer::Wrk, Peer::H2load].contains(peer);
    let peers: Vec<Peer> = Peer::installed().filter(is_comparable).collect();
    let contenders: Vec<PagesContender> = [RequestedClock::User, RequestedClock::Kernel]
        .map(PagesContender::Prestan)
        .into_iter()
        .chain(peers.iter().copied().map(PagesContender::Peer))
        .collect();
    // Not measured: warms up the server.
    bench.turn(contenders[0])?;
    let mut turns: Vec<Vec<PagesTurn>> = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        eprintln!("pages: round {} of {rounds}", round + 1);
        for index in order(round, contenders.len()) {
            turns[index].push(bench.turn(contenders[index])?);
        }
    }
    let mut machine = BenchMachine::this();
    machine.add(&nginx.version());
    peers.iter().for_each(|peer| machine.add(&peer.version()));
    Ok(PagesReport {
        machine,
        rounds,
        seconds,
        clients: clients(&contenders, &turns).context("no rounds")?,
    })
}

impl<'a> List<'a> {
    /// Writes the list for both programs.
    fn write(directory: &'a Path, url: &str) -> Result<List<'a>> {
        let mix = webstone::Mix::find(MIX).context("the mix")?.list();
        let (mut paths, mut pages) = (Vec::new(), 0);
        // Weights are whole hundredths. Pages are spread evenly, like a shuffled deck.
        let mut dealt = vec![0.0; mix.pages.len()];
        for turn in 1..=100 {
            let behind =
                |index: &usize| mix.pages[*index].weight * f64::from(turn) / 100.0 - dealt[*index];
            let next =
                (0..mix.pages.len()).max_by(|one, other| behind(one).total_cmp(&behind(other)));
            let next = next.context("a page")?;
            dealt[next] += 1.0;
            pages += 1;
            paths.extend(mix.pages[next].files.iter().map(|file| file.path.clone()));
        }
        let urls: Vec<String> = paths.iter().map(|path| format!("{url}{path}\n")).collect();
        fs::write(directory.join("urls"), urls.concat())?;
        let listed: Vec<String> = paths
            .iter()
            .map(|path| format!("  \"/{path}\",\n"))
            .collect();
        let script = format!(
            "local paths = {{\n{}}}\nlocal requests, at = {{}}, 0\n\
             function init()\n  for i, path in ipairs(paths) do requests[i] = wrk.format(\"GET\", path) end\nend\n\
             function request()\n  at = at % #requests + 1\n  return requests[at]\nend\n",
            listed.concat()
        );
        fs::write(directory.join("wrk.lua"), script)?;
        Ok(List {
            directory,
            files_per_page: paths.len() as f64 / f64::from(pages),
        })
    }
}

impl PagesBench<'_> {
    fn turn(&self, contender: PagesContender) -> Result<PagesTurn> {
        let (finished, files, pages_per_second) = match contender {
            PagesContender::Prestan(clock) => self.prestan(clock)?,
            PagesContender::Peer(peer) => self.peer(peer)?,
        };
        Ok(PagesTurn {
            cpu_us: finished.cpu.as_secs_f64() * 1e6 / files,
            pages_per_second,
        })
    }

    fn prestan(&self, clock: RequestedClock) -> Result<(FinishedChild, f64, f64)> {
        let save = tempfile::tempdir()?;
        let mut command = self.prestan.command();
        command
            .args(["webstone", MIX, &self.url, "--quiet", "--json", "-"])
            .args(["--children", &CHILDREN.to_string()])
            .args(["--duration", &format!("{}s", self.seconds)])
            .args(["--clock", clock.name(), "--save"])
            .arg(save.path().join("run"));
        let finished = load::run(&mut command)?;
        let result: Value = serde_json::from_str(&finished.stdout).context("read the result")?;
        let webstone = &result["webstone"];
        let files = |part: &str| webstone[part]["files"].as_f64();
        let all = files("retrieved").zip(files("left_out"));
        let (inside, outside) = all.context("the number of files")?;
        let number = webstone["number"].as_f64().context("the number")?;
        Ok((finished, inside + outside, number / 60.0))
    }

    fn peer(&self, peer: Peer) -> Result<(FinishedChild, f64, f64)> {
        let mut command = Command::new(peer.program().context("it is installed")?);
        command.args(["-t1", "-c", &CHILDREN.to_string()]);
        match peer {
            Peer::Wrk => command
                .arg(format!("-d{}s", self.seconds))
                .arg("-s")
                .arg(self.list.directory.join("wrk.lua"))
                .arg(&self.url),
            _ => command
                .args(["--h1", "-D", &self.seconds.to_string(), "-i"])
                .arg(self.list.directory.join("urls")),
        };
        let finished = child::run(&mut command)?;
        let output = match peer {
            Peer::Wrk => finished
                .stdout
                .split_once(" requests in ")
                .map(|(before, _)| before),
            _ => finished
                .stdout
                .split_once("requests: ")
                .map(|(_, after)| after),
        };
        let words = output.map(|output| match peer {
            Peer::Wrk => output.split_whitespace().next_back(),
            _ => output.split_whitespace().next(),
        });
        let files: Option<f64> = words.flatten().and_then(|word| word.parse().ok());
        let files = files.with_context(|| format!("requests in:\n{}", finished.stdout))?;
        let pages = files / self.list.files_per_page / self.seconds as f64;
        Ok((finished, files, pages))
    }
}

/// `None` without rounds.
fn clients(contenders: &[PagesContender], turns: &[Vec<PagesTurn>]) -> Option<Vec<PagesClient>> {
    let cost = |turns: &[PagesTurn]| turns.iter().map(|turn| turn.cpu_us).collect::<Vec<_>>();
    let rounds = turns.first()?.len();
    let pairs = || contenders.iter().zip(turns);
    let others = || pairs().filter(|(contender, _)| matches!(contender, PagesContender::Peer(_)));
    let cheapest = |round: usize| {
        others()
            .map(|(_, turns)| turns[round].cpu_us)
            .reduce(f64::min)
    };
    let cheapest: Option<Vec<f64>> = (0..rounds).map(cheapest).collect();
    pairs()
        .map(|(contender, turns)| {
            let cpu = cost(turns);
            let of_cheapest = cheapest
                .as_ref()
                .and_then(|cheapest| Median::of(&ratios(&cpu, cheapest)));
            let judged =
                of_cheapest.filter(|_| *contender == PagesContender::Prestan(RequestedClock::User));
            let pace: Vec<f64> = turns.iter().map(|turn| turn.pages_per_second).collect();
            Some(PagesClient {
                name: contender.name(),
                cpu: Median::of(&cpu)?,
                of_cheapest,
                per_second: Median::of(&pace)?,
                verdict: judged.map(|ratio| Attainment::of(ratio.value <= AT_MOST)),
            })
        })
        .collect()
}

impl BenchReport for PagesReport {
    fn machine(&self) -> &BenchMachine {
        &self.machine
    }

    fn tables(&self) -> Vec<BenchTable> {
        let mut table = BenchTable::new(
            &format!(
                "Processor time of the client a file, in µs (the mix `{MIX}` of nginx, {CHILDREN} \
                 kept connections, {} rounds of {} s; median, with the 95 % interval of the sign \
                 test in brackets)",
                self.rounds, self.seconds
            ),
            &["client", "µs", "of the cheapest other", "pages/s", "wanted"],
        );
        for client in &self.clients {
            let wanted = client
                .verdict
                .map(|verdict| format!("at most {AT_MOST:.2} times: {}", verdict.name()));
            table.row(vec![
                client.name.clone(),
                micros(client.cpu.value),
                client.of_cheapest.map_or_else(String::new, interval),
                format!("{:.0}", client.per_second.value),
                wanted.unwrap_or_default(),
            ]);
        }
        vec![table]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_page_as_often_as_it_weighs() {
        let directory = tempfile::tempdir().unwrap();
        let list = List::write(directory.path(), "http://h/").unwrap();
        let urls = fs::read_to_string(directory.path().join("urls")).unwrap();
        let times = |name: &str| urls.matches(name).count();
        assert_eq!(times("http://h/file3k.html\n"), 40);
        assert_eq!(times("http://h/file100k.gif\n"), 10);
        assert_eq!(list.files_per_page, 2.7);
        assert_eq!(urls.lines().count(), 270);
    }

    #[test]
    fn ours_is_held_to_the_cheapest_of_the_others_in_its_round() {
        let turn = |cpu_us| PagesTurn {
            cpu_us,
            pages_per_second: 1.0,
        };
        let ours = PagesContender::Prestan(RequestedClock::User);
        let contenders = [
            ours,
            PagesContender::Peer(Peer::Wrk),
            PagesContender::Peer(Peer::H2load),
        ];
        let turns = [[11.0, 22.0, 44.0], [10.0, 20.0, 50.0], [20.0, 19.0, 40.0]];
        let turns = turns.map(|rounds| rounds.map(turn).to_vec());
        let clients = clients(&contenders, &turns).unwrap();
        assert_eq!(clients[0].of_cheapest.unwrap().value, 1.1);
        assert_eq!(clients[0].verdict, Some(Attainment::Ok));
        assert_eq!(clients[1].verdict, None);
    }
}
