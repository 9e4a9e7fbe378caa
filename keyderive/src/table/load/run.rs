//! A load as a transfer: its rows come from a stream.

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
use super::{Checkpoint, Load, LoadError, LoadItem, LoadReport, LoadTarget, RowParts, Settings, WriteMode};
use crate::client::{Entry, Error};
use crate::table::UntypedTable;
use crate::table::handle::WriteScope;
use crate::table::transfer::{
    Additions, Engine, Every, IfAbsent, Intake, MayBeCounted, Policy, Puts, READ_AT_ONCE, Reporter, Sink,
    Source, Store, Tracker, TransferError, Watched,
};
use crate::table::watch::WatchedTable;

pub(super) async fn run<T, S>(load: Load<'_, T, S>) -> Result<LoadReport, LoadError>
where
    T: LoadTarget,
    S: Stream<Item: LoadItem<T::Item>> + Send,
{
    let Load { table, rows, settings, on_progress, mut on_checkpoint, resume } = load;
    // A load waits out an outage, also where it writes row by row.
    let table = table.without_retry_budget();
    let handle = table.handle().clone();
    let name = handle.name.table();
    let resumes = resume.is_some();
    let given = resume.unwrap_or_else(|| match settings.adds_sums {
        false => Checkpoint::begin(&handle),
        true => Checkpoint::begin(&handle).adding_sums(),
    });
    let mut reporter = Reporter::new(on_progress);
    let every = match settings.adds_sums {
        false => Every::Rows(settings.checkpoint_every),
        true => Every::RowsOrTime(settings.checkpoint_every, FRESH_FOR),
    };
    let mut done = given.done();
    let begun = reporter.reporting(begin(&given, &handle, &settings)).await;
    let begun = begun.map_err(Reason::NotStarted).and_then(|(begin, starts)| {
        let additions = additions(&begin, &handle, &settings).map_err(Reason::MayBeCounted)?;
        Ok((begin, starts, additions))
    });
    let (begin, starts) = match begun {
        Ok((begin, starts, additions)) => {
            done.additions = additions;
            (begin, starts)
        }
        Err(reason) => {
            return end(name, Tracker::new(reporter, done, None, every, None), &given, Some(reason));
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
    let mut tracker = Tracker::new(reporter, done, Some(settings.max_failures), every, store);
    if let (least, Some(most)) = rows.size_hint()
        && least == most
    {
        tracker.progress().items = Some(most as u64);
    }
    let watched = Arc::new(WatchedTable::new(&handle));
    let sink: Arc<dyn Sink> = match settings.mode {
        WriteMode::Put | WriteMode::Insert => {
            Arc::new(Watched::new(Puts(handle.clone()), Arc::clone(&watched)))
        }
        WriteMode::IfAbsent => Arc::new(Watched::new(IfAbsent(handle.clone()), Arc::clone(&watched))),
    };
    let mut engine = Engine::new(settings.engine, tracker, starts, sink);
    let merges = match settings.mode {
        WriteMode::Put => false,
        WriteMode::Insert => true,
        WriteMode::IfAbsent => handle.visible.hides_no_row(),
    };
    let mut rows = Items {
        parts: match settings.adds_sums {
            false => RowParts::Columns { merges },
            true => RowParts::All { merges },
        },
        table,
        mode: settings.mode,
        adds_sums: settings.adds_sums,
        input: pin!(rows),
        scratch: Entry::default(),
        has_ended: false,
    };
    if resumes && let Err(reason) = rows.skip_to(&begin, &mut engine.intake()).await {
        return end(name, engine.into_tracker(), &begin, Some(reason));
    }
    let (tracker, mut error) = engine.run(pin!(rows)).await;
    // Rows in a table that is not read count for more than why the load ended.
    if let Err(moved) = watched.end().await {
        error = Some(TransferError::Failed(moved));
    }
    let reason = error.map(|error| match error {
        TransferError::MayBeCounted(items) => Reason::MayBeCounted(items),
        error => Reason::Stopped(error),
    });
    end(name, tracker, &begin, reason)
}

/// How old the checkpoint of a load that adds sums becomes: far less than the time in which it can be resumed.
const FRESH_FOR: Duration = Duration::from_secs(30);

/// What a load that adds sums must know of them.
///
/// # Errors
/// The items that may be counted twice, if they may not.
fn additions(
    begin: &Checkpoint,
    table: &UntypedTable,
    settings: &Settings,
) -> Result<Option<Additions>, MayBeCounted> {
    let Some(sums) = begin.sums() else { return Ok(None) };
    let policy = Policy {
        has_sums: table.visible.schema().has_sums(),
        honours_tokens: table.client.honours_tokens(),
        may_count_twice: settings.may_count_twice,
    };
    Additions::resume(sums, policy, table.client.clock(), begin.items(), settings.checkpoint_every).map(Some)
}

/// Checks the checkpoint against the table; returns it, bound to the table, and where its partitions begin.
async fn begin(
    given: &Checkpoint,
    table: &UntypedTable,
    settings: &Settings,
) -> Result<(Checkpoint, Vec<Vec<u8>>), Error> {
    given.check(table)?;
    given.check_sums(settings.adds_sums, table)?;
    if settings.adds_sums && settings.mode == WriteMode::IfAbsent {
        return Err(Error::definition(
            &table.name,
            "a load cannot both `add_sums` and write rows `if_absent`: after a lost answer, it cannot tell a row that it added to from \
             one that was there; leave one of both out",
        ));
    }
    table.ensure_fits(WriteScope::Rows).await?;
    let starts = table.partition_starts().await?;
    // The requests have shown that the table exists, so its id is known now.
    Ok((given.bound_to(table)?, starts))
}

/// Reports the end of a load that began at a checkpoint.
fn end(
    table: &Arc<str>,
    mut tracker: Tracker<'_>,
    begin: &Checkpoint,
    reason: Option<Reason>,
) -> Result<LoadReport, LoadError> {
    tracker.reporter.report();
    tracker.end();
    let report = LoadReport {
        table: Arc::clone(table),
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
    table: T,
    /// What is written of a row.
    parts: RowParts,
    mode: WriteMode,
    adds_sums: bool,
    input: Pin<&'i mut S>,
    /// The buffer in which a row is encoded.
    scratch: Entry,
    has_ended: bool,
}

/// Nothing in it is pinned but the input, which is elsewhere.
impl<T, S> Unpin for Items<'_, T, S> {}

impl<T: LoadTarget, S: Stream<Item: LoadItem<T::Item>>> Items<'_, T, S> {
    /// Reads the items before the checkpoint, and takes in their rows that had failed.
    async fn skip_to(&mut self, checkpoint: &Checkpoint, intake: &mut Intake<'_, '_>) -> Result<(), Reason> {
        let items = checkpoint.items();
        let failed: HashSet<u64> = checkpoint.failed().iter().copied().collect();
        let counted = checkpoint.sums().map(|sums| sums.counted().iter().copied().collect());
        let counted: HashSet<u64> = counted.unwrap_or_default();
        let mut retries = RetryRows::default();
        for index in 0..items {
            let next = poll_fn(|cx| self.input.as_mut().poll_next(cx));
            match intake.tracker.reporter.reporting(next).await {
                Some(item) => self.skip(index, item, &failed, &counted, &mut retries, intake)?,
                None => {
                    return Err(Reason::NotStarted(Error::mismatch(
                        self.table.handle().name.table(),
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

    /// Skips an item before the checkpoint, or encodes its row to be retried.
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
        let item = item.borrow();
        let without_additions = self.parts.without_additions();
        if counted.contains(&index) {
            let row = self.encode_again(item, without_additions);
            retries.add(index, RetryRow { row, additions: None, has_failed: false });
            return Ok(());
        }
        if failed.contains(&index) {
            let additions = self.adds_sums.then(|| self.encode_again(item, RowParts::Additions));
            let row = self.encode_again(item, without_additions);
            retries.add(index, RetryRow { row, additions, has_failed: true });
            return Ok(());
        }
        if !retries.is_empty()
            && let Some(key) = self.table.encode_item_key(item)
            && retries.has(&key)
        {
            if self.mode == WriteMode::Insert {
                // It does not replace the earlier one, so that both are written, in their order. Its additions were counted.
                let row = self.encode_again(item, without_additions);
                if !matches!(&row, Ok(entry) if entry.mutations.is_empty()) {
                    retries.add(index, RetryRow { row, additions: None, has_failed: false });
                    return Ok(());
                }
            } else {
                let superseded = retries.supersede(&key);
                superseded.into_iter().for_each(|index| intake.tracker.supersede(index));
            }
        }
        intake.tracker.skip_item();
        Ok(())
    }

    fn take(
        &mut self,
        item: impl LoadItem<T::Item>,
        intake: &mut Intake<'_, '_>,
    ) -> Result<(), TransferError> {
        let item = item.into_item().map_err(TransferError::Input)?;
        let item = item.borrow();
        let encoded = match self.encode(item, self.parts) {
            Ok(()) if intake.tracker.repeats() => self.split_repeated(item),
            encoded => encoded.map(|()| None),
        };
        match encoded {
            Ok(None) => intake.item(&self.scratch),
            Ok(Some(columns)) => intake.item_in_two(&columns, &self.scratch),
            Err((key, error)) => intake.tracker.item_failed(key, error)?,
        }
        Ok(())
    }

    /// Splits a row in `scratch` that an earlier run may have written: returns its columns, and leaves its additions in `scratch`. A server
    /// that knows the token of an entry skips all of it, and the columns must be written again after the columns of earlier
    /// rows with the key.
    fn split_repeated(&mut self, item: &T::Item) -> EncodeResult<Option<Entry>> {
        let columns = self.encode_again(item, self.parts.without_additions())?;
        self.encode(item, RowParts::Additions)?;
        if self.scratch.mutations.is_empty() {
            self.scratch = columns;
            return Ok(None);
        }
        Ok(Some(columns).filter(|columns| !columns.mutations.is_empty()))
    }

    /// Encodes the row of an item before the checkpoint.
    fn encode_again(&mut self, item: &T::Item, parts: RowParts) -> EncodeResult {
        self.encode(item, parts).map(|()| self.scratch.clone())
    }

    /// Encodes the row of an item into `scratch`.
    fn encode(&mut self, item: &T::Item, parts: RowParts) -> EncodeResult<()> {
        let Self { table, scratch, .. } = self;
        table.encode_item(item, parts, scratch).map_err(|error| {
            let key = Bytes::copy_from_slice(&scratch.key);
            (Some(key).filter(|key| !key.is_empty()), error)
        })
    }
}

impl<T: LoadTarget, S: Stream<Item: LoadItem<T::Item>>> Source for Items<'_, T, S> {
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
/// Of two rows with one key the later in the input counts. So once a later row with its key was written, only the additions
/// of a failed row are retried. If the load only sets columns, the failed row is retried, and the later one written again
/// after it.
#[derive(Default)]
struct RetryRows {
    rows: BTreeMap<u64, RetryRow>,
    by_key: HashMap<Bytes, Vec<u64>>,
}

struct RetryRow {
    /// The row without its additions.
    row: EncodeResult,
    /// Its additions, in a load that adds sums: an entry of their own, as for every row that an earlier run may have
    /// written.
    additions: Option<EncodeResult>,
    /// Or it was written.
    has_failed: bool,
}

impl RetryRows {
    fn add(&mut self, index: u64, row: RetryRow) {
        let key = match &row.row {
            Ok(entry) => Some(&entry.key[..]),
            Err((key, _)) => key.as_deref(),
        };
        if let Some(key) = key {
            self.by_key.entry(Bytes::copy_from_slice(key)).or_default().push(index);
        }
        self.rows.insert(index, row);
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn has(&self, key: &[u8]) -> bool {
        self.by_key.contains_key(key)
    }

    /// Removes the rows with this key, since a later one was written; returns their indexes. Those that add something stay, and do
    /// nothing else.
    fn supersede(&mut self, key: &[u8]) -> Vec<u64> {
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
