//! The rows of a run, and parts of them.

use std::collections::BTreeMap;

use fastrand::Rng;
use keyderive::Row;
use keyderive::row::{Timestamped, Versions};
use keyderive_tests::linearizable::Row as RowState;
use serde::{Deserialize, Serialize};

use super::calls::{INITIAL, Numbered, state_of};
use crate::calls::{New, key};

pub(super) const USERS: [&str; 3] = ["alice", "bob", "carol"];

fn user(at: u64) -> usize {
    usize::try_from(at % 3).unwrap()
}

impl Numbered for New {
    fn of(at: u64) -> Self {
        key(at)
    }
}

/// One column in each family: Google's emulator can tear a row of families of several columns that is read beside a write.
#[derive(Row, Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    pub(crate) val: Option<u64>,
    #[row(family = "n")]
    pub(crate) note: Option<u64>,
    #[row(counter, family = "v")]
    pub(crate) views: i64,
    #[row(family)]
    daily: BTreeMap<String, i64>,
    #[row(family = "h")]
    history: Versions<String>,
}

impl Event {
    /// The whole row of a write.
    pub(super) fn of(id: u32) -> Self {
        let daily = BTreeMap::from([("d".to_owned(), i64::from(id))]);
        Self { val: Some(u64::from(id)), note: Some(u64::from(id)), daily, ..Self::default() }
    }

    /// A row at first; some have versions of several times.
    pub(super) fn initial(at: u64) -> Self {
        let version =
            |time: i64| Timestamped { value: format!("{at} at {time}"), timestamp_micros: time * 1000 };
        let history = match at % 5 {
            0 => Versions::from([version(20), version(7)]),
            _ => Versions::new(),
        };
        Self { history, ..Self::of(INITIAL) }
    }

    /// What the row is; an error for a mix of two writes.
    pub(super) fn state(&self, at: u64) -> Result<RowState, String> {
        let state = state_of(self.val, self.note, self.views, &self.daily).filter(|state| {
            let history = if state.whole == INITIAL { Self::initial(at).history } else { Versions::new() };
            self.history == history
        });
        state.ok_or_else(|| format!("the row {at} is a mix of several writes: {self:?}"))
    }
}

/// The rows of a user from `first` up to, without, `end`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) user: usize,
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Part {
    /// Of at most so many rows of all users.
    const LONGEST: u64 = 6_000;

    /// Half of them contain the rows that get most of the operations.
    pub(super) fn random(rows: u64, rng: &mut Rng) -> Self {
        let first = if rng.bool() { 0 } else { rng.u64(..rows) };
        Self { user: rng.usize(..USERS.len()), first, end: first + rng.u64(1..=Self::LONGEST) }
    }

    pub(super) fn contains(self, at: u64) -> bool {
        user(at) == self.user && (self.first..self.end).contains(&at)
    }
}
