//! Headers of requests.

use std::collections::BTreeMap;

use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::plan::HeaderPlan;
use crate::position::{Located, Position, Scalar};
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
                    depth.position,
                    format!("Depth is 0, 1 or infinity, not `{value}` (RFC 4918, section 10.2)"),
                ));
            }
            headers.push(HeaderPlan::fixed("Depth", &value));
        }
        if let Some(overwrite) = with.overwrite {
            headers.push(HeaderPlan::fixed(
                "Overwrite",
                if overwrite { "T" } else { "F" },
            ));
        }
        if let Some(timeout) = &with.timeout {
            headers.push(HeaderPlan::fixed("Timeout", &self.timeout(timeout)?));
        }
        let mut known: BTreeMap<String, (&str, Position)> = BTreeMap::new();
        for (name, value) in &with.headers {
            let this = (name.as_str(), value.position);
            if let Some(earlier) = known.insert(name.to_ascii_lowercase(), this) {
                let mut both = [earlier, this];
                both.sort_by_key(|(_, position)| position.line);
                let [(first, position), (second, second_position)] = both;
                let why = format!(
                    "the header {second} is here a second time, as {first} in line {}; capitals make no difference (RFC \
                     9110, section 5.1)",
                    position.line
                );
                return Err(self.file.error(second_position, why));
            }
            let help = |why: String| Err(self.file.error(value.position, why));
            if !is_header_name(name) {
                return help(format!("`{name}` is no header name"));
            }
            let lower = name.to_ascii_lowercase();
            if OWN_HEADERS.contains(&lower.as_str()) {
                return help(format!(
                    "{name} is written by Prestan and cannot be set by a suite"
                ));
            }
            if METHOD_HEADERS.contains(&lower.as_str()) {
                return help(format!(
                    "{name} makes a request with another method of this one: write that method"
                ));
            }
            let mut keyed = KEYED_HEADERS.iter();
            if let Some((_, key)) = keyed.find(|(header, _)| *header == lower) {
                return help(format!("{name} is written with the key `{key}`"));
            }
            let text = self.text(value)?;
            self.check_header(name, &text, value.position)?;
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
        position: Position,
    ) -> Result<(), SuiteError> {
        let shape = value.shape();
        let Some(control) = shape.chars().find(|c| c.is_ascii_control() && *c != '\t') else {
            return Ok(());
        };
        let why = format!(
            "the header {name} has a control character (U+{:04X}), which no header may have; a header is one line",
            u32::from(control)
        );
        Err(self.file.error(position, why))
    }

    /// The value of a Timeout header (RFC 4918, section 10.7): as written, or from a time.
    fn timeout(&self, written: &Located<Scalar>) -> Result<String, SuiteError> {
        let text = self.number(written)?;
        let text = text.trim();
        let is_of_header = |part: &str| {
            let seconds = part.strip_prefix("Second-");
            part == "Infinite" || seconds.is_some_and(|seconds| seconds.parse::<u32>().is_ok())
        };
        if text.split(',').map(str::trim).all(is_of_header) {
            return Ok(text.to_owned());
        }
        let refuse = |why: String| self.file.error(written.position, why);
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
