//! What the tables are, read before the first requests to them and kept.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::TableInfo;
use crate::client::error::Error;
use crate::client::{Client, observe};

/// How long a first request waits for the admin service.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How long requests go on unchecked before the table is asked for again.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Of how many tables the answers are kept. A program with more reads some of them again.
const MOST_TABLES: usize = 4096;

type Answer = Result<Arc<TableInfo>, Error>;

/// The tables that a client has read. Shared by all its clones.
#[derive(Debug)]
pub(in crate::client) struct InfoCache {
    /// Grows when an answer is forgotten. Handles remember the version by which they were checked.
    version: AtomicU64,
    tables: Mutex<HashMap<Arc<str>, Entry>>,
}

#[derive(Debug, Default)]
struct Entry {
    answer: Option<Answer>,
    /// A `GetTable` in flight, which all wait for.
    reading: Option<watch::Receiver<Option<Answer>>>,
    /// When a table that could not be read is asked for again; none where it never was.
    ask_again_at: Option<Instant>,
}

/// What is known of a table.
enum Known {
    Read(u64, Arc<TableInfo>),
    Reading(u64, watch::Receiver<Option<Answer>>),
    Unreadable,
}

impl Default for InfoCache {
    fn default() -> Self {
        // 0 is the version of a handle that was never checked.
        Self { version: AtomicU64::new(1), tables: Mutex::default() }
    }
}

impl InfoCache {
    fn tables(&self) -> MutexGuard<'_, HashMap<Arc<str>, Entry>> {
        // Nothing panics while it holds the lock.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, table: &str) {
        let mut tables = self.tables();
        tables.remove(table);
        // Within the lock, so that an answer and its version are of one time.
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets the table if it is another one than is kept: another program has changed it, and no handle may go on by what
    /// it was.
    pub(super) fn forget_unless(&self, table: &str, info: &TableInfo) {
        let is_another = |entry: &Entry| matches!(&entry.answer, Some(Ok(kept)) if **kept != *info);
        if self.tables().get(table).is_some_and(is_another) {
            self.forget(table);
        }
    }

    /// Forgets the table when the guard is dropped: after the answer to a change, or when its future is dropped.
    pub(super) fn forget_after<'a>(&'a self, table: &'a str) -> ForgetOnDrop<'a> {
        ForgetOnDrop { cache: self, table }
    }

    /// Keeps the answer of a `GetTable`, unless the table was forgotten while it was in flight.
    fn settle(
        &self,
        client: &Client,
        table: &Arc<str>,
        sender: &watch::Sender<Option<Answer>>,
        answer: &Answer,
    ) {
        let mut tables = self.tables();
        let Some(entry) = tables.get_mut(table) else { return };
        if !entry.reading.as_ref().is_some_and(|reading| reading.same_channel(&sender.subscribe())) {
            return;
        }
        entry.reading = None;
        match answer {
            Ok(info) => entry.answer = Some(Ok(Arc::clone(info))),
            Err(error) if client.says_nothing(error) => _ = tables.remove(table),
            Err(error) => {
                let warned = entry.ask_again_at.replace(Instant::now() + ASK_AGAIN_AFTER).is_some();
                entry.answer = Some(Err(error.clone()));
                drop(tables);
                observe::unchecked(table, error);
                if !warned {
                    tracing::warn!(
                        table = &**table,
                        %error,
                        "the layout of a table cannot be checked; requests go on without, and it is tried again each minute"
                    );
                }
            }
        }
    }
}

pub(super) struct ForgetOnDrop<'a> {
    cache: &'a InfoCache,
    table: &'a str,
}

impl Drop for ForgetOnDrop<'_> {
    fn drop(&mut self) {
        self.cache.forget(self.table);
    }
}

impl Client {
    /// The version of what is kept of all tables: a handle that was checked by it needs no further check.
    #[inline]
    pub(crate) fn info_version(&self) -> u64 {
        self.inner.infos.version.load(Ordering::Relaxed)
    }

    /// What the table is, kept from its first read, and the version of it.
    ///
    /// None where the request to be checked is to go on, or fails by itself: there is no such table, or it cannot be
    /// read and the settings do not require it.
    ///
    /// Waits for the admin service once, [`ANSWER_WITHIN`]; concurrent calls share one `GetTable`, which goes on when
    /// their futures are dropped.
    pub(crate) async fn cached_info(&self, table: &Arc<str>) -> Result<Option<(u64, Arc<TableInfo>)>, Error> {
        let Ok(runtime) = Handle::try_current() else { return Ok(None) };
        let (version, mut reading) = match self.known(table, &runtime) {
            Known::Read(version, info) => return Ok(Some((version, info))),
            Known::Reading(version, reading) => (version, reading),
            Known::Unreadable => return Ok(None),
        };
        let answer = reading.wait_for(Option::is_some).await.ok();
        let answer =
            answer.and_then(|answer| Some(answer.as_ref()?.as_ref().map(Arc::clone).map_err(Error::clone)));
        let required = self.settings.require_layout_check;
        match answer {
            Some(Ok(info)) => Ok(Some((version, info))),
            Some(Err(error)) if required && !self.says_nothing(&error) => Err(error),
            None if required => Err(Error::configuration(format!(
                "table `{table}`: the tokio runtime ended before the layout was checked"
            ))),
            Some(Err(_)) | None => Ok(None),
        }
    }

    /// What the table is, if it has been read.
    pub(crate) fn known_info(&self, table: &str) -> Option<Arc<TableInfo>> {
        self.inner.infos.tables().get(table)?.answer.as_ref()?.as_ref().ok().map(Arc::clone)
    }

    /// Whether the request that is to be checked fails as the `GetTable` has: there is no such table, or nothing could be
    /// sent.
    fn says_nothing(&self, error: &Error) -> bool {
        let unsent =
            error.attempts() == 0 && !error.is_missing_credentials() && !error.is_deadline_exceeded();
        error.is_not_found() || unsent
    }

    fn known(&self, table: &Arc<str>, runtime: &Handle) -> Known {
        let cache = &self.inner.infos;
        let mut tables = cache.tables();
        if tables.len() >= MOST_TABLES && !tables.contains_key(table) {
            tables.clear();
            cache.version.fetch_add(1, Ordering::Relaxed);
        }
        let version = cache.version.load(Ordering::Relaxed);
        let entry = tables.entry(Arc::clone(table)).or_default();
        let waits = match &entry.answer {
            Some(Ok(info)) => return Known::Read(version, Arc::clone(info)),
            Some(Err(_)) => self.settings.require_layout_check,
            None => true,
        };
        let is_due = waits || entry.ask_again_at.is_none_or(|again| again <= Instant::now());
        // One whose sender is gone was lost with its runtime.
        let in_flight = entry.reading.take().filter(|reading| reading.has_changed().is_ok());
        entry.reading =
            if is_due { Some(in_flight.unwrap_or_else(|| self.read(table, runtime))) } else { in_flight };
        match entry.reading.clone() {
            Some(reading) if waits => Known::Reading(version, reading),
            _ => Known::Unreadable,
        }
    }

    /// Sends a `GetTable` by a task of its own, which no caller's end ends.
    fn read(&self, table: &Arc<str>, runtime: &Handle) -> watch::Receiver<Option<Answer>> {
        let (sender, receiver) = watch::channel(None);
        let client = self.with(|settings| {
            settings.admin.total_timeout = settings.admin.total_timeout.min(ANSWER_WITHIN);
        });
        let table = Arc::clone(table);
        runtime.spawn(async move {
            let answer = client.table_info(&table).await.map(Arc::new);
            client.inner.infos.settle(&client, &table, &sender, &answer);
            // Nobody may be waiting any more.
            let _ = sender.send(Some(answer));
        });
        receiver
    }
}
