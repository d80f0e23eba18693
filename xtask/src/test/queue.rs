//! The queue of tests.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Requirements of a test, by the modules that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueGroup {
    /// In a module `quiet`: it measures the speed of this machine, and runs alone.
    Quiet,
    /// In a module `laboratory`: it needs a thread of real-time priority, one at a time.
    Laboratory,
    /// Any other module.
    Beside,
}

impl QueueGroup {
    pub(crate) fn of(name: &str) -> QueueGroup {
        let is_in = |module: &str| name.rsplit("::").skip(1).any(|part| part == module);
        if is_in("quiet") {
            QueueGroup::Quiet
        } else if is_in("laboratory") {
            QueueGroup::Laboratory
        } else {
            QueueGroup::Beside
        }
    }
}

/// Tests that have not begun, and the number of running ones.
#[derive(Debug)]
pub(crate) struct TestQueue<T> {
    quiet: VecDeque<T>,
    laboratories: VecDeque<T>,
    beside: VecDeque<T>,
    running: usize,
    /// A quiet test runs.
    is_quiet: bool,
    /// A laboratory exists.
    has_laboratory: bool,
}

/// The next action of a free slot.
#[derive(Debug, PartialEq, Eq)]
enum NextTest<T> {
    /// Run this test, and call [`TestQueue::ended`].
    Now(T, QueueGroup),
    /// Try again when another test has ended.
    Later,
    /// No tests are left.
    None,
}

impl<T> TestQueue<T> {
    pub(crate) fn new(tests: Vec<T>, group: impl Fn(&T) -> QueueGroup) -> TestQueue<T> {
        let mut queue = TestQueue {
            quiet: VecDeque::new(),
            laboratories: VecDeque::new(),
            beside: VecDeque::new(),
            running: 0,
            is_quiet: false,
            has_laboratory: false,
        };
        for test in tests {
            queue.waiting(group(&test)).push_back(test);
        }
        queue
    }

    fn waiting(&mut self, group: QueueGroup) -> &mut VecDeque<T> {
        match group {
            QueueGroup::Quiet => &mut self.quiet,
            QueueGroup::Laboratory => &mut self.laboratories,
            QueueGroup::Beside => &mut self.beside,
        }
    }

    /// Quiet tests come first, when nothing else runs; then laboratories, which would otherwise run
    /// one by one at the end.
    fn next(&mut self) -> NextTest<T> {
        if self.is_quiet {
            return NextTest::Later;
        }
        if self.running == 0
            && let Some(test) = self.quiet.pop_front()
        {
            self.is_quiet = true;
            return self.begin(test, QueueGroup::Quiet);
        }
        if !self.has_laboratory
            && let Some(test) = self.laboratories.pop_front()
        {
            self.has_laboratory = true;
            return self.begin(test, QueueGroup::Laboratory);
        }
        match self.beside.pop_front() {
            Some(test) => self.begin(test, QueueGroup::Beside),
            None if self.quiet.is_empty() && self.laboratories.is_empty() => NextTest::None,
            None => NextTest::Later,
        }
    }

    fn begin(&mut self, test: T, group: QueueGroup) -> NextTest<T> {
        self.running += 1;
        NextTest::Now(test, group)
    }

    /// A test of this group has ended.
    fn ended(&mut self, group: QueueGroup) {
        self.running -= 1;
        match group {
            QueueGroup::Quiet => self.is_quiet = false,
            QueueGroup::Laboratory => self.has_laboratory = false,
            QueueGroup::Beside => {}
        }
    }
}

/// A queue from which several slots take tests.
#[derive(Debug)]
pub(crate) struct SharedQueue<T> {
    queue: Mutex<TestQueue<T>>,
    freed: Condvar,
}

/// The slot of a running test; dropping it, even by a panic, lets others begin.
#[derive(Debug)]
pub(crate) struct OccupiedSlot<'a, T> {
    shared: &'a SharedQueue<T>,
    group: QueueGroup,
}

impl<T> SharedQueue<T> {
    pub(crate) fn new(queue: TestQueue<T>) -> SharedQueue<T> {
        SharedQueue {
            queue: Mutex::new(queue),
            freed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TestQueue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a test that may run; `None` if there is none left.
    pub(crate) fn begin(&self) -> Option<(T, OccupiedSlot<'_, T>)> {
        let mut queue = self.lock();
        loop {
            match queue.next() {
                NextTest::Now(test, group) => {
                    let shared = self;
                    return Some((test, OccupiedSlot { shared, group }));
                }
                NextTest::Later => {
                    let woken = self.freed.wait(queue);
                    queue = woken.unwrap_or_else(PoisonError::into_inner);
                }
                NextTest::None => return None,
            }
        }
    }

    /// Lets no further test begin.
    pub(crate) fn abandon(&self) {
        let mut queue = self.lock();
        queue.quiet.clear();
        queue.laboratories.clear();
        queue.beside.clear();
    }
}

impl<T> Drop for OccupiedSlot<'_, T> {
    fn drop(&mut self) {
        self.shared.lock().ended(self.group);
        self.shared.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueGroup::{Beside, Laboratory, Quiet};

    #[test]
    fn groups_are_modules() {
        let table = [
            ("laboratory::links::a_rate_is_kept", Laboratory),
            ("laboratory::links::quiet::a_rate_is_kept", Quiet),
            ("command::lab::a_laboratory::quietly::laboratory", Beside),
            ("quiet", Beside),
        ];
        for (name, group) in table {
            assert_eq!(QueueGroup::of(name), group, "{name}");
        }
    }

    #[test]
    fn quiet_tests_are_alone_and_laboratories_one_at_a_time() {
        let groups = [Beside, Laboratory, Quiet, Laboratory, Beside];
        let tests = ["a", "b", "c", "d", "e"].into_iter().zip(groups);
        let mut queue = TestQueue::new(tests.collect(), |(_, group)| *group);
        let mut next = |ended: Option<QueueGroup>| {
            if let Some(group) = ended {
                queue.ended(group);
            }
            match queue.next() {
                NextTest::Now((name, _), _) => name,
                NextTest::Later => "later",
                NextTest::None => "none",
            }
        };
        assert_eq!(next(None), "c");
        assert_eq!(next(None), "later", "a quiet test is alone");
        assert_eq!(next(Some(Quiet)), "b");
        assert_eq!(next(None), "a", "there is a laboratory");
        assert_eq!(next(None), "e");
        assert_eq!(next(None), "later");
        assert_eq!(next(Some(Beside)), "later", "there still is a laboratory");
        assert_eq!(next(Some(Laboratory)), "d");
        assert_eq!(next(Some(Laboratory)), "none");
    }

    #[test]
    fn a_quiet_test_waits_until_nothing_runs() {
        let mut queue = TestQueue::new(vec![Beside, Quiet], |group| *group);
        assert_eq!(queue.next(), NextTest::Now(Quiet, Quiet));
        queue.quiet.push_back(Quiet);
        queue.ended(Quiet);
        queue.running = 1;
        assert_eq!(queue.next(), NextTest::Now(Beside, Beside));
        assert_eq!(queue.next(), NextTest::Later);
        queue.ended(Beside);
        queue.ended(Beside);
        assert_eq!(queue.next(), NextTest::Now(Quiet, Quiet));
    }

    #[test]
    fn a_slot_that_panics_or_abandons_keeps_nobody_waiting() {
        let queue = SharedQueue::new(TestQueue::new(vec![Quiet, Quiet, Beside], |group| *group));
        let (first, slot) = queue.begin().unwrap();
        assert_eq!(first, Quiet);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.begin().map(|(test, _)| test));
            let panics = scope.spawn(|| {
                let _slot = slot;
                std::panic::resume_unwind(Box::new(()));
            });
            assert!(panics.join().is_err());
            assert_eq!(waiting.join().unwrap(), Some(Quiet));
        });
        queue.abandon();
        assert!(queue.begin().is_none());
    }
}
