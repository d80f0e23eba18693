//! The GitHub Action (`action.yml`) and the GitLab template (`ci/gitlab-compare.yml`): their scripts, run
//! by bash as there, against servers on loopback.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use crate::support::load::plain;
use serde_json::Value;
use tempfile::TempDir;

/// Records its arguments and the body that it posts. `previous` is what it lists as comments.
const GH: &str = r#"#!/bin/bash
echo "$*" >> "$LOG"
for word in "$@"; do
  if [[ $word == body=@* ]]; then cp "${word#body=@}" "$LOG.body"; fi
done
if [[ $* == *--paginate* ]]; then cat "$LOG.previous"; fi
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
        let gh = programs.join("gh");
        fs::write(&gh, GH).unwrap();
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
        Job { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs a script as the runners of both platforms do: bash that ends at the first failure.
    fn run(&self, script: &str, variables: &[(&str, &str)]) -> Output {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(self.home.path())
            .env("PATH", path)
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.home.path())
            .env("LOG", self.path("gh.log"))
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("unbound variable"), "{error}");
        output
    }
}

/// What an input of the action, or a variable of the template, has by default.
fn default(inputs: &Value, name: &str) -> String {
    let input = &inputs[name];
    let text = input.as_str().or_else(|| input["default"].as_str());
    text.unwrap_or_else(|| panic!("no default of {name}"))
        .to_owned()
}

#[test]
fn the_action_compares_and_posts() {
    let action = yaml("action.yml");
    let steps = action["runs"]["steps"].as_array().unwrap();
    let script = |index: usize| steps[index]["run"].as_str().unwrap();
    let (a, b) = (plain(), plain());
    let (a, b) = (a.server.url(), b.server.url());
    let job = Job::new();
    let inputs = &action["inputs"];
    let (fail_if, inconclusive) = (default(inputs, "fail-if"), default(inputs, "inconclusive"));
    let variables = [
        ("A", &*a),
        ("B", &*b),
        ("START_A", ""),
        ("START_B", ""),
        ("FAIL_IF", &*fail_if),
        ("FOR", "2s"),
        ("INCONCLUSIVE", &*inconclusive),
        ("OPTIONS", "--only Get1K,Put1K --warmup 1"),
        ("MARKDOWN", "comparison.md"),
        ("GITHUB_STEP_SUMMARY", "summary.md"),
        ("GITHUB_ACTION_PATH", "nowhere"),
        ("ACTION_REPOSITORY", "o/prestan"),
        ("GITHUB_REPOSITORY", "o/r"),
        ("GITHUB_WORKFLOW", "ci"),
        ("GITHUB_JOB", "job"),
        ("NUMBER", "7"),
    ];
    // All that the scripts get is given here, by the same names.
    for name in steps
        .iter()
        .filter_map(|step| step["env"].as_object())
        .flat_map(|env| env.keys())
    {
        let is_given = variables.iter().any(|(given, _)| given == name);
        assert!(is_given || name == "GH_TOKEN", "{name}");
    }

    // Prestan is there: nothing is installed.
    assert!(job.run(script(0), &variables).status.success());
    let output = job.run(script(1), &variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let markdown = job.read("comparison.md");
    assert!(markdown.contains("| Get1K |"), "{markdown}");
    assert_eq!(job.read("summary.md"), markdown);

    fs::write(job.path("gh.log.previous"), "3 Hello\n").unwrap();
    let output = job.run(script(2), &variables);
    assert!(output.status.success(), "{output:?}");
    assert!(
        job.read("gh.log")
            .contains("--method POST repos/o/r/issues/7/comments")
    );
    let posted = job.read("gh.log.body");
    let (mark, rest) = posted.split_once('\n').unwrap();
    assert_eq!(rest, markdown);

    // A later comparison replaces it.
    fs::write(job.path("gh.log.previous"), format!("3 Hello\n41 {mark}\n")).unwrap();
    assert!(job.run(script(2), &variables).status.success());
    assert!(
        job.read("gh.log")
            .contains("--method PATCH repos/o/r/issues/comments/41")
    );

    // A server that is not there fails the step, and nothing old is posted.
    let mut unreachable = variables;
    unreachable[1].1 = "http://127.0.0.1:9/";
    let output = job.run(script(1), &unreachable);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    fs::remove_file(job.path("gh.log")).unwrap();
    assert!(job.run(script(2), &unreachable).status.success());
    assert_eq!(job.read("gh.log"), "");
}

#[test]
fn the_template_compares_two_builds_and_posts() {
    let template = yaml("ci/gitlab-compare.yml");
    let job_of = &template[".prestan-compare"];
    let script = job_of["script"][0].as_str().unwrap();
    let defaults = job_of["variables"].as_object().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let api = format!("http://{}/api/v4", listener.local_addr().unwrap());
    let posted = thread::spawn(move || one_request(&listener));
    let start = format!(
        "exec '{}' serve --port {{{{ port }}}} '{{{{ storage }}}}'",
        env!("CARGO_BIN_EXE_prestan")
    );
    let job = Job::new();
    let mut variables: Vec<(&str, &str)> = defaults
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let given = [
        ("COMPARE_START_A", &*start),
        ("COMPARE_START_B", &*start),
        ("COMPARE_FOR", "2s"),
        ("COMPARE_OPTIONS", "--only Get1K,Put1K --warmup 1"),
    ];
    for (name, _) in given {
        assert!(defaults.contains_key(name), "{name}");
    }
    variables.extend(given);
    variables.extend([
        ("COMPARE_TOKEN", "secret"),
        ("CI_API_V4_URL", &*api),
        ("CI_PROJECT_ID", "5"),
        ("CI_MERGE_REQUEST_IID", "8"),
    ]);
    // Two starts of one program may differ by a little, but not by this.
    variables.push(("COMPARE_FAIL_IF", "slower 500%"));
    let output = job.run(script, &variables);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let markdown = job.read("comparison.md");
    assert!(markdown.contains("| Get1K |"), "{markdown}");
    let request = posted.join().unwrap();
    let line = "POST /api/v4/projects/5/merge_requests/8/notes HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("PRIVATE-TOKEN: secret"), "{request}");
    assert!(
        request.contains("body=") && request.contains("Get1K"),
        "{request}"
    );
}

/// Accepts one request and answers it; gives its text.
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
