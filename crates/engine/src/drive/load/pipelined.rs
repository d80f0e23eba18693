//! The closed loop with several requests in flight on one connection (RFC 9112, section 9.3.2).

use std::rc::Rc;
use std::sync::Arc;

use super::user::LoadUser;
use super::workload::UserPhase;
use crate::connection::client::RequestToken;
use crate::drive::driver::{Driver, Numbering, Operating};
use crate::drive::step::{PreparedStep, RequestStep};
use crate::drive::user::{Attempt, Phase, User};
use crate::event_loop::yield_now;

/// An operation with requests that are still to be sent.
struct Unsent<'o> {
    /// The index of its test.
    test: usize,
    requests: &'o [Rc<RequestStep>],
    operating: Operating,
    is_page: bool,
}

/// Keeps this many requests in flight, and records their results.
pub(super) async fn operate(user: &mut LoadUser, depth: usize, phase: &mut UserPhase) {
    let workload = Arc::clone(&user.workload);
    let context = Arc::clone(workload.context());
    let operations = Rc::clone(&user.operations);
    let LoadUser {
        user: User {
            clients, log, rng, ..
        },
        scripts,
        ..
    } = user;
    // One connection has one server at its end (`load::tasks`).
    let client = &mut clients[0].client;
    let parts = scripts
        .iter_mut()
        .map(|script| script.parts(Phase::Measured));
    let mut parts: Vec<_> = parts.collect();
    // With the index of the test of each.
    let mut under_way: Vec<(RequestToken, usize, Attempt<'_>)> = Vec::with_capacity(depth);
    let mut unsent: Option<Unsent<'_>> = None;
    let mut now = context.clock.now();
    // Consecutive failures of everything in flight.
    let mut failures = 0;
    loop {
        // Requests that failed together are all handled before a new one is sent.
        while client.under_way() < depth && !client.has_ended_one() {
            let next = match unsent.take() {
                Some(unsent) if !unsent.requests.is_empty() => {
                    // However long the page is, the run ends in time.
                    let test = parts[unsent.test].0.test.id;
                    Some(unsent).filter(|_| workload.goes_on(test, now))
                }
                // A page begins when the one before it is complete.
                Some(page) if page.is_page && client.under_way() > 0 => {
                    unsent = Some(page);
                    break;
                }
                _ => workload
                    .claim(phase, now, client.oldest())
                    .and_then(|number| {
                        let drawn = operations.draw(rng, number, log.id)?;
                        let test = usize::from(drawn.test.0);
                        parts[test].1.begin_round();
                        let (requests, is_page) = match operations.steps(&drawn) {
                            [PreparedStep::Page(files)] => (&files[..], true),
                            [PreparedStep::Request(request)] => {
                                (std::slice::from_ref(request), false)
                            }
                            _ => unreachable!("it fits a pipeline"),
                        };
                        Some(Unsent {
                            test,
                            requests,
                            operating: operations.begin(number, &drawn),
                            is_page,
                        })
                    }),
            };
            let Some(mut next) = next else { break };
            let Some((request, behind)) = next.requests.split_first() else {
                unreachable!("an operation has requests")
            };
            next.requests = behind;
            let (part, memory) = &mut parts[next.test];
            match log.attempt(*part, memory, request, &next.operating) {
                Some(attempt) => under_way.push((attempt.submit(client), next.test, attempt)),
                None => {
                    now = context.clock.now();
                    yield_now().await;
                }
            }
            unsent = Some(next);
        }
        let Some((token, exchange)) = client.poll(workload.cut_off()).await else {
            return;
        };
        let ended = under_way.iter().position(|(of, ..)| *of == token);
        let Some(ended) = ended else {
            unreachable!("what ends was submitted")
        };
        let (_, test, attempt) = under_way.remove(ended);
        let has_response = exchange.result.is_ok();
        let judged = log.judge(client, &attempt, &exchange);
        let (part, memory) = &mut parts[test];
        let mut operating = Operating::at_once(Numbering::Each);
        if let Err(stop) = log.conclude(memory, &attempt, &exchange, judged, &mut operating) {
            context.stop(part.test.id, stop);
        }
        phase.has_ended_one = true;
        if has_response {
            failures = 0;
        } else if client.under_way() == 0 {
            // A server that does not respond is not retried at once.
            failures += 1;
            log.silence.unanswered = failures;
            log.rest(&mut operating).await;
        }
        now = operating.ended;
    }
}
