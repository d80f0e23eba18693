//! The event loop of one worker thread: its tasks, their descriptors and their moments.
//!
//! ```text
//! epoll --> descriptors that are ready --.
//!       --> moments that have come ------+--> wakers --> tasks, each polled once --> epoll
//!       --> post from other threads -----'
//! ```
//!
//! This implementation exists because it lies on the measured path, and because that path is one
//! thread's: no task ever moves to another thread, so that nothing between a packet and its task is
//! locked. A general event loop of one thread (tokio's) took 0.7 us of the 9 that a request costs.

mod alarms;
pub(crate) mod cancel;
mod mailbox;
pub(crate) mod patience;
mod source;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::mem::take;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use record::Nanos;
use rustix::event::epoll::{self, CreateFlags, Event, EventFlags};
use rustix::io::Errno;

use alarms::{Alarm, Alarms};
use mailbox::{Mailbox, TaskWaker};
use source::Sources;

pub(crate) use source::Source;

use crate::clock::{is_simulated, monotonic, nanos};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// The task that [`EventLoop::run`] was called with.
const MAIN: usize = 0;

/// A task beside the main one.
type Work = Pin<Box<dyn Future<Output = ()>>>;

pub(crate) struct EventLoop {
    core: Rc<Core>,
    main: Waker,
    events: RefCell<Vec<Event>>,
}

/// State shared by the tasks, descriptors and timers of an event loop.
struct Core {
    epoll: OwnedFd,
    tasks: RefCell<Vec<TaskSlot>>,
    /// Tasks to poll.
    ready: RefCell<VecDeque<usize>>,
    sources: Sources,
    alarms: Alarms,
    mailbox: Arc<Mailbox>,
    spawned: Spawned,
}

/// A slot for a task. It is not reused: tasks are many at the start of a run, and none later.
struct TaskSlot {
    is_ready: bool,
    /// Absent while it is polled, when it has ended, and always for the main task.
    task: Option<Task>,
}

struct Task {
    work: Work,
    waker: Waker,
}

/// State of the tasks beside the main one.
#[derive(Default)]
struct Spawned {
    alive: Cell<usize>,
    /// Messages of tasks that panicked.
    lost: RefCell<Vec<String>>,
    waiting: RefCell<Option<Waker>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Core>>> = const { RefCell::new(None) };
}

impl EventLoop {
    /// # Errors
    /// The process may open no more descriptors.
    pub(crate) fn new() -> io::Result<EventLoop> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let core = Rc::new(Core {
            tasks: RefCell::new(vec![TaskSlot {
                is_ready: false,
                task: None,
            }]),
            ready: RefCell::default(),
            sources: Sources::default(),
            alarms: Alarms::new(&epoll)?,
            mailbox: Arc::new(Mailbox::new(&epoll)?),
            spawned: Spawned::default(),
            epoll,
        });
        Ok(EventLoop {
            main: core.waker(MAIN),
            core,
            events: RefCell::new(Vec::with_capacity(EVENTS)),
        })
    }

    /// Runs `main`, and meanwhile everything that is [spawned](spawn). Unfinished tasks stay until
    /// the next call.
    ///
    /// # Panics
    /// Within another event loop of this thread.
    pub(crate) fn run<T>(&self, main: impl Future<Output = T>) -> T {
        let _entered = Entered::new(&self.core);
        let mut main = pin!(main);
        self.core.make_ready(MAIN);
        loop {
            // Tasks that become ready meanwhile run after the next check of the descriptors.
            let due = self.core.ready.borrow().len();
            for _ in 0..due {
                match self.core.next_ready() {
                    Some(MAIN) => {
                        let mut context = Context::from_waker(&self.main);
                        if let Poll::Ready(done) = main.as_mut().poll(&mut context) {
                            return done;
                        }
                    }
                    Some(task) => self.core.poll(task),
                    None => break,
                }
            }
            self.core.wait(&mut self.events.borrow_mut());
        }
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        // Tasks refer to the core, which refers to them.
        let tasks = take(&mut *self.core.tasks.borrow_mut());
        drop(tasks);
    }
}

/// Its event loop is the one of this thread while this lives.
struct Entered;

impl Entered {
    fn new(core: &Rc<Core>) -> Entered {
        let before = CURRENT.replace(Some(Rc::clone(core)));
        assert!(before.is_none(), "an event loop runs in another one");
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl Core {
    fn current() -> Rc<Core> {
        let current = CURRENT.with_borrow(Option::clone);
        current.unwrap_or_else(|| unreachable!("this is only called by tasks of an event loop"))
    }

    fn waker(&self, task: usize) -> Waker {
        let mailbox = Arc::clone(&self.mailbox);
        Waker::from(Arc::new(TaskWaker { task, mailbox }))
    }

    fn make_ready(&self, task: usize) {
        if let Some(slot) = self.tasks.borrow_mut().get_mut(task)
            && !slot.is_ready
        {
            slot.is_ready = true;
            self.ready.borrow_mut().push_back(task);
        }
    }

    fn next_ready(&self) -> Option<usize> {
        let task = self.ready.borrow_mut().pop_front()?;
        if let Some(slot) = self.tasks.borrow_mut().get_mut(task) {
            slot.is_ready = false;
        }
        Some(task)
    }

    fn poll(&self, index: usize) {
        let mut tasks = self.tasks.borrow_mut();
        let task = tasks.get_mut(index).and_then(|slot| slot.task.take());
        drop(tasks);
        // Waking a task that has ended has no effect.
        let Some(mut task) = task else { return };
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let mut context = Context::from_waker(&task.waker);
            task.work.as_mut().poll(&mut context)
        }));
        let lost = match polled {
            Ok(Poll::Pending) => {
                if let Some(slot) = self.tasks.borrow_mut().get_mut(index) {
                    slot.task = Some(task);
                }
                return;
            }
            Ok(Poll::Ready(())) => None,
            Err(panic) => Some(panic_message(&*panic)),
        };
        drop(task);
        self.spawned.ended(lost);
    }

    /// Waits until a task is ready, unless one is.
    fn wait(&self, events: &mut Vec<Event>) {
        let at_once = rustix::event::Timespec::default();
        let is_simulated = is_simulated();
        let limit = (is_simulated || !self.ready.borrow().is_empty()).then_some(&at_once);
        if !is_simulated {
            self.alarms.set();
        }
        events.clear();
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => unreachable!("the descriptor is epoll's and open: {error}"),
        }
        for event in &*events {
            self.dispatch(event.data.u64(), event.flags);
        }
        #[cfg(test)]
        if is_simulated && events.is_empty() && self.ready.borrow().is_empty() {
            self.alarms.go_on_to_the_first();
        }
    }

    fn dispatch(&self, token: u64, flags: EventFlags) {
        match token {
            alarms::TOKEN => self.alarms.ring(),
            mailbox::TOKEN => self.mailbox.collect(|task| self.make_ready(task)),
            source => self.sources.set_ready(source, flags),
        }
    }
}

impl Spawned {
    fn ended(&self, lost: Option<String>) {
        self.alive.set(self.alive.get() - 1);
        self.lost.borrow_mut().extend(lost);
        if let Some(waker) = self.waiting.borrow_mut().take() {
            waker.wake();
        }
    }
}

pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").to_owned()
}

/// Adds a task to the event loop of this thread.
pub(crate) fn spawn(work: impl Future<Output = ()> + 'static) {
    let core = Core::current();
    let index = core.tasks.borrow().len();
    let task = Task {
        work: Box::pin(work),
        waker: core.waker(index),
    };
    core.tasks.borrow_mut().push(TaskSlot {
        is_ready: false,
        task: Some(task),
    });
    core.spawned.alive.set(core.spawned.alive.get() + 1);
    core.make_ready(index);
}

/// Waits until a [spawned](spawn) task is lost by a panic, and returns its message; `None` when all
/// have ended.
pub(crate) async fn next_lost() -> Option<String> {
    let core = Core::current();
    std::future::poll_fn(|context| {
        let spawned = &core.spawned;
        if let Some(lost) = spawned.lost.borrow_mut().pop() {
            return Poll::Ready(Some(lost));
        }
        if spawned.alive.get() == 0 {
            return Poll::Ready(None);
        }
        *spawned.waiting.borrow_mut() = Some(context.waker().clone());
        Poll::Pending
    })
    .await
}

/// Lets other tasks run.
pub(crate) async fn yield_now() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Waits for this time, to some microseconds.
pub(crate) async fn sleep(time: Duration) {
    sleep_until(monotonic().saturating_add(nanos(time))).await;
}

/// Waits until the [monotonic] clock has reached a moment.
pub(crate) async fn sleep_until(moment: Nanos) {
    Alarm::new(Core::current(), moment).await;
}

/// Runs `work` for this time; `None` if it is not done then.
pub(crate) async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut alarm = pin!(sleep(time));
    std::future::poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        alarm.as_mut().poll(context).map(|()| None)
    })
    .await
}
