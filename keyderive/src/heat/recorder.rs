//! What a process reads and writes, by table, in bounded memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::grid::{Access, Grid, GridBuilder, MergeError};
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
/// It records 64 tables; operations of others are counted by [`Snapshot::left_out`] alone. A call takes a lock for as long as it counts, which
/// is less than a microsecond in the mean.
#[derive(Debug, Default)]
pub struct Recorder {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tables: BTreeMap<String, (GridBuilder, HeavyKeys)>,
    left_out: u64,
}

/// What a [`Recorder`] has recorded until now; data that can be stored and merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SnapshotForm", into = "SnapshotForm")]
#[non_exhaustive]
pub struct Snapshot {
    /// By the names of the tables.
    pub tables: BTreeMap<String, TableHeat>,
    /// How many operations were of other tables.
    pub left_out: u64,
}

/// What is recorded of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TableHeat {
    /// Reads and writes by time and range of keys.
    pub grid: Grid,
    /// The keys with most operations.
    pub heavy_keys: HeavyKeys,
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
    /// Records nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records this table with a grid of its own, such as one with boundaries that all processes share.
    ///
    /// What was recorded of the table is lost.
    pub fn table(&self, name: impl Into<String>, grid: GridBuilder) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let name = name.into();
        if state.tables.len() < MOST_TABLES || state.tables.contains_key(&name) {
            state.tables.insert(name, (grid, HeavyKeys::new(HEAVY_KEYS)));
        }
    }

    /// Records an operation at a time, in milliseconds since 1970.
    pub fn record(&self, table: &str, key: &[u8], access: Access, bytes: u64, time: i64) {
        // A thread that panicked while it counted has left whole counts.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.tables.contains_key(table) {
            if state.tables.len() >= MOST_TABLES {
                state.left_out = state.left_out.saturating_add(1);
                return;
            }
            state.tables.insert(table.to_owned(), (GridBuilder::new(), HeavyKeys::new(HEAVY_KEYS)));
        }
        if let Some((grid, heavy)) = state.tables.get_mut(table) {
            grid.record(time, key, access, bytes);
            heavy.add(key, 1);
        }
    }

    /// What was recorded until now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = state.tables.iter().map(|(name, (grid, heavy))| {
            (name.clone(), TableHeat { grid: grid.grid(), heavy_keys: heavy.clone() })
        });
        Snapshot { tables: tables.collect(), left_out: state.left_out }
    }
}

impl Snapshot {
    /// This snapshot with what another process has recorded.
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
