//! Where the rows of a transfer come from.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream::{BoxStream, iter};
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::keys::{Mapping, NewKeys};
use super::look_ahead::{BatchLimits, LookAhead};
use super::tracker::{Tracker, TransferError};
use crate::client::{Entry, Error, MAX_MUTATIONS, Mutations, ReadRows, Route, RowStream};
use crate::key::ShownKey;
use crate::plan::KeyRange;
use crate::row::{Mutation, RawRow, RowFilter};
use crate::table::UntypedTable;
use crate::table::reserved::is_reserved;

/// How many rows are read before other tasks run.
pub(crate) const READ_AT_ONCE: u64 = 128;

/// The most rows and bytes of [`StoredRows`]. A single row may exceed the bytes.
const MAX_ROWS: usize = 1000;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The most bytes of a request with one row.
const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// Where the rows of a transfer come from.
pub(crate) trait Source {
    /// Takes rows that have arrived in, until the intake is full; returns how many, and none at the end. Not polled after the end or a
    /// failure.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        intake: &mut Intake<'_, '_>,
    ) -> Poll<Option<Result<u64, TransferError>>>;
}

/// Takes in the rows that a source reads.
pub(crate) struct Intake<'e, 'a> {
    pub(super) ahead: &'e mut LookAhead,
    pub(crate) tracker: &'e mut Tracker<'a>,
    pub(super) look_ahead: BatchLimits,
}

impl Intake<'_, '_> {
    /// Whether no further row is read for now.
    pub(crate) fn is_full(&self) -> bool {
        self.rows_left() == 0 || self.ahead.size().bytes >= self.look_ahead.bytes.max(1)
    }

    /// How many rows may be taken in.
    fn rows_left(&self) -> usize {
        self.look_ahead.rows.max(1).saturating_sub(self.ahead.size().rows)
    }

    /// Takes in the next item of a stream.
    pub(crate) fn item(&mut self, row: &Entry) {
        let index = self.tracker.read_item();
        self.ahead.push(index, row);
    }

    /// Takes in the next item of a stream as two entries of one row, which is done when both are written.
    pub(crate) fn item_in_two(&mut self, first: &Entry, second: &Entry) {
        let index = self.tracker.read_item_in_two();
        self.ahead.push(index, first);
        self.ahead.push(index, second);
    }

    /// Takes in a failed item before the checkpoint again, as two entries of one row.
    pub(crate) fn item_again_in_two(&mut self, index: u64, first: &Entry, second: &Entry) {
        self.tracker.retry_in_two(index);
        self.ahead.push(index, first);
        self.ahead.push(index, second);
    }

    /// Takes in an item before the checkpoint again: one that failed, or was written.
    pub(crate) fn item_again(&mut self, index: u64, row: &Entry, has_failed: bool) {
        self.tracker.retry(index, has_failed);
        self.ahead.push(index, row);
    }
}

/// Ends a transfer when it is ready.
pub(crate) type StopSignal<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Rows of a part that wait to be taken in.
struct Arrived {
    part: usize,
    rows: vec::IntoIter<RawRow>,
    /// Whether they are the last ones of the part.
    is_end: bool,
}

/// The rows of a table, by partitions, as rows of another one.
pub(crate) struct TableRows<'a> {
    rows: BoxStream<'a, Result<StoredRows, Error>>,
    /// The rows that have arrived, and are not taken in yet.
    arrived: Option<Arrived>,
    /// Ends the transfer after the rows that are taken in.
    stop: Option<Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>>,
    old: Route,
    new: Route,
    keys: Arc<dyn NewKeys + 'a>,
    cells: CellCopy,
    /// How many rows may be taken in yet, and how many might at first; none for any number.
    most: Option<(u64, u64)>,
    /// The buffer in which a row is encoded.
    scratch: Entry,
}

impl<'a> TableRows<'a> {
    pub(crate) fn new(mapping: &Mapping<'a>, parts: Vec<KeyRange>, parallel: usize, cells: CellCopy) -> Self {
        let rows = read_parts(&mapping.old, parts, parallel, None).boxed();
        let (old, new) = (mapping.old.name.clone(), mapping.new.name.clone());
        let keys = Arc::clone(&mapping.keys);
        let scratch = Entry::default();
        Self { rows, arrived: None, stop: None, old, new, keys, cells, most: None, scratch }
    }

    /// Ends the transfer once the signal is ready: with an error, after the rows that are taken in.
    pub(crate) fn until<'s: 'a>(mut self, stop: Option<&'a mut StopSignal<'s>>) -> Self {
        if let Some(stop) = stop {
            self.stop = Some(stop.as_mut());
        }
        self
    }

    /// Ends the transfer before it exceeds `rows` rows, of which `done` are done.
    pub(crate) fn at_most(self, rows: Option<u64>, done: u64) -> Self {
        Self { most: rows.map(|rows| (rows.saturating_sub(done), rows)), ..self }
    }

    /// Takes in as many rows as may be; returns how many.
    fn take_all(&mut self, mut arrived: Arrived, intake: &mut Intake<'_, '_>) -> Result<u64, TransferError> {
        let mut taken = 0;
        while intake.rows_left() > 0
            && let Some(row) = arrived.rows.next()
        {
            self.take(arrived.part, &row, intake)?;
            taken += 1;
        }
        match arrived.rows.len() {
            0 if arrived.is_end => intake.tracker.end_part(arrived.part),
            0 => {}
            _ => self.arrived = Some(arrived),
        }
        Ok(taken)
    }

    fn take(&mut self, part: usize, row: &RawRow, intake: &mut Intake<'_, '_>) -> Result<(), TransferError> {
        self.encode(row).map_err(TransferError::Failed)?;
        if self.scratch.mutations.is_empty() {
            intake.tracker.leave_out(part, row.key());
            return Ok(());
        }
        if let Some((left, limit)) = &mut self.most {
            let limit = *limit;
            *left = left.checked_sub(1).ok_or(TransferError::AboveLimit { limit })?;
        }
        let index = intake.tracker.read_row(part, row.key());
        intake.ahead.push(index, &self.scratch);
        Ok(())
    }

    /// Encodes a row as one of the new table; without a mutation if it is left out.
    fn encode(&mut self, row: &RawRow) -> Result<(), Error> {
        self.scratch.reset();
        if self.keys.append_key(row, &mut self.scratch.key)? {
            self.cells.encode(row, &mut self.scratch.mutations);
        }
        match self.scratch.mutations.is_empty() {
            true => Ok(()),
            false => self.cells.check_limits(row, &self.scratch, [&self.old, &self.new]),
        }
    }
}

impl Source for TableRows<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        intake: &mut Intake<'_, '_>,
    ) -> Poll<Option<Result<u64, TransferError>>> {
        if self.stop.as_mut().is_some_and(|stop| stop.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(Some(Err(TransferError::Stopped)));
        }
        let arrived = match self.arrived.take() {
            Some(arrived) => arrived,
            None => match ready!(self.rows.poll_next_unpin(cx)) {
                Some(Ok(StoredRows { part, rows, is_end })) => {
                    Arrived { part, rows: rows.into_iter(), is_end }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(TransferError::Failed(error)))),
                None => return Poll::Ready(None),
            },
        };
        Poll::Ready(Some(self.take_all(arrived, intake)))
    }
}

/// Copies the cells of a stored row to a row of another table, by mutations that can be repeated.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellCopy {
    /// What each row begins with.
    before: Mutations,
    /// The families of aggregates, which can only be merged into what is there, so that the family is deleted first, in the same
    /// request.
    aggregates: HashMap<String, Arc<str>>,
    /// What can be done about a row that is too large.
    remedy: &'static str,
}

impl CellCopy {
    pub(crate) fn new(
        before: Mutations,
        aggregates: HashMap<String, Arc<str>>,
        remedy: &'static str,
    ) -> Self {
        Self { before, aggregates, remedy }
    }

    pub(crate) fn encode(&self, row: &RawRow, mutations: &mut Mutations) {
        mutations.extend(&self.before);
        let mut cleared: Option<&Arc<str>> = None;
        for cell in row.cells() {
            let (family, qualifier, at) = (cell.family(), cell.qualifier(), cell.timestamp_micros());
            if let Some(family) = self.aggregates.get(family) {
                if cleared != Some(family) {
                    mutations.push_repeatable(&Mutation::delete_family(Arc::clone(family)));
                    cleared = Some(family);
                }
                let (qualifier, state) =
                    (Bytes::copy_from_slice(qualifier), Bytes::copy_from_slice(cell.value()));
                let merge = Mutation::merge_to_cell(Arc::clone(family), qualifier, at, state);
                mutations.push_repeatable(&merge);
            } else if !is_reserved(family) {
                mutations.copy_cell(family, qualifier, at, cell.value());
            }
        }
    }

    /// Fails for a row that one request cannot write.
    pub(crate) fn check_limits(
        &self,
        row: &RawRow,
        entry: &Entry,
        [old, new]: [&Route; 2],
    ) -> Result<(), Error> {
        let (mutations, bytes) = (entry.mutations.count(), entry.bytes());
        let fault = if mutations > MAX_MUTATIONS {
            format!(
                "would take {mutations} mutations, one for each cell, and a request has at most {MAX_MUTATIONS}"
            )
        } else if bytes > MAX_ROW_BYTES {
            format!("would take a request of {bytes} bytes, and a row is copied in at most {MAX_ROW_BYTES}")
        } else {
            return entry.check(new);
        };
        let text = format!(
            "row {} of table `{}` {fault}; delete old versions of its columns{}",
            ShownKey(row.key()),
            &**old,
            self.remedy,
        );
        Err(Error::limit(new, &Bytes::copy_from_slice(&entry.key), text))
    }
}

/// The first row of a table that could be of its key type, with one cell.
pub(crate) async fn first_row(table: &UntypedTable) -> Result<Option<RawRow>, Error> {
    let request = ReadRows {
        ranges: table.ranges_within(KeyRange::new(Vec::new(), None)),
        limit: Some(1),
        filter: Some(RowFilter::chain(RowFilter::existence())),
        ..ReadRows::default()
    };
    table.client.read_rows(&table.name, request).try_next().await
}

/// Successive rows of a part.
pub(crate) struct StoredRows {
    /// The index of the part.
    pub(crate) part: usize,
    pub(crate) rows: Vec<RawRow>,
    /// Whether they are the last ones of the part.
    pub(crate) is_end: bool,
}

/// Reads the rows of some parts of the key space, up to `parallel` parts at a time. Each part ends with rows, perhaps none,
/// that are its [end](StoredRows::is_end).
pub(crate) fn read_parts(
    table: &UntypedTable,
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
