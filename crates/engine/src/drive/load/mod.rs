//! Load without choreography: one kind of request, or a weighted mix of requests and pages, over
//! and over.
//!
//! ```text
//! users: connect --> warm up --barrier--> operations until the field stops --> end
//!
//! closed loop   each user begins its next operation when the last one has ended
//! open loop     a schedule says when; whoever is free takes the next (open)
//! ```

mod closed;
mod field;
mod kinds;
mod lane;
mod open;
mod pipelined;
mod schedule;
mod timer;

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use wire::auth::Authenticator;

use crate::drive::worker::Worker;
use crate::drive::{LoadDrive, Pacing};
use kinds::Kinds;
use lane::Lane;

pub(crate) use field::Field;

/// Everything that one thread does, each as a task of its own.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// What the worker with these users does, the `index`th of so many.
pub(crate) fn tasks(
    field: &Arc<Field>,
    load: &LoadDrive,
    seed: u64,
    worker: &Rc<Worker>,
    users: &[u32],
    (index, workers): (u32, u32),
    authenticator: impl Fn(usize) -> Authenticator,
) -> Vec<Task> {
    let of_server =
        |config: &Rc<_>| Kinds::prepare(field.stage(), config, load.in_turn).map(Rc::new);
    let kinds: Vec<Rc<Kinds>> = match worker.configs.iter().map(of_server).collect() {
        Ok(kinds) => kinds,
        Err(reason) => {
            field.stage().break_up(reason);
            return Vec::new();
        }
    };
    let lane = |user: u32| {
        let server = worker.server_of(user);
        let auth = || authenticator(server);
        Lane::new(user, field, worker, &kinds[server], auth, seed)
    };
    let depth = worker.config.http.pipeline as usize;
    match &load.pacing {
        Pacing::Open {
            max_waiting, spin, ..
        } => {
            let dispatcher = open::Dispatcher {
                field: Arc::clone(field),
                worker: Rc::clone(worker),
                kinds: Rc::clone(&kinds[0]),
                room: *max_waiting as usize,
                share: (index, workers),
                spin: *spin,
                rng: ChaCha8Rng::seed_from_u64(seed ^ u64::from(index)),
            };
            let lanes = users.iter().map(|user| {
                let task: Task = Box::pin(open::lane(lane(*user), index));
                task
            });
            let dispatching: Task = Box::pin(dispatcher.run());
            lanes.chain([dispatching]).collect()
        }
        Pacing::Closed if depth > 1 => {
            let task = |user: &u32| -> Task { Box::pin(pipelined::lane(lane(*user), depth)) };
            users.iter().map(task).collect()
        }
        Pacing::Closed => {
            let task = |user: &u32| -> Task { Box::pin(closed::lane(lane(*user))) };
            users.iter().map(task).collect()
        }
    }
}
