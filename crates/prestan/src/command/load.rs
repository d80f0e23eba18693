//! `prestan load`: one request, or a mix, over and over.

mod guard;
mod pace;
mod request;

use engine::Settings;
use suite::{Overrides, Plan};
use wire::target::Target;

use crate::args::{LoadArgs, Login};
use crate::command::job::Job;
use crate::command::run::SuiteText;
use crate::connect::{self, connection_to};
use crate::exit::{Code, Failed};
use crate::output;
use crate::state;

/// Drives the request.
pub(crate) fn load(args: &LoadArgs) -> Result<Code, Failed> {
    let what = what(args)?;
    let (mut plan, suite_text) = plan(&what, args)?;
    let target = target(&what)?;
    pace::check(&args.pace, &plan)?;
    let writes = args.request.writes;
    let permission = match what {
        What::One { .. } => guard::single(&plan, writes, &target)?,
        What::Mix { .. } => guard::mix(&mut plan, writes)?,
    };
    output::check(&args.output.formats, args.output.output.as_deref())?;
    let connection = connection_to(target, &Login::default(), &args.connect)?;
    let pace = &args.pace;
    let settings = Settings {
        run_id: pace.run_id.clone().unwrap_or_else(state::new_run_id),
        users: pace::users(pace),
        pace: pace::pace(pace),
        requests: pace.requests,
        duration: pace::duration(pace),
        until: pace.until.map(|until| until.to_string()),
        connect_rate: pace.connect_rate,
        spin: pace.spin.unwrap_or_default(),
        warmup: pace.warmup,
        timeout: pace.timeout,
        seed: pace.seed.unwrap_or_else(state::new_seed),
        threads: pace.threads,
        clock: connect::clock(args.clock, &connection.route)?,
        acks: args.clock.acks,
        http: pace::http(pace),
        ..connection.settings()
    };
    let makes_target = guard::look(permission, &settings, writes)?;
    Job {
        suite_text,
        plan,
        settings,
        until: pace.until,
        makes_target,
        cancel: None,
        output: &args.output,
    }
    .perform()
}

/// What is to be sent where.
enum What<'a> {
    One { method: &'a str, url: &'a str },
    Mix { suite: &'a str, url: &'a str },
}

fn what(args: &LoadArgs) -> Result<What<'_>, Failed> {
    let (first, second) = (args.first.as_str(), args.second.as_deref());
    match (&args.request.mix, second) {
        (None, Some(url)) => Ok(What::One { method: first, url }),
        (None, None) => Err(Failed::Usage(format!(
            "only one of METHOD and URL is given, `{first}`; write `prestan load GET \
             http://127.0.0.1:8080/file` for example"
        ))),
        (Some(suite), None) => Ok(What::Mix { suite, url: first }),
        (Some(_), Some(_)) => Err(Failed::Usage(format!(
            "with --mix the suite says the methods: leave `{first}` out, and give the URL of a \
             collection only"
        ))),
    }
}

fn plan(what: &What<'_>, args: &LoadArgs) -> Result<(Plan, String), Failed> {
    match what {
        What::Mix { suite, .. } => {
            request::refuse_with_mix(&args.request)?;
            let suite = SuiteText::find(suite)?;
            let plan = suite.resolved(&Overrides::default())?;
            Ok((plan, suite.text))
        }
        What::One { method, .. } => Ok(suite::single(&request::single(method, &args.request)?)),
    }
}

fn target(what: &What<'_>) -> Result<Target, Failed> {
    let target = match what {
        What::One { url, .. } => Target::resource(url),
        What::Mix { url, .. } => Target::parse(url),
    };
    target.map_err(|error| Failed::Usage(error.to_string()))
}
