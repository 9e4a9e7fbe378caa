//! The stamps of the two tables while they are re-keyed: of the pair of key types, so that programs of one of them are refused.
//!
//! That of the old table names the direction in which rows move too, the *fence* of the control row. So a control row that is older than
//! the tables, or is missing, does not fit them.

use super::control::{Control, Side, State};
use crate::client::{Client, Error, REGISTRY, Route, TableInfo};
use crate::key::KeyType;
use crate::table::stamp::{self, StampName};

/// What the stamp of the old table may name in a state.
pub(super) struct OldStamps<'c> {
    pub(super) fences: Vec<&'c str>,
    /// Whether it may be that of the old key type alone.
    pub(super) is_own: bool,
}

/// The stamps of a pair of tables.
#[derive(Clone, Debug)]
pub(super) struct PairStamps {
    client: Client,
    tables: [Route; 2],
    key_types: [KeyType; 2],
}

impl PairStamps {
    pub(super) fn new(client: Client, tables: [Route; 2], key_types: [KeyType; 2]) -> Self {
        Self { client, tables, key_types }
    }

    fn route(&self, side: Side) -> &Route {
        let [old, new] = &self.tables;
        match side {
            Side::Old => old,
            Side::New => new,
        }
    }

    fn key_type(&self, side: Side) -> KeyType {
        let [old, new] = self.key_types;
        match side {
            Side::Old => old,
            Side::New => new,
        }
    }

    /// The stamp of a table of one key type.
    fn own(&self, side: Side) -> StampName {
        StampName::of(self.key_type(side))
    }

    /// The stamp of the old table while rows move in the direction of this fence.
    fn of_old(&self, fence: &str) -> StampName {
        StampName::of_pair(self.key_type(Side::Old), self.key_types, &["fence", fence])
    }

    /// The stamp of the new table. It names the old one, since the table of another re-keying between the same key types has other rows.
    pub(super) fn of_new(&self) -> StampName {
        StampName::of_pair(self.key_type(Side::New), self.key_types, &["of", self.route(Side::Old)])
    }

    /// The stamp of the new table once its rows count no more. Another attempt would find rows there that were deleted since.
    fn of_spent(&self) -> StampName {
        StampName::of_pair(self.key_type(Side::New), self.key_types, &["spent", self.route(Side::Old)])
    }

    /// The stamp of the new table once there is no way back, and rows still have origins: programs that know nothing of them stay refused.
    fn of_final(&self) -> StampName {
        StampName::of_pair(self.key_type(Side::New), self.key_types, &["final", self.route(Side::Old)])
    }

    /// Fails unless the tables have the stamps that they have in this state.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch); when a table cannot be read.
    pub(super) async fn check(&self, control: &Control) -> Result<(), Error> {
        if control.state != State::New {
            let info = self.client.table_info(self.route(Side::Old)).await?;
            let OldStamps { fences, is_own } = control.old_stamps();
            let mut expected: Vec<_> = fences.into_iter().map(|fence| self.of_old(fence)).collect();
            expected.extend(is_own.then(|| self.own(Side::Old)));
            self.check_table(Side::Old, &info, &expected, control.state)?;
        }
        let expected = match control.state {
            State::Old | State::RolledBack => return Ok(()),
            State::Paused | State::Copying | State::RollbackPaused => vec![self.of_new()],
            // `finish` and `roll_back` change the stamp before the row that says so.
            State::Moved => vec![self.of_new(), self.of_final()],
            State::New => vec![self.of_final(), self.own(Side::New)],
            State::RollbackCopying => vec![self.of_new(), self.of_spent()],
        };
        let info = self.client.table_info(self.route(Side::New)).await?;
        self.check_table(Side::New, &info, &expected, control.state)
    }

    fn check_table(
        &self,
        side: Side,
        info: &TableInfo,
        expected: &[StampName],
        state: State,
    ) -> Result<(), Error> {
        let key = self.key_type(side);
        let found = stamp::of_tag(key, info)?;
        if found.is_empty() {
            return Err(stamp::unstamped(key, info));
        }
        if found.iter().all(|found| expected.contains(&found.name)) {
            return Ok(());
        }
        let own = self.own(side);
        if found.iter().any(|found| !found.name.is_pair && found.name != own) {
            return Err(stamp::contradiction(key, info));
        }
        let named = match found.iter().any(|found| found.name == own) {
            true => "says that the table is not re-keyed",
            false => "is of another direction or of another re-keying",
        };
        let recorded = match state {
            State::Old => "there is no record of a re-keying".to_owned(),
            state => format!("the re-keying is in the state `{state}`"),
        };
        Err(Error::mismatch(
            info.name(),
            format!(
                "its stamp and the table `{REGISTRY}` contradict each other: {recorded} there, and the stamp {named}, {}; nothing was \
                 read or written. One of the tables was deleted or restored, or both names are of another instance: restore all of them \
                 as they were at one time",
                stamp::described(info)
            ),
        ))
    }

    /// Whether `finish` has begun: there is no way back.
    pub(super) async fn is_finishing(&self) -> Result<bool, Error> {
        let info = self.client.table_info(self.route(Side::New)).await?;
        let found = stamp::of_tag(self.key_type(Side::New), &info)?;
        Ok(found.iter().any(|found| found.name == self.of_final()))
    }

    /// Whether the new table was made by this re-keying.
    pub(super) fn is_of_this(&self, new: &TableInfo) -> Result<bool, Error> {
        let found = stamp::of_tag(self.key_type(Side::New), new)?;
        Ok(found.iter().any(|found| found.name == self.of_new()))
    }

    /// Stamps the old table with the new key type's tag too, where it becomes itself.
    pub(super) async fn begin_new(&self) -> Result<(), Error> {
        stamp::replace(&self.client, self.route(Side::New), &[self.own(Side::New)], self.of_new()).await
    }

    /// Has the stamp of the old table name the direction of the control row.
    pub(super) async fn begin_direction(&self, control: &Control) -> Result<(), Error> {
        let Some(fence) = &control.fence else { return Ok(()) };
        let before = control.fence_before.iter().map(|fence| self.of_old(fence));
        let replaced: Vec<_> = before.chain([self.own(Side::Old)]).collect();
        stamp::replace(&self.client, self.route(Side::Old), &replaced, self.of_old(fence)).await
    }

    /// Closes the way back.
    pub(super) async fn begin_end(&self) -> Result<(), Error> {
        stamp::replace(&self.client, self.route(Side::New), &[self.of_new()], self.of_final()).await
    }

    /// Has nobody take the new table for one that rows move to.
    pub(super) async fn spend_new(&self) -> Result<(), Error> {
        stamp::replace(&self.client, self.route(Side::New), &[self.of_new()], self.of_spent()).await
    }

    /// Replaces the stamp of the pair by that of the table's key type, once its rows have no origins.
    pub(super) async fn end(&self, side: Side, control: &Control) -> Result<(), Error> {
        let of_pair = match side {
            Side::Old => control.fence.iter().map(|fence| self.of_old(fence)).collect(),
            Side::New => vec![self.of_final()],
        };
        stamp::replace(&self.client, self.route(side), &of_pair, self.own(side)).await
    }
}
