//! The changes to one row, encoded as they come.

use std::fmt;

use bytes::Bytes;

use super::encode;
use super::limits::{self, Large};
use super::templates::CellTemplates;
use crate::client::operation::Replay;
use crate::client::protobuf::{LENGTH, Reader};
use crate::row::{Change, Mutation, MutationList, RowError, SERVER_TIME, Sink};

/// The changes to one row, as a request for many rows has them.
#[derive(Clone, Default)]
pub(crate) struct Mutations {
    bytes: Vec<u8>,
    count: usize,
    /// Whether one of them is not the same when it is applied twice.
    once: bool,
    /// Those that are too large, or larger than is advised.
    large: Vec<Large>,
    /// The cells of rows before, where the memory is used again.
    known: CellTemplates,
    /// What is deleted by the change that is being written.
    deletes: Vec<u8>,
    /// The columns whose cells have times of their own.
    own_times: Vec<OwnTime>,
}

/// The newest of a column's cells whose times are the value's own.
#[derive(Clone, Debug)]
pub(crate) struct OwnTime {
    pub(crate) family: String,
    pub(crate) qualifier: Vec<u8>,
    pub(crate) timestamp_micros: i64,
}

impl Mutations {
    pub(crate) fn delete_row() -> Self {
        Self::from([Mutation::delete_row()].as_slice())
    }

    /// Changes that are encoded as the fields of an entry, and were checked then.
    pub(super) fn encoded(bytes: &[u8]) -> Self {
        let (mut reader, mut count) = (Reader::new(bytes, 0), 0);
        while let (Ok(Some(_)), Ok(_)) = (reader.field(), reader.span()) {
            count += 1;
        }
        Self { bytes: bytes.to_vec(), count, ..Self::default() }
    }

    /// Takes what is to be changed next. After an error a part of it has been taken.
    ///
    /// A value may be written again after an unknown outcome, although its cells have the server's time: a repetition is one
    /// more version of the same value.
    pub(crate) fn write(
        &mut self,
        change: impl FnOnce(&mut dyn Sink) -> Result<(), RowError>,
    ) -> Result<(), RowError> {
        let start = self.bytes.len();
        change(&mut Ordered(self))?;
        if !self.deletes.is_empty() {
            self.bytes.extend_from_slice(&self.deletes);
            self.bytes[start..].rotate_right(self.deletes.len());
            self.deletes.clear();
        }
        Ok(())
    }

    /// Takes a change after all others.
    pub(crate) fn push(&mut self, mutation: &Mutation) {
        self.count += 1;
        self.once |= !mutation.is_idempotent();
        let is_taken = match &mutation.0 {
            Change::SetCell { family, qualifier, value, .. }
            | Change::MergeToCell { family, qualifier, state: value, .. } => {
                self.takes(family, qualifier, value)
            }
            Change::AddToCell { family, qualifier, .. } | Change::DeleteColumn { family, qualifier, .. } => {
                self.takes(family, qualifier, b"")
            }
            Change::DeleteFamily { .. } | Change::DeleteRow => true,
        };
        if is_taken {
            encode::mutation(mutation, &mut self.bytes);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.once = false;
        self.large.clear();
        self.deletes.clear();
        self.own_times.clear();
        self.known.restart();
    }

    /// How many bytes its memory takes.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.deletes.capacity()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// As the field of an entry.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// As the field with this number of another message.
    pub(super) fn into_field(self, field: u8) -> Bytes {
        let mut bytes = self.bytes;
        let mut at = 0;
        while let Some(tag) = bytes.get_mut(at) {
            *tag = field << 3 | LENGTH;
            let mut reader = Reader::new(&bytes, at + 1);
            // Each has been written with its length, which is that of something in memory.
            let Ok(length) = reader.varint() else { break };
            at = reader.at().saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        }
        bytes.into()
    }

    /// The columns of values whose cells have times of their own.
    #[inline]
    pub(crate) fn own_times(&self) -> &[OwnTime] {
        &self.own_times
    }

    #[cold]
    fn note_own_time(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64) {
        match self.own_times.last_mut().filter(|last| last.family == family && last.qualifier == qualifier) {
            Some(last) => last.timestamp_micros = last.timestamp_micros.max(timestamp_micros),
            None => {
                let (family, qualifier) = (family.to_owned(), qualifier.to_owned());
                self.own_times.push(OwnTime { family, qualifier, timestamp_micros });
            }
        }
    }

    /// Those whose size is to be told.
    pub(super) fn large(&self) -> &[Large] {
        &self.large
    }

    /// Whether a write of them may be sent again when it may have been applied.
    pub(super) fn replay(&self) -> Replay {
        if self.once { Replay::IfUnsent } else { Replay::Always }
    }

    /// Whether a change can be sent. One that is larger than is advised is noted.
    #[inline]
    fn takes(&mut self, family: &str, qualifier: &[u8], value: &[u8]) -> bool {
        if limits::is_advised(qualifier, value) {
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

/// The changes of values, which may be written again as [`Mutations::write`] says.
impl From<MutationList> for Mutations {
    fn from(list: MutationList) -> Self {
        let mut mutations = Self { once: false, ..list.as_slice().into() };
        for Mutation(change) in list.as_slice() {
            if let Change::SetCell { family, qualifier, timestamp_micros, .. } = change
                && *timestamp_micros != SERVER_TIME
            {
                mutations.note_own_time(family, qualifier, *timestamp_micros);
            }
        }
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

/// Takes one change, of which what it deletes goes before what it sets.
struct Ordered<'a>(&'a mut Mutations);

impl Sink for Ordered<'_> {
    #[inline]
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        let Self(mutations) = self;
        mutations.count += 1;
        if timestamp_micros != SERVER_TIME {
            mutations.note_own_time(family, qualifier, timestamp_micros);
        }
        if mutations.takes(family, qualifier, value) {
            mutations.known.set_cell(family, qualifier, timestamp_micros, value, &mut mutations.bytes);
        }
    }

    fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        let Self(mutations) = self;
        mutations.count += 1;
        if mutations.takes(family, qualifier, b"") {
            encode::delete_column(family, qualifier, None, &mut mutations.deletes);
        }
    }

    fn delete_family(&mut self, family: &str) {
        self.0.count += 1;
        encode::delete_family(family, &mut self.0.deletes);
    }
}
