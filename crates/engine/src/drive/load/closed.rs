//! The closed loop: the next operation begins when the last one has ended, or, with a pipeline,
//! when fewer requests are in flight than permitted ([`pipelined`]).

use std::rc::Rc;
use std::sync::Arc;

use super::pipelined;
use super::user::{Arrival, LoadUser};
use super::workload::UserPhase;
use crate::event_loop::yield_now;

/// Task of one user of a closed loop, with this many requests in flight on its connection.
pub(super) async fn user(mut user: Box<LoadUser>, depth: usize) {
    let workload = Arc::clone(&user.workload);
    let context = Arc::clone(workload.context());
    let worker = Rc::clone(&user.user.log.worker);
    let mut phase = UserPhase::default();
    if user.get_ready().await.can_begin {
        worker.vitals.enter();
        if depth > 1 {
            Box::pin(pipelined::operate(&mut user, depth, &mut phase)).await;
        } else {
            operate(&mut user, &mut phase).await;
        }
        worker.vitals.leave(&context.vitals);
        context.rest();
    }
    workload.leave(&mut phase, context.clock.now());
    user.leave().await;
}

async fn operate(user: &mut LoadUser, phase: &mut UserPhase) {
    let workload = Arc::clone(&user.workload);
    let clock = workload.context().clock;
    let mut now = clock.now();
    let conditions = Arc::clone(&workload.context().conditions);
    loop {
        if !conditions.is_at_work(user.user.log.id) {
            if user.wait_for_work(phase).await.is_break() {
                break;
            }
            now = clock.now();
        }
        let Some(number) = workload.claim(phase, now, None) else {
            break;
        };
        let mut operating = user
            .operate(Arrival {
                number,
                planned: None,
                phase: conditions.phase(),
                now: Some(now),
            })
            .await;
        user.user.log.rest(&mut operating).await;
        if operating.started.is_none() {
            // Nothing could be sent, so other tasks run.
            yield_now().await;
            operating.ended = clock.now();
        }
        now = operating.ended;
        phase.has_ended_one = true;
        if user.user.is_through {
            break;
        }
    }
}
