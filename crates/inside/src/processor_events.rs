//! Instructions, cycles and cache misses of a server, where the processor counts them
//! (perf_event_open(2)).
//!
//! Each initial thread has three events, which the threads and processes that it starts inherit,
//! also after their end. Where the processor has fewer counters than are in use, events take turns,
//! and their numbers are scaled to the whole time.

use std::io::{self, ErrorKind};

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use record::InsideCounts;

/// Most threads. Each has three files, and a reading of each takes about a microsecond.
const MOST_THREADS: usize = 64;

/// The events of the processor that are counted, in this order.
pub(crate) const COUNTED: [Hardware; 3] = [
    Hardware::INSTRUCTIONS,
    Hardware::CPU_CYCLES,
    Hardware::CACHE_MISSES,
];

/// Counters of the processor for the threads of a server.
pub(crate) struct ProcessorEvents {
    threads: Vec<[Counter; 3]>,
    read: [u64; 3],
    /// This user may not count events in the kernel.
    pub(crate) without_kernel: bool,
}

/// Why there are no counters.
#[derive(Debug)]
pub(crate) enum NoProcessorEvents {
    /// The machine does not have them.
    NotThere,
    /// The remedy, a sentence.
    Refused(String),
}

impl ProcessorEvents {
    /// Counters of these threads, and of all that they start.
    pub(crate) fn of<E: Event + Clone>(
        threads: &[u32],
        counted: &[E; 3],
    ) -> Result<ProcessorEvents, NoProcessorEvents> {
        let mut events = ProcessorEvents {
            threads: Vec::new(),
            read: [0; 3],
            without_kernel: false,
        };
        for &tid in threads {
            let opened = match events.thread_counters(tid, counted) {
                // An event that is refused with the kernel may be permitted without.
                Err(error) if is_refusal(&error) && events.threads.is_empty() => {
                    events.without_kernel = true;
                    events.thread_counters(tid, counted)
                }
                opened => opened,
            };
            match opened {
                Ok(opened) => events.threads.push(opened),
                // The thread has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(reason(&error)),
            }
            if threads.len() > MOST_THREADS {
                return Err(NoProcessorEvents::Refused(format!(
                    "instructions, cycles and cache misses are not counted: the server has {} threads, and reading the \
                     counters of more than {MOST_THREADS} would disturb it",
                    threads.len()
                )));
            }
        }
        Ok(events)
    }

    fn thread_counters<E: Event + Clone>(
        &self,
        tid: u32,
        counted: &[E; 3],
    ) -> io::Result<[Counter; 3]> {
        let tid = i32::try_from(tid).map_err(io::Error::other)?;
        let event = |event: &E| {
            let mut builder = Builder::new(event.clone());
            builder
                .observe_pid(tid)
                .any_cpu()
                .inherit(true)
                .enabled(true);
            builder.exclude_kernel(self.without_kernel).exclude_hv(true);
            builder.build()
        };
        let [one, two, three] = counted;
        Ok([event(one)?, event(two)?, event(three)?])
    }

    /// Adds the counts since the last reading.
    pub(crate) fn read(&mut self, counted: &mut InsideCounts) {
        let mut now = [0_u64; 3];
        for thread in &mut self.threads {
            for (sum, counter) in now.iter_mut().zip(thread) {
                *sum += scaled(counter);
            }
        }
        let counts = [
            &mut counted.instructions,
            &mut counted.cycles,
            &mut counted.cache_misses,
        ];
        for ((count, now), before) in counts.into_iter().zip(now).zip(&mut self.read) {
            // Scaled numbers may become smaller.
            *count += now.saturating_sub(*before);
            *before = now.max(*before);
        }
    }
}

/// The value of a counter, scaled to the whole time; 0 where it cannot be read.
fn scaled(counter: &mut Counter) -> u64 {
    let Ok(data) = counter.read_count_and_time() else {
        return 0;
    };
    if data.time_running == 0 || data.time_running >= data.time_enabled {
        return data.count;
    }
    let scaled = u128::from(data.count) * u128::from(data.time_enabled);
    u64::try_from(scaled / u128::from(data.time_running)).unwrap_or(u64::MAX)
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}

fn reason(error: &io::Error) -> NoProcessorEvents {
    let sentence = match error.raw_os_error() {
        _ if is_refusal(error) => {
            "run as root, or as the user of the server and with `sysctl kernel.perf_event_paranoid=2`; in a container, allow the \
             call perf_event_open (seccomp)"
        }
        Some(libc::EMFILE | libc::ENFILE) => {
            "three open files are needed for each of its threads; raise the limit with `ulimit -n`"
        }
        // Virtual machines mostly have none.
        _ => return NoProcessorEvents::NotThere,
    };
    NoProcessorEvents::Refused(format!(
        "instructions, cycles and cache misses are not counted (perf_event_open: {error}): {sentence}"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use perf_event::events::Software;

    use super::*;
    use crate::testing::shell;

    /// Events that every kernel counts, in the place of those of the processor.
    const SOFTWARE: [Software; 3] = [
        Software::TASK_CLOCK,
        Software::CONTEXT_SWITCHES,
        Software::PAGE_FAULTS,
    ];

    #[test]
    fn what_a_process_starts_is_counted_too_and_what_was_before_is_not() {
        let script = "read -r begin; sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'; read -r leave";
        let (mut shell, mut commands, _output) = shell(script);
        let mut events = match ProcessorEvents::of(&[shell.id()], &SOFTWARE) {
            Ok(events) => events,
            // A container may not let this process count anything.
            Err(why) => {
                eprintln!("skipped: {why:?}");
                shell.kill().unwrap();
                shell.wait().unwrap();
                return;
            }
        };
        commands.write_all(b"begin\n").unwrap();
        drop(commands);
        shell.wait().unwrap();
        let mut counted = InsideCounts::default();
        events.read(&mut counted);
        // The clock is in nanoseconds; a shell that counts to 20,000 needs more than a millisecond,
        // and faults for its pages.
        assert!(counted.instructions > 1_000_000, "{counted:?}");
        assert!(
            counted.cycles > 0 && counted.cache_misses > 50,
            "{counted:?}"
        );
        let mut again = InsideCounts::default();
        events.read(&mut again);
        assert_eq!(again, InsideCounts::default());
    }

    #[test]
    fn a_machine_without_counters_and_a_server_with_many_threads_have_none() {
        let this_process = std::process::id();
        let many: Vec<u32> = vec![this_process; MOST_THREADS + 1];
        let Err(NoProcessorEvents::Refused(why)) = ProcessorEvents::of(&many, &SOFTWARE) else {
            panic!("so many threads are counted");
        };
        assert!(
            why.contains("threads") || why.contains("perf_event_open"),
            "{why}"
        );
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        assert!(matches!(reason(&missing), NoProcessorEvents::NotThere));
        let refused = io::Error::from_raw_os_error(libc::EACCES);
        assert!(matches!(reason(&refused), NoProcessorEvents::Refused(_)));
    }
}
