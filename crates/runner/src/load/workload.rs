//! Requests of a load, their targets, and their permission.

use record::Verify;
use suite::{Overrides, Plan};
use wire::redact::redacted_target;
use wire::target::Target;

use super::guard::{self, Permission};
use super::request::{self, LoadRequest};
use super::resources::LoadResources;
use crate::error::RunnerError;
use crate::suite_text::SuiteText;
use crate::words::may_be_url;

/// One request, or a mix of them.
pub struct LoadWorkload {
    /// Description: `GET`, `mix browsing`.
    pub what: String,
    /// The tests whose loops are repeated.
    pub plan: Plan,
    /// The suite of this plan.
    pub suite_text: String,
    /// Target of the requests.
    pub target: Target,
    /// Permission of the requests, and whether the server may be changed.
    pub permission: (Permission, bool),
    /// Operations follow in their order, and are not drawn at random.
    pub in_turn: bool,
}

impl LoadWorkload {
    /// `METHOD URL`; `URL` for a GET, for a POST of a body, and for a mix; with a list of URLs each
    /// may be left out.
    pub fn of(words: &[String], options: &LoadRequest) -> Result<LoadWorkload, RunnerError> {
        if let Some(suite) = &options.mix {
            request::refuse_with_mix(options)?;
            return match words {
                [url] => LoadWorkload::mix(suite, url, options),
                _ => Err(RunnerError::Usage(
                    "with --mix, the suite defines the methods: give the URL of a collection only"
                        .to_owned(),
                )),
            };
        }
        let usual = if request::has_body(options) {
            "POST"
        } else {
            "GET"
        };
        let (method, url) = match words {
            [method, url, ..] => (method.as_str(), Some(url.as_str())),
            [url] if may_be_url(url) => (usual, Some(url.as_str())),
            [method] => (method.as_str(), None),
            [] => (usual, None),
        };
        let resources = match (&options.urls, url) {
            (Some(file), base) => LoadResources::listed(file, base)?,
            (None, Some(url)) => LoadResources::at(url)?,
            (None, None) => {
                return Err(RunnerError::Usage(format!(
                    "no URL is given, only `{method}`; write `{method} http://127.0.0.1:8080/file` \
                     for example, or a URL alone for a GET"
                )));
            }
        };
        LoadWorkload::requests(method, resources, options)
    }

    fn requests(
        method: &str,
        resources: LoadResources,
        options: &LoadRequest,
    ) -> Result<LoadWorkload, RunnerError> {
        let LoadResources {
            target,
            paths,
            urls,
        } = resources;
        let is_one = paths == suite::RequestedPaths::Target;
        let single = request::single(method, paths, options)?;
        let (mut plan, suite_text) = suite::single(&single).map_err(RunnerError::Usage)?;
        match options.verify {
            None => {}
            Some(Verify::Full) => {
                return Err(RunnerError::Usage(format!(
                    "--verify full: the content of the response to {method} is not known; write a suite that \
                     gives it (`expect: {{body: ...}}`), and run it with --mix SUITE"
                )));
            }
            Some(verify) => plan.set_verify(verify),
        }
        let permission = if is_one {
            guard::single(&plan, options.writes, &target)?
        } else {
            guard::several(&plan, options.writes, &urls)?
        };
        Ok(LoadWorkload {
            what: method.to_owned(),
            permission: (permission, options.writes),
            plan,
            suite_text,
            target,
            in_turn: !is_one,
        })
    }

    fn mix(suite: &str, url: &str, options: &LoadRequest) -> Result<LoadWorkload, RunnerError> {
        if !may_be_url(url) {
            return Err(RunnerError::Usage(format!(
                "with --mix, the suite defines the methods: give the URL of a collection instead of `{}`",
                redacted_target(url)
            )));
        }
        let suite = SuiteText::find(suite)?;
        let mut plan = suite.resolved(&Overrides {
            may_post: options.writes,
            verify: options.verify,
            ..Overrides::default()
        })?;
        let permission = guard::mix(&mut plan, options.writes)?;
        Ok(LoadWorkload {
            what: format!("mix {}", plan.suite.name),
            permission: (permission, options.writes),
            plan,
            suite_text: suite.text,
            target: Target::parse(url).map_err(|error| RunnerError::Usage(error.to_string()))?,
            in_turn: false,
        })
    }
}
