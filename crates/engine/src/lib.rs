//! Runs a plan: users, connections, clocks, the record of what happened.
//!
//! ```text
//! run: probe --> workspace --> users --> samples, events --> workspace removed
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `clock` | moments: the clocks, the kernel's time stamps, the moments of a sample |
//! | `event_loop` | the tasks of one thread, their waits and time limits |
//! | `watch` | events, samples and figures of the load generator during a run |
//! | `connection` | from the socket to the client of one user |
//! | `site` | collections and files that a run makes on a server and removes |
//! | `drive` | the drivers, and how a user executes operations |
//! | `run` | a whole run |
//!
//! Each module depends only on those above it in the table.
//!
//! Nothing here prints: an [`Observer`] is notified.

mod clock;
mod connection;
mod drive;
mod error;
mod event_loop;
mod run;
mod site;
mod watch;

pub use clock::time_of_day;
pub use connection::route::{Endpoint, Family, HttpOptions, Resolve, Route, look_up};
pub use connection::tls::{TlsOptions, tls_config};
pub use drive::turns::{Turn, Turns};
pub use drive::{Drive, LoadDrive, Pacing, Rounds};
pub use error::RunError;
pub use event_loop::cancel::Cancel;
pub use run::machine::machine;
pub use run::outside::{
    Presence, RefusedTarget, find_leftovers, forget_target, look, note_target, refusal, remove,
    remove_leftover,
};
pub use run::spec::{ClockChoice, RunPlace, RunSpec, choose_clock};
pub use run::{Finished, Watch, environment, plan_record, run};
pub use site::publish::Publish;
pub use site::workspace::{
    LONGEST_RUN_ID, Leftover, LeftoverState, MARKER, collection_name, is_run_id,
};
pub use watch::conditions::Conditions;
pub use watch::heads::HeadRecord;
pub use watch::progress::{Observer, Progress, RowWatch, Silent};
pub use watch::recorder::{KnownWindow, Sink};
