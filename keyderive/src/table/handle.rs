//! A table by value, which every typed call is made of.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::skipped::Skipped;
use super::store::ReadStore as _;
use super::{Reads, Writes};
use crate::client::{Client, Error, Route, check_filter};
use crate::key::KeyType;
use crate::plan::{KeyRange, Plan};
use crate::row::{
    self, ColumnType, DEFAULT_FAMILY, Entry, OwnedRow, Qualifier, RawRow, Row, RowCells, RowFilter,
    VisibleCells, without_presence,
};

/// A table without its types: the client, the name, the layout of the keys, and which cells of rows count.
///
/// [`Table`](super::Table) encodes keys and decodes rows; what happens in between is written once, for all key types.
#[doc(hidden)]
#[derive(Clone)]
pub struct UntypedTable {
    pub(crate) client: Client,
    pub(super) name: Route,
    pub(super) key: KeyType,
    pub(super) visible: VisibleCells,
    pub(super) check: Check,
    /// Why the row type is no part of the table's; every call fails by it.
    pub(super) misfit: Option<Error>,
    /// Counts the rows that reads by several keys skip, if they skip unreadable rows.
    pub(super) skipped: Option<Skipped>,
}

/// A table by value, with the store that its calls go to: what they do is compiled once for a store, and not for each type.
pub(super) struct BoundTable<'t, S> {
    pub(super) handle: &'t UntypedTable,
    pub(super) store: &'t S,
}

impl<S> Clone for BoundTable<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for BoundTable<'_, S> {}

impl<S: Reads> BoundTable<'_, S> {
    /// The check that every typed call begins with.
    #[inline]
    pub(super) async fn ensure_checked(self) -> Result<(), Error> {
        self.store.scanned().ensure_checked(self.handle).await
    }

    /// The check before every call that depends on the row type.
    #[inline]
    pub(super) async fn ensure_fits(self, written: WriteScope) -> Result<(), Error> {
        self.store.scanned().ensure_fits(self.handle, written).await
    }
}

impl<S: Writes> BoundTable<'_, S> {
    /// The check before every call that writes cells.
    #[inline]
    pub(super) async fn ensure_writable(self, written: WriteScope) -> Result<(), Error> {
        self.ensure_fits(written).await
    }
}

impl UntypedTable {
    pub(super) fn new(client: &Client, name: &str, key: KeyType, visible: VisibleCells) -> Self {
        client.heat_boundaries(name, || key.schema().bucket_splits());
        let (client, name) = (client.clone(), client.route(name));
        Self { client, name, key, visible, check: Check::pending(), misfit: None, skipped: None }
    }

    /// A table of any layout, in which everything stored counts.
    pub(super) fn stored(client: &Client, name: &str, key: KeyType) -> Self {
        let visible = VisibleCells::everything(<() as Row>::SCHEMA, DEFAULT_FAMILY).stored();
        Self { check: Check::Off, ..Self::new(client, name, key, visible) }
    }

    /// The same table with another client.
    pub(super) fn with_client(&self, client: Client) -> Self {
        Self { client, ..self.clone() }
    }

    /// The same table, of whose rows `visible` says which cells count.
    pub(super) fn with_rows(&self, visible: VisibleCells) -> Self {
        let misfit = visible.misfit().map(|text| Error::definition(&self.name, text));
        Self { visible, check: self.check.again(), misfit, ..self.clone() }
    }

    /// Whether this handle has been checked, or is [`unchecked`](super::Table::unchecked).
    #[inline]
    pub(super) fn is_checked(&self) -> bool {
        let is_checked = match &self.check {
            Check::At(checked) => checked.table.load(Ordering::Relaxed) == self.client.info_version(),
            Check::Off => true,
        };
        is_checked && self.misfit.is_none()
    }

    /// Whether its row type has been compared with those that other programs declare, for such calls.
    #[inline]
    pub(super) fn is_row_type_checked(&self, written: WriteScope) -> bool {
        match &self.check {
            Check::At(checked) => checked.is_compared(written, self.client.info_version()),
            Check::Off => true,
        }
    }

    /// A column of rows that are maps. One of a part that does not fit must not be used with a table that does.
    pub(super) fn map_column<R, Q: Qualifier, T: ColumnType>(&self, name: &Q::Borrowed) -> Entry<R, T> {
        let misfit = self.misfit.as_ref().and_then(|_| self.visible.misfit());
        row::entry::<R, Q, T>(self.visible.family().to_owned().into(), name, misfit)
    }

    /// What a read takes of a row, now.
    pub(super) fn read_filter(&self) -> RowFilter {
        self.visible.read(self.client.now_micros())
    }

    /// Rejects a filter that the service would reject.
    pub(super) fn check_filter(&self, filter: &RowFilter) -> Result<(), Error> {
        check_filter(filter).map_err(|error| Error::filter(&self.name, error))
    }

    #[inline]
    pub(super) fn decode<R: OwnedRow>(&self, stored: &RawRow) -> Result<R, Error> {
        R::decode(RowCells::new(stored, self.visible.family())).map_err(
            #[cold]
            |error| Error::row(&self.name, stored.key(), error.of_row(stored)),
        )
    }

    /// The row without the cell that says that it is there, if columns are selected and the row has one: it is not stored with that value.
    pub(super) fn unmarked(&self, row: &RawRow) -> Option<RawRow> {
        self.visible.is_selected().then(|| without_presence(row)).flatten()
    }

    /// Decodes a row with selected columns.
    pub(super) fn decode_selected<T: 'static>(&self, stored: &RawRow) -> Result<T, Error> {
        // Only `select` makes such a table, and its other reads fail before anything is sent.
        let Some(read) = self.visible.read_selected(stored) else {
            return Err(Error::definition(&self.name, "nothing is selected".to_owned()));
        };
        read.map_err(|error| Error::row(&self.name, stored.key(), error.of_row(stored)))
    }

    /// The ranges in a part of the key space that hold the rows of the key type: the keys with its tag; without a tag all,
    /// so that a foreign row is found anywhere.
    pub(super) fn ranges_within(&self, window: KeyRange) -> Vec<KeyRange> {
        match self.key.schema().tag() {
            None => vec![window],
            Some(_) => {
                let requests = Plan::<()>::full(self.key.schema()).within(&window).requests();
                requests.iter().flat_map(|request| request.ranges().to_vec()).collect()
            }
        }
    }

    /// Where the partitions of the key space begin, in order; the first one at the empty key.
    pub(super) async fn partition_starts(&self) -> Result<Vec<Vec<u8>>, Error> {
        self.ensure_checked().await?;
        let samples = self.client.sample_row_keys(&self.name).await?;
        let mut starts = self.key.schema().bucket_splits();
        starts.extend(samples.into_iter().map(|(key, _)| key.to_vec()));
        // The service samples the end of the table as an empty key, which is where the first partition begins.
        starts.push(Vec::new());
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }

    /// The partitions of the key space, in order.
    pub(super) async fn partitions(&self) -> Result<Vec<KeyRange>, Error> {
        Ok(windows(self.partition_starts().await?))
    }
}

impl fmt::Debug for UntypedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .field("family", &self.visible.family())
            .finish_non_exhaustive()
    }
}

/// The parts of the key space that begin at these keys.
pub(super) fn windows(starts: Vec<Vec<u8>>) -> Vec<KeyRange> {
    let ends: Vec<_> = starts.iter().skip(1).cloned().map(Some).chain([None]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| KeyRange::new(start, end)).collect()
}

/// Whether a table handle and its clones have passed the layout check.
#[derive(Clone, Debug)]
pub(super) enum Check {
    At(Arc<CheckedAt>),
    Off,
}

/// The version of the client's schema cache at the last check; 0 before the first.
#[derive(Debug, Default)]
pub(super) struct CheckedAt {
    /// For the key layout and the families of the row type.
    pub(super) table: AtomicU64,
    /// For the row type compared with other programs' ones, for writes of rows.
    rows: AtomicU64,
    /// The same for writes of columns.
    columns: AtomicU64,
    /// The same for calls that read or compare values.
    values: AtomicU64,
}

/// What a call that depends on the row type writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteScope {
    /// A whole row: all that the row type names.
    Rows,
    /// Some columns, of a row that another program may have written.
    Columns,
    /// No value: it reads values, or compares them.
    Nothing,
}

impl CheckedAt {
    pub(super) fn of(&self, written: WriteScope) -> &AtomicU64 {
        match written {
            WriteScope::Rows => &self.rows,
            WriteScope::Columns => &self.columns,
            WriteScope::Nothing => &self.values,
        }
    }

    /// A call that may write values may also read them.
    #[inline]
    fn is_compared(&self, written: WriteScope, version: u64) -> bool {
        let is_at = |at: &AtomicU64| at.load(Ordering::Relaxed) == version;
        match written {
            WriteScope::Rows | WriteScope::Columns => is_at(self.of(written)),
            WriteScope::Nothing => is_at(&self.values) || is_at(&self.rows) || is_at(&self.columns),
        }
    }
}

impl Check {
    pub(super) fn pending() -> Self {
        Self::At(Arc::default())
    }

    /// For a handle with other families.
    pub(super) fn again(&self) -> Self {
        match self {
            Self::At(_) => Self::pending(),
            Self::Off => Self::Off,
        }
    }
}
