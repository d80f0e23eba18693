use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use super::*;
use crate::clock::simulated::SimulatedTime;

fn event_loop() -> EventLoop {
    EventLoop::new().unwrap()
}

const fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Two ends of a connection, the first of them in the event loop.
fn pair() -> (Source, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (Source::new(OwnedFd::from(ours)).unwrap(), theirs)
}

fn read(source: &Source) -> rustix::io::Result<usize> {
    rustix::io::read(source.fd(), &mut [0; 16])
}

#[test]
fn alarms_ring_in_order_and_never_too_early() {
    let rung = Rc::new(RefCell::new(Vec::new()));
    event_loop().run(async {
        for time in [30, 5, 0, 12, 5] {
            let rung = Rc::clone(&rung);
            spawn(async move {
                let begun = Instant::now();
                sleep(ms(time)).await;
                assert!(begun.elapsed() >= ms(time));
                rung.borrow_mut().push(time);
            });
        }
        assert_eq!(next_lost().await, None);
    });
    assert_eq!(*rung.borrow(), [0, 5, 5, 12, 30]);
}

#[test]
fn simulated_alarms_ring_at_their_moments() {
    let _time = SimulatedTime::begin();
    let begun = monotonic();
    let rung = Rc::new(RefCell::new(Vec::new()));
    event_loop().run(async {
        for time in [3_600_000, 5, 0, 12, 5] {
            let rung = Rc::clone(&rung);
            spawn(async move {
                sleep(ms(time)).await;
                rung.borrow_mut().push((time, monotonic() - begun));
            });
        }
        assert_eq!(next_lost().await, None);
    });
    let expected = [0, 5, 5, 12, 3_600_000].map(|time| (time, nanos(ms(time))));
    assert_eq!(*rung.borrow(), expected);
}

#[test]
fn an_alarm_that_nobody_waits_for_any_more_is_forgotten() {
    let event_loop = event_loop();
    event_loop.run(async {
        let never = within(ms(5), sleep(Duration::from_secs(100))).await;
        assert_eq!(never, None);
        let once = within(Duration::from_secs(100), async { 7 }).await;
        assert_eq!(once, Some(7));
        // The timer is still set to the alarm of the first; later and earlier ones have to ring all
        // the same.
        for time in [20, 1] {
            sleep(ms(time)).await;
        }
    });
    assert!(event_loop.core.alarms.is_empty());
}

#[test]
fn what_is_there_what_comes_and_the_end_are_reported() {
    let _time = SimulatedTime::begin();
    event_loop().run(async {
        let (source, mut other) = pair();
        other.write_all(b"early").unwrap();
        source.readable().await;
        assert_eq!(read(&source), Ok(5));
        source.is_drained();
        assert!(!source.is_readable());
        spawn(async move {
            sleep(ms(5)).await;
            other.write_all(b"late").unwrap();
            sleep(ms(5)).await;
        });
        source.readable().await;
        assert_eq!(read(&source), Ok(4));
        source.is_drained();
        source.readable().await;
        assert_eq!(read(&source), Ok(0));
        source.is_drained();
        // The end is permanent.
        source.readable().await;
    });
}

#[test]
fn an_end_that_comes_with_the_last_bytes_is_not_lost() {
    event_loop().run(async {
        let (source, mut other) = pair();
        other.write_all(b"last words").unwrap();
        drop(other);
        source.readable().await;
        assert_eq!(read(&source), Ok(10));
        source.is_drained();
        source.readable().await;
        assert_eq!(read(&source), Ok(0));
    });
}

#[test]
fn a_writer_waits_for_room() {
    event_loop().run(async {
        let (source, mut other) = pair();
        let full = vec![0; 1 << 16];
        let mut written = 0;
        while let Ok(count) = rustix::io::write(source.fd(), &full) {
            written += count;
        }
        let mut writable = pin!(source.writable());
        assert!(within(ms(10), writable.as_mut()).await.is_none());
        let reader = std::thread::spawn(move || {
            other.read_exact(&mut vec![0; written]).unwrap();
            other
        });
        writable.await.unwrap();
        // It is still open, and has sent nothing.
        let _other = reader.join().unwrap();
        assert!(rustix::io::write(source.fd(), b"more").is_ok() && !source.is_readable());
    });
}

#[test]
fn another_thread_wakes_a_task() {
    const ROUNDS: u32 = 1000;
    let (sender, receiver) = mpsc::channel::<Waker>();
    let is_over = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&is_over);
    let other = std::thread::spawn(move || {
        // One at a time, each after the last was received.
        for _ in 1..ROUNDS {
            receiver.recv().unwrap().wake();
        }
        // And many at once.
        let last = receiver.recv().unwrap();
        raised.store(true, Ordering::SeqCst);
        (0..ROUNDS).for_each(|_| last.wake_by_ref());
    });
    let mut polls = 0;
    let woken = std::future::poll_fn(|context| {
        polls += 1;
        let _ = sender.send(context.waker().clone());
        if is_over.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let woken_up = event_loop().run(within(Duration::from_secs(60), woken));
    assert_eq!(woken_up, Some(()), "a call was lost after {polls}");
    other.join().unwrap();
    assert!((ROUNDS..=2 * ROUNDS).contains(&polls), "{polls}");
}

#[test]
fn a_task_that_panics_is_reported_and_the_others_go_on() {
    let done = Rc::new(Cell::new(0));
    let event_loop = event_loop();
    event_loop.run(async {
        for number in 0..5 {
            let done = Rc::clone(&done);
            spawn(async move {
                yield_now().await;
                assert_ne!(number, 3, "three is too many");
                done.set(done.get() + 1);
            });
        }
        let lost = next_lost().await.unwrap();
        assert!(lost.contains("three is too many"), "{lost}");
        assert_eq!(next_lost().await, None);
    });
    assert_eq!(done.get(), 4);
    // It can be used again.
    assert_eq!(event_loop.run(async { 5 }), 5);
}

#[test]
fn a_panic_of_the_main_task_leaves_the_thread_usable() {
    let panicked = catch_unwind(|| event_loop().run(async { panic!("out") }));
    assert!(panicked.is_err());
    event_loop().run(sleep(ms(1)));
}

#[test]
fn what_is_not_done_is_dropped_with_the_event_loop() {
    let held = Rc::new(());
    let event_loop = event_loop();
    let core = Rc::downgrade(&event_loop.core);
    event_loop.run(async {
        let held = Rc::clone(&held);
        spawn(async move {
            let (_source, _other) = pair();
            sleep(Duration::from_secs(100)).await;
            drop(held);
        });
        yield_now().await;
    });
    assert_eq!(Rc::strong_count(&held), 2);
    drop(event_loop);
    assert_eq!(Rc::strong_count(&held), 1);
    assert_eq!(core.strong_count(), 0);
}

#[test]
fn a_busy_task_does_not_keep_descriptors_waiting() {
    event_loop().run(async {
        let (source, mut other) = pair();
        let is_over = Rc::new(Cell::new(false));
        let seen = Rc::clone(&is_over);
        spawn(async move {
            while !seen.get() {
                yield_now().await;
            }
        });
        // The other task has been polled meanwhile, and is running.
        for _ in 0..10 {
            yield_now().await;
        }
        other.write_all(b"!").unwrap();
        source.readable().await;
        is_over.set(true);
        assert_eq!(next_lost().await, None);
    });
}

#[test]
fn descriptors_come_and_go() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    event_loop().run(async {
        for _ in 0..3 {
            let mut open = Vec::new();
            for _ in 0..50 {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_nonblocking(true).unwrap();
                let other = listener.accept().unwrap().0;
                open.push((Source::new(stream.into()).unwrap(), other));
                if open.len() % 3 == 0 {
                    open.swap_remove(0);
                }
            }
            for (index, (source, other)) in open.iter_mut().enumerate() {
                other.write_all(&vec![b'x'; index % 7 + 1]).unwrap();
                source.readable().await;
                assert_eq!(read(source), Ok(index % 7 + 1));
                source.is_drained();
            }
        }
    });
}
