//! Protocol 2: each key is handed over by itself, by flags in both tables.
//!
//! old: none -> MOVING (frozen) -> MOVED -> RETURNED; new: none -> LIVE -> GONE (frozen). Whoever writes a key moves it
//! first, and so does the mover. There is no state in which all writes wait, but increments wait in two, since
//! `ReadModifyWriteRow` has no condition.

use crate::lin::{Op, Row};
use crate::world::{Answer, Change, NEW, Next, OLD, Protocol, Stored, cas, get, write};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    Plain,
    /// Writes are conditional; nobody moves; increments wait.
    Guarded,
    /// Who writes moves first.
    Moving,
    /// All do: the mover's pass.
    Passing,
    /// The new table is read alone.
    Moved,
    /// And written alone.
    New,
    /// Back: increments wait in the first two; then as the way there, from the new table to the old one.
    Recalled,
    Returning,
    PassingBack,
    Returned,
    Aborted,
}
use State::*;

const MOVING: u8 = 1;
const MOVED: u8 = 2;
const RETURNED: u8 = 3;
const LIVE: u8 = 1;
const GONE: u8 = 2;
/// The sets of flags that a condition is for.
const NONE: u8 = 1;
const fn is(flag: u8) -> u8 {
    1 << flag
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// From plain writes to moving at once.
    NoGuarded,
    /// The mover's pass begins while some processes still write the old table.
    NoPassing,
    /// Increments do not wait while writes are guarded.
    IncrementGuarded,
    /// Increments do not wait while some processes still move keys there.
    IncrementReturning,
    /// A copy is made whatever the new row is.
    CopyOverwrites,
    /// A delete in the new table removes the flag.
    DeleteRemovesFlag,
    /// `moved` is set before the new row is live.
    MovedFirst,
    /// The new table is read alone before the mover is through.
    EarlyMoved,
    /// From reading both to writing the new table alone at once.
    NoMoved,
    /// A moving key that is to stay is set back, and a copy of it may be late.
    AbortRemovesFlag,
    /// A scan merges both tables by what it finds in each.
    ScanMerges,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Handoff {
    pub(crate) bug: Option<Bug>,
    pub(crate) back: bool,
}

impl Handoff {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Goes one step further to where the key is in the new table; none where it is.
    fn move_there(&self, key: usize, old: Stored) -> Option<Next> {
        let copy = vec![Change::Flag(LIVE), Change::Replace(old.row)];
        match old.flag {
            0 | RETURNED => Some(cas(OLD, key, NONE, vec![Change::Flag(MOVING)], vec![])),
            MOVING if self.has(Bug::CopyOverwrites) => Some(write(NEW, key, copy)),
            MOVING => Some(cas(NEW, key, NONE, copy, vec![])),
            _ => None,
        }
    }

    /// A program that moves the key first. The log is read from the left: a look at the old row, then what it led to.
    fn moving(&self, op: Option<Op>, key: usize, log: &[Answer]) -> Next {
        let mut log = log.iter().copied();
        loop {
            let Some(Answer { found: old, .. }) = log.next() else { return get(OLD, key) };
            match old.flag {
                MOVED if op.is_none() => return Next::End(Row::NONE),
                MOVED => {
                    let op = op.unwrap();
                    let change = if op == Op::Delete && self.has(Bug::DeleteRemovesFlag) {
                        Change::DeleteRow
                    } else {
                        Change::Do(op)
                    };
                    // An increment has no condition.
                    let when = if matches!(op, Op::Inc(_)) || self.has(Bug::DeleteRemovesFlag) {
                        u8::MAX
                    } else {
                        is(LIVE)
                    };
                    match (log.next(), log.next()) {
                        (None, _) => return cas(NEW, key, when, vec![change], vec![]),
                        (Some(answer), _) if answer.matched => return Next::End(Row::NONE),
                        // It is being brought back: help, and begin again.
                        (Some(_), None) => return get(NEW, key),
                        (Some(_), Some(new)) => {
                            let copy = vec![Change::Flag(RETURNED), Change::Replace(new.found.row)];
                            if log.next().is_none() {
                                return cas(OLD, key, is(MOVED), copy, vec![]);
                            }
                        }
                    }
                }
                MOVING => {
                    let first_moved = self.has(Bug::MovedFirst);
                    let live = self.move_there(key, old).unwrap();
                    let moved = || cas(OLD, key, is(MOVING), vec![Change::Flag(MOVED)], vec![]);
                    let (one, other) = if first_moved { (moved(), live) } else { (live, moved()) };
                    match (log.next(), log.next()) {
                        (None, _) => return one,
                        (Some(_), None) => return other,
                        _ => {}
                    }
                }
                RETURNED if op.is_none() => return Next::End(Row::NONE),
                // On the way back: the key has been brought back already.
                RETURNED => match log.next() {
                    None => return cas(OLD, key, is(RETURNED), vec![Change::Do(op.unwrap())], vec![]),
                    Some(answer) if answer.matched => return Next::End(Row::NONE),
                    Some(_) => {}
                },
                _ => {
                    if log.next().is_none() {
                        return self.move_there(key, old).unwrap();
                    }
                }
            }
        }
    }

    /// A program that brings the key back first.
    fn returning(&self, op: Option<Op>, key: usize, log: &[Answer]) -> Next {
        let mut log = log.iter().copied();
        loop {
            let Some(Answer { found: old, .. }) = log.next() else { return get(OLD, key) };
            match old.flag {
                0 | RETURNED => {
                    let Some(op) = op else { return Next::End(Row::NONE) };
                    let when = if matches!(op, Op::Inc(_)) { u8::MAX } else { NONE | is(RETURNED) };
                    match log.next() {
                        None => return cas(OLD, key, when, vec![Change::Do(op)], vec![]),
                        Some(answer) if answer.matched => return Next::End(Row::NONE),
                        Some(_) => {}
                    }
                }
                MOVING if self.has(Bug::AbortRemovesFlag) => {
                    if log.next().is_none() {
                        return cas(OLD, key, is(MOVING), vec![Change::Flag(0)], vec![]);
                    }
                }
                // A move that has begun is brought to its end first.
                MOVING => match (log.next(), log.next()) {
                    (None, _) => return self.move_there(key, old).unwrap(),
                    (Some(_), None) => return cas(OLD, key, is(MOVING), vec![Change::Flag(MOVED)], vec![]),
                    _ => {}
                },
                _ => {
                    if log.next().is_none() {
                        return cas(NEW, key, is(LIVE), vec![Change::Flag(GONE)], vec![]);
                    }
                    let Some(Answer { found: new, .. }) = log.next() else { return get(NEW, key) };
                    let copy = vec![Change::Flag(RETURNED), Change::Replace(new.row)];
                    if log.next().is_none() {
                        return cas(OLD, key, is(MOVED), copy, vec![]);
                    }
                }
            }
        }
    }

    fn guarded(&self, op: Op, key: usize, log: &[Answer]) -> Next {
        match log {
            [] => cas(OLD, key, NONE, vec![Change::Do(op)], vec![]),
            [answer, ..] if answer.matched => Next::End(Row::NONE),
            [_, rest @ ..] => self.moving(Some(op), key, rest),
        }
    }

    fn read(&self, key: usize, log: &[Answer]) -> Next {
        match log {
            [] => get(OLD, key),
            [old] if old.found.flag == MOVED => get(NEW, key),
            [old] => Next::End(old.found.row),
            [_, new, ..] => Next::End(new.found.row),
        }
    }

    /// Of both streams what each finds.
    fn scan_merged(&self, key: usize, variant: u8, log: &[Answer]) -> Next {
        let order = if variant == 0 { [OLD, NEW] } else { [NEW, OLD] };
        match log {
            [] => get(order[0], key),
            [_] => get(order[1], key),
            [one, other, ..] => {
                let (old, new) =
                    if variant == 0 { (one.found, other.found) } else { (other.found, one.found) };
                let old = Some(old.row).filter(|row| row.is_some() && old.flag != MOVED);
                let new = Some(new.row).filter(|row| row.is_some() && new.flag == LIVE);
                Next::Rows(vec![old.into_iter().chain(new).collect()])
            }
        }
    }
}

impl Protocol for Handoff {
    type State = State;

    const FIRST: State = Plain;

    fn client(&self, view: State, op: Op, key: usize, variant: u8, log: &[Answer]) -> Option<Next> {
        let one = |table, then: Vec<Change>| {
            if log.is_empty() { write(table, key, then) } else { Next::End(log[0].found.row) }
        };
        Some(match (op, view) {
            (Op::Read, Plain | Aborted) => one(OLD, vec![]),
            (Op::Read, Moved | New) => one(NEW, vec![]),
            (Op::Read, Returned) => one(OLD, vec![]),
            (Op::Read, _) => self.read(key, log),
            (Op::Scan, Passing | Moving) if self.has(Bug::ScanMerges) => self.scan_merged(key, variant, log),
            // Every key has a row in the old table, since whoever writes flags it there: of those that are moved, the new row.
            (Op::Scan, _) => match self.client(view, Op::Read, key, variant, log)? {
                Next::End(row) => Next::Rows(vec![row.given()]),
                next => next,
            },
            (_, Plain | Aborted) => one(OLD, vec![Change::Do(op)]),
            (Op::Inc(_), Guarded) if self.has(Bug::IncrementGuarded) => one(OLD, vec![Change::Do(op)]),
            (Op::Inc(_), Guarded | Recalled) => return None,
            (Op::Inc(_), Returning) if !self.has(Bug::IncrementReturning) => return None,
            (_, Guarded) => self.guarded(op, key, log),
            (_, Moving | Passing | Recalled | Moved) => self.moving(Some(op), key, log),
            (_, New) => one(NEW, vec![Change::Flag(LIVE), Change::Do(op)]),
            (_, Returning | PassingBack | Returned) => self.returning(Some(op), key, log),
        })
    }

    fn mover(&self, now: State, key: usize, log: &[Answer]) -> Option<Next> {
        let is_absent =
            log.first().is_some_and(|answer| answer.found.flag == 0 && !answer.found.row.is_some());
        match now {
            Passing if is_absent => Some(Next::End(Row::NONE)),
            Passing => Some(self.moving(None, key, log)),
            PassingBack => Some(self.returning(None, key, log)),
            _ => None,
        }
    }

    fn next(&self, now: State, moved: bool) -> Vec<State> {
        let back = |state| Some(state).filter(|_| self.back);
        let moved = moved || self.has(Bug::EarlyMoved);
        match now {
            Plain if self.has(Bug::NoGuarded) => vec![Moving],
            Plain => vec![Guarded],
            Guarded if self.has(Bug::NoPassing) => vec![Passing],
            Guarded => vec![Moving],
            Moving => [Some(Passing), back(Recalled)].into_iter().flatten().collect(),
            Passing if self.has(Bug::NoMoved) => Some(New).filter(|_| moved).into_iter().collect(),
            Passing => [Some(Moved).filter(|_| moved), back(Recalled)].into_iter().flatten().collect(),
            Moved => vec![New],
            Recalled => vec![Returning],
            Returning => vec![PassingBack],
            PassingBack => Some(Returned).filter(|_| moved).into_iter().collect(),
            Returned => vec![Aborted],
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
        self.back
    }

    fn authority(&self, view: State, old: Stored, _: Stored) -> Option<usize> {
        match view {
            Plain | Aborted => Some(OLD),
            Guarded if old.flag == 0 => Some(OLD),
            New => Some(NEW),
            _ => None, // by flags, with conditions
        }
    }

    fn variants(&self, op: Op) -> u8 {
        if op == Op::Scan { 2 } else { 1 }
    }
}
