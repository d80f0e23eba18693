//! The GitHub Action (`action.yml`) and the GitLab template (`ci/gitlab-compare.yml`): their
//! scripts, run by bash as there, against servers on loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::load::plain;
use crate::support::serve;

/// Records its server, its arguments and the posted body. `previous` has the comments that it
/// lists, for its own `--jq`, which is the last argument.
const GH: &str = r#"#!/bin/bash
echo "$GH_HOST $*" >> "$LOG"
for word in "$@"; do
  if [[ $word == body=@* ]]; then cp "${word#body=@}" "$LOG.body"; fi
done
case $* in
  *viewer*) jq -r "${@: -1}" <<< '{"data": {"viewer": {"login": "github-actions[bot]"}}}' ;;
  *--paginate*) jq -r "${@: -1}" "$LOG.previous" ;;
esac
"#;

/// A file of this repository, read as YAML.
fn yaml(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(path)).unwrap();
    yaml::read(&text).unwrap()
}

/// A place for a job, with `prestan` and a `gh` in its PATH.
struct Job {
    home: TempDir,
}

impl Job {
    fn new() -> Job {
        let home = TempDir::new().unwrap();
        let programs = home.path().join("bin");
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_prestan"), programs.join("prestan"))
            .unwrap();
        let job = Job { home };
        job.program("gh", GH);
        job
    }

    /// Puts a program into its PATH, in the place of another of that name.
    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        // It may be a link to the program of the tests.
        let _ = fs::remove_file(&path);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a script as the runners of both platforms do: bash that ends at the first failure.
    fn run(&self, script: &str, variables: &BTreeMap<&str, &str>) -> Output {
        let programs = self.path("bin");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.home.path())
            .env("LOG", self.path("gh.log"))
            .envs(variables)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("unbound variable"), "{error}");
        output
    }
}

/// Writes a comparison, and ends as one that is inconclusive.
const UNDECIDED: &str = r#"#!/bin/bash
while [ "$1" != --markdown ]; do shift; done
echo "| Get1K |" > "$2"
exit 3
"#;

/// The scripts of the action, and the defaults of its inputs.
fn action() -> (Vec<String>, Value) {
    let mut action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().unwrap();
    let script = |step: &Value| step["run"].as_str().unwrap().to_owned();
    (steps.iter().map(script).collect(), action["inputs"].take())
}

/// A short comparison with a document.
const OPTIONS: &str = "--only Get1K,Put1K\n--warmup 1\n--json comparison.json\n";

/// Variables for the scripts of the action, for two servers.
fn action_variables<'a>(inputs: &'a Value, a: &'a str, b: &'a str) -> BTreeMap<&'a str, &'a str> {
    let default = |name: &str| inputs[name]["default"].as_str().unwrap();
    BTreeMap::from([
        ("A", a),
        ("B", b),
        ("START_A", ""),
        ("START_B", ""),
        ("FAIL_IF", default("fail-if")),
        ("FOR", "2s"),
        ("INCONCLUSIVE", default("inconclusive")),
        ("OPTIONS", OPTIONS),
        ("MARKDOWN", default("markdown")),
        ("NAME", default("name")),
        ("MATRIX", "null"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
        ("GITHUB_OUTPUT", "output"),
        ("GITHUB_ACTION_PATH", "nowhere"),
        ("GITHUB_SERVER_URL", "https://forge.example"),
        ("ACTION_REPOSITORY", "o/prestan"),
        ("GITHUB_REPOSITORY", "o/r"),
        ("GITHUB_WORKFLOW", "ci"),
        ("GITHUB_JOB", "job"),
        ("NUMBER", "7"),
    ])
}

#[test]
fn the_action_compares_and_posts() {
    let (scripts, inputs) = action();
    let (a, b) = (plain(), plain());
    let (a, b) = (a.url(), b.url());
    let job = Job::new();
    let mut variables = action_variables(&inputs, &a, &b);
    // All that the scripts get is given here, by the same names.
    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().unwrap().iter();
    let environments = steps.filter_map(|step| step["env"].as_object());
    for name in environments.flat_map(|environment| environment.keys()) {
        let is_given = variables.contains_key(name.as_str());
        assert!(is_given || name.ends_with("_TOKEN"), "{name}");
    }
    // The load generator of a busy machine does not matter here.
    assert_eq!(variables.insert("INCONCLUSIVE", "pass"), Some("fail"));

    // Prestan is there: nothing is installed.
    assert!(job.run(&scripts[0], &variables).status.success());
    let output = job.run(&scripts[1], &variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let markdown = job.read("comparison.md");
    assert!(markdown.contains("| Get1K |"), "{markdown}");
    assert_eq!(job.read("summary.md"), markdown);
    // All lines of the options are used.
    assert_ne!(job.read("comparison.json"), "");
    let output = job.read("output");
    let report = format!("report={}\n", job.path("comparison.md").display());
    assert!(output.contains(&report), "{output}");
    let verdicts = ["verdict=pass\n", "verdict=inconclusive\n"];
    assert!(
        verdicts.iter().any(|verdict| output.ends_with(verdict)),
        "{output}"
    );

    // A server that is not there fails the step, and nothing old is posted.
    variables.insert("B", "http://127.0.0.1:9/");
    let output = job.run(&scripts[1], &variables);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(job.read("output").ends_with("verdict=error\n"));
    assert!(job.run(&scripts[2], &variables).status.success());
    assert_eq!(job.read("gh.log"), "");
}

#[test]
fn the_action_says_that_a_comparison_is_inconclusive() {
    let (scripts, inputs) = action();
    let job = Job::new();
    job.program("prestan", UNDECIDED);
    for (counts_as, status) in [("pass", 0), ("fail", 1), ("perhaps", 3)] {
        let mut variables = action_variables(&inputs, "http://a/", "http://b/");
        variables.insert("INCONCLUSIVE", counts_as);
        let output = job.run(&scripts[1], &variables);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(job.read("output").ends_with("verdict=inconclusive\n"));
    }
}

#[test]
fn a_comment_of_the_action_replaces_its_own_alone() {
    let (scripts, inputs) = action();
    let job = Job::new();
    let markdown = "| Get1K |\n";
    fs::write(job.path("comparison.md"), markdown).unwrap();
    let variables = action_variables(&inputs, "", "");
    // Posts it beside these existing comments: accounts and texts, with numbers from 40 on. Returns
    // the requests.
    let post = |variables: &BTreeMap<&str, &str>, comments: &[(&str, &str)]| {
        let comments = (40..).zip(comments);
        let comments: Vec<Value> = comments
            .map(|(id, (login, body))| json!({"id": id, "user": {"login": login}, "body": body}))
            .collect();
        fs::write(job.path("gh.log.previous"), json!(comments).to_string()).unwrap();
        fs::write(job.path("gh.log"), "").unwrap();
        let output = job.run(&scripts[2], variables);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let log = job.read("gh.log");
        let did = log.lines().last().unwrap();
        let did = did.split_once(" --field ").unwrap().0.to_owned();
        (did, job.read("gh.log.body"))
    };
    let us = "github-actions[bot]";
    let created = "forge.example api --method POST repos/o/r/issues/7/comments";
    let replaced = "forge.example api --method PATCH repos/o/r/issues/comments/41";
    let (did, posted) = post(&variables, &[(us, "Hello")]);
    assert_eq!(did, created);
    let posted = posted.as_str();
    let (mark, rest) = posted.split_once('\n').unwrap();
    assert_eq!(rest.trim_start(), markdown);

    // A later comparison replaces it; the same first line of another account is not ours.
    let (did, _) = post(&variables, &[(us, "Hello"), (us, posted), ("ann", posted)]);
    assert_eq!(did, replaced);
    let quoted = format!("What does {mark} mean?");
    let (did, _) = post(&variables, &[("ann", posted), (us, &*quoted)]);
    assert_eq!(did, created);

    // Legs of a matrix, and comparisons of one job with names, have comments of their own.
    for (name, value, title) in [
        ("MATRIX", "{\n  \"os\": \"a\"\n}", "### `{ \"os\": \"a\"}`"),
        ("NAME", "listings", "### listings"),
    ] {
        let mut other = variables.clone();
        other.insert(name, value);
        let (did, body) = post(&other, &[(us, posted)]);
        assert_eq!(did, created);
        assert_eq!(body.lines().nth(1), Some(title));
        let (did, _) = post(&other, &[(us, posted), (us, &*body)]);
        assert_eq!(did, replaced);
    }

    // Text beyond the limit of a comment is cut off, at the end of a line.
    fs::write(job.path("comparison.md"), "| Größe | 1 |\n".repeat(9_000)).unwrap();
    let (_, body) = post(&variables, &[]);
    let length = body.len();
    assert!(length <= 65_536 && body.starts_with(mark), "{length}");
    let (table, note) = body.trim_end().rsplit_once('\n').unwrap();
    assert!(note.starts_with("The comparison is longer"), "{note}");
    assert!(table.trim_end().ends_with("\n| Größe | 1 |"));
}

/// The variables of a job of the template, with their defaults.
fn variables_of(job: &Value) -> BTreeMap<&str, &str> {
    let variables = job["variables"].as_object().unwrap().iter();
    variables
        .map(|(name, value)| (&**name, value.as_str().unwrap()))
        .collect()
}

#[test]
fn the_template_compares_two_builds_and_posts() {
    let template = yaml("ci/gitlab-compare.yml");
    let job_of = &template[".prestan-compare"];
    let script = job_of["script"][0].as_str().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let api = format!("http://{}/api/v4", listener.local_addr().unwrap());
    let posted = thread::spawn(move || one_request(&listener));
    let start = serve();
    let job = Job::new();
    let mut variables = variables_of(job_of);
    let given = [
        ("COMPARE_START_A", &*start),
        ("COMPARE_START_B", &*start),
        ("COMPARE_FOR", "2s"),
        ("COMPARE_OPTIONS", OPTIONS),
    ];
    for (name, _) in given {
        assert!(variables.contains_key(name), "{name}");
    }
    variables.extend(given);
    variables.extend([
        ("COMPARE_TOKEN", "secret"),
        ("CI_API_V4_URL", &*api),
        ("CI_PROJECT_ID", "5"),
        ("CI_MERGE_REQUEST_IID", "8"),
    ]);
    // Two starts of one program may differ by a little, but not by this.
    variables.insert("COMPARE_FAIL_IF", "slower 500%");
    // Nor does the load generator of a busy machine.
    let counts_as = variables.insert("COMPARE_INCONCLUSIVE", "pass");
    assert_eq!(counts_as, Some("fail"));
    let output = job.run(script, &variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let markdown = job.read("comparison.md");
    assert!(markdown.contains("| Get1K |"), "{markdown}");
    assert_ne!(job.read("comparison.json"), "");
    let shown = job_of["artifacts"]["reports"]["junit"].as_str().unwrap();
    let shown = variables[shown.strip_prefix('$').unwrap()];
    assert!(job.read(shown).contains(" name=\"Get1K\" "), "{shown}");
    let request = posted.join().unwrap();
    let line = "POST /api/v4/projects/5/merge_requests/8/notes HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("PRIVATE-TOKEN: secret"), "{request}");
    assert!(request.contains("body="), "{request}");
    assert!(request.contains("Get1K"), "{request}");
}

#[test]
fn the_template_says_what_an_inconclusive_comparison_counts_as() {
    let template = yaml("ci/gitlab-compare.yml");
    let job_of = &template[".prestan-compare"];
    let job = Job::new();
    job.program("prestan", UNDECIDED);
    // GitLab shows a job that ends so as one with a warning.
    let warned = job_of["allow_failure"]["exit_codes"].as_i64().unwrap();
    for (counts_as, status) in [("pass", 0), ("fail", 1), ("warn", warned)] {
        let mut variables = variables_of(job_of);
        variables.insert("COMPARE_INCONCLUSIVE", counts_as);
        let output = job.run(job_of["script"][0].as_str().unwrap(), &variables);
        let ended = output.status.code().map(i64::from);
        assert_eq!(ended, Some(status), "{output:?}");
    }
}

/// Accepts one request and responds to it. Returns its text.
fn one_request(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if read == 0 || is_whole(&text) {
            stream
                .write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
                .unwrap();
            return text;
        }
    }
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lengths = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    lengths.next().is_none_or(|length| body.len() >= length)
}
