//! A model of tablets: how a table is split, merged and assigned to nodes while a workload runs.

use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use super::grid::Access;
use crate::plan::KeyRange;

/// Tablets that take fewer operations in a window than this are not split for their load.
const LEAST_OPERATIONS: f64 = 20.0;
/// How many tablets there are at most.
const MOST_TABLETS: usize = 4096;
/// From how many of the last rows to estimate the middle of a large tablet.
const MIDDLE_OF: usize = 20_000;

/// The model of a cluster in a simulation. You can set each number; the forecast prints it with its source.
///
/// ```
/// use keyderive::heat::TabletModel;
///
/// let mut model = TabletModel::default();
/// model.nodes = 10;
/// assert_eq!(model.constants()[0].name, "nodes");
/// assert_eq!(model.constants()[0].value, 10.0);
/// ```
///
/// Google says that Bigtable splits tablets that are large or busy, merges others and moves them between nodes, but not at which numbers:
/// those are assumed, and marked so. A simulation compares a layout and its variants under the same numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TabletModel {
    /// How many nodes the cluster has.
    pub nodes: usize,
    /// How many rows a node writes in a second.
    pub node_writes: f64,
    /// How many rows a node reads in a second.
    pub node_reads: f64,
    /// How many real events each event of the workload stands for, if the workload is a sample.
    pub scale: f64,
    /// The length of a window, in which shares are computed, and after which tablets are split, merged and moved. It is longer if events
    /// are few.
    pub window: Duration,
    /// A tablet with more than this many bytes is split.
    pub split_bytes: f64,
    /// A node's equal share of the load is divided by this: a tablet that takes more of the load is split.
    pub tablets_per_node: f64,
    /// Two neighbours are merged if together they take less than this part of the load that splits a tablet.
    pub merge_below: f64,
    /// For how many windows two neighbours must be that cold.
    pub merge_after: u32,
    /// How many tablets may move to another node after a window.
    pub moves: usize,
    /// How much time at the beginning does not count, since a new table has few tablets. It is longer if windows are long, since a tablet is
    /// split once in a window; and at most a quarter of the whole.
    pub warm_up: Duration,
}

impl Default for TabletModel {
    fn default() -> Self {
        Self {
            nodes: 3,
            node_writes: 14_000.0,
            node_reads: 17_000.0,
            scale: 1.0,
            window: Duration::from_secs(60),
            split_bytes: 200e6,
            tablets_per_node: 4.0,
            merge_below: 0.25,
            merge_after: 10,
            moves: 4,
            warm_up: Duration::from_secs(20 * 60),
        }
    }
}

/// A number of a [`TabletModel`], and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Constant {
    /// What it is.
    pub name: &'static str,
    /// The number, in the unit of its name.
    pub value: f64,
    /// Where it is published, or "assumed".
    pub source: &'static str,
}

const PERFORMANCE: &str = "cloud.google.com/bigtable/docs/performance, a node with SSD and rows of 1 KB";
const PAPER: &str = "Chang et al., \"Bigtable\", OSDI 2006: tablets of 100 to 200 MB by default";
const HOT_TABLETS: &str = "cloud.google.com/bigtable/docs/hot-tablets: hot tablets are listed by the minute";
const RESIZE: &str =
    "cloud.google.com/bigtable/docs/scaling: a cluster can need 20 minutes under load to get better";
const ASSUMED: &str = "assumed: Google publishes no number";

impl TabletModel {
    /// All numbers with their sources.
    #[must_use]
    pub fn constants(&self) -> Vec<Constant> {
        let constant = |name, value, source| Constant { name, value, source };
        vec![
            constant("nodes", self.nodes as f64, "assumed; set it to your value"),
            constant("writes of a node in a second", self.node_writes, PERFORMANCE),
            constant("reads of a node in a second", self.node_reads, PERFORMANCE),
            constant("events that each event stands for", self.scale, "assumed: the workload is all of it"),
            constant("seconds of a window at least", self.window.as_secs_f64(), HOT_TABLETS),
            constant("bytes from which a tablet is split", self.split_bytes, PAPER),
            constant("tablets of a node by load", self.tablets_per_node, ASSUMED),
            constant("part of a tablet's load below which two are merged", self.merge_below, ASSUMED),
            constant("cold windows before two are merged", self.merge_after.into(), ASSUMED),
            constant("tablets that move after a window", self.moves as f64, ASSUMED),
            constant("seconds of warm-up, or a few windows", self.warm_up.as_secs_f64(), RESIZE),
        ]
    }

    /// The time that an operation takes on a node, in seconds.
    fn cost(&self, access: Access) -> f64 {
        match access {
            Access::Write => 1.0 / self.node_writes.max(1e-9),
            Access::Read => 1.0 / self.node_reads.max(1e-9),
        }
    }
}

/// The greatest and the mean share of the busiest of several tablets, nodes or buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shares {
    /// The share of the busiest one in its worst window.
    pub peak: f64,
    /// The share of each window's busiest one, averaged over all events.
    pub mean: f64,
    /// How many there are at the end.
    pub count: usize,
}

/// Keys in the order of their events, concatenated.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Keys {
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

/// What the reads of an event touch: the ranges of each request, and how many reads it stands for.
#[derive(Clone, Debug)]
pub(super) struct ReadAt {
    pub(super) event: usize,
    pub(super) weight: f64,
    pub(super) ranges: Vec<KeyRange>,
}

/// The events of a simulation in a layout, in the order of their times.
pub(super) struct Trace<'a> {
    pub(super) times: &'a [i64],
    pub(super) bytes: &'a [u64],
    pub(super) keys: &'a Keys,
    /// Sorted by event.
    pub(super) reads: &'a [ReadAt],
    /// How many events each of them stands for.
    pub(super) weight: f64,
    /// In milliseconds.
    pub(super) window: i64,
    /// The salt bucket of a key, as an index.
    pub(super) bucket_of: &'a dyn Fn(&[u8]) -> Option<usize>,
    pub(super) buckets: usize,
}

/// The outcome of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) tablets: Shares,
    pub(super) nodes: Shares,
    pub(super) buckets: Option<Shares>,
    pub(super) reads: Option<Shares>,
    /// The share of the busiest tablet before the warm-up is over.
    pub(super) at_first: Option<f64>,
    pub(super) busiest: Option<BusiestWindow>,
}

/// The window in which a tablet has most writes.
#[derive(Clone, Debug)]
pub(super) struct BusiestWindow {
    pub(super) events: Range<usize>,
    pub(super) tablet: KeyRange,
    pub(super) writes: f64,
}

#[derive(Clone, Debug)]
struct Tablet {
    start: Vec<u8>,
    node: usize,
    bytes: f64,
    writes: f64,
    reads: f64,
    cold_for: u32,
}

/// Sums up shares over windows.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    most: f64,
    peak: f64,
    sum_of_most: f64,
    sum: f64,
}

impl Tally {
    /// Whether this window has more than all before.
    fn add(&mut self, most: f64, whole: f64) -> bool {
        if whole <= 0.0 {
            return false;
        }
        self.sum_of_most += most;
        self.sum += whole;
        let is_new = most > self.most;
        if is_new {
            // Weights that are no whole numbers add up to a little more, or less.
            (self.most, self.peak) = (most, (most / whole).min(1.0));
        }
        is_new
    }

    fn shares(self, count: usize) -> Shares {
        let mean = if self.sum > 0.0 { (self.sum_of_most / self.sum).min(1.0) } else { 0.0 };
        Shares { peak: self.peak, mean, count }
    }
}

fn most(all: impl Iterator<Item = f64>) -> f64 {
    all.fold(0.0, f64::max)
}

/// Runs the events over tablets that begin at `splits`, sorted.
pub(super) fn run(model: &TabletModel, splits: Vec<Vec<u8>>, trace: &Trace<'_>) -> Outcome {
    let nodes = model.nodes.clamp(1, 10_000);
    let starts = std::iter::once(Vec::new()).chain(splits).enumerate();
    let mut tablets: Vec<Tablet> = starts
        .map(|(at, start)| Tablet {
            start,
            node: at % nodes,
            bytes: 0.0,
            writes: 0.0,
            reads: 0.0,
            cold_for: 0,
        })
        .collect();
    let (mut by_tablet, mut by_node, mut by_bucket, mut of_reads) =
        (Tally::default(), Tally::default(), Tally::default(), Tally::default());
    let mut at_first = Tally::default();
    let mut busiest: Option<BusiestWindow> = None;
    let count = trace.times.len();
    let (Some(first), Some(last)) = (trace.times.first(), trace.times.last()) else {
        return Outcome::default();
    };
    let warm_up = i64::try_from(model.warm_up.as_millis()).unwrap_or(i64::MAX);
    // Each window doubles the tablets at most. A float to an integer saturates.
    let doublings = (nodes as f64 * model.tablets_per_node.max(1.0)).log2().ceil() as i64;
    let warm_up = warm_up.max(trace.window.saturating_mul(doublings));
    let warm_until = first.saturating_add(warm_up.min(last.saturating_sub(*first) / 4));
    let weight = trace.weight * model.scale;
    let mut read_at = 0;
    let mut at = 0;
    while at < count {
        let window = trace.times[at].div_euclid(trace.window);
        let begin = at;
        let mut buckets = vec![0.0; trace.buckets];
        let of = |tablets: &[Tablet], key: &[u8]| {
            // The first begins before every key.
            tablets.partition_point(|tablet| tablet.start.as_slice() <= key) - 1
        };
        while at < count && trace.times[at].div_euclid(trace.window) == window {
            let key = trace.keys.get(at);
            let tablet = of(&tablets, key);
            tablets[tablet].writes += weight;
            tablets[tablet].bytes += weight * trace.bytes[at] as f64;
            if let Some(count) = (trace.bucket_of)(key).and_then(|bucket| buckets.get_mut(bucket)) {
                *count += weight;
            }
            while let Some(read) = trace.reads.get(read_at).filter(|read| read.event <= at) {
                for range in read.ranges.iter().filter(|range| !range.is_empty()) {
                    let from = of(&tablets, range.start());
                    let until = range.end().map_or(tablets.len(), |end| {
                        tablets.partition_point(|tablet| tablet.start.as_slice() < end)
                    });
                    for tablet in &mut tablets[from..until.max(from + 1)] {
                        tablet.reads += read.weight * weight;
                    }
                }
                read_at += 1;
            }
            at += 1;
        }
        let writes = (at - begin) as f64 * weight;
        let most_writes = most(tablets.iter().map(|tablet| tablet.writes));
        if trace.times[begin] < warm_until {
            at_first.add(most_writes, writes);
        } else {
            if by_tablet.add(most_writes, writes) {
                let hot = tablets.iter().position(|tablet| tablet.writes == most_writes).unwrap_or(0);
                let end = tablets.get(hot + 1).map(|next| next.start.clone());
                let tablet = KeyRange::new(tablets[hot].start.clone(), end);
                busiest = Some(BusiestWindow { events: begin..at, tablet, writes: most_writes });
            }
            let mut by = vec![0.0; nodes];
            tablets.iter().for_each(|tablet| by[tablet.node] += tablet.writes);
            by_node.add(most(by.into_iter()), writes);
            by_bucket.add(most(buckets.into_iter()), writes);
            let reads = tablets.iter().map(|tablet| tablet.reads);
            of_reads.add(most(reads.clone()), reads.sum());
        }
        balance(model, nodes, &mut tablets, trace, begin..at);
    }
    Outcome {
        tablets: by_tablet.shares(tablets.len()),
        nodes: by_node.shares(nodes),
        buckets: (trace.buckets > 0).then(|| by_bucket.shares(trace.buckets)),
        reads: (!trace.reads.is_empty()).then(|| of_reads.shares(tablets.len())),
        at_first: (at_first.sum > 0.0).then_some(at_first.peak),
        busiest,
    }
}

/// Splits, merges and moves tablets after a window, and begins the next.
fn balance(
    model: &TabletModel,
    nodes: usize,
    tablets: &mut Vec<Tablet>,
    trace: &Trace<'_>,
    window: Range<usize>,
) {
    let (write, read) = (model.cost(Access::Write), model.cost(Access::Read));
    let load = |tablet: &Tablet| tablet.writes * write + tablet.reads * read;
    let whole: f64 = tablets.iter().map(load).sum();
    let too_much = whole / (nodes as f64 * model.tablets_per_node.max(1.0));
    // Few events in a window say little about the load.
    let is_busy = |tablet: &Tablet| {
        load(tablet) > too_much
            && (tablet.writes + tablet.reads) / trace.weight / model.scale >= LEAST_OPERATIONS
    };
    let mut split = Vec::with_capacity(tablets.len() + 8);
    let old = std::mem::take(tablets);
    let limit = MOST_TABLETS.saturating_sub(old.len());
    for (at, tablet) in old.iter().enumerate() {
        let end = old.get(at + 1).map(|next| next.start.as_slice());
        let is_in = |key: &[u8]| key >= tablet.start.as_slice() && end.is_none_or(|end| key < end);
        let middle = |events: Range<usize>| {
            let mut keys: Vec<&[u8]> =
                events.map(|event| trace.keys.get(event)).filter(|key| is_in(key)).collect();
            keys.sort_unstable();
            // A tablet is split between rows: its first key stays on its left side.
            let first = *keys.first()?;
            let middle = keys[keys.len() / 2];
            let next =
                if middle > first { Some(middle) } else { keys.iter().copied().find(|key| *key > first) };
            next.map(<[u8]>::to_vec)
        };
        let is_large = tablet.bytes > model.split_bytes;
        let key = match (is_busy(tablet), is_large) {
            _ if split.len() >= limit + at => None,
            (true, _) if tablet.writes > 0.0 => middle(window.clone()),
            (true, _) | (_, true) => middle(window.end.saturating_sub(MIDDLE_OF)..window.end),
            _ => None,
        };
        split.push(tablet.clone());
        if let (Some(start), Some(left)) = (key, split.last_mut()) {
            for half in [&mut left.bytes, &mut left.writes, &mut left.reads] {
                *half /= 2.0;
            }
            let right = Tablet { start, ..left.clone() };
            split.push(right);
        }
    }
    // Cold neighbours, neither of them just split.
    let cold = too_much * model.merge_below;
    for tablet in split {
        let Some(last) = tablets.last_mut() else {
            tablets.push(tablet);
            continue;
        };
        let is_cold =
            load(last) + load(&tablet) < cold && last.bytes + tablet.bytes < model.split_bytes / 2.0;
        if is_cold && last.cold_for.min(tablet.cold_for) >= model.merge_after {
            last.bytes += tablet.bytes;
            last.writes += tablet.writes;
            last.reads += tablet.reads;
        } else {
            tablets.push(tablet);
        }
    }
    for tablet in tablets.iter_mut() {
        tablet.cold_for = if load(tablet) < cold / 2.0 { tablet.cold_for.saturating_add(1) } else { 0 };
    }
    let mut by_node = vec![0.0; nodes];
    tablets.iter().for_each(|tablet| by_node[tablet.node] += load(tablet));
    for _ in 0..model.moves {
        let order = |one: &usize, other: &usize| by_node[*one].total_cmp(&by_node[*other]);
        let (Some(from), Some(to)) = ((0..nodes).max_by(order), (0..nodes).min_by(order)) else { break };
        let gap = by_node[from] - by_node[to];
        // A move is worth it if the busier of both nodes has less after it.
        let of_node = tablets
            .iter_mut()
            .filter(|tablet| tablet.node == from && load(tablet) > 0.0 && load(tablet) < gap * 0.99);
        let Some(tablet) = of_node.max_by(|one, other| {
            (load(one).min(gap - load(one))).total_cmp(&load(other).min(gap - load(other)))
        }) else {
            break;
        };
        tablet.node = to;
        by_node[from] -= load(tablet);
        by_node[to] += load(tablet);
    }
    for tablet in tablets.iter_mut() {
        (tablet.writes, tablet.reads) = (0.0, 0.0);
    }
}
