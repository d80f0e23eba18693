//! The closed loop: the next operation begins when the last one has ended.

use std::sync::Arc;

use super::field::UserPhase;
use super::lane::{Lane, Turn};

/// One user of a closed loop.
pub(super) async fn lane(mut lane: Lane) {
    let field = Arc::clone(&lane.field);
    lane.get_ready().await;

    lane.worker.vitals.enter();
    let mut phase = UserPhase::default();
    let mut now = field.stage().clock.now();
    let mut unanswered = 0;
    while let Some(number) = field.claim(&mut phase, now, None) {
        let turn = Turn {
            number,
            planned: None,
            phase: 0,
            now: Some(now),
        };
        let done = lane.operate(turn).await;
        now = done.ended;
        phase.has_ended_one = true;
        match done.answered {
            true => unanswered = 0,
            false => {
                lane.rest(unanswered).await;
                unanswered += 1;
                now = field.stage().clock.now();
            }
        }
    }
    lane.worker.vitals.leave(&field.stage().vitals);
}
