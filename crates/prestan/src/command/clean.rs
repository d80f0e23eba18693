//! `prestan clean`: removes what killed runs left on a server, and nothing else.

use std::time::Duration;

use engine::{LeftoverState, Settings};

use crate::args::CleanArgs;
use crate::connect::connection;
use crate::exit::{Code, Failed};
use crate::output::print_text;
use crate::state;

pub(crate) fn clean(args: &CleanArgs) -> Result<Code, Failed> {
    let connection = connection(&args.url, &args.login, &args.connect)?;
    let settings = Settings {
        target: connection.target,
        route: connection.route,
        tls: connection.tls,
        credentials: connection.credentials,
        auth: connection.auth,
        headers: connection.headers,
        run_id: state::new_run_id(),
        users: 1,
        warmup: 0,
        timeout: Duration::from_secs(60),
        seed: u64::from(rand::random::<u32>()),
        threads: 1,
    };
    let leftovers = engine::find_leftovers(&settings)?;
    if leftovers.is_empty() {
        print_text(&format!("nothing of ours in {}\n", settings.target.url()))?;
        return Ok(Code::Done);
    }
    let mut code = Code::Done;
    for leftover in &leftovers {
        let ours = matches!(leftover.state, LeftoverState::Ended { .. });
        let line = if !ours {
            format!("left alone: {} ({})", leftover.url, leftover.reason())
        } else if args.dry_run {
            format!("would be removed: {}", leftover.url)
        } else {
            match engine::remove_leftover(&settings, leftover) {
                Ok(()) => format!("removed: {}", leftover.url),
                Err(reason) => {
                    code = Code::TestFailed;
                    format!("could not be removed: {} ({reason})", leftover.url)
                }
            }
        };
        print_text(&format!("{line}\n"))?;
    }
    Ok(code)
}
