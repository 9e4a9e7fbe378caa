//! Rows encoded as entries of a `MutateRows` request.
//!
//! [`Mutations`] holds the changes of a row as the field of an entry, [`Batch`] the entries of a request one after the
//! other. `put` and the bulk writes encode every row here, so the mutations that they use are encoded by hand: those
//! that set a cell, delete a column or delete a family. The generated messages encode the rest, and the tests compare
//! both. Field numbers are those of keyderive-proto's `data.proto`.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use keyderive_proto::data::mutation::{
    AddToCell, DeleteFromColumn, DeleteFromFamily, DeleteFromRow, MergeToCell, Mutation as Message, SetCell,
};
use keyderive_proto::data::value::Kind;
use keyderive_proto::data::{self, TimestampRange};
use prost::Message as _;

use super::token::{self, Token};
use super::{Large, MAX_MUTATIONS, check, is_far_from_limits, is_within_advice};
use crate::client::operation::Idempotency;
use crate::client::protobuf::{LENGTH, Reader, begin, bytes, bytes_len, int, int_len};
use crate::client::{Clock, Error};
use crate::row::{
    CellError, Mutation, MutationKind, MutationList, MutationSink, RowError, SERVER_TIME, TimeRange,
    is_same_name,
};

/// The most bytes of a request with several entries: well below what the service accepts.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The default size of a request with several entries: thousands of small rows, so the round trip hardly counts, and small
/// enough for a processor's caches.
pub(crate) const REQUEST_BYTES: usize = 1024 * 1024;

/// How many buffers of earlier batches a [`Batch`] keeps.
const MAX_FREE_BUFFERS: usize = 8;

/// How many cells of a row have templates.
const MAX_TEMPLATES: usize = 64;

// Fields of a request, and of its entries.
const ENTRIES: u8 = 2;
const ROW_KEY: u8 = 1;
const MUTATIONS: u8 = 2;

// Kinds of mutations.
const SET_CELL: u8 = 1;
const DELETE_FROM_COLUMN: u8 = 2;
const DELETE_FROM_FAMILY: u8 = 3;

// Fields of a mutation.
const FAMILY: u8 = 1;
const QUALIFIER: u8 = 2;
const TIMESTAMP: u8 = 3;
const VALUE: u8 = 4;

/// The greatest length whose varint takes one byte.
const MAX_ONE_BYTE_LEN: usize = 127;

/// A row key and the changes to its row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) mutations: Mutations,
}

/// What a [`Batch`] must know of an encoded entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryMeta {
    mutations: u32,
    idempotency: Idempotency,
}

impl Entry {
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.key.clear();
        self.mutations.clear();
    }

    /// Its size in a request.
    pub(crate) fn bytes(&self) -> usize {
        entry_bytes(&self.key, &self.mutations)
    }

    /// Clears it for reuse, and frees its memory if that is large.
    pub(crate) fn reset(&mut self) {
        const MAX_KEPT: usize = 64 * 1024;
        match self.key.capacity() + self.mutations.capacity() <= MAX_KEPT {
            true => self.clear(),
            false => *self = Self::default(),
        }
    }

    /// Fails if the entry is above a limit of Bigtable.
    #[inline]
    pub(crate) fn check(&self, table: &str) -> Result<(), Error> {
        if is_far_from_limits(&self.key, &self.mutations) {
            return Ok(());
        }
        check(table, &self.key, &[&self.mutations])
    }

    /// Appends it as a field of the request; returns the offset of its key in `out`.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> usize {
        encode(&self.key, &self.mutations, out);
        out.len() - fields_len(&self.key, &self.mutations) + bytes_len(self.key.len()) - self.key.len()
    }

    pub(crate) fn meta(&self) -> EntryMeta {
        let mutations = u32::try_from(self.mutations.count()).unwrap_or(u32::MAX);
        EntryMeta { mutations, idempotency: self.mutations.idempotency() }
    }
}

/// The size of an entry in a request.
pub(super) fn entry_bytes(key: &[u8], mutations: &Mutations) -> usize {
    bytes_len(fields_len(key, mutations))
}

/// The size of an entry's fields.
fn fields_len(key: &[u8], mutations: &Mutations) -> usize {
    let token = if mutations.idempotency() == Idempotency::ByToken { token::FIELD_BYTES } else { 0 };
    bytes_len(key.len()) + mutations.bytes().len() + token
}

/// Appends an entry as a field of the request. One that needs a token ends with room for it.
fn encode(key: &[u8], mutations: &Mutations, out: &mut Vec<u8>) {
    begin(ENTRIES, fields_len(key, mutations), out);
    bytes(ROW_KEY, key, out);
    out.extend_from_slice(mutations.bytes());
    if mutations.idempotency() == Idempotency::ByToken {
        token::reserve(out);
    }
}

/// Splits an encoded entry into its row key, which is its first field, and its mutations.
fn split(entry: &[u8]) -> (&[u8], &[u8]) {
    let mut reader = Reader::new(entry, 0);
    let mut key = || {
        reader.field()?;
        reader.varint()?;
        reader.field()?;
        reader.span()
    };
    let key = key().map_or(&[][..], |key| key.of(entry));
    (key, entry.get(reader.at()..).unwrap_or(&[]))
}

/// The changes to one row, encoded as the field of an entry.
#[derive(Clone, Default)]
pub(crate) struct Mutations {
    bytes: Vec<u8>,
    count: usize,
    /// Whether one that was pushed sets a cell at the server's time: each time it is applied, it stores another
    /// version.
    not_idempotent: bool,
    /// Whether one of them adds to a cell, so that a write of them needs a token.
    adds: bool,
    /// The changes that are too large, or larger than Bigtable advises.
    large: Vec<Large>,
    templates: CellTemplates,
    /// The value that is being written.
    value: Vec<u8>,
    /// The deletions of the change that is being written.
    deletes: Vec<u8>,
    explicit_timestamps: Vec<ExplicitTimestamp>,
}

/// A column whose cells have timestamps of their own, not the server's.
#[derive(Clone, Debug)]
pub(crate) struct ExplicitTimestamp {
    pub(crate) family: String,
    pub(crate) qualifier: Vec<u8>,
    /// The timestamps of its newest cell and of its oldest one.
    pub(crate) latest_micros: i64,
    pub(crate) earliest_micros: i64,
    /// One of its timestamps that is not a whole millisecond.
    pub(crate) fine: Option<i64>,
}

impl Mutations {
    pub(crate) fn delete_row() -> Self {
        Self::from([Mutation::delete_row()].as_slice())
    }

    /// Restores mutations that were encoded and checked before.
    fn from_encoded(bytes: &[u8]) -> Self {
        let (mut reader, mut count) = (Reader::new(bytes, 0), 0);
        while let (Ok(Some(_)), Ok(_)) = (reader.field(), reader.span()) {
            count += 1;
        }
        Self { bytes: bytes.to_vec(), count, ..Self::default() }
    }

    /// Encodes a change, with its deletions before its cells. After an error a part of it is encoded.
    ///
    /// It stays idempotent although its cells have the server's time: repeated, it stores one more version of the same value.
    #[inline]
    pub(crate) fn write(
        &mut self,
        change: impl FnOnce(&mut dyn MutationSink) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        let start = self.bytes.len();
        let mut value = std::mem::take(&mut self.value);
        let written = change(&mut DeletesFirst { mutations: self, value: &mut value });
        self.value = value;
        written?;
        if !self.deletes.is_empty() {
            self.bytes.extend_from_slice(&self.deletes);
            self.bytes[start..].rotate_right(self.deletes.len());
            self.deletes.clear();
        }
        Ok(())
    }

    /// Appends a mutation.
    pub(crate) fn push(&mut self, mutation: &Mutation) {
        self.not_idempotent |=
            matches!(mutation.0, MutationKind::SetCell { timestamp_micros: SERVER_TIME, .. });
        self.append(mutation);
    }

    fn append(&mut self, mutation: &Mutation) {
        self.count += 1;
        self.adds |= mutation.adds();
        let is_accepted = match &mutation.0 {
            MutationKind::SetCell { family, qualifier, value, .. }
            | MutationKind::MergeToCell { family, qualifier, state: value, .. } => {
                self.accept(family, qualifier, value)
            }
            MutationKind::AddToCell { family, qualifier, .. }
            | MutationKind::DeleteColumn { family, qualifier, .. } => self.accept(family, qualifier, b""),
            MutationKind::DeleteFamily { .. } | MutationKind::DeleteRow => true,
        };
        if !is_accepted {
            return;
        }
        match &mutation.0 {
            MutationKind::SetCell { family, qualifier, timestamp_micros, value } => {
                set_cell(family, qualifier, *timestamp_micros, value, &mut self.bytes);
            }
            MutationKind::DeleteColumn { family, qualifier, versions: None } => {
                delete_column(family, qualifier, &mut self.bytes);
            }
            MutationKind::DeleteFamily { family } => delete_family(family, &mut self.bytes),
            change => bytes(MUTATIONS, &message(change).encode_to_vec(), &mut self.bytes),
        }
    }

    /// Sets a cell of a typed row. Inlined into both of its callers, since it runs for each cell.
    #[inline(always)]
    fn set_cell(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        self.count += 1;
        if timestamp_micros != SERVER_TIME {
            self.note_explicit_timestamp(family, qualifier, timestamp_micros);
        }
        if self.accept(family, qualifier, value) {
            self.templates.set_cell(family, qualifier, timestamp_micros, value, &mut self.bytes);
        }
    }

    /// Appends a change of a typed row, which may be repeated although it is at the server's time, as in
    /// [`write`](Self::write).
    pub(crate) fn push_change(&mut self, mutation: &Mutation) {
        self.append(mutation);
        match &mutation.0 {
            MutationKind::SetCell { family, qualifier, timestamp_micros, .. }
            | MutationKind::AddToCell { family, qualifier, timestamp_micros, .. }
                if *timestamp_micros != SERVER_TIME =>
            {
                self.note_explicit_timestamp(family, qualifier, *timestamp_micros);
            }
            _ => {}
        }
    }

    /// Sets a cell as it was read, at its own time.
    pub(crate) fn copy_cell(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        self.count += 1;
        if self.accept(family, qualifier, value) {
            set_cell(family, qualifier, timestamp_micros, value, &mut self.bytes);
        }
    }

    /// Appends a mutation that an earlier one of the same row makes idempotent: a merge into a family that is deleted first.
    pub(crate) fn push_repeatable(&mut self, mutation: &Mutation) {
        let adds = self.adds;
        self.append(mutation);
        self.adds = adds;
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.not_idempotent = false;
        self.adds = false;
        self.large.clear();
        self.deletes.clear();
        self.explicit_timestamps.clear();
        self.templates.next_row();
    }

    fn capacity(&self) -> usize {
        self.bytes.capacity() + self.deletes.capacity()
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The encoded field of an entry.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The mutations as field `field` of another message: only the tags change.
    pub(super) fn into_field(self, field: u8) -> Bytes {
        let mut bytes = self.bytes;
        let mut at = 0;
        while let Some(tag) = bytes.get_mut(at) {
            *tag = field << 3 | LENGTH;
            let mut reader = Reader::new(&bytes, at + 1);
            // We encoded the length ourselves.
            let Ok(length) = reader.varint() else { break };
            at = reader.at().saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        }
        bytes.into()
    }

    /// The columns whose cells have timestamps of their own.
    #[inline]
    pub(crate) fn explicit_timestamps(&self) -> &[ExplicitTimestamp] {
        &self.explicit_timestamps
    }

    #[cold]
    fn note_explicit_timestamp(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        let fine = Some(timestamp_micros).filter(|micros| micros % 1000 != 0);
        match self
            .explicit_timestamps
            .last_mut()
            .filter(|last| last.family == family && last.qualifier == qualifier)
        {
            Some(last) => {
                last.latest_micros = last.latest_micros.max(timestamp_micros);
                last.earliest_micros = last.earliest_micros.min(timestamp_micros);
                last.fine = last.fine.or(fine);
            }
            None => {
                let (family, qualifier) = (family.to_owned(), qualifier.to_owned());
                let (latest_micros, earliest_micros) = (timestamp_micros, timestamp_micros);
                self.explicit_timestamps.push(ExplicitTimestamp {
                    family,
                    qualifier,
                    latest_micros,
                    earliest_micros,
                    fine,
                });
            }
        }
    }

    pub(super) fn large(&self) -> &[Large] {
        &self.large
    }

    /// Appends the mutations of another list.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
        self.not_idempotent |= other.not_idempotent;
        self.adds |= other.adds;
        self.large.extend_from_slice(&other.large);
        self.explicit_timestamps.extend_from_slice(&other.explicit_timestamps);
    }

    /// Whether a write of them may be retried after it may have been applied.
    pub(crate) fn idempotency(&self) -> Idempotency {
        match self {
            Self { not_idempotent: true, .. } => Idempotency::NotIdempotent,
            Self { adds: true, .. } => Idempotency::ByToken,
            _ => Idempotency::Idempotent,
        }
    }

    /// Whether a change is within Bigtable's limits. A change larger than Bigtable advises is noted.
    #[inline]
    fn accept(&mut self, family: &str, qualifier: &[u8], value: &[u8]) -> bool {
        if is_within_advice(qualifier, value) {
            return true;
        }
        let large = Large::new(family, qualifier, value);
        let is_allowed = large.is_allowed();
        self.large.push(large);
        is_allowed
    }
}

impl From<&[Mutation]> for Mutations {
    fn from(mutations: &[Mutation]) -> Self {
        let mut all = Self::default();
        mutations.iter().for_each(|mutation| all.push(mutation));
        all
    }
}

impl From<MutationList> for Mutations {
    fn from(list: MutationList) -> Self {
        let mut mutations = Self::default();
        list.as_slice().iter().for_each(|mutation| mutations.push_change(mutation));
        mutations
    }
}

impl From<Vec<Mutation>> for Mutations {
    fn from(mutations: Vec<Mutation>) -> Self {
        mutations.as_slice().into()
    }
}

impl fmt::Debug for Mutations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutations")
            .field("count", &self.count)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Collects the deletions of a change apart from its cells.
struct DeletesFirst<'a> {
    mutations: &'a mut Mutations,
    /// The buffer for values.
    value: &'a mut Vec<u8>,
}

impl MutationSink for DeletesFirst<'_> {
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        self.mutations.set_cell(family, qualifier, timestamp_micros, value);
    }

    fn set_with(
        &mut self,
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        encode: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), CellError>,
    ) -> Result<(), CellError> {
        let Self { mutations, value } = self;
        value.clear();
        encode(value)?;
        mutations.set_cell(family, qualifier, timestamp_micros, value);
        Ok(())
    }

    fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        let Self { mutations, .. } = self;
        mutations.count += 1;
        if mutations.accept(family, qualifier, b"") {
            delete_column(family, qualifier, &mut mutations.deletes);
        }
    }

    fn delete_family(&mut self, family: &str) {
        self.mutations.count += 1;
        delete_family(family, &mut self.mutations.deletes);
    }

    fn add(&mut self, addition: &Mutation) {
        self.mutations.push_change(addition);
    }
}

/// Collects the entries of a request.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    offsets: Vec<EntryOffset>,
    mutations: usize,
    /// Buffers of batches that were answered.
    free_buffers: Vec<(Vec<u8>, Vec<EntryOffset>)>,
    /// The capacities for a new pair of buffers, from the sizes of the previous batch.
    next_capacities: (usize, usize),
    /// The clock of the times in tokens.
    clock: Clock,
}

/// Where an entry begins, and whether it may be retried after it may have been applied.
#[derive(Clone, Copy, Debug)]
struct EntryOffset {
    start: usize,
    idempotency: Idempotency,
}

impl Batch {
    /// A batch for entries that may need tokens, which have the time of this clock.
    pub(crate) fn timed_by(clock: &Clock) -> Self {
        Self { clock: clock.clone(), ..Self::default() }
    }

    pub(crate) fn with_capacity(bytes: usize, entries: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), offsets: Vec::with_capacity(entries), ..Self::default() }
    }

    /// Whether another entry would make the request larger than `max_bytes` or than Bigtable accepts.
    pub(crate) fn is_full_for(&self, key: &[u8], mutations: &Mutations, max_bytes: usize) -> bool {
        self.is_full_with(entry_bytes(key, mutations), mutations.count(), max_bytes)
    }

    /// [`is_full_for`](Self::is_full_for) an encoded entry.
    pub(crate) fn is_full_for_encoded(&self, entry: &[u8], meta: EntryMeta, max_bytes: usize) -> bool {
        self.is_full_with(entry.len(), meta.mutations as usize, max_bytes)
    }

    #[inline]
    fn is_full_with(&self, bytes: usize, mutations: usize, max_bytes: usize) -> bool {
        let (bytes, mutations) = (self.bytes.len() + bytes, self.mutations.saturating_add(mutations));
        !self.offsets.is_empty() && (bytes > max_bytes || mutations > MAX_MUTATIONS || bytes > MAX_BYTES)
    }

    pub(crate) fn add(&mut self, key: &[u8], mutations: &Mutations) {
        if self.offsets.is_empty() {
            self.begin();
        }
        self.offsets.push(EntryOffset { start: self.bytes.len(), idempotency: mutations.idempotency() });
        self.mutations += mutations.count();
        encode(key, mutations, &mut self.bytes);
    }

    pub(crate) fn add_encoded(&mut self, entry: &[u8], meta: EntryMeta) {
        self.offsets.push(EntryOffset { start: self.bytes.len(), idempotency: meta.idempotency });
        self.mutations = self.mutations.saturating_add(meta.mutations as usize);
        self.bytes.extend_from_slice(entry);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The row keys of its entries, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| split(entry(&self.bytes, &self.offsets, index)).0)
    }

    #[cfg(test)]
    pub(super) fn free_buffers(&self) -> usize {
        self.free_buffers.len()
    }

    #[cold]
    fn begin(&mut self) {
        if self.bytes.capacity() == 0 {
            let (bytes, entries) = self.next_capacities;
            let allocate = || (Vec::with_capacity(bytes), Vec::with_capacity(entries));
            (self.bytes, self.offsets) = self.free_buffers.pop().unwrap_or_else(allocate);
        }
    }

    /// Keeps the buffers of an answered request for later batches, up to the memory of one large request.
    pub(crate) fn reuse(&mut self, Entries { bytes, mut offsets, .. }: Entries) {
        let kept: usize = self.free_buffers.iter().map(|(bytes, _)| bytes.capacity()).sum();
        if self.free_buffers.len() < MAX_FREE_BUFFERS
            && let Ok(mut bytes) = bytes.try_into_mut().map(Vec::from)
            && kept + bytes.capacity() <= MAX_BYTES
        {
            bytes.clear();
            offsets.clear();
            self.free_buffers.push((bytes, offsets));
        }
    }

    /// Takes the entries out, and begins the next batch.
    pub(crate) fn take(&mut self) -> Entries {
        self.mutations = 0;
        self.make_tokens();
        let bytes = (self.bytes.len() + self.bytes.len() / 16).min(MAX_BYTES);
        self.next_capacities = (bytes, self.offsets.len());
        let (bytes, offsets) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.offsets));
        Entries { bytes: bytes.into(), offsets, tokens_age: Duration::ZERO }
    }
}

impl Batch {
    /// Gives each entry that needs a token one, as the request is about to be sent.
    fn make_tokens(&mut self) {
        let ends = self.offsets.iter().skip(1).map(|next| next.start).chain([self.bytes.len()]);
        for (entry, end) in self.offsets.iter().zip(ends) {
            if entry.idempotency == Idempotency::ByToken {
                token::fill(&mut self.bytes[..end], self.clock.now_micros());
            }
        }
    }
}

/// The encoded entries of a request.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Bytes,
    offsets: Vec<EntryOffset>,
    /// How long ago the first of their tokens was sent for the first time.
    tokens_age: Duration,
}

impl Entries {
    pub(crate) fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// All of them, as fields of the request.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Some of them, as fields of the request.
    pub(super) fn select(&self, indexes: impl Iterator<Item = usize>) -> Bytes {
        let mut selected = Vec::new();
        indexes.for_each(|index| selected.extend_from_slice(self.entry(index)));
        selected.into()
    }

    /// Whether an entry carries a token.
    pub(super) fn have_tokens(&self) -> bool {
        self.offsets.iter().any(|entry| entry.idempotency == Idempotency::ByToken)
    }

    /// Gives these tokens to the entries that need them. The first token was sent `age` ago.
    pub(crate) fn set_tokens(&mut self, tokens: impl Iterator<Item = Token>, age: Duration) {
        self.tokens_age = age;
        let bytes = std::mem::take(&mut self.bytes);
        // Nobody else has them before they are sent.
        let mut bytes = bytes.try_into_mut().map_or_else(|bytes| bytes.to_vec(), Vec::from);
        let ends = self.offsets.iter().skip(1).map(|next| next.start).chain([bytes.len()]);
        for ((entry, end), token) in self.offsets.iter().zip(ends.collect::<Vec<_>>()).zip(tokens) {
            if entry.idempotency == Idempotency::ByToken {
                token::fill_with(&mut bytes[..end], token);
            }
        }
        self.bytes = bytes.into();
    }

    pub(super) fn tokens_age(&self) -> Duration {
        self.tokens_age
    }

    /// Whether an entry carries a token.
    pub(crate) fn has_token(&self, index: usize) -> bool {
        self.idempotency(index) == Idempotency::ByToken
    }

    pub(in crate::client) fn idempotency(&self, index: usize) -> Idempotency {
        self.offsets[index].idempotency
    }

    /// The row key of an entry.
    pub(crate) fn key(&self, index: usize) -> Bytes {
        Bytes::copy_from_slice(self.key_bytes(index))
    }

    pub(super) fn key_bytes(&self, index: usize) -> &[u8] {
        split(self.entry(index)).0
    }

    /// The row key and the mutations of an entry.
    pub(crate) fn decode(&self, index: usize) -> (Bytes, Mutations) {
        let (key, mutations) = split(self.entry(index));
        (Bytes::copy_from_slice(key), Mutations::from_encoded(mutations))
    }

    /// The row keys of all entries, in their order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.key_bytes(index))
    }

    /// An entry, as a field of the request.
    pub(crate) fn entry(&self, index: usize) -> &[u8] {
        entry(&self.bytes, &self.offsets, index)
    }
}

/// An entry of a request.
fn entry<'a>(bytes: &'a [u8], offsets: &[EntryOffset], index: usize) -> &'a [u8] {
    let end = offsets.get(index + 1).map_or(bytes.len(), |next| next.start);
    &bytes[offsets[index].start..end]
}

/// The cells of the previous row, encoded without their values. Successive rows mostly have the same columns in the
/// same order, with the same timestamp.
#[derive(Clone, Debug, Default)]
struct CellTemplates {
    cells: Vec<CellTemplate>,
    /// The index of the next cell in its row.
    next: usize,
    /// Whether this is not the first row: a single row needs no templates.
    is_reused: bool,
}

impl CellTemplates {
    fn next_row(&mut self) {
        self.next = 0;
        self.is_reused = true;
    }

    /// Appends the mutation that sets the next cell of the row.
    #[inline]
    fn set_cell(
        &mut self,
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        value: &[u8],
        out: &mut Vec<u8>,
    ) {
        let index = self.next;
        self.next += 1;
        if let Some(template) = self.cells.get(index)
            && template.matches(family, qualifier, timestamp_micros)
            && template.fits(value)
        {
            return template.write(value, out);
        }
        if self.is_reused && index < MAX_TEMPLATES {
            self.remember(index, family, qualifier, timestamp_micros);
        }
        set_cell(family, qualifier, timestamp_micros, value, out);
    }

    #[inline(never)]
    fn remember(&mut self, index: usize, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, CellTemplate::default);
        }
        self.cells[index].set(family, qualifier, timestamp_micros);
    }
}

/// A mutation that sets a cell, up to the value, with lengths of one byte each.
#[derive(Clone, Debug, Default)]
struct CellTemplate {
    /// Empty if the cell does not fit this form.
    bytes: Vec<u8>,
    timestamp_micros: i64,
    max_value_len: usize,
}

impl CellTemplate {
    /// The offsets of the lengths that depend on the value's. The value's own length is the last byte.
    const MUTATION_LEN: usize = 1;
    const SET_CELL_LEN: usize = 3;
    /// The offset of the family's name.
    const FAMILY: usize = 6;

    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        let bytes = &mut self.bytes;
        bytes.clear();
        begin_mutation(SET_CELL, 0, bytes);
        bytes_unless_empty(FAMILY, family.as_bytes(), bytes);
        bytes_unless_empty(QUALIFIER, qualifier, bytes);
        int_unless_zero(TIMESTAMP, timestamp_micros, bytes);
        begin(VALUE, 0, bytes);
        self.timestamp_micros = timestamp_micros;
        self.max_value_len = (Self::MUTATION_LEN + 1 + MAX_ONE_BYTE_LEN).saturating_sub(bytes.len());
        if family.is_empty() || qualifier.is_empty() {
            bytes.clear();
        }
    }

    /// Whether it is the template of this column and timestamp.
    #[inline]
    fn matches(&self, family: &str, qualifier: &[u8], timestamp_micros: i64) -> bool {
        let (family, after) = (family.as_bytes(), Self::FAMILY + family.len() + 2);
        // Each name follows its length.
        self.timestamp_micros == timestamp_micros
            && self.bytes.len() > after + qualifier.len()
            && usize::from(self.bytes[Self::FAMILY - 1]) == family.len()
            && usize::from(self.bytes[after - 1]) == qualifier.len()
            && is_same_name(&self.bytes[Self::FAMILY..][..family.len()], family)
            && is_same_name(&self.bytes[after..][..qualifier.len()], qualifier)
    }

    /// Whether every length takes one byte with this value.
    #[inline]
    fn fits(&self, value: &[u8]) -> bool {
        (1..=self.max_value_len).contains(&value.len())
    }

    /// Appends the mutation with a value that fits.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the value fits")]
    fn write(&self, value: &[u8], out: &mut Vec<u8>) {
        /// The size of a number: a constant length is copied without a call.
        const NUMBER: usize = 8;
        let (start, len) = (out.len(), self.bytes.len() + value.len());
        out.extend_from_slice(&self.bytes);
        if let [_, mutation_len, _, set_cell_len, .., value_len] = &mut out[start..] {
            *mutation_len = (len - Self::MUTATION_LEN - 1) as u8;
            *set_cell_len = (len - Self::SET_CELL_LEN - 1) as u8;
            *value_len = value.len() as u8;
        }
        match <&[u8; NUMBER]>::try_from(value) {
            Ok(number) => out.extend_from_slice(number),
            Err(_) => out.extend_from_slice(value),
        }
    }
}

fn set_cell(family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8], out: &mut Vec<u8>) {
    let family = family.as_bytes();
    let names = len_unless_empty(family) + len_unless_empty(qualifier);
    let timestamp = if timestamp_micros == 0 { 0 } else { int_len(timestamp_micros) };
    begin_mutation(SET_CELL, names + timestamp + len_unless_empty(value), out);
    bytes_unless_empty(FAMILY, family, out);
    bytes_unless_empty(QUALIFIER, qualifier, out);
    int_unless_zero(TIMESTAMP, timestamp_micros, out);
    bytes_unless_empty(VALUE, value, out);
}

fn delete_column(family: &str, qualifier: &[u8], out: &mut Vec<u8>) {
    let family = family.as_bytes();
    begin_mutation(DELETE_FROM_COLUMN, len_unless_empty(family) + len_unless_empty(qualifier), out);
    bytes_unless_empty(FAMILY, family, out);
    bytes_unless_empty(QUALIFIER, qualifier, out);
}

fn delete_family(family: &str, out: &mut Vec<u8>) {
    begin_mutation(DELETE_FROM_FAMILY, len_unless_empty(family.as_bytes()), out);
    bytes_unless_empty(FAMILY, family.as_bytes(), out);
}

/// Writes the tags and lengths of a mutation; the caller writes the `len` bytes of its fields.
#[inline]
fn begin_mutation(kind: u8, len: usize, out: &mut Vec<u8>) {
    begin(MUTATIONS, bytes_len(len), out);
    begin(kind, len, out);
}

// Protobuf leaves out fields with their default values.

#[inline]
fn bytes_unless_empty(field: u8, value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() {
        bytes(field, value, out);
    }
}

#[inline]
fn len_unless_empty(value: &[u8]) -> usize {
    if value.is_empty() { 0 } else { bytes_len(value.len()) }
}

#[inline]
fn int_unless_zero(field: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        int(field, value, out);
    }
}

/// A change as the generated message.
pub(super) fn message(change: &MutationKind) -> data::Mutation {
    let value = |kind| Some(data::Value { r#type: None, kind: Some(kind) });
    let mutation = match change.clone() {
        MutationKind::SetCell { family, qualifier, timestamp_micros, value } => {
            let (family_name, column_qualifier) = (family.to_string(), qualifier);
            Message::SetCell(SetCell { family_name, column_qualifier, timestamp_micros, value })
        }
        MutationKind::AddToCell { family, qualifier, timestamp_micros, value: input, .. } => {
            Message::AddToCell(AddToCell {
                family_name: family.to_string(),
                column_qualifier: value(Kind::RawValue(qualifier)),
                timestamp: value(Kind::RawTimestampMicros(timestamp_micros)),
                input: value(Kind::IntValue(input)),
            })
        }
        MutationKind::MergeToCell { family, qualifier, timestamp_micros, state } => {
            Message::MergeToCell(MergeToCell {
                family_name: family.to_string(),
                column_qualifier: value(Kind::RawValue(qualifier)),
                timestamp: value(Kind::RawTimestampMicros(timestamp_micros)),
                input: value(Kind::RawValue(state)),
            })
        }
        MutationKind::DeleteColumn { family, qualifier, versions } => {
            Message::DeleteFromColumn(DeleteFromColumn {
                family_name: family.to_string(),
                column_qualifier: qualifier,
                time_range: versions.map(|TimeRange { start, end }| TimestampRange {
                    start_timestamp_micros: start,
                    end_timestamp_micros: end.unwrap_or(0),
                }),
            })
        }
        MutationKind::DeleteFamily { family } => {
            Message::DeleteFromFamily(DeleteFromFamily { family_name: family.to_string() })
        }
        MutationKind::DeleteRow => Message::DeleteFromRow(DeleteFromRow {}),
    };
    data::Mutation { mutation: Some(mutation), ..data::Mutation::default() }
}
