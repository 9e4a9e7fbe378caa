//! The rows of the clients that read and write single ones, and their keys.

use std::collections::BTreeMap;

use keyderive::{Row, RowKey};
use keyderive_tests::linearizable::Row as RowState;

use crate::calls::{INITIAL, Numbered, state_of};

/// Few, so that the clients collide.
pub(crate) const ROWS: u64 = 5;

pub(crate) const USERS: [&str; 2] = ["alice", "bob"];

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 2, over = "user")]
pub(crate) struct Old {
    user: String,
    pub(crate) at: u64,
}

#[derive(RowKey, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[salt(range = 4, over = "user,at")]
pub(crate) struct New {
    user: String,
    pub(crate) at: u64,
}

impl From<Old> for New {
    fn from(Old { user, at }: Old) -> Self {
        Self { user, at }
    }
}

impl From<&New> for Old {
    fn from(New { user, at }: &New) -> Self {
        Self { user: user.clone(), at: *at }
    }
}

pub(crate) fn user(at: u64) -> &'static str {
    USERS[usize::try_from(at % 2).unwrap()]
}

impl Numbered for New {
    fn of(at: u64) -> Self {
        Self { user: user(at).into(), at }
    }
}

#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(crate) struct Event {
    pub(crate) val: Option<u64>,
    #[row(family = "n")]
    pub(crate) note: Option<u64>,
    #[row(counter, family = "v")]
    pub(crate) views: i64,
    #[row(family)]
    daily: BTreeMap<String, i64>,
}

impl Event {
    /// The whole row of a write.
    pub(crate) fn of(id: u32) -> Self {
        let daily = BTreeMap::from([("d".to_owned(), i64::from(id))]);
        Self { val: Some(u64::from(id)), note: Some(u64::from(id)), daily, ..Self::default() }
    }

    /// What the row is; an error for a mix of two writes.
    pub(crate) fn state(&self, at: u64) -> Result<RowState, String> {
        let state = state_of(self.val, self.note, self.views, &self.daily);
        state.ok_or_else(|| format!("the row {at} is a mix of several writes: {self:?}"))
    }
}

/// The row at first.
pub(crate) fn first(at: u64) -> RowState {
    if at < ROWS / 2 { RowState::of(INITIAL) } else { RowState::NONE }
}

/// The rows at first.
pub(crate) fn first_rows() -> Vec<(New, Event)> {
    (0..ROWS / 2).map(|at| (New::of(at), Event::of(INITIAL))).collect()
}
