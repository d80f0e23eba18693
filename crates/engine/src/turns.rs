//! Runs side by side that take turns, test by test, so that whatever the machine does meanwhile
//! happens to all of them alike.
//!
//! ```text
//! test 1   run 0, run 1, run 1', run 0'
//! test 2   run 1, run 0, run 0', run 1'      the order is turned round: ABBA
//! ```
//!
//! No run begins before all are ready, and none cleans up before all have measured.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::cancel::Cancel;

/// The order in which runs do their tests.
#[derive(Debug)]
pub struct Turns {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    players: Vec<Player>,
    /// Whose turn comes when: test and run.
    order: Vec<(usize, usize)>,
    /// How many of these are over.
    over: usize,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Player {
    /// It is on its way to the first test.
    Coming,
    Ready,
    /// It has ended, or will do no more tests.
    Gone,
}

/// The part of one run in it. A run that is dropped has no more turns.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    player: usize,
}

impl Turns {
    /// Turns for so many tests of `sides` servers, each of them in `repeats` runs: those of the
    /// first repeat come first, side by side.
    pub fn among(tests: usize, sides: usize, repeats: usize) -> Vec<Turn> {
        let turns = Arc::new(Turns {
            state: Mutex::new(State {
                players: vec![Player::Coming; sides * repeats],
                order: order(tests, sides, repeats),
                over: 0,
            }),
            changed: Notify::new(),
        });
        let turn = |player| Turn {
            turns: Arc::clone(&turns),
            player,
        };
        (0..sides * repeats).map(turn).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two lines that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Side 0, 1, 1, 0, ... of each test, and the other way round in the next test.
fn order(tests: usize, sides: usize, repeats: usize) -> Vec<(usize, usize)> {
    let of_test = |test: usize| {
        let of_repeat = move |repeat: usize| {
            let place = move |place: usize| match (test + repeat).is_multiple_of(2) {
                true => place,
                false => sides - 1 - place,
            };
            (0..sides).map(move |at| (test, repeat * sides + place(at)))
        };
        (0..repeats).flat_map(of_repeat)
    };
    (0..tests).flat_map(of_test).collect()
}

impl State {
    /// The turn that has come, if everybody is there.
    fn now(&mut self) -> Option<(usize, usize)> {
        if self.players.contains(&Player::Coming) {
            return None;
        }
        while let Some((_, player)) = self.order.get(self.over)
            && self.players[*player] == Player::Gone
        {
            self.over += 1;
        }
        self.order.get(self.over).copied()
    }
}

impl Turn {
    /// Waits for the turn of this run to do a test, or for the end of the run.
    pub(crate) async fn take(&self, test: usize, cancel: &Cancel) {
        let own = Some((test, self.player));
        self.turns.state().players[self.player] = Player::Ready;
        self.turns.changed.notify_waiters();
        self.wait_until(cancel, |state| state.now() == own).await;
    }

    /// Gives the turn on; does nothing where it is not ours.
    pub(crate) fn pass(&self, test: usize) {
        let mut state = self.turns.state();
        if state.now() == Some((test, self.player)) {
            state.over += 1;
        }
        drop(state);
        self.turns.changed.notify_waiters();
    }

    /// Waits until all runs have done all their tests, or for the end of the run.
    pub(crate) async fn all_over(&self, cancel: &Cancel) {
        self.leave();
        let is_over =
            |state: &mut State| state.players.iter().all(|player| *player == Player::Gone);
        self.wait_until(cancel, is_over).await;
    }

    /// This run has no more turns.
    fn leave(&self) {
        self.turns.state().players[self.player] = Player::Gone;
        self.turns.changed.notify_waiters();
    }

    async fn wait_until(&self, cancel: &Cancel, has_come: impl Fn(&mut State) -> bool) {
        loop {
            // Made before the look, so that no change between the two is missed.
            let changed = self.turns.changed.notified();
            if has_come(&mut self.turns.state()) {
                return;
            }
            tokio::select! {
                () = changed => {}
                () = cancel.cancelled() => return,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::event_loop::EventLoop;

    #[test]
    fn sides_alternate_from_repeat_to_repeat_and_from_test_to_test() {
        let players = |test: usize| -> Vec<usize> {
            let of_test = order(3, 2, 2).into_iter().filter(|(at, _)| *at == test);
            of_test.map(|(_, player)| player).collect()
        };
        // Runs 0 and 2 are of the first server, 1 and 3 of the second.
        assert_eq!(players(0), [0, 1, 3, 2]);
        assert_eq!(players(1), [1, 0, 2, 3]);
        assert_eq!(players(2), [0, 1, 3, 2]);
        assert_eq!(order(1, 3, 1), [(0, 0), (0, 1), (0, 2)]);
    }

    /// Plays: each run does its tests on a thread of its own, but for one that leaves early.
    fn played(sides: usize, repeats: usize, leaves: Option<usize>) -> Vec<(usize, usize)> {
        const TESTS: usize = 3;
        let log = Mutex::new(Vec::new());
        let cancel = Cancel::default();
        thread::scope(|scope| {
            for (player, turn) in Turns::among(TESTS, sides, repeats).into_iter().enumerate() {
                let (log, cancel) = (&log, &cancel);
                scope.spawn(move || {
                    EventLoop::new().unwrap().run(async {
                        for test in 0..TESTS {
                            if leaves == Some(player) && test == 1 {
                                return;
                            }
                            turn.take(test, cancel).await;
                            log.lock().unwrap().push((test, player));
                            turn.pass(test);
                        }
                        turn.all_over(cancel).await;
                        assert!(log.lock().unwrap().len() >= TESTS * (sides * repeats - 1));
                    });
                    drop(turn);
                });
            }
        });
        log.into_inner().unwrap()
    }

    #[test]
    fn runs_keep_to_their_turns() {
        assert_eq!(played(2, 3, None), order(3, 2, 3));
        assert_eq!(played(1, 1, None), order(3, 1, 1));
        // Nobody waits for one that is gone.
        let expected: Vec<_> = order(3, 2, 2)
            .into_iter()
            .filter(|(test, player)| *player != 1 || *test == 0)
            .collect();
        assert_eq!(played(2, 2, Some(1)), expected);
    }

    #[test]
    fn the_end_of_the_run_ends_waiting() {
        let cancel = Cancel::default();
        // The other run never comes.
        let turns = Turns::among(1, 2, 1);
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                EventLoop::new().unwrap().run(async {
                    turns[1].take(0, &cancel).await;
                });
            });
            cancel.cancel();
            waits.join().unwrap();
        });
    }
}
