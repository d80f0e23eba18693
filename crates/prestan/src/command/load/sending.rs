//! What a load sends where, and whether it may.

use suite::{Overrides, Plan};
use wire::target::Target;

use super::guard::{self, Permission};
use super::request;
use crate::args::RequestOptions;
use crate::command::run::SuiteText;
use crate::exit::Failed;
use crate::nearest::may_be_url;
use wire::shown::redacted_url;

/// One request, or a mix of them.
pub(crate) struct LoadWorkload {
    /// In words: `GET`, `mix browsing`.
    pub(crate) what: String,
    pub(crate) plan: Plan,
    pub(crate) suite_text: String,
    pub(crate) target: Target,
    /// Whether that may be sent.
    pub(crate) permission: Permission,
}

impl LoadWorkload {
    /// `METHOD URL`, or `URL` for a GET, for a POST of a body, and for a mix.
    pub(crate) fn of(
        first: &str,
        second: Option<&str>,
        options: &RequestOptions,
    ) -> Result<LoadWorkload, Failed> {
        let usage = |error: wire::target::TargetError| Failed::Usage(error.to_string());
        match (&options.mix, second) {
            (None, Some(url)) => {
                let (plan, suite_text) = suite::single(&request::single(first, options)?);
                let target = Target::resource(url).map_err(usage)?;
                Ok(LoadWorkload {
                    what: first.to_owned(),
                    permission: guard::single(&plan, options.writes, &target)?,
                    plan,
                    suite_text,
                    target,
                })
            }
            (Some(suite), None) => {
                request::refuse_with_mix(options)?;
                let suite = SuiteText::find(suite)?;
                let mut plan = suite.resolved(&Overrides::default())?;
                let permission = guard::mix(&mut plan, options.writes)?;
                Ok(LoadWorkload {
                    what: format!("mix {}", plan.suite.name),
                    permission,
                    plan,
                    suite_text: suite.text,
                    target: Target::parse(first).map_err(usage)?,
                })
            }
            (None, None) if may_be_url(first) => {
                let method = if request::has_body(options) {
                    "POST"
                } else {
                    "GET"
                };
                LoadWorkload::of(method, Some(first), options)
            }
            (None, None) => Err(Failed::Usage(format!(
                "no URL is given, only `{first}`; write `{first} http://127.0.0.1:8080/file` for \
                 example, or a URL alone for a GET"
            ))),
            (Some(_), Some(_)) => Err(Failed::Usage(format!(
                "with --mix the suite says the methods: leave `{}` out, and give the URL of a \
                 collection only",
                redacted_url(first)
            ))),
        }
    }
}
