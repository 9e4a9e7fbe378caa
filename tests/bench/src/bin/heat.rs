//! How fast timed keys become a picture, and in how much memory: keys alone into a grid, and events of a key type through a simulation.
//!
//! `cargo run --release -p keyderive-bench --bin heat -- [--events N]`; by default 100,000,000.

use std::fmt::Write as _;
use std::fs;

use keyderive::RowKey;
use keyderive::heat::{self, Access, GridBuilder, Measure};
use keyderive_bench::meter::processor_time;
use lexopt::{Arg, Parser, ValueExt as _};

#[derive(RowKey)]
#[salt(range = 8)]
struct EventKey {
    #[row_key(sequential)]
    at: u64,
    user: u32,
}

/// So many writes in a day, by a million users of whom some are busier.
fn events(count: u64) -> impl Iterator<Item = (i64, EventKey, u64)> {
    let mut random = fastrand::Rng::with_seed(1);
    (0..count).map(move |number| {
        let at = u64::try_from(u128::from(number) * 86_400_000 / u128::from(count)).unwrap();
        let user = (1_000_000_f64.powf(random.f64()) - 1.0) as u32;
        (at.cast_signed(), EventKey { at, user }, 200)
    })
}

fn timed(name: &str, count: u64, run: impl FnOnce() -> u64) {
    let start = processor_time().unwrap();
    let counted = run();
    let seconds = (processor_time().unwrap() - start).as_secs_f64();
    assert_eq!(counted, count);
    let rate = count as f64 / seconds / 1e6;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!(
        "{name}: {count} in {seconds:.1} s of CPU, {rate:.2} million a second; {peak} resident at most so far"
    );
}

fn main() {
    let mut count = 100_000_000;
    let mut parser = Parser::from_env();
    while let Some(argument) = parser.next().unwrap() {
        match argument {
            Arg::Long("events") => count = parser.value().unwrap().parse().unwrap(),
            argument => panic!("{}", argument.unexpected()),
        }
    }
    timed("keys into a grid", count, || {
        let mut grid = GridBuilder::new();
        let mut key = String::new();
        for (time, EventKey { at, user }, bytes) in events(count) {
            key.clear();
            write!(key, "{}#{at}#{user}", user % 8).unwrap();
            grid.record(time, key.as_bytes(), Access::Write, bytes);
        }
        grid.grid().total(Measure::Writes)
    });
    timed("events through a simulation", count, || {
        heat::simulate(events(count)).without_remedies().run().unwrap().events
    });
}
