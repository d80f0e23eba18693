//! Which test runs next.

use std::collections::VecDeque;

/// What a test needs of the machine, by the modules that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueueGroup {
    /// In a module `quiet`: it judges times, and nothing else runs meanwhile.
    Quiet,
    /// In a module `lab`: it has a laboratory with a thread of real-time priority, one at a time.
    Lab,
    /// Anything else.
    Beside,
}

impl QueueGroup {
    pub(crate) fn of(name: &str) -> QueueGroup {
        let is_in = |module: &str| name.rsplit("::").skip(1).any(|part| part == module);
        if is_in("quiet") {
            QueueGroup::Quiet
        } else if is_in("lab") {
            QueueGroup::Lab
        } else {
            QueueGroup::Beside
        }
    }
}

/// The tests that have not begun, and how many run.
#[derive(Debug)]
pub(crate) struct TestQueue<T> {
    quiet: VecDeque<T>,
    lab: VecDeque<T>,
    beside: VecDeque<T>,
    running: usize,
    /// A quiet test runs.
    is_quiet: bool,
    /// A laboratory exists.
    has_lab: bool,
}

/// What a free slot does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextTest<T> {
    /// Run this, and tell [`TestQueue::ended`].
    Now(T, QueueGroup),
    /// Ask again when another test has ended.
    Later,
    /// There is nothing left.
    None,
}

impl<T> TestQueue<T> {
    pub(crate) fn new(tests: Vec<T>, group: impl Fn(&T) -> QueueGroup) -> TestQueue<T> {
        let mut queue = TestQueue {
            quiet: VecDeque::new(),
            lab: VecDeque::new(),
            beside: VecDeque::new(),
            running: 0,
            is_quiet: false,
            has_lab: false,
        };
        for test in tests {
            queue.waiting(group(&test)).push_back(test);
        }
        queue
    }

    fn waiting(&mut self, group: QueueGroup) -> &mut VecDeque<T> {
        match group {
            QueueGroup::Quiet => &mut self.quiet,
            QueueGroup::Lab => &mut self.lab,
            QueueGroup::Beside => &mut self.beside,
        }
    }

    /// Quiet tests come first, when nothing has to be waited for; then laboratories, of which a long row would
    /// be left at the end.
    pub(crate) fn next(&mut self) -> NextTest<T> {
        if self.is_quiet {
            return NextTest::Later;
        }
        if self.running == 0
            && let Some(test) = self.quiet.pop_front()
        {
            self.is_quiet = true;
            return self.begin(test, QueueGroup::Quiet);
        }
        if !self.has_lab
            && let Some(test) = self.lab.pop_front()
        {
            self.has_lab = true;
            return self.begin(test, QueueGroup::Lab);
        }
        match self.beside.pop_front() {
            Some(test) => self.begin(test, QueueGroup::Beside),
            None if self.quiet.is_empty() && self.lab.is_empty() => NextTest::None,
            None => NextTest::Later,
        }
    }

    fn begin(&mut self, test: T, group: QueueGroup) -> NextTest<T> {
        self.running += 1;
        NextTest::Now(test, group)
    }

    /// A test of this group has ended.
    pub(crate) fn ended(&mut self, group: QueueGroup) {
        self.running -= 1;
        match group {
            QueueGroup::Quiet => self.is_quiet = false,
            QueueGroup::Lab => self.has_lab = false,
            QueueGroup::Beside => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueGroup::{Beside, Lab, Quiet};

    #[test]
    fn groups_are_modules() {
        let table = [
            ("lab::links::a_rate_is_kept", Lab),
            ("load::quiet::a_rate_is_kept", Quiet),
            ("a_lab::quietly::lab", Beside),
            ("quiet", Beside),
        ];
        for (name, group) in table {
            assert_eq!(QueueGroup::of(name), group, "{name}");
        }
    }

    #[test]
    fn quiet_tests_are_alone_and_laboratories_one_at_a_time() {
        let tests = vec![
            ("a", Beside),
            ("b", Lab),
            ("c", Quiet),
            ("d", Lab),
            ("e", Beside),
        ];
        let mut queue = TestQueue::new(tests, |(_, group)| *group);
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
        assert_eq!(next(Some(Lab)), "d");
        assert_eq!(next(Some(Lab)), "none");
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
}
