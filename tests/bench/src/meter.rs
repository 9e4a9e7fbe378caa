//! Processor time of threads and processes.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The processor time of this thread so far, user and system; other load on the machine does not count.
///
/// Not from `getrusage`, which Linux updates at its ticks only, every 4 ms for a thread that does not pause.
///
/// # Errors
/// When the system does not tell.
pub fn processor_time() -> nix::Result<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from)
}

/// The processor time of all threads of a process so far, user and system; `None` without `/proc`.
pub fn processor_time_of(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name, in parentheses, may contain spaces. After it, the 12th and 13th fields are the two times,
    // in hundredths of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Option<u64> =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum();
    ticks.map(|ticks| Duration::from_millis(10 * ticks))
}
