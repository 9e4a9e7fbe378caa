//! The stream of a scan's rows.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::execution::ScanExecution;
use super::skipped::{LogSkipped, Skipped};
use super::{Next, Table};
use crate::client::Error;
use crate::key::TableKey;
use crate::row::{Row, RowFilter};

/// What a scan makes of a row: a pair of its key and an `R` by serde, or of its key and the [`Row`] as it is stored, or
/// the key alone.
pub trait ReadRow<K: TableKey>: Sized + sealed::Sealed {
    /// What the stream gives.
    type Item;

    /// What the server shall send of a row, of that which the scan asks for.
    #[doc(hidden)]
    fn filter(read_filter: RowFilter) -> RowFilter;

    /// Reads a stored row.
    ///
    /// # Errors
    /// When the stored columns are no such row.
    #[doc(hidden)]
    fn read(table: &Table<K, Self>, key: K::Stored, row: &Row) -> Result<Self::Item, Error>;
}

mod sealed {
    pub trait Sealed {}

    impl<R: serde::de::DeserializeOwned> Sealed for R {}
    impl Sealed for super::KeyOnly {}
    impl Sealed for super::Row {}
}

impl<K: TableKey, R: DeserializeOwned> ReadRow<K> for R {
    type Item = (K::Stored, R);

    fn filter(read_filter: RowFilter) -> RowFilter {
        read_filter
    }

    fn read(table: &Table<K, R>, key: K::Stored, row: &Row) -> Result<Self::Item, Error> {
        Ok((key, table.read(row)?))
    }
}

/// The rows of a scan that reads keys alone: [`Scan::keys_only`](super::Scan::keys_only).
#[derive(Clone, Copy, Debug)]
pub enum KeyOnly {}

impl<K: TableKey> ReadRow<K> for KeyOnly {
    type Item = K::Stored;

    fn filter(read_filter: RowFilter) -> RowFilter {
        RowFilter::chain([read_filter, RowFilter::cells_per_row(1), RowFilter::strip_value()])
    }

    fn read(_: &Table<K, Self>, key: K::Stored, _: &Row) -> Result<K::Stored, Error> {
        Ok(key)
    }
}

impl<K: TableKey> ReadRow<K> for Row {
    type Item = (K::Stored, Row);

    fn filter(read_filter: RowFilter) -> RowFilter {
        read_filter
    }

    fn read(_: &Table<K, Self>, key: K::Stored, row: &Row) -> Result<Self::Item, Error> {
        Ok((key, row.clone()))
    }
}

/// The rows of a scan, in the order of their logical keys: a [`Stream`], and [`next`](Self::next) without it.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, i64>;
/// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
/// let users = client.table::<UserKey, User>("users");
/// let mut rows = users.scan(UserKey::scan()).stream();
/// while let Some(row) = rows.next().await {
///     let (key, user) = row?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// Memory is bounded, whatever the number of rows: a slow consumer stops the server. Dropping the stream
/// cancels its requests. After an error the stream has ended.
///
/// [`Stream`]: https://docs.rs/futures-core/0.3/futures_core/stream/trait.Stream.html
#[must_use = "a stream reads nothing until it is polled"]
pub struct Rows<K: TableKey, R> {
    table: Table<K, R>,
    state: State<K>,
    skip_unreadable: bool,
    log: Arc<LogSkipped>,
}

/// Nothing in it is ever pinned: bucket scans are in boxes, and keys are only moved.
impl<K: TableKey, R> Unpin for Rows<K, R> {}

enum State<K: TableKey> {
    /// The table is checked before the first request.
    Checking(Checking, Box<ScanExecution<K>>),
    Running(Box<ScanExecution<K>>),
    /// Failed before anything was sent.
    Failed(Error),
    Ended,
}

type Checking = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl<K: TableKey, R> Rows<K, R> {
    pub(super) fn new(
        table: Table<K, R>,
        run: Result<ScanExecution<K>, Error>,
        skip_unreadable: bool,
        log: Arc<LogSkipped>,
    ) -> Self {
        let state = match run {
            Ok(run) if !table.is_vouched() && !run.is_empty() => {
                // Without the type of the rows, which may borrow.
                let mut checked = table.clone().with_rows::<()>();
                checked.client = run.client().clone();
                State::Checking(Box::pin(async move { checked.vouched().await }), Box::new(run))
            }
            Ok(run) => State::Running(Box::new(run)),
            Err(error) => State::Failed(error),
        };
        Self { table, state, skip_unreadable, log }
    }

    /// Tells which rows have been left out so far, or until an error.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.log.skipped.clone()
    }

    /// Whether rows that cannot be read as the row type are left out.
    pub(super) fn skips_unreadable(&self) -> bool {
        self.skip_unreadable
    }

    /// Counts the row that was gone on to last for no limit, since it is left out.
    #[cold]
    pub(super) fn left_out(&mut self) {
        if let State::Running(run) = &mut self.state {
            run.left_out();
        }
    }

    /// Leaves the row that was gone on to last out, because it cannot be read.
    #[cold]
    fn leave_out(&mut self, error: Error) {
        if let Some((row, _)) = self.row() {
            self.log.skipped.add_unreadable(row.key(), error);
        }
        self.left_out();
    }

    /// Advances to the next row, which [`row`](Self::row) returns; false at the end.
    #[inline]
    pub(super) fn poll_advance(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        match &mut self.state {
            State::Running(run) => run.poll_advance(cx),
            State::Checking(..) => self.poll_checked(cx),
            State::Failed(_) | State::Ended => Poll::Ready(self.not_begun()),
        }
    }

    /// Goes on to the first row once the table is checked.
    #[cold]
    fn poll_checked(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        let checked = match &mut self.state {
            State::Checking(checking, run) => match run.poll_before(checking.as_mut(), cx) {
                Poll::Ready(checked) => checked,
                Poll::Pending => return Poll::Pending,
            },
            State::Running(_) | State::Failed(_) | State::Ended => Ok(()),
        };
        self.state = match (checked, std::mem::replace(&mut self.state, State::Ended)) {
            (Ok(()), State::Checking(_, run)) => State::Running(run),
            (Ok(()), state) => state,
            (Err(error), _) => return Poll::Ready(Err(error)),
        };
        self.poll_advance(cx)
    }

    /// That there are no rows, or why there are none.
    #[cold]
    fn not_begun(&mut self) -> Result<bool, Error> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Failed(error) => Err(error),
            State::Checking(..) | State::Running(_) | State::Ended => Ok(false),
        }
    }

    /// The row that was gone on to last, and its table.
    #[inline]
    pub(super) fn row(&self) -> Option<(&Row, &Table<K, R>)> {
        match &self.state {
            State::Running(run) => run.row().map(|row| (row, &self.table)),
            State::Checking(..) | State::Failed(_) | State::Ended => None,
        }
    }

    /// Calls `f` on the current row and the rows already buffered that follow it, at most `most`, until `f` returns false.
    /// All but the last have been delivered.
    #[inline]
    pub(super) fn for_each_buffered(&mut self, most: u64, mut f: impl FnMut(&Row, &Table<K, R>) -> bool) {
        if let State::Running(run) = &mut self.state {
            run.for_each_buffered(most, |row| f(row, &self.table));
        }
    }

    /// Notes that the row has been handed out.
    #[inline]
    pub(super) fn handed_out(&mut self) {
        if let State::Running(run) = &mut self.state {
            run.handed_out();
        }
    }

    /// Ends the scan at a row that cannot be handed out.
    pub(super) fn end(&mut self) {
        self.state = State::Ended;
    }

    /// Ends the scan at a row that cannot be handed out. The error says how far the scan had come.
    pub(super) fn failed_at_row(&mut self, error: Error) -> Error {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Running(mut run) => run.failed_at_row(error),
            State::Checking(..) | State::Failed(_) | State::Ended => error,
        }
    }

    /// The stored key of the last row.
    pub(super) fn last_key(&self) -> &[u8] {
        match &self.state {
            State::Running(run) => run.last_key(),
            State::Checking(..) | State::Failed(_) | State::Ended => &[],
        }
    }
}

impl<K: TableKey, R: ReadRow<K>> Rows<K, R> {
    /// The next row; none after the last one, or after an error.
    ///
    /// Cancel safe: a future that is dropped has taken no row.
    pub async fn next(&mut self) -> Option<Result<R::Item, Error>> {
        poll_fn(|cx| self.poll_item(cx)).await
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Next<R::Item> {
        loop {
            match ready!(self.poll_advance(cx)) {
                Ok(true) => {}
                Ok(false) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            let Some((row, table)) = self.row() else { return Poll::Ready(None) };
            let item = match K::stored(row.key()) {
                Ok(key) => R::read(table, key, row),
                Err(error) => Err(Error::foreign(&table.name, error)),
            };
            match item {
                Ok(item) => {
                    self.handed_out();
                    return Poll::Ready(Some(Ok(item)));
                }
                Err(error) if self.skip_unreadable && error.is_unreadable_row() => self.leave_out(error),
                Err(error) => return Poll::Ready(Some(Err(self.failed_at_row(error)))),
            }
        }
    }
}

impl<K: TableKey, R: ReadRow<K>> Stream for Rows<K, R> {
    type Item = Result<R::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl<K: TableKey, R> fmt::Debug for Rows<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("table", &self.table).finish_non_exhaustive()
    }
}
