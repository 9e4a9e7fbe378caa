//! Reads the rows that a transfer would move, and finds those that it cannot.

use std::collections::HashSet;
use std::fmt;
use std::pin::pin;

use futures_util::TryStreamExt as _;

use super::keys::NewKeys;
use super::progress::Reporter;
use super::source::{CellCopy, StoredRows, read_parts};
use crate::client::{Entry, Error, Route};
use crate::key::ShownKey;
use crate::plan::KeyRange;
use crate::table::UntypedTable;

/// How many faults are kept.
const MAX_KEPT: usize = 100;
/// How many faults are printed.
const MAX_SHOWN: usize = 10;
/// How many bytes of new keys are kept to find equal ones; a key takes about `BYTES_BESIDE_KEY` more.
const MAX_KEY_BYTES: usize = 64 * 1024 * 1024;
const BYTES_BESIDE_KEY: usize = 32;

/// A row that cannot be copied or re-keyed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// Its key in the old table.
    pub key: Vec<u8>,
    /// Why.
    pub error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", ShownKey(&self.key), self.error)
    }
}

/// Prints the first faults, a line each.
pub(crate) fn list_faults(f: &mut fmt::Formatter<'_>, faults: &[Fault]) -> fmt::Result {
    faults.iter().take(MAX_SHOWN).try_for_each(|fault| write!(f, "\n  {fault}"))?;
    match faults.len().checked_sub(MAX_SHOWN) {
        None | Some(0) => Ok(()),
        Some(more) => write!(f, "\n  and {more} more"),
    }
}

/// What was found of the rows that a transfer would move.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) rows: u64,
    pub(crate) left_out: u64,
    pub(crate) cells: u64,
    /// Of the rows as they are stored.
    pub(crate) stored_bytes: u64,
    /// Of the rows in their requests.
    pub(crate) request_bytes: u64,
    pub(crate) faulty: u64,
    pub(crate) collisions: u64,
    pub(crate) has_uncompared_keys: bool,
    pub(crate) faults: Vec<Fault>,
}

impl Checked {
    fn add(&mut self, key: &[u8], error: Error) {
        if self.faults.len() < MAX_KEPT {
            self.faults.push(Fault { key: key.to_vec(), error });
        }
    }
}

/// The new keys that were found, as many as there is room for.
#[derive(Default)]
struct KnownKeys {
    keys: HashSet<Box<[u8]>>,
    bytes: usize,
}

/// What a transfer would move.
pub(crate) struct Examined<'a> {
    pub(crate) table: &'a UntypedTable,
    pub(crate) keys: &'a dyn NewKeys,
    pub(crate) cells: &'a CellCopy,
    /// The names of both tables.
    pub(crate) routes: [&'a Route; 2],
    /// Whether the keys could be one for two rows.
    pub(crate) compares_keys: bool,
}

impl Examined<'_> {
    /// Reads the rows of some parts of the table.
    pub(crate) async fn check(
        &self,
        parts: Vec<KeyRange>,
        parallel: usize,
        reporter: &mut Reporter<'_>,
    ) -> Result<Checked, Error> {
        let (mut checked, mut known, mut scratch) =
            (Checked::default(), KnownKeys::default(), Entry::default());
        reporter.begin_parts(parts.len());
        let mut read = pin!(read_parts(self.table, parts, parallel, None));
        while let Some(StoredRows { rows, is_end, .. }) = reporter.reporting(read.try_next()).await? {
            for row in &rows {
                scratch.reset();
                let encoded = self.keys.append_key(row, &mut scratch.key).and_then(|has_key| {
                    if has_key {
                        self.cells.encode(row, &mut scratch.mutations);
                        self.cells.check_limits(row, &scratch, self.routes)?;
                    }
                    Ok(())
                });
                if encoded.is_ok() && scratch.mutations.is_empty() {
                    checked.left_out += 1;
                    continue;
                }
                checked.rows += 1;
                checked.cells += row.cells().len() as u64;
                checked.stored_bytes += row.size() as u64;
                checked.request_bytes += scratch.bytes() as u64;
                match encoded {
                    Err(error) => {
                        checked.faulty += 1;
                        checked.add(row.key(), error);
                    }
                    Ok(()) if self.compares_keys => {
                        self.compare(row.key(), &scratch.key, &mut known, &mut checked);
                    }
                    Ok(()) => {}
                }
            }
            reporter.progress.compared += rows.len() as u64;
            reporter.progress.partitions_done += u64::from(is_end);
            reporter.report_if_due();
        }
        reporter.report();
        Ok(checked)
    }

    fn compare(&self, old: &[u8], new: &[u8], known: &mut KnownKeys, checked: &mut Checked) {
        if known.keys.contains(new) {
            checked.collisions += 1;
            let [old_table, new_table] = self.routes;
            let fault = format!(
                "a row before it has the same key in table `{}`, {}; give each row a key of its own",
                &**new_table,
                ShownKey(new)
            );
            checked.add(old, Error::definition(old_table, fault));
            return;
        }
        let bytes = known.bytes + new.len() + BYTES_BESIDE_KEY;
        match bytes <= MAX_KEY_BYTES {
            true => {
                known.bytes = bytes;
                known.keys.insert(new.into());
            }
            false => checked.has_uncompared_keys = true,
        }
    }
}
