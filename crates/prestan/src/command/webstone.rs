//! `prestan webstone`: pages, fetched by many children.

mod args;
mod curve;

use std::env;
use std::fs;
use std::time::Duration;

use engine::{Drive, LoadDrive};
use suite::{Overrides, Workspace};
use webstone::{FileList, Mix};

use crate::command::single::{SingleRun, single};
use crate::exit::ExitStatus;
pub(crate) use args::{ChildrenOptions, PagesOptions, WebstoneArgs};
use runner::access::RunRequest;
use runner::local::RunTask;
use runner::run::RunEnds;
use runner::servers::{TestedServer, one_labelled};
use runner::suite_text::SuiteText;
use runner::{RunnerError, page_files};
use terminal::output;
use wire::redact::{redacted_command, redacted_target};
use wire::target::Target;

use curve::ChildrenCurve;

const USUAL_MIX: &str = "general";
const USUAL_DURATION: Duration = Duration::from_secs(60);

/// Makes a suite of the pages, and runs it.
pub(crate) fn webstone(args: &WebstoneArgs) -> Result<ExitStatus, RunnerError> {
    output::check_report(&args.output.request())?;
    let PageWorkload { list, title, urls } = PageWorkload::new(args)?;
    let suite = SuiteText {
        name: format!("suite {}", list.suite_name()),
        text: list.suite_text(&title),
    };
    if args.pages.print {
        output::print_text(&suite.text)?;
        return Ok(ExitStatus::Done);
    }
    if let Some(directory) = &args.pages.generate {
        let (files, bytes) = page_files::generate(&list, directory, args.load.running.seed)?;
        let directory = directory.display();
        output::print_text(&format!(
            "{files} files, {bytes} bytes, are in {directory}\n"
        ))?;
        return Ok(ExitStatus::Done);
    }
    if urls.is_empty() && !args.server.is_given() {
        return Err(RunnerError::Usage(
            "no server is given; write its URL last: `prestan webstone general \
             http://127.0.0.1:8080/` for example"
                .to_owned(),
        ));
    }
    let mut plan = suite.resolved(&Overrides {
        may_post: args.pages.writes.writes,
        ..Overrides::default()
    })?;
    let files = if args.pages.prepare {
        plan.workspace = Workspace::Furnished;
        page_files::to_be_put(&plan, &list, args.load.running.seed)?
    } else {
        Vec::new()
    };
    check(args, &urls)?;
    let repeat = args.load.repeat;
    let loads = Loads {
        children: &args.load.children.0,
        pages_of_each: repeat.map(|times| times * list.pages.len() as u64),
        load: load(&args.load),
    };
    let mut ways = args.how.ways(&args.load.running)?;
    let arguments = env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    ways.run = RunRequest {
        command: Some(redacted_command(arguments)),
        files,
        is_http10: args.load.classic,
        keep_alive: !args.load.classic,
        pipeline: args.load.pipeline.pipeline,
        parallel: args.load.parallel,
        ..ways.run
    };
    let server = match args.server.tested(&args.how.connect)? {
        Some(_) if !urls.is_empty() => {
            return Err(RunnerError::Usage(
                "URLs are given, and a server that is to be started; leave out one of them"
                    .to_owned(),
            ));
        }
        Some(server) => server,
        None => TestedServer::running(targets(&urls)?),
    };
    let server = one_labelled(server, &args.how.labels.label)?;
    let task = RunTask::new(plan, suite.text, &args.how.background.request())?;
    if let [children] = loads.children[..] {
        let run = SingleRun {
            server,
            ways,
            task,
            users: children,
            drive: loads.drive(children),
            ends: RunEnds::default(),
            how: &args.how,
            flames: false,
        };
        return single(run, &args.output);
    }
    let curve = ChildrenCurve {
        server,
        ways,
        loads: &loads,
        how: &args.how,
        options: &args.output,
    };
    curve::curve(curve, task)
}

/// Numbers of children, and the work of each of them without a time.
struct Loads<'a> {
    children: &'a [u32],
    pages_of_each: Option<u64>,
    /// Work of each child, except the number of pages.
    load: LoadDrive,
}

impl Loads<'_> {
    fn drive(&self, children: u32) -> Drive {
        let pages = self.pages_of_each;
        Drive::Load(LoadDrive {
            requests: pages.map(|pages| pages * u64::from(children)),
            ..self.load.clone()
        })
    }
}

/// Pages to fetch, and their server.
struct PageWorkload {
    list: FileList,
    title: String,
    urls: Vec<String>,
}

impl PageWorkload {
    fn new(WebstoneArgs { things, pages, .. }: &WebstoneArgs) -> Result<PageWorkload, RunnerError> {
        let PagesOptions { pages, .. } = pages;
        let ((list, title), urls) = match things.split_first() {
            _ if !pages.is_empty() => {
                let list = FileList::from_pages(pages).map_err(usage)?;
                ((list, "pages of the command line".to_owned()), &things[..])
            }
            Some((first, rest)) if !first.contains("://") => (find(first)?, rest),
            _ => (find(USUAL_MIX)?, &things[..]),
        };
        let urls = urls.to_vec();
        Ok(PageWorkload { list, title, urls })
    }
}

/// A mix of that name, or a file.
fn find(name: &str) -> Result<(FileList, String), RunnerError> {
    if let Some(mix) = Mix::find(name) {
        return Ok((mix.list(), mix.title.to_owned()));
    }
    let bytes = fs::read(name).map_err(|error| {
        let names = webstone::MIXES.map(|mix| mix.name);
        RunnerError::Usage(format!(
            "`{}` is no mix ({}), and reading it as a file list failed: {error}; a URL begins with \
             http:// or https:// here",
            redacted_target(name),
            names.join(", ")
        ))
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        RunnerError::Usage(format!("{name}:{line}: this is not UTF-8"))
    })?;
    let list = FileList::parse(name, &text).map_err(usage)?;
    Ok((list, "pages of a file list".to_owned()))
}

fn usage(error: impl ToString) -> RunnerError {
    RunnerError::Usage(error.to_string())
}

fn targets(urls: &[String]) -> Result<Vec<Target>, RunnerError> {
    let targets = urls.iter().map(|url| Target::parse(url).map_err(usage));
    targets.collect()
}

/// Refuses more servers than children.
fn check(args: &WebstoneArgs, urls: &[String]) -> Result<(), RunnerError> {
    let least = args.load.children.0.first().copied().unwrap_or(1);
    if (least as usize) < urls.len() {
        return Err(RunnerError::Usage(format!(
            "{} servers for {least} children: each child uses one server; give more --children",
            urls.len()
        )));
    }
    Ok(())
}

fn load(options: &ChildrenOptions) -> LoadDrive {
    LoadDrive {
        duration: match options.repeat {
            Some(_) => None,
            None => Some(options.duration.unwrap_or(USUAL_DURATION)),
        },
        in_turn: options.repeat.is_some(),
        warmup: 1,
        warmup_time: options.warmup.unwrap_or_default(),
        ends_if_all_fail: true,
        ..LoadDrive::default()
    }
}
