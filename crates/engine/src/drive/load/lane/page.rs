//! The files of a page, by one user.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::{Done, Lane, Turn, ask, count};
use crate::connection::client::Client;
use crate::drive::load::field::Field;
use crate::drive::load::kinds::Kinds;

impl Lane {
    /// Fetches them one after the other, as WebSTONE does (Trent and Sake 1995, section 6.2).
    pub(super) async fn fetch_in_order(
        &mut self,
        kinds: &Kinds,
        files: &[usize],
        turn: Turn,
    ) -> Done {
        let visit = Some(turn.number);
        let field = Arc::clone(&self.field);
        let mut page = Progress::default();
        for file in files {
            if page.is_cut_off(&field) {
                break;
            }
            let turn = page.next_turn(turn, &field);
            let done = self.request(kinds.kind(*file), turn, visit).await;
            if let Some(unanswered) = page.add(done) {
                self.rest(unanswered).await;
            }
        }
        page.done()
    }

    /// Fetches the first alone, and then as many at a time as there are connections, as browsers
    /// do: what else there is they know when they have the first.
    pub(super) async fn fetch_in_parallel(
        &mut self,
        kinds: &Kinds,
        files: &[usize],
        turn: Turn,
    ) -> Done {
        let visit = Some(turn.number);
        let field = Arc::clone(&self.field);
        let Lane {
            client,
            others,
            log,
            iteration,
            ..
        } = self;
        let mut page = Progress::default();
        let mut left = files.iter();
        // That which was used last is used next.
        let mut free: Vec<&mut Client> = others.iter_mut().rev().chain([client]).collect();
        let mut under_way = FuturesUnordered::new();
        loop {
            let most = match page.so_far {
                None => 1,
                Some(_) => under_way.len() + free.len(),
            };
            while under_way.len() < most && !page.is_cut_off(&field) {
                let Some(file) = left.next() else { break };
                let Some(client) = free.pop() else { break };
                let kind = kinds.kind(*file);
                let turn = Turn {
                    now: None,
                    ..page.next_turn(turn, &field)
                };
                let count = count(iteration, log.user, turn.number);
                under_way.push(async move {
                    let asked = ask(client, kind, count, turn).await;
                    (asked, client)
                });
            }
            let Some((asked, client)) = under_way.next().await else {
                return page.done();
            };
            free.push(client);
            let unanswered = page.add(log.conclude(asked, visit));
            // Answers to the others are not kept waiting.
            if let Some(unanswered) = unanswered.filter(|_| under_way.is_empty()) {
                log.rest(unanswered).await;
            }
        }
    }
}

/// How far a page is.
#[derive(Default)]
struct Progress {
    /// From the beginning of its first file to the end of the last one that has ended.
    so_far: Option<Done>,
    /// Files in a row that got no answer.
    unanswered: u32,
}

impl Progress {
    /// What its next file is. Only the first of them was planned.
    fn next_turn(&self, page: Turn, field: &Field) -> Turn {
        let number = field.next_request();
        match self.so_far {
            None => Turn { number, ..page },
            Some(done) => Turn {
                number,
                planned: None,
                phase: page.phase,
                now: done.answered.then_some(done.ended),
            },
        }
    }

    /// Takes note of a file; how many before it got no answer, where it got none.
    fn add(&mut self, file: Done) -> Option<u32> {
        let started = self.so_far.map_or(file.started, |done| done.started);
        self.so_far = Some(Done { started, ..file });
        let before = self.unanswered;
        self.unanswered = if file.answered { 0 } else { before + 1 };
        (!file.answered).then_some(before)
    }

    /// The run has ended, and so long ago that the rest of the page is not waited for.
    fn is_cut_off(&self, field: &Field) -> bool {
        self.so_far.is_some_and(|done| field.is_cut_off(done.ended))
    }

    fn done(&self) -> Done {
        self.so_far
            .unwrap_or_else(|| unreachable!("a page has files"))
    }
}
