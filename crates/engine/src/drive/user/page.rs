//! The files of a page, by one user.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use record::{Nanos, TestId};

use super::{Attempt, Log, Phase, Script, TargetClients, User};
use crate::connection::client::{Client, RequestToken};
use crate::drive::context::Stop;
use crate::drive::driver::Operating;
use crate::drive::step::RequestStep;

/// The target of the files of a page.
fn target_of(files: &[Rc<RequestStep>]) -> usize {
    files.first().map_or(0, |file| file.target())
}

impl Log {
    /// True if the next file of a page is fetched: however long the page is, warming up and the run
    /// end in time.
    fn begins_file(&self, test: TestId, phase: Phase, now: Nanos) -> bool {
        now < self.deadline && self.goes_on(test, phase, now)
    }
}

impl User {
    /// Fetches the files of a page: with one connection one after the other, as WebSTONE does
    /// (Trent and Sake 1995, section 6.2), or pipelined.
    pub(super) async fn page(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let visit_of_operation = operating.visit;
        let context = Arc::clone(&self.log.context);
        let visit = &mut operating.visit;
        visit.get_or_insert_with(|| context.progress.next_request());
        context.rest();
        let http = script.test.http;
        if http.per_page {
            self.close();
        }
        let at_once = http.at_once;
        let fetched = match files.iter().position(|file| file.plan.is_for_parts) {
            None => self.files(script, files, at_once, phase, operating).await,
            Some(index) => {
                self.files_and_parts(script, files, index, phase, operating)
                    .await
            }
        };
        if http.per_page || fetched.is_err() {
            self.close();
        }
        (operating.visit, operating.parts) = (visit_of_operation, None);
        fetched
    }

    /// Fetches files, several at a time if the test requires it: with `at_once`, the first as well.
    async fn files(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        at_once: bool,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let http = script.test.http;
        if http.pipeline > 1 {
            self.in_pipeline(script, files, at_once, phase, operating)
                .await
        } else if http.parallel > 1 {
            self.in_parallel(script, files, at_once, phase, operating)
                .await
        } else {
            self.in_order(script, files, phase, operating).await
        }
    }

    /// Fetches the first file, and then the others, with the parts that it names in their position.
    async fn files_and_parts(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        index: usize,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        operating.parts = Some(0);
        let parts = self.first_file(script, files, index, phase, operating);
        let parts = parts.await?;
        let (before, behind) = (&files[1..index], &files[index + 1..]);
        let others = before.iter().chain(&*parts).chain(behind);
        let others: Vec<_> = others.cloned().collect();
        self.files(script, &others, true, phase, operating).await
    }

    /// Fetches the first file of a page, and finds the parts that it names.
    async fn first_file(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        index: usize,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<Rc<[Rc<RequestStep>]>, Stop> {
        let (part, memory) = script.parts(phase);
        let User { clients, log, .. } = self;
        let client = &mut clients[target_of(files)].client;
        if !log.begins_file(part.test.id, phase, operating.ended) {
            return Ok(Rc::default());
        }
        let Some(mut attempt) = log.attempt(part, memory, &files[0], operating) else {
            return Ok(Rc::default());
        };
        if operating.started.is_some() {
            log.rest(operating).await;
        }
        let (request, values) = (&attempt.step.request, attempt.values());
        let sent = client.send(request, &values, attempt.sending.clone());
        let mut exchange = sent.await;
        let mut judged = log.judge(client, &attempt, &exchange);
        let mut parts = Rc::default();
        if judged.is_expected() {
            match log.parts(client, &attempt, &files[index]) {
                Ok(found) => parts = found,
                // Without its parts the page would be fast.
                Err(why) => judged = super::request::Judged::unreadable(&attempt, why),
            }
        }
        if part.test.http.per_page && parts.is_empty() && files.len() == 2 {
            exchange.ends_connection_of(client);
        }
        operating.parts = u16::try_from(parts.len()).ok();
        attempt.parts = operating.parts;
        log.conclude(memory, &attempt, &exchange, judged, operating)?;
        // Reading the file took time, which belongs to no request.
        operating.now = None;
        Ok(parts)
    }

    /// Ends all connections of a page that was abandoned.
    fn close(&mut self) {
        for client in self.all_clients() {
            client.close();
        }
    }

    async fn in_order(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let (part, memory) = script.parts(phase);
        let User { clients, log, .. } = self;
        let client = &mut clients[target_of(files)].client;
        let mut left = files.iter();
        while log.begins_file(part.test.id, phase, operating.ended)
            && let Some(step) = left.next()
        {
            let Some(attempt) = log.attempt(part, memory, step, operating) else {
                continue;
            };
            if operating.started.is_some() {
                log.rest(operating).await;
            }
            let (request, values) = (&step.request, attempt.values());
            let mut exchange = client.send(request, &values, attempt.sending.clone()).await;
            if part.test.http.per_page && left.len() == 0 {
                exchange.ends_connection_of(client);
            }
            let judged = log.judge(client, &attempt, &exchange);
            log.conclude(memory, &attempt, &exchange, judged, operating)?;
        }
        Ok(())
    }

    /// Keeps as many requests in flight on the one connection as the test specifies.
    async fn in_pipeline(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        at_once: bool,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let (part, memory) = script.parts(phase);
        let User { clients, log, .. } = self;
        let client = &mut clients[target_of(files)].client;
        let http = part.test.http;
        let depth = http.pipeline as usize;
        let mut left = files.iter();
        let mut under_way: Vec<(RequestToken, Attempt<'_>)> = Vec::with_capacity(depth);
        let mut most = if at_once { depth } else { 1 };
        loop {
            // Requests that failed together are all handled before a new one is sent.
            while under_way.len() < most
                && !client.has_ended_one()
                && log.begins_file(part.test.id, phase, operating.ended)
                && let Some(step) = left.next()
            {
                let Some(mut attempt) = log.attempt(part, memory, step, operating) else {
                    continue;
                };
                if !under_way.is_empty() {
                    attempt.sending.now = None;
                }
                under_way.push((attempt.submit(client), attempt));
            }
            let Some((token, mut exchange)) = client.poll(Nanos::MAX).await else {
                return Ok(());
            };
            let Some(ended) = under_way.iter().position(|(of, _)| *of == token) else {
                unreachable!("what ends was submitted")
            };
            let (_, attempt) = under_way.remove(ended);
            most = depth;
            if http.per_page && left.len() == 0 && under_way.is_empty() {
                exchange.ends_connection_of(client);
            }
            let judged = log.judge(client, &attempt, &exchange);
            log.conclude(memory, &attempt, &exchange, judged, operating)?;
            if under_way.is_empty() {
                log.rest(operating).await;
            }
        }
    }

    /// Fetches the first alone, and then as many at a time as there are connections, like browsers:
    /// they find the others in the first. If all are known, the first as well.
    async fn in_parallel(
        &mut self,
        script: &mut Script,
        files: &[Rc<RequestStep>],
        at_once: bool,
        phase: Phase,
        operating: &mut Operating,
    ) -> Result<(), Stop> {
        let (part, memory) = script.parts(phase);
        let User { clients, log, .. } = self;
        let TargetClients { client, others } = &mut clients[target_of(files)];
        let http = part.test.http;
        let connections = http.parallel as usize;
        let others = others.iter_mut().take(connections - 1);
        let mut left = files.iter();
        // The connection that was used last is used next.
        let mut free: Vec<&mut Client> = others.rev().chain([client]).collect();
        let mut under_way = FuturesUnordered::new();
        let mut most = if at_once { connections } else { 1 };
        loop {
            while under_way.len() < most && log.begins_file(part.test.id, phase, operating.ended) {
                let Some(step) = left.next() else { break };
                let Some(client) = free.pop() else { break };
                let Some(mut attempt) = log.attempt(part, memory, step, operating) else {
                    free.push(client);
                    continue;
                };
                // Other responses have been read meanwhile.
                attempt.sending.now = None;
                under_way.push(async move {
                    let (request, values) = (&step.request, attempt.values());
                    let exchange = client.send(request, &values, attempt.sending.clone()).await;
                    (attempt, exchange, client)
                });
            }
            let Some((attempt, mut exchange, client)) = under_way.next().await else {
                return Ok(());
            };
            // Nothing is left for it to fetch.
            if http.per_page && left.len() == 0 {
                exchange.ends_connection_of(client);
            }
            let judged = log.judge(client, &attempt, &exchange);
            free.push(client);
            most = connections;
            log.conclude(memory, &attempt, &exchange, judged, operating)?;
            // Responses to the others are not delayed.
            if under_way.is_empty() {
                log.rest(operating).await;
            }
        }
    }
}
