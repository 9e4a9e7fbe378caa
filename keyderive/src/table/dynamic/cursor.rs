//! Rows of a dynamic table, borrowed: decoded in place, in the server's messages.

use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::task::{Context, Poll};

use crate::client::{Error, ROWS_PER_TURN};
use crate::dynamic::{DynKey, DynRow, DynRowRef, KeyLayout, RowBuffer, RowReader};
use crate::row::{RawRow, copy_without_presence};
use crate::table::scan::{Passed, VisitError};
use crate::table::{RowType, Rows, Scan, Skipped, UntypedTable};

impl<R: RowType<DynKey>> Scan<DynKey, R> {
    /// Runs the scan and calls `visit` with each row, borrowed, with all columns of the row type; returns how many there were.
    ///
    /// ```
    /// use keyderive::dynamic::{TableLayout, ValueRef};
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let readings = client.dynamic_table(&layout);
    /// let mut sum = 0.0;
    /// let rows = readings
    ///     .scan(layout.key().scan())
    ///     .visit(|row| {
    ///         if let Some(ValueRef::F64(celsius)) = row.newest(0) {
    ///             sum += celsius;
    ///         }
    ///         Ok::<_, keyderive::Error>(())
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The rows are those of [`stream`](Self::stream), in its order. [`cursor`](Self::cursor) reads some columns, and rows when the
    /// caller asks for them.
    ///
    /// The closure blocks its thread while it runs; between rows, the visit yields to other tasks about every thousand rows. An error of
    /// the closure, of any type, ends the visit.
    ///
    /// # Errors
    /// The first one of [`stream`](Self::stream), or of `visit`.
    ///
    /// # Cancel safety
    /// A dropped future cancels the read. The closure has seen some of the rows.
    pub async fn visit<E: From<Error>>(
        self,
        mut visit: impl FnMut(DynRowRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        let columns = self.table.handle.visible.schema().declared_columns().count();
        let mut cursor = self.cursor(0..columns)?;
        let mut visited = 0;
        loop {
            match cursor.visit_next(u64::MAX, &mut visit).await? {
                0 => return Ok(visited),
                rows => visited += rows,
            }
        }
    }

    /// Runs the scan as a cursor, which reads some columns, by their indices among the [declared
    /// ones](crate::row::RowSchema::declared_columns), and passes rows when the caller asks for them. Without columns, it reads only keys.
    ///
    /// ```
    /// use keyderive::dynamic::TableLayout;
    /// # async fn sample(client: keyderive::Client, layout: TableLayout) -> Result<(), keyderive::Error> {
    /// let events = client.dynamic_table(&layout);
    /// let mut rows = events.scan(layout.key().scan()).cursor([2, 0])?; // the third column and the first
    /// let mut batch = Vec::new();
    /// loop {
    ///     // A call per batch: up to 1000 rows of those that have arrived.
    ///     let visited = rows
    ///         .visit_next(1000, |row| {
    ///             batch.push((row.newest(1).map(|value| value.to_value()), row.key().to_vec()));
    ///             Ok::<_, keyderive::Error>(())
    ///         })
    ///         .await?;
    ///     if visited == 0 {
    ///         break;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server sends only these columns, with their aliases, and no cell that a `ttl` hides; of an optional struct, it sends all
    /// columns, which show whether it is present. Rows without any of the columns are read too, as unreadable ones if a column is required.
    /// A scan that is [`raw`](Self::raw) reads all stored cells, whatever the columns.
    ///
    /// # Errors
    /// If the row type declares no column with one of these indices.
    pub fn cursor(self, columns: impl IntoIterator<Item = usize>) -> Result<DynCursor, Error> {
        let columns: Vec<usize> = columns.into_iter().collect();
        let UntypedTable { name, key, visible, .. } = &self.table.handle;
        let (schema, key) = (visible.schema(), KeyLayout::of_checked(key.schema()));
        let count = schema.declared_columns().count();
        if let Some(at) = columns.iter().find(|at| **at >= count) {
            let fault = format!("`{}` has no column {at}: it declares {count}, from 0 on", schema.name());
            return Err(Error::definition(name, fault));
        }
        let reads_keys = columns.is_empty() || self.options.keys_only;
        let columns = if reads_keys { &[] } else { &columns[..] };
        let reader = RowReader::new(schema, visible.family(), columns).beside(visible.base());
        let rows: Rows<DynKey, DynRow> = match (0..count).all(|at| columns.contains(&at)) {
            _ if reads_keys => self.keys_only().with_rows().rows(),
            true => self.with_rows().rows(),
            false => {
                let visible = visible.selected_columns(columns);
                self.with_visible(visible).rows()
            }
        };
        let (buffer, unmarked) = (RowBuffer::default(), RawRow::default());
        Ok(DynCursor { rows, key, reader, buffer, unmarked, in_turn: 0 })
    }
}

/// The rows of a scan, passed to a closure when the caller asks for them: [`Scan::cursor`].
///
/// Memory is bounded, however many rows there are: flow control holds the server back while the caller asks for none. An error ends the
/// scan.
///
/// # Cancel safety
/// Dropping it cancels its requests.
#[must_use = "a cursor reads nothing until it is polled"]
pub struct DynCursor {
    rows: Rows<DynKey, DynRow>,
    key: KeyLayout,
    reader: RowReader,
    buffer: RowBuffer<'static>,
    /// A copy of the current row without its marker of presence, if it has one.
    unmarked: RawRow,
    /// How many rows were read since the last yield.
    in_turn: u64,
}

impl DynCursor {
    /// Calls `visit` with the next row and the rows already buffered, at most `max` (0 counts as 1); returns how many: 0 at the end.
    ///
    /// Even if `max` is large, it yields to other tasks about every thousand rows.
    ///
    /// # Errors
    /// Those of [`Scan::stream`], and the first one of `visit`, which ends the scan. `visit` has been called with the rows before.
    ///
    /// # Cancel safety
    /// A dropped future loses no row that `visit` has not been called with.
    pub async fn visit_next<E: From<Error>>(
        &mut self,
        max: u64,
        mut visit: impl FnMut(DynRowRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E> {
        poll_fn(|cx| self.poll_visit(cx, max, &mut visit)).await
    }

    /// [`visit_next`](Self::visit_next) for a handwritten stream.
    ///
    /// If it returns `Pending`, it wakes the task of `cx` when rows have arrived, or after other tasks have run. A stream of batches calls
    /// it, with the free space of its batch as `max`, until the batch is full; it returns the batch before it calls again.
    ///
    /// # Errors
    /// Those of [`visit_next`](Self::visit_next).
    pub fn poll_visit<E: From<Error>>(
        &mut self,
        cx: &mut Context<'_>,
        max: u64,
        mut visit: impl FnMut(DynRowRef<'_>) -> Result<(), E>,
    ) -> Poll<Result<u64, E>> {
        while self.in_turn < ROWS_PER_TURN {
            let max = max.clamp(1, ROWS_PER_TURN - self.in_turn);
            let Poll::Ready(passed) = self.poll_each(cx, max, &mut visit)? else {
                self.in_turn = 0;
                return Poll::Pending;
            };
            self.in_turn += passed.rows;
            let visited = passed.rows - passed.skipped;
            // Unless all of them were skipped.
            if visited > 0 || passed.rows == 0 {
                return Poll::Ready(Ok(visited));
            }
        }
        self.in_turn = 0;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The rows that the scan has skipped so far.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.rows.skipped()
    }

    /// Reads the next row and those already buffered, at most `max`, and passes them to `visit`.
    #[inline]
    fn poll_each<E: From<Error>>(
        &mut self,
        cx: &mut Context<'_>,
        max: u64,
        visit: &mut impl FnMut(DynRowRef<'_>) -> Result<(), E>,
    ) -> Poll<Result<Passed, E>> {
        let Self { rows, key, reader, buffer, unmarked, .. } = self;
        rows.kept.poll_each(cx, max, |handle, _, row| {
            let mut read: RowBuffer<'_> = mem::take(buffer);
            let visited = match Self::read(key, reader, handle, row, unmarked, &mut read) {
                Ok(row) => visit(DynRowRef::new(row.key(), reader, &read)).map_err(VisitError::Visit),
                Err(error) => Err(error),
            };
            *buffer = read.reused();
            visited
        })
    }

    /// Reads a row, or its copy without a mark of presence, which is returned.
    #[inline]
    fn read<'r, E>(
        key: &KeyLayout,
        reader: &mut RowReader,
        handle: &UntypedTable,
        row: &'r RawRow,
        unmarked: &'r mut RawRow,
        read: &mut RowBuffer<'r>,
    ) -> Result<&'r RawRow, VisitError<E>> {
        key.read(row.key(), &mut read.key)
            .map_err(|error| VisitError::Key(Error::foreign(&handle.name, error)))?;
        let row = match handle.visible.is_selected() && copy_without_presence(row, unmarked) {
            true => unmarked,
            false => row,
        };
        reader.read(row, read).map_err(|error| {
            VisitError::Unreadable(Error::row(&handle.name, row.key(), error.of_row(row)))
        })?;
        Ok(row)
    }
}

impl fmt::Debug for DynCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynCursor").field("rows", &self.rows).finish_non_exhaustive()
    }
}
