//! The resources of a load: one URL, a template of URLs, or a list of them.

use std::fs;
use std::path::Path;

use suite::{RequestedPath, RequestedPaths};
use wire::redact::{redacted_target, redacted_url};
use wire::target::Target;

use crate::error::RunnerError;

/// Most URLs of a list: each is a request that is written before the load begins.
const MOST: usize = 100_000;

#[derive(Debug)]
pub(super) struct LoadResources {
    pub(super) target: Target,
    pub(super) paths: RequestedPaths,
    /// All targets, with templates as written.
    pub(super) urls: Vec<Target>,
}

impl LoadResources {
    /// The resource at a URL, which may be a template: `http://host/dav/file-{{ n % 1000 }}`.
    pub(super) fn at(url: &str) -> Result<LoadResources, RunnerError> {
        let resource = |text: &str| Target::resource(text).map_err(usage);
        let Some(template) = url.find(TEMPLATE) else {
            let target = resource(url)?;
            return Ok(LoadResources {
                urls: vec![target.clone()],
                target,
                paths: RequestedPaths::Target,
            });
        };
        // The collection above is the target of the run.
        let (collection, path) = match url[..template].rfind('/') {
            Some(slash) if slash >= host_of(url).1 => url.split_at(slash + 1),
            _ => {
                return Err(RunnerError::Usage(format!(
                    "{}: a template can stand in the path of a URL, not in its host",
                    redacted_target(url)
                )));
            }
        };
        Ok(LoadResources {
            target: Target::parse(collection).map_err(usage)?,
            urls: vec![resource(&without_templates(url))?],
            paths: RequestedPaths::Below(vec![requested(path)?]),
        })
    }

    /// Targets in a file, a URL or path per line; paths are below `base`, or its host.
    pub(super) fn listed(file: &Path, base: Option<&str>) -> Result<LoadResources, RunnerError> {
        let text = fs::read_to_string(file).map_err(|error| {
            RunnerError::Usage(format!(
                "reading URLs from {} failed: {error}",
                file.display()
            ))
        })?;
        let wrong = |number: usize, why: String| {
            RunnerError::Usage(format!("{}:{}: {why}", file.display(), number + 1))
        };
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut found: Option<LoadResources> = None;
        let mut paths = Vec::new();
        for (number, line) in lines {
            if paths.len() == MOST {
                return Err(wrong(
                    number,
                    format!("more than {MOST} URLs; shorten the list, or use a template"),
                ));
            }
            let url = absolute(line, base).map_err(|why| wrong(number, why))?;
            let target = Target::resource(&without_templates(&url))
                .map_err(|error| wrong(number, error.to_string()))?;
            if base.is_none() && target.clone().take_user_info().is_some() {
                let why = "a user name belongs to --user, not into a list";
                return Err(wrong(number, why.to_owned()));
            }
            let (_, path) = url.split_at(host_of(&url).1);
            let path = requested(path.trim_start_matches('/'));
            paths.push(path.map_err(|why| wrong(number, why.to_string()))?);
            match &mut found {
                None => {
                    let (host, _) = url.split_at(host_of(&url).1);
                    found = Some(LoadResources {
                        target: Target::parse(host).map_err(usage)?,
                        paths: RequestedPaths::Target,
                        urls: vec![target],
                    });
                }
                Some(found) if found.target.shares_server(&target) => found.urls.push(target),
                Some(found) => {
                    let (url, first) = (target.url(), found.target.url());
                    let why = format!("{url} is on another server than {first}");
                    return Err(wrong(number, why));
                }
            }
        }
        let found = found.ok_or_else(|| {
            RunnerError::Usage(format!("{} has no URLs: write one a line", file.display()))
        })?;
        Ok(LoadResources {
            paths: RequestedPaths::Below(paths),
            ..found
        })
    }
}

const TEMPLATE: &str = "{{";

fn usage(error: wire::target::TargetError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}

fn host_of(url: &str) -> (usize, usize) {
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[begin..].find(['/', '?', '#']);
    (begin, end.map_or(url.len(), |end| begin + end))
}

fn absolute(line: &str, base: Option<&str>) -> Result<String, String> {
    if line.contains("://") {
        return Ok(line.to_owned());
    }
    let base = base.ok_or_else(|| {
        format!(
            "`{}` is a path; give the URL of its server on the command line",
            redacted_url(line)
        )
    })?;
    let host = &base[..host_of(base).1];
    if line.starts_with('/') {
        Ok(format!("{host}{line}"))
    } else {
        Ok(format!("{}/{line}", base.trim_end_matches('/')))
    }
}

/// The URL with a letter in place of each template: templates have blanks, which no URL has.
fn without_templates(url: &str) -> String {
    let mut parts = url.split(TEMPLATE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let behind = part.split_once("}}").map_or("", |(_, behind)| behind);
        format!("{text}x{behind}")
    })
}

fn requested(path: &str) -> Result<RequestedPath, RunnerError> {
    if path.contains('#') {
        let why = "a URL with a fragment (`#...`) names no resource; leave it out";
        return Err(RunnerError::Usage(why.to_owned()));
    }
    Ok(RequestedPath {
        template: path.to_owned(),
        shown: redacted_url(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(found: &LoadResources) -> Vec<&str> {
        match &found.paths {
            RequestedPaths::Target => Vec::new(),
            RequestedPaths::Below(paths) => paths.iter().map(|path| &*path.template).collect(),
        }
    }

    #[test]
    fn a_template_stands_below_the_collection_above_it() {
        let table = [
            ("http://h/a/f?x=1", "http://h/a/f?x=1", None),
            (
                "http://h/a/f-{{ n % 10 }}/g",
                "http://h/a/",
                Some("f-{{ n % 10 }}/g"),
            ),
            (
                "h:81/{{ user }}?v={{ n }}",
                "http://h:81/",
                Some("{{ user }}?v={{ n }}"),
            ),
            ("http://h/a?v={{ n }}", "http://h/", Some("a?v={{ n }}")),
        ];
        for (url, target, template) in table {
            let found = LoadResources::at(url).unwrap();
            assert_eq!(found.target.url(), target, "{url}");
            assert_eq!(templates(&found), Vec::from_iter(template), "{url}");
        }
    }

    #[test]
    fn a_template_in_a_host_is_refused() {
        for url in ["http://h{{ n }}/a", "{{ n }}/a", "http://{{ n }}"] {
            assert!(LoadResources::at(url).is_err(), "{url}");
        }
    }

    fn listed(text: &str, base: Option<&str>) -> Result<LoadResources, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("urls");
        std::fs::write(&file, text).unwrap();
        LoadResources::listed(&file, base).map_err(|why| {
            let why = why.to_string();
            why.replace(&file.display().to_string(), "FILE")
        })
    }

    #[test]
    fn lines_are_urls_or_paths() {
        let found = listed(
            "# all\n\nhttp://h:81/a?x=1\n  http://H:81/b/{{ n }}\n",
            None,
        )
        .unwrap();
        assert_eq!(found.target.url(), "http://h:81/");
        assert_eq!(templates(&found), ["a?x=1", "b/{{ n }}"]);
        assert_eq!(found.urls.len(), 2);
        let found = listed("/a\nb\n", Some("http://h/dav")).unwrap();
        assert_eq!(templates(&found), ["a", "dav/b"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let many = "/a\n".repeat(MOST + 1);
        let table = [
            ("", None, "FILE has no URLs"),
            ("# nothing", None, "FILE has no URLs"),
            ("/a", None, "FILE:1: `/a` is a path"),
            (
                "http://h/a\nhttp://other/b",
                None,
                "FILE:2: http://other/b is on another server than http://h/",
            ),
            ("http://h/a\nhttp://h:81/b", None, "FILE:2:"),
            ("http://h/a#b", None, "FILE:1:"),
            ("ftp://h/a", None, "FILE:1:"),
            ("http://u:secret@h/a", None, "FILE:1: a user name"),
            (
                many.as_str(),
                Some("http://h"),
                "FILE:100001: more than 100000",
            ),
        ];
        for (text, base, expected) in table {
            let refused = listed(text, base).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
