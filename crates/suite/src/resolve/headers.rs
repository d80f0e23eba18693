//! Headers of requests.

use std::collections::BTreeMap;

use super::request::placeholder;
use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::place::{Place, Placed, Scalar};
use crate::plan::HeaderPlan;
use crate::quantity::duration_with_unit;
use crate::spec::StepSpec;
use crate::template::Text;

/// Headers that the engine writes; if a suite wrote them too, it would break the framing, the
/// authentication or the join with server logs.
pub const OWN_HEADERS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-prestan",
];

/// Headers with a key of their own. A Destination written as a header could lead out of the
/// collection of the run.
pub const KEYED_HEADERS: &[(&str, &str)] = &[
    ("content-type", "type: in body"),
    ("depth", "depth"),
    ("destination", "to"),
    ("overwrite", "overwrite"),
    ("timeout", "timeout"),
];

/// Headers by which servers and frameworks treat a request as one with another method. The changes
/// that a request may make are judged by its method, so that must be the one in its first line.
pub const METHOD_HEADERS: &[&str] = &[
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
];

impl StepResolver<'_> {
    pub(super) fn headers(&self, step: &StepSpec) -> Result<Vec<HeaderPlan>, SuiteError> {
        let with = &step.with;
        let mut headers = Vec::new();
        if let Some(depth) = &with.depth {
            let value = self.number(depth)?;
            if !["0", "1", "infinity"].contains(&value.as_str()) {
                return Err(self.file.error(
                    depth.place,
                    format!("Depth is 0, 1 or infinity, not `{value}` (RFC 4918, section 10.2)"),
                ));
            }
            headers.push(fixed_header("Depth", &value));
        }
        if let Some(overwrite) = with.overwrite {
            headers.push(fixed_header("Overwrite", if overwrite { "T" } else { "F" }));
        }
        if let Some(timeout) = &with.timeout {
            headers.push(fixed_header("Timeout", &self.timeout(timeout)?));
        }
        let mut known: BTreeMap<String, (&str, Place)> = BTreeMap::new();
        for (name, value) in &with.headers {
            let own = (name.as_str(), value.place);
            if let Some(other) = known.insert(name.to_ascii_lowercase(), own) {
                let (first, second) = if other.1.line <= own.1.line {
                    (other, own)
                } else {
                    (own, other)
                };
                return Err(self.file.error(
                    second.1,
                    format!(
                        "the header {} is here a second time, as {} in line {}; capitals make no difference (RFC 9110, \
                         section 5.1)",
                        second.0, first.0, first.1.line
                    ),
                ));
            }
            if !is_header_name(name) {
                return Err(self
                    .file
                    .error(value.place, format!("`{name}` is no header name")));
            }
            if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(self.file.error(
                    value.place,
                    format!("{name} is written by Prestan and cannot be set by a suite"),
                ));
            }
            if METHOD_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(self.file.error(
                    value.place,
                    format!(
                        "{name} makes a request with another method of this one: write that method"
                    ),
                ));
            }
            let key = KEYED_HEADERS
                .iter()
                .find(|(header, _)| header.eq_ignore_ascii_case(name));
            if let Some((_, key)) = key {
                return Err(self.file.error(
                    value.place,
                    format!("{name} is written with the key `{key}`"),
                ));
            }
            let text = self.text(value)?;
            self.check_header(name, &text, value.place)?;
            headers.push(HeaderPlan {
                name: name.clone(),
                value: text,
            });
        }
        Ok(headers)
    }

    /// Refuses characters that are invalid in a header (RFC 9110, section 5.5).
    pub(super) fn check_header(
        &self,
        name: &str,
        value: &Text,
        place: Place,
    ) -> Result<(), SuiteError> {
        let literals: String = match value {
            Text::Fixed(text) => text.clone(),
            Text::Live(live) => live.pieces().iter().map(placeholder).collect(),
        };
        match literals.chars().find(|c| c.is_ascii_control() && *c != '\t') {
            None => Ok(()),
            Some(control) => Err(self.file.error(
                place,
                format!(
                    "the header {name} has a control character (U+{:04X}), which no header may have; a header is one \
                     line",
                    u32::from(control)
                ),
            )),
        }
    }

    /// The value of a Timeout header (RFC 4918, section 10.7): as written, or from a time.
    fn timeout(&self, written: &Placed<Scalar>) -> Result<String, SuiteError> {
        let text = self.number(written)?;
        let text = text.trim();
        let is_of_header = |part: &str| {
            let seconds = part.strip_prefix("Second-");
            part == "Infinite" || seconds.is_some_and(|seconds| seconds.parse::<u32>().is_ok())
        };
        if text.split(',').map(str::trim).all(is_of_header) {
            return Ok(text.to_owned());
        }
        let refuse = |why: String| self.file.error(written.place, why);
        // The longest timeout exceeds the longest time elsewhere.
        let whole = text.strip_suffix('s').map(|whole| whole.trim().parse());
        let seconds: Option<u64> = if let Some(Ok(whole)) = whole {
            Some(whole)
        } else {
            let time = duration_with_unit(text)
                .map_err(|why| refuse(format!("{why}; or as in a header: Infinite, Second-600")))?;
            (time.subsec_nanos() == 0).then_some(time.as_secs())
        };
        match seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
            Some(seconds) => Ok(format!("Second-{seconds}")),
            None => Err(refuse(format!(
                "`{text}` is no timeout of a lock: whole seconds up to 4294967295, or Infinite (RFC 4918, section 10.7)"
            ))),
        }
    }
}

/// A token (RFC 9110, section 5.6.2).
pub(super) fn is_header_name(name: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(is_token)
}

pub(super) fn fixed_header(name: &str, value: &str) -> HeaderPlan {
    HeaderPlan {
        name: name.to_owned(),
        value: Text::Fixed(value.to_owned()),
    }
}
