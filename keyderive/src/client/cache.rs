//! What a client has read about tables: each is read once, however many calls ask for it at the same time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Shared;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::{Error, ErrorKind};

/// When to retry a read that failed; until then calls do without its answer.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The most tables in a cache. A program that uses more tables reads some again.
const MAX_CACHED: usize = 4096;

type Answer<T> = Result<Arc<T>, Error>;

/// A read in flight.
#[derive(Debug)]
struct Reading<T> {
    /// Wakes its callers in their order, which a `watch` channel does not: a run of the whole system by a seed is to be repeated exactly.
    answer: Shared<oneshot::Receiver<Answer<T>>>,
    /// Held by the task that reads, while it lives.
    task: Weak<()>,
}

impl<T> Clone for Reading<T> {
    fn clone(&self) -> Self {
        Self { answer: self.answer.clone(), task: Weak::clone(&self.task) }
    }
}

/// What was read about tables, by their names; shared by the clones of a client.
#[derive(Debug)]
pub(crate) struct TableCache<T> {
    /// Grows when an answer is removed. Handles remember the version at which they were checked.
    version: AtomicU64,
    tables: Mutex<HashMap<Arc<str>, Entry<T>>>,
}

#[derive(Debug)]
struct Entry<T> {
    found: Option<Found<T>>,
    /// The read in flight, for which all callers wait.
    reading: Option<Reading<T>>,
    /// The failure of the last read, if it failed.
    failure: Option<Failure>,
}

#[derive(Debug)]
struct Found<T> {
    value: Arc<T>,
    /// When the read began.
    asked: Instant,
}

#[derive(Debug)]
struct Failure {
    error: Error,
    retry_at: Instant,
}

/// How old an answer may be that a caller takes from the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freshness {
    /// Its read began after this. A read in flight began less than [`CHECK_TIMEOUT`](super::CHECK_TIMEOUT) ago.
    pub(crate) after: Instant,
    /// Whether the caller waits for another read where the last one has failed less than a minute ago, unless that was refused.
    pub(crate) insists: bool,
}

/// What a cache has for a table.
pub(crate) enum Cached<T> {
    /// With the version of the cache.
    Found(u64, Arc<T>),
    /// The read has failed.
    Failed(Error),
    /// Calls do without: the read failed less than a minute ago, or there is no tokio runtime, or it ended.
    Unknown,
    /// The deadline passed.
    Late,
}

/// How calls read a table for the cache.
pub(crate) struct CacheRead<F> {
    /// Whether calls wait for another read where the last one has failed.
    pub(crate) is_required: bool,
    pub(crate) deadline: Option<Instant>,
    /// Runs in a task of its own, which no dropped future cancels.
    pub(crate) load: F,
    /// Whether a failure is kept, so that calls do without the answer for a minute. Called with each failure, and whether it is the
    /// first.
    pub(crate) failed: fn(&str, &Error, bool) -> bool,
}

impl<T> Default for Entry<T> {
    fn default() -> Self {
        Self { found: None, reading: None, failure: None }
    }
}

impl<T> Default for TableCache<T> {
    fn default() -> Self {
        // 0 is the version of a handle that was never checked.
        Self { version: AtomicU64::new(1), tables: Mutex::default() }
    }
}

impl<T> TableCache<T> {
    /// The version of the cache: a handle checked at this version needs no further check.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// What was read about a table, if it is cached.
    pub(crate) fn known(&self, table: &str) -> Option<Arc<T>> {
        self.tables().get(table)?.found.as_ref().map(|found| Arc::clone(&found.value))
    }

    /// When the read of the cached answer began.
    pub(crate) fn asked(&self, table: &str) -> Option<Instant> {
        self.tables().get(table)?.found.as_ref().map(|found| found.asked)
    }

    /// Has the table read again.
    pub(crate) fn forget(&self, table: &str) {
        let mut tables = self.tables();
        tables.remove(table);
        // Under the lock, so that an answer always goes with its version.
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// [`forget`](Self::forget)s the table when the guard is dropped: after the answer to a change, or when its future is dropped.
    pub(super) fn forget_after<'a>(&'a self, table: &'a str) -> impl Drop + use<'a, T> {
        ForgetOnDrop { cache: self, table }
    }

    fn tables(&self) -> MutexGuard<'_, HashMap<Arc<str>, Entry<T>>> {
        // Nothing panics while it holds the lock.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all tables if one more does not fit.
    fn make_room(&self, tables: &mut HashMap<Arc<str>, Entry<T>>, table: &str) {
        if tables.len() >= MAX_CACHED && !tables.contains_key(table) {
            tables.clear();
            self.version.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<T: PartialEq> TableCache<T> {
    /// Caches what a read that began at this time and version has found, unless a table was changed or removed since. If it differs from
    /// what is cached, another program has changed the table, and every handle must be checked again.
    pub(super) fn learn(&self, table: &str, version: u64, asked: Instant, read: impl FnOnce() -> T + Copy) {
        let mut tables = self.tables();
        let is_new = self.version.load(Ordering::Relaxed) == version;
        match tables.get_mut(table).and_then(|entry| entry.found.as_mut()) {
            Some(kept) if *kept.value == read() => {
                kept.asked = kept.asked.max(asked);
                return;
            }
            Some(_) => {
                tables.remove(table);
                self.version.fetch_add(1, Ordering::Relaxed);
            }
            None => {}
        }
        if is_new {
            self.make_room(&mut tables, table);
            let entry = tables.entry(table.into()).or_default();
            (entry.found, entry.failure) = (Some(Found { value: Arc::new(read()), asked }), None);
        }
    }
}

impl<T: Send + Sync + 'static> TableCache<T> {
    /// What is known of a table, which is read once. Concurrent calls share one read.
    pub(crate) async fn get<F>(self: &Arc<Self>, table: &Arc<str>, read: CacheRead<F>) -> Cached<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        self.get_fresh(table, read, None).await
    }

    /// As [`get`](Self::get), but reads again if the cached answer is too old.
    pub(crate) async fn get_fresh<F>(
        self: &Arc<Self>,
        table: &Arc<str>,
        read: CacheRead<F>,
        freshness: Option<Freshness>,
    ) -> Cached<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let Ok(runtime) = Handle::try_current() else { return Cached::Unknown };
        let deadline = read.deadline;
        let (version, reading) = match self.look_up(table, &runtime, read, freshness) {
            Lookup::Cached(version, found) => return Cached::Found(version, found),
            Lookup::InFlight(version, reading) => (version, reading),
            Lookup::Unreadable => return Cached::Unknown,
        };
        let answer = match deadline {
            Some(deadline) => match timeout_at(deadline, reading.answer).await {
                Ok(answer) => answer,
                Err(_) => return Cached::Late,
            },
            None => reading.answer.await,
        };
        match answer {
            Ok(Ok(found)) => Cached::Found(version, found),
            Ok(Err(error)) => Cached::Failed(error),
            Err(_) => Cached::Unknown,
        }
    }

    fn look_up<F>(
        self: &Arc<Self>,
        table: &Arc<str>,
        runtime: &Handle,
        read: CacheRead<F>,
        freshness: Option<Freshness>,
    ) -> Lookup<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let mut tables = self.tables();
        self.make_room(&mut tables, table);
        let version = self.version();
        let entry = tables.entry(Arc::clone(table)).or_default();
        if let Some(found) = &entry.found
            && freshness.is_none_or(|wanted| found.asked > wanted.after)
        {
            return Lookup::Cached(version, Arc::clone(&found.value));
        }
        let (waits, is_due) = match &entry.failure {
            None => (true, true),
            Some(Failure { error, retry_at }) => {
                let is_due = *retry_at <= Instant::now();
                let insists = |wanted: Freshness| is_due || (wanted.insists && !is_refusal(error));
                let waits = read.is_required || freshness.is_some_and(insists);
                (waits, waits || is_due)
            }
        };
        // A read whose task is gone was lost with its runtime.
        let in_flight = entry.reading.take().filter(|reading| reading.task.strong_count() > 0);
        entry.reading = match in_flight {
            None if is_due => Some(self.spawn_read(table, runtime, read)),
            in_flight => in_flight,
        };
        match entry.reading.clone() {
            Some(reading) if waits => Lookup::InFlight(version, reading),
            _ => Lookup::Unreadable,
        }
    }

    fn spawn_read<F>(self: &Arc<Self>, table: &Arc<str>, runtime: &Handle, read: CacheRead<F>) -> Reading<T>
    where
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let task = Arc::new(());
        let reading = Reading { answer: receiver.shared(), task: Arc::downgrade(&task) };
        let (cache, table) = (Arc::clone(self), Arc::clone(table));
        let CacheRead { load, failed, .. } = read;
        let asked = Instant::now();
        runtime.spawn(async move {
            let answer = load.await.map(Arc::new);
            cache.settle(&table, &task, &answer, asked, failed);
            // Fails if no call waits any more.
            let _ = sender.send(answer);
        });
        reading
    }

    /// Caches an answer, unless the table was removed while it was in flight, as `learn` removes one that has changed.
    fn settle(
        &self,
        table: &Arc<str>,
        task: &Arc<()>,
        answer: &Answer<T>,
        asked: Instant,
        failed: fn(&str, &Error, bool) -> bool,
    ) {
        let mut tables = self.tables();
        let Some(entry) = tables.get_mut(table) else { return };
        if !entry.reading.as_ref().is_some_and(|reading| Weak::ptr_eq(&reading.task, &Arc::downgrade(task))) {
            return;
        }
        entry.reading = None;
        match answer {
            Ok(value) => {
                (entry.found, entry.failure) = (Some(Found { value: Arc::clone(value), asked }), None);
            }
            Err(error) if failed(table, error, entry.failure.is_none()) => {
                entry.failure =
                    Some(Failure { error: error.clone(), retry_at: Instant::now() + RETRY_AFTER });
            }
            Err(error) if entry.found.is_some() && !error.is_not_found() => {}
            Err(_) => {
                if tables.remove(table).is_some_and(|entry| entry.found.is_some()) {
                    self.version.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

/// Whether a read that failed so would fail again.
fn is_refusal(error: &Error) -> bool {
    error.is_permission_denied() || error.kind() == ErrorKind::Unimplemented
}

/// What a cache has for a table, with its version.
enum Lookup<T> {
    Cached(u64, Arc<T>),
    InFlight(u64, Reading<T>),
    Unreadable,
}

struct ForgetOnDrop<'a, T> {
    cache: &'a TableCache<T>,
    table: &'a str,
}

impl<T> Drop for ForgetOnDrop<'_, T> {
    fn drop(&mut self) {
        self.cache.forget(self.table);
    }
}
