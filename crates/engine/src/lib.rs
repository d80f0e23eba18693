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
mod check;
mod client;
mod clock;
mod connection;
mod dial;
mod error;
mod journal;
mod limits;
mod machine;
mod probe;
mod progress;
mod run;
pub mod rundir;
mod settings;
mod stage;
mod tls;
mod transport;
mod user;
mod workspace;

pub use cancel::Cancel;
pub use clock::time_of_day;
pub use error::RunError;
pub use limits::raise_open_files;
pub use machine::machine;
pub use progress::{Observer, Progress, Silent};
pub use run::{Finished, Watch, find_leftovers, plan_record, remove_leftover, run};
pub use settings::{Family, Resolve, Route, Settings, look_up};
pub use tls::{TlsOptions, tls_config};
pub use workspace::{Leftover, LeftoverState, collection_name, is_run_id};
