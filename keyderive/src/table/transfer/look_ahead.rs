//! What a transfer has read and not sent yet, and the order in which it is sent.
//!
//! A [`LookAhead`] sorts rows into the partitions of the key space. The rows of a partition are encoded in a [`RowArena`],
//! and are sorted by their keys when they are split into requests. [`InFlightRows`] keeps a second row of a key back until the
//! first one is written.

#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::client::token::Token;
use crate::client::{Batch, Entries, Entry, EntryMeta};
use crate::key::fingerprint64;

/// The rows that wait, and whose turn it is.
///
/// Partitions take turns, and the waiting rows of each are split into as many requests as the fullest one needs. So all
/// partitions run out together, and none has many more requests than another in any period.
pub(crate) struct LookAhead {
    limits: BatchLimits,
    /// Where the partitions begin.
    starts: Vec<Start>,
    partitions: Vec<Partition>,
    /// The partitions with waiting rows, by their next turn.
    turns: BTreeSet<(u64, usize)>,
    next_turn: u64,
    /// How many rows and bytes wait.
    size: BatchLimits,
    next_request: u64,
    duplicate: Option<(u64, Bytes)>,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    partition: usize,
    number: u64,
}

#[derive(Default)]
struct Partition {
    turn: u64,
    waiting: RowArena,
    /// Whether every waiting row has a key that is in flight.
    is_blocked: bool,
    /// The next batches; the last of them is sent first.
    batches: Vec<LoadBatch>,
    in_flight: InFlightRows,
}

/// A key at which a partition begins, or the key of a row whose partition is looked up, after its first eight bytes as
/// a number, which distinguish most keys. The first partition begins at the empty key.
struct Start<T = Bytes>(u64, T);

impl<T: AsRef<[u8]>> Start<T> {
    fn new(key: T) -> Self {
        let bytes = key.as_ref();
        let first = bytes.first_chunk().copied().unwrap_or_else(|| {
            let mut first = [0; size_of::<u64>()];
            first[..bytes.len()].copy_from_slice(bytes);
            first
        });
        Self(u64::from_be_bytes(first), key)
    }
}

impl LookAhead {
    /// For a table whose partitions begin at these keys, which ascend from the empty one.
    pub(crate) fn new(starts: Vec<Bytes>, limits: BatchLimits) -> Self {
        let mut partitions: Vec<_> = starts.iter().map(|_| Partition::default()).collect();
        // Neighbouring partitions are often on one server.
        for (turn, position) in scattered(partitions.len()).enumerate() {
            partitions[position].turn = turn as u64;
        }
        Self {
            limits,
            starts: starts.into_iter().map(Start::new).collect(),
            next_turn: partitions.len() as u64,
            partitions,
            turns: BTreeSet::new(),
            size: BatchLimits { bytes: 0, rows: 0 },
            next_request: 0,
            duplicate: None,
        }
    }

    /// How many rows and bytes wait.
    pub(crate) fn size(&self) -> BatchLimits {
        self.size
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Adds the row at this index of the input.
    pub(crate) fn push(&mut self, index: u64, row: &Entry) {
        let key = Start::new(&row.key[..]);
        let begins = |start: &Start| (start.0, &start.1[..]) <= (key.0, key.1);
        // No key is below the first start, which is empty.
        let position = self.starts.partition_point(begins).saturating_sub(1);
        let Some(partition) = self.partitions.get_mut(position) else { return };
        if partition.is_empty() {
            self.turns.insert((partition.turn, position));
        }
        let before = partition.waiting.bytes();
        partition.waiting.push(index, row);
        partition.is_blocked = false;
        self.size.bytes += partition.waiting.bytes() - before;
        self.size.rows += 1;
    }

    /// The rows of the next request; none if no row waits, or if each has a key that is in flight. `prepare` changes them first.
    pub(crate) fn take(&mut self, prepare: impl FnOnce(&mut LoadBatch)) -> Option<(Request, LoadBatch)> {
        let Self { limits, partitions, turns, duplicate, .. } = self;
        let count = partitions.iter().map(|partition| partition.requests(*limits)).max()?;
        let (turn, position, mut batch) = turns.iter().find_map(|(turn, position)| {
            let batch = partitions[*position].next(count, *limits, duplicate)?;
            Some((*turn, *position, batch))
        })?;
        turns.remove(&(turn, position));
        let partition = &mut partitions[position];
        partition.turn = self.next_turn;
        self.next_turn += 1;
        if !partition.is_empty() {
            turns.insert((partition.turn, position));
        }
        self.size.bytes -= batch.bytes;
        self.size.rows -= batch.entries.len();
        prepare(&mut batch);
        let request = Request { partition: position, number: self.next_request };
        self.next_request += 1;
        partition.in_flight.begin(request.number, &batch.entries);
        Some((request, batch))
    }

    /// The first row that was found to have the key of one before it: its index and its key.
    ///
    /// A row with the key of one that is in flight, or was written, does not count.
    pub(crate) fn duplicate(&self) -> Option<&(u64, Bytes)> {
        self.duplicate.as_ref()
    }

    /// Ends a request.
    pub(crate) fn finish(&mut self, Request { partition, number }: Request) {
        let partition = &mut self.partitions[partition];
        partition.in_flight.end(number);
        partition.is_blocked = false;
    }
}

impl Partition {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.batches.is_empty()
    }

    /// The least number of requests for its rows.
    fn requests(&self, limits: BatchLimits) -> usize {
        self.batches.len() + limits.requests(self.waiting.len(), self.waiting.bytes())
    }

    fn next(
        &mut self,
        count: usize,
        limits: BatchLimits,
        duplicate: &mut Option<(u64, Bytes)>,
    ) -> Option<LoadBatch> {
        if self.batches.is_empty() && !self.is_blocked {
            self.batches =
                split_into_batches(&mut self.waiting, count, limits, &mut self.in_flight, duplicate);
            self.is_blocked = self.batches.is_empty();
        }
        self.batches.pop()
    }
}

/// How large a request may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
}

impl BatchLimits {
    /// The least number of requests for this many rows and bytes.
    fn requests(self, rows: usize, bytes: usize) -> usize {
        rows.div_ceil(self.rows).max(bytes.div_ceil(self.bytes))
    }
}

/// The rows of one request: of one partition, in the order of their keys, each key once.
pub(crate) struct LoadBatch {
    pub(crate) entries: Arc<Entries>,
    /// The indexes of the rows in the input.
    pub(crate) indexes: Vec<u64>,
    pub(super) bytes: usize,
}

impl LoadBatch {
    /// Gives these tokens to the rows that add to sums. The first token was sent `age` ago.
    pub(super) fn set_tokens(&mut self, tokens: Vec<Token>, age: Duration) {
        // Nobody else has the entries before they are sent.
        if let Some(entries) = Arc::get_mut(&mut self.entries) {
            entries.set_tokens(tokens.into_iter(), age);
        }
    }
}

struct BatchBuilder {
    batch: Batch,
    indexes: Vec<u64>,
}

impl BatchBuilder {
    /// Allocates for a batch of these bytes and a little more, since the last row may exceed them.
    fn new(bytes: usize, limits: BatchLimits, all: &RowArena) -> Self {
        let bytes = (bytes + bytes / 16).min(limits.bytes);
        let rows = (bytes / (all.bytes() / all.len().max(1)).max(1) + 1).min(limits.rows);
        Self { batch: Batch::with_capacity(bytes, rows), indexes: Vec::with_capacity(rows) }
    }

    fn has_room_for(&self, row: ArenaRow<'_>, limits: BatchLimits) -> bool {
        self.batch.len() < limits.rows
            && !self.batch.is_full_for_encoded(row.encoded, row.row.meta, limits.bytes)
    }

    fn add(&mut self, row: ArenaRow<'_>) {
        self.batch.add_encoded(row.encoded, row.row.meta);
        self.indexes.push(row.row.index);
    }

    fn end(mut self) -> LoadBatch {
        let bytes = self.batch.bytes();
        LoadBatch { entries: Arc::new(self.batch.take()), indexes: self.indexes, bytes }
    }
}

/// Splits the rows of a partition into about `count` batches of equal size, each of neighbouring keys. The last batch is to
/// be sent first; successive batches are far apart in the key space.
///
/// A row stays in the arena if a row with its key comes before it or is in flight: of two rows with one key the later counts,
/// and neither concurrent requests nor the rows of a request have an order.
fn split_into_batches(
    arena: &mut RowArena,
    count: usize,
    limits: BatchLimits,
    in_flight: &mut InFlightRows,
    duplicate: &mut Option<(u64, Bytes)>,
) -> Vec<LoadBatch> {
    let all = std::mem::take(arena);
    in_flight.collect_fingerprints();
    let mut batches: Vec<LoadBatch> = Vec::with_capacity(count.min(all.len()));
    let mut builder: Option<BatchBuilder> = None;
    let mut kept = Vec::new();
    let (mut total, mut sum, mut enough) = (all.bytes(), 0, 0);
    all.for_each_sorted(|row, is_duplicate| {
        if is_duplicate || in_flight.contains(row.key()) {
            total -= row.encoded.len();
            if is_duplicate {
                duplicate.get_or_insert_with(|| (row.row.index, Bytes::copy_from_slice(row.key())));
            }
            return kept.push(row.position);
        }
        match &mut builder {
            Some(builder) if sum < enough && builder.has_room_for(row, limits) => builder.add(row),
            full => {
                batches.extend(full.take().map(BatchBuilder::end));
                // An equal part of the rest, so that a batch that reached the limits early leaves no small remainder.
                let left = count.saturating_sub(batches.len()).max(1);
                let part = (total - sum).div_ceil(left);
                enough = sum + part;
                full.insert(BatchBuilder::new(part, limits, &all)).add(row);
            }
        }
        sum += row.encoded.len();
    });
    batches.extend(builder.map(BatchBuilder::end));
    in_flight.drop_fingerprints(all.len());
    *arena = all.retain(kept);
    let mut batches: Vec<Option<LoadBatch>> = batches.into_iter().map(Some).collect();
    let mut order: Vec<LoadBatch> =
        scattered(batches.len()).filter_map(|position| batches.get_mut(position)?.take()).collect();
    order.reverse();
    order
}

/// The numbers below `count`, in an order where successive ones are far apart.
fn scattered(count: usize) -> impl Iterator<Item = usize> {
    // A step near the golden section that is coprime to the count reaches every number.
    let golden = (count as f64 * 0.618) as usize;
    let step = (golden.max(1)..=count.max(1)).find(|step| gcd(*step, count) == 1).unwrap_or(1);
    (0..count).scan(count / 2, move |next, _| {
        let this = *next;
        *next = (this + step) % count;
        Some(this)
    })
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The rows of a partition in flight, by request.
#[derive(Default)]
struct InFlightRows {
    requests: BTreeMap<u64, Arc<Entries>>,
    rows: usize,
    /// For each fingerprint, how many rows in flight have a key with it; `None` while the fingerprints are not collected. Keys
    /// with one fingerprint count as the same key, so a row may also wait for another key.
    fingerprints: Option<HashMap<u64, u32>>,
}

impl InFlightRows {
    fn begin(&mut self, number: u64, entries: &Arc<Entries>) {
        self.rows += entries.len();
        if let Some(fingerprints) = &mut self.fingerprints {
            add(fingerprints, entries);
        }
        self.requests.insert(number, Arc::clone(entries));
    }

    fn end(&mut self, number: u64) {
        let Some(entries) = self.requests.remove(&number) else { return };
        self.rows -= entries.len();
        let Some(fingerprints) = &mut self.fingerprints else { return };
        for key in entries.keys() {
            if let Slot::Occupied(mut rows) = fingerprints.entry(fingerprint64(key)) {
                *rows.get_mut() -= 1;
                if *rows.get() == 0 {
                    rows.remove();
                }
            }
        }
    }

    /// Collects the fingerprints for [`contains`](Self::contains).
    fn collect_fingerprints(&mut self) {
        if self.fingerprints.is_none() && !self.requests.is_empty() {
            let mut fingerprints = HashMap::with_capacity(self.rows);
            self.requests.values().for_each(|entries| add(&mut fingerprints, entries));
            self.fingerprints = Some(fingerprints);
        }
    }

    /// Whether a row with this key, or with another one of its fingerprint, is in flight.
    fn contains(&self, key: &[u8]) -> bool {
        self.fingerprints.as_ref().is_some_and(|fingerprints| fingerprints.contains_key(&fingerprint64(key)))
    }

    /// Drops the fingerprints after `lookups` lookups. If there were few, as in a load of small requests, keeping the
    /// fingerprints up to date is cheaper than collecting them each time.
    fn drop_fingerprints(&mut self, lookups: usize) {
        if lookups >= self.rows {
            self.fingerprints = None;
        }
    }
}

fn add(fingerprints: &mut HashMap<u64, u32>, entries: &Entries) {
    for key in entries.keys() {
        *fingerprints.entry(fingerprint64(key)).or_default() += 1;
    }
}

/// The sizes of chunks. A row larger than an eighth of the largest has a chunk of its own.
const MIN_CHUNK: usize = 4 * 1024;
const MAX_CHUNK: usize = 256 * 1024;

/// The most rows that are allocated for at once.
const MAX_RESERVED_ROWS: usize = 16 * 1024;

/// The waiting rows of a partition, encoded one after the other.
#[derive(Default)]
struct RowArena {
    rows: Vec<Row>,
    chunks: Vec<Vec<u8>>,
    /// The chunk that new rows go to.
    open: usize,
    bytes: usize,
    /// The common prefix of all keys.
    common: Vec<u8>,
    /// How many rows have a key prefix that was made with a longer common prefix.
    stale_prefixes: usize,
    /// How many rows there were before some were sent.
    previous_len: usize,
}

#[derive(Clone, Copy)]
struct Row {
    /// Its index in the input.
    index: u64,
    chunk: usize,
    start: usize,
    len: usize,
    /// The offset of its key in the row.
    key_start: usize,
    key_len: usize,
    /// Its key's [`key_prefix`] after the common prefix.
    prefix: u64,
    meta: EntryMeta,
}

/// A row of an arena, encoded as a field of the request.
#[derive(Clone, Copy)]
struct ArenaRow<'a> {
    position: usize,
    row: &'a Row,
    encoded: &'a [u8],
}

impl<'a> ArenaRow<'a> {
    fn key(self) -> &'a [u8] {
        &self.encoded[self.row.key_start..][..self.row.key_len]
    }
}

impl RowArena {
    fn push(&mut self, index: u64, entry: &Entry) {
        let len = entry.bytes();
        let (chunk, start) = self.allocate(len);
        let key_start = entry.encode(&mut self.chunks[chunk]) - start;
        let (prefix, key_len, meta) = (self.prefix(&entry.key), entry.key.len(), entry.meta());
        self.rows.push(Row { index, chunk, start, len, key_start, key_len, prefix, meta });
    }

    /// Keeps these rows, in this order. Once half of the memory is unused, it copies them and frees the rest.
    fn retain(self, positions: Vec<usize>) -> Self {
        let kept: usize = positions.iter().map(|position| self.rows[*position].len).sum();
        if kept > self.chunks.iter().map(Vec::len).sum::<usize>() / 2 {
            let rows: Vec<Row> = positions.into_iter().map(|position| self.rows[position]).collect();
            return Self { stale_prefixes: rows.len(), rows, bytes: kept, ..self };
        }
        let mut arena = Self { previous_len: self.rows.len(), ..Self::default() };
        for row in positions.into_iter().map(|position| self.row(position)) {
            let (chunk, start) = arena.allocate(row.encoded.len());
            arena.chunks[chunk].extend_from_slice(row.encoded);
            let prefix = arena.prefix(row.key());
            arena.rows.push(Row { chunk, start, prefix, ..*row.row });
        }
        arena
    }

    /// Finds or adds a chunk with room for `len` bytes; returns its index and the offset in it.
    fn allocate(&mut self, len: usize) -> (usize, usize) {
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= len;
        let before = self.bytes;
        self.bytes += len;
        if self.chunks.get(self.open).is_some_and(has_room) {
            return (self.open, self.chunks[self.open].len());
        }
        let is_large = len > MAX_CHUNK / 8;
        self.chunks.push(Vec::with_capacity(if is_large {
            len
        } else {
            before.clamp(MIN_CHUNK, MAX_CHUNK).max(len)
        }));
        let added = self.chunks.len() - 1;
        if !is_large {
            self.open = added;
        }
        (added, 0)
    }

    /// The key prefix of the next row. Shortens the common prefix where the key differs.
    fn prefix(&mut self, key: &[u8]) -> u64 {
        if self.rows.is_empty() {
            self.common.extend_from_slice(key);
            self.rows.reserve(self.previous_len.min(MAX_RESERVED_ROWS));
        }
        let common = common_prefix_len(&self.common, key);
        if common < self.common.len() {
            self.common.truncate(common);
            self.stale_prefixes = self.rows.len();
        }
        key_prefix(key, common)
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    /// The size of the rows in requests.
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn row(&self, position: usize) -> ArenaRow<'_> {
        let row = &self.rows[position];
        ArenaRow { position, row, encoded: &self.chunks[row.chunk][row.start..][..row.len] }
    }

    /// Calls `f` on all rows in the order of their keys, and rows with one key in the order of the input, with whether a row
    /// with the same key came before.
    fn for_each_sorted<'a>(&'a self, mut f: impl FnMut(ArenaRow<'a>, bool)) {
        let row = |position| self.row(position);
        let mut rows: Vec<PrefixedRow> = self.rows.iter().map(|row| row.prefix).zip(0..).collect();
        for (prefix, position) in &mut rows[..self.stale_prefixes] {
            *prefix = key_prefix(row(*position).key(), self.common.len());
        }
        sort(&mut rows, self.common.len(), &row, &mut f);
    }
}

/// Some bytes of a row's key, and the row's index in the arena.
type PrefixedRow = (u64, usize);

/// How many bytes of a key a prefix holds. Its last byte is their number, or [`MORE`].
const PREFIX: usize = size_of::<u64>() - 1;
const MORE: u8 = PREFIX as u8 + 1;

/// Calls `f` on rows in the order of their keys. All keys have the first `skip` bytes in common, and the prefixes in
/// `rows` are of the bytes after them.
///
/// Rows are scattered over memory, so a key is read only if others have the same prefix, and then just before `f`.
fn sort<'a>(
    rows: &mut [PrefixedRow],
    skip: usize,
    row: &impl Fn(usize) -> ArenaRow<'a>,
    f: &mut impl FnMut(ArenaRow<'a>, bool),
) {
    rows.sort_unstable();
    for same in rows.chunk_by_mut(|one, other| one.0 == other.0) {
        let has_more = same[0].0.to_be_bytes()[PREFIX] == MORE;
        let skip = skip + PREFIX;
        let rest = |(_, position): &PrefixedRow| row(*position).key().get(skip..).unwrap_or_default();
        if has_more && !same.is_sorted_by(|one, other| rest(one) < rest(other)) {
            let first = rest(&same[0]);
            let more =
                same.iter().fold(first.len(), |more, row| common_prefix_len(&first[..more], rest(row)));
            let skip = skip + more;
            same.iter_mut().for_each(|(prefix, position)| *prefix = key_prefix(row(*position).key(), skip));
            sort(same, skip, row, f);
            continue;
        }
        // They are in order, or all have the same key.
        for (number, (_, position)) in same.iter().enumerate() {
            f(row(*position), !has_more && number > 0);
        }
    }
}

/// The bytes of a key after the first `skip`, as a number that sorts like them.
fn key_prefix(key: &[u8], skip: usize) -> u64 {
    let rest = key.get(skip..).unwrap_or_default();
    match rest.first_chunk() {
        Some(first) => u64::from_be_bytes(*first) & !0xff | u64::from(MORE),
        None => {
            let bytes = rest.iter().chain([0; PREFIX].iter()).take(PREFIX);
            bytes.fold(0, |prefix, byte| prefix << 8 | u64::from(*byte)) << 8 | rest.len() as u64
        }
    }
}

fn common_prefix_len(one: &[u8], other: &[u8]) -> usize {
    const AT_ONCE: usize = 16;
    let words = one.as_chunks::<AT_ONCE>().0.iter().zip(other.as_chunks().0);
    let skip = AT_ONCE * words.take_while(|(one, other)| one == other).count();
    let rest = one[skip..].iter().zip(&other[skip..]);
    skip + rest.take_while(|(one, other)| one == other).count()
}
