//! All stored rows of a table, read by concurrent scans of its partitions, and the keys that a closure gives them in another
//! table.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::iter;
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::scan::ComparedSchema;
use super::{Handle, RowRef, Table};
use crate::client::{Error, ReadRows, RowStream};
use crate::key::TableKey;
use crate::plan::KeyRange;
use crate::row::{RawRow, RowFilter};

/// The most rows and bytes of [`StoredRows`]. A single row may exceed the bytes.
const MAX_ROWS: usize = 1000;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// An error of a closure.
pub(super) type ClosureError = Box<dyn StdError + Send + Sync>;

/// What the closure of a copy or of a diff gives for a row: its key in the other table, an [`Option`] of it, where `None`
/// leaves the row out, or a [`Result`] of one of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of a table with keys `{N}`",
    label = "expected `{N}`, `Option<{N}>`, or a `Result` of one of them"
)]
pub trait NewKey<N> {
    /// The key; none to leave the row out.
    ///
    /// # Errors
    /// That of the closure.
    #[doc(hidden)]
    fn into_new_key(self) -> Result<Option<N>, ClosureError>;
}

impl<N: TableKey> NewKey<N> for N {
    fn into_new_key(self) -> Result<Option<N>, ClosureError> {
        Ok(Some(self))
    }
}

impl<N: TableKey> NewKey<N> for Option<N> {
    fn into_new_key(self) -> Result<Self, ClosureError> {
        Ok(self)
    }
}

impl<N: TableKey, T: NewKey<N>, E: Into<ClosureError>> NewKey<N> for Result<T, E> {
    fn into_new_key(self) -> Result<Option<N>, ClosureError> {
        self.map_err(Into::into)?.into_new_key()
    }
}

type KeyClosure<'a, K, N> =
    dyn Fn(<K as TableKey>::Stored, RowRef<'_>) -> Result<Option<N>, ClosureError> + Send + Sync + 'a;

/// Two tables, and the closure that gives the key in the new one for each row of the old one.
pub(super) struct KeyMap<'a, K: TableKey, R, N: TableKey, S> {
    pub(super) old: Table<K, R>,
    pub(super) new: Table<N, S>,
    closure: Arc<KeyClosure<'a, K, N>>,
    compared: Arc<ComparedSchema>,
    /// A stored key of each table as text for people: decoded, if it can be.
    pub(super) show_old: ShowKey,
    pub(super) show_new: ShowKey,
}

/// Decodes a stored key and shows it.
pub(super) type ShowKey = fn(&[u8]) -> Option<String>;

fn show<K: TableKey<Stored: fmt::Debug>>(key: &[u8]) -> Option<String> {
    K::stored(key).ok().map(|key| format!("{key:?}"))
}

impl<'a, K: TableKey, R, N: TableKey, S> KeyMap<'a, K, R, N, S> {
    pub(super) fn new<T: NewKey<N>>(
        old: &Table<K, R>,
        new: &Table<N, S>,
        closure: impl Fn(K::Stored, RowRef<'_>) -> T + Send + Sync + 'a,
    ) -> Self
    where
        K::Stored: fmt::Debug,
        N::Stored: fmt::Debug,
    {
        Self {
            old: old.clone(),
            new: new.clone(),
            closure: Arc::new(move |key, row: RowRef<'_>| closure(key, row).into_new_key()),
            compared: Arc::default(),
            show_old: show::<K>,
            show_new: show::<N>,
        }
    }

    /// Appends the key of a stored row in the new table to `out`; returns false if the closure leaves the row out.
    ///
    /// # Errors
    /// For a foreign row, an error of the closure, and a key that cannot be encoded. They name the row.
    pub(super) fn new_key(&self, row: &RawRow, out: &mut Vec<u8>) -> Result<bool, Error> {
        let key = K::stored(row.key()).map_err(|error| Error::foreign(&self.old.handle.name, error))?;
        let failed = |error| Error::new_key(&self.old.handle.name, row.key(), error);
        match (self.closure)(key, RowRef::new(row, &self.old.handle, &self.compared, None)).map_err(failed)? {
            Some(key) => {
                self.new.encode_into(&key, out).map(|()| true).map_err(|error| failed(Box::new(error)))
            }
            None => Ok(false),
        }
    }

    /// Fails if both tables are one, and a key does not show which type it has. A request must have shown that they
    /// exist.
    pub(super) fn check_distinct(&self) -> Result<(), Error> {
        let (old, new) = (&self.old.handle, &self.new.handle);
        let is_one = old.client.target() == new.client.target()
            && old.client.table_name(&old.name) == new.client.table_name(&new.name)
            && old.client.table_id(&old.name) == new.client.table_id(&new.name);
        let are_apart = match (K::SCHEMA.tag(), N::SCHEMA.tag()) {
            (Some(old), Some(new)) => old != new,
            _ => false,
        };
        match is_one && !are_apart {
            false => Ok(()),
            true => Err(Error::definition(
                &new.name,
                "both tables are this one; name another table, or give each key type a tag of its own, \
                 `#[row_key(tag = \"…\")]`",
            )),
        }
    }
}

impl<K: TableKey, R, N: TableKey, S> Clone for KeyMap<'_, K, R, N, S> {
    fn clone(&self) -> Self {
        Self {
            old: self.old.clone(),
            new: self.new.clone(),
            closure: Arc::clone(&self.closure),
            compared: Arc::clone(&self.compared),
            show_old: self.show_old,
            show_new: self.show_new,
        }
    }
}

/// The first row of a table that could be of its key type, with one cell.
pub(super) async fn first_row(table: &Handle) -> Result<Option<RawRow>, Error> {
    let request = ReadRows {
        ranges: table.ranges_within(KeyRange::new(Vec::new(), None)),
        limit: Some(1),
        filter: Some(RowFilter::chain(RowFilter::existence())),
        ..ReadRows::default()
    };
    table.client.read_rows(&table.name, request).try_next().await
}

/// Successive rows of a part.
pub(super) struct StoredRows {
    /// The index of the part.
    pub(super) part: usize,
    pub(super) rows: Vec<RawRow>,
    /// Whether they are the last ones of the part.
    pub(super) is_end: bool,
}

/// Reads the rows of some parts of the key space, up to `parallel` parts at a time. Each part ends with rows, perhaps none,
/// that are its [end](StoredRows::is_end).
pub(super) fn read_parts(
    table: &Handle,
    parts: Vec<KeyRange>,
    parallel: usize,
    filter: Option<RowFilter>,
) -> impl Stream<Item = Result<StoredRows, Error>> + Send + use<> {
    let table = table.clone();
    let open = move |(part, window)| {
        let request =
            ReadRows { ranges: table.ranges_within(window), filter: filter.clone(), ..ReadRows::default() };
        PartStream { part, rows: Some(table.client.read_rows(&table.name, request)) }
    };
    iter(parts.into_iter().enumerate()).map(open).flatten_unordered(parallel)
}

/// The rows of a part, as many at a time as have arrived.
struct PartStream {
    part: usize,
    rows: Option<RowStream>,
}

impl Stream for PartStream {
    type Item = Result<StoredRows, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = &mut self.rows else { return Poll::Ready(None) };
        let (mut rows, mut bytes, mut is_end) = (Vec::new(), 0, false);
        while rows.len() < MAX_ROWS && bytes < MAX_BYTES {
            match Pin::new(&mut *stream).poll_next(cx) {
                Poll::Ready(Some(Ok(row))) => {
                    bytes += row.size();
                    rows.push(row);
                }
                Poll::Ready(Some(Err(error))) => {
                    self.rows = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => {
                    is_end = true;
                    break;
                }
                Poll::Pending if rows.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        if is_end {
            self.rows = None;
        }
        Poll::Ready(Some(Ok(StoredRows { part: self.part, rows, is_end })))
    }
}
