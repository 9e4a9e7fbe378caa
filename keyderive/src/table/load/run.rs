//! A load that runs: it reads ahead, and sends in turn.

use std::borrow::Borrow as _;
use std::collections::HashSet;
use std::future::{Future as _, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use futures_util::stream::iter;
use serde::Serialize;
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, Sleep, sleep};

use super::super::Table;
use super::account::Account;
use super::ahead::{LookAhead, Request};
use super::item::LoadItem;
use super::portion::Portion;
use super::report::Reason;
use super::retry::{Encoded, RetryRows};
use super::{Checkpoint, Form, Load, LoadError, LoadReport, Settings};
use crate::client::{Client, Entries, Entry, Error};
use crate::key::TableKey;

/// How many rows are read before other tasks of the runtime get their turn.
const READ_AT_ONCE: u64 = 128;

pub(super) async fn run<K, R, S>(load: Load<'_, K, R, S>) -> Result<LoadReport, LoadError>
where
    K: TableKey,
    R: Serialize,
    S: Stream<Item: LoadItem<K, R>>,
{
    let Load { table, rows, settings, on_progress, on_checkpoint, resume } = load;
    let resumes = resume.is_some();
    let given = resume.unwrap_or_else(|| Checkpoint::begin(&table));
    let mut account = Account::new(&table.name, given, &settings, on_progress, on_checkpoint);
    let starts = match begin(&mut account, &table).await {
        Ok(starts) => starts,
        Err(error) => return account.end(Some(Reason::NotBegun(error))),
    };
    let mut loader = Loader {
        ahead: LookAhead::new(starts, settings.sizes),
        patience: Patience { left: settings.patience, wait: None },
        table,
        settings,
        account,
        scratch: Entry::default(),
        requests: JoinSet::new(),
        has_ended: false,
        is_impatient: false,
        reason: None,
    };
    let mut input = pin!(rows);
    if resumes && let Err(reason) = loader.leave_out(input.as_mut()).await {
        return loader.account.end(Some(reason));
    }
    loader.account.begins();
    loader.run(input).await
}

/// Has the account go on from its checkpoint in this table; where the partitions begin.
async fn begin<K: TableKey, R>(account: &mut Account<'_>, table: &Table<K, R>) -> Result<Vec<Bytes>, Error> {
    account.checkpoint().check(table)?;
    let starts = table.key_space_starts().await?;
    // What tells the table from others is known of one that is there.
    account.goes_on_from(account.checkpoint().bound_to(table)?);
    Ok(starts.into_iter().map(Bytes::from).collect())
}

struct Loader<'a, K, R> {
    table: Table<K, R>,
    settings: Settings,
    account: Account<'a>,
    ahead: LookAhead,
    requests: JoinSet<Landed>,
    patience: Patience,
    /// Memory in which a row is encoded.
    scratch: Entry,
    /// Whether the input has no more rows to be read.
    has_ended: bool,
    /// Whether what has been read is sent, although there is room for more.
    is_impatient: bool,
    /// Why the load ends before its input, where it does.
    reason: Option<Reason>,
}

/// What became of the rows of a request.
struct Landed {
    request: Request,
    entries: Arc<Entries>,
    /// The places of the rows in the input.
    indexes: Vec<u64>,
    outcomes: Vec<Result<(), Error>>,
    /// The places among them, in order, of rows that were there and have been left as they were.
    kept: Vec<usize>,
}

enum Event {
    Landed(Result<Landed, JoinError>),
    /// So many items of the input have been read; none, where it has ended.
    Read(u64),
    /// The input has been waited for too long.
    Impatient,
}

impl<K: TableKey, R: Serialize> Loader<'_, K, R> {
    /// Reads the items that the checkpoint is after and leaves them out, but for those that had failed.
    async fn leave_out<S>(&mut self, mut input: Pin<&mut S>) -> Result<(), Reason>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let items = self.account.checkpoint().items();
        let failed: HashSet<u64> = self.account.checkpoint().failed().iter().copied().collect();
        let mut again = RetryRows::default();
        for index in 0..items {
            match poll_fn(|cx| input.as_mut().poll_next(cx)).await {
                Some(item) => self.pass(index, item, failed.contains(&index), &mut again)?,
                None => {
                    return Err(Reason::NotBegun(Error::mismatch(
                        &self.table.name,
                        format!(
                            "the checkpoint was made after {items} items, and the input has {index}; resume with the whole \
                             of the input that the load began with, or load from the beginning: leave `.resume(…)` out"
                        ),
                    )));
                }
            }
            if index % READ_AT_ONCE == 0 {
                self.account.tell();
                yield_now().await;
            }
        }
        for (index, row) in again.into_rows() {
            self.account.read_again();
            match row {
                Ok(row) => self.ahead.push(index, &row),
                Err((key, error)) => self.fail(index, key, error),
            }
        }
        Ok(())
    }

    /// One of the items that the checkpoint is after.
    fn pass(
        &mut self,
        index: u64,
        item: impl LoadItem<K, R>,
        has_failed: bool,
        again: &mut RetryRows,
    ) -> Result<(), Reason> {
        let item = item.into_row().map_err(Reason::Input)?;
        let (key, row) = item.borrow();
        if has_failed {
            let row = self.encode(key, row).map(|()| self.scratch.clone());
            again.add(index, row);
            return Ok(());
        }
        self.account.left_out();
        if !again.is_empty()
            && let Ok(key) = key.encode()
        {
            again.supersede(&key).into_iter().for_each(|index| self.account.superseded(index));
        }
        Ok(())
    }

    async fn run<S>(mut self, mut input: Pin<&mut S>) -> Result<LoadReport, LoadError>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let mut read = 0;
        loop {
            self.send();
            if self.is_done() {
                return self.account.end(self.reason);
            }
            match poll_fn(|cx| self.poll_event(input.as_mut(), cx)).await {
                Event::Landed(landed) => self.land(landed),
                Event::Read(items) => read += items,
                Event::Impatient => self.is_impatient = true,
            }
            self.account.tell();
            if read >= READ_AT_ONCE {
                read = 0;
                yield_now().await;
            }
        }
    }

    /// Whether nothing more is sent.
    fn is_stopped(&self) -> bool {
        matches!(self.reason, Some(Reason::Failed(_) | Reason::TooManyFailed { .. }))
    }

    fn is_done(&self) -> bool {
        self.requests.is_empty() && (self.is_stopped() || (self.has_ended && self.ahead.is_empty()))
    }

    fn is_full(&self) -> bool {
        self.ahead.bytes() >= self.settings.look_ahead.max(1)
    }

    /// Sends what may go now.
    fn send(&mut self) {
        while !self.is_stopped()
            && self.requests.len() < self.settings.workers
            && (self.is_full() || self.has_ended || self.is_impatient)
            && let Some((request, Portion { entries, indexes, .. })) = self.ahead.take()
        {
            let (client, table) = (self.table.client.clone(), self.table.name.clone());
            if self.settings.form == Form::IfAbsent {
                self.account.sent(entries.len());
                self.requests.spawn(async move {
                    let (outcomes, kept) = write_if_absent(&client, &table, &entries).await;
                    Landed { request, entries, indexes, outcomes, kept }
                });
                continue;
            }
            self.account.sent(1);
            self.requests.spawn(async move {
                let outcomes = client.send_entries(&table, &entries).await;
                Landed { request, entries, indexes, outcomes, kept: Vec::new() }
            });
        }
        if self.ahead.is_empty() || self.is_full() {
            self.is_impatient = false;
            self.patience = Patience { left: self.settings.patience, wait: None };
        }
    }

    fn poll_event<S>(&mut self, input: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<Event>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        if let Poll::Ready(Some(landed)) = self.requests.poll_join_next(cx) {
            return Poll::Ready(Event::Landed(landed));
        }
        if !self.reads() {
            self.patience.ends();
            return Poll::Pending;
        }
        if let Poll::Ready(read) = self.poll_read(input, cx) {
            self.patience.ends();
            return Poll::Ready(Event::Read(read));
        }
        if self.ahead.is_empty() || self.is_impatient {
            self.patience.ends();
            return Poll::Pending;
        }
        ready!(self.patience.poll(cx));
        Poll::Ready(Event::Impatient)
    }

    /// Whether rows of the input are read now.
    fn reads(&self) -> bool {
        !self.has_ended && !self.is_stopped() && !self.is_full()
    }

    /// Reads what the input has, but not so much that others wait for long; how many items that is, none at its end.
    fn poll_read<S>(&mut self, mut input: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<u64>
    where
        S: Stream<Item: LoadItem<K, R>>,
    {
        let mut read = 0;
        while read < READ_AT_ONCE && self.reads() {
            match input.as_mut().poll_next(cx) {
                Poll::Ready(Some(item)) => self.read(item),
                Poll::Ready(None) => {
                    self.has_ended = true;
                    break;
                }
                Poll::Pending if read == 0 => return Poll::Pending,
                Poll::Pending => break,
            }
            read += 1;
        }
        Poll::Ready(read)
    }

    fn read(&mut self, item: impl LoadItem<K, R>) {
        let item = match item.into_row() {
            Ok(item) => item,
            Err(error) => {
                self.has_ended = true;
                self.reason = Some(Reason::Input(error));
                return;
            }
        };
        let index = self.account.read();
        let (key, row) = item.borrow();
        match self.encode(key, row) {
            Ok(()) => self.ahead.push(index, &self.scratch),
            Err((key, error)) => self.fail(index, key, error),
        }
    }

    /// Encodes a row into the scratch memory.
    fn encode(&mut self, key: &K, row: &R) -> Encoded<()> {
        let Self { table, settings, scratch, .. } = self;
        let writing = table.writing(settings.form != Form::Put);
        table.encode_row(scratch, key, row, writing).and_then(|()| scratch.check(&table.name)).map_err(
            |error| {
                let key = Bytes::copy_from_slice(&scratch.key);
                (Some(key).filter(|key| !key.is_empty()), error)
            },
        )
    }

    fn fail(&mut self, index: u64, key: Option<Bytes>, error: Error) {
        if let Err(reason) = self.account.failed(index, key, error)
            && !self.is_stopped()
        {
            self.reason = Some(reason);
        }
    }

    fn land(&mut self, landed: Result<Landed, JoinError>) {
        let Landed { request, entries, indexes, outcomes, kept } = match landed {
            Ok(landed) => landed,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => {
                    return self
                        .stop(Error::configuration("the tokio runtime has ended before the load had"));
                }
            },
        };
        self.ahead.landed(request);
        let mut kept = kept.into_iter().peekable();
        for (place, (index, outcome)) in indexes.into_iter().zip(outcomes).enumerate() {
            match outcome {
                Ok(()) if kept.next_if_eq(&place).is_some() => self.account.kept(index),
                Ok(()) => self.account.written(index, entries.entry(place).len()),
                Err(error) if is_of_every_row(&error) => self.stop(error),
                Err(error) => self.fail(index, Some(entries.key(place)), error),
            }
        }
    }

    /// Ends the load for a failure that is not that of a row.
    fn stop(&mut self, error: Error) {
        if !self.is_stopped() {
            self.reason = Some(Reason::Failed(error));
        }
    }
}

/// How many rows of a batch are written at a time, where each is a request of its own.
const ROWS_IN_FLIGHT: usize = 64;

/// Writes the rows of a batch that the table does not have; their outcomes, and the places of those that were there.
///
/// After a failure that would be that of every row, no further row is tried.
async fn write_if_absent(
    client: &Client,
    table: &str,
    entries: &Entries,
) -> (Vec<Result<(), Error>>, Vec<usize>) {
    let of_all = OnceLock::new();
    let written = iter(0..entries.len()).map(|place| {
        let of_all = &of_all;
        async move {
            if let Some(error) = of_all.get().cloned() {
                return Err(error);
            }
            let written = client.write_if_absent(table, entries, place).await;
            written.map_err(Error::of_load_if_absent).inspect_err(|error| {
                if is_of_every_row(error) {
                    let _ = of_all.set(error.clone());
                }
            })
        }
    });
    let (mut outcomes, mut kept) = (Vec::with_capacity(entries.len()), Vec::new());
    let mut written = pin!(written.buffered(ROWS_IN_FLIGHT));
    while let Some(is_written) = written.next().await {
        if matches!(is_written, Ok(false)) {
            kept.push(outcomes.len());
        }
        outcomes.push(is_written.map(drop));
    }
    (outcomes, kept)
}

/// Whether a failure says nothing of the row: another one would have failed too, or it may be written later.
fn is_of_every_row(error: &Error) -> bool {
    error.is_retryable()
        || error.is_deadline_exceeded()
        || error.is_unavailable()
        || error.is_resource_exhausted()
        || error.is_not_found()
        || error.is_permission_denied()
        || error.is_unimplemented()
        || error.is_of_single_row_transactions()
        || error.is_client_closed()
        || error.is_misconfiguration()
        || error.is_protocol_violation()
}

/// How long the input may still be waited for.
struct Patience {
    left: Duration,
    /// Since when it is, and until when.
    wait: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let left = self.left;
        let (_, until) = self.wait.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        until.as_mut().poll(cx)
    }

    /// It is not waited for now.
    fn ends(&mut self) {
        if let Some((since, _)) = self.wait.take() {
            self.left = self.left.saturating_sub(since.elapsed());
        }
    }
}
