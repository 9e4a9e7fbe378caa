//! Rows that a read leaves out, because of their keys or of what they hold.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::client::Error;

/// What a scan does with rows whose keys are not of its key type: undecodable, of a wrong bucket, of another tag.
///
/// Only rows within the ranges that the scan asks for are met, which `explain` shows: one before all buckets, or
/// after them, is in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnForeign {
    /// The scan ends with an error that shows the key.
    #[default]
    Fail,
    /// They are left out, and counted by [`Skipped`].
    Skip,
}

/// What a read of several rows does with a row that cannot be read as the row type: a column is missing, or holds
/// something else.
///
/// Such rows come about without a fault in any program: an [`increment`](crate::Table::increment) that arrives after the
/// row was deleted leaves a row of this column alone, and cells of one row expire one by one. A row type that cannot be read
/// from any row is an error under either policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnreadable {
    /// The read ends with an error that shows the row's key and the column. This is the default.
    #[default]
    Fail,
    /// They are left out, counted by [`Skipped`], and their number is logged as one warning when the read has ended.
    Skip,
}

/// Which rows a read has left out so far: how many, and the first of them.
///
/// ```
/// use keyderive::{Client, OnUnreadable, RowKey};
///
/// #[derive(RowKey, Debug)]
/// struct PageKey {
///     url: String,
/// }
///
/// #[derive(serde::Serialize, serde::Deserialize, Debug)]
/// struct Page {
///     title: String,
///     views: i64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let pages = Client::embedded().table::<PageKey, Page>("pages");
/// pages.create_if_absent().await?;
/// pages.put(&PageKey { url: "/".into() }, &Page { title: "Home".into(), views: 41 }).await?;
/// // A row that is not there, or no longer, is made of the counted column alone.
/// pages.increment(&PageKey { url: "/gone".into() }, "views", 1).await?;
///
/// let scan = pages.scan(PageKey::scan()).on_unreadable(OnUnreadable::Skip);
/// let skipped = scan.skipped();
/// assert_eq!(scan.collect().await?.len(), 1);
/// assert_eq!(skipped.unreadable(), 1);
/// let first = skipped.first_unreadable().unwrap();
/// assert_eq!(first.key(), b"/gone");
/// assert!(first.error().to_string().contains("column `cf:title` is missing"));
/// # Ok(())
/// # }
/// ```
///
/// A handle: clones are of the same read, and may be asked while it runs. Printing it with `{:?}` shows no key.
#[derive(Clone, Default)]
pub struct Skipped(Arc<Kinds>);

#[derive(Default)]
struct Kinds {
    foreign: Kind,
    unreadable: Kind,
}

/// The rows that are left out for one reason.
#[derive(Default)]
struct Kind {
    count: AtomicU64,
    first: OnceLock<SkippedRow>,
}

/// A row that was left out, from [`Skipped`].
#[derive(Debug)]
pub struct SkippedRow {
    key: Bytes,
    error: Error,
}

impl SkippedRow {
    /// The row key, as stored.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The error that the read would have ended with. Its text shows the key.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl Kind {
    #[cold]
    fn add(&self, key: &[u8], error: impl FnOnce() -> Error) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.get_or_init(|| SkippedRow { key: Bytes::copy_from_slice(key), error: error() });
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl Skipped {
    /// How many rows were left out because their keys are not of the key type: [`OnForeign::Skip`].
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.0.foreign.count()
    }

    /// How many rows were left out because they cannot be read as the row type: [`OnUnreadable::Skip`].
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.0.unreadable.count()
    }

    /// The first of [`foreign`](Self::foreign) that was met. Buckets are read side by side, so it need not be the first in
    /// the order of the scan.
    #[must_use]
    pub fn first_foreign(&self) -> Option<&SkippedRow> {
        self.0.foreign.first.get()
    }

    /// The first of [`unreadable`](Self::unreadable) that was met.
    #[must_use]
    pub fn first_unreadable(&self) -> Option<&SkippedRow> {
        self.0.unreadable.first.get()
    }

    pub(super) fn add_foreign(&self, key: &[u8], error: impl FnOnce() -> Error) {
        self.0.foreign.add(key, error);
    }

    pub(super) fn add_unreadable(&self, key: &[u8], error: Error) {
        self.0.unreadable.add(key, || error);
    }
}

impl fmt::Debug for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skipped")
            .field("foreign", &self.foreign())
            .field("unreadable", &self.unreadable())
            .finish_non_exhaustive()
    }
}

/// Logs what a read has left out, once, when the last part of the read is dropped.
pub(super) struct LogSkipped {
    table: Arc<str>,
    pub(super) skipped: Skipped,
}

impl LogSkipped {
    pub(super) fn new(table: &Arc<str>) -> Self {
        Self { table: Arc::clone(table), skipped: Skipped::default() }
    }
}

impl Drop for LogSkipped {
    fn drop(&mut self) {
        let (table, foreign, unreadable) = (&*self.table, self.skipped.foreign(), self.skipped.unreadable());
        if unreadable > 0 {
            tracing::warn!(
                table,
                unreadable,
                foreign,
                "a read has left out rows that cannot be read as the row type"
            );
        } else if foreign > 0 {
            // Where key types share a table this is as it should be.
            tracing::debug!(table, foreign, "a read has left out rows of other key types");
        }
    }
}

/// Whether the last row that a visitor was lent could be read, in the visitor's hands.
#[derive(Default)]
pub(super) struct LastRead(Mutex<Option<Error>>);

impl LastRead {
    /// Notes how the last attempt to read the row ended.
    pub(super) fn note<T>(&self, read: &Result<T, Error>) {
        let error = read.as_ref().err().filter(|error| error.is_unreadable_row());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error.cloned();
    }

    /// Why the row could not be read, if it could not.
    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
