//! Load: repeated operations, outside of rounds. An operation is a request, a page, or the loop of
//! a test.
//!
//! ```text
//! users: connect, set up, warm up --barrier--> operations until the workload stops --> clean up
//!
//! closed loop   each user begins its next operation when the last one has ended (closed), or has
//!               several requests in flight (pipelined)
//! open loop     by a schedule; the next free user takes the operation (open)
//! ```

mod closed;
mod open;
mod operations;
mod pipelined;
mod schedule;
mod timer;
mod user;
mod workload;

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use wire::auth::Authenticator;

use crate::drive::driver::Driver;
use crate::drive::step::prepare_tests;
use crate::drive::worker::Worker;
use crate::drive::{LoadDrive, Pacing};
use operations::Operations;
use user::LoadUser;

pub(crate) use workload::Workload;

/// The whole work of one thread, a task for each part.
pub(crate) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Tasks of the worker with these users, the `index`th of `threads`.
pub(crate) fn tasks(
    workload: &Arc<Workload>,
    load: &LoadDrive,
    seed: u64,
    worker: &Rc<Worker>,
    users: &[u32],
    (index, workers): (u32, u32),
    authenticator: impl Fn(usize) -> Authenticator,
) -> Vec<Task> {
    let depth = worker.config.http.pipeline_of_load() as usize;
    let operations_of_server = |configs: &Rc<[Rc<_>]>| {
        if workload.context().plan.http().is_err() {
            return Err(
                "tests that use connections in different ways cannot be one load".to_owned(),
            );
        }
        if depth > 1 && workload.context().plan.targets.len() > 1 {
            return Err("requests to several targets cannot be in a pipeline".to_owned());
        }
        let tests = prepare_tests(workload.context(), configs, true)?;
        let operations = Operations::new(tests, &workload.context().plan, load.in_turn)?;
        if depth > 1 && !operations.fit_a_pipeline() {
            return Err("steps that follow one another cannot be in a pipeline".to_owned());
        }
        Ok(Rc::new(operations))
    };
    let operations: Vec<Rc<Operations>> =
        match worker.configs.iter().map(operations_of_server).collect() {
            Ok(operations) => operations,
            Err(reason) => {
                workload.context().break_up(reason);
                return Vec::new();
            }
        };
    let driver: Rc<dyn Driver> = Rc::new(Arc::clone(workload));
    let user = |id: &u32| {
        let auth = |target| authenticator(worker.endpoint_of(*id, target));
        let operations = &operations[worker.server_of(*id)];
        let user = LoadUser::new(*id, workload, worker, operations, &driver, auth, seed);
        Box::new(user)
    };
    let users = users.iter().map(user);
    match &load.pacing {
        Pacing::Open {
            max_waiting, spin, ..
        } => {
            let dispatcher = open::Dispatcher {
                workload: Arc::clone(workload),
                worker: Rc::clone(worker),
                operations: Rc::clone(&operations[0]),
                room: *max_waiting as usize,
                share: (index, workers),
                spin: *spin,
                rng: ChaCha8Rng::seed_from_u64(seed ^ u64::from(index)),
            };
            let users = users.map(|user| Box::pin(open::user(user, index)) as Task);
            let dispatching: Task = Box::pin(dispatcher.run());
            users.chain([dispatching]).collect()
        }
        Pacing::Closed => users
            .map(|user| Box::pin(closed::user(user, depth)) as Task)
            .collect(),
    }
}
