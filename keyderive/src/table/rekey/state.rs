//! The states of a re-keying, the table that each reads and writes, and the record in which the control row has the state.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Route;
use crate::key::KeyType;
use crate::plan::hex;

/// How long a process acts by what it has read, where the control row does not say.
pub(super) const DEFAULT_LEASE: Duration = Duration::from_secs(4);
/// The shortest lease that a driver may set.
pub(super) const MIN_LEASE: Duration = Duration::from_millis(200);
/// The longest lease that a driver may set.
pub(super) const MAX_LEASE: Duration = Duration::from_secs(60);
/// How long a driver waits beside the lease, for clocks that run at other rates.
const MARGIN: Duration = Duration::from_secs(1);

/// Where a re-keying is: which table each call reads and writes.
///
/// ```text
/// old ──→ paused ──→ copying ──→ moved ──→ new
///          │  │          │          │
///          │  └──────────┴──────────┤
///          │                        ↓
///          │                 rollback_paused
///          │                        ↓
///          │                 rollback_copying
///          │                        ↓
///          └──────────────────→ rolled_back
/// ```
///
/// From `paused`, [`roll_back`](super::Migration::roll_back) goes straight to `rolled_back` only where new keys are made of rows, which has
/// no other way back, and if the new table has no rows. From `rolled_back`, [`run`](super::Migration::run) begins another attempt in `paused`, with another new
/// table.
///
/// | state | reads | writes |
/// |---|---|---|
/// | `Old`, `RolledBack` | the old table | the old table |
/// | `Paused`, `RollbackPaused` | both tables | wait for the next state |
/// | `Copying` | both tables | the new table, with a copy of the old row |
/// | `RollbackCopying` | both tables | the old table, with a copy of the new row |
/// | `Moved`, `New` | the new table | the new table |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// The re-keying has not begun.
    Old,
    /// Writes wait, until no process writes the old table any more.
    Paused,
    /// The new table is written, and rows are copied to it.
    Copying,
    /// The new table has every row. The way back is still open.
    Moved,
    /// The new table is the only one. There is no way back.
    New,
    /// Writes wait, until no process writes the new table any more.
    RollbackPaused,
    /// The old table is written, and rows are copied back to it.
    RollbackCopying,
    /// The old table has every row again.
    RolledBack,
}

/// One of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }
}

/// The names of both tables, the old one first, and their key types.
#[derive(Clone, Debug)]
pub(super) struct PairTables {
    pub(super) routes: [Route; 2],
    pub(super) key_types: [KeyType; 2],
}

impl PairTables {
    pub(super) fn route(&self, side: Side) -> &Route {
        let [old, new] = &self.routes;
        match side {
            Side::Old => old,
            Side::New => new,
        }
    }

    pub(super) fn key_type(&self, side: Side) -> KeyType {
        let [old, new] = self.key_types;
        match side {
            Side::Old => old,
            Side::New => new,
        }
    }
}

/// Which tables a call reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    One(Side),
    Both,
}

/// How a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    /// As if there were no re-keying, except that deletes leave the row.
    Plain(Side),
    /// With an origin, for as long as the table has origins.
    WithOrigin(Side),
    /// To the front table, with a copy of the row of the base table, which nobody writes.
    CopyFirst { front: Side },
    /// Not in this state.
    Wait,
}

impl State {
    pub(super) fn reads(self) -> Reads {
        match self {
            Self::Old | Self::RolledBack => Reads::One(Side::Old),
            Self::Moved | Self::New => Reads::One(Side::New),
            Self::Paused | Self::Copying | Self::RollbackPaused | Self::RollbackCopying => Reads::Both,
        }
    }

    pub(super) fn writes(self) -> Writes {
        match self {
            Self::Old => Writes::Plain(Side::Old),
            Self::RolledBack => Writes::WithOrigin(Side::Old),
            Self::Moved | Self::New => Writes::WithOrigin(Side::New),
            Self::Copying => Writes::CopyFirst { front: Side::New },
            Self::RollbackCopying => Writes::CopyFirst { front: Side::Old },
            Self::Paused | Self::RollbackPaused => Writes::Wait,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::Paused => "paused",
            Self::Copying => "copying",
            Self::Moved => "moved",
            Self::New => "new",
            Self::RollbackPaused => "rollback_paused",
            Self::RollbackCopying => "rollback_copying",
            Self::RolledBack => "rolled_back",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A table of the pair, as the control row names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TableLayout {
    pub(super) table: String,
    pub(super) fingerprint: String,
    /// The id that its stamp had when the re-keying began: a table that was recreated under its name has another one. None for the new
    /// table, which the re-keying creates.
    pub(super) id: Option<String>,
}

/// The value of the control row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Control {
    pub(super) state: State,
    /// Grows with each change of the state.
    pub(super) change: u64,
    /// What the old table's stamp names in this direction, beside the pair; none before the first change.
    pub(super) fence: Option<String>,
    /// What it named before, in this attempt.
    pub(super) fences_before: Vec<String>,
    pub(super) lease_ms: u64,
    pub(super) old: TableLayout,
    pub(super) new: TableLayout,
    /// Whether there is no way back once the new table is written: new keys are made of rows.
    pub(super) one_way: bool,
    /// The keys that its driver's mapping gives some rows; none for an empty table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) examples: Vec<Example>,
}

impl Control {
    pub(super) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms)
    }

    /// How long a driver waits after it has read this value, before it changes it: until no process acts by the state before it.
    pub(super) fn wait(&self) -> Duration {
        let lease = match self.change {
            // There is no state before it, by which a process could still act.
            0 => return Duration::ZERO,
            // Processes act by the state before it for the default lease.
            1 => self.lease().max(DEFAULT_LEASE),
            _ => self.lease(),
        };
        lease * 5 / 4 + MARGIN
    }

    pub(super) fn next(&self, state: State) -> Self {
        let mut next = Self { state, change: self.change.saturating_add(1), ..self.clone() };
        match state {
            State::Paused => {
                (next.fence, next.fences_before) = (Some(new_fence()), Vec::new());
                next.examples = Vec::new();
            }
            // Nothing is looked up in the old table any more.
            State::New => next.examples = Vec::new(),
            State::RollbackPaused | State::RolledBack => {
                next.fences_before.extend(next.fence.replace(new_fence()));
            }
            _ => {}
        }
        next
    }
}

/// A name for a direction in which rows move.
fn new_fence() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// A row of the old table, and the key that it has in the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Example {
    #[serde(with = "hex")]
    pub(super) old: Vec<u8>,
    #[serde(with = "hex")]
    pub(super) new: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(state: State) -> Control {
        let layout = |table: &str, id: Option<&str>| TableLayout {
            table: table.into(),
            fingerprint: "0123456789abcdef".into(),
            id: id.map(str::to_owned),
        };
        let (old, new) = (layout("events", Some("00c0ffee")), layout("events-64", None));
        let fence = Some("0badcafe".to_owned());
        Control {
            state,
            change: 3,
            fence,
            fences_before: Vec::new(),
            lease_ms: 4000,
            old,
            new,
            one_way: false,
            examples: Vec::new(),
        }
    }

    #[test]
    fn the_control_row_is_json_in_a_fixed_order() {
        assert_eq!(
            serde_json::to_string(&control(State::Copying)).unwrap(),
            r#"{"state":"copying","change":3,"fence":"0badcafe","fences_before":[],"lease_ms":4000,"old":{"table":"events","fingerprint":"0123456789abcdef","id":"00c0ffee"},"new":{"table":"events-64","fingerprint":"0123456789abcdef","id":null},"one_way":false}"#
        );
    }

    #[test]
    fn examples_of_the_mapping_are_stored_after_the_state() {
        let example = Example { old: b"a#1".to_vec(), new: b"0#a#1".to_vec() };
        let with = Control { examples: vec![example], ..control(State::Copying) };
        let json = serde_json::to_string(&with).unwrap();
        assert!(
            json.ends_with(r#""one_way":false,"examples":[{"old":"612331","new":"3023612331"}]}"#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Control>(&json).unwrap(), with);
        assert_eq!(with.next(State::Moved).examples, with.examples);
        // The next attempt may have another mapping; after the end no mapping is used.
        assert_eq!((with.next(State::Paused).examples, with.next(State::New).examples), (vec![], vec![]));
    }

    #[test]
    fn a_driver_waits_longer_than_any_lease() {
        let waits = |change, lease_ms| Control { change, lease_ms, ..control(State::Paused) }.wait();
        assert_eq!(waits(3, 4000), Duration::from_secs(6));
        assert_eq!(waits(3, 400), Duration::from_millis(1500));
        // Where the state before it has the default lease, and where no state is before it.
        assert_eq!(waits(1, 400), Duration::from_secs(6));
        assert_eq!(waits(0, 400), Duration::ZERO);
    }
}
