//! Requests, and the trees that become requests.

use std::ops::RangeInclusive;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use record::MeasureId;

use super::headers::is_header_name;
use super::steps::{MANY, StepResolver};
use crate::error::SuiteError;
use crate::fill::{Fill, filled};
use crate::plan::{
    Body, BodyText, Expect, HeaderPlan, Missing, RequestPlan, Save, SaveFrom, StatusSet,
    StatusTest, Step, UNSUPPORTED, Workspace,
};
use crate::position::{Located, Scalar};
use crate::quantity::parse_size;
use crate::spec::{BodySpec, ExpectSpec, FillSpec, LeafSpec, LineEndSpec, MissingSpec, StepSpec};
use crate::template::Text;

/// Characters that a path segment may contain are unchanged (RFC 3986, section 3.3).
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Methods that change nothing (RFC 9110, section 9.2.1; RFC 4918; RFC 3253; RFC 5323).
pub const READING: &[&str] = &["GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "SEARCH"];

/// Largest body of a suite.
const LARGEST: u64 = 1 << 30;

/// Bytes of a request of a tree beside its path.
const REQUEST: usize = 400;
/// Most bytes that a level adds to a path of a tree.
const LONGEST_LEVEL: usize = 8;

impl StepResolver<'_> {
    pub(super) fn request(
        &self,
        step: &StepSpec,
        method: &str,
        path: &Located<Scalar>,
    ) -> Result<Step, SuiteError> {
        let changes = !READING.contains(&method) && (method != "POST" || !self.may_post);
        if self.workspace == Workspace::ReadOnly && changes {
            let needs = if self.may_post { "cgi" } else { "http" };
            let why = format!("{method} changes the server, and the suite says `needs: {needs}`");
            return Err(self.file.error(step.position, why));
        }
        let with = &step.with;
        let (body, content_type) = self.body(with.body.as_ref())?;
        let mut headers = self.headers(step)?;
        if let Some(content_type) = content_type {
            headers.push(HeaderPlan::fixed("Content-Type", &content_type));
        }
        let (mut unsupported, mut unsupported_without) = (UNSUPPORTED.to_vec(), Vec::new());
        for located in &with.unsupported {
            match self.unsupported(located)? {
                Unsupported::Status(status) => unsupported.push(status),
                Unsupported::Without(header) => unsupported_without.push(header),
            }
        }
        Ok(Step::Request(Arc::new(RequestPlan {
            method: method.to_owned(),
            path: self.path_and_query(method, path, with.query.as_ref())?,
            to: with.to.as_ref().map(|to| self.path(to)).transpose()?,
            headers,
            body,
            expect: self.expect(method, with.expect.as_ref())?,
            unsupported,
            unsupported_without,
            save: self.saves(step)?,
            measure: self.measure(step),
            verify: self.verify(step),
            target: self.target(step),
            is_for_parts: false,
        })))
    }

    /// A collection of `depth` levels with `width` members in the lowest, as requests.
    pub(super) fn tree(
        &self,
        step: &StepSpec,
        path: &Located<Scalar>,
        out: &mut Vec<Step>,
    ) -> Result<(), SuiteError> {
        let with = &step.with;
        let one = Located {
            value: Scalar("1".to_owned()),
            position: step.position,
        };
        let (depth, width) = (with.depth.as_ref(), with.width.as_ref());
        let depth = self.count(depth.unwrap_or(&one), "depth of a tree", 1, 1_000)?;
        let width = self.count(width.unwrap_or(&one), "width of a tree", 0, MANY)?;
        let of = with.of.unwrap_or_default();
        let measure = self.measure(step);
        if with.measure.is_some() && of == LeafSpec::Resources {
            let why = "a tree is measured only with `of: collections`: one name, one method";
            return Err(self.file.error(step.position, why));
        }
        let (body, content_type) = match (&with.body, of) {
            (Some(body), LeafSpec::Collections) => {
                return Err(self.file.error(body.position, "collections have no `body`"));
            }
            (body, _) => self.body(body.as_ref())?,
        };
        let Text::Fixed(mut level) = self.path(path)? else {
            let why = "a tree needs a path without n, user or the name of a repetition";
            return Err(self.file.error(path.position, why));
        };
        if !level.ends_with('/') {
            level.push('/');
        }
        let (levels, leaves) = (depth as usize, width as usize);
        let longest = level.len() + levels * LONGEST_LEVEL;
        let requests = (levels + leaves) * (REQUEST + longest);
        self.file.plans_trees(step.position, requests)?;
        let target = self.target(step);
        let mut add = |method: &str, path: String| {
            let mut request = RequestPlan::new(method, Text::Fixed(path), StatusTest::Class(2));
            request.target = target;
            if method == "MKCOL" {
                request.measure = measure;
            } else {
                let content_type = content_type.iter();
                let header = content_type.map(|value| HeaderPlan::fixed("Content-Type", value));
                request.headers = header.collect();
                request.body = body.clone();
            }
            out.push(Step::Request(Arc::new(request)));
        };
        add("MKCOL", level.clone());
        for number in 2..=depth {
            level.push_str(&format!("l{number}/"));
            add("MKCOL", level.clone());
        }
        for number in 0..width {
            match of {
                LeafSpec::Collections => add("MKCOL", format!("{level}c{number}/")),
                LeafSpec::Resources => add("PUT", format!("{level}r{number}")),
            }
        }
        Ok(())
    }

    fn measure(&self, step: &StepSpec) -> Option<MeasureId> {
        let measure = step.with.measure.as_ref()?;
        self.measure_ids.get(measure.value.as_str()).copied()
    }

    /// A text that may contain run-time variables.
    pub(super) fn text(&self, scalar: &Located<Scalar>) -> Result<Text, SuiteError> {
        self.templates
            .text(&scalar.value.0)
            .map_err(|message| self.file.error(scalar.position, message))
    }

    pub(super) fn path(&self, path: &Located<Scalar>) -> Result<Text, SuiteError> {
        let text = self.text(path)?;
        let help = |why: &str| Err(self.file.error(path.position, why));
        if text.has_saved() {
            return help(
                "a path cannot contain what a server said: saved names are for headers and bodies",
            );
        }
        let shape = text.shape();
        if shape.starts_with('/') || shape.split('/').any(|part| part == ".." || part == ".") {
            return help(
                "a path is relative to the user's collection and stays in it: no leading /, no ..",
            );
        }
        Ok(text.map_literals(|text| utf8_percent_encode(text, PATH).to_string()))
    }

    fn body(&self, body: Option<&Located<BodySpec>>) -> Result<(Body, Option<String>), SuiteError> {
        let Some(body) = body else {
            return Ok((Body::None, None));
        };
        let BodySpec {
            size, xml, text, ..
        } = &body.value;
        let usual = match (xml, text) {
            (Some(_), _) => Some("application/xml"),
            (None, Some(_)) => Some("text/plain; charset=utf-8"),
            (None, None) => None,
        };
        let content_type = body.value.content_type.clone().or(usual.map(str::to_owned));
        if let Some(content_type) = &content_type {
            let value = Text::Fixed(content_type.clone());
            self.check_header("Content-Type", &value, body.position)?;
        }
        let resolved = match (size, xml, text) {
            (Some(size), None, None) => Body::Fixed(self.sized(size, body.value.fill)?.into()),
            (None, Some(source), None) | (None, None, Some(source)) => {
                let ended = |text: &str| match body.value.lines {
                    LineEndSpec::Lf => text.to_owned(),
                    LineEndSpec::Crlf => text.replace('\n', "\r\n"),
                };
                match self.text(source)? {
                    Text::Fixed(text) => Body::Fixed(ended(&text).into_bytes().into()),
                    Text::Live(live) => Body::Live(BodyText(live.map_literals(ended))),
                }
            }
            _ => {
                let why = "a body has one of `size`, `xml` and `text`";
                return Err(self.file.error(body.position, why));
            }
        };
        Ok((resolved, content_type))
    }

    fn sized(&self, size: &Located<Scalar>, fill: FillSpec) -> Result<Vec<u8>, SuiteError> {
        let bytes = parse_size(&self.number(size)?)
            .map_err(|message| self.file.error(size.position, message))?;
        if bytes > LARGEST {
            return Err(self.file.error(size.position, "a body has at most 1 GiB"));
        }
        let fill = match fill {
            FillSpec::Text => Fill::Text,
            FillSpec::Random => Fill::Random { seed: bytes },
        };
        Ok(filled(fill, usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    fn expect(
        &self,
        method: &str,
        expect: Option<&Located<ExpectSpec>>,
    ) -> Result<Expect, SuiteError> {
        let none = ExpectSpec::default();
        let spec = expect.map_or(&none, |expect| &expect.value);
        let mut status = Vec::new();
        for located in &spec.status {
            status.push(self.status(located)?);
        }
        if status.is_empty() {
            // A server that responds to PROPFIND with 200 has not understood it.
            status.push(match method {
                "PROPFIND" => StatusTest::Exactly(207),
                _ => StatusTest::Class(2),
            });
        }
        let body = match &spec.body {
            None => None,
            Some(body) => match self.body(Some(body))?.0 {
                Body::Fixed(bytes) => Some(bytes),
                Body::None | Body::Live(_) => {
                    let why = "an expected body cannot change from request to request";
                    return Err(self.file.error(body.position, why));
                }
            },
        };
        let count = |scalar: &Option<Located<Scalar>>, what: &str| {
            scalar
                .as_ref()
                .map(|scalar| self.count(scalar, what, 0, 10_000_000))
                .transpose()
        };
        if let (Some(length), Some(_)) = (&spec.length, &spec.body) {
            let why = "`length` says nothing beside `body`, whose length is checked";
            return Err(self.file.error(length.position, why));
        }
        let about_body = spec.length.as_ref().map(|length| length.position);
        let about_body = about_body.or(spec.body.as_ref().map(|body| body.position));
        if let ("HEAD", Some(position)) = (method, about_body) {
            let message = "the answer to a HEAD has no body of which to expect something";
            return Err(self.file.error(position, message));
        }
        let length = spec.length.as_ref().map(|length| {
            let text = self.number(length)?;
            parse_size(&text).map_err(|message| self.file.error(length.position, message))
        });
        let contains = spec.contains.iter().map(|located| self.text(located));
        Ok(Expect {
            status: StatusSet(status),
            body,
            length: length.transpose()?,
            properties: count(&spec.properties, "number of properties")?,
            responses: count(&spec.responses, "number of responses")?,
            missing: match spec.missing {
                MissingSpec::Fails => Missing::Fails,
                MissingSpec::Noted => Missing::Noted,
            },
            contains: contains.collect::<Result<_, _>>()?,
        })
    }

    fn status(&self, located: &Located<Scalar>) -> Result<StatusTest, SuiteError> {
        let text = self.number(located)?;
        let test = match text.strip_suffix("xx") {
            Some(class) => number_within(class, 2..=5).map(StatusTest::Class),
            None => number_within(&text, 200..=599).map(StatusTest::Exactly),
        };
        test.ok_or_else(|| {
            let why = format!("`{text}` is no status; write 204 or 2xx");
            self.file.error(located.position, why)
        })
    }

    fn unsupported(&self, located: &Located<Scalar>) -> Result<Unsupported, SuiteError> {
        let text = self.number(located)?;
        let status = number_within(&text, 200..=599);
        let header = text.strip_prefix("no ").map(str::trim);
        match (status, header) {
            (Some(status), _) => Ok(Unsupported::Status(status)),
            (None, Some(name)) if is_header_name(name) => Ok(Unsupported::Without(name.to_owned())),
            _ => {
                let why =
                    format!("`{text}` is no status and no missing header; write 403 or `no ETag`");
                Err(self.file.error(located.position, why))
            }
        }
    }

    fn saves(&self, step: &StepSpec) -> Result<Vec<Save>, SuiteError> {
        let mut saves = Vec::new();
        for (name, from) in &step.with.save {
            let source = match from.value.split_once(' ') {
                Some(("header", header)) => SaveFrom::Header(header.trim().to_owned()),
                None if from.value == "lock-token" => SaveFrom::LockToken,
                _ => {
                    let what = &from.value;
                    let why =
                        format!("`{what}` cannot be saved; write `lock-token` or `header NAME`");
                    return Err(self.file.error(from.position, why));
                }
            };
            let slot = self.templates.slot(name).unwrap_or(0);
            saves.push(Save { slot, from: source });
        }
        Ok(saves)
    }
}

/// Sign that a server does not support a request.
enum Unsupported {
    Status(u16),
    /// An expected response without that header.
    Without(String),
}

fn number_within(text: &str, range: RangeInclusive<u16>) -> Option<u16> {
    text.parse().ok().filter(|number| range.contains(number))
}
