//! What threads and processes have used of their processors.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// The processor time of this thread so far, user and system: other load on the machine does not count.
///
/// # Errors
/// Where the system does not tell.
pub fn processor_time() -> nix::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let micros = |time: TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs();
    Ok(Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time())))
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
