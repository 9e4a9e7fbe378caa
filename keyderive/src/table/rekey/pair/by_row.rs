//! Writes to the old table of a re-keying whose new keys need the row.
//!
//! Several new keys share one key of the old table, which has one row; the row says to which key it belongs. A write by
//! another key must not reach it, and no write may give the row another key, or none. So the row is read first. A row that
//! is not there is written on the condition that it still is not; one that is there keeps its key, by the contract of
//! [`Client::rekeyed_by_row`](crate::Client::rekeyed_by_row).

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};

use super::{COPIES_IN_FLIGHT, Change, RowKeys, Sent, Stop, TablePair};
use crate::client::{Client, Error, Mutations};
use crate::key::ShownKey;
use crate::row::{RawRow, ReadModifyWrite, RowFilter};
use crate::table::rekey::control::View;
use crate::table::rekey::state::{Side, Writes};

/// How often a row that comes and goes meanwhile is read again.
const ATTEMPTS: usize = 8;

/// Whose row the old table has.
enum Owner {
    Nobody,
    /// It has the key of the call.
    Own(RawRow),
    /// It has another key.
    Other(Bytes),
}

impl TablePair {
    /// Whether a write goes to a table in which the row decides what its key is.
    pub(super) fn row_decides(&self, writes: Writes) -> bool {
        self.keys.reads_rows() && matches!(writes, Writes::Plain(Side::Old) | Writes::WithOrigin(Side::Old))
    }

    async fn owner(&self, client: &Client, view: &View, keys: &RowKeys) -> Result<Owner, Stop> {
        let whole = Some(self.without_origins(None));
        let row = client.read_row(self.route(Side::Old), keys.old.clone(), whole).await?;
        self.ensure(view)?;
        let Some(row) = row else { return Ok(Owner::Nobody) };
        let key = self.keys.new_of(&keys.old, &row)?;
        Ok(if key == keys.new { Owner::Own(row) } else { Owner::Other(key) })
    }

    /// Fails if the row would have another key after a write, or none.
    fn check_key(
        &self,
        client: &Client,
        keys: &RowKeys,
        row: Option<&RawRow>,
        changes: &Mutations,
    ) -> Result<(), Error> {
        let error = |message| Error::limit(self.route(Side::New), &keys.new, message);
        let after = changes.applied_to(row, &keys.old, client.now_micros());
        let after = after.map_err(|fault| error(format!("the row cannot be written: {fault}")))?;
        let Some(after) = after else { return Ok(()) };
        match self.keys.new_of(&keys.old, &after) {
            Ok(key) if key == keys.new => Ok(()),
            Ok(key) => Err(error(format!(
                "after this write the row would have the key {}; what gives a row its key must not change, and must be that of \
                 the call",
                ShownKey(&key)
            ))),
            Err(fault) => Err(error(format!(
                "after this write the row would have no key, so put the whole row first: {fault}"
            ))),
        }
    }

    /// The old table has no place for two rows that differ in what the row gives.
    fn taken(&self, keys: &RowKeys, other: &Bytes) -> Stop {
        let message = format!(
            "the table `{}` has one row for this key and for {}, and it is that one's; until the table is re-keyed it cannot have \
             both",
            &**self.route(Side::Old),
            ShownKey(other)
        );
        Error::limit(self.route(Side::New), &keys.new, message).into()
    }

    /// Changes one row of the old table.
    pub(super) async fn write_by_row(
        &self,
        client: &Client,
        view: &View,
        keys: &RowKeys,
        change: &Change<'_>,
        sent: &Sent,
    ) -> Result<(), Stop> {
        let (table, key) = (self.route(Side::Old), || keys.old.clone());
        for _ in 0..ATTEMPTS {
            match (self.owner(client, view, keys).await?, change) {
                (Owner::Nobody | Owner::Other(_), Change::Delete) => return Ok(()),
                (Owner::Other(other), Change::Mutations(_)) => return Err(self.taken(keys, &other)),
                (Owner::Own(row), change) => {
                    let changes = self.changed(change);
                    self.check_key(client, keys, Some(&row), &changes)?;
                    return Ok(sent.send(client.mutate_row(table, key(), changes)).await?);
                }
                (Owner::Nobody, Change::Mutations(changes)) => {
                    self.check_key(client, keys, None, changes)?;
                    if self.write_if_absent(client, keys, changes, sent).await? {
                        return Ok(());
                    }
                }
            }
        }
        Err(Stop::Lost)
    }

    /// Writes a row that is not there; returns false if it is there by now.
    async fn write_if_absent(
        &self,
        client: &Client,
        keys: &RowKeys,
        changes: &Mutations,
        sent: &Sent,
    ) -> Result<bool, Error> {
        let (table, key) = (self.route(Side::Old), keys.old.clone());
        let (exists, idempotency) = (Some(self.without_origins(None)), changes.idempotency());
        let was_open = sent.is_open();
        let write =
            client.check_and_mutate(table, key, exists, Mutations::default(), changes.clone(), idempotency);
        let is_there = sent.send(write).await?;
        if is_there && !was_open {
            sent.shut();
        }
        Ok(!is_there)
    }

    /// Changes rows of the old table; returns their outcomes in their order.
    pub(super) async fn write_rows_by_row(
        &self,
        client: &Client,
        view: &View,
        keys: &[RowKeys],
        changes: &[Mutations],
    ) -> Result<Vec<Result<(), Error>>, Stop> {
        let writes = stream::iter(0..keys.len()).map(|index| async move {
            let change = Change::Mutations(&changes[index]);
            self.write_by_row(client, view, &keys[index], &change, &Sent::default()).await
        });
        let mut writes = Box::pin(writes.buffered(COPIES_IN_FLIGHT));
        let mut outcomes = Vec::with_capacity(keys.len());
        while let Some(outcome) = writes.next().await {
            outcomes.push(match outcome {
                Ok(()) => Ok(()),
                Err(Stop::Failed(error)) => Err(error),
                Err(Stop::Lost) => return Err(Stop::Lost),
            });
        }
        Ok(outcomes)
    }

    /// [`check_and_mutate_row`](Self::check_and_mutate_row) of the old table.
    #[expect(clippy::too_many_arguments, reason = "the parts of one write")]
    pub(super) async fn check_and_mutate_by_row(
        &self,
        client: &Client,
        view: &View,
        keys: &RowKeys,
        condition: &RowFilter,
        then: &Mutations,
        otherwise: &Mutations,
        sent: &Sent,
    ) -> Result<bool, Stop> {
        for _ in 0..ATTEMPTS {
            match self.owner(client, view, keys).await? {
                Owner::Other(other) => return Err(self.taken(keys, &other)),
                Owner::Own(row) => {
                    self.check_key(client, keys, Some(&row), then)?;
                    self.check_key(client, keys, Some(&row), otherwise)?;
                    let (table, key) = (self.route(Side::Old), keys.old.clone());
                    let (condition, then) = (Some(condition.clone()), then.clone());
                    let write = client.check_and_mutate_row(table, key, condition, then, otherwise.clone());
                    return Ok(sent.send(write).await?);
                }
                // No condition passes a cell of a row that is not there.
                Owner::Nobody if otherwise.is_empty() => return Ok(false),
                Owner::Nobody => {
                    self.check_key(client, keys, None, otherwise)?;
                    if self.write_if_absent(client, keys, otherwise, sent).await? {
                        return Ok(false);
                    }
                }
            }
        }
        Err(Stop::Lost)
    }

    /// [`read_modify_write_row`](Self::read_modify_write_row) of the old table.
    pub(super) async fn read_modify_write_by_row<T>(
        &self,
        client: &Client,
        view: &View,
        keys: &RowKeys,
        rules: &[ReadModifyWrite],
        check: &(impl Fn(RawRow) -> Result<T, String> + Sync),
        sent: &Sent,
    ) -> Result<T, Stop> {
        match self.owner(client, view, keys).await? {
            Owner::Other(other) => Err(self.taken(keys, &other)),
            Owner::Nobody => {
                let message = "no row has this key, and one of a counter alone would have no key; put the whole row first";
                Err(Error::limit(self.route(Side::New), &keys.new, message.to_owned()).into())
            }
            Owner::Own(_) => {
                let (table, key) = (self.route(Side::Old), keys.old.clone());
                let write = client.read_modify_write_row(table, key, rules.to_vec(), check);
                Ok(sent.send(write).await?)
            }
        }
    }
}
