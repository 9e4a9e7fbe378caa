//! Rows that a read of several rows may skip: foreign and unreadable ones.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::client::Error;

/// What a scan does with foreign rows: those whose keys are not of its key type, because they cannot be decoded, or have
/// a wrong bucket or another tag.
///
/// A scan meets only rows within its ranges, which `explain` shows; a row outside of all buckets is in none, but in
/// [`Plan::complement`](crate::plan::Plan::complement).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnForeign {
    /// The scan ends with an error that shows the key.
    #[default]
    Fail,
    /// The scan skips them, and [`Skipped`] counts them.
    Skip,
}

/// What a read of several rows does with a row that cannot be read as the row type: a column is missing, or holds
/// something else.
///
/// Such rows occur in correct programs: an [`increment`](crate::Table::increment) after a deletion leaves a row with only
/// this column, and the cells of a row expire one by one. A row type that cannot be read from any row is an error under
/// either policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnreadable {
    /// The read ends with an error that shows the row's key and the column. This is the default.
    #[default]
    Fail,
    /// The read skips them, [`Skipped`] counts them, and a warning at the end of the read has their number.
    Skip,
}

/// Which rows a read has skipped so far: how many, and the first of them.
///
/// ```
/// use keyderive::{Client, OnUnreadable, Row, RowKey};
///
/// #[derive(RowKey, Debug)]
/// struct PageKey {
///     url: String,
/// }
///
/// #[derive(Row, Debug)]
/// struct Page {
///     title: String,
///     #[row(counter)]
///     views: i64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// let pages = Client::embedded().table::<PageKey, Page>("pages");
/// pages.create_if_absent().await?;
/// pages.put(&PageKey { url: "/".into() }, &Page { title: "Home".into(), views: 41 }).await?;
/// // An increment of a row that does not exist makes one of the counted column alone.
/// pages.increment(&PageKey { url: "/gone".into() }, Page::VIEWS, 1).await?;
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
/// A handle: all clones show the counts of the same read, also while it runs. The `Debug` text shows no key.
#[derive(Clone, Default)]
pub struct Skipped(Arc<SkippedCounts>);

#[derive(Default)]
struct SkippedCounts {
    foreign: SkippedCount,
    unreadable: SkippedCount,
}

/// The rows that are skipped for one reason.
#[derive(Default)]
struct SkippedCount {
    count: AtomicU64,
    first: OnceLock<SkippedRow>,
}

/// A skipped row, from [`Skipped`].
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

    /// The error that would have ended the read. Its text shows the key.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl SkippedCount {
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
    /// How many rows were skipped because their keys are not of the key type: [`OnForeign::Skip`].
    #[must_use]
    pub fn foreign(&self) -> u64 {
        self.0.foreign.count()
    }

    /// How many rows were skipped because they cannot be read as the row type: [`OnUnreadable::Skip`].
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.0.unreadable.count()
    }

    /// The first of [`foreign`](Self::foreign). Buckets are read side by side, so it need not be the first in key order.
    #[must_use]
    pub fn first_foreign(&self) -> Option<&SkippedRow> {
        self.0.foreign.first.get()
    }

    /// The first of [`unreadable`](Self::unreadable).
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

/// Logs once how many rows a read has skipped, when the last part of the read is dropped.
pub(super) struct SkippedLog {
    table: Arc<str>,
    pub(super) skipped: Skipped,
}

impl SkippedLog {
    pub(super) fn new(table: &Arc<str>) -> Self {
        Self { table: Arc::clone(table), skipped: Skipped::default() }
    }
}

impl Drop for SkippedLog {
    fn drop(&mut self) {
        let (table, foreign, unreadable) = (&*self.table, self.skipped.foreign(), self.skipped.unreadable());
        if unreadable > 0 {
            tracing::warn!(
                table,
                unreadable,
                foreign,
                "a read has skipped rows that cannot be read as the row type"
            );
        } else if foreign > 0 {
            // Expected where key types share a table.
            tracing::debug!(table, foreign, "a read has skipped rows of other key types");
        }
    }
}

/// Whether a visitor could read its current row.
#[derive(Default)]
pub(super) struct LastRead(Mutex<Option<Error>>);

impl LastRead {
    /// Notes how the last attempt to decode the row ended.
    #[inline(never)]
    pub(super) fn note(&self, error: Option<&Error>) {
        let error = error.filter(|error| error.is_unreadable_row());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error.cloned();
    }

    /// Why the row could not be read, if it could not.
    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
