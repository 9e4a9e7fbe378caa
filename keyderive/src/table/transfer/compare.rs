//! Compares two tables: the rows of the old one by batches, then the keys of the new one.
//!
//! Keys of a closure lead one way: sums of the hashes of all keys say whether the new table has others, and which are read again. Keys
//! of a re-keying lead back too, so that each row of the new table is looked up in the old one.

use std::collections::HashMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::equality::{self, StoredRow, own_cells, removable_cells};
use super::keys::Mapping;
use super::progress::Reporter;
use super::report::{CellDifference, Counts, DifferentKey, RowDifference, TableDiff};
use super::source::{StoredRows, read_parts};
use super::sums::{KeySums, bucket};
use crate::client::{Clock, Error, ErrorKind, ReadRows, TableInfo};
use crate::key::fingerprint64;
use crate::plan::KeyRange;
use crate::row::{Name, RawCell, RawRow, RowFilter};
use crate::table::UntypedTable;

/// How many cells of a row are kept.
const MAX_CELLS: usize = 10;

/// How many rows are looked up at a time.
const LOOKED_UP: usize = 1000;

/// How a comparison runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) parallel: usize,
    /// How many rows that differ are kept.
    pub(crate) first: usize,
    /// Whether the newest values of columns are compared, without timestamps and earlier versions.
    pub(crate) only_newest: bool,
    /// Whether a row of the old table whose key does not decode is a difference, and no failure.
    pub(crate) reports_foreign: bool,
}

/// How a row came into the new table of a re-keying. A cell of the row says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is a copy.
    Copied,
    /// It was written since, so that it may differ.
    Written,
}

/// What a re-keying knows of the rows of its new table.
pub(crate) trait Origins: Send + Sync {
    /// None for a row without an origin.
    fn of(&self, row: &RawRow) -> Option<Origin>;

    /// Whether the new table had no rows when the re-keying began: then each is a copy or was written since. Else rows
    /// without an origin are from before, and are no copies.
    fn began_empty(&self) -> bool;

    /// A filter that each row of the new table passes with its origin.
    fn filter(&self) -> RowFilter;

    /// For each of these keys of the new table, whether the old table has its row.
    fn are_in_old(
        &self,
        keys: Vec<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<bool>, Error>> + Send + '_>>;
}

/// Called with each difference.
pub(crate) type OnDifference<'a> = Box<dyn FnMut(&RowDifference) + Send + 'a>;

/// Compares every cell of every row.
pub(crate) async fn compare(
    mapping: &Mapping<'_>,
    settings: Comparison,
    origins: Option<&dyn Origins>,
    reporter: &mut Reporter<'_>,
) -> Result<TableDiff, Error> {
    compare_with(mapping, settings, origins, None, reporter).await
}

/// As [`compare`], and reports each difference.
pub(crate) async fn compare_with(
    mapping: &Mapping<'_>,
    settings: Comparison,
    origins: Option<&dyn Origins>,
    on_difference: Option<OnDifference<'_>>,
    reporter: &mut Reporter<'_>,
) -> Result<TableDiff, Error> {
    mapping.new.check_fit()?;
    let old = reporter.reporting(ComparedTable::of(&mapping.old)).await?;
    let new = reporter.reporting(ComparedTable::of(&mapping.new)).await?;
    let diff = TableDiff::of(Arc::clone(mapping.old.name.table()), Arc::clone(mapping.new.name.table()));
    // All differences of a batch, which are then reported.
    let first = if on_difference.is_some() { usize::MAX } else { settings.first };
    let Comparison { only_newest, reports_foreign, .. } = settings;
    let tables = Tables { mapping, origins, old, new, first, only_newest, reports_foreign };
    let mut run = ComparisonRun { settings, tables: &tables, diff, on_difference, reporter };
    let found = run.compare_rows().await?;
    match origins {
        None => run.compare_keys(&found).await?,
        Some(origins) if origins.began_empty() => run.look_back(origins).await?,
        Some(_) => {}
    }
    run.reporter.report();
    Ok(run.diff)
}

/// Both tables, for concurrent batches.
struct Tables<'m, 'a> {
    mapping: &'m Mapping<'a>,
    origins: Option<&'m dyn Origins>,
    old: ComparedTable,
    new: ComparedTable,
    /// How many rows that differ are kept of a batch.
    first: usize,
    only_newest: bool,
    reports_foreign: bool,
}

/// What is known of one of the tables.
struct ComparedTable {
    parts: Vec<KeyRange>,
    info: TableInfo,
    clock: Clock,
}

struct ComparisonRun<'r, 'm, 'a, 'p> {
    settings: Comparison,
    tables: &'r Tables<'m, 'a>,
    diff: TableDiff,
    on_difference: Option<OnDifference<'r>>,
    reporter: &'r mut Reporter<'p>,
}

impl ComparisonRun<'_, '_, '_, '_> {
    /// Looks up each row of the old table in the new one; returns the sums of the keys that the new table has.
    async fn compare_rows(&mut self) -> Result<KeySums, Error> {
        let (tables, parallel) = (self.tables, self.settings.parallel);
        let mut sums = KeySums::default();
        let mut compared = pin!(
            self.read_old()
                .map(|rows| async move { tables.compare_batch(rows?).await })
                .buffer_unordered(parallel)
        );
        while let Some(batch) = self.reporter.reporting(compared.next()).await {
            let batch = batch?;
            batch.found.iter().for_each(|hash| sums.add(*hash));
            self.take(batch);
        }
        Ok(sums)
    }

    fn read_old(&mut self) -> impl Stream<Item = Result<StoredRows, Error>> + Send + use<> {
        let ComparedTable { parts, .. } = &self.tables.old;
        self.reporter.begin_parts(parts.len());
        read_parts(&self.tables.mapping.old, parts.clone(), self.settings.parallel, None)
    }

    fn read_new(
        &mut self,
        filter: RowFilter,
    ) -> impl Stream<Item = Result<StoredRows, Error>> + Send + use<> {
        let ComparedTable { parts, .. } = &self.tables.new;
        self.reporter.begin_parts(parts.len());
        read_parts(&self.tables.mapping.new, parts.clone(), self.settings.parallel, Some(filter))
    }

    /// The keys of the new table, without values.
    fn read_keys(&mut self) -> impl Stream<Item = Result<StoredRows, Error>> + Send + use<> {
        self.read_new(RowFilter::chain(RowFilter::existence()))
    }

    /// Looks up each row of the new table in the old one.
    async fn look_back(&mut self, origins: &dyn Origins) -> Result<(), Error> {
        let (tables, parallel) = (self.tables, self.settings.parallel);
        let mut looked_up = pin!(
            self.read_new(origins.filter())
                .map(|rows| async move { tables.look_back(rows?, origins).await })
                .buffer_unordered(parallel)
        );
        while let Some(batch) = self.reporter.reporting(looked_up.next()).await {
            self.take(batch?);
        }
        Ok(())
    }

    /// Counts the keys of the new table; if they are not those that were found, finds which differ.
    async fn compare_keys(&mut self, found: &KeySums) -> Result<(), Error> {
        let tables = self.tables;
        let mut there = KeySums::default();
        let mut keys = pin!(self.read_keys());
        while let Some(StoredRows { rows, is_end, .. }) = self.reporter.reporting(keys.try_next()).await? {
            rows.iter().for_each(|row| there.add(fingerprint64(row.key())));
            let counts = Counts { counted: rows.len() as u64, ..Counts::default() };
            self.take(ComparedBatch { counts, is_end, ..ComparedBatch::default() });
        }
        let (suspects, unexamined) = found.suspects(&there);
        self.diff.counts.extra += unexamined;
        self.diff.is_lower_bound = unexamined > 0 || suspects.len() < found.different(&there).count();
        if suspects.is_empty() {
            return Ok(());
        }
        let is_suspect = |key: &[u8]| suspects.contains(&bucket(fingerprint64(key)));
        // The keys that the old rows have in the new table, each with the old keys of the first rows.
        let mut mapped: HashMap<Bytes, Mapped> = HashMap::new();
        let mut rows = pin!(self.read_old());
        let mut key = Vec::new();
        while let Some(StoredRows { rows, is_end, .. }) = self.reporter.reporting(rows.try_next()).await? {
            for row in &rows {
                key.clear();
                let has_key = matches!(tables.append_key(row, &mut key)?, NewKeyOf::Row);
                if has_key && is_suspect(&key) {
                    match mapped.get_mut(&key[..]) {
                        Some(known) => known.add(row.key()),
                        None => drop(mapped.insert(Bytes::copy_from_slice(&key), Mapped::new(row.key()))),
                    }
                }
            }
            self.take(ComparedBatch { is_end, ..ComparedBatch::default() });
        }
        let shared =
            mapped.iter().filter_map(|(key, Mapped { first, second })| Some((key, first, second.as_ref()?)));
        let mut shared: Vec<_> = shared.collect();
        shared.sort_unstable();
        self.diff.counts.collisions += shared.len() as u64;
        self.keep(shared.into_iter().map(|(new_key, first, second)| RowDifference::Collision {
            old_keys: [tables.old_key(first), tables.old_key(second)],
            new_key: tables.new_key(new_key),
        }));
        let mut extra = Vec::new();
        let mut keys = pin!(self.read_keys());
        while let Some(StoredRows { rows, is_end, .. }) = keys.try_next().await? {
            let is_extra = |key: &&[u8]| is_suspect(key) && !mapped.contains_key(*key);
            extra.extend(rows.iter().map(RawRow::key).filter(is_extra).map(Bytes::copy_from_slice));
            self.take(ComparedBatch { is_end, ..ComparedBatch::default() });
        }
        for keys in extra.chunks(LOOKED_UP) {
            let mut batch = ComparedBatch::default();
            tables.examine(keys.to_vec(), &mut batch).await?;
            self.take(batch);
        }
        Ok(())
    }

    /// Adds what a batch gave.
    fn take(&mut self, batch: ComparedBatch) {
        let ComparedBatch { counts, first, is_end, .. } = batch;
        self.diff.counts.add(&counts);
        self.keep(first);
        let progress = &mut self.reporter.progress;
        progress.compared += counts.compared;
        progress.counted += counts.counted;
        progress.different = self.diff.counts.different();
        progress.partitions_done += u64::from(is_end);
        self.reporter.report_if_due();
    }

    /// Reports differences, and keeps them as long as there is room.
    fn keep(&mut self, differences: impl IntoIterator<Item = RowDifference>) {
        for difference in differences {
            if let Some(tell) = &mut self.on_difference {
                tell(&difference);
            }
            if self.diff.first.len() < self.settings.first {
                self.diff.first.push(difference);
            }
        }
    }
}

/// What a batch of rows gave.
#[derive(Default)]
struct ComparedBatch {
    counts: Counts,
    /// The hashes of the new keys that the new table has.
    found: Vec<u64>,
    first: Vec<RowDifference>,
    /// Whether it was the last one of its partition.
    is_end: bool,
}

/// What the mapping gives for a row of the old table.
enum NewKeyOf {
    Row,
    LeftOut,
    /// The key of the row does not decode, which is reported.
    Foreign,
}

impl Tables<'_, '_> {
    /// Appends the key of an old row in the new table, if it has one.
    fn append_key(&self, row: &RawRow, out: &mut Vec<u8>) -> Result<NewKeyOf, Error> {
        match self.mapping.keys.append_key(row, out) {
            Ok(true) => Ok(NewKeyOf::Row),
            Ok(false) => Ok(NewKeyOf::LeftOut),
            Err(error) if self.reports_foreign && error.kind() == ErrorKind::ForeignRow => {
                Ok(NewKeyOf::Foreign)
            }
            Err(error) => Err(error),
        }
    }

    async fn compare_batch(
        &self,
        StoredRows { rows, is_end, .. }: StoredRows,
    ) -> Result<ComparedBatch, Error> {
        let mut batch = ComparedBatch { is_end, ..ComparedBatch::default() };
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (index, row) in rows.iter().enumerate() {
            match self.append_key(row, &mut bytes)? {
                NewKeyOf::Row => ends.push((bytes.len(), index)),
                NewKeyOf::LeftOut => batch.counts.left_out += 1,
                NewKeyOf::Foreign => {
                    batch.counts.foreign += 1;
                    batch.keep(self.first, || RowDifference::Foreign { old_key: self.old_key(row.key()) });
                }
            }
        }
        batch.counts.compared = ends.len() as u64;
        let bytes = Bytes::from(bytes);
        let starts = std::iter::once(0).chain(ends.iter().map(|(end, _)| *end));
        let keys = starts.zip(&ends).map(|(start, (end, index))| (bytes.slice(start..*end), *index));
        let mut asked: Vec<(Bytes, usize)> = keys.collect();
        asked.sort_unstable();
        let mut distinct: Vec<Bytes> = asked.iter().map(|(key, _)| key.clone()).collect();
        distinct.dedup();
        let mut ahead = asked.iter().peekable();
        let each = |found: &RawRow| {
            // Rows come in the order of their keys.
            while let Some((key, index)) = ahead.next_if(|(key, _)| key[..] <= *found.key()) {
                let row = &rows[*index];
                match key[..] == *found.key() {
                    true => {
                        batch.found.push(fingerprint64(key));
                        self.compare_row(row, found, &mut batch);
                    }
                    false => self.is_missing(row, key, &mut batch),
                }
            }
            Ok(())
        };
        self.read_new_rows(distinct, each).await?;
        for (key, index) in ahead {
            self.is_missing(&rows[*index], key, &mut batch);
        }
        Ok(batch)
    }

    async fn read_new_rows(
        &self,
        keys: Vec<Bytes>,
        each: impl FnMut(&RawRow) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let request = ReadRows { keys, ..ReadRows::default() };
        let new = &self.mapping.new;
        new.client.read_rows(&new.name, request).for_each(each).await
    }

    /// Compares a row with the row of its key in the new table.
    fn compare_row(&self, old: &RawRow, new: &RawRow, batch: &mut ComparedBatch) {
        match self.origins.map(|origins| (origins.of(new), origins.began_empty())) {
            None | Some((Some(Origin::Copied), _)) => self.compare_cells(old, new, batch),
            Some((Some(Origin::Written), _)) => batch.counts.written += 1,
            Some((None, true)) => self.note_without_origin(new, batch),
            Some((None, false)) => self.note_missing(old, new.key(), batch),
        }
    }

    /// Notes a row that the new table lacks, unless all its cells may be removed. A deletion must be copied to a table that
    /// has older rows.
    fn is_missing(&self, row: &RawRow, new_key: &Bytes, batch: &mut ComparedBatch) {
        let is_excused = self.origins.is_none_or(Origins::began_empty);
        match removable_cells(self.old.stored(row)).filter(|_| is_excused) {
            Some(cells) => batch.counts.expired += cells,
            None => self.note_missing(row, new_key, batch),
        }
    }

    fn note_missing(&self, row: &RawRow, new_key: &[u8], batch: &mut ComparedBatch) {
        batch.counts.missing += 1;
        batch.keep(self.first, || RowDifference::Missing {
            old_key: self.old_key(row.key()),
            new_key: self.new_key(new_key),
        });
    }

    fn note_without_origin(&self, row: &RawRow, batch: &mut ComparedBatch) {
        batch.counts.without_origin += 1;
        batch.keep(self.first, || RowDifference::WithoutOrigin { new_key: self.new_key(row.key()) });
    }

    fn compare_cells(&self, old: &RawRow, new: &RawRow, batch: &mut ComparedBatch) {
        batch.counts.cells += own_cells(old).count() as u64;
        let (mut cells, mut count) = (Vec::new(), 0);
        let differs = |old: Option<RawCell<'_>>, new: Option<RawCell<'_>>| {
            let Some(at) = old.or(new) else { return };
            count += 1;
            if cells.len() < MAX_CELLS {
                let value = |cell: Option<RawCell<'_>>| cell.map(|cell| Bytes::copy_from_slice(cell.value()));
                cells.push(CellDifference {
                    family: at.family().to_owned(),
                    qualifier: Bytes::copy_from_slice(at.qualifier()),
                    timestamp_micros: at.timestamp_micros(),
                    old: value(old),
                    new: value(new),
                    stored: self.stored_type(at),
                });
            }
        };
        let (old_row, new_row) = (self.old.stored(old), self.new.stored(new));
        batch.counts.expired += equality::compare(old_row, new_row, self.only_newest, differs);
        if count == 0 {
            batch.counts.equal += 1;
            return;
        }
        batch.counts.differing += 1;
        batch.keep(self.first, || RowDifference::Cells {
            old_key: self.old_key(old.key()),
            new_key: self.new_key(new.key()),
            cells,
            count,
        });
    }

    /// Looks up rows of the new table in the old one.
    async fn look_back(
        &self,
        StoredRows { rows, is_end, .. }: StoredRows,
        origins: &dyn Origins,
    ) -> Result<ComparedBatch, Error> {
        let mut batch = ComparedBatch { is_end, ..ComparedBatch::default() };
        batch.counts.counted = rows.len() as u64;
        let keys: Vec<Bytes> = rows.iter().map(|row| Bytes::copy_from_slice(row.key())).collect();
        let are_in_old = origins.are_in_old(keys.clone()).await?;
        let mut alone = Vec::new();
        for ((row, key), _) in rows.iter().zip(keys).zip(are_in_old).filter(|(_, is_in_old)| !is_in_old) {
            match origins.of(row) {
                // Rows that are in the old table too were counted there.
                Some(Origin::Written) => batch.counts.written += 1,
                _ => alone.push(key),
            }
        }
        self.examine(alone, &mut batch).await?;
        Ok(batch)
    }

    /// Notes rows that the new table has alone, unless all their cells may be removed.
    async fn examine(&self, keys: Vec<Bytes>, batch: &mut ComparedBatch) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let each = |row: &RawRow| {
            let origin = self.origins.map(|origins| origins.of(row));
            match (origin, removable_cells(self.new.stored(row))) {
                // It was written meanwhile.
                (Some(Some(Origin::Written)), _) => batch.counts.written += 1,
                (_, Some(cells)) => batch.counts.expired += cells,
                (Some(None), None) => self.note_without_origin(row, batch),
                (None | Some(Some(Origin::Copied)), None) => {
                    batch.counts.extra += 1;
                    batch.keep(self.first, || RowDifference::Extra { new_key: self.new_key(row.key()) });
                }
            }
            Ok(())
        };
        self.read_new_rows(keys, each).await
    }

    /// How the old table's row type stores a column, or the new one's.
    fn stored_type(&self, cell: RawCell<'_>) -> Option<crate::row::CellType> {
        let (old, new) = (&self.mapping.old.visible, &self.mapping.new.visible);
        let name = || Name { family: cell.family(), qualifier: cell.qualifier() };
        let of_old = old.schema().stored_type(old.family(), name());
        of_old.or_else(|| new.schema().stored_type(new.family(), name()))
    }

    fn old_key(&self, key: &[u8]) -> DifferentKey {
        DifferentKey { stored: Bytes::copy_from_slice(key), decoded: (self.mapping.show_old)(key) }
    }

    fn new_key(&self, key: &[u8]) -> DifferentKey {
        DifferentKey { stored: Bytes::copy_from_slice(key), decoded: (self.mapping.show_new)(key) }
    }
}

impl ComparedBatch {
    fn keep(&mut self, most: usize, difference: impl FnOnce() -> RowDifference) {
        if self.first.len() < most {
            self.first.push(difference());
        }
    }
}

impl ComparedTable {
    async fn of(table: &UntypedTable) -> Result<Self, Error> {
        let parts = table.partitions().await?;
        let info = table.client.table_info(&table.name).await?;
        Ok(Self { parts, info, clock: table.client.clock().clone() })
    }

    fn stored<'a>(&'a self, row: &'a RawRow) -> StoredRow<'a> {
        StoredRow { row, info: &self.info, now_micros: self.clock.now_micros() }
    }
}

/// The first two keys of the old rows that have one key in the new table.
struct Mapped {
    first: Bytes,
    second: Option<Bytes>,
}

impl Mapped {
    fn new(key: &[u8]) -> Self {
        Self { first: Bytes::copy_from_slice(key), second: None }
    }

    fn add(&mut self, key: &[u8]) {
        let (mut key, second) = (Bytes::copy_from_slice(key), self.second.take());
        if key < self.first {
            std::mem::swap(&mut key, &mut self.first);
        }
        self.second = Some(second.map_or(key.clone(), |second| second.min(key)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_rows_of_one_key_the_first_two_are_kept() {
        for [first, second, third] in [b"abc", b"acb", b"bac", b"bca", b"cab", b"cba"] {
            let mut mapped = Mapped::new(&[*first]);
            mapped.add(&[*second]);
            mapped.add(&[*third]);
            assert_eq!((&mapped.first[..], mapped.second.as_deref()), (&b"a"[..], Some(&b"b"[..])));
        }
    }
}
