//! Requests, and the trees that become requests.

use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use record::{MeasureId, Verify};

use super::headers::{fixed_header, is_header_name};
use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::fill::{Fill, filled};
use crate::place::{Placed, Scalar};
use crate::plan::{
    Body, BodyText, Expect, Missing, RequestPlan, Save, SaveFrom, StatusSet, StatusTest, Step,
    Workspace,
};
use crate::quantity::parse_size;
use crate::spec::{BodySpec, ExpectSpec, FillSpec, LeafSpec, LineEndSpec, MissingSpec, StepSpec};
use crate::template::{Piece, Text, Variable};

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
        path: &Placed<Scalar>,
    ) -> Result<Step, SuiteError> {
        let changes = !READING.contains(&method) && (method != "POST" || !self.may_post);
        if self.workspace == Workspace::ReadOnly && changes {
            let needs = if self.may_post { "cgi" } else { "http" };
            return Err(self.file.error(
                step.place,
                format!("{method} changes the server, and the suite says `needs: {needs}`"),
            ));
        }
        let with = &step.with;
        let (body, content_type) = self.body(with.body.as_ref())?;
        let mut headers = self.headers(step)?;
        if let Some(content_type) = content_type {
            headers.push(fixed_header("Content-Type", &content_type));
        }
        let (mut unsupported, mut unsupported_without) = (vec![405, 501], Vec::new());
        for placed in &with.unsupported {
            match self.unsupported(placed)? {
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
        path: &Placed<Scalar>,
        out: &mut Vec<Step>,
    ) -> Result<(), SuiteError> {
        let with = &step.with;
        let one = Placed {
            value: Scalar("1".to_owned()),
            place: step.place,
        };
        let depth = self.count(
            with.depth.as_ref().unwrap_or(&one),
            "depth of a tree",
            1,
            1_000,
        )?;
        let width = self.count(
            with.width.as_ref().unwrap_or(&one),
            "width of a tree",
            0,
            1_000_000,
        )?;
        let of = with.of.unwrap_or_default();
        let measure = self.measure(step);
        if with.measure.is_some() && of == LeafSpec::Resources {
            return Err(self.file.error(
                step.place,
                "a tree is measured only with `of: collections`: one name, one method",
            ));
        }
        let (body, content_type) = match (&with.body, of) {
            (Some(body), LeafSpec::Collections) => {
                return Err(self.file.error(body.place, "collections have no `body`"));
            }
            (body, _) => self.body(body.as_ref())?,
        };
        let Text::Fixed(root) = self.path(path)? else {
            return Err(self.file.error(
                path.place,
                "a tree needs a path without n, user or the name of a repetition",
            ));
        };
        let mut level = with_slash(root);
        let (levels, leaves) = (depth as usize, width as usize);
        let longest = level.len() + levels * LONGEST_LEVEL;
        let requests = (levels + leaves) * (REQUEST + longest);
        self.file.plans_trees(step.place, requests)?;
        let target = self.target(step);
        let collection =
            |path: String| plain_request("MKCOL", path, (Body::None, None), measure, target);
        out.push(collection(level.clone()));
        for number in 2..=depth {
            level.push_str(&format!("l{number}/"));
            out.push(collection(level.clone()));
        }
        for number in 0..width {
            out.push(match of {
                LeafSpec::Collections => collection(format!("{level}c{number}/")),
                LeafSpec::Resources => {
                    let body = (body.clone(), content_type.as_deref());
                    plain_request("PUT", format!("{level}r{number}"), body, None, target)
                }
            });
        }
        Ok(())
    }

    fn measure(&self, step: &StepSpec) -> Option<MeasureId> {
        let measure = step.with.measure.as_ref()?;
        self.measure_ids.get(measure.value.as_str()).copied()
    }

    /// A text that may contain run-time variables.
    pub(super) fn text(&self, scalar: &Placed<Scalar>) -> Result<Text, SuiteError> {
        self.templates
            .text(&scalar.value.0)
            .map_err(|message| self.file.error(scalar.place, message))
    }

    pub(super) fn path(&self, path: &Placed<Scalar>) -> Result<Text, SuiteError> {
        let text = self.text(path)?;
        if text
            .variables()
            .any(|variable| matches!(variable, Variable::Saved(_)))
        {
            return Err(self.file.error(
                path.place,
                "a path cannot contain what a server said: saved names are for headers and bodies",
            ));
        }
        let literals: String = match &text {
            Text::Fixed(text) => text.clone(),
            Text::Live(live) => live.pieces().iter().map(placeholder).collect(),
        };
        if literals.starts_with('/') || literals.split('/').any(|part| part == ".." || part == ".")
        {
            return Err(self.file.error(
                path.place,
                "a path is relative to the user's collection and stays in it: no leading /, no ..",
            ));
        }
        Ok(match text {
            Text::Fixed(text) => Text::Fixed(encoded(&text)),
            Text::Live(live) => Text::Live(live.map_literals(encoded)),
        })
    }

    fn body(&self, body: Option<&Placed<BodySpec>>) -> Result<(Body, Option<String>), SuiteError> {
        let Some(body) = body else {
            return Ok((Body::None, None));
        };
        let usual = match &body.value {
            BodySpec { xml: Some(_), .. } => Some("application/xml"),
            BodySpec { text: Some(_), .. } => Some("text/plain; charset=utf-8"),
            _ => None,
        };
        let content_type = body.value.content_type.clone().or(usual.map(str::to_owned));
        if let Some(content_type) = &content_type {
            let value = Text::Fixed(content_type.clone());
            self.check_header("Content-Type", &value, body.place)?;
        }
        let resolved = match &body.value {
            BodySpec {
                size: Some(_),
                xml: None,
                text: None,
                ..
            } => Body::Fixed(self.sized(&body.value)?.into()),
            BodySpec {
                size: None,
                xml: Some(source),
                text: None,
                ..
            }
            | BodySpec {
                size: None,
                xml: None,
                text: Some(source),
                ..
            } => {
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
                return Err(self
                    .file
                    .error(body.place, "a body has one of `size`, `xml` and `text`"));
            }
        };
        Ok((resolved, content_type))
    }

    fn sized(&self, body: &BodySpec) -> Result<Vec<u8>, SuiteError> {
        let Some(size) = &body.size else {
            return Ok(Vec::new());
        };
        let bytes = parse_size(&self.number(size)?)
            .map_err(|message| self.file.error(size.place, message))?;
        if bytes > LARGEST {
            return Err(self.file.error(size.place, "a body has at most 1 GiB"));
        }
        let fill = match body.fill {
            FillSpec::Text => Fill::Text,
            FillSpec::Random => Fill::Random { seed: bytes },
        };
        Ok(filled(fill, usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    fn expect(
        &self,
        method: &str,
        expect: Option<&Placed<ExpectSpec>>,
    ) -> Result<Expect, SuiteError> {
        let none = ExpectSpec::default();
        let spec = expect.map_or(&none, |expect| &expect.value);
        let mut status = Vec::new();
        for placed in &spec.status {
            status.push(self.status(placed)?);
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
                    return Err(self.file.error(
                        body.place,
                        "an expected body cannot change from request to request",
                    ));
                }
            },
        };
        let count = |scalar: &Option<Placed<Scalar>>, what: &str| {
            scalar
                .as_ref()
                .map(|scalar| self.count(scalar, what, 0, 10_000_000))
                .transpose()
        };
        if let (Some(length), Some(_)) = (&spec.length, &spec.body) {
            return Err(self.file.error(
                length.place,
                "`length` says nothing beside `body`, whose length is checked",
            ));
        }
        let of_body = spec.length.as_ref().map(|length| length.place);
        let of_body = of_body.or(spec.body.as_ref().map(|body| body.place));
        if let ("HEAD", Some(place)) = (method, of_body) {
            let message = "the answer to a HEAD has no body of which to expect something";
            return Err(self.file.error(place, message));
        }
        let length = spec.length.as_ref().map(|length| {
            let text = self.number(length)?;
            parse_size(&text).map_err(|message| self.file.error(length.place, message))
        });
        let contains = spec.contains.iter().map(|placed| self.text(placed));
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

    fn status(&self, placed: &Placed<Scalar>) -> Result<StatusTest, SuiteError> {
        let text = self.number(placed)?;
        let test = match text.strip_suffix("xx") {
            Some(class) => class
                .parse()
                .ok()
                .filter(|class| (2..=5).contains(class))
                .map(StatusTest::Class),
            None => text
                .parse()
                .ok()
                .filter(|code| (200..=599).contains(code))
                .map(StatusTest::Exactly),
        };
        test.ok_or_else(|| {
            self.file.error(
                placed.place,
                format!("`{text}` is no status; write 204 or 2xx"),
            )
        })
    }

    fn unsupported(&self, placed: &Placed<Scalar>) -> Result<Unsupported, SuiteError> {
        let text = self.number(placed)?;
        let status = text.parse().ok().filter(|code| (200..=599).contains(code));
        let header = text.strip_prefix("no ").map(str::trim);
        match (status, header) {
            (Some(status), _) => Ok(Unsupported::Status(status)),
            (None, Some(name)) if is_header_name(name) => Ok(Unsupported::Without(name.to_owned())),
            _ => Err(self.file.error(
                placed.place,
                format!("`{text}` is no status and no missing header; write 403 or `no ETag`"),
            )),
        }
    }

    fn saves(&self, step: &StepSpec) -> Result<Vec<Save>, SuiteError> {
        let mut saves = Vec::new();
        for (name, from) in &step.with.save {
            let source = match from.value.split_once(' ') {
                Some(("header", header)) => SaveFrom::Header(header.trim().to_owned()),
                None if from.value == "lock-token" => SaveFrom::LockToken,
                _ => {
                    return Err(self.file.error(
                        from.place,
                        format!(
                            "`{}` cannot be saved; write `lock-token` or `header NAME`",
                            from.value
                        ),
                    ));
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

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// Contribution of a piece to a path when its shape is checked.
pub(super) fn placeholder(piece: &Piece) -> String {
    match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Variable(_) | Piece::Computed(_) => "x".to_owned(),
    }
}

fn with_slash(mut path: String) -> String {
    if !path.ends_with('/') {
        path.push('/');
    }
    path
}

/// A request of a tree, with defaults for everything else.
fn plain_request(
    method: &str,
    path: String,
    (body, content_type): (Body, Option<&str>),
    measure: Option<MeasureId>,
    target: u16,
) -> Step {
    Step::Request(Arc::new(RequestPlan {
        method: method.to_owned(),
        path: Text::Fixed(path),
        to: None,
        headers: content_type
            .map(|value| fixed_header("Content-Type", value))
            .into_iter()
            .collect(),
        body,
        expect: Expect {
            status: StatusSet(vec![StatusTest::Class(2)]),
            body: None,
            length: None,
            properties: None,
            responses: None,
            missing: Missing::Fails,
            contains: Vec::new(),
        },
        unsupported: vec![405, 501],
        unsupported_without: Vec::new(),
        save: Vec::new(),
        measure,
        verify: Verify::default(),
        target,
        is_for_parts: false,
    }))
}
