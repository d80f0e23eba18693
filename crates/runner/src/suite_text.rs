//! Suites: built in, or files.

use std::io;
use std::path::Path;

use builtin::{BuiltinFile, SUITES};
use suite::spec::SuiteSpec;
use suite::{BackgroundPlan, Overrides, Plan, TrafficOrigin};
use wire::redact::redacted_target;

use crate::error::RunnerError;
use crate::text_file;

/// The text of a suite, built in or from a file.
pub struct SuiteText {
    /// Name of the file, for messages.
    pub name: String,
    /// Text of the file.
    pub text: String,
}

impl SuiteText {
    /// A built-in suite of that name, or else a file.
    pub fn find(name: &str) -> Result<SuiteText, RunnerError> {
        if let Some(builtin) = BuiltinFile::find(SUITES, name) {
            return Ok(SuiteText {
                name: format!("suite {name}"),
                text: builtin.text.to_owned(),
            });
        }
        let text = text_file::read(Path::new(name)).map_err(|error| {
            let shown = redacted_target(name);
            if name.contains(['/', '.']) || error.kind() != io::ErrorKind::NotFound {
                return RunnerError::Usage(format!("reading {shown} failed: {error}"));
            }
            let names = SUITES.iter().map(|builtin| builtin.name);
            let hint = nearest::hint(name, names, "built in are");
            RunnerError::Usage(format!("no suite and no file is called `{shown}`; {hint}"))
        })?;
        Ok(SuiteText {
            name: name.to_owned(),
            text,
        })
    }

    /// Parses the suite, for several plans.
    pub fn parsed(&self) -> Result<ParsedSuite<'_>, RunnerError> {
        let spec = suite::parse(&self.name, &self.text).map_err(usage)?;
        Ok(ParsedSuite {
            written: self,
            spec,
        })
    }

    /// The plan, with these changes.
    pub fn resolved(&self, overrides: &Overrides) -> Result<Plan, RunnerError> {
        self.parsed()?.resolved(overrides)
    }
}

/// A parsed suite.
pub struct ParsedSuite<'a> {
    written: &'a SuiteText,
    spec: SuiteSpec,
}

impl ParsedSuite<'_> {
    /// The plan, with these changes.
    pub fn resolved(&self, overrides: &Overrides) -> Result<Plan, RunnerError> {
        let SuiteText { name, text } = self.written;
        let mut plan = suite::resolve(name, text, &self.spec, overrides).map_err(usage)?;
        if let Some(BackgroundPlan {
            traffic: TrafficOrigin::File(file),
            ..
        }) = &mut plan.background
        {
            let beside = Path::new(name).with_file_name(&*file);
            *file = beside.to_string_lossy().into_owned();
        }
        Ok(plan)
    }
}

fn usage(error: suite::SuiteError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}
