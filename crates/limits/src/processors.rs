//! Assignment of threads and servers to processors.
//!
//! The system's placement of a server beside the worker thread determines about a third of a short
//! response time (measured: nginx with itself, on two processors), and differs for every process.
//! So servers that are compared are kept to the same processors, and the worker threads to others.

use record::Processors;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Divides the processors that this process may use: one for a worker thread, the others for
/// servers. Each is the worker's in turn, by `number`. `None` if there is only one, or if the
/// system does not list them.
pub fn divide(number: u32) -> Option<Processors> {
    divided(&usable().ok()?, number)
}

fn divided(usable: &[u32], number: u32) -> Option<Processors> {
    let count = u32::try_from(usable.len())
        .ok()
        .filter(|count| *count > 1)?;
    let worker = usable[(number % count) as usize];
    Some(Processors {
        worker: vec![worker],
        server: usable
            .iter()
            .copied()
            .filter(|other| *other != worker)
            .collect(),
    })
}

/// Runs `work` with the current thread, and everything that it starts, kept to these processors; to
/// all if none are given. A processor that went offline does not prevent it.
pub fn kept_to<T>(processors: &[u32], work: impl FnOnce() -> T) -> T {
    let before = if processors.is_empty() {
        None
    } else {
        sched_getaffinity(None).ok()
    };
    let Some(before) = before else { return work() };
    let mut set = CpuSet::new();
    for processor in processors {
        set.set(*processor as usize);
    }
    // An error leaves the thread where it was.
    let _ = sched_setaffinity(None, &set);
    let done = work();
    let _ = sched_setaffinity(None, &before);
    done
}

/// The processors that the current thread may use, ascending.
fn usable() -> Result<Vec<u32>, Errno> {
    let set = sched_getaffinity(None)?;
    let all = (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor));
    Ok(all
        .filter_map(|processor| u32::try_from(processor).ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_has_its_turn_and_none_is_in_both() {
        for number in 0..6 {
            let Processors { worker, server } = divided(&[2, 5, 7], number).unwrap();
            assert_eq!((worker.len(), server.len()), (1, 2));
            assert!(!server.contains(&worker[0]));
            assert_eq!(worker[0], [2, 5, 7][number as usize % 3]);
        }
        assert_eq!(divided(&[3], 0), None);
    }

    #[test]
    fn a_thread_and_what_it_starts_are_kept_there_and_let_go() {
        let all = usable().unwrap();
        let last = *all.last().unwrap();
        let (during, started) = kept_to(&[last], || {
            let started = std::thread::spawn(|| usable().unwrap());
            (usable().unwrap(), started.join().unwrap())
        });
        assert_eq!((during, started), (vec![last], vec![last]));
        assert_eq!(usable().unwrap(), all);
        // A missing processor.
        assert_eq!(kept_to(&[1023], || usable().unwrap()), all);
        assert_eq!(kept_to(&[], || usable().unwrap()), all);
    }
}
