//! What should be fixed first, for people and for programs.

pub(crate) mod incomplete;
pub(crate) mod sentences;
pub(crate) mod wire;
pub(crate) mod words;

use record::PlanRecord;
use stats::{Diagnosis, Finding, LeftOut, MANY, Material, RULES, WhyLeftOut};

use crate::figure::percent;
use crate::json::{pretty, schema_of};
use crate::reasons::reason;
use crate::text::{Paint, wrapping};
use crate::{clean, warning};

use words::words;

pub use incomplete::{Incomplete, NotMeasured};

/// Shares of all time below this are not told: they decide nothing.
const TOLD: f64 = 0.005;

/// Pieces of evidence that are shown to people.
const SHOWN: usize = 5;

/// Runs of one server, and what is conspicuous in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosed {
    /// The runs that were looked at.
    pub runs: Vec<DiagnosedRun>,
    /// What the rules say.
    pub diagnosis: Diagnosis,
    /// Why runs are missing, where the series of runs ended early.
    pub incomplete: Option<Incomplete>,
}

/// A run that was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagnosedRun {
    /// Where it is kept, or how it is called.
    pub name: String,
    /// Name of its suite.
    pub suite: String,
    /// URL that it was run against.
    pub target: String,
    /// Users at work at the same time.
    pub users: u32,
    /// What the server said of itself.
    pub server: Option<String>,
    /// Rows of the report.
    pub rows: usize,
}

impl DiagnosedRun {
    /// A run that is kept there.
    pub fn of(material: &Material, name: String) -> DiagnosedRun {
        let PlanRecord { suite, target, .. } = &material.plan;
        let server = material.server.as_ref();
        DiagnosedRun {
            name,
            suite: suite.name.clone(),
            target: target.clone(),
            users: material.plan.load.users,
            server: server.and_then(|server| server.software.clone()),
            rows: material.plan.measures.len(),
        }
    }
}

/// The diagnoses for people. Ends with a newline.
pub fn diagnose_text(all: &[Diagnosed], color: bool, width: usize) -> String {
    let mut page = Page {
        text: String::new(),
        width,
        paint: Paint { on: color },
    };
    for diagnosed in all {
        page.diagnosis(diagnosed);
    }
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    page.text
}

struct Page {
    text: String,
    width: usize,
    paint: Paint,
}

impl Page {
    fn diagnosis(&mut self, diagnosed: &Diagnosed) {
        let Diagnosed {
            runs,
            diagnosis,
            incomplete,
        } = diagnosed;
        if let Some(incomplete) = incomplete {
            let sentence = incomplete::sentence(incomplete);
            self.bad(&format!("{} {sentence}", incomplete::HEADING));
        }
        if let Some(line) = disqualified(diagnosed) {
            self.bad(&line);
        }
        if let Some(run) = runs.first() {
            let server = run.server.as_deref();
            let server = server.map_or(String::new(), |server| format!(" ({})", clean(server)));
            self.wrapped(&format!("Server: {}{server}", clean(&run.target)), "", "  ");
        }
        for run in runs {
            let users = match run.users {
                1 => String::new(),
                users => format!(", {users} users"),
            };
            let suite = clean(&run.suite);
            self.wrapped(
                &format!("Run: {} (suite {suite}{users})", clean(&run.name)),
                "",
                "  ",
            );
        }
        self.text.push('\n');
        if diagnosis.findings.is_empty() {
            self.wrapped(&nothing(diagnosed), "", "");
        } else {
            self.text += "What to fix first:\n\n";
        }
        for (finding, number) in diagnosis.findings.iter().zip(1..) {
            self.finding(finding, number);
        }
        self.seen_once(diagnosis);
        self.left_out(diagnosed);
        self.text.push('\n');
    }

    fn seen_once(&mut self, diagnosis: &Diagnosis) {
        if diagnosis.seen_once.is_empty() {
            return;
        }
        self.text += &format!("\n{SEEN_ONCE}:\n");
        for finding in &diagnosis.seen_once {
            self.wrapped(&seen_once(finding), "- ", "  ");
        }
    }

    /// What was not measured or had to be left out stands first: a fault may hide there.
    fn bad(&mut self, line: &str) {
        let at = self.text.len();
        self.wrapped(line, "", "");
        let painted = self.paint.bad(self.text[at..].trim_end());
        self.text.truncate(at);
        self.text += &format!("{painted}\n\n");
    }

    fn finding(&mut self, finding: &Finding, number: usize) {
        let indent = " ".repeat(number.to_string().len() + 2);
        let at = self.text.len();
        self.wrapped(&format!("{number}. {}", title(finding)), "", &indent);
        let title = self.paint.doubtful(self.text[at..].trim_end());
        self.text.truncate(at);
        self.text += &format!("{title}\n");
        self.wrapped(&clean(&sentences::text(finding)), &indent, &indent);
        for piece in evidence(finding) {
            let (first, next) = (format!("{indent}- "), format!("{indent}  "));
            self.wrapped(&clean(&piece), &first, &next);
        }
        let look_at = format!("Look at {} [{}]", words(finding).look_at, finding.rule);
        self.wrapped(&look_at, &indent, &indent);
        self.text.push('\n');
    }

    fn left_out(&mut self, diagnosed: &Diagnosed) {
        let rows = left_out(diagnosed);
        if rows.is_empty() {
            return;
        }
        self.text += "\nNot looked at:\n";
        for row in rows {
            self.wrapped(&row, "- ", "  ");
        }
    }

    fn wrapped(&mut self, line: &str, first: &str, next: &str) {
        let options = wrapping(self.width)
            .initial_indent(first)
            .subsequent_indent(next);
        self.text += &format!("{}\n", textwrap::fill(line, options));
    }
}

/// Each with the place of its first run among the runs of all.
pub(crate) fn with_places(all: &[Diagnosed]) -> impl Iterator<Item = (usize, &Diagnosed)> {
    all.iter().scan(0, |next, diagnosed| {
        let first = *next;
        *next += diagnosed.runs.len();
        Some((first, diagnosed))
    })
}

/// What stands above findings that may come and go.
pub(crate) const SEEN_ONCE: &str =
    "Seen in one run only, and no finding before a second run of the suite shows it as well";

/// Such a finding in a line.
pub(crate) fn seen_once(finding: &Finding) -> String {
    let evidence = finding.evidence.first().map(sentences::evidence);
    let evidence = evidence.unwrap_or_default();
    format!(
        "{}: {} [{}]",
        words(finding).title,
        clean(&evidence),
        finding.rule
    )
}

/// The evidence of a finding in lines, the worst rows first.
pub(crate) fn evidence(finding: &Finding) -> Vec<String> {
    let shown = finding.evidence.iter().take(SHOWN);
    let mut lines: Vec<String> = shown.map(sentences::evidence).collect();
    match finding.evidence.len().saturating_sub(SHOWN) {
        0 => {}
        1 => lines.push("and 1 more row".to_owned()),
        more => lines.push(format!("and {more} more rows")),
    }
    lines
}

/// What is conspicuous, and how much of all time it takes.
pub(crate) fn title(finding: &Finding) -> String {
    match finding.weight {
        share if share >= TOLD => {
            let share = percent(share.min(1.0));
            format!("{} ({share} of all time)", words(finding).title)
        }
        _ => words(finding).title.to_owned(),
    }
}

/// What stands where there is no finding. A look at no row is no good news, and rows that were left
/// out are none either.
pub(crate) fn nothing(diagnosed: &Diagnosed) -> String {
    let rows: usize = diagnosed.runs.iter().map(|run| run.rows).sum();
    let looked_at = rows.saturating_sub(diagnosed.diagnosis.left_out.len());
    match looked_at {
        0 => "Findings: none, because no row could be looked at.".to_owned(),
        _ => {
            let of = match looked_at == rows {
                true => String::new(),
                false => format!(" of {rows}"),
            };
            format!(
                "Findings: none ({} checks of {looked_at}{of} rows).{}",
                RULES.len(),
                too_few(diagnosed.diagnosis.few)
            )
        }
    }
}

/// The rows that a warning disqualifies and that were left out for it, and why; `None` where there
/// are none.
pub(crate) fn disqualified(diagnosed: &Diagnosed) -> Option<String> {
    let mut rows = diagnosed.diagnosis.disqualified();
    let first = rows.next()?;
    let more = match rows.count() {
        0 => String::new(),
        1 => ", and 1 more row".to_owned(),
        more => format!(", and {more} more rows"),
    };
    Some(format!(
        "Inconclusive: {} (suite {}){more} could not be judged, see below: {}",
        clean(&first.row),
        suite_of(diagnosed, first.run),
        clean(&why(&first.why))
    ))
}

/// The rows that were not looked at, but for those that a finding is about.
pub(crate) fn left_out(diagnosed: &Diagnosed) -> Vec<String> {
    let Diagnosis {
        findings, left_out, ..
    } = &diagnosed.diagnosis;
    let has_finding = |left: &&LeftOut| {
        let mut tests = findings.iter().flat_map(|finding| &finding.tests);
        tests.any(|test| *test == left.row)
    };
    // A suite may have been measured again, or with several users.
    let mut lines: Vec<String> = Vec::new();
    for left in left_out.iter().filter(|left| !has_finding(left)) {
        let suite = suite_of(diagnosed, left.run);
        let (row, why) = (clean(&left.row), clean(&why(&left.why)));
        let line = format!("{row} (suite {suite}): {why}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Why a row was not looked at.
pub(crate) fn why(why: &WhyLeftOut) -> String {
    match why {
        WhyLeftOut::Evidence(evidence) => reason(evidence),
        WhyLeftOut::Warned(of) => warning(of),
        WhyLeftOut::NoTimes => "it has no response times".to_owned(),
    }
}

fn suite_of(diagnosed: &Diagnosed, run: usize) -> String {
    let run = diagnosed.runs.get(run);
    run.map_or_else(String::new, |run| clean(&run.suite))
}

/// What nothing can be said of rows with few operations.
fn too_few(rows: usize) -> String {
    let have = match rows {
        0 => return String::new(),
        1 => "One of them has".to_owned(),
        rows => format!("{rows} of them have"),
    };
    format!(
        " {have} fewer than {MANY} operations, too few to tell how times go on over the run (trends, \
         modes, intervals, first requests); measure with more (-r)."
    )
}

/// The diagnoses for programs: one JSON document.
pub fn diagnose_json(all: &[Diagnosed]) -> String {
    pretty(&wire::Document::from(all))
}

/// The findings alone, for programs: a JSON list.
pub fn findings_json(findings: &[Finding]) -> String {
    let findings: Vec<wire::Found> = findings.iter().map(|found| wire::found(found, 0)).collect();
    pretty(&findings)
}

/// The JSON schema of [`diagnose_json`]: the content of `docs/diagnosis.schema.json`.
pub fn diagnose_schema() -> String {
    schema_of::<wire::Document>()
}
