//! Changes to some columns of a row.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use bytes::Bytes;
use serde::Serialize;

use super::Table;
use crate::client::{Error, Mutations};
use crate::key::TableKey;
use crate::row::{self, Condition, MutationList, Path, RowError, Sink};

/// Changes to some columns of one row, all or none, from [`Table::update`].
///
/// Awaited, it is sent, in one request, in which changes apply in their order. Without a change nothing is written.
///
/// The changes apply together, and each changed column is read as set; others stay. Of concurrent updates of one column the
/// one that the server applies last stays.
///
/// # Errors
/// When the key, the name of a column or a value cannot be encoded, before anything is sent; when the write fails. After a
/// failure with [`is_outcome_unknown`](Error::is_outcome_unknown), the same update again makes it hold.
///
/// # Cancel safety
/// Dropped before it is done, the changes are made together or not at all, perhaps later.
#[must_use = "an update is made when it is awaited"]
pub struct Update<K, R> {
    table: Table<K, R>,
    key: Result<Bytes, Error>,
    mutations: MutationList,
    /// The first fault of a change.
    fault: Option<RowError>,
}

impl<K: TableKey, R> Table<K, R> {
    /// Changes some columns of a row, and leaves the others as they are.
    ///
    /// ```
    /// # use keyderive::{Client, RowKey};
    /// # use std::collections::BTreeMap;
    /// # #[derive(RowKey)] struct UserKey { id: u64 }
    /// #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    /// struct User {
    ///     name: String,
    ///     email: Option<String>,
    ///     visits: BTreeMap<String, u64>, // a family: a column for each day
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), keyderive::Error> {
    /// let users = Client::embedded().table::<UserKey, User>("users");
    /// users.create_if_absent().await?;
    /// let (key, email) = (UserKey { id: 7 }, Some("corrie@example.com".to_owned()));
    /// users.put(&key, &User { name: "Corrie".into(), email, visits: BTreeMap::new() }).await?;
    ///
    /// users.update(&key).set("name", "Cornelia").delete("email").set("visits:2026-05-01", &3).await?;
    ///
    /// let visits = BTreeMap::from([("2026-05-01".into(), 3)]);
    /// assert_eq!(users.get(&key).await?, Some(User { name: "Cornelia".into(), email: None, visits }));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A missing row is made of these columns alone, unless [`only_if`](Update::only_if) asks for one that exists. A row that
    /// loses its last cell is no more; one that was put without a present column has a marker cell, and exists until it is
    /// deleted. Numbers are counted up by
    /// [`increment`](Self::increment), or several at once by [`modify`](Self::modify): Bigtable has no request that sets
    /// some columns and counts in others.
    pub fn update(&self, key: &K) -> Update<K, R> {
        Update { table: self.clone(), key: self.encode(key), mutations: MutationList::default(), fault: None }
    }
}

impl<K: TableKey, R> Update<K, R> {
    /// Makes a field equal to `value`, as [`put`](Table::put) makes it: `name` is a field of the row, a column of the
    /// table's family or, where the value is a struct or a map, a family; `family:name` is a column of another family.
    /// `None` deletes it.
    ///
    /// The value is to be of the field's type, which is not checked: `&3` for an `f64` is stored as an integer, whose eight
    /// bytes are read as another number. A family that is set to a value which is no struct and no map is an error, and
    /// so is the other way round.
    pub fn set<V: Serialize + ?Sized>(self, path: &str, value: &V) -> Self {
        let table = self.table.clone();
        self.changed(|sink| {
            let place = Path::new(path.to_owned());
            let (family, column) = place.one(&table.family)?;
            match place.is_own() {
                true => row::write_field(path, value, table.writing(false), sink),
                false => row::write_column(&family, &column, value, table.writing(false), sink),
            }
        })
    }

    /// Deletes a field of the row: `name` a column of the table's family, or a family that the row type has by this
    /// name; `family:name` a column of another family; `family:` a family with all its columns.
    pub fn delete(self, path: &str) -> Self {
        let table = self.table.clone();
        self.changed(|sink| {
            let place = Path::new(path.to_owned());
            place.has_family(&table.family)?;
            let Some(column) = place.column() else {
                sink.delete_family(place.family(&table.family));
                return Ok(());
            };
            place.one(&table.family)?;
            match place.is_own() {
                true => row::write_field(path, &None::<()>, table.writing(false), sink),
                false => {
                    sink.delete_column(place.family(&table.family), column);
                    Ok(())
                }
            }
        })
    }

    fn changed(mut self, change: impl FnOnce(&mut dyn Sink) -> Result<(), RowError>) -> Self {
        if let Err(error) = self.mutations.write(change) {
            self.fault.get_or_insert(error);
        }
        self
    }

    /// Makes the changes where the row is as the condition says; whether it was.
    ///
    /// True: the changes were made in the same step, and are what is read. It is not sent again when it may have been
    /// applied, as [`put_if`](Table::put_if). Without a change nothing is written, and the row is only read.
    ///
    /// # Errors
    /// As the update itself, and as `put_if`. After an unknown outcome, read the row, and decide anew.
    ///
    /// # Cancel safety
    /// As `put_if`.
    pub async fn only_if(self, condition: Condition) -> Result<bool, Error> {
        self.table.vouched().await?;
        let (table, key, mutations) = self.parts()?;
        if mutations.is_empty() {
            return table.holds(key, condition).await;
        }
        table.mutate_if(key, mutations, condition).await
    }

    async fn send(self) -> Result<(), Error> {
        self.table.vouched().await?;
        let (table, key, mutations) = self.parts()?;
        if mutations.is_empty() {
            return Ok(());
        }
        let mutations = Mutations::from(mutations);
        table.check_own_times(&key, &mutations)?;
        table.client.mutate_row(&table.name, key, mutations).await
    }

    fn parts(self) -> Result<(Table<K, R>, Bytes, MutationList), Error> {
        let Self { table, key, mutations, fault } = self;
        let key = key?;
        match fault {
            Some(error) => Err(Error::row(&table.name, &key, error)),
            None => Ok((table, key, mutations)),
        }
    }
}

impl<K: TableKey + 'static, R: 'static> IntoFuture for Update<K, R> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

impl<K, R> fmt::Debug for Update<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update")
            .field("table", &self.table)
            .field("mutations", &self.mutations)
            .finish_non_exhaustive()
    }
}
