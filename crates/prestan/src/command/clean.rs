//! `prestan clean`: removes what killed runs left on a server, and nothing else.

use std::sync::Arc;

use clap::Args;
use engine::{Observer, RunPlace, Silent};
use runner::RunnerError;
use runner::access::read_target;
use runner::state;
use terminal::output::{print_list, print_message};
use terminal::watch::HeadsOnly;

use crate::args::{ConnectOptions, Login};
use crate::connect::access;
use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct CleanArgs {
    /// Collection in which the run worked: [http[s]://]host[:port]/path
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    #[command(flatten)]
    pub(crate) login: Login,

    /// Only list what would be removed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,

    /// Also remove collections of other machines or containers, whose runs may still be in progress
    #[arg(long)]
    pub(crate) force: bool,

    /// Print the heads of requests and responses, with redacted credentials
    #[arg(long)]
    pub(crate) debug: bool,

    #[command(flatten)]
    pub(crate) connect: ConnectOptions,
}

pub(crate) fn clean(args: &CleanArgs) -> Result<ExitStatus, RunnerError> {
    let mut place = access(&args.login, &args.connect)?.at(read_target(&args.url)?)?;
    let others = std::mem::take(&mut place.others);
    let mut ended = clean_one(args, &place);
    // If one cannot be reached, the others are cleaned nevertheless.
    for endpoint in others {
        place.endpoint = endpoint;
        match (&ended, clean_one(args, &place)) {
            (Err(RunnerError::Interrupted(_)), _) => break,
            (Err(_), Err(why)) => print_message(&format!("prestan: {why}")),
            (Ok(_), Err(why)) => ended = Err(why),
            (Ok(_), Ok(ExitStatus::TestFailed)) => ended = Ok(ExitStatus::TestFailed),
            (_, Ok(_)) => {}
        }
    }
    ended
}

/// Cleans one server.
fn clean_one(args: &CleanArgs, place: &RunPlace) -> Result<ExitStatus, RunnerError> {
    let observer: Arc<dyn Observer> = if args.debug {
        Arc::new(HeadsOnly)
    } else {
        Arc::new(Silent)
    };
    let run_ids = state::unfinished_runs(&place.endpoint.target.url());
    let leftovers = engine::find_leftovers(place, &observer, &run_ids)?;
    if leftovers.is_empty() {
        let url = place.endpoint.target.url();
        print_list([format!("no leftovers of prestan in {url}")], "  ")?;
        return Ok(ExitStatus::Done);
    }
    let mut code = ExitStatus::Done;
    for leftover in &leftovers {
        let line = if !leftover.is_removable(args.force) {
            format!("left alone: {} ({})", leftover.url, leftover.reason())
        } else if args.dry_run {
            format!("would be removed: {}", leftover.url)
        } else {
            match engine::remove_leftover(place, &observer, leftover, args.force) {
                Ok(()) => format!("removed: {}", leftover.url),
                Err(reason) => {
                    code = ExitStatus::TestFailed;
                    format!("could not be removed: {} ({reason})", leftover.url)
                }
            }
        };
        print_list([report::clean(&line)], "  ")?;
    }
    Ok(code)
}
