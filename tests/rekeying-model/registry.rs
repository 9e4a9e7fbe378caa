//! The registry by itself: what keeps a re-keying whose state is in a table that a user can delete, or restore as it was before.
//!
//! The *row* of the registry has the state, as in `rekeying`. The *stamp* of a table is an empty column family, which lives and dies with
//! the table. One request changes it, and fails unless the stamp is the one before. The row counts only where it fits the stamps.
//!
//! | row | stamp of the old table | stamp of the new table |
//! |---|---|---|
//! | absent (`Old`) | own | not read |
//! | `Paused` | own, forward | pair |
//! | `Copying` | forward | pair |
//! | `Moved` | forward, final; not read if the new one is own | pair, own |
//! | `New` | not read | own |
//! | `RollbackPaused` | forward, back | pair |
//! | `RollbackCopying` | back | pair |
//! | `RolledBack` | own, forward, back | not read |
//!
//! - A table with its *own* stamp is used by programs of its key type alone, which read the stamp before their first request. All
//!   other stamps refuse them.
//! - *forward*, *back* and *final* name the new table, by its id. Forward becomes back when rows move back, and final when `finish` begins:
//!   of `finish` and `roll_back` one wins. With back the old table gets the family of the origins, in the same request.
//! - The new table is created with *pair*, which names the old one. It becomes *own* at the end of `finish`, and *spent* at the
//!   end of `roll_back`. A spent table serves no other attempt.
//! - `RolledBack` fits *forward* since a request that is very late can set it again; `roll_back` takes it away.
//!
//! A driver goes by the stamps and the row, which it reads in this order before each step. Where it *waits*, no lease lasts afterwards that
//! counts from before it read the row. Then it reads both again, and goes by those; where the row has changed, it waits anew.
//!
//! | call | row, stamps | step |
//! |---|---|---|
//! | `run` | absent, or `RolledBack` and own | creates the new table, which must have no rows; waits, if the row is `RolledBack`; row `Paused` |
//! | all | `Paused`, own | old stamp forward |
//! | `run` | `Paused`, forward | waits; if a table becomes itself, adds its origins; row `Copying` |
//! | `run` | `Copying` | copies; waits; row `Moved` |
//! | `finish` | `Moved`, forward | old stamp final |
//! | `finish` | `Moved`, final | waits; drops the origins of the new table; its stamp own |
//! | `finish` | `Moved`, new stamp own | row `New` |
//! | `roll_back` | `Paused`, `Copying` or `Moved`, forward | waits; row `RollbackPaused` |
//! | `roll_back` | `RollbackPaused`, forward | old stamp back, with origins |
//! | `roll_back` | `RollbackPaused`, back | waits; row `RollbackCopying`, or `RolledBack` if the new table has no rows |
//! | `roll_back` | `RollbackCopying` | copies; waits; row `RolledBack` |
//! | `roll_back`, `run` | `RolledBack`, pair | new stamp spent |
//! | `roll_back`, `run` | `RolledBack`, spent | waits; drops the origins of the old table; its stamp own |
//! | all | `RollbackPaused`, final | waits; row `Moved`: `finish` was faster |
//! | `recover` | does not fit | waits; the row that the stamps say |
//!
//! `recover` writes `RolledBack` where the old stamp is own or the new one spent; else `Paused` for forward, `RollbackPaused` for back,
//! and for final `Moved` or, if the new stamp is own, `New`. All other calls fail where the row does not fit.
//!
//! Each change of the row is conditional on all of it, and writes what no row before can have been: it has a random number.
//!
//! A program reads the row and then the stamps when it opens, when its lease has ended, and when the row is another than the one that it
//! acts by. It acts by the row if that fits, for a lease that counts from before it read the row, and fails otherwise. It renews the lease by
//! reading the row alone. By `New` it acts for ever.
//!
//! What is left out: rows but one, and requests within a call, which `world` has; clocks, which `lease` has. A copy is one step, and what
//! is written counts at once. A program of the old key type that began before the old stamp was forward is stopped by its user. Nobody
//! restores the registry twice between two looks of a driver at the row, which are a lease apart.

use stateright::{Model, Property};

use crate::rekeying::State::{self, *};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The old table's stamp is forward before the row is `Paused`.
    StampFirst,
    /// A row that is absent is `Old`, whatever the stamps.
    AbsentIsOld,
    /// Forward and back are one stamp.
    OneDirection,
    /// The old stamp is back only once the row is `RollbackCopying`.
    LateDirection,
    /// The old stamp does not name the new table.
    AnyNewTable,
    /// Programs that run take each row as it is, also an older one.
    RunningUnchecked,
    /// A program whose lease has ended goes on if the row is the one that it knew.
    KnownIsEnough,
    /// Drivers read no stamps.
    DriverUnchecked,
    /// A driver reads the row before the stamps.
    RowFirst,
    /// After the wait a driver does what it was to do before.
    ActsAfterWait,
    /// In this state a driver does not wait.
    NoWait(State),
    /// A change of the row only counts one up.
    SameRow,
    /// `finish` closes the way back by the row `New`.
    NewFirst,
    /// The old stamp does not say that `finish` has begun.
    Undecided,
    /// The new table gets its own stamp at once, and loses its origins at the end.
    OwnFirst,
    /// The way back from `Paused` is `RolledBack`.
    Shortcut,
    /// The same if the new table has no rows.
    EmptyShortcut,
    /// The family of the origins is added to the old table by another request.
    OriginsApart,
    /// A new table is not spent.
    Unspent,
    /// It is spent before the row is `RolledBack`.
    SpentFirst,
    /// `recover` does not wait.
    RecoverAtOnce,
    /// `recover` takes no notice of the direction.
    RecoverForward,
    /// A table that becomes itself gets its origins together with its new stamp.
    OriginsAtOnce,
    /// The registry is restored as often as can be.
    RestoredTwice,
    /// With that: a renewal reads the stamps, too.
    RenewalsCheck,
}
use Bug::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OldStamp {
    Own,
    Forward(u8),
    Back(u8),
    Final(u8),
}
use OldStamp::{Back, Final, Forward};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NewStamp {
    Pair,
    Own,
    Spent,
}
use NewStamp::{Pair, Spent};

/// Of the old table, and of the new ones.
type Stamps = (OldStamp, [Option<NewStamp>; 2]);

/// The row of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Control {
    state: State,
    /// The number of the new table, from 1.
    new: u8,
    /// Stands for all that makes a row unlike others.
    change: u8,
}

/// A row that is not there.
const ABSENT: Control = Control { state: Old, new: 0, change: 0 };

/// What a table has under the one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Absent,
    Stale,
    /// What was acknowledged last.
    Newest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    None,
    Copied,
    Written,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Table<S> {
    stamp: S,
    /// Whether it has the family of the origins.
    has_origins: bool,
    value: Value,
    origin: Origin,
}

impl<S> Table<S> {
    fn drop_origins(&mut self) {
        (self.has_origins, self.origin) = (false, Origin::None);
    }

    fn has_rows(&self) -> bool {
        self.value != Value::Absent || self.origin != Origin::None
    }
}

/// The row as it was read, and a bit for each driver: whether that was after the driver read it.
type Read = (Control, u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Program {
    /// The number of the new table that it is made for.
    of: u8,
    /// What it acts by.
    lease: Option<Read>,
    /// A row for which it has to read the stamps.
    unchecked: Option<Read>,
    /// The row of its last lease, where a bug goes by it.
    known: Option<Control>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Goal {
    Run,
    Finish,
    RollBack,
    Recover,
}
use Goal::{Finish, Recover, RollBack, Run};

/// A request, or those of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Create,
    Restamp(OldStamp, OldStamp),
    Spend,
    AddOrigins,
    /// Before `Own`.
    DropOrigins,
    /// The table that is left gets its own stamp.
    Own,
    Copy,
    Change(Control),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    First,
    Second,
    Wait(Step),
    Do(Step),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    goal: Goal,
    of: u8,
    stage: Stage,
    stamps: Option<Stamps>,
    row: Option<Control>,
    /// Since it read this row.
    has_waited: bool,
    has_copied: bool,
    /// Whether the registry was restored since its last look.
    is_disturbed: bool,
}

impl Driver {
    fn new(goal: Goal, of: u8) -> Self {
        Self {
            goal,
            of,
            stage: Stage::First,
            stamps: None,
            row: None,
            has_waited: false,
            has_copied: false,
            is_disturbed: false,
        }
    }
}

enum Plan {
    Fails,
    IsDone,
    Now(Step),
    Waited(Step),
}
use Plan::{Fails, IsDone, Now, Waited};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    row: Control,
    /// All that the row has been, which can be restored.
    rows: Vec<Control>,
    old: Table<OldStamp>,
    new: [Option<Table<NewStamp>>; 2],
    programs: Vec<Program>,
    drivers: Vec<Option<Driver>>,
    restored: u8,
    recovered: u8,
    /// Whether the second driver has begun.
    has_second: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Begin {
        driver: usize,
        goal: Goal,
        of: u8,
    },
    Die(usize),
    Drive(usize),
    Read(usize),
    Check(usize),
    /// A program hangs, or is started again.
    EndLease(usize),
    Write(usize),
    /// Writes of programs of one key type that have just begun.
    WriteOld,
    WriteNew(u8),
    Restore(Control),
}

#[derive(Clone, Copy)]
pub(crate) struct Registry {
    /// The new table that each program is made for.
    pub(crate) programs: &'static [u8],
    /// The same of drivers, of which any may be started.
    pub(crate) of: &'static [u8],
    /// One at a time, or two. The second begins once.
    pub(crate) drivers: usize,
    /// How often the registry is deleted, or restored.
    pub(crate) restores: u8,
    /// How often `recover` changes the row.
    pub(crate) recoveries: u8,
    /// Whether the old table has no row.
    pub(crate) is_empty: bool,
    /// It begins after an attempt that was rolled back.
    pub(crate) again: bool,
    /// The table becomes itself under another tag: there is one family of origins.
    pub(crate) one_table: bool,
    pub(crate) bugs: &'static [Bug],
}

fn at(new: u8) -> usize {
    usize::from(new).wrapping_sub(1)
}

fn new_stamp(stamps: &Stamps, new: u8) -> Option<NewStamp> {
    stamps.1.get(at(new)).copied().flatten()
}

impl World {
    fn stamps(&self) -> Stamps {
        (self.old.stamp, self.new.map(|new| Some(new?.stamp)))
    }

    fn new_table(&self, new: u8) -> Option<Table<NewStamp>> {
        self.new.get(at(new)).copied().flatten()
    }

    fn new_mut(&mut self, new: u8) -> Option<&mut Table<NewStamp>> {
        self.new.get_mut(at(new))?.as_mut()
    }

    fn set_row(&mut self, row: Control) {
        self.row = row;
        if let Err(at) = self.rows.binary_search(&row) {
            self.rows.insert(at, row);
        }
    }

    /// A number that no row has had.
    fn unlike(&self) -> u8 {
        1 + self.rows.iter().map(|row| row.change).max().unwrap_or(0)
    }

    /// Whether it is right to find this.
    fn is_right(&self, value: Value) -> bool {
        let values = || self.new.iter().flatten().map(|new| new.value).chain([self.old.value]);
        value == Value::Newest || value == Value::Absent && values().all(|value| value != Value::Newest)
    }

    fn read(&self, row: Control) -> Value {
        match (row.state, self.new_table(row.new)) {
            (Moved | New, Some(new)) => new.value,
            (Paused | Copying | RollbackPaused | RollbackCopying, Some(new))
                if self.old.origin == Origin::None && new.origin != Origin::None =>
            {
                new.value
            }
            _ => self.old.value,
        }
    }

    /// A write to the old table, 0, or to a new one.
    fn write(&mut self, table: u8, has_origin: bool) {
        let values = self.new.iter_mut().flatten().map(|new| &mut new.value).chain([&mut self.old.value]);
        values.filter(|value| **value == Value::Newest).for_each(|value| *value = Value::Stale);
        let old = (&mut self.old.value, &mut self.old.origin, self.old.has_origins);
        let new = self.new.get_mut(at(table)).and_then(Option::as_mut);
        let (value, origin, has_origins) =
            new.map_or(old, |new| (&mut new.value, &mut new.origin, new.has_origins));
        *value = Value::Newest;
        if has_origin && has_origins {
            *origin = Origin::Written;
        }
    }

    fn write_by(&mut self, row: Control) {
        match row.state {
            Old => self.write(0, false),
            RolledBack => self.write(0, true),
            Moved | New => self.write(row.new, true),
            // Without the family of the origins it fails.
            RollbackCopying if self.old.has_origins => self.write(0, true),
            Copying if self.new_table(row.new).is_some_and(|new| new.has_origins) => {
                self.write(row.new, true);
            }
            Paused | RollbackPaused | Copying | RollbackCopying => {}
        }
    }
}

impl Registry {
    fn has(&self, bug: Bug) -> bool {
        self.bugs.contains(&bug)
    }

    /// Whether the row fits the stamps, for who is made for the new table `of`.
    fn fits(&self, row: Control, stamps: &Stamps, of: u8) -> bool {
        let n = row.new;
        let old = |fitting: &[OldStamp]| {
            fitting.iter().any(|stamp| match (*stamp, stamps.0) {
                (Forward(_), Forward(_)) | (Back(_), Back(_)) if self.has(AnyNewTable) => true,
                (Forward(one), Back(other)) | (Back(one), Forward(other)) if self.has(OneDirection) => {
                    one == other
                }
                (stamp, found) => stamp == found,
            })
        };
        let new = new_stamp(stamps, n);
        let (is_pair, is_own) = (new == Some(Pair), new == Some(NewStamp::Own));
        match row.state {
            Old => old(&[OldStamp::Own]) || self.has(AbsentIsOld),
            RolledBack => old(&[OldStamp::Own, Forward(n), Back(n)]),
            _ if n != of => false,
            Paused => is_pair && old(&[OldStamp::Own, Forward(n)]),
            Copying => is_pair && old(&[Forward(n)]),
            Moved => is_own || is_pair && old(&[Forward(n), Final(n)]),
            New => is_own || self.has(NewFirst),
            RollbackPaused => is_pair && old(&[Forward(n), Back(n)]),
            RollbackCopying if self.has(LateDirection) => is_pair && old(&[Forward(n), Back(n)]),
            RollbackCopying => (is_pair || new == Some(Spent) && self.has(SpentFirst)) && old(&[Back(n)]),
        }
    }

    /// The row that the stamps say.
    fn recovered(&self, row: Control, stamps: &Stamps, of: u8) -> Option<Control> {
        let (old, new) = (stamps.0, new_stamp(stamps, of));
        let state = match old {
            OldStamp::Own => return Some(Control { state: RolledBack, change: 0, ..row }),
            Forward(n) | Back(n) | Final(n) if n != of && !self.has(AnyNewTable) => return None,
            _ => match (old, new?) {
                (Forward(_) | Back(_), Spent) => RolledBack,
                (Back(_), Pair) if !self.has(RecoverForward) => RollbackPaused,
                (Forward(_) | Back(_), Pair) => Paused,
                (Final(_), Pair) => Moved,
                (Final(_), NewStamp::Own) => New,
                _ => return None,
            },
        };
        Some(Control { state, new: of, change: 0 })
    }

    fn plan(&self, w: &World, d: &Driver, row: Control, stamps: &Stamps) -> Plan {
        let (n, old) = (row.new, stamps.0);
        let new = w.new_table(n);
        let is_empty = !new.is_some_and(|new| new.has_rows());
        let new_is = |stamp| new_stamp(stamps, n) == Some(stamp);
        let waited = |step| if self.has(NoWait(row.state)) { Now(step) } else { Waited(step) };
        let change = |state| waited(Step::Change(Control { state, change: 0, ..row }));
        if d.goal == Recover {
            return match self.recovered(row, stamps, d.of).map(Step::Change) {
                _ if self.fits(row, stamps, n) => IsDone,
                Some(step) if self.has(RecoverAtOnce) => Now(step),
                Some(step) => Waited(step),
                None => Fails,
            };
        }
        if row.state == RollbackPaused && old == Final(n) && n == d.of {
            return change(Moved);
        }
        if !self.fits(row, stamps, d.of) && !self.has(DriverUnchecked) {
            return Fails;
        }
        let decides = !self.has(Undecided) && !self.has(OwnFirst);
        match (d.goal, row.state) {
            (Run | RollBack, RolledBack) if new_is(Pair) && !self.has(Unspent) => Now(Step::Spend),
            (Run | RollBack, RolledBack) if old != OldStamp::Own => waited(Step::DropOrigins),
            (RollBack, Old | RolledBack) => IsDone,
            (Run, Old | RolledBack) => match w.new_table(d.of) {
                None => Now(Step::Create),
                Some(new) if new.stamp != Pair || new.has_rows() => Fails,
                Some(_) if self.has(StampFirst) && old == OldStamp::Own => {
                    Now(Step::Restamp(old, Forward(d.of)))
                }
                Some(_) => {
                    let step = Step::Change(Control { state: Paused, new: d.of, change: 0 });
                    if row.state == Old { Now(step) } else { waited(step) }
                }
            },
            (RollBack, Paused) if self.has(Shortcut) || self.has(EmptyShortcut) && is_empty => {
                change(RolledBack)
            }
            (_, Paused) if old == OldStamp::Own => Now(Step::Restamp(old, Forward(n))),
            (Run, Paused) if new.is_some_and(|new| !new.has_origins) => waited(Step::AddOrigins),
            (Run, Paused) => change(Copying),
            (Run, Copying) if !d.has_copied => Now(Step::Copy),
            (Run, Copying) => change(Moved),
            (Run, Moved | New) => IsDone,
            (Finish, Moved) if self.has(NewFirst) => change(New),
            (Finish, Moved) if new_is(NewStamp::Own) => {
                Now(Step::Change(Control { state: New, change: 0, ..row }))
            }
            (Finish, Moved) if old == Forward(n) && decides => Now(Step::Restamp(old, Final(n))),
            (Finish, Moved) if self.has(OwnFirst) => Now(Step::Own),
            (Finish, Moved) => waited(Step::DropOrigins),
            (Finish, New) if new.is_some_and(|new| new.has_origins) || new_is(Pair) => {
                waited(Step::DropOrigins)
            }
            (Finish, New) => IsDone,
            (RollBack, Paused | Copying | Moved) if new_is(NewStamp::Own) || old != Forward(n) => Fails,
            (RollBack, Paused | Copying | Moved) if self.has(OriginsApart) && !w.old.has_origins => {
                Now(Step::AddOrigins)
            }
            (RollBack, Paused | Copying | Moved) => change(RollbackPaused),
            (RollBack, RollbackPaused) if old == Forward(n) && !self.has(LateDirection) => {
                Now(Step::Restamp(old, Back(n)))
            }
            (RollBack, RollbackPaused) if is_empty => change(RolledBack),
            (RollBack, RollbackPaused) => change(RollbackCopying),
            (RollBack, RollbackCopying) if old == Forward(n) => Now(Step::Restamp(old, Back(n))),
            (RollBack, RollbackCopying) if !d.has_copied => Now(Step::Copy),
            (RollBack, RollbackCopying) if self.has(SpentFirst) && new_is(Pair) => Now(Step::Spend),
            (RollBack, RollbackCopying) => change(RolledBack),
            (Run, RollbackPaused | RollbackCopying) | (Finish, _) | (RollBack, New) | (Recover, _) => Fails,
        }
    }

    /// Takes a driver one step further. Gives whether it has done all, or failed, where it has ended.
    fn drive(&self, w: &mut World, at: usize) -> Option<bool> {
        let mut d = w.drivers[at]?;
        let mut ended = None;
        let reads_row = match d.stage {
            Stage::First => Some(self.has(RowFirst)),
            Stage::Second => Some(!self.has(RowFirst)),
            _ => None,
        };
        match reads_row {
            Some(false) => d.stamps = Some(w.stamps()),
            Some(true) => {
                if d.row != Some(w.row) {
                    (d.row, d.has_waited, d.has_copied) = (Some(w.row), false, false);
                    for read in w.programs.iter_mut().flat_map(|p| [&mut p.lease, &mut p.unchecked]).flatten()
                    {
                        read.1 &= !(1 << at);
                    }
                }
                d.is_disturbed = false;
            }
            None => {}
        }
        match (d.stage, d.row, d.stamps) {
            (Stage::First, ..) => d.stage = Stage::Second,
            (Stage::Second, Some(row), Some(stamps)) => match self.plan(w, &d, row, &stamps) {
                Fails => ended = Some(false),
                IsDone => ended = Some(true),
                Waited(step) if !d.has_waited => d.stage = Stage::Wait(step),
                Now(step) | Waited(step) => d.stage = Stage::Do(step),
            },
            (Stage::Wait(step), ..) => {
                let lasts = |read: &Read| read.1 & 1 << at != 0;
                for p in &mut w.programs {
                    p.lease = p.lease.filter(|read| read.0.state == New || lasts(read));
                    p.unchecked = p.unchecked.filter(lasts);
                }
                d.has_waited = true;
                d.stage = if self.has(ActsAfterWait) { Stage::Do(step) } else { Stage::First };
            }
            (Stage::Do(step), Some(row), Some(stamps)) => {
                self.take(w, &d, step, row, stamps.0);
                match step {
                    Step::DropOrigins => d.stage = Stage::Do(Step::Own),
                    Step::Copy => (d.stage, d.has_copied) = (Stage::First, true),
                    _ => d = Driver::new(d.goal, d.of),
                }
            }
            _ => {}
        }
        w.drivers[at] = Some(d).filter(|_| ended.is_none());
        ended
    }

    fn take(&self, w: &mut World, d: &Driver, step: Step, row: Control, old: OldStamp) {
        let is_back = matches!(row.state, RolledBack);
        match step {
            Step::Create => {
                let has_origins = !self.one_table || self.has(OriginsAtOnce);
                let new = Table { stamp: Pair, has_origins, value: Value::Absent, origin: Origin::None };
                w.new[usize::from(d.of) - 1].get_or_insert(new);
                w.old.has_origins |= self.one_table && has_origins;
            }
            Step::Restamp(from, to) if w.old.stamp == from => {
                w.old.stamp = to;
                w.old.has_origins |= matches!(to, Back(_));
            }
            Step::AddOrigins if self.one_table || row.state != Paused => {
                w.old.has_origins = true;
                w.new_mut(row.new).into_iter().for_each(|new| new.has_origins = true);
            }
            Step::AddOrigins => w.old.has_origins = true,
            Step::Spend => {
                let new = w.new_mut(row.new).filter(|new| new.stamp == Pair);
                new.into_iter().for_each(|new| new.stamp = Spent);
            }
            Step::DropOrigins => {
                if is_back || self.one_table {
                    w.old.drop_origins();
                }
                if !is_back || self.one_table {
                    w.new_mut(row.new).into_iter().for_each(Table::drop_origins);
                }
            }
            Step::Own if is_back && w.old.stamp == old => w.old.stamp = OldStamp::Own,
            Step::Own if is_back => {}
            Step::Own => {
                let new = w.new_mut(row.new).filter(|new| new.stamp == Pair);
                new.into_iter().for_each(|new| new.stamp = NewStamp::Own);
            }
            Step::Copy => {
                let (old, Some(new)) = (w.old, w.new_table(row.new)) else { return };
                let is_copied = new.has_origins && new.origin == Origin::None && old.value != Value::Absent;
                let is_copied_back =
                    old.has_origins && old.origin == Origin::None && new.origin == Origin::Written;
                if row.state == Copying && is_copied {
                    let copied = |new: &mut Table<_>| (new.value, new.origin) = (old.value, Origin::Copied);
                    w.new_mut(row.new).into_iter().for_each(copied);
                } else if row.state == RollbackCopying && is_copied_back {
                    (w.old.value, w.old.origin) = (new.value, Origin::Copied);
                }
            }
            Step::Change(to) if w.row == row => {
                let change = if self.has(SameRow) { row.change + 1 } else { w.unlike() };
                w.recovered += u8::from(d.goal == Recover);
                w.set_row(Control { change, ..to });
            }
            Step::Change(_) | Step::Restamp(..) => {}
        }
    }

    /// The world after drivers, one after the other, if each has done all.
    fn after(&self, w: &World, of: u8, goals: &[Goal]) -> Option<World> {
        let mut w = w.clone();
        let done = goals.iter().all(|goal| {
            w.drivers[0] = Some(Driver::new(*goal, of));
            (0..200).find_map(|_| self.drive(&mut w, 0)) == Some(true)
        });
        done.then_some(w)
    }

    /// Whether it comes to an end from here, once all programs and drivers have died; each call where it may be made.
    fn can_end(&self, w: &World) -> bool {
        let is_still = w.drivers.iter().all(Option::is_none)
            && w.programs.iter().all(|p| p.lease.is_none() && p.unchecked.is_none());
        if !is_still {
            return true;
        }
        let of = match w.old.stamp {
            OldStamp::Own => self.of[self.of.len() - 1],
            Forward(n) | Back(n) | Final(n) => n,
        };
        let Some(w) = self.after(w, of, if w.restored > 0 { &[Recover] } else { &[] }) else { return false };
        let there = |goals: &[Goal]| {
            self.after(&w, of, goals).is_some_and(|w| {
                let new = w.new_table(of);
                w.row.state == New && new.is_some_and(|new| new.stamp == NewStamp::Own && !new.has_origins)
            })
        };
        let back = || {
            self.after(&w, of, &[RollBack])
                .is_some_and(|w| matches!(w.row.state, Old | RolledBack) && w.old.stamp == OldStamp::Own)
        };
        match w.row.state {
            _ if matches!(w.old.stamp, Final(_)) => there(&[Finish]),
            New => there(&[Finish]),
            Moved if new_stamp(&w.stamps(), of) == Some(NewStamp::Own) => there(&[Finish]),
            RollbackPaused | RollbackCopying => back(),
            RolledBack if w.row.new == of => back(),
            Old | RolledBack if new_stamp(&w.stamps(), of) == Some(Spent) => back(),
            _ => back() && there(&[Run, Finish]),
        }
    }
}

impl Model for Registry {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let value = if self.is_empty { Value::Absent } else { Value::Newest };
        let program = |of: &u8| Program { of: *of, lease: None, unchecked: None, known: None };
        let mut w = World {
            row: ABSENT,
            rows: vec![ABSENT],
            old: Table { stamp: OldStamp::Own, has_origins: false, value, origin: Origin::None },
            new: [None; 2],
            programs: self.programs.iter().map(program).collect(),
            drivers: vec![None; self.drivers],
            restored: 0,
            recovered: 0,
            has_second: false,
        };
        if self.again {
            let states = [Paused, Copying, Moved, RollbackPaused, RollbackCopying, RolledBack];
            states
                .into_iter()
                .zip(1..)
                .for_each(|(state, change)| w.set_row(Control { state, new: 1, change }));
            let (stamp, has_origins) = (if self.has(Unspent) { Pair } else { Spent }, !self.one_table);
            let origin = if has_origins { Origin::Written } else { Origin::None };
            w.new[0] = Some(Table { stamp, has_origins, value: Value::Stale, origin });
            // By a request of a driver that hung all the time.
            w.old.has_origins = self.has(OriginsApart);
        }
        vec![w]
    }

    fn actions(&self, w: &World, actions: &mut Vec<Action>) {
        for (at, driver) in w.drivers.iter().enumerate() {
            if driver.is_some() {
                actions.extend([Action::Drive(at), Action::Die(at)]);
            } else if at == 0 || !w.has_second {
                let goals = [Run, Finish, RollBack, Recover];
                let goals = &goals[..if w.recovered < self.recoveries { 4 } else { 3 }];
                let begin =
                    |of: u8| goals.iter().map(move |goal| Action::Begin { driver: at, goal: *goal, of });
                actions.extend(self.of.iter().flat_map(|of| begin(*of)));
            }
        }
        for (at, p) in w.programs.iter().enumerate() {
            match p.unchecked {
                Some(_) => actions.push(Action::Check(at)),
                None => actions.push(Action::Read(at)),
            }
            actions.push(Action::EndLease(at));
            if p.lease.is_some() {
                actions.push(Action::Write(at));
            }
        }
        if w.old.stamp == OldStamp::Own {
            actions.push(Action::WriteOld);
        }
        actions.extend(
            (1..=2).filter(|n| new_stamp(&w.stamps(), *n) == Some(NewStamp::Own)).map(Action::WriteNew),
        );
        let is_disturbed = w.drivers.iter().flatten().any(|d| d.is_disturbed) && !self.has(RestoredTwice);
        if w.restored < self.restores && !is_disturbed {
            actions.extend(w.rows.iter().filter(|row| **row != w.row).map(|row| Action::Restore(*row)));
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut w = before.clone();
        let read = (w.row, u8::MAX);
        match action {
            Action::Begin { driver, goal, of } => {
                w.drivers[driver] = Some(Driver::new(goal, of));
                w.has_second |= driver == 1;
                self.drive(&mut w, driver);
            }
            Action::Die(at) => w.drivers[at] = None,
            Action::Drive(at) => {
                self.drive(&mut w, at);
            }
            Action::Read(at) => {
                let p = &mut w.programs[at];
                let is_renewed = match p.lease {
                    Some((known, _)) if known == read.0 => !self.has(RenewalsCheck),
                    Some((known, _)) => self.has(RunningUnchecked) && [known.new, p.of].contains(&read.0.new),
                    None => self.has(KnownIsEnough) && p.known == Some(read.0),
                };
                if is_renewed { p.lease = Some(read) } else { p.unchecked = Some(read) }
            }
            Action::Check(at) => {
                let read = w.programs[at].unchecked.take()?;
                if self.fits(read.0, &w.stamps(), w.programs[at].of) {
                    w.programs[at].lease = Some(read);
                }
            }
            Action::EndLease(at) => (w.programs[at].lease, w.programs[at].unchecked) = (None, None),
            Action::Write(at) => w.write_by(before.programs[at].lease?.0),
            Action::WriteOld => w.write(0, false),
            Action::WriteNew(new) => w.write(new, false),
            Action::Restore(row) => {
                (w.row, w.restored) = (row, w.restored + 1);
                for d in w.drivers.iter_mut().flatten() {
                    let looks_again = d.row.is_some() && !matches!(d.stage, Stage::Do(_));
                    d.is_disturbed = looks_again && w.restored < self.restores;
                }
            }
        }
        for p in w.programs.iter_mut().filter(|_| self.has(KnownIsEnough)) {
            p.known = p.lease.map(|(row, _)| row).or(p.known);
        }
        // For which driver a lease is new makes no difference once that has waited.
        for (at, d) in w.drivers.iter().enumerate() {
            if !d.is_some_and(|d| d.row.is_some() && !d.has_waited) {
                let reads = w.programs.iter_mut().flat_map(|p| [&mut p.lease, &mut p.unchecked]).flatten();
                reads.for_each(|read| read.1 |= 1 << at);
            }
        }
        w.programs.sort();
        (w != *before).then_some(w)
    }

    fn within_boundary(&self, w: &World) -> bool {
        w.rows.len() < 40
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("who acts reads what was written last", |_: &Self, w: &World| {
                w.programs.iter().all(|p| p.lease.is_none_or(|(row, _)| w.is_right(w.read(row))))
            }),
            // A program of its key type can begin at any time.
            Property::always(
                "a table with its own stamp has what was written last",
                |_: &Self, w: &World| {
                    let new = w.new.iter().flatten();
                    (w.old.stamp != OldStamp::Own || w.is_right(w.old.value))
                        && new.filter(|new| new.stamp == NewStamp::Own).all(|new| w.is_right(new.value))
                },
            ),
            Property::always("nobody is refused while the registry is whole", |m: &Self, w: &World| {
                let Control { state, new, .. } = w.row;
                w.restored > 0
                    || m.fits(w.row, &w.stamps(), new)
                    || state == RollbackPaused && w.old.stamp == Final(new)
            }),
            Property::always("it comes to an end by one driver", |m: &Self, w: &World| m.can_end(w)),
            Property::sometimes("it can end with the new table", |_: &Self, w: &World| w.row.state == New),
            Property::sometimes("it can end with the old table", |_: &Self, w: &World| {
                w.row.state == RolledBack && w.row.new > 0 && w.old.stamp == OldStamp::Own
            }),
        ]
    }
}
