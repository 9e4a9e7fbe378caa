//! The stamps of the two tables while they are re-keyed. They name the pair of key types, so that a program that knows only
//! one of them is refused.
//!
//! The old table's stamp also names the direction in which rows move, by the *fence* of the control row. So a control row
//! that is older than the tables, or is missing, does not fit them.

use super::state::{Control, PairTables, Side, State};
use crate::client::{Client, Error, Family, FamilyChange, REGISTRY, TableInfo};
use crate::table::stamp::{self, StampName};

/// What the stamp of the old table may name in a state.
struct OldStamps<'c> {
    fences: Vec<&'c str>,
    /// Whether it may be the stamp of the old key type alone.
    is_own: bool,
}

impl Control {
    /// What the stamp of the old table may be in this state.
    fn old_stamps(&self) -> OldStamps<'_> {
        let (is_own, has_earlier) = match self.state {
            State::Old | State::Paused => (true, false),
            State::Copying | State::Moved | State::RollbackCopying => (false, false),
            State::RollbackPaused => (false, true),
            // A request of a driver that hung may have set an earlier one again.
            State::RolledBack => (true, true),
            // It may be gone.
            State::New => return OldStamps { fences: Vec::new(), is_own: false },
        };
        let earlier = self.fences_before.iter().filter(|_| has_earlier);
        OldStamps { fences: self.fence.iter().chain(earlier).map(String::as_str).collect(), is_own }
    }
}

/// The stamps of a pair of tables.
#[derive(Clone, Debug)]
pub(super) struct PairStamps {
    client: Client,
    tables: PairTables,
}

impl PairStamps {
    pub(super) fn new(client: Client, tables: PairTables) -> Self {
        Self { client, tables }
    }

    /// The stamp of a table of one key type.
    fn own(&self, side: Side) -> StampName {
        StampName::of(self.tables.key_type(side))
    }

    /// A stamp of both key types, for a table of the pair.
    fn of_pair(&self, side: Side, names: &[&str]) -> StampName {
        StampName::of_pair(self.tables.key_type(side), self.tables.key_types, names)
    }

    /// The stamp of the old table while rows move in the direction of this fence.
    fn of_old(&self, fence: &str) -> StampName {
        self.of_pair(Side::Old, &["fence", fence])
    }

    /// The stamp of the new table. It names the old one, since the table of another re-keying between the same key types has other rows.
    pub(super) fn of_new(&self) -> StampName {
        self.of_pair(Side::New, &["of", self.tables.route(Side::Old)])
    }

    /// The stamp of the new table from the point of no return until its rows have no origins: a program that knows nothing
    /// of them would find rows that were deleted.
    fn of_ended(&self) -> StampName {
        self.of_pair(Side::New, &["ended", self.tables.route(Side::Old)])
    }

    /// The same once the control row says so: no earlier state admits it.
    fn of_closed(&self) -> StampName {
        self.of_pair(Side::New, &["closed", self.tables.route(Side::Old)])
    }

    /// The stamp of the new table once its rows count no more. Another attempt would find rows there that were deleted since.
    fn of_spent(&self) -> StampName {
        self.of_pair(Side::New, &["spent", self.tables.route(Side::Old)])
    }

    /// Fails unless the tables have the stamps that they have in this state.
    ///
    /// # Errors
    /// [`is_table_mismatch`](Error::is_table_mismatch); when a table cannot be read.
    pub(super) async fn check(&self, control: &Control) -> Result<(), Error> {
        if control.state != State::New {
            let info = self.client.table_info(self.tables.route(Side::Old)).await?;
            if control.old.id.as_ref().is_some_and(|id| !stamp::table_ids(&info).contains(id)) {
                return Err(Error::mismatch(
                    info.name(),
                    "it was deleted and made again since this process opened it; open it again",
                ));
            }
            let OldStamps { fences, is_own } = control.old_stamps();
            let mut expected: Vec<_> = fences.into_iter().map(|fence| self.of_old(fence)).collect();
            expected.extend(is_own.then(|| self.own(Side::Old)));
            self.check_table(Side::Old, &info, &expected, control.state)?;
        }
        let expected = match control.state {
            State::Old | State::RolledBack => return Ok(()),
            State::Paused | State::Copying => vec![self.of_new()],
            // `finish` and `roll_back` change the stamp before the row that says so. If both run, the row may say that there is a way back.
            State::Moved | State::RollbackPaused => vec![self.of_new(), self.of_ended()],
            State::New => vec![self.of_ended(), self.of_closed(), self.own(Side::New)],
            State::RollbackCopying => vec![self.of_new(), self.of_ended(), self.of_spent()],
        };
        let info = self.client.table_info(self.tables.route(Side::New)).await?;
        self.check_table(Side::New, &info, &expected, control.state)
    }

    /// Fails if rows of a table that had the old one's name were moved to the new one: programs read and write them there.
    pub(super) async fn check_new_is_free(&self) -> Result<(), Error> {
        let (old, new) = (self.tables.route(Side::Old), self.tables.route(Side::New));
        let info = match self.client.table_info(new).await {
            Err(error) if error.is_not_found() => return Ok(()),
            info => info?,
        };
        let has_rows = [self.of_new(), self.of_ended(), self.of_closed(), self.own(Side::New)];
        let found = stamp::of_tag(self.tables.key_type(Side::New), &info)?;
        // If the table is both the old and the new one, it was created again as a whole.
        if old.table() == new.table() || !found.iter().any(|found| has_rows.contains(&found.name)) {
            return Ok(());
        }
        Err(Error::mismatch(
            old,
            format!(
                "it was deleted and made again after rows had moved from there to `{}`; open that table alone, by its key type, if the \
                 re-keying has ended, or delete the one that has no rows to keep",
                &**new
            ),
        ))
    }

    fn check_table(
        &self,
        side: Side,
        info: &TableInfo,
        expected: &[StampName],
        state: State,
    ) -> Result<(), Error> {
        let key = self.tables.key_type(side);
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

    /// Whether `finish` has begun.
    pub(super) async fn is_finishing(&self) -> Result<bool, Error> {
        let info = self.client.table_info(self.tables.route(Side::New)).await?;
        let found = stamp::of_tag(self.tables.key_type(Side::New), &info)?;
        let ends = [self.of_ended(), self.of_closed(), self.own(Side::New)];
        Ok(found.iter().any(|found| ends.contains(&found.name)))
    }

    /// Whether the new table was made by this re-keying.
    pub(super) fn is_of_this(&self, new: &TableInfo) -> Result<bool, Error> {
        let found = stamp::of_tag(self.tables.key_type(Side::New), new)?;
        Ok(found.iter().any(|found| found.name == self.of_new()))
    }

    /// Stamps the old table with the new key type's tag too, if it is also the new table.
    pub(super) async fn begin_new(&self) -> Result<(), Error> {
        if !self.replace(Side::New, &[self.own(Side::New)], self.of_new(), None).await? {
            self.replace(Side::New, &[], self.of_new(), None).await?;
        }
        Ok(())
    }

    /// Makes the stamp of the new table say that there is no way back; returns whether it does.
    pub(super) async fn begin_end(&self) -> Result<bool, Error> {
        match self.is_finishing().await? {
            true => Ok(true),
            false => self.replace(Side::New, &[self.of_new()], self.of_ended(), None).await,
        }
    }

    /// Makes the stamp of the old table name the fence of the control row, with the family that the direction needs; returns
    /// whether it does.
    pub(super) async fn begin_direction(
        &self,
        control: &Control,
        with: Option<&Family>,
    ) -> Result<bool, Error> {
        let Some(fence) = &control.fence else { return Ok(true) };
        let before = control.fences_before.iter().map(|fence| self.of_old(fence));
        let own = (control.state == State::Paused).then(|| self.own(Side::Old));
        let replaced: Vec<_> = before.chain(own).collect();
        self.replace(Side::Old, &replaced, self.of_old(fence), with).await
    }

    /// Prevents that anybody takes the new table for one that rows move to.
    pub(super) async fn spend_new(&self) -> Result<bool, Error> {
        self.replace(Side::New, &[self.of_new(), self.of_ended()], self.of_spent(), None).await
    }

    /// Makes the stamp of the remaining table fit only the last state; returns whether it does, or is the table's own
    /// again.
    pub(super) async fn close(&self, side: Side, control: &Control) -> Result<bool, Error> {
        let info = self.client.table_info(self.tables.route(side)).await?;
        let found = stamp::of_tag(self.tables.key_type(side), &info)?;
        if found.iter().all(|found| found.name == self.own(side)) {
            return Ok(true);
        }
        match side {
            Side::Old => self.begin_direction(control, None).await,
            Side::New => self.replace(side, &[self.of_ended()], self.of_closed(), None).await,
        }
    }

    /// Changes a family of the table that is left, or of the old one while its writes wait, if it still has a stamp of this state: a
    /// request that is late must not change what a later attempt needs.
    pub(super) async fn change(
        &self,
        side: Side,
        control: &Control,
        change: FamilyChange,
    ) -> Result<bool, Error> {
        let of_pair = match side {
            Side::Old => control.fence.as_deref().map(|fence| self.of_old(fence)),
            Side::New => Some(self.of_closed()),
        };
        let stamps: Vec<_> = of_pair.into_iter().chain([self.own(side)]).collect();
        stamp::change_with(&self.client, self.tables.route(side), &stamps, change).await
    }

    /// Gives a table the stamp of its own key type again.
    pub(super) async fn end(&self, side: Side, control: &Control) -> Result<bool, Error> {
        let of_pair = match side {
            Side::Old => control.fence.iter().map(|fence| self.of_old(fence)).collect(),
            Side::New => vec![self.of_closed()],
        };
        self.replace(side, &of_pair, self.own(side), None).await
    }

    async fn replace(
        &self,
        side: Side,
        old: &[StampName],
        new: StampName,
        with: Option<&Family>,
    ) -> Result<bool, Error> {
        stamp::replace(&self.client, self.tables.route(side), old, new, with).await
    }
}
