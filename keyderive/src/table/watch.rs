//! Whether a call that runs long still writes to the table that it began with.
//!
//! The check before a call's first request does not see what happens afterwards: a program that pauses, or writes for an hour, may go on
//! writing to a table that was re-keyed or made again meanwhile, and nobody reads what it writes there. So such a call asks for the
//! table's definition again before it sends rows by one that is older than [`MAX_AGE`], and at its end.

use futures_util::FutureExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::handle::Check;
use super::{UntypedTable, stamp};
use crate::client::{Error, Freshness, TableInfo};

/// How old a table's definition may be when rows are sent by it.
pub(super) const MAX_AGE: Duration = Duration::from_secs(10);

/// What a call that runs long knows of the table that it writes to.
#[derive(Debug)]
pub(crate) struct Watch(Option<Mutex<Watched>>);

#[derive(Debug)]
struct Watched {
    /// The last definition that fits; none if none could be read.
    accepted: Option<Arc<TableInfo>>,
    /// When the last definition that fits was requested.
    asked: Option<Instant>,
    /// When to ask next.
    due: Instant,
    /// The version of the client's schema cache then. Another one means that a table has changed.
    version: u64,
    /// The rows that were sent.
    sent: u64,
    /// Those of them whose outcome is not known yet.
    in_flight: u64,
    /// Those that were answered before the definition was last asked for.
    verified: u64,
    /// The verified rows at the last end that reported success.
    reported: u64,
}

impl Watch {
    /// For a call whose tables are not checked, or whose every request is.
    pub(super) fn off() -> Self {
        Self(None)
    }

    /// For a call that may begin with an old definition: it asks for another one before its first row.
    pub(super) fn of(table: &UntypedTable) -> Self {
        let asked = table.client.info_asked(&table.name);
        Self::since(table, asked, asked.map_or_else(Instant::now, |asked| asked + MAX_AGE))
    }

    /// For a call that rarely takes as long as [`MAX_AGE`], and asks only then.
    pub(super) fn from_now(table: &UntypedTable) -> Self {
        let now = Instant::now();
        Self::since(table, Some(now), now + MAX_AGE)
    }

    fn since(table: &UntypedTable, asked: Option<Instant>, due: Instant) -> Self {
        let Check::At(_) = table.check else { return Self::off() };
        Self(Some(Mutex::new(Watched {
            accepted: table.client.known_info(&table.name),
            asked,
            due,
            version: table.client.info_version(),
            sent: 0,
            in_flight: 0,
            verified: 0,
            reported: 0,
        })))
    }

    /// Before rows are sent: asks for the definition, if it is old.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch) or [`is_not_found`](Error::is_not_found): the rows must not be sent. It says how many
    /// others may be in a table that is not read.
    pub(super) async fn before(&self, table: &UntypedTable, rows: usize) -> Result<(), Error> {
        let is_due = |watched: &mut Watched| Instant::now() >= watched.due || watched.has_changed(table);
        if self.with(is_due) == Some(true) {
            self.ask(table, false).boxed().await?;
        }
        self.with(|watched| {
            watched.sent += rows as u64;
            watched.in_flight += rows as u64;
        });
        Ok(())
    }

    /// Notes that `rows` rows were sent; `not_written` of them are certainly not written.
    pub(super) fn after(&self, rows: usize, not_written: usize) {
        self.with(|watched| {
            watched.in_flight = watched.in_flight.saturating_sub(rows as u64);
            watched.sent = watched.sent.saturating_sub(not_written as u64);
        });
    }

    /// At the end of the call: asks for the definition, if it is old and rows were written since.
    ///
    /// # Errors
    /// Those of [`before`](Self::before), once.
    pub(super) async fn end(&self, table: &UntypedTable) -> Result<(), Error> {
        let is_due = |watched: &mut Watched| {
            let is_old = watched.asked.is_none_or(|asked| asked.elapsed() >= MAX_AGE);
            watched.sent > watched.verified && (is_old || watched.has_changed(table))
        };
        let ended = match self.with(is_due) {
            Some(true) => self.ask(table, true).boxed().await,
            _ => Ok(()),
        };
        // Any other error says nothing of the rows: the next end asks again.
        let is_settled = ended.as_ref().is_err_and(|error| error.is_table_mismatch() || error.is_not_found());
        self.with(|watched| {
            if is_settled {
                watched.verified = watched.sent;
            }
            if is_settled || ended.is_ok() {
                watched.reported = watched.verified;
            }
        });
        ended
    }

    async fn ask(&self, table: &UntypedTable, insists: bool) -> Result<(), Error> {
        let begun = Instant::now();
        let answered = self.with(|watched| watched.sent.saturating_sub(watched.in_flight)).unwrap_or(0);
        let after = begun.checked_sub(MAX_AGE).unwrap_or(begun);
        let found = table.current_info(Freshness { after, insists }).await;
        let asked = table.client.info_asked(&table.name).unwrap_or(begun);
        let settle = |watched: &mut Watched| match found {
            Ok(Some((_, info))) if watched.is_remade(&info) => {
                let error = Error::mismatch(
                    &table.name,
                    "it was deleted and created again, during this call or shortly before",
                );
                let explained = watched.explained(error, true);
                watched.accepted = Some(info);
                Err(explained)
            }
            Ok(Some((version, info))) => {
                watched.accepted = Some(info);
                (watched.asked, watched.due, watched.version) = (Some(asked), asked + MAX_AGE, version);
                if asked >= begun {
                    watched.verified = watched.verified.max(answered);
                }
                Ok(())
            }
            Ok(None) => {
                (watched.due, watched.version) = (Instant::now() + MAX_AGE, table.client.info_version());
                Ok(())
            }
            Err(error) => Err(watched.explained(error, false)),
        };
        self.with(settle).unwrap_or(Ok(()))
    }

    fn with<T>(&self, call: impl FnOnce(&mut Watched) -> T) -> Option<T> {
        // Nothing panics while it holds the lock.
        let watched = self.0.as_ref()?;
        Some(call(&mut watched.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Watched {
    /// Whether the client has learned since that a table has changed.
    fn has_changed(&self, table: &UntypedTable) -> bool {
        self.version != table.client.info_version()
    }

    /// Whether the table is not the one that rows were sent to, but another one of its name.
    fn is_remade(&self, info: &TableInfo) -> bool {
        let before = self.accepted.as_deref().map_or_else(Vec::new, stamp::table_ids);
        self.sent > 0 && !before.is_empty() && !stamp::table_ids(info).iter().any(|id| before.contains(id))
    }

    /// The error of a table that is not as it must be, with what that means for the rows that were sent.
    fn explained(&self, error: Error, is_remade: bool) -> Error {
        let is_gone = is_remade || error.is_not_found();
        if !is_gone && !error.is_table_mismatch() {
            return error;
        }
        let rows = self.sent.saturating_sub(if is_gone { self.reported } else { self.verified });
        let since = self.asked.map_or_else(String::new, |asked| {
            format!(" since its definition was last compared, {} s ago,", asked.elapsed().as_secs())
        });
        error.after_writes(&match (rows, is_gone) {
            (0, _) => "no row that this call wrote is lost by that".to_owned(),
            (_, true) => format!(
                "up to {rows} rows that this call wrote are gone with the table that was deleted: write them again"
            ),
            (_, false) => format!(
                "up to {rows} rows that this call wrote{since} may be in a table that is not read: write them again, to the table that \
                 is read now"
            ),
        })
    }
}

/// A watch with its table.
pub(super) struct WatchedTable {
    pub(super) table: UntypedTable,
    watch: Watch,
}

impl WatchedTable {
    /// As [`Watch::of`].
    pub(super) fn new(table: &UntypedTable) -> Self {
        Self { table: table.clone(), watch: Watch::of(table) }
    }

    /// As [`Watch::before`].
    pub(super) async fn before(&self, rows: usize) -> Result<(), Error> {
        self.watch.before(&self.table, rows).await
    }

    /// As [`Watch::after`].
    pub(super) fn after(&self, rows: usize, not_written: usize) {
        self.watch.after(rows, not_written);
    }

    /// As [`Watch::end`].
    pub(super) async fn end(&self) -> Result<(), Error> {
        self.watch.end(&self.table).await
    }
}
