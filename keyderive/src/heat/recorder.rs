//! What a process reads and writes, by table, in bounded memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::grid::{Access, Grid, GridBuilder, Measure, MergeError};
use super::sketch::HeavyKeys;

/// How many tables are recorded.
const MOST_TABLES: usize = 64;
/// How many heavy keys of a table are kept.
const HEAVY_KEYS: usize = 256;
/// The version of the names of a snapshot.
const VERSION: u32 = 1;

/// Records reads and writes of several tables, from any thread, in bounded memory: a grid and the heaviest keys of each.
///
/// ```
/// use keyderive::heat::{Access, Measure, Recorder};
///
/// let recorder = Recorder::new();
/// recorder.record("events", b"alice#2026", Access::Write, 200, 1_764_288_000_000);
/// recorder.record("events", b"alice#2026", Access::Read, 200, 1_764_288_001_000);
///
/// let heat = recorder.snapshot();
/// assert_eq!(heat.tables["events"].grid.total(Measure::Writes), 1);
/// assert_eq!(heat.tables["events"].heavy_keys.top(1)[0].count, 2);
/// ```
///
/// It records up to 64 tables; [`Snapshot::left_out`] counts the operations on others. A call holds its table's lock while it counts, on
/// average for less than a microsecond.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The grid of a new table.
    grid: GridBuilder,
    tables: RwLock<BTreeMap<String, Arc<Mutex<Recorded>>>>,
    left_out: AtomicU64,
}

/// What is recorded of a table.
#[derive(Debug)]
pub(super) struct Recorded {
    grid: GridBuilder,
    heavy: HeavyKeys,
    /// The heavy keys of the time before `since`.
    earlier: HeavyKeys,
    since: Option<i64>,
    count: u64,
}

impl Recorded {
    fn new(grid: GridBuilder) -> Self {
        let heavy = HeavyKeys::new(HEAVY_KEYS);
        Self { grid, earlier: heavy.clone(), heavy, since: None, count: 0 }
    }

    /// Adds writes, reads and bytes, and forgets the heavy keys of a time that is over.
    fn add(&mut self, key: &[u8], amounts: [u64; 3], time: i64) {
        self.count += 1;
        self.grid.add(time, key, amounts);
        let since = *self.since.get_or_insert(time);
        if time > since && self.grid.kept().is_some_and(|kept| time.abs_diff(since) >= kept / 2) {
            self.earlier = std::mem::replace(&mut self.heavy, HeavyKeys::new(HEAVY_KEYS));
            self.since = Some(time);
        }
        let operations = amounts[Measure::Writes.at()].saturating_add(amounts[Measure::Reads.at()]);
        if operations > 0 {
            self.heavy.add(key, operations);
        }
    }

    /// The share of the busiest range in the last whole slot before a time.
    #[cfg(feature = "metrics")]
    pub(super) fn busiest_share(&self, access: Access, before: i64) -> Option<f64> {
        self.grid.slot_before(before).busiest_share(access.measure(), before)
    }

    fn heat(&self) -> TableHeat {
        let mut heavy_keys = self.heavy.clone();
        heavy_keys.merge(&self.earlier);
        TableHeat { grid: self.grid.grid(), heavy_keys, recorded: self.count }
    }
}

/// A thread that panicked while it counted has left whole counts.
pub(super) fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a [`Recorder`] has recorded so far; it can be serialized and merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SnapshotForm", into = "SnapshotForm")]
#[non_exhaustive]
pub struct Snapshot {
    /// By the names of the tables.
    pub tables: BTreeMap<String, TableHeat>,
    /// How many operations were on tables beyond the limit.
    pub left_out: u64,
}

/// What is recorded of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TableHeat {
    /// Reads and writes by time and range of keys.
    pub grid: Grid,
    /// The keys with the most operations.
    pub heavy_keys: HeavyKeys,
    /// How many operations and rows of scans were recorded. In a sample each stands for several, so counts are estimates.
    pub recorded: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotForm {
    version: u32,
    tables: BTreeMap<String, TableHeat>,
    left_out: u64,
}

impl TryFrom<SnapshotForm> for Snapshot {
    type Error = String;

    fn try_from(form: SnapshotForm) -> Result<Self, String> {
        match form.version {
            VERSION => Ok(Self { tables: form.tables, left_out: form.left_out }),
            version => Err(format!(
                "not a snapshot of heat: `version` is {version}, and this release reads {VERSION}"
            )),
        }
    }
}

impl From<Snapshot> for SnapshotForm {
    fn from(snapshot: Snapshot) -> Self {
        Self { version: VERSION, tables: snapshot.tables, left_out: snapshot.left_out }
    }
}

impl Recorder {
    /// Makes an empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a recorder that counts each table into a copy of this empty grid. If the grid [rolls](GridBuilder::rolling), heavy keys cover
    /// about the same time.
    #[must_use]
    pub fn with(grid: GridBuilder) -> Self {
        Self { grid, ..Self::default() }
    }

    /// Sets the grid of a table, such as one with boundaries that all processes share.
    ///
    /// What was recorded of the table so far is lost.
    pub fn table(&self, name: impl Into<String>, grid: GridBuilder) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let name = name.into();
        if tables.len() < MOST_TABLES || tables.contains_key(&name) {
            tables.insert(name, Arc::new(Mutex::new(Recorded::new(grid))));
        }
    }

    /// Records an operation at a time, in milliseconds since 1970.
    pub fn record(&self, table: &str, key: &[u8], access: Access, bytes: u64, time: i64) {
        let mut amounts = [0, 0, bytes];
        amounts[access.measure().at()] = 1;
        self.add(table, key, amounts, time);
    }

    /// Records writes, reads and bytes.
    pub(super) fn add(&self, table: &str, key: &[u8], amounts: [u64; 3], time: i64) {
        let Some(recorded) = self.known(table).or_else(|| self.made(table, Vec::new())) else {
            let operations = amounts[Measure::Writes.at()].saturating_add(amounts[Measure::Reads.at()]);
            self.left_out.fetch_add(operations, Ordering::Relaxed);
            return;
        };
        locked(&recorded).add(key, amounts, time);
    }

    pub(super) fn known(&self, table: &str) -> Option<Arc<Mutex<Recorded>>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    /// The record of a table that may be new; `None` if there are too many.
    pub(super) fn made(&self, table: &str, boundaries: Vec<Vec<u8>>) -> Option<Arc<Mutex<Recorded>>> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if tables.len() >= MOST_TABLES && !tables.contains_key(table) {
            return None;
        }
        let made = || {
            let grid = match boundaries.is_empty() {
                true => self.grid.clone(),
                false => self.grid.clone().at_least(2 * boundaries.len() + 2).boundaries(boundaries),
            };
            Arc::new(Mutex::new(Recorded::new(grid)))
        };
        Some(Arc::clone(tables.entry(table.to_owned()).or_insert_with(made)))
    }

    /// The tables, to lock one by one, so that no lock is held for long.
    pub(super) fn tables(&self) -> impl Iterator<Item = (String, Arc<Mutex<Recorded>>)> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).clone().into_iter()
    }

    /// A snapshot of what was recorded so far.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let tables = self.tables().map(|(name, recorded)| (name, locked(&recorded).heat()));
        let tables = tables.filter(|(_, heat)| heat.recorded > 0).collect();
        Snapshot { tables, left_out: self.left_out.load(Ordering::Relaxed) }
    }
}

impl Snapshot {
    /// Returns a snapshot of what both have recorded, such as two processes.
    ///
    /// # Errors
    /// If the slots of two grids of one table differ.
    pub fn merge(&self, other: &Self) -> Result<Self, MergeError> {
        let mut merged = self.clone();
        merged.left_out = merged.left_out.saturating_add(other.left_out);
        for (name, heat) in &other.tables {
            match merged.tables.get_mut(name) {
                Some(known) => {
                    known.grid = known.grid.merge(&heat.grid)?;
                    known.heavy_keys.merge(&heat.heavy_keys);
                    known.recorded = known.recorded.saturating_add(heat.recorded);
                }
                None => {
                    merged.tables.insert(name.clone(), heat.clone());
                }
            }
        }
        Ok(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::Measure;

    #[test]
    fn threads_and_processes_add_up_and_further_tables_are_left_out() {
        let one = Recorder::new();
        std::thread::scope(|scope| {
            for thread in 0..4_i64 {
                let one = &one;
                scope.spawn(move || {
                    for at in 0..10_000 {
                        one.record(
                            "events",
                            format!("user{:03}", at % 300).as_bytes(),
                            Access::Write,
                            10,
                            at * 10 + thread,
                        );
                    }
                });
            }
        });
        let other = Recorder::new();
        for table in 0..100 {
            other.record(&format!("table{table}"), b"key", Access::Read, 1, 0);
        }
        other.record("table5", b"key", Access::Read, 1, 0);
        let both = one.snapshot().merge(&other.snapshot()).unwrap();
        assert_eq!(both.tables.len(), 65);
        assert_eq!(both.left_out, 36);
        assert_eq!(both.tables["events"].grid.total(Measure::Writes), 40_000);
        assert_eq!(both.tables["table5"].grid.total(Measure::Reads), 2);
        let json = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), both);
        let error =
            serde_json::from_str::<Snapshot>(&json.replacen(":1,", ":9,", 1)).unwrap_err().to_string();
        assert!(error.contains("`version` is 9"), "{error}");
    }
}
