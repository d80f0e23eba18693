//! The report for people, from top to bottom: the rows, what to make of them, and how they were
//! measured.

mod configuration;
mod of_2004;
mod pages_of_tests;

use record::{Pace, Run};
use stats::{Completeness, Summary, TestSummary};

use crate::conclusion::inconclusive_briefly;
use crate::document::{Block, ListItem, ListLook, Tone};
use crate::named_run::NamedRun;
use crate::reasons::abort_reason;
use crate::result::BesideResult;
use crate::table::{TableRows, TextTable, table};
use crate::targets::all_targets;
use crate::terminal::{TextReport, wrap};
use crate::warnings::fact;
use crate::{background, constraints, inside, load, load_steps, server_view, webstone};
use configuration::warm_up;
pub(crate) use configuration::{UNKNOWN_SOFTWARE, configuration, dav_classes};

/// How the report is to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// Mark failures, unsupported tests and warnings with colours.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Which report.
    pub layout: TextLayout,
    /// Where the run was saved, if it was.
    pub saved_to: Option<String>,
}

/// Which report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextLayout {
    /// The figures first, then their limitations, and at the end how they were measured.
    #[default]
    Full,
    /// The figures, and one sentence about their limits.
    Brief,
    /// The report of Xu (2004), section 5.6, to the letter, and nothing else.
    Of2004,
    /// Every system call of the server that was counted, and nothing else.
    Calls,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions {
            color: false,
            width: 100,
            layout: TextLayout::Full,
            saved_to: None,
        }
    }
}

/// The report for people. Ends with a newline.
pub fn text(
    run: &Run,
    summary: &Summary,
    beside: &[BesideResult<'_>],
    options: &TextOptions,
) -> String {
    let mut report = TextReport::new(options.color, options.width);
    let shown = NamedRun::only(run, summary);
    match options.layout {
        TextLayout::Of2004 => return of_2004::text(run, summary),
        TextLayout::Calls => {
            report.blocks(&inside::list(run, summary));
            return report.finish();
        }
        TextLayout::Brief => {
            let blocks = brief(&report, shown);
            report.blocks(&blocks);
        }
        TextLayout::Full => {
            let blocks = full(&report, shown, beside);
            report.blocks(&blocks);
        }
    }
    if let Some(path) = &options.saved_to {
        report.blocks(&[Block::Paragraph(format!("Saved in {path}").into())]);
    }
    report.finish()
}

/// The figures first, then their limitations, and at the end how they were measured.
fn full(report: &TextReport, run: NamedRun<'_>, beside: &[BesideResult<'_>]) -> Vec<Block> {
    let NamedRun {
        run: of, summary, ..
    } = run;
    let is_load = of.plan.load.pace != Pace::Rounds;
    let mut blocks = headline(run);
    blocks.extend(pages(of, summary));
    blocks.extend(rows(report, of, summary));
    blocks.push(constraints::list(&[run]));
    blocks.extend(load_steps::section(&[run]));
    blocks.push(background_of(of, summary));
    blocks.extend(inside::blocks(&[run]));
    blocks.extend(inside::functions(run));
    blocks.extend(server_view::section(&[run]));
    blocks.extend(load::generator(summary).map(|of| Block::Paragraph(of.into())));
    if is_load {
        blocks.push(throughput(summary));
    }
    blocks.push(connecting(summary));
    blocks.extend(histograms(report, summary));
    blocks.extend([run.further_failures(), run.notes(), left_out(of, summary)]);
    blocks.extend([run.warnings(), run.leftovers()]);
    blocks.extend(completeness(summary));
    blocks.extend(beside.iter().flat_map(|load| load_beside(report, load)));
    blocks.push(configuration_of(of, summary));
    blocks
}

/// The figures, and one sentence about their limits. Failures and leftovers are never left out.
fn brief(report: &TextReport, run: NamedRun<'_>) -> Vec<Block> {
    let NamedRun {
        run: of, summary, ..
    } = run;
    let mut blocks = headline(run);
    blocks.extend(pages(of, summary));
    blocks.extend(rows(report, of, summary));
    blocks.extend([run.further_failures(), run.leftovers()]);
    blocks.extend(completeness(summary));
    blocks.extend(limits(summary));
    blocks
}

/// A load that went on beside the run.
fn load_beside(report: &TextReport, load: &BesideResult<'_>) -> Vec<Block> {
    let BesideResult { name, run, summary } = load;
    let planned = &run.plan.load;
    let shown = NamedRun::only(run, summary);
    let pace = load::pace(&planned.pace).unwrap_or_default();
    let suite = &run.plan.suite.name;
    let head = format!(
        "Beside the run: {name}, suite {suite}, {pace}, users: {}",
        planned.users
    );
    let mut blocks = vec![Block::Paragraph(head.into())];
    blocks.extend(shown.inconclusive());
    blocks.extend(summary.pages.iter().map(pages_of_tests::table));
    blocks.extend(rows(report, run, summary));
    blocks.extend([
        throughput(summary),
        shown.further_failures(),
        left_out(run, summary),
    ]);
    blocks.extend([shown.warnings(), shown.leftovers()]);
    blocks.extend(completeness(summary));
    blocks
}

/// The subject of the measurement, and before it the inconclusive parts.
fn headline(NamedRun { run, summary, .. }: NamedRun<'_>) -> Vec<Block> {
    let plan = &run.plan;
    let software = run.env.server.as_ref();
    let software = software.and_then(|server| server.software.as_deref());
    let server = software.map_or(String::new(), |name| format!(" ({name})"));
    let load = load::pace(&plan.load.pace).map_or(String::new(), |pace| format!(", {pace}"));
    let on = all_targets(plan, &run.env).unwrap_or_else(|| format!("{}{server}", plan.target));
    let headline = format!("{} on {on}{load}", plan.suite.name);
    let inconclusive = NamedRun::only(run, summary).inconclusive().into_iter();
    inconclusive
        .chain([Block::Paragraph(headline.into())])
        .collect()
}

fn configuration_of(run: &Run, summary: &Summary) -> Block {
    let facts = configuration(&run.plan, &run.env, summary).into_iter();
    let facts = facts.map(|(what, value)| (what, value.into()));
    Block::Facts(
        facts
            .chain([
                ("Warm-up".to_owned(), warm_up(run, summary).into()),
                ("Prestan".to_owned(), run.plan.prestan.as_str().into()),
            ])
            .collect(),
    )
}

fn pages(run: &Run, summary: &Summary) -> Vec<Block> {
    let Some(pages) = &summary.pages else {
        return Vec::new();
    };
    if run.plan.load.pace == Pace::Rounds {
        return pages_of_tests::blocks(pages);
    }
    let later = "As later versions of WebStone counted (no intervals):\n".to_owned();
    vec![
        Block::Terminal(webstone::classic(run, pages).join("\n")),
        Block::Terminal(later + &webstone::later(run, pages).join("\n")),
        Block::list(
            "Beyond WebSTONE, with 95 % intervals",
            ListLook::Bullets,
            webstone::beyond(run, pages),
        ),
    ]
}

fn rows(report: &TextReport, run: &Run, summary: &Summary) -> Vec<Block> {
    if summary.tests.is_empty() {
        return vec![Block::Paragraph(
            "Nothing to measure: the plan has no test".into(),
        )];
    }
    let rows = match (&summary.pages, &run.plan.load.pace) {
        (Some(_), _) | (None, Pace::Rounds) => TableRows::Tests,
        (None, Pace::Closed | Pace::Open { .. }) => TableRows::Load,
    };
    let TextTable { text, footnotes } = table(summary, rows, report.width, report.paint);
    let footnotes = footnotes.iter().map(|of| wrap(report.width, "", "", of));
    let footnotes: Vec<String> = footnotes.collect();
    vec![Block::Terminal(text), Block::Terminal(footnotes.join("\n"))]
}

fn throughput(summary: &Summary) -> Block {
    let rows = summary
        .tests
        .iter()
        .filter(|test| test.method != record::STOP_WATCH);
    let items = rows.filter_map(|test| {
        let words = load::throughput(test, summary.pages.is_some())?;
        let below = load::other_times(test);
        // Pages have a throughput; their files are many, and have a row each already.
        let is_file = summary.pages.is_some() && below.is_empty();
        (!is_file).then(|| with_below(words, below))
    });
    Block::list("Throughput", ListLook::Bullets, items)
}

fn connecting(summary: &Summary) -> Block {
    let rows = summary.tests.iter().filter_map(load::connecting);
    let items = rows.map(|(words, below)| with_below(words, below));
    Block::list("Connecting, with 95 % intervals", ListLook::Bullets, items)
}

fn with_below(words: String, below: Vec<String>) -> ListItem {
    ListItem {
        below: vec![Block::list("", ListLook::Bare, below)],
        ..words.into()
    }
}

/// Rows that have histograms in a text; of more of them, none has.
const HISTOGRAMS: usize = 4;

fn histograms<'a>(
    report: &'a TextReport,
    summary: &'a Summary,
) -> impl Iterator<Item = Block> + 'a {
    let is_drawn = summary.tests.len() <= HISTOGRAMS && summary.pages.is_none();
    let rows = summary
        .tests
        .iter()
        .filter(move |test| is_drawn && !test.spread.is_empty());
    rows.map(|test| Block::Terminal(load::histogram(test, report.width)))
}

fn background_of(run: &Run, summary: &Summary) -> Block {
    let both = run
        .plan
        .background
        .as_ref()
        .zip(summary.background.as_ref());
    let items = both.map_or(Vec::new(), |(record, measured)| {
        background::in_words(record, measured)
    });
    Block::list(
        "Background traffic while measuring",
        ListLook::Bullets,
        items,
    )
}

fn left_out(run: &Run, summary: &Summary) -> Block {
    let supported = || {
        summary
            .tests
            .iter()
            .filter(|test| !test.status.is_beyond_the_server())
    };
    let left_out: u64 = supported().map(TestSummary::left_out).sum();
    let counted: u64 = supported().map(TestSummary::operations).sum();
    let users = match run.plan.load.users {
        1 => "the user is".to_owned(),
        _ if run.plan.load.adapt.is_some() => "users are".to_owned(),
        users => format!("all {users} users are"),
    };
    let is_closed_load = run.plan.load.pace == Pace::Closed;
    let sentence = match left_out {
        0 => None,
        _ if counted == 0 && is_closed_load && summary.complete != Completeness::Complete => {
            Some(format!(
                "all {left_out} operations: the run ended before its measurement window began. A closed loop \
                 does not measure the first tenth of its duration (10 s at most)"
            ))
        }
        _ => Some(format!(
            "{left_out} of {} operations began outside the measurement window, in which {users} active; \
             none of the times above includes them",
            counted + left_out,
        )),
    };
    Block::list("Left out", ListLook::Bullets, sentence)
}

fn completeness(summary: &Summary) -> Vec<Block> {
    let mut blocks: Vec<Block> = load_steps::ended_early(summary).collect();
    let how = match &summary.complete {
        Completeness::Complete => return blocks,
        Completeness::Interrupted => "Interrupted by the user".to_owned(),
        Completeness::Aborted(reason) => format!("Aborted: {}", abort_reason(reason.as_deref())),
    };
    blocks.push(Block::Alert(Tone::Bad, how.into()));
    if summary.tests.iter().any(|test| test.operations() > 0) {
        let until = "The figures above cover the operations up to then";
        blocks.push(Block::Paragraph(until.into()));
    }
    blocks
}

/// The limits of a first run in one sentence, where the first line does not have it already.
fn limits(summary: &Summary) -> Option<Block> {
    if inconclusive_briefly(summary).is_some() {
        return None;
    }
    let sentence = match summary.warnings.first() {
        Some(warning) => format!(
            "Limits: {}; `prestan report` prints all warnings and notes",
            fact(warning.kind)
        ),
        None => "Limits: one run, on one machine; `prestan report` prints notes, intervals, and how it was \
                 measured"
            .to_owned(),
    };
    Some(Block::Paragraph(sentence.into()))
}
