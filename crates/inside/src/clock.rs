//! The clock of a process, which counts the processor time of its threads.

use std::mem::MaybeUninit;

use record::Nanos;

#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessClock(libc::clockid_t);

impl ProcessClock {
    /// The clock of a process; `None` if the process does not exist.
    pub(crate) fn of(pid: u32) -> Option<ProcessClock> {
        let pid = libc::pid_t::try_from(pid).ok()?;
        let mut clock = 0;
        // SAFETY: the call writes one clockid_t to its second argument, a local variable.
        let status = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
        (status == 0).then_some(ProcessClock(clock))
    }

    /// Processor time of all threads that the process has or had; `None` when it has ended.
    pub(crate) fn read(self) -> Option<Nanos> {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the call writes one timespec to its second argument, a local variable.
        let status = unsafe { libc::clock_gettime(self.0, time.as_mut_ptr()) };
        if status != 0 {
            return None;
        }
        // SAFETY: a call that succeeds has written all of it.
        let time = unsafe { time.assume_init() };
        let seconds = Nanos::try_from(time.tv_sec).ok()?;
        Some(seconds * 1_000_000_000 + Nanos::try_from(time.tv_nsec).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_this_process_goes_on_and_that_of_nobody_does_not() {
        let clock = ProcessClock::of(std::process::id()).expect("this process is there");
        let before = clock.read().expect("it has a clock");
        let mut sum = 0_u64;
        while clock.read().is_some_and(|now| now < before + 1_000_000) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
        // Beyond the largest number of a process.
        let missing = ProcessClock::of(5_000_000);
        assert!(missing.is_none_or(|clock| clock.read().is_none()));
    }
}
