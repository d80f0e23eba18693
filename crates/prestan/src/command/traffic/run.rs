//! `prestan traffic run`: sends a load, and prints the counts of the sinks.

use std::thread;

use engine::Cancel;
use record::{BackgroundEnd, BackgroundReading, BackgroundRecord, Nanos};
use runner::RunnerError;
use runner::background::{
    BackgroundOptions, BackgroundTask, EndedBackground, LOOK, RunningBackground, TrafficFile,
    UnstableBackground,
};
use runner::console::MadeOnServers;
use runner::state;
use runner::words::number_of;

use crate::command::traffic::TrafficRunArgs;
use crate::exit::ExitStatus;
use crate::signals::on_interrupt;
use terminal::output::{print_documents, print_message, print_text};

/// Most seconds in the document: those of a day.
const MOST_SECONDS: usize = 86_400;

pub(super) fn run(args: &TrafficRunArgs) -> Result<ExitStatus, RunnerError> {
    let file = TrafficFile::read(&args.file)?;
    let options = BackgroundOptions {
        load: args.load.clone(),
        duration: args.duration,
        stable_percent: args.stable,
        seed: args.seed.unwrap_or_else(state::new_seed),
        longest_silence: args.silence,
    };
    let token = args.token_file.as_deref();
    let task = BackgroundTask::new(&file, &options, &args.ends.ends(), token)?;
    let cancel = Cancel::default();
    let _interruptible = on_interrupt(cancel.clone(), MadeOnServers::default())?;
    let is_cancelled = || cancel.is_cancelled();
    let mut shown = ShownSeconds {
        is_quiet: args
            .json
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-"),
        ..ShownSeconds::default()
    };
    shown.text(&heading(&task.record));
    let mut running = RunningBackground::start(task, &is_cancelled)?;
    let is_unstable = follow(&mut running, &is_cancelled, &mut shown);
    let record = running.record().clone();
    let EndedBackground { end, by_itself } = running.end();
    let document = args.json.as_ref().map(|path| {
        let json = report::background_json(&record, &shown.seconds, &end);
        (path.as_path(), json)
    });
    print_documents(document, |_| {
        format!("\n{}", report::background_totals(&record, &end))
    })?;
    match end.failure {
        Some(why) => Err(RunnerError::Target(format!(
            "the background traffic ended early: {why}"
        ))),
        None if cancel.is_cancelled() && !by_itself => Ok(ExitStatus::Interrupted),
        None if nothing_arrived(&end) => Err(RunnerError::Target(
            "nothing of what was sent arrived at the sinks, although their control ports could be reached; a \
             firewall may hold back the ports of the flows"
                .to_owned(),
        )),
        None if is_unstable => Ok(ExitStatus::TestFailed),
        None => Ok(ExitStatus::Done),
    }
}

fn nothing_arrived(end: &BackgroundEnd) -> bool {
    let mut counts = end.components.iter().map(|component| &component.counts);
    let sent = counts.clone().any(|count| count.sent_bytes > 0);
    sent && counts.all(|count| count.received_bytes == 0)
}

/// Prints readings until the flows end or the user interrupts; true if they did not become stable
/// as required.
fn follow(
    running: &mut RunningBackground,
    is_cancelled: &dyn Fn() -> bool,
    shown: &mut ShownSeconds,
) -> bool {
    let stable = running.wait_until_stable(is_cancelled, |reading, record| {
        shown.add(reading, record);
    });
    let is_unstable = match stable {
        Ok(()) if running.record().checked_stable => {
            shown.text(&format!("stable after {:.0} s\n", shown.at as f64 / 1e9));
            false
        }
        Ok(()) | Err(UnstableBackground::Interrupted) => false,
        Err(UnstableBackground::Ended { is_judged }) => {
            let is_unstable = running.record().checked_stable && is_judged;
            if is_unstable {
                print_message("prestan: warning: the flows ended before three seconds were stable");
            } else if running.record().checked_stable {
                print_message(
                    "prestan: the flows ended too soon to check that they are stable (that takes 4 s)",
                );
            }
            is_unstable
        }
        Err(UnstableBackground::Unstable(why)) => {
            print_message(&format!("prestan: warning: {why}"));
            true
        }
    };
    loop {
        let goes_on = running.is_active() && !is_cancelled();
        for polled in running.poll() {
            shown.add(&polled.reading, running.record());
        }
        if !goes_on {
            return is_unstable;
        }
        thread::sleep(LOOK);
    }
}

fn heading(record: &BackgroundRecord) -> String {
    let ends = if record.in_process {
        "; both ends are in this process, on loopback"
    } else {
        ""
    };
    let components = record.components.iter();
    let flows: u32 = components.map(|component| component.flows).sum();
    format!(
        "load {} of {}: {}{}, seed {}{ends}; each time is the end of a second\n",
        record.load,
        report::clean(&record.file),
        number_of(flows as usize, "flow"),
        super::and_generators(record.generators.len()),
        record.seed
    )
}

#[derive(Default)]
struct ShownSeconds {
    is_quiet: bool,
    /// End of the last one.
    at: Nanos,
    seconds: Vec<(Nanos, BackgroundReading)>,
}

impl ShownSeconds {
    fn text(&self, text: &str) {
        if !self.is_quiet {
            // If the reader has closed the pipe, continue; totals report other failures.
            let _ = print_text(text);
        }
    }

    fn add(&mut self, reading: &BackgroundReading, record: &BackgroundRecord) {
        self.at = self.at.saturating_add(reading.span);
        for line in report::background_lines(record, self.at, reading) {
            self.text(&format!("{line}\n"));
        }
        if self.seconds.len() < MOST_SECONDS {
            self.seconds.push((self.at, reading.clone()));
        }
    }
}
