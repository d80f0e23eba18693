//! Runs side by side that take turns, so that changes of the machine affect all of them equally.
//!
//! ```text
//! test 1   prepare      run 0, run 1
//!          batch 1      run 1, run 0
//!          batch 2      run 0, run 1          the order is turned round each time: ABBA
//!          ...
//! test 2   prepare      run 1, run 0
//! ```
//!
//! A test of a run is a sequence of slots: its preparation, then batches of measured rounds, the
//! last of which also cleans up. The turn always belongs to the run that has done the fewest tests
//! and, within its test, the fewest slots. No run begins before all are ready, and none removes its
//! collection before all have measured.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::event_loop::cancel::Cancel;

/// The order of runs.
#[derive(Debug)]
pub struct Turns {
    players: Mutex<Vec<Player>>,
    changed: Notify,
    /// Added to the number of a slot, whose parity determines the first run.
    parity: usize,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Player {
    /// Before its first test.
    Coming,
    /// In this slot, or before it.
    At(TurnSlot),
    /// Ended, or without further tests.
    Gone,
}

/// A part of a test that is done in one turn. The derived order is that of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TurnSlot {
    test: usize,
    number: usize,
}

/// The part of one run in it. A run that is dropped has no more turns.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    player: usize,
}

impl Turns {
    /// Turns for this many runs side by side. With an odd `parity`, the last run prepares the first
    /// test before the others.
    pub fn among(runs: usize, parity: usize) -> Vec<Turn> {
        let turns = Arc::new(Turns {
            players: Mutex::new(vec![Player::Coming; runs]),
            changed: Notify::new(),
            parity,
        });
        let turn = |player| Turn {
            turns: Arc::clone(&turns),
            player,
        };
        (0..runs).map(turn).collect()
    }

    fn players(&self) -> MutexGuard<'_, Vec<Player>> {
        // Consistent between any two lines that change them.
        self.players.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run whose turn it is, if all are ready.
    fn now(&self, players: &[Player]) -> Option<usize> {
        if players.contains(&Player::Coming) {
            return None;
        }
        let slot = players.iter().filter_map(|player| player.slot()).min()?;
        let mut is_there = players.iter().map(|player| player.slot() == Some(slot));
        if (slot.test + slot.number + self.parity).is_multiple_of(2) {
            is_there.position(|there| there)
        } else {
            is_there.rposition(|there| there)
        }
    }
}

impl Player {
    fn slot(self) -> Option<TurnSlot> {
        match self {
            Player::At(slot) => Some(slot),
            Player::Coming | Player::Gone => None,
        }
    }
}

impl Turn {
    /// Waits for the turn of this run in a test, or for the end of the run.
    pub(crate) async fn take(&self, test: usize, cancel: &Cancel) {
        self.change(|player| match player {
            Player::At(slot) if slot.test == test => {}
            _ => *player = Player::At(TurnSlot { test, number: 0 }),
        });
        self.wait_until(cancel, |players| {
            self.turns.now(players) == Some(self.player)
        })
        .await;
    }

    /// Passes the turn on within a test.
    pub(crate) fn pass(&self) {
        self.change(|player| {
            if let Player::At(slot) = player {
                slot.number += 1;
            }
        });
    }

    /// Passes the turn on at the end of a test.
    pub(crate) fn end_test(&self, test: usize) {
        let next = TurnSlot {
            test: test + 1,
            number: 0,
        };
        self.change(|player| *player = Player::At(next));
    }

    /// Waits until all runs have done all their tests, or for the end of the run.
    pub(crate) async fn all_over(&self, cancel: &Cancel) {
        self.change(|player| *player = Player::Gone);
        let is_over = |players: &[Player]| players.iter().all(|player| *player == Player::Gone);
        self.wait_until(cancel, is_over).await;
    }

    fn change(&self, change: impl FnOnce(&mut Player)) {
        change(&mut self.turns.players()[self.player]);
        self.turns.changed.notify_waiters();
    }

    async fn wait_until(&self, cancel: &Cancel, has_come: impl Fn(&[Player]) -> bool) {
        loop {
            // Created before the check, so that no change between the two is missed.
            let changed = self.turns.changed.notified();
            if has_come(&self.turns.players()) {
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
        self.change(|player| *player = Player::Gone);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::event_loop::EventLoop;

    const TESTS: usize = 2;

    /// Plays: each run does its tests, of so many slots each, on its own thread, but for one that
    /// leaves after the first test. The result is test, slot and run.
    fn played(slots: &[usize], parity: usize, leaves: Option<usize>) -> Vec<(usize, usize, usize)> {
        let log = Mutex::new(Vec::new());
        let cancel = Cancel::default();
        thread::scope(|scope| {
            let turns = Turns::among(slots.len(), parity);
            for ((player, turn), slots) in turns.into_iter().enumerate().zip(slots) {
                let (log, cancel) = (&log, &cancel);
                scope.spawn(move || {
                    EventLoop::new().unwrap().run(async {
                        for test in 0..TESTS {
                            if leaves == Some(player) && test == 1 {
                                return;
                            }
                            for slot in 0..*slots {
                                turn.take(test, cancel).await;
                                log.lock().unwrap().push((test, slot, player));
                                if slot + 1 < *slots {
                                    turn.pass();
                                }
                            }
                            turn.end_test(test);
                        }
                        turn.all_over(cancel).await;
                    });
                    drop(turn);
                });
            }
        });
        log.into_inner().unwrap()
    }

    fn players(played: &[(usize, usize, usize)]) -> Vec<usize> {
        played.iter().map(|(_, _, player)| *player).collect()
    }

    #[test]
    fn runs_alternate_from_slot_to_slot_and_from_test_to_test() {
        let there = played(&[3, 3], 0, None);
        assert_eq!(players(&there), [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
        let in_order = there.iter().map(|(test, slot, _)| (*test, *slot));
        assert!(in_order.is_sorted());
        let back = played(&[3, 3], 1, None);
        assert_eq!(players(&back), [1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1]);
        assert_eq!(players(&played(&[1; 3], 0, None)), [0, 1, 2, 2, 1, 0]);
        assert_eq!(players(&played(&[2], 0, None)), [0, 0, 0, 0]);
    }

    #[test]
    fn a_run_with_fewer_slots_waits_at_the_next_test() {
        let found = played(&[2, 4], 0, None);
        assert_eq!(players(&found), [0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1]);
        assert!(found.iter().map(|(test, _, _)| *test).is_sorted());
    }

    #[test]
    fn nobody_waits_for_a_run_that_is_gone() {
        let found = played(&[2, 2], 0, Some(1));
        assert_eq!(players(&found), [0, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn the_end_of_the_run_ends_waiting() {
        let cancel = Cancel::default();
        // The other run never comes.
        let turns = Turns::among(2, 0);
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
