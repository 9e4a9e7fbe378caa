//! What threads and processes have used of their processors.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The processor time of this thread so far, user and system: other load on the machine does not count.
///
/// It is what `getrusage` tells of a thread, which Linux counts on at its ticks alone: 4 ms of a thread that does not
/// pause.
///
/// # Errors
/// Where the system does not tell.
pub fn processor_time() -> nix::Result<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from)
}

/// The processor time of all threads of a process so far, user and system; none where the system has no `/proc`.
pub fn processor_time_of(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may have spaces. Behind it the two are the 12th and the 13th field, in
    // hundredths of a second.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks: Option<u64> =
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum();
    ticks.map(|ticks| Duration::from_millis(10 * ticks))
}
