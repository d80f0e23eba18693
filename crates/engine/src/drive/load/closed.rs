//! The closed loop: the next operation begins when the last one has ended.

use std::rc::Rc;
use std::sync::Arc;

use super::user::{Arrival, LoadUser};
use super::workload::UserPhase;
use crate::event_loop::yield_now;

/// What one user of a closed loop does.
pub(super) async fn user(mut user: Box<LoadUser>) {
    let workload = Arc::clone(&user.workload);
    let context = Arc::clone(workload.context());
    let worker = Rc::clone(&user.user.log.worker);
    let mut phase = UserPhase::default();
    if user.get_ready().await.can_begin {
        worker.vitals.enter();
        let mut now = context.clock.now();
        while let Some(number) = workload.claim(&mut phase, now, None) {
            let mut operating = user
                .operate(Arrival {
                    number,
                    planned: None,
                    phase: 0,
                    now: Some(now),
                })
                .await;
            user.user.log.rest(&mut operating).await;
            if operating.started.is_none() {
                // Nothing could be sent, and others have their turn.
                yield_now().await;
                operating.ended = context.clock.now();
            }
            now = operating.ended;
            phase.has_ended_one = true;
            if user.user.is_through {
                break;
            }
        }
        worker.vitals.leave(&context.vitals);
    }
    workload.leave(&mut phase, context.clock.now());
    user.leave().await;
}
