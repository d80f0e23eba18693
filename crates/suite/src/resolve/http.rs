//! Use of connections by the loop of a test.

use record::{Http, HttpVersion};

use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::plan::{LoopPlan, Step};
use crate::position::Located;
use crate::spec::{HttpSpec, KeepSpec};

/// Most connections of a user, and most requests in flight on one: a limit, not a recommendation.
const MANY: u32 = 1_000;

impl StepResolver<'_> {
    /// The value of the key `http` of a test with that loop.
    pub(super) fn http(
        &self,
        spec: &Located<HttpSpec>,
        loops: &[LoopPlan],
    ) -> Result<Http, SuiteError> {
        let HttpSpec {
            version,
            connections,
            keep,
            pipeline,
            at_once,
        } = &spec.value;
        let refuse = |what: &str| Err(self.file.error(spec.position, format!("`http`: {what}")));
        let version = match version {
            None => HttpVersion::default(),
            Some(written) => match self.number(written)?.trim() {
                // Parsed as a number, 1.0 is 1.
                "1.0" | "1" => HttpVersion::Http10,
                "1.1" => HttpVersion::Http11,
                "2" => HttpVersion::Http2,
                other => {
                    let message = format!(
                        "`{other}` is not a supported version of HTTP; write 1.0, 1.1 or 2"
                    );
                    return Err(self.file.error(written.position, message));
                }
            },
        };
        let number = |scalar: &Option<_>, what: &str| match scalar {
            Some(scalar) => self.count(scalar, what, 1, MANY),
            None => Ok(1),
        };
        let parallel = number(connections, "number of connections")?;
        let pipeline = number(pipeline, "number of requests in a pipeline")?;
        let is_together = parallel > 1 || pipeline > 1;
        if pipeline > 1 && version == HttpVersion::Http10 {
            return refuse(
                "`pipeline` needs version 1.1, in which responses have the order of requests",
            );
        }
        if pipeline > 1 && *keep == KeepSpec::Request {
            return refuse("a connection that is kept for one request has no `pipeline`");
        }
        if pipeline > 1 && parallel > 1 {
            return refuse("`pipeline` is of one connection; leave out `connections`");
        }
        if *at_once && !is_together {
            return refuse(
                "`at_once` has no effect with one request at a time; set `connections` or `pipeline`",
            );
        }
        if (is_together || *keep == KeepSpec::Page)
            && !loops.iter().any(|test_loop| has_page(&test_loop.steps))
        {
            return refuse(
                "`connections`, `pipeline` and `keep: page` are about the files of a page, and the loop has no `page`",
            );
        }
        Ok(Http {
            version,
            keep_alive: *keep != KeepSpec::Request,
            pipeline,
            parallel,
            per_page: *keep == KeepSpec::Page,
            at_once: *at_once,
            ..Http::default()
        })
    }
}

fn has_page(steps: &[Step]) -> bool {
    let is_page = |step: &Step| matches!(step, Step::Page(_));
    steps
        .iter()
        .any(|step| is_page(step) || step.inside().into_iter().any(has_page))
}
