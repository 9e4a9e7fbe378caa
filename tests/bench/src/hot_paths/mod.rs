//! The paths that carry most traffic: scans, ordered merges, bulk writes, keys. Each is compared with its peer, another
//! client or encoder, and its floor, code written by hand for one key type and row type.
//!
//! Clients run on one thread, pinned to one core, against a scripted server on another core with prepared answers:
//! messages of 999 chunks, rows of 3 small cells. The measure is the processor time of the client's thread, user and
//! system; all paths of a table run several times in turn, and the least time of each counts. Before timing, a check
//! shows that all paths read the same rows and write the same cells.

mod bigtable;
mod bulk;
mod clients;
mod data;
mod floor;
mod keys;
mod machine;
mod memory;
mod merge_floor;
mod merges;
mod points;
mod raw;
mod report;
mod rows;
mod scans;
mod server;
mod turns;
mod write_floor;

use std::cell::Cell;

pub use self::clients::{WORKS, run as run_clients, run_client};
pub(crate) use self::machine::{pauses, pin_client, serve_apart, status_field};
pub use self::memory::Peak;
pub(crate) use self::server::Server;
use crate::program::{Failure, named};

/// A part of the page: measures it, and passes on each table when it is complete.
#[derive(Clone, Copy)]
pub struct Section(fn(Size<'_>, Print<'_>) -> Result<(), Failure>);

/// What takes the tables.
type Print<'a> = &'a dyn Fn(report::Table);

/// All parts, in their order.
pub const SECTIONS: [(&str, Section); 7] = [
    ("scans", Section(scans::measure)),
    ("rows", Section(rows::measure)),
    ("merges", Section(merges::measure)),
    ("bulk", Section(bulk::measure)),
    ("points", Section(points::measure)),
    ("recording", Section(points::measure_recording)),
    ("keys", Section(keys::measure)),
];

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Size<'a> {
    /// The rows of each scan, merge and bulk write; up to 20,000 reads and writes of one row; keys take a tenth of them, up to
    /// 10,000.
    pub rows: u32,
    /// How many times each path is timed.
    pub runs: usize,
    /// If there is one, nothing is timed: this path alone runs, for a simulator.
    only: Option<&'a Only<'a>>,
}

impl Size<'_> {
    #[must_use]
    pub fn new(rows: u32, runs: usize) -> Self {
        Self { rows, runs, only: None }
    }

    /// Whether a table with this title has a path to run.
    fn has(&self, title: &str) -> bool {
        self.only.is_none_or(|only| only.title == title)
    }
}

/// A path of one of the tables.
#[derive(Clone, Debug)]
struct Only<'a> {
    title: &'a str,
    path: &'a str,
    /// How often it allocated, once it has run.
    allocations: Cell<Option<u64>>,
}

/// The beginning of the page of all sections.
const ABOUT: &str = "\
# Benchmarks

`cargo run --release -p keyderive-bench --bin hot-paths > docs/benchmarks.md` writes this page up to the part `Under
load`. That part and those after it name their own commands. It needs a few minutes and two idle cores.

Compare ratios, not times: times vary by 10 % and more from run to run. Each table compares keyderive with a peer
(`bigtable_rs` or `storekey`) and with a floor: hand-written code that does the same for only one key type and one row
type. Missed targets are in bold. Times are CPU time of the client's thread, user and system, and do not predict rows
per second over a network. All paths use the same server, in another thread of the process, over the loopback interface.
";

/// Measures these sections, and prints each as a table in Markdown.
///
/// # Errors
/// When a path fails, hangs, or reads or writes something else than the others.
pub fn run(sections: &[Section], size: Size<'_>) -> Result<(), Failure> {
    machine::pin_client();
    println!("{ABOUT}\n{}\n", machine::describe(size));
    sections.iter().try_for_each(|section| (section.0)(size, &|table| println!("{table}")))
}

/// Runs one path twice, and returns how often the first run allocates. The second run is inside of `turns::simulated`, which a simulator
/// finds by its name.
///
/// # Errors
/// When there is no such path, or it fails.
pub fn run_only(section: &str, title: &str, path: &str, rows: u32) -> Result<u64, Failure> {
    let only = Only { title, path, allocations: Cell::new(None) };
    (named(&SECTIONS, section)?.0)(Size { only: Some(&only), ..Size::new(rows, 0) }, &drop)?;
    let absent = || format!("the section `{section}` has no path `{path}` in a table `{title}`").into();
    only.allocations.get().ok_or_else(absent)
}
