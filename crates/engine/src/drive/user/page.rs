//! The files of a page, by one user.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use record::{Nanos, TestId};

use super::{Log, Phase, Script, User};
use crate::connection::client::Client;
use crate::drive::context::Stop;
use crate::drive::driver::Operating;
use crate::drive::step::RequestStep;

impl Log {
    /// Whether the next file of a page is fetched: however long the page is, warming up and the run end in
    /// time.
    fn begins_file(&self, test: TestId, phase: Phase, now: Nanos) -> bool {
        now < self.deadline && self.goes_on(test, phase, now)
    }
}

impl User {
    /// Fetches the files of a page: with one connection one after the other, as WebSTONE does (Trent
    /// and Sake 1995, section 6.2).
    pub(super) async fn page(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let of_operation = operating.visit;
        let context = Arc::clone(&self.log.context);
        operating
            .visit
            .get_or_insert_with(|| context.progress.next_request());
        let fetched = if self.others.is_empty() {
            self.in_order(script, files, phase, operating).await
        } else {
            self.in_parallel(script, files, phase, operating).await
        };
        operating.visit = of_operation;
        fetched
    }

    async fn in_order(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        for file in files {
            if !self.log.begins_file(script.test.id, phase, operating.ended) {
                break;
            }
            self.request(script, file, phase, operating).await?;
        }
        Ok(())
    }

    /// Fetches the first alone, and then as many at a time as there are connections, as browsers
    /// do: what else there is they know when they have the first.
    async fn in_parallel(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let (part, memory) = script.parts(phase);
        let User {
            client,
            others,
            log,
            ..
        } = self;
        let mut left = files.iter();
        // That which was used last is used next.
        let mut free: Vec<&mut Client> = others.iter_mut().rev().chain([client]).collect();
        let mut under_way = FuturesUnordered::new();
        let mut most = 1;
        loop {
            while under_way.len() < most && log.begins_file(part.test.id, phase, operating.ended) {
                let Some(step) = left.next() else { break };
                let Some(client) = free.pop() else { break };
                let Some(mut attempt) = log.attempt(part, memory, step, operating) else {
                    free.push(client);
                    continue;
                };
                // Others have been read meanwhile.
                attempt.sending.now = None;
                under_way.push(async move {
                    let (request, values) = (&step.request, attempt.values());
                    let exchange = client.send(request, &values, attempt.sending).await;
                    (attempt, exchange, client)
                });
            }
            let Some((attempt, exchange, client)) = under_way.next().await else {
                return Ok(());
            };
            let judged = log.judge(client, &attempt, &exchange);
            free.push(client);
            most = free.len() + under_way.len();
            log.conclude(memory, &attempt, &exchange, judged, operating)?;
            // Responses to the others are not kept waiting.
            if under_way.is_empty() {
                log.rest(operating).await;
            }
        }
    }
}
