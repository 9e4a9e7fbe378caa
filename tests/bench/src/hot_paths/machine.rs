//! The machine: its name, and which core runs what.

use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle, available_parallelism};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::Size;

/// Moves this thread, and the threads that it starts later, to the client's core.
pub(crate) fn pin_client() {
    pin_to(0);
}

/// Moves this thread to the server's core, if the client that started it is pinned to one.
fn pin_server() {
    if available_parallelism().is_ok_and(|cores| cores.get() == 1) {
        pin_to(1);
    }
}

/// Runs a server on another core than the client's, in a thread of its own; returns the address that it sends, and the thread.
pub(crate) fn serve_apart<F: Future>(
    serve: impl FnOnce(mpsc::Sender<String>) -> F + Send + 'static,
) -> (String, JoinHandle<()>) {
    let (sender, host) = mpsc::channel();
    let thread = thread::spawn(move || {
        pin_server();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(serve(sender));
    });
    (host.recv().expect("the server listens"), thread)
}

/// If the system refuses, or there is no such core, threads stay where they are.
fn pin_to(core: usize) {
    let mut cores = CpuSet::new();
    let _ = cores.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores));
}

/// How often the machine keeps a thread off its core that does nothing but look at the clock: the share of the time, and the
/// longest pause. No latency that is measured here can be better.
pub(crate) fn pauses() -> (f64, Duration) {
    const LASTS: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_micros(100);
    let (mut all, mut longest) = (Duration::ZERO, Duration::ZERO);
    let (begun, mut last) = (Instant::now(), Instant::now());
    while begun.elapsed() < LASTS {
        let pause = last.elapsed();
        last += pause;
        if pause >= PAUSE {
            all += pause;
            longest = longest.max(pause);
        }
    }
    (all.as_secs_f64() / LASTS.as_secs_f64(), longest)
}

/// The machine and the settings of the run, in one line.
pub(super) fn describe(Size { rows, runs, .. }: Size<'_>) -> String {
    let processor = field("/proc/cpuinfo", "model name\t:").unwrap_or("unknown processor".into());
    let cores = fs::read_to_string("/proc/cpuinfo").map_or(0, |text| text.matches("processor\t:").count());
    let system = field("/etc/os-release", "PRETTY_NAME=").unwrap_or("unknown system".into());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{processor}, {cores} cores; {}, Linux {}; {}; {}. The least CPU time of {runs} runs; {rows} rows of 3 small \
         cells, 999 chunks per message.",
        system.trim_matches('"'),
        kernel.trim(),
        compiler(),
        jiff::Timestamp::now().strftime("%Y-%m-%d"),
    )
}

fn compiler() -> String {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(name).arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    version.map_or("unknown rustc".into(), |version| version.trim().to_owned())
}

/// A field of what the system tells of this process.
pub(crate) fn status_field(name: &str) -> Option<String> {
    field("/proc/self/status", name)
}

/// What follows `name` in the first line of a file that begins with it.
pub(super) fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
}
