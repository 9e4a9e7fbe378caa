//! The rows of a scan, lent to a closure where they lie.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use serde::Deserialize;

use super::rows::{ReadRow, Rows};
use super::skipped::LastRead;
use super::{Scan, Table};
use crate::client::Error;
use crate::key::{RowKey, TableKey};
use crate::row::{self, Cell, Cells, Row, Shape};

/// How many rows are visited before other tasks have a turn.
const ROWS_A_TURN: u64 = 1024;

impl<K: TableKey, R: ReadRow<K>> Scan<K, R> {
    /// Runs the scan and lends its rows to `visit`, each with its key; says how many there were.
    ///
    /// For folds over millions of rows: keys and rows are read where they lie in the answers, and where their types
    /// borrow, nothing is allocated for a row. `B` is the table's key type, or one of the same layout whose fields are
    /// borrowed; the row is read as whatever type the closure asks for.
    ///
    /// ```
    /// use keyderive::{Client, Error, RowKey};
    ///
    /// #[derive(RowKey)]
    /// struct ReadingKey {
    ///     station: String,
    ///     at: u64,
    /// }
    ///
    /// /// The same key, borrowed.
    /// #[derive(RowKey)]
    /// struct LentKey<'a> {
    ///     station: &'a str,
    ///     at: u64,
    /// }
    ///
    /// #[derive(serde::Serialize, serde::Deserialize)]
    /// struct Reading<'a> {
    ///     celsius: f64,
    ///     sensor: &'a str,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error> {
    /// # let client = Client::embedded();
    /// # client.table::<ReadingKey, ()>("readings").create_if_absent().await?;
    /// # let lent = client.write_only_table::<ReadingKey, Reading<'_>>("readings");
    /// # for at in 0..3 {
    /// #     let key = ReadingKey { station: "north".into(), at };
    /// #     lent.put(&key, &Reading { celsius: 20.5, sensor: "a" }).await?;
    /// # }
    /// let readings = client.table::<ReadingKey, OwnedReading>("readings");
    /// # #[derive(serde::Deserialize)] struct OwnedReading { celsius: f64, sensor: String }
    /// let mut sum = 0.0;
    /// let rows = readings
    ///     .scan(ReadingKey::scan())
    ///     .visit::<LentKey<'_>, Error>(|key, row| {
    ///         let reading: Reading<'_> = row.read()?;
    ///         if key.station == "north" && reading.sensor == "a" {
    ///             sum += reading.celsius;
    ///         }
    ///         Ok(())
    ///     })
    ///     .await?;
    /// assert_eq!((rows, sum), (3, 61.5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The rows are those of [`stream`](Self::stream), in its order. Every key is checked as `B` before its row is lent;
    /// `B` repeats the attributes of the table's key type, `#[salt]` among them. Both types are named, `B` and the
    /// closure's error, which may be one of the program's own: an `Err` ends the visit, so that it may stop early.
    ///
    /// The closure is no future, and holds up its thread; between about a thousand rows other tasks have a turn.
    ///
    /// The closure reads the row, so it is told first where a row [cannot be read](RowRef::read). Under
    /// [`OnUnreadable::Skip`](super::OnUnreadable::Skip), an error that it returns after its last `read` of this row has
    /// failed ends nothing: the row is left out, and counted by [`skipped`](Self::skipped) and by no limit. So `row.read()?`
    /// is enough. A closure that goes on without the row, returning `Ok`, has visited it.
    ///
    /// # Errors
    /// The first one of the scan, of a key that is no `B`, or of `visit`, which ends it; when `B` has another layout than
    /// the table's key type.
    pub async fn visit<B, E>(
        self,
        mut visit: impl FnMut(B::Decoded<'_>, RowRef<'_>) -> Result<(), E>,
    ) -> Result<u64, E>
    where
        B: RowKey,
        E: From<Error>,
    {
        self.check_layout::<B>()?;
        let mut rows = self.stream();
        let mut visited = 0;
        poll_fn(|cx| {
            let mut left = ROWS_A_TURN;
            while left > 0 {
                match ready!(rows.poll_lend::<B, E>(cx, left, &mut visit))? {
                    Lent { taken: 0, .. } => return Poll::Ready(Ok(visited)),
                    Lent { taken, left_out } => {
                        visited += taken - left_out;
                        left -= taken;
                    }
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }
}

impl<K: TableKey, R: ReadRow<K>> Rows<K, R> {
    /// Passes the next row and the rows already buffered to the visitor, at most `most`. Returns their number: 0 at the end.
    fn poll_lend<B: RowKey, E: From<Error>>(
        &mut self,
        cx: &mut Context<'_>,
        most: u64,
        visit: &mut impl FnMut(B::Decoded<'_>, RowRef<'_>) -> Result<(), E>,
    ) -> Poll<Result<Lent, E>> {
        let mut lent = Lent::default();
        if !ready!(self.poll_advance(cx)?) {
            return Poll::Ready(Ok(lent));
        }
        let skips = self.skips_unreadable().then(|| (self.skipped(), LastRead::default()));
        let mut refused = None;
        self.for_each_buffered(most, |row, table| {
            let last_read = skips.as_ref().map(|(_, last_read)| last_read);
            let visited = match B::decode(row.key()) {
                // Here, so that the key is not moved.
                Ok(key) => visit(key, RowRef::new(row, table, last_read)).map_err(Refused::Visit),
                Err(error) => Err(Refused::Key(Error::foreign(&table.name, error))),
            };
            lent.taken += 1;
            refused = visited.err();
            if let Some((skipped, last_read)) = &skips
                && let (Some(error), Some(Refused::Visit(_))) = (last_read.take(), &refused)
            {
                skipped.add_unreadable(row.key(), error);
                lent.left_out += 1;
                refused = None;
            }
            refused.is_none()
        });
        if lent.left_out > 0 {
            // Where there is a limit, one row is lent at a time.
            self.left_out();
        }
        match refused {
            None => Poll::Ready(Ok(lent)),
            Some(refused) => Poll::Ready(Err(self.refused(refused))),
        }
    }

    #[cold]
    fn refused<E: From<Error>>(&mut self, refused: Refused<E>) -> E {
        match refused {
            Refused::Key(error) => self.failed_at_row(error).into(),
            Refused::Visit(error) => {
                self.end();
                error
            }
        }
    }
}

/// Rows that were lent.
#[derive(Default)]
struct Lent {
    taken: u64,
    /// How many of them could not be read, and are left out.
    left_out: u64,
}

/// Why a row ends a visit.
enum Refused<E> {
    Key(Error),
    Visit(E),
}

/// A row of a scan that is lent to a closure, by [`Scan::visit`].
///
/// What it gives is borrowed from the answer that brought it, and lives as long as the closure's call.
#[derive(Clone, Copy)]
pub struct RowRef<'a> {
    row: &'a Row,
    table: &'a str,
    family: &'a str,
    shape: &'a Shape,
    /// Where it is noted that it could not be read, where such rows are left out.
    last_read: Option<&'a LastRead>,
}

impl<'a> RowRef<'a> {
    fn new<K, R>(row: &'a Row, table: &'a Table<K, R>, last_read: Option<&'a LastRead>) -> Self {
        Self { row, table: &table.name, family: &table.family, shape: &table.shape, last_read }
    }

    /// The row by serde, as any type that reads the table's columns: its strings and bytes may be borrowed.
    ///
    /// What is a family of its own, and of which column all versions are read, the table's row type says, and not `S`:
    /// a row with a family that is a field of `S` alone is an error, and [`Versions`](crate::row::Versions) that are in `S`
    /// alone are of the newest version. [`Table::rows_as`] gives the table another row type, owned, whose scans
    /// can be read as one that borrows.
    ///
    /// `&str` and `&[u8]` are borrowed as they are; in an `Option`, a map or a `Cow` with `#[serde(borrow)]`. Text inside
    /// JSON that has escapes cannot be borrowed: `Cow<'_, str>` takes both.
    ///
    /// # Errors
    /// When the stored columns are no `S`: see [`Scan::visit`] for what becomes of such a row. Of a scan of [keys alone](Scan::keys_only) there are no values to be read.
    pub fn read<S: Deserialize<'a>>(self) -> Result<S, Error> {
        let read = row::from_row(self.row, self.family, self.shape)
            .map_err(|error| Error::row(self.table, self.row.key(), error));
        if let Some(last_read) = self.last_read {
            last_read.note(&read);
        }
        read
    }

    /// The row key, as stored.
    #[must_use]
    pub fn key(self) -> &'a [u8] {
        self.row.key()
    }

    /// The cells that were read, in the table's order.
    #[must_use]
    pub fn cells(self) -> Cells<'a> {
        self.row.cells()
    }

    /// The newest cell of one column that was read.
    #[must_use]
    pub fn newest(self, family: &str, qualifier: impl AsRef<[u8]>) -> Option<Cell<'a>> {
        self.row.newest(family, qualifier)
    }

    /// The row by itself, to be kept: it shares the memory of the answer that brought it.
    #[must_use]
    pub fn to_row(self) -> Row {
        self.row.clone()
    }
}

impl fmt::Debug for RowRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.row.fmt(f)
    }
}
