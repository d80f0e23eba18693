//! Laboratories that are not built: output of `prestan lab`, and refused ones.

use std::fs;
use std::path::PathBuf;

use crate::support::Prestan;

/// One request beside others, over a link of 20 Mbit/s and 5 ms in each direction, with each of
/// these servers.
pub(crate) fn experiment(servers: &str, settle: &str) -> String {
    format!(
        "title: A small experiment
lab:
  hosts: {{client: {{}}, other: {{}}, server: {{}}}}
  switches: {{s: {{}}}}
  links:
    - {{ends: [client, s]}}
    - {{ends: [other, s]}}
    - {{ends: [s, server], rate: 20mbit, delay: 5ms, queue: 200}}
factors:
  - name: server
    levels: [{servers}]
repeat: 2
trial:
  hosts: {{server: '{{{{ server.host }}}}'}}
  servers: '{{{{ server.servers }}}}'
  requests:
    background: {{from: other, to: server, path: /160k, rate: 4mbit}}
  traffic:
    file:
      models: {{even: {{cbr: {{rate: 1mbit, block: 1000}}}}}}
      components: {{noise: {{model: even, protocol: udp, source: other, sink: client}}}}
      loads: {{all: {{flows: [{{component: noise}}]}}}}
  settle: {settle}
  longest: 30s
  measured:
    single: {{from: client, to: server, path: /320k}}
  captures: [server]
figures:
  single.delay: {{title: Delay, unit: ms, more_is_better: false}}
tables:
  - {{name: Table 1, title: Delay, rows: [server], columns: [{{figure: single.delay}}]}}
"
    )
}

pub(crate) const NGINX: &str =
    "{name: nginx, values: {host: {congestion: reno}, servers: {server: {recipe: nginx}}}}";
const DELAYED: &str = "
hosts: {client: {}, server: {}, bare-server: {bare: {preset: conventional}}}
routers: {r: {}}
links:
  - {ends: [client, r], delay: 5ms}
  - {ends: [r, server]}
  - {ends: [r, bare-server]}
";

/// A request to the bare server of that lab.
pub(crate) const GET: &str = "load GET http://bare-server/160k";

pub(crate) fn with_lab() -> Prestan {
    let prestan = Prestan::new();
    prestan.file("lab.yaml", DELAYED);
    prestan
}

#[test]
fn labs_are_listed_and_shown() {
    let list = prestan!("lab list").run();
    for lab in builtin::LABS {
        list.stdout_has(&format!("{} ", lab.name));
    }
    let prestan = Prestan::new();
    let picture = prestan.home().join("lab.svg");
    let shown = prestan!(prestan => "lab show congestion --svg {}", picture).ends(0);
    shown.stdout_has("100 Mbit/s, queue of 1000 packets, delay 150 µs");
    shown.stdout_has("servers are started in server");
    assert!(fs::read_to_string(picture).unwrap().ends_with("</svg>\n"));
    let schema = prestan!("lab schema").run();
    schema.stdout_has("\"Laboratory of Prestan\"");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_built() {
    let prestan = Prestan::new();
    let lab = "hosts: {a: {}, b: {}}\nlinks: [{ends: [a, c]}]\n";
    prestan.file("wrong.yaml", lab);
    let wrong = prestan!(prestan => "lab check wrong.yaml").ends(2);
    wrong.stderr_has("wrong.yaml: links[0].ends: no node is called `c`");
    let table = "
        show /dev/zero => reading /dev/zero failed: it is larger than 64 MiB
        show congstion => did you mean `congestion`?
        check nothing.yaml => reading nothing.yaml failed
        exec client true => add --lab NAME
        exec --lab link cliet true => did you mean `client`?
        exec --lab congestion s0 true => no host of the lab is called `s0`
        link --queue 10 -- true => --rate
        link --rate 10 -- true => `10` is no rate
    ";
    for [args, message] in cases::rows(table) {
        prestan!("lab").words(args).ends(2).stderr_has(message);
    }
}

#[test]
fn a_bare_host_is_shown_and_runs_no_programs() {
    let shown = prestan!("lab show bare").run();
    let features = "bare server, W1, one round trip of a window, G = 250 µs, no congestion control";
    shown.stdout_has(features);
    let refused = prestan!("lab exec --lab bare server true").ends(2);
    refused.stderr_has("`server` is a bare host, which runs no programs");
}

#[test]
fn what_is_wrong_with_an_experiment_is_said_before_anything_is_built() {
    let prestan = Prestan::new();
    let small = experiment(NGINX, "1s");
    let same = "from: client, to: server, path: /320k";
    for (name, from, to) in [
        ("small", "", ""),
        ("server", "recipe: nginx", "recipe: ngins"),
        ("same", "from: other, to: server, path: /160k", same),
        ("path", "path: /320k", "path: /999k"),
        ("figure", "single.delay", "single.dellay"),
    ] {
        prestan.file(&format!("{name}.yaml"), &small.replace(from, to));
    }
    let table = "
        run timers --scenario background=75,weight=W1
          => `background=75,weight=W1` has more than one factor; write --scenario for each of them
        run path.yaml => path.yaml: trial.measured.single.path: `/999k` is no file of the servers, which have /504k
        run congstion => no experiment is called `congstion`; did you mean `congestion`?
        run nothing.yaml => reading nothing.yaml failed
        run small.yaml --scenario server=apache => apache
        run small.yaml --server apache => --server
        run server.yaml --new => no server is called `ngins`
        run server.yaml --dry-run => no server is called `ngins`
        run congestion --server apahce --dry-run => no server is called `apahce`
        run figure.yaml => no figure of a trial is called `single.dellay`; did you mean `single.delay`?
        run same.yaml => has the hosts and the path of trial.requests.background
        run timers --suite prestan --dry-run => bare hosts, which store nothing; name others
        run small.yaml --suite prestn => prestn
        run small.yaml --only Put1K => --suite <SUITE>
        report nothing => no campaign `nothing`
    ";
    let mut next = prestan;
    for [args, message] in cases::rows(table) {
        let outcome = prestan!(next => "lab").words(args).ends(2);
        outcome.stderr_has(message);
        next = outcome.again();
    }
    let dry = prestan!(next => "lab run small.yaml --dry-run").ends(0);
    dry.stdout_has("server nginx");
    dry.stdout_has("1 cell with 2 repetitions each: 2 trials, about 10 s, and up to");
    let suites = prestan!("lab run http-versions --dry-run").run();
    suites.stdout_has(" trials, more than ");
    suites.stdout_has("How long suites take is known after the first trials");
    let list = prestan!("lab experiments").run();
    list.stdout_has("congestion");
    let titles = list.stdout.lines().filter(|line| !line.starts_with(' '));
    for line in titles {
        let (name, title) = line.split_at("http-versions".len());
        let name = name.trim_end();
        assert!(!name.contains(' ') && title.starts_with(' '), "{line}");
        assert!(!title[1..].starts_with(' '), "{line}");
    }
}

/// A campaign without trials, which a test changes.
fn campaign(prestan: &Prestan) -> PathBuf {
    let directory = prestan.home().join("kept");
    fs::create_dir(&directory).unwrap();
    let spec = experiment::ExperimentSpec::read("small", &experiment(NGINX, "1s")).unwrap();
    let record = experiment::CampaignRecord {
        format: 1,
        program: "1".to_owned(),
        name: "small".to_owned(),
        cells: spec.all_cells(),
        experiment: spec,
        repetitions: 2,
        seed: 1,
        command: String::new(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        facts: Default::default(),
    };
    let text = serde_json::to_string(&record).unwrap();
    fs::write(directory.join("campaign.json"), text).unwrap();
    directory
}

#[test]
fn records_that_strangers_wrote_are_refused_with_their_place() {
    let prestan = Prestan::new();
    let directory = campaign(&prestan);
    let trial = "{\"cell\":{\"server\":\"nginx\"},\"repetition\":1,\"started\":\"\",\"seconds\":1,\"figures\":{}}\n";
    let trial = trial.as_bytes();
    let negative = "{\"cell\":{\"server\":\"nginx\"},\"repetition\":-1}\n";
    let table: [(&[&[u8]], i32, &str); 6] = [
        (&[], 0, ""),
        (&[trial], 0, ""),
        // Torn, and twice.
        (&[trial, trial, b"{\"cell\":"], 0, ""),
        (&[b"{}\n"], 2, "trials.jsonl:1: "),
        (&[trial, b"\xff\xfe\n"], 2, "trials.jsonl:2: "),
        (&[trial, negative.as_bytes()], 2, "trials.jsonl:2: "),
    ];
    let mut next = prestan;
    for (bytes, code, message) in table {
        fs::write(directory.join("trials.jsonl"), bytes.concat()).unwrap();
        let outcome = prestan!(next => "lab report kept").ends(code);
        outcome.stderr_has(message);
        next = outcome.again();
    }
    let path = directory.join("campaign.json");
    let text = fs::read_to_string(&path).unwrap();
    let other = text.replace("\"format\":1", "\"format\":99");
    let unknown = text.replace("\"rows\":[\"server\"]", "\"rows\":[\"sever\"]");
    let torn = text[..text.len() / 2].to_owned();
    for (wrong, message) in [
        (other, "it has format 99, of another version"),
        (unknown, "campaign.json failed: tables[0].rows"),
        (torn, "it is no record of a campaign"),
    ] {
        fs::write(&path, wrong).unwrap();
        let outcome = prestan!(next => "lab report kept").ends(2);
        outcome.stderr_has(message);
        next = outcome.again();
    }
}

#[test]
fn what_is_wrong_with_the_lab_is_usage() {
    let table = "
        --lab congstion => did you mean `congestion`?
        --lab lab.yaml --lab-host clint => did you mean `client`?
        --lab lab.yaml --lab-host bare-server => runs no programs
        --lab lab.yaml --server-host nobody => no host of the lab is called
        --lab-host client => --lab
    ";
    for [args, message] in cases::rows(table) {
        let load = prestan!(with_lab() => "load GET http://bare-server/160k");
        load.words(args).ends(2).stderr_has(message);
    }
}
