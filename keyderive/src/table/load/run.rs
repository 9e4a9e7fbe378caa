//! A load as a transfer: its rows are those of a stream.

use std::borrow::Borrow as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use tokio::task::yield_now;

use super::report::Reason;
use super::tables::RowParts;
use super::{Checkpoint, Load, LoadError, LoadItem, LoadReport, LoadTables, Settings, WriteMode};
use crate::client::{Entry, Error};
use crate::table::Handle;
use crate::table::handle::Written;
use crate::table::transfer::{
    Additions, Engine, Every, IfAbsent, Intake, MayBeCounted, Policy, Puts, READ_AT_ONCE, Reporter, Sink,
    Source, Store, Target, Tracker, TransferError, Watched,
};
use crate::table::watch::WatchedTable;

pub(super) async fn run<T, S>(load: Load<'_, T, S>) -> Result<LoadReport, LoadError>
where
    T: LoadTables,
    S: Stream<Item: LoadItem<T::Item>> + Send,
{
    let Load { tables, rows, settings, on_progress, mut on_checkpoint, resume } = load;
    // A load waits out an outage, also where it writes row by row.
    let tables = tables.without_retry_budget();
    let handles: Vec<_> = tables.handles().into_iter().cloned().collect();
    let by_ref: Vec<_> = handles.iter().collect();
    let names = || handles.iter().map(|table| &**table.name.table());
    let resumes = resume.is_some();
    let given = resume.unwrap_or_else(|| match settings.adds_sums {
        false => Checkpoint::begin(&by_ref),
        true => Checkpoint::begin(&by_ref).adding_sums(),
    });
    let mut reporter = Reporter::new(on_progress);
    // Of the tables that the load is given: those of a checkpoint of other ones are an error.
    let rows_of_item = handles.len() as u64;
    let every = settings.checkpoint_every.saturating_mul(rows_of_item);
    let every = match settings.adds_sums {
        false => Every::Rows(every),
        true => Every::RowsOrTime(every, FRESH_FOR),
    };
    let mut done = given.done();
    let begun = reporter.reporting(begin(&given, &by_ref, &settings)).await;
    let begun = begun.map_err(Reason::NotStarted).and_then(|(begin, starts)| {
        let additions = additions(&begin, &by_ref, &settings).map_err(Reason::MayBeCounted)?;
        Ok((begin, starts, additions))
    });
    let (begin, starts) = match begun {
        Ok((begin, starts, additions)) => {
            done.additions = additions;
            (begin, starts)
        }
        Err(reason) => {
            let tracker = Tracker::new(reporter, done, None, every, None).with_tables(names());
            return end(tracker, &given, Some(reason));
        }
    };
    let (at, mut last) = (&begin, None);
    let store: Option<Store<'_>> = on_checkpoint.as_mut().map(|call| -> Store<'_> {
        Box::new(move |done| {
            let checkpoint = at.at(done);
            if last.as_ref() != Some(&checkpoint) {
                call(last.insert(checkpoint));
            }
            Ok(())
        })
    });
    let mut tracker =
        Tracker::new(reporter, done, Some(settings.max_failures), every, store).with_tables(names());
    if let (least, Some(most)) = rows.size_hint()
        && least == most
    {
        tracker.progress().items = (most as u64).checked_mul(rows_of_item);
    }
    let watched: Vec<_> = handles.iter().map(|table| Arc::new(WatchedTable::new(table))).collect();
    let targets = watched.iter().zip(starts).map(|(watched, starts)| {
        let (table, watched) = (watched.table.clone(), Arc::clone(watched));
        let sink: Arc<dyn Sink> = match settings.mode {
            WriteMode::Put | WriteMode::Insert => Arc::new(Watched::new(Puts(table), watched)),
            WriteMode::IfAbsent => Arc::new(Watched::new(IfAbsent(table), watched)),
        };
        Target { starts, sink }
    });
    let mut engine = Engine::new(settings.engine, tracker, targets.collect());
    let parts = handles.iter().map(|table| {
        let merges = match settings.mode {
            WriteMode::Put => false,
            WriteMode::Insert => true,
            WriteMode::IfAbsent => table.visible.hides_no_row(),
        };
        match settings.adds_sums {
            false => RowParts::Columns { merges },
            true => RowParts::All { merges },
        }
    });
    let mut rows = Items {
        parts: parts.collect(),
        tables,
        mode: settings.mode,
        adds_sums: settings.adds_sums,
        input: pin!(rows),
        scratch: Entry::default(),
        has_ended: false,
    };
    if resumes && let Err(reason) = rows.skip_to(&begin, &mut engine.intake()).await {
        return end(engine.into_tracker(), &begin, Some(reason));
    }
    let (tracker, mut error) = engine.run(pin!(rows)).await;
    // Rows in a table that is not read count for more than why the load ended.
    for table in &watched {
        if let Err(moved) = table.end().await {
            error = Some(TransferError::Failed(moved));
        }
    }
    let reason = error.map(|error| match error {
        TransferError::MayBeCounted(items) => Reason::MayBeCounted(items),
        error => Reason::Stopped(error),
    });
    end(tracker, &begin, reason)
}

/// How old the checkpoint of a load that adds sums becomes: far less than the time in which it can be resumed.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// What a load that adds sums must know of them.
///
/// # Errors
/// The items that may be counted twice, if they may not.
fn additions(
    begin: &Checkpoint,
    tables: &[&Handle],
    settings: &Settings,
) -> Result<Option<Additions>, MayBeCounted> {
    let (Some(sums), Some(first)) = (begin.sums(), tables.first()) else { return Ok(None) };
    let policy = Policy {
        has_sums: tables.iter().any(|table| table.visible.schema().has_sums()),
        honours_tokens: tables.iter().all(|table| table.client.honours_tokens()),
        may_count_twice: settings.may_count_twice,
    };
    let from = (begin.items(), tables.len() as u64);
    Additions::resume(sums, policy, first.client.clock(), from, settings.checkpoint_every).map(Some)
}

/// Checks the checkpoint against the tables; returns it, bound to the tables, and where the partitions of each begin.
async fn begin(
    given: &Checkpoint,
    tables: &[&Handle],
    settings: &Settings,
) -> Result<(Checkpoint, Vec<Vec<Vec<u8>>>), Error> {
    given.check(tables)?;
    if let Some(first) = tables.first() {
        given.check_sums(settings.adds_sums, first)?;
        if settings.adds_sums && settings.mode == WriteMode::IfAbsent {
            return Err(Error::definition(
                &first.name,
                "a load cannot both `add_sums` and write rows `if_absent`: after a lost answer, it cannot tell a row that it added to from \
                 one that was there; leave one of both out",
            ));
        }
    }
    check_distinct(tables)?;
    let mut starts = Vec::new();
    for table in tables {
        table.ensure_fits(Written::Rows).await?;
        starts.push(table.partition_starts().await?);
    }
    // The requests have shown that the tables exist, so their ids are known now.
    Ok((given.bound_to(tables)?, starts))
}

/// Rejects two tables that could write one row: nothing would say which of both counts.
fn check_distinct(tables: &[&Handle]) -> Result<(), Error> {
    for (at, table) in tables.iter().enumerate() {
        let place = |table: &Handle| (table.client.table_name(&table.name), table.key.schema().tag());
        if tables.iter().skip(at + 1).any(|other| place(other) == place(table)) {
            return Err(Error::definition(
                &table.name,
                "the load writes to it twice, and two rows of an item could have one key, in no order; load both rows as items of their \
                 own, or give each key type a tag",
            ));
        }
    }
    Ok(())
}

/// Reports the end of a load that began at a checkpoint.
fn end(
    mut tracker: Tracker<'_>,
    begin: &Checkpoint,
    reason: Option<Reason>,
) -> Result<LoadReport, LoadError> {
    tracker.reporter.report();
    tracker.end();
    let report = LoadReport {
        tables: tracker.tables,
        progress: tracker.reporter.progress,
        checkpoint: begin.at(&tracker.done),
        failed: tracker.failed,
    };
    match reason {
        None => Ok(report),
        Some(reason) => Err(LoadError { report: Box::new(report), reason }),
    }
}

/// The items of a load's input.
struct Items<'i, T, S> {
    tables: T,
    /// Of each table, what is written of a row.
    parts: Vec<RowParts>,
    mode: WriteMode,
    adds_sums: bool,
    input: Pin<&'i mut S>,
    /// The buffer in which a row is encoded.
    scratch: Entry,
    has_ended: bool,
}

/// Nothing in it is pinned but the input, which is elsewhere.
impl<T, S> Unpin for Items<'_, T, S> {}

impl<T: LoadTables, S: Stream<Item: LoadItem<T::Item>>> Items<'_, T, S> {
    /// Reads the items before the checkpoint, and takes in their rows that had failed.
    async fn skip_to(&mut self, checkpoint: &Checkpoint, intake: &mut Intake<'_, '_>) -> Result<(), Reason> {
        let items = checkpoint.items();
        let failed: HashSet<u64> = checkpoint.failed_rows().into_iter().collect();
        let counted = checkpoint.sums().map(|sums| sums.counted().iter().copied().collect());
        let counted: HashSet<u64> = counted.unwrap_or_default();
        let mut retries = RetryRows::default();
        for index in 0..items {
            let next = poll_fn(|cx| self.input.as_mut().poll_next(cx));
            match intake.tracker.reporter.reporting(next).await {
                Some(item) => self.skip(index, item, &failed, &counted, &mut retries, intake)?,
                None => {
                    let tables = self.tables.handles();
                    let name = tables.first().map_or("", |table| &**table.name.table());
                    return Err(Reason::NotStarted(Error::mismatch(
                        name,
                        format!(
                            "the checkpoint was made after {items} items, and the input has {index}; resume with the \
                             whole input that the load began with, or load from the beginning: leave `.resume(…)` out"
                        ),
                    )));
                }
            }
            if index % READ_AT_ONCE == 0 {
                intake.tracker.reporter.report_if_due();
                yield_now().await;
            }
        }
        for (index, RetryRow { row, additions, has_failed }) in retries.into_rows() {
            let both = row.and_then(|row| Ok((row, additions.transpose()?)));
            match both {
                Ok((row, Some(additions))) if row.mutations.is_empty() => {
                    intake.item_again(index, &additions, has_failed);
                }
                Ok((row, Some(additions))) if !additions.mutations.is_empty() => {
                    intake.item_again_in_two(index, &row, &additions);
                }
                Ok((row, _)) => intake.item_again(index, &row, has_failed),
                Err((key, error)) => {
                    intake.tracker.retry(index, has_failed);
                    intake.tracker.failed(index, key, error).map_err(Reason::Stopped)?;
                }
            }
        }
        Ok(())
    }

    /// Skips the rows of an item before the checkpoint, or encodes them to be retried.
    fn skip(
        &mut self,
        index: u64,
        item: impl LoadItem<T::Item>,
        failed: &HashSet<u64>,
        counted: &HashSet<u64>,
        retries: &mut RetryRows,
        intake: &mut Intake<'_, '_>,
    ) -> Result<(), Reason> {
        let item = item.into_item().map_err(|error| Reason::Stopped(TransferError::Input(error)))?;
        let (item, tables) = (item.borrow(), self.parts.len());
        for table in 0..tables {
            let index = index * tables as u64 + table as u64;
            if counted.contains(&index) {
                let row = self.encode_again(table, item, self.parts(table).without_additions());
                retries.add(index, table, RetryRow { row, additions: None, has_failed: false });
                continue;
            }
            if failed.contains(&index) {
                let additions = self.adds_sums.then(|| self.encode_again(table, item, RowParts::Additions));
                let row = self.encode_again(table, item, self.parts(table).without_additions());
                retries.add(index, table, RetryRow { row, additions, has_failed: true });
                continue;
            }
            if !retries.is_empty()
                && let Some(encoded) = self.tables.encode_item_key(table, item).map(|key| (table, key.into()))
                && retries.has(&encoded)
            {
                if self.mode == WriteMode::Insert {
                    // It does not replace the earlier one, so that both are written, in their order. Its additions were counted.
                    let row = self.encode_again(table, item, self.parts(table).without_additions());
                    if matches!(&row, Ok(entry) if entry.mutations.is_empty()) {
                        intake.tracker.skip_item();
                        continue;
                    }
                    retries.add(index, table, RetryRow { row, additions: None, has_failed: false });
                    continue;
                }
                let superseded = retries.supersede(&encoded);
                superseded.into_iter().for_each(|index| intake.tracker.supersede(index));
            }
            intake.tracker.skip_item();
        }
        Ok(())
    }

    fn take(
        &mut self,
        item: impl LoadItem<T::Item>,
        intake: &mut Intake<'_, '_>,
    ) -> Result<(), TransferError> {
        let item = item.into_item().map_err(TransferError::Input)?;
        let repeats = intake.tracker.repeats();
        for table in 0..self.parts.len() {
            let encoded = self.encode(table, item.borrow(), self.parts(table));
            let encoded = match encoded {
                Ok(()) if repeats => self.split_repeated(table, item.borrow()),
                encoded => encoded.map(|()| None),
            };
            match encoded {
                Ok(None) => intake.item(&self.scratch),
                Ok(Some(columns)) => intake.item_in_two(&columns, &self.scratch),
                Err((key, error)) => intake.tracker.item_failed(key, error)?,
            }
        }
        Ok(())
    }

    /// Splits a row in `scratch` that an earlier run may have written: returns its columns, and leaves its additions in `scratch`. A server
    /// that knows the token of an entry skips all of it, and the columns must be written again after those of earlier rows with the key.
    fn split_repeated(&mut self, table: usize, item: &T::Item) -> EncodeResult<Option<Entry>> {
        let columns = self.encode_again(table, item, self.parts(table).without_additions())?;
        self.encode(table, item, RowParts::Additions)?;
        if self.scratch.mutations.is_empty() {
            self.scratch = columns;
            return Ok(None);
        }
        Ok(Some(columns).filter(|columns| !columns.mutations.is_empty()))
    }

    /// What is written of the rows of a table.
    fn parts(&self, table: usize) -> RowParts {
        self.parts.get(table).copied().unwrap_or(RowParts::Columns { merges: false })
    }

    /// Encodes the row of a table before the checkpoint.
    fn encode_again(&mut self, table: usize, item: &T::Item, parts: RowParts) -> EncodeResult {
        self.encode(table, item, parts).map(|()| self.scratch.clone())
    }

    /// Encodes the row of a table into `scratch`.
    fn encode(&mut self, table: usize, item: &T::Item, parts: RowParts) -> EncodeResult<()> {
        let Self { tables, scratch, .. } = self;
        tables.encode_item(table, item, parts, scratch).map_err(|error| {
            let key = Bytes::copy_from_slice(&scratch.key);
            (Some(key).filter(|key| !key.is_empty()), error)
        })
    }
}

impl<T: LoadTables, S: Stream<Item: LoadItem<T::Item>>> Source for Items<'_, T, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        intake: &mut Intake<'_, '_>,
    ) -> Poll<Option<Result<u64, TransferError>>> {
        let most = match intake.tracker.room() {
            Ok(items) => items.min(READ_AT_ONCE),
            Err(error) => return Poll::Ready(Some(Err(error))),
        };
        let mut read = 0;
        while read < most && !intake.is_full() && !self.has_ended {
            match self.input.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => {
                    if let Err(error) = self.take(item, intake) {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                Poll::Ready(None) => {
                    self.has_ended = true;
                    break;
                }
                Poll::Pending if read == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
            read += 1;
        }
        // The next call returns the end, if there were items.
        Poll::Ready((read > 0).then_some(Ok(read)))
    }
}

/// An encoded row; or its key, if that could be encoded, and the error.
type EncodeResult<T = Entry> = Result<T, (Option<Bytes>, Error)>;

/// The rows that failed before the checkpoint, for a retry.
///
/// Of two rows with one key the later in the input counts. So a failed row is not retried if a later one with its key was written,
/// but for its additions; unless the load only sets columns: then that one is written again after it.
#[derive(Default)]
struct RetryRows {
    rows: BTreeMap<u64, RetryRow>,
    /// By the table and the key.
    by_key: HashMap<(usize, Bytes), Vec<u64>>,
}

struct RetryRow {
    /// All of it, but for what it adds.
    row: EncodeResult,
    /// What it adds, in a load that adds sums: an entry of its own, as of every row that an earlier run may have written.
    additions: Option<EncodeResult>,
    /// Or it was written.
    has_failed: bool,
}

impl RetryRows {
    fn add(&mut self, index: u64, table: usize, row: RetryRow) {
        let key = match &row.row {
            Ok(entry) => Some(&entry.key[..]),
            Err((key, _)) => key.as_deref(),
        };
        if let Some(key) = key {
            self.by_key.entry((table, Bytes::copy_from_slice(key))).or_default().push(index);
        }
        self.rows.insert(index, row);
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn has(&self, key: &(usize, Bytes)) -> bool {
        self.by_key.contains_key(key)
    }

    /// Removes the rows with this key, since a later one was written; returns their indexes. Those that add something stay, and do
    /// nothing else.
    fn supersede(&mut self, key: &(usize, Bytes)) -> Vec<u64> {
        let mut indexes = self.by_key.remove(key).unwrap_or_default();
        indexes.retain(|index| {
            let Some(row) = self.rows.remove(index) else { return true };
            match row.additions {
                None => true,
                Some(Ok(entry)) if entry.mutations.is_empty() => true,
                Some(additions) => {
                    self.rows.insert(*index, RetryRow { row: additions, additions: None, ..row });
                    false
                }
            }
        });
        indexes
    }

    /// The remaining rows, in the order of the input.
    fn into_rows(self) -> impl Iterator<Item = (u64, RetryRow)> {
        self.rows.into_iter()
    }
}
