//! Protocol 1: writes go to both tables with one timestamp, the mover copies cells with theirs, and deletes are sentinels
//! with one too. Cells and sentinels of a row are ordered by timestamp in each table, so both come to the same. There are no
//! conditions, no increments, and no order of reads in time: what one read of the old table has seen of a write that was
//! not acknowledged, a later one of the new table may not see.
//!
//! Clocks are perfect here: a write that begins later has a greater timestamp.

use crate::lin::{Op, Row};
use crate::world::{Answer, Change, NEW, Next, OLD, Protocol, Stored, get, write};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    Old,
    /// Deletes of the old table are sentinels.
    Timestamped,
    /// Both are written, the old one is read; no copy is made yet.
    Both,
    Copy,
    /// Both are written, the new one is read.
    ReadNew,
    New,
    /// Back: both are written, the old one is read; then the old one alone.
    ReadOld,
    Aborted,
    /// The migration rests, and only the old table is written.
    Paused,
}
use State::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Copies have the time at which they are made.
    CopyNow,
    /// Deletes are `DeleteFromRow` in both tables.
    NoSentinel,
    /// Copies are made while some processes write the old table alone.
    NoBoth,
    /// The new table is read before the copies are there.
    EarlyReadNew,
    /// Both tables are written while some processes delete without a sentinel.
    NoStamped,
    /// A pause ends dual writes, and the migration goes on where it was.
    Pause,
    /// Increments in both tables.
    Increments,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Dual {
    pub(crate) bug: Option<Bug>,
}

/// The greatest timestamp, that of a copy made with the time of now.
const NOW: u8 = 100;

impl Dual {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn value(stored: Stored) -> Row {
        if stored.ts > stored.del || stored.row.inc != 0 { stored.row } else { Row::NONE }
    }
}

impl Protocol for Dual {
    type State = State;

    const FIRST: State = Old;
    const TIMED: bool = true;

    /// `variant` is the timestamp.
    fn client(&self, view: State, op: Op, key: usize, variant: u8, log: &[Answer]) -> Option<Next> {
        let table = if matches!(view, ReadNew | New) { NEW } else { OLD };
        let change = match op {
            Op::Read | Op::Scan => {
                return Some(match (log, op) {
                    ([], _) => get(table, key),
                    ([answer, ..], Op::Read) => Next::End(Self::value(answer.found)),
                    ([answer, ..], _) => Next::Rows(vec![Self::value(answer.found).given()]),
                });
            }
            Op::Put(val) => Change::Cell(Row::of(val), variant),
            Op::Claim(_) => return None,
            Op::Inc(_) if !self.has(Bug::Increments) => return None,
            // The time is the server's.
            Op::Inc(_) => Change::Bump(op, variant + 10 * log.len() as u8),
            Op::Delete if matches!(view, Old | Paused) || self.has(Bug::NoSentinel) => Change::DeleteRow,
            Op::Delete => Change::Sentinel(variant),
        };
        Some(match (view, log.len()) {
            (Old | Timestamped | Paused | Aborted, 0) => write(OLD, key, vec![change]),
            (New, 0) => write(NEW, key, vec![change]),
            (Old | Timestamped | Paused | Aborted | New, _) => Next::End(Row::NONE),
            // The old one first: what the new one has the old one has had.
            (_, 0) => write(OLD, key, vec![change]),
            (_, 1) => write(NEW, key, vec![change]),
            (_, _) => Next::End(Row::NONE),
        })
    }

    fn mover(&self, now: State, key: usize, log: &[Answer]) -> Option<Next> {
        let copy = |old: Stored| {
            let ts = if self.has(Bug::CopyNow) { NOW } else { old.ts };
            let cell = (old.ts > 0).then_some(Change::Cell(old.row, ts));
            let sentinel = (old.del > 0).then_some(Change::Sentinel(old.del));
            cell.into_iter().chain(sentinel).collect::<Vec<_>>()
        };
        Some(match (now, log) {
            (Copy, []) => get(OLD, key),
            (Copy, [old]) => write(NEW, key, copy(old.found)),
            (Copy, _) => Next::End(Row::NONE),
            _ => return None,
        })
    }

    fn next(&self, now: State, moved: bool) -> Vec<State> {
        let moved = moved || self.has(Bug::EarlyReadNew);
        match now {
            Old if self.has(Bug::NoStamped) => vec![Both],
            Old => vec![Timestamped],
            Timestamped if self.has(Bug::NoBoth) => vec![Copy],
            Timestamped => vec![Both],
            Both => vec![Copy],
            Copy if !moved => vec![],
            Copy if self.has(Bug::Pause) => vec![Paused],
            Paused => vec![ReadNew],
            Copy => vec![ReadNew],
            ReadNew => vec![New, ReadOld],
            ReadOld => vec![Aborted],
            New | Aborted => vec![],
        }
    }

    fn ends_with(&self, now: State) -> Option<usize> {
        match now {
            New => Some(NEW),
            Aborted => Some(OLD),
            _ => None,
        }
    }

    fn can_go_back(&self) -> bool {
        true
    }

    fn authority(&self, _: State, _: Stored, _: Stored) -> Option<usize> {
        None
    }
}
