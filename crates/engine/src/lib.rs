//! Runs a plan: users, connections, clocks, the record of what happened.
//!
//! ```text
//! run: probe --> workspace --> users at work --> samples, events --> workspace removed
//! user: prepare --barrier--> measure --barrier--> clean up          (one test after the other)
//! client: connection kept or opened --> exchange --> 401? again : answer
//! connection: offer bytes --> sent --> first --> done
//! ```
//!
//! Nothing here prints: whoever watches a run is an [`Observer`].

mod cancel;
mod chance;
mod check;
mod client;
mod clock;
mod connection;
mod dial;
mod errand;
mod error;
mod event_loop;
mod exhaustion;
mod heads;
mod journal;
mod limits;
mod load;
mod machine;
mod patience;
mod prepared;
mod probe;
pub mod processors;
mod progress;
mod publish;
mod recorder;
mod run;
pub mod rundir;
mod settings;
mod silent_closes;
mod stage;
mod stamp_book;
mod stamps;
mod timekeeper;
mod tls;
mod tls_records;
mod transport;
mod turns;
mod user;
mod vitals;
mod worker;
mod workspace;

pub use cancel::Cancel;
pub use clock::time_of_day;
pub use errand::{Presence, find_leftovers, look, remove, remove_leftover};
pub use error::RunError;
pub use heads::Said;
pub use limits::raise_open_files;
pub use machine::machine;
pub use progress::{Observer, Progress, Silent};
pub use publish::Publish;
pub use recorder::{Sink, Window};
pub use run::{Finished, Watch, environment, plan_record, run};
pub use settings::{
    ClockChoice, Endpoint, Family, Resolve, Route, Settings, choose_clock, look_up,
};
pub use tls::{TlsOptions, tls_config};
pub use turns::{Turn, Turns};
pub use workspace::{LONGEST_RUN_ID, Leftover, LeftoverState, MARKER, collection_name, is_run_id};
