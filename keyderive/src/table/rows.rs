//! The stream of a scan's rows.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use serde::de::DeserializeOwned;

use super::Table;
use super::merge::Merge;
use crate::client::Error;
use crate::key::TableKey;
use crate::row::Row;

/// The rows of a scan, in the order of their logical keys: a [`Stream`], and [`next`](Self::next) without it.
///
/// ```
/// # use keyderive::{Client, RowKey};
/// # #[derive(RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, i64>;
/// # async fn sample(client: Client) -> Result<(), keyderive::Error> {
/// let users = client.table::<UserKey, User>("users");
/// let mut rows = users.scan(UserKey::scan()).stream();
/// while let Some(row) = rows.next().await {
///     let (key, user) = row?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// Memory is bounded, whatever the number of rows: a slow consumer stops the server. Dropping the stream
/// cancels its requests. After an error the stream has ended.
#[must_use = "a stream reads nothing until it is polled"]
pub struct Rows<K, R> {
    table: Table<K, R>,
    state: State,
}

enum State {
    Running(Merge),
    /// Failed before anything was sent.
    Failed(Error),
    Ended,
}

impl<K: TableKey, R> Rows<K, R> {
    pub(super) fn new(table: Table<K, R>, merge: Result<Merge, Error>) -> Self {
        let state = match merge {
            Ok(merge) => State::Running(merge),
            Err(error) => State::Failed(error),
        };
        Self { table, state }
    }
}

impl<K: TableKey, R> Rows<K, R> {
    /// The next row; none after the last one, or after an error.
    ///
    /// Cancel safe: a future that is dropped has taken no row.
    pub async fn next(&mut self) -> Option<Result<(K::Stored, R), Error>>
    where
        R: DeserializeOwned,
    {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    fn read(&self, row: &Row) -> Result<(K::Stored, R), Error>
    where
        R: DeserializeOwned,
    {
        let key = K::stored(row.key()).map_err(|error| Error::foreign(&self.table.name, error))?;
        Ok((key, self.table.read(row)?))
    }
}

impl<K: TableKey, R: DeserializeOwned> Stream for Rows<K, R> {
    type Item = Result<(K::Stored, R), Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = match &mut self.state {
            State::Running(merge) => ready!(Pin::new(merge).poll_next(cx)),
            State::Failed(_) | State::Ended => match std::mem::replace(&mut self.state, State::Ended) {
                State::Failed(error) => Some(Err(error)),
                State::Running(_) | State::Ended => None,
            },
        };
        let item = next.map(|row| row.and_then(|row| self.read(&row)));
        if !matches!(item, Some(Ok(_))) {
            self.state = State::Ended;
        }
        Poll::Ready(item)
    }
}

impl<K, R> fmt::Debug for Rows<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("table", &self.table).finish_non_exhaustive()
    }
}
