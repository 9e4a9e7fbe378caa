//! From a row to the changes that make the stored row equal to it.

use super::{Cell, CellError, CellWriter, Mutation, MutationSink, Name, RowError, SERVER_TIME, Timestamped};

/// Takes the cells of a row as it is written: the argument of [`Row::encode`](super::Row::encode).
///
/// It takes deletions and cells in any order. All deletions are sent before the cells, in one atomic request.
pub struct RowWriter<'w> {
    sink: &'w mut dyn MutationSink,
    /// The family of a row that is a map.
    family: &'w str,
    /// Whether absent columns are left as they are.
    merges: bool,
    /// Whether the values of aggregates are added to those that the server keeps.
    adds: bool,
    has_added: bool,
    cells: usize,
}

impl<'w> RowWriter<'w> {
    pub(crate) fn new(sink: &'w mut dyn MutationSink, family: &'w str, merges: bool) -> Self {
        Self { sink, family, merges, adds: false, has_added: false, cells: 0 }
    }

    /// Adds the values of aggregates, which other writes leave as they are.
    pub(crate) fn adding(self) -> Self {
        Self { adds: true, ..self }
    }

    pub(super) fn adds(&self) -> bool {
        self.adds
    }

    pub(super) fn add(&mut self, addition: &Mutation) {
        self.has_added = true;
        self.sink.add(addition);
    }

    /// Sets a column to a value at the server's time.
    ///
    /// # Errors
    /// When the value has no encoding.
    pub fn set<V: Cell + ?Sized>(
        &mut self,
        family: &str,
        qualifier: &[u8],
        value: &V,
    ) -> Result<(), RowError> {
        self.set_with(Name { family, qualifier }, SERVER_TIME, |out| value.encode(out))
    }

    /// Deletes every version of a column, unless the row is merged.
    pub fn delete_column(&mut self, family: &str, qualifier: &[u8]) {
        self.delete(Name { family, qualifier });
    }

    /// Deletes every column of a family, unless the row is merged.
    pub fn delete_family(&mut self, family: &str) {
        if !self.merges {
            self.sink.delete_family(family);
        }
    }

    /// How many cells have been set.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The family of the row's own columns, for a row type that is a map.
    pub(super) fn own_family(&self) -> &'w str {
        self.family
    }

    /// Deletes a column under its former name, if the column was set since `before` cells were, or the row is not merged: no old
    /// value may return.
    #[doc(hidden)]
    pub fn delete_former(&mut self, family: &str, qualifier: &[u8], before: usize) {
        if !self.merges || self.cells > before {
            self.sink.delete_column(family, qualifier);
        }
    }

    pub(super) fn delete(&mut self, Name { family, qualifier }: Name<'_>) {
        if !self.merges {
            self.sink.delete_column(family, qualifier);
        }
    }

    /// Sets one version of a column.
    #[inline]
    pub(crate) fn set_with(
        &mut self,
        column: Name<'_>,
        timestamp_micros: i64,
        encode: impl FnOnce(&mut CellWriter<'_>) -> Result<(), CellError>,
    ) -> Result<(), RowError> {
        self.cells += 1;
        let mut encode = Some(encode);
        let set = self.sink.set_with(column.family, column.qualifier, timestamp_micros, &mut |out| {
            encode.take().map_or(Ok(()), |encode| encode(&mut CellWriter::new(out)))
        });
        set.map_err(|error| RowError::cell(column, error))
    }

    /// Makes versions with times of their own the only ones of a column.
    pub(super) fn set_versions<T>(
        &mut self,
        column: Name<'_>,
        versions: &[Timestamped<T>],
        encode: impl Fn(&T, &mut CellWriter<'_>) -> Result<(), CellError>,
    ) -> Result<(), RowError> {
        self.delete(column);
        for (at, version) in versions.iter().enumerate() {
            let time = version.timestamp_micros;
            check_timestamp(time).map_err(|error| RowError::cell(column, error))?;
            // They are in the order of their times.
            if versions[..at].last().is_some_and(|before| before.timestamp_micros == time) {
                let error = CellError::unsupported(format_args!(
                    "has two versions of the timestamp {time}, in microseconds since the epoch, of which Bigtable keeps \
                     one; give each its own"
                ));
                return Err(RowError::cell(column, error));
            }
            self.set_with(column, time, |out| encode(&version.value, out))?;
        }
        Ok(())
    }

    /// Marks a family that has no column since `before` cells were set, so that it is not absent.
    #[doc(hidden)]
    pub fn end_family(&mut self, family: &str, before: usize) {
        if self.cells == before {
            self.mark(family);
        }
    }

    /// Ends a row, and marks it if it has no cell, so that it exists.
    #[doc(hidden)]
    #[inline]
    pub fn end_row(&mut self, family: &str) {
        if self.cells == 0 {
            self.mark(family);
        }
    }

    /// Rejects a row that has aggregates alone: the server keeps them, and a marker cannot be among them.
    ///
    /// # Errors
    /// If no cell has been set, and nothing was added.
    #[doc(hidden)]
    pub fn end_row_of_aggregates(&mut self, family: &str) -> Result<(), RowError> {
        if self.cells > 0 || self.has_added {
            return Ok(());
        }
        let error = CellError::unsupported(
            "has aggregates alone, which a program adds to and does not set, so there is nothing to put; add to them by \
             `table.update(&key).add(…)`, which makes the row",
        );
        Err(RowError::cell(Name { family, qualifier: b"" }, error))
    }

    #[cold]
    fn mark(&mut self, family: &str) {
        self.cells += 1;
        self.sink.set(family, b"", SERVER_TIME, b"");
    }
}

/// Rejects a time that no cell can have at any granularity.
pub(crate) fn check_timestamp(timestamp_micros: i64) -> Result<(), CellError> {
    if timestamp_micros >= 0 {
        return Ok(());
    }
    Err(CellError::unsupported(format_args!(
        "has the timestamp {timestamp_micros}; it counts microseconds since the epoch, and must not be negative"
    )))
}

impl std::fmt::Debug for RowWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowWriter").field("cells", &self.cells).finish_non_exhaustive()
    }
}
