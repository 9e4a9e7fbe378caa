//! A comparison: the rows of the old table by batches, then the keys of the new one by sums.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::time::Instant;

use super::report::{CellDifference, Counts, DifferentKey, RowDifference, TableDiff};
use super::{OnProgress, Progress, Settings};
use crate::client::{Clock, Error, ReadRows, TableInfo};
use crate::key::{TableKey, fingerprint64};
use crate::row::{Name, RawCell, RawRow, RowFilter};
use crate::table::Handle;
use crate::table::equality::{self, StoredRow, own_cells, removable_cells};
use crate::table::load::run::PROGRESS_EVERY;
use crate::table::stored::{KeyMap, read_parts};

/// How many cells of a row are kept.
const MAX_CELLS: usize = 10;

/// The most keys of rows that one table seems to have alone, which are held in memory.
const MAX_EXAMINED: u64 = 1_000_000;

/// How many rows are looked up at a time.
const LOOKED_UP: usize = 1000;

pub(in crate::table) async fn run<K: TableKey, R, N: TableKey, S>(
    map: KeyMap<'_, K, R, N, S>,
    settings: Settings,
    on_progress: Option<OnProgress<'_>>,
) -> Result<TableDiff, Error> {
    let (old, new) = (Side::of(&map.old.handle).await?, Side::of(&map.new.handle).await?);
    let diff = TableDiff {
        old: Arc::clone(map.old.handle.name.table()),
        new: Arc::clone(map.new.handle.name.table()),
        counts: Counts::default(),
        first: Vec::new(),
        is_lower_bound: false,
    };
    let begun = Instant::now();
    let tables = Arc::new(Tables { map, old, new, max_first: settings.first });
    let mut comparison =
        Comparison { settings, diff, found: KeySums::default(), begun, progress_at: begun, on_progress };
    comparison.compare_rows(&tables).await?;
    comparison.compare_keys(&tables).await?;
    comparison.report_progress();
    Ok(comparison.diff)
}

/// Both tables, for concurrent batches.
struct Tables<'a, K: TableKey, R, N: TableKey, S> {
    map: KeyMap<'a, K, R, N, S>,
    old: Side,
    new: Side,
    max_first: usize,
}

/// What is known of one of the tables.
struct Side {
    info: TableInfo,
    clock: Clock,
}

struct Comparison<'a> {
    settings: Settings,
    diff: TableDiff,
    /// Of the keys of the new table that rows of the old one have.
    found: KeySums,
    begun: Instant,
    progress_at: Instant,
    on_progress: Option<OnProgress<'a>>,
}

impl Comparison<'_> {
    /// Looks up each row of the old table in the new one.
    async fn compare_rows<K: TableKey, R, N: TableKey, S>(
        &mut self,
        tables: &Arc<Tables<'_, K, R, N, S>>,
    ) -> Result<(), Error> {
        let parts = tables.map.old.handle.partitions().await?;
        let parallel = self.settings.parallel;
        let compared = read_parts(&tables.map.old.handle, parts, parallel, None)
            .map(|rows| {
                let tables = Arc::clone(tables);
                async move { tables.compare_batch(rows?.rows).await }
            })
            .buffer_unordered(parallel);
        let mut compared = pin!(compared);
        while let Some(batch) = compared.next().await {
            let Batch { counts, found, first } = batch?;
            self.diff.counts.add(&counts);
            found.into_iter().for_each(|hash| self.found.add(hash));
            self.keep(first);
            self.report_if_due();
        }
        Ok(())
    }

    /// Counts the keys of the new table; if they are not those that were found, finds which differ.
    async fn compare_keys<K: TableKey, R, N: TableKey, S>(
        &mut self,
        tables: &Arc<Tables<'_, K, R, N, S>>,
    ) -> Result<(), Error> {
        let new = &tables.map.new.handle;
        let mut there = KeySums::default();
        let mut keys = pin!(read_keys(new, self.settings.parallel).await?);
        while let Some(keys) = keys.try_next().await? {
            keys.iter().for_each(|key| there.add(fingerprint64(key)));
            self.diff.counts.counted += keys.len() as u64;
            self.report_if_due();
        }
        let (suspects, unexamined) = self.found.suspects(&there);
        self.diff.counts.extra += unexamined;
        self.diff.is_lower_bound = unexamined > 0 || suspects.len() < self.found.different(&there).count();
        if suspects.is_empty() {
            return Ok(());
        }
        // The keys that the old rows have in the new table, each with the old keys of the first rows and their number.
        let mut mapped: HashMap<Bytes, Mapped> = HashMap::new();
        let parts = tables.map.old.handle.partitions().await?;
        let mut rows = pin!(read_parts(&tables.map.old.handle, parts, self.settings.parallel, None));
        let mut key = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            for row in &batch.rows {
                key.clear();
                if tables.map.new_key(row, &mut key)? && suspects.contains(&bucket(fingerprint64(&key))) {
                    match mapped.get_mut(&key[..]) {
                        Some(known) => known.add(row.key()),
                        None => drop(mapped.insert(Bytes::copy_from_slice(&key), Mapped::new(row.key()))),
                    }
                }
            }
            self.report_if_due();
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
        let mut keys = pin!(read_keys(new, self.settings.parallel).await?);
        while let Some(keys) = keys.try_next().await? {
            let is_extra = |key: &&Bytes| {
                suspects.contains(&bucket(fingerprint64(key))) && !mapped.contains_key(&key[..])
            };
            extra.extend(keys.iter().filter(is_extra).map(|key| Bytes::copy_from_slice(key)));
            self.report_if_due();
        }
        for keys in extra.chunks(LOOKED_UP) {
            let mut first = Vec::new();
            let (mut counts, max_first) = (Counts::default(), self.settings.first);
            let each = |row: &RawRow| {
                match removable_cells(tables.new.stored(row)) {
                    Some(cells) => counts.expired += cells,
                    None => {
                        counts.extra += 1;
                        if first.len() < max_first {
                            first.push(RowDifference::Extra { new_key: tables.new_key(row.key()) });
                        }
                    }
                }
                Ok(())
            };
            let request = ReadRows { keys: keys.to_vec(), ..ReadRows::default() };
            new.client.read_rows(&new.name, request).for_each(each).await?;
            self.diff.counts.add(&counts);
            self.keep(first);
            self.report_if_due();
        }
        Ok(())
    }

    /// Keeps differences, as long as there is room.
    fn keep(&mut self, differences: impl IntoIterator<Item = RowDifference>) {
        let room = self.settings.first.saturating_sub(self.diff.first.len());
        self.diff.first.extend(differences.into_iter().take(room));
    }

    fn report_if_due(&mut self) {
        if self.on_progress.is_some() && Instant::now() >= self.progress_at {
            self.report_progress();
        }
    }

    fn report_progress(&mut self) {
        let now = Instant::now();
        self.progress_at = now + PROGRESS_EVERY;
        let counts = &self.diff.counts;
        let progress = Progress {
            compared: counts.compared,
            counted: counts.counted,
            different: counts.different(),
            elapsed: now - self.begun,
        };
        if let Some(call) = &mut self.on_progress {
            call(&progress);
        }
    }
}

/// The keys of a table, without values.
async fn read_keys(
    table: &Handle,
    parallel: usize,
) -> Result<impl Stream<Item = Result<Vec<Bytes>, Error>> + Send + use<>, Error> {
    let keys_only = RowFilter::chain(RowFilter::existence());
    let rows = read_parts(table, table.partitions().await?, parallel, Some(keys_only));
    Ok(rows.map_ok(|batch| batch.rows.iter().map(|row| row.bytes.slice_ref(row.key())).collect()))
}

/// What a batch of rows gave.
#[derive(Default)]
struct Batch {
    counts: Counts,
    /// The hashes of the new keys that the new table has.
    found: Vec<u64>,
    first: Vec<RowDifference>,
}

impl<K: TableKey, R, N: TableKey, S> Tables<'_, K, R, N, S> {
    async fn compare_batch(&self, rows: Vec<RawRow>) -> Result<Batch, Error> {
        let mut batch = Batch::default();
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (index, row) in rows.iter().enumerate() {
            match self.map.new_key(row, &mut bytes)? {
                true => ends.push((bytes.len(), index)),
                false => batch.counts.left_out += 1,
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
                        self.compare_cells(row, found, &mut batch);
                    }
                    false => self.is_missing(row, key, &mut batch),
                }
            }
            Ok(())
        };
        let request = ReadRows { keys: distinct, ..ReadRows::default() };
        let new = &self.map.new.handle;
        new.client.read_rows(&new.name, request).for_each(each).await?;
        for (key, index) in ahead {
            self.is_missing(&rows[*index], key, &mut batch);
        }
        Ok(batch)
    }

    /// Notes a row that the new table lacks, unless all its cells may be removed.
    fn is_missing(&self, row: &RawRow, new_key: &Bytes, batch: &mut Batch) {
        match removable_cells(self.old.stored(row)) {
            Some(cells) => batch.counts.expired += cells,
            None => {
                batch.counts.missing += 1;
                if batch.first.len() < self.max_first {
                    let (old_key, new_key) = (self.old_key(row.key()), self.new_key(new_key));
                    batch.first.push(RowDifference::Missing { old_key, new_key });
                }
            }
        }
    }

    fn compare_cells(&self, old: &RawRow, new: &RawRow, batch: &mut Batch) {
        batch.counts.cells += own_cells(old).count() as u64;
        let (mut differences, mut count) = (Vec::new(), 0);
        let differs = |old: Option<RawCell<'_>>, new: Option<RawCell<'_>>| {
            let Some(at) = old.or(new) else { return };
            count += 1;
            if differences.len() < MAX_CELLS {
                let value = |cell: Option<RawCell<'_>>| cell.map(|cell| Bytes::copy_from_slice(cell.value()));
                differences.push(CellDifference {
                    family: at.family().to_owned(),
                    qualifier: Bytes::copy_from_slice(at.qualifier()),
                    timestamp_micros: at.timestamp_micros(),
                    old: value(old),
                    new: value(new),
                    stored: self.stored_type(at),
                });
            }
        };
        batch.counts.expired += equality::compare(self.old.stored(old), self.new.stored(new), differs);
        if count == 0 {
            return;
        }
        batch.counts.differing += 1;
        if batch.first.len() < self.max_first {
            let (old_key, new_key) = (self.old_key(old.key()), self.new_key(new.key()));
            batch.first.push(RowDifference::Cells { old_key, new_key, cells: differences, count });
        }
    }

    /// How the old table's row type stores a column, or the new one's.
    fn stored_type(&self, cell: RawCell<'_>) -> Option<crate::row::CellType> {
        let (old, new) = (&self.map.old.handle.visible, &self.map.new.handle.visible);
        let name = || Name { family: cell.family(), qualifier: cell.qualifier() };
        let of_old = old.schema().stored_type(old.family(), name());
        of_old.or_else(|| new.schema().stored_type(new.family(), name()))
    }

    fn old_key(&self, key: &[u8]) -> DifferentKey {
        DifferentKey { stored: Bytes::copy_from_slice(key), decoded: (self.map.show_old)(key) }
    }

    fn new_key(&self, key: &[u8]) -> DifferentKey {
        DifferentKey { stored: Bytes::copy_from_slice(key), decoded: (self.map.show_new)(key) }
    }
}

impl Side {
    async fn of(table: &Handle) -> Result<Self, Error> {
        table.ensure_checked().await?;
        Ok(Self { info: table.client.table_info(&table.name).await?, clock: table.client.clock().clone() })
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

/// How many buckets of keys have sums of their own.
const BUCKETS: usize = 1 << 16;

/// The bucket of a key, by the upper bits of its hash.
fn bucket(hash: u64) -> u16 {
    (hash >> 48) as u16
}

/// How many keys there are, and sums of their hashes, bucket by bucket. Equal lists of keys have equal sums, in any order;
/// others have not, but for hashes that coincide.
struct KeySums(Vec<KeySum>);

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct KeySum {
    keys: u64,
    sum: u64,
    mixed: u64,
}

impl Default for KeySums {
    fn default() -> Self {
        Self(vec![KeySum::default(); BUCKETS])
    }
}

impl KeySums {
    fn add(&mut self, hash: u64) {
        if let Some(sum) = self.0.get_mut(usize::from(bucket(hash))) {
            sum.keys += 1;
            sum.sum = sum.sum.wrapping_add(hash);
            // Two keys in place of two others do not have the same sum of both.
            let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            sum.mixed = sum.mixed.wrapping_add(mixed ^ (mixed >> 32));
        }
    }

    /// The buckets that differ, with the numbers of keys on both sides.
    fn different(&self, other: &Self) -> impl Iterator<Item = (u16, u64, u64)> {
        let both = self.0.iter().zip(&other.0).zip(0..=u16::MAX);
        both.filter(|((one, other), _)| one != other).map(|((one, other), at)| (at, one.keys, other.keys))
    }

    /// As many of the buckets that differ as have up to [`MAX_EXAMINED`] keys, but at least one; and by how many keys the others
    /// have more in `there`, at least.
    fn suspects(&self, there: &Self) -> (BTreeSet<u16>, u64) {
        let (mut suspects, mut keys, mut unexamined) = (BTreeSet::new(), 0, 0);
        for (at, found, counted) in self.different(there) {
            keys += found + counted;
            match suspects.is_empty() || keys <= MAX_EXAMINED {
                true => drop(suspects.insert(at)),
                false => unexamined += counted.saturating_sub(found),
            }
        }
        (suspects, unexamined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(hashes: &[u64]) -> KeySums {
        let mut sums = KeySums::default();
        hashes.iter().for_each(|hash| sums.add(*hash));
        sums
    }

    #[test]
    fn other_keys_of_one_bucket_have_other_sums() {
        // All in the first bucket, and as many on both sides.
        for (found, there) in [(&[1, 2], &[1, 3]), (&[1, 4], &[2, 3]), (&[5, 5], &[5, 6]), (&[5, 5], &[4, 6])]
        {
            let (suspects, unexamined) = sums(found).suspects(&sums(there));
            assert_eq!(
                (suspects.into_iter().collect::<Vec<_>>(), unexamined),
                (vec![0], 0),
                "{found:?} {there:?}"
            );
        }
        assert!(sums(&[1, 2, 7 << 48]).suspects(&sums(&[7 << 48, 2, 1])).0.is_empty());
        assert_eq!(sums(&[1]).suspects(&sums(&[1, 7 << 48])).0, [7].into());
    }

    #[test]
    fn more_keys_than_memory_holds_are_counted_at_least() {
        let (mut found, mut there) = (sums(&[]), sums(&[]));
        for bucket in 0..3 {
            found.0[bucket] = KeySum { keys: 400_000, sum: 1, mixed: 1 };
            there.0[bucket] = KeySum { keys: 400_007, sum: 2, mixed: 2 };
        }
        assert_eq!(found.suspects(&there), ([0].into(), 14));
    }
}
