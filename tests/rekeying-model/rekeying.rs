//! The protocol of the library: the new table is laid over the old one.
//!
//! Writes wait once, for as long as a lease, and then go to the new table, each with an origin, and first with a copy of the
//! old row. The old table is not written any more, so that it can be read and copied in any order and at any time. The way
//! back is the same with the tables exchanged. A row is that of the old table where it has an origin there, else that of the
//! new table where it has an origin there, else that of the old table.

use crate::lin::{Op, Row};
use crate::world::{Answer, Change, NEW, Next, OLD, Protocol, Stored, cas, get, write};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum State {
    Old,
    Paused,
    Copying,
    Moved,
    New,
    RollbackPaused,
    RollbackCopying,
    RolledBack,
}
use State::*;

/// Origins: a copy, or a row that has been written since.
const COPIED: u8 = 1;
const WRITTEN: u8 = 2;
const ANY: u8 = 1 << COPIED | 1 << WRITTEN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The mover copies without looking whether the row has an origin.
    CopyOverwrites,
    /// A delete in the new table leaves no origin.
    DeleteWithoutOrigin,
    /// The old table is left for the new one without a state in which writes wait.
    NoPause,
    /// The same on the way back.
    NoRollbackPause,
    /// The new table is read alone before the mover is through.
    EarlyMoved,
    /// In the last state writes set no origins, while copies may still be on the way.
    LastWithoutOrigin,
    /// As that, and the origins are never dropped.
    NeverDropped,
    /// In the last state a delete removes the origin, while copies may still be on the way.
    LastDeleteRow,
    /// An increment does not copy the row first.
    IncrementUncopied,
    /// A write copies the row that it has read, but in a request of its own, without a condition.
    CopyThenWrite,
    /// Reads look into the new table alone where they find a row there, with an origin or without, and at no origin of the old one.
    ReadsIgnoreOldOrigins,
    /// The mover back leaves out rows that were written.
    BackSkipsWritten,
    /// A scan in no order takes new rows as they are and old ones that have no origin in the new table.
    ScanByOrigins,
    /// A second attempt, after the first was rolled back, has the same new table, with the origins that are there.
    SameTableAgain,
    /// Before the migration, deletes are `DeleteFromRow`.
    OldDeletesRemoveOrigins,
    /// While writes wait, reads still look at the old table alone.
    PausedReadsOld,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Rekeying {
    pub(crate) bug: Option<Bug>,
    /// Whether the driver may turn back.
    pub(crate) back: bool,
    /// There is no migration: one table, as it is today.
    pub(crate) stays: bool,
    /// Where both tables have the order of the scan, so many keys are merged; else one is read in no order.
    pub(crate) merged: usize,
}

impl Rekeying {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// A write to `front` in a state in which `back` is not written.
    fn write_over(&self, front: usize, back: usize, op: Op, key: usize, log: &[Answer]) -> Next {
        if op == Op::Delete {
            return self.end_or(log, 0, || write(front, key, self.delete()));
        }
        let Some(base) = log.first().map(|answer| answer.found) else { return get(back, key) };
        // What the back table has counts where no row in front has an origin: of the old table every row, of the new
        // table the written ones, since a copy is what the old table has.
        let counts = match back {
            OLD => base.row.is_some(),
            _ => base.flag == WRITTEN,
        };
        let (origin, replace) = (Change::Flag(WRITTEN), Change::Replace(base.row));
        let copies = counts && !(self.has(Bug::IncrementUncopied) && matches!(op, Op::Inc(_)));
        if self.has(Bug::CopyThenWrite) && copies {
            return match log.len() {
                1 => write(front, key, vec![origin, replace]),
                _ => self.end_or(log, 2, || write(front, key, vec![Change::Do(op)])),
            };
        }
        match (op, copies) {
            // What the server computes, or decides by a condition of its own, is a request behind.
            (Op::Inc(_) | Op::Claim(_), true) if log.len() == 1 => {
                cas(front, key, ANY, vec![origin], vec![origin, replace])
            }
            (Op::Inc(_) | Op::Claim(_), false) if log.len() == 1 => write(front, key, vec![origin]),
            (Op::Inc(_) | Op::Claim(_), _) => self.end_or(log, 2, || write(front, key, vec![Change::Do(op)])),
            (_, true) => self.end_or(log, 1, || {
                cas(front, key, ANY, vec![origin, Change::Do(op)], vec![origin, replace, Change::Do(op)])
            }),
            (_, false) => self.end_or(log, 1, || write(front, key, vec![origin, Change::Do(op)])),
        }
    }

    /// A write to a table that has all rows. It sets the row's origin for as long as origins are there: a late copy finds it,
    /// or is refused.
    fn write_with_origin(&self, table: usize, op: Op, key: usize, log: &[Answer]) -> Next {
        let refused = log.first().is_some_and(|answer| answer.refused);
        match op {
            Op::Inc(_) | Op::Claim(_) if log.is_empty() => write(table, key, vec![Change::Flag(WRITTEN)]),
            Op::Inc(_) | Op::Claim(_) => self.end_or(log, 1, || write(table, key, vec![Change::Do(op)])),
            _ if refused => self.end_or(log, 1, || write(table, key, vec![Change::Do(op)])),
            Op::Delete => self.end_or(log, 0, || write(table, key, self.delete())),
            _ => self.end_or(log, 0, || write(table, key, vec![Change::Flag(WRITTEN), Change::Do(op)])),
        }
    }

    fn delete(&self) -> Vec<Change> {
        match self.has(Bug::DeleteWithoutOrigin) {
            true => vec![Change::DeleteRow],
            false => vec![Change::Do(Op::Delete), Change::Flag(WRITTEN)],
        }
    }

    /// A write in the last state.
    fn write_last(&self, table: usize, op: Op, key: usize, log: &[Answer]) -> Next {
        match self.bug {
            Some(Bug::LastWithoutOrigin | Bug::NeverDropped) => {
                self.end_or(log, 0, || write(table, key, vec![Change::Do(op)]))
            }
            Some(Bug::LastDeleteRow) if op == Op::Delete => {
                self.end_or(log, 0, || write(table, key, vec![Change::DeleteRow]))
            }
            _ => self.write_with_origin(table, op, key, log),
        }
    }

    fn end_or(&self, log: &[Answer], answers: usize, next: impl Fn() -> Next) -> Next {
        match log.get(answers) {
            // A claim has won where there was no value.
            Some(answer) => Next::End(Row::of(u8::from(answer.found.row.val == 0))),
            None => next(),
        }
    }

    fn read_both(&self, key: usize, variant: u8, log: &[Answer]) -> Next {
        // Both are sent at once: either may be answered first.
        let order = if variant == 0 { [NEW, OLD] } else { [OLD, NEW] };
        match log {
            [] => get(order[0], key),
            [_] => get(order[1], key),
            [one, other, ..] => {
                let (old, new) =
                    if variant == 0 { (other.found, one.found) } else { (one.found, other.found) };
                Next::End(self.by_origins(old, new))
            }
        }
    }

    fn by_origins(&self, old: Stored, new: Stored) -> Row {
        if self.has(Bug::ReadsIgnoreOldOrigins) {
            return if new.flag != 0 { new.row } else { old.row };
        }
        if old.flag == 0 && new.flag != 0 { new.row } else { old.row }
    }

    /// What each stream of a merging scan has read so far. The bits of the variant say whose turn it is.
    fn streams(
        &self,
        view: State,
        key: usize,
        variant: u8,
        log: &[Answer],
    ) -> ([Vec<Stored>; 2], Option<Next>) {
        let (mut streams, keys) = ([vec![], vec![]], self.merged - key);
        let reads = |table| match view {
            Old | RolledBack => table == OLD,
            Moved | New => table == NEW,
            _ => true,
        };
        for turn in 0.. {
            let open = [OLD, NEW].map(|table| reads(table) && streams[table].len() < keys);
            let table = match open {
                [false, false] => return (streams, None),
                [true, true] => usize::from(variant >> turn & 1),
                [is_old, _] => usize::from(!is_old),
            };
            match log.get(turn) {
                Some(answer) => streams[table].push(answer.found),
                None => {
                    let next = get(table, key + streams[table].len());
                    return (streams, Some(next));
                }
            }
        }
        unreachable!()
    }

    fn merge(&self, view: State, [old, new]: [Vec<Stored>; 2]) -> Vec<Vec<Row>> {
        let rows: Vec<_> = match view {
            Old | RolledBack => old.iter().map(|old| old.row).collect(),
            Moved | New => new.iter().map(|new| new.row).collect(),
            _ => old.iter().zip(&new).map(|(old, new)| self.by_origins(*old, *new)).collect(),
        };
        rows.into_iter().map(Row::given).collect()
    }

    /// A scan where the tables have other orders, while `base` is not written: the rows that are in `base` are given
    /// there, as they are by the origins; those that are in `front` alone are given there. What is in `base` does not
    /// change, so each row is given once. Both streams run at once, in an order that the variant says, and so do the keys.
    fn scan_unordered(&self, base: usize, front: usize, variant: u8, log: &[Answer]) -> Next {
        // Of each stream: the row, and then its other side, where the row is there.
        let is_in = |stored: Stored| if base == OLD { stored.row.is_some() } else { stored.flag != 0 };
        let (mut base_log, mut front_log): (Vec<Stored>, Vec<Stored>) = (vec![], vec![]);
        let mut given = vec![];
        for turn in 0.. {
            let mut base_done = false;
            let mut front_done = false;
            if let Some(row) = base_log.first().copied() {
                match base_log.get(1).copied() {
                    _ if !is_in(row) => base_done = true,
                    Some(other) => {
                        let (old, new) = if base == OLD { (row, other) } else { (other, row) };
                        let row = match self.has(Bug::ScanByOrigins) {
                            true if other.flag != 0 => Row::NONE,
                            true => row.row,
                            false => self.by_origins(old, new),
                        };
                        given.extend(row.given());
                        base_done = true;
                    }
                    None => {}
                }
            }
            if let Some(row) = front_log.first().copied() {
                match front_log.get(1).copied() {
                    _ if !row.row.is_some() => front_done = true,
                    _ if self.has(Bug::ScanByOrigins) => {
                        given.extend(Some(row.row).filter(|_| row.flag != 0));
                        front_done = true;
                    }
                    Some(other) => {
                        given.extend(Some(row.row).filter(|_| !is_in(other)));
                        front_done = true;
                    }
                    None => {}
                }
            }
            if base_done && front_done {
                return Next::Rows(vec![given]);
            }
            given.clear();
            // The bits of the variant say whose turn it is.
            let turn_of_front =
                !front_done & base_done || (front_done == base_done && variant >> turn & 1 == 1);
            let (table, stream) = if turn_of_front { (front, &mut front_log) } else { (base, &mut base_log) };
            let table = if stream.is_empty() { table } else { 1 - table };
            match log.get(turn) {
                Some(answer) => stream.push(answer.found),
                None => return get(table, 0),
            }
        }
        unreachable!()
    }
}

impl Protocol for Rekeying {
    type State = State;

    const FIRST: State = Old;

    fn client(&self, view: State, op: Op, key: usize, variant: u8, log: &[Answer]) -> Option<Next> {
        let read_one = |table| match log {
            [] => get(table, key),
            [answer, ..] => Next::End(answer.found.row),
        };
        let scan_one = |table| match log {
            [] => get(table, key),
            [answer, ..] => Next::Rows(vec![answer.found.row.given()]),
        };
        Some(match (op, view) {
            (Op::Read, Old | RolledBack) => read_one(OLD),
            (Op::Read, Paused) if self.has(Bug::PausedReadsOld) => read_one(OLD),
            (Op::Read, Moved | New) => read_one(NEW),
            (Op::Read, Paused | Copying | RollbackPaused | RollbackCopying) => {
                self.read_both(key, variant, log)
            }
            (Op::Scan, _) if self.merged > 0 => match self.streams(view, key, variant, log) {
                (_, Some(next)) => next,
                (streams, None) => Next::Rows(self.merge(view, streams)),
            },
            (Op::Scan, Old | RolledBack) => scan_one(OLD),
            (Op::Scan, Moved | New) => scan_one(NEW),
            (Op::Scan, Copying) => self.scan_unordered(OLD, NEW, variant, log),
            (Op::Scan, RollbackCopying) => self.scan_unordered(NEW, OLD, variant, log),
            (_, Old) => write_old(self, op, key, log),
            (_, Copying) => self.write_over(NEW, OLD, op, key, log),
            (_, Moved) => self.write_with_origin(NEW, op, key, log),
            (_, New) => self.write_last(NEW, op, key, log),
            (_, RollbackCopying) => self.write_over(OLD, NEW, op, key, log),
            (_, RolledBack) => self.write_last(OLD, op, key, log),
            (_, Paused | RollbackPaused) => return None,
        })
    }

    fn mover(&self, now: State, key: usize, log: &[Answer]) -> Option<Next> {
        let (from, to) = match now {
            Copying => (OLD, NEW),
            RollbackCopying => (NEW, OLD),
            _ => return None,
        };
        Some(match log {
            [] => get(from, key),
            [Answer { found, .. }] => {
                // A copy that nobody has written is the same in the old table.
                let is_moved = match from {
                    OLD => found.row.is_some(),
                    _ => found.flag == if self.has(Bug::BackSkipsWritten) { COPIED } else { WRITTEN },
                };
                let copy = vec![Change::Flag(COPIED), Change::Replace(found.row)];
                match is_moved {
                    true if self.has(Bug::CopyOverwrites) => write(to, key, copy),
                    true => cas(to, key, ANY, vec![], copy),
                    false => Next::End(Row::NONE),
                }
            }
            _ => Next::End(Row::NONE),
        })
    }

    fn next(&self, now: State, moved: bool) -> Vec<State> {
        let back = |state| Some(state).filter(|_| self.back);
        match now {
            Old if self.stays => vec![],
            Old if self.has(Bug::NoPause) => vec![Copying],
            Old => vec![Paused],
            Paused => [Some(Copying), back(RolledBack)].into_iter().flatten().collect(),
            Copying => {
                let turn = if self.has(Bug::NoRollbackPause) { RollbackCopying } else { RollbackPaused };
                let forth = Some(Moved).filter(|_| moved || self.has(Bug::EarlyMoved));
                [forth, back(turn)].into_iter().flatten().collect()
            }
            Moved => [Some(New), back(RollbackPaused)].into_iter().flatten().collect(),
            RollbackPaused => vec![RollbackCopying],
            RollbackCopying => Some(RolledBack).filter(|_| moved).into_iter().collect(),
            RolledBack if self.has(Bug::SameTableAgain) => vec![Paused],
            New | RolledBack => vec![],
        }
    }

    fn drops(&self, now: State) -> Option<usize> {
        match now {
            _ if self.has(Bug::NeverDropped) => None,
            New => Some(NEW),
            RolledBack => Some(OLD),
            _ => None,
        }
    }

    fn ends_with(&self, now: State) -> Option<usize> {
        match now {
            New => Some(NEW),
            RolledBack => Some(OLD),
            Old if self.stays => Some(OLD),
            _ => None,
        }
    }

    fn can_go_back(&self) -> bool {
        self.back
    }

    fn authority(&self, view: State, _: Stored, _: Stored) -> Option<usize> {
        match view {
            Old | RollbackCopying | RolledBack => Some(OLD),
            Copying | Moved | New => Some(NEW),
            Paused | RollbackPaused => None,
        }
    }

    fn given(&self, view: State, key: usize, variant: u8, log: &[Answer]) -> Option<Vec<Vec<Row>>> {
        (self.merged > 0).then(|| {
            let (streams, _) = self.streams(view, key, variant, log);
            self.merge(view, streams)
        })
    }

    fn variants(&self, op: Op) -> u8 {
        match op {
            Op::Read => 2,
            Op::Scan if self.merged == 1 => 2,
            Op::Scan => 16,
            _ => 1,
        }
    }
}

fn write_old(protocol: &Rekeying, op: Op, key: usize, log: &[Answer]) -> Next {
    protocol.end_or(log, 0, || {
        write(
            OLD,
            key,
            vec![if op == Op::Delete && protocol.has(Bug::OldDeletesRemoveOrigins) {
                Change::DeleteRow
            } else {
                Change::Do(op)
            }],
        )
    })
}
