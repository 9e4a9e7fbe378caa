//! Where the changes to a row go.

use std::sync::Arc;

use bytes::Bytes;

use super::{CellError, Mutation, MutationKind, Name, RowError, RowSchema, SERVER_TIME};

/// Takes the changes to one row.
///
/// In whatever order the calls come, deletions apply before anything is set.
pub(crate) trait MutationSink {
    /// Sets the version of a column that has this timestamp.
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]);

    /// Sets the version of a column that has this timestamp, to what `encode` appends.
    fn set_with(
        &mut self,
        family: &str,
        qualifier: &[u8],
        timestamp_micros: i64,
        encode: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), CellError>,
    ) -> Result<(), CellError> {
        let mut value = Vec::new();
        encode(&mut value)?;
        self.set(family, qualifier, timestamp_micros, &value);
        Ok(())
    }

    /// Deletes every version of a column.
    fn delete_column(&mut self, family: &str, qualifier: &[u8]);

    /// Deletes every column of a family.
    fn delete_family(&mut self, family: &str);

    /// Adds to an aggregate.
    fn add(&mut self, addition: &Mutation);
}

/// Passes on all of a row except its additions to aggregates.
pub(crate) struct ValuesOnly<'s>(pub(crate) &'s mut dyn MutationSink);

impl MutationSink for ValuesOnly<'_> {
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        self.0.set(family, qualifier, timestamp_micros, value);
    }

    fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        self.0.delete_column(family, qualifier);
    }

    fn delete_family(&mut self, family: &str) {
        self.0.delete_family(family);
    }

    fn add(&mut self, _: &Mutation) {}
}

/// Passes on only a row's additions to aggregates.
pub(crate) struct AdditionsOnly<'s>(pub(crate) &'s mut dyn MutationSink);

impl MutationSink for AdditionsOnly<'_> {
    fn set(&mut self, _: &str, _: &[u8], _: i64, _: &[u8]) {}

    fn set_with(
        &mut self,
        _: &str,
        _: &[u8],
        _: i64,
        _: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), CellError>,
    ) -> Result<(), CellError> {
        Ok(())
    }

    fn delete_column(&mut self, _: &str, _: &[u8]) {}

    fn delete_family(&mut self, _: &str) {}

    fn add(&mut self, addition: &Mutation) {
        self.0.add(addition);
    }
}

/// The changes of several writes to one row, in their order.
#[derive(Debug, Default)]
pub(crate) struct MutationList {
    mutations: Vec<Mutation>,
    /// Where the current write begins to set.
    sets: usize,
}

/// A version of a column that a condition compares.
#[derive(Debug)]
pub(crate) struct ComparedVersion {
    pub(crate) family: Arc<str>,
    pub(crate) qualifier: Bytes,
    pub(crate) timestamp_micros: i64,
}

impl MutationList {
    /// Takes what one write changes. After an error it has taken a part of it.
    pub(crate) fn write<E>(
        &mut self,
        change: impl FnOnce(&mut dyn MutationSink) -> Result<(), E>,
    ) -> Result<(), E> {
        self.sets = self.mutations.len();
        change(self)
    }

    pub(crate) fn push(&mut self, mutation: Mutation) {
        self.mutations.push(mutation);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.mutations.is_empty()
    }

    pub(crate) fn as_slice(&self) -> &[Mutation] {
        &self.mutations
    }

    /// The error of the first required column that a deletion of its family leaves unset.
    pub(crate) fn deleted_required_column(&self, schema: &RowSchema) -> Option<RowError> {
        let is_set = |mutation: &Mutation, family: &str, name: &str| match &mutation.0 {
            MutationKind::SetCell { family: of, qualifier, .. } => {
                **of == *family && qualifier == name.as_bytes()
            }
            _ => false,
        };
        self.mutations.iter().enumerate().find_map(|(index, mutation)| {
            let MutationKind::DeleteFamily { family } = &mutation.0 else { return None };
            let later = &self.mutations[index..];
            let unset = schema
                .required_columns(family)
                .find(|column| !later.iter().any(|mutation| is_set(mutation, family, column)))?;
            let error = CellError::unsupported(
                "is cleared with its family, and a row without it can no longer be read; set it after `clear_family` in the \
                 same update, or delete the row",
            );
            Some(RowError::cell(Name { family, qualifier: unset.as_bytes() }, error))
        })
    }

    /// Gives the column that a condition compares a version that is newer than the compared one.
    ///
    /// A cell at the server's time may get the very time of the compared version, in the same millisecond, and a second
    /// writer that had read that version would be let in too.
    ///
    /// # Errors
    /// When the write leaves the version as it is, which would let the second writer in as well, or when no timestamp is later than
    /// the compared one.
    pub(crate) fn supersede(&mut self, compared: &ComparedVersion, now_micros: i64) -> Result<(), RowError> {
        let ComparedVersion { family, qualifier, timestamp_micros } = compared;
        let newer = timestamp_micros.checked_add(MILLISECOND).map(|newer| newer.max(now_micros));
        let (mut has_newest, mut is_superseded) = (false, false);
        for Mutation(change) in &mut self.mutations {
            match change {
                MutationKind::SetCell { family: of, qualifier: column, timestamp_micros: at, .. }
                    if of == family && column == qualifier =>
                {
                    is_superseded = true;
                    // The versions of a value come with the newest first.
                    let is_newest = !std::mem::replace(&mut has_newest, true);
                    if *at == SERVER_TIME || (is_newest && *at <= *timestamp_micros) {
                        *at = newer.ok_or_else(|| {
                            let error = CellError::unsupported(format_args!(
                                "is compared with the timestamp {timestamp_micros}, after which no newer version can come; delete \
                                 the column, and write it again"
                            ));
                            RowError::cell(Name { family, qualifier }, error)
                        })?;
                    }
                }
                MutationKind::DeleteColumn { family: of, qualifier: column, .. }
                    if of == family && column == qualifier =>
                {
                    (has_newest, is_superseded) = (false, true);
                }
                MutationKind::DeleteFamily { family: of } => is_superseded |= of == family,
                MutationKind::DeleteRow => is_superseded = true,
                _ => {}
            }
        }
        if is_superseded {
            return Ok(());
        }
        let error = CellError::unsupported(
            "is compared by its version, and the write leaves the version as it is, so that it would let in every writer \
             that has read it; set the column in the same write, or compare a value that the write changes",
        );
        Err(RowError::cell(Name { family, qualifier }, error))
    }
}

/// The unit of a cell's time, in microseconds.
const MILLISECOND: i64 = 1000;

impl From<Mutation> for MutationList {
    fn from(mutation: Mutation) -> Self {
        Self { mutations: vec![mutation], sets: 0 }
    }
}

impl MutationSink for MutationList {
    fn set(&mut self, family: &str, qualifier: &[u8], timestamp_micros: i64, value: &[u8]) {
        let (qualifier, value) = (Bytes::copy_from_slice(qualifier), Bytes::copy_from_slice(value));
        self.mutations.push(Mutation::set(family, qualifier, timestamp_micros, value));
    }

    fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        let deletion = Mutation::delete_column(family, Bytes::copy_from_slice(qualifier));
        self.mutations.insert(self.sets, deletion);
        self.sets += 1;
    }

    fn delete_family(&mut self, family: &str) {
        self.mutations.insert(self.sets, Mutation::delete_family(family));
        self.sets += 1;
    }

    fn add(&mut self, addition: &Mutation) {
        self.mutations.push(addition.clone());
    }
}
