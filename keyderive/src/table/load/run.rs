//! A load as a transfer: its rows are those of a stream.

use std::borrow::Borrow as _;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use tokio::task::yield_now;

use super::report::Reason;
use super::{Checkpoint, Load, LoadError, LoadItem, LoadReport, Table, WriteMode};
use crate::client::{Entry, Error};
use crate::key::TableKey;
use crate::row::Row;
use crate::table::Handle;
use crate::table::handle::Written;
use crate::table::transfer::{
    Done, Engine, Every, IfAbsent, Intake, Puts, READ_AT_ONCE, Reporter, Sink, Source, Store, Tracker,
    TransferError,
};

pub(super) async fn run<K, R, S>(load: Load<'_, K, R, S>) -> Result<LoadReport, LoadError>
where
    K: TableKey,
    R: Row,
    S: Stream<Item: LoadItem<K, R>> + Send,
{
    let Load { table, rows, settings, on_progress, mut on_checkpoint, resume } = load;
    // A load waits out an outage, also where it writes row by row.
    let table = table.with(|settings| settings.retry_budget = false);
    let handle = table.handle.clone();
    let resumes = resume.is_some();
    let given = resume.unwrap_or_else(|| Checkpoint::begin(&handle));
    let reporter = Reporter::new(on_progress);
    let done = Done::stream(given.items(), given.failed());
    let every = Every::Rows(settings.checkpoint_every);
    let (begin, starts) = match begin(given.clone(), &handle).await {
        Ok(begun) => begun,
        Err(error) => {
            let tracker = Tracker::new(reporter, done, None, every, None);
            return end(&handle, tracker, &given, Some(Reason::NotStarted(error)));
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
        tracker.progress().items = u64::try_from(most).ok();
    }
    let sink: Arc<dyn Sink> = match settings.mode {
        WriteMode::Put | WriteMode::Insert => Arc::new(Puts(handle.clone())),
        WriteMode::IfAbsent => Arc::new(IfAbsent(handle.clone())),
    };
    let mut engine = Engine::new(settings.engine, tracker, starts, sink);
    let input = pin!(rows);
    let mut rows = Items { table, mode: settings.mode, input, scratch: Entry::default(), has_ended: false };
    if resumes && let Err(reason) = rows.skip_to(&begin, &mut engine.intake()).await {
        return end(&handle, engine.into_tracker(), &begin, Some(reason));
    }
    let (tracker, error) = engine.run(pin!(rows)).await;
    end(&handle, tracker, &begin, error.map(Reason::Stopped))
}

/// Checks the checkpoint against the table; returns it, bound to the table, and where the partitions begin.
async fn begin(given: Checkpoint, table: &Handle) -> Result<(Checkpoint, Vec<Vec<u8>>), Error> {
    given.check(table)?;
    table.ensure_writable(Written::Rows).await?;
    let starts = table.partition_starts().await?;
    // The request has shown that the table exists, so its id is known now.
    Ok((given.bound_to(table)?, starts))
}

/// Reports the end of a load that began at a checkpoint.
fn end(
    table: &Handle,
    mut tracker: Tracker<'_>,
    begin: &Checkpoint,
    reason: Option<Reason>,
) -> Result<LoadReport, LoadError> {
    tracker.reporter.report();
    let report = LoadReport {
        table: Arc::clone(table.name.table()),
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
struct Items<'i, K, R, S> {
    table: Table<K, R>,
    mode: WriteMode,
    input: Pin<&'i mut S>,
    /// The buffer in which a row is encoded.
    scratch: Entry,
    has_ended: bool,
}

/// Nothing in it is pinned but the input, which is elsewhere.
impl<K, R, S> Unpin for Items<'_, K, R, S> {}

impl<K: TableKey, R: Row, S: Stream<Item: LoadItem<K, R>>> Items<'_, K, R, S> {
    /// Reads the items before the checkpoint, and takes in those that had failed.
    async fn skip_to(&mut self, checkpoint: &Checkpoint, intake: &mut Intake<'_, '_>) -> Result<(), Reason> {
        let items = checkpoint.items();
        let failed: HashSet<u64> = checkpoint.failed().iter().copied().collect();
        let mut retries = RetryRows::default();
        for index in 0..items {
            match poll_fn(|cx| self.input.as_mut().poll_next(cx)).await {
                Some(item) => self.skip(index, item, failed.contains(&index), &mut retries, intake)?,
                None => {
                    return Err(Reason::NotStarted(Error::mismatch(
                        &self.table.handle.name,
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
        for (index, row) in retries.into_rows() {
            match row {
                Ok(row) => intake.item_again(index, &row),
                Err((key, error)) => {
                    intake.tracker.progress().read += 1;
                    intake.tracker.failed(index, key, error).map_err(Reason::Stopped)?;
                }
            }
        }
        Ok(())
    }

    /// Skips an item before the checkpoint, or encodes it to be retried.
    fn skip(
        &mut self,
        index: u64,
        item: impl LoadItem<K, R>,
        has_failed: bool,
        retries: &mut RetryRows,
        intake: &mut Intake<'_, '_>,
    ) -> Result<(), Reason> {
        let item = item.into_row().map_err(|error| Reason::Stopped(TransferError::Input(error)))?;
        let (key, row) = item.borrow();
        if has_failed {
            let row = self.encode(key, row).map(|()| self.scratch.clone());
            retries.add(index, row);
            return Ok(());
        }
        if !retries.is_empty()
            && let Ok(encoded) = key.encode()
            && retries.has(&encoded)
        {
            if self.mode == WriteMode::Insert {
                // It does not replace the earlier one, so that both are written, in their order.
                let row = self.encode(key, row).map(|()| self.scratch.clone());
                retries.add(index, row);
                return Ok(());
            }
            let superseded = retries.supersede(&encoded);
            superseded.into_iter().for_each(|index| intake.tracker.supersede(index));
        }
        intake.tracker.skip_item();
        Ok(())
    }

    fn take(&mut self, item: impl LoadItem<K, R>, intake: &mut Intake<'_, '_>) -> Result<(), TransferError> {
        let item = item.into_row().map_err(TransferError::Input)?;
        let (key, row) = item.borrow();
        match self.encode(key, row) {
            Ok(()) => intake.item(&self.scratch),
            Err((key, error)) => intake.tracker.item_failed(key, error)?,
        }
        Ok(())
    }

    /// Encodes a row into `scratch`.
    fn encode(&mut self, key: &K, row: &R) -> EncodeResult<()> {
        let Self { table, mode, scratch, .. } = self;
        let merges = match mode {
            WriteMode::Put => false,
            WriteMode::Insert => true,
            WriteMode::IfAbsent => table.handle.visible.hides_no_row(),
        };
        table.encode_row(scratch, key, row, merges).and_then(|()| scratch.check(&table.handle.name)).map_err(
            |error| {
                let key = Bytes::copy_from_slice(&scratch.key);
                (Some(key).filter(|key| !key.is_empty()), error)
            },
        )
    }
}

impl<K: TableKey, R: Row, S: Stream<Item: LoadItem<K, R>>> Source for Items<'_, K, R, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        intake: &mut Intake<'_, '_>,
    ) -> Poll<Option<Result<u64, TransferError>>> {
        let mut read = 0;
        while read < READ_AT_ONCE && !intake.is_full() && !self.has_ended {
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
/// unless the load only sets columns: then that one is written again after it.
#[derive(Default)]
struct RetryRows {
    rows: BTreeMap<u64, EncodeResult>,
    by_key: HashMap<Bytes, Vec<u64>>,
}

impl RetryRows {
    fn add(&mut self, index: u64, row: EncodeResult) {
        let key = match &row {
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

    /// Removes the rows with this key, since a later one was written; returns their indexes.
    fn supersede(&mut self, key: &[u8]) -> Vec<u64> {
        let indexes = self.by_key.remove(key).unwrap_or_default();
        for index in &indexes {
            self.rows.remove(index);
        }
        indexes
    }

    /// The remaining rows, in the order of the input.
    fn into_rows(self) -> impl Iterator<Item = (u64, EncodeResult)> {
        self.rows.into_iter()
    }
}
