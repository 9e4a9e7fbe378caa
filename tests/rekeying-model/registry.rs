//! The registry by itself: what keeps a re-keying whose state is in a table that a user can delete, or restore as it was before.
//!
//! The *row* of the registry has the state, as in `rekeying`, and a *fence*: a random name that the old table's stamp has, too. Each of
//! `Paused`, `RollbackPaused` and `RolledBack` makes a new one, and the row keeps those of the attempt. The *stamp* of a table is an empty
//! column family, which lives and dies with the table. A process acts by the row only if it fits the stamps.
//!
//! | row | stamp of the old table | stamp of the new table |
//! |---|---|---|
//! | absent (`Old`) | own | not read |
//! | `Paused` | own, its fence | pair |
//! | `Copying` | its fence | pair |
//! | `Moved` | its fence | pair, ended |
//! | `New` | not read | ended, closed, own |
//! | `RollbackPaused` | its fence, those before | pair, ended |
//! | `RollbackCopying` | its fence | pair, ended, spent |
//! | `RolledBack` | own, its fence, those before | not read |
//!
//! - A table with its *own* stamp is used by programs of its key type alone, which read the stamp before their first request. All
//!   other stamps refuse them.
//! - The new table is created with *pair*. It is *ended* once `finish` has begun, *closed* once the row is `New`, and *own* once it has no
//!   origins. A *spent* table serves no other attempt.
//! - `finish` and `roll_back` may both run in `Moved`, and the row decides. So *ended* fits the way back.
//! - A stamp is replaced by one request, which fails unless one that it replaces is there. What else changes families is in that request,
//!   or fails unless the fence of the driver's row is there. So a request of a driver that hung does nothing later.
//! - `Paused` and `RolledBack` fit a fence that a request from before the end set again, and `roll_back` takes it away.
//!
//! A driver reads the row and then the stamps before it does what the row says. *Waits*: until no lease lasts that counts from before it
//! read the row. Each change of the row is conditional on all of it.
//!
//! | call | row | steps |
//! |---|---|---|
//! | `run` | absent | creates the new table, which must have no rows; row `Paused` |
//! | `run` | `RolledBack` | fails for the same new table; those of `roll_back`; those of `run` in absent |
//! | `run` | `Paused` | old stamp to the fence; waits; if a table becomes itself, adds its origins; row `Copying` |
//! | `run` | `Copying` | copies; waits; row `Moved` |
//! | `finish` | `Moved` | fails if the new table has no origins and is pair; new stamp ended; waits; row `New` |
//! | `finish` | `New` | new stamp closed; waits; fails if the row has changed; drops the origins of the new table; its stamp own |
//! | `roll_back` | `Paused` | old stamp to the fence; waits; row `RollbackPaused` |
//! | `roll_back` | `Copying`, `Moved` | fails if the new stamp is ended, closed or own; waits; row `RollbackPaused` |
//! | `roll_back` | `RollbackPaused` | old stamp to the fence, with origins; waits; row `RollbackCopying` |
//! | `roll_back` | `RollbackCopying` | copies; new stamp spent; waits; row `RolledBack` |
//! | `roll_back` | `RolledBack` | old stamp to the fence; waits; fails if the row has changed; drops the origins of the old table; its stamp own |
//!
//! A program reads the row and then the stamps when it opens, when its lease has ended, and when the row has another fence. It refuses a
//! row that is older than the one that it knows. It acts by a row for a lease that counts from before it read it, and for ever by `New`.
//!
//! What is left out of the model: rows but one, and requests within a call, which `world` has; clocks, which `lease` has; re-keying with no
//! way back from `Copying` on; several key types of one table. A copy is one step, and what is written counts at once. A program of the old
//! key type that began before the old stamp had a fence is stopped by its user. Nobody restores the registry twice, or
//! once while a driver hangs that goes on later.

use stateright::{Model, Property};

use crate::rekeying::State::{self, *};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The old table's stamp names the fence before the row is `Paused`.
    StampFirst,
    /// A row that is absent is `Old`, whatever the stamps.
    AbsentIsOld,
    /// Both directions have the same fence.
    NoFence,
    /// The old stamp names the fence of the way back only once the row is `RollbackCopying`.
    LateFence,
    /// The row is `New` before the new stamp is *ended*.
    NewFirst,
    /// `roll_back` does not look whether `finish` has begun.
    Undecided,
    /// The new stamp is *spent* only once the row is `RolledBack`.
    SpentLate,
    /// The new stamp is never *spent*.
    Unspent,
    /// The way back from `Paused` is `RolledBack`.
    Shortcut,
    /// The same if the new table has no rows.
    EmptyShortcut,
    /// Programs that run take an older row.
    OlderTaken,
    /// Programs that run take a row of another direction without a look at the stamps.
    FenceUnchecked,
    /// A program whose lease has ended renews it without a look at the stamps.
    ExpiredUnchecked,
    /// Drivers read no stamps.
    DriverUnchecked,
    /// In this state a driver does not wait.
    NoWait(State),
    /// A table gets its own stamp before it loses its origins.
    OwnFirst,
    /// A stamp is added also where none of those that it replaces is found.
    AddsAnyway,
    /// `RolledBack` has no fence of its own.
    SameFence,
    /// It does not admit the fence of the way there.
    ForgetsFence,
    /// Before the origins are dropped, a driver does not look whether the row has changed.
    NoLook,
    /// Origins are dropped whatever the stamp.
    DropsAnyway,
    /// The origins of the old table are added by a request of its own, before the row is `RollbackPaused`.
    OriginsApart,
    /// The new stamp is *ended* until it is own.
    NotClosed,
    /// `finish` asks for origins in `Moved` also if it has begun.
    EndedNeedsOrigins,
    /// A table that becomes itself gets its origins together with its new stamp.
    OriginsAtOnce,
}
use Bug::*;

/// A set of stamps, of which a table has one at most times.
type Stamps = u16;
/// Of one key type alone.
const OWN: Stamps = 1;
/// Of the new table: of the pair, once there is no way back, once the row says so, and once its rows count no more.
const PAIR: Stamps = 2;
const ENDED: Stamps = 4;
const CLOSED: Stamps = 8;
const SPENT: Stamps = 16;

/// The stamp of the old table that names a fence; none for none.
fn of_fence(fence: u8) -> Stamps {
    1 << fence & !OWN
}

/// The row of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Control {
    state: State,
    change: u8,
    /// The number of the fence, from 1.
    fence: u8,
    /// The stamps of the fences before it in this attempt.
    before: Stamps,
    /// The number of the new table, from 1.
    new: u8,
}

/// A row that is not there.
const ABSENT: Control = Control { state: Old, change: 0, fence: 0, before: 0, new: 0 };

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
pub(crate) struct Table {
    stamps: Stamps,
    /// Whether it has the family of the origins.
    has_origins: bool,
    value: Value,
    origin: Origin,
}

impl Table {
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
    /// The row of its last lease, while that has ended.
    known: Option<Control>,
}

impl Program {
    fn new(of: u8) -> Self {
        Self { of, lease: None, unchecked: None, known: None }
    }

    fn end_lease(&mut self) {
        self.known = self.lease.take().map(|(row, _)| row).or(self.known);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Goal {
    Run,
    Finish,
    RollBack,
}
use Goal::{Finish, RollBack, Run};

/// A request, or a look at an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Fails if an attempt with this new table was rolled back.
    Unused,
    Create,
    /// Has the old stamp name the fence, `begin_direction`.
    Begin,
    AddOrigins,
    Wait,
    /// Reads the row again if it is another one.
    Look,
    /// Leaves out the next two steps if the new table has rows.
    IfEmpty,
    Copy,
    /// Fails if the new table has no origins.
    HasOrigins,
    /// Fails if `finish` has begun.
    NotFinishing,
    /// Has the new stamp be *ended*, `begin_end`.
    BeginEnd,
    /// Has it be *closed*.
    Close,
    Spend,
    /// Of the table that is left: `tidy`.
    DropOrigins,
    Own,
    Change(State),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Row,
    Stamps,
    /// The next step of the script.
    Do(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    goal: Goal,
    of: u8,
    stage: Stage,
    row: Control,
    has_waited: bool,
}

impl Driver {
    fn new(goal: Goal, of: u8) -> Self {
        Self { goal, of, stage: Stage::Row, row: ABSENT, has_waited: false }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    row: Control,
    /// All that the row has been, which can be restored.
    rows: Vec<Control>,
    /// How many fences there are.
    fences: u8,
    old: Table,
    new: [Option<Table>; 2],
    programs: Vec<Program>,
    drivers: Vec<Option<Driver>>,
    restored: u8,
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
    /// A program hangs.
    EndLease(usize),
    Restart(usize),
    Write(usize),
    /// Of a driver that acts by the same lease.
    Copy(usize),
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
    /// Whether the old table has no row.
    pub(crate) is_empty: bool,
    /// It begins after an attempt that was rolled back.
    pub(crate) again: bool,
    /// With that: a driver of the first attempt hangs before one of its last requests.
    pub(crate) is_late: bool,
    /// The table becomes itself under another tag: there is one family of origins.
    pub(crate) one_table: bool,
    pub(crate) bugs: &'static [Bug],
}

fn at(new: u8) -> usize {
    usize::from(new).wrapping_sub(1)
}

impl World {
    fn new_table(&self, new: u8) -> Option<Table> {
        self.new.get(at(new)).copied().flatten()
    }

    fn new_mut(&mut self, new: u8) -> Option<&mut Table> {
        self.new.get_mut(at(new))?.as_mut()
    }

    fn set_row(&mut self, row: Control) {
        self.row = row;
        if let Err(at) = self.rows.binary_search(&row) {
            self.rows.insert(at, row);
        }
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
        let table = self.new.get_mut(at(table)).and_then(Option::as_mut).unwrap_or(&mut self.old);
        table.value = Value::Newest;
        if has_origin && table.has_origins {
            table.origin = Origin::Written;
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

    fn copy(&mut self, row: Control) {
        let (old, Some(new)) = (self.old, self.new_table(row.new)) else { return };
        let is_copied = new.has_origins && new.origin == Origin::None && old.value != Value::Absent;
        let is_copied_back = old.has_origins && old.origin == Origin::None && new.origin == Origin::Written;
        if row.state == Copying && is_copied {
            let copied = |new: &mut Table| (new.value, new.origin) = (old.value, Origin::Copied);
            self.new_mut(row.new).into_iter().for_each(copied);
        } else if row.state == RollbackCopying && is_copied_back {
            (self.old.value, self.old.origin) = (new.value, Origin::Copied);
        }
    }

    fn reads(&mut self) -> impl Iterator<Item = &mut Read> {
        self.programs.iter_mut().flat_map(|p| [&mut p.lease, &mut p.unchecked]).flatten()
    }
}

/// Whether who is made for the new table `of` can use the row.
fn is_of(row: Control, of: u8) -> bool {
    row.new == of || matches!(row.state, Old | RolledBack)
}

impl Registry {
    fn has(&self, bug: Bug) -> bool {
        self.bugs.contains(&bug)
    }

    /// `PairStamps::check`
    fn fits(&self, w: &World, row: Control) -> bool {
        let (fence, before) = (of_fence(row.fence), row.before);
        let are = |found: Stamps, expected: Stamps| found != 0 && found & !expected == 0;
        let old = match row.state {
            Old if self.has(AbsentIsOld) => true,
            Old => w.old.stamps == OWN,
            Paused => are(w.old.stamps, OWN | fence),
            RolledBack => are(w.old.stamps, OWN | fence | before),
            RollbackPaused => are(w.old.stamps, fence | before),
            RollbackCopying if self.has(LateFence) => are(w.old.stamps, fence | before),
            Copying | Moved | RollbackCopying => are(w.old.stamps, fence),
            New => true,
        };
        let new = match row.state {
            Old | RolledBack => return old,
            Paused | Copying => PAIR,
            Moved | RollbackPaused => PAIR | ENDED,
            New if self.has(NewFirst) => PAIR | ENDED | CLOSED | OWN,
            New => ENDED | CLOSED | OWN,
            RollbackCopying => PAIR | ENDED | SPENT,
        };
        old && w.new_table(row.new).is_some_and(|table| are(table.stamps, new))
    }

    /// Whether a program that knows one row refuses the other.
    fn went_back(&self, known: Control, row: Control) -> bool {
        let is_other = row.change == known.change && row.state != known.state;
        (row.change < known.change || is_other) && !self.has(OlderTaken)
    }

    /// `Control::next`
    fn next(&self, w: &mut World, row: Control, state: State, new: u8) -> Control {
        let is_begun =
            matches!(state, Paused | RollbackPaused) || state == RolledBack && !self.has(SameFence);
        w.fences += u8::from(is_begun);
        let (fence, before) = match state {
            _ if is_begun && self.has(NoFence) => (1, 0),
            Paused => (w.fences, 0),
            _ if is_begun && self.has(ForgetsFence) => (w.fences, of_fence(row.fence)),
            _ if is_begun => (w.fences, row.before | of_fence(row.fence)),
            _ => (row.fence, row.before),
        };
        Control { state, change: row.change + 1, fence, before, new }
    }

    /// Adds a stamp in place of others, `stamp::replace`. Whether it was or is done.
    fn replace(&self, stamps: &mut Stamps, from: Stamps, to: Stamps) -> bool {
        let is_found = *stamps & (from | to) != 0 || self.has(AddsAnyway);
        if is_found {
            *stamps = *stamps & !from | to;
        }
        is_found
    }

    /// What a driver does next; none where it fails. Behind the last step it has done all, or reads the row again.
    fn script(&self, d: &Driver) -> Option<Vec<Step>> {
        let change = Step::Change;
        let tidy = [Step::Begin, Step::Wait, Step::Look, Step::DropOrigins, Step::Own];
        let close = [Step::Close, Step::Wait, Step::Look, Step::DropOrigins, Step::Own];
        let mut script = match (d.goal, d.row.state) {
            (Run, Moved | New) | (RollBack, Old) => vec![],
            (Run, Old) => vec![Step::Create, change(Paused)],
            (Run, RolledBack) => [&[Step::Unused], &tidy[..], &[Step::Create, change(Paused)]].concat(),
            (Run, Paused) if self.one_table => {
                vec![Step::Begin, Step::Wait, Step::AddOrigins, change(Copying)]
            }
            (Run, Paused) => vec![Step::Begin, Step::Wait, change(Copying)],
            (Run, Copying) => vec![Step::Copy, Step::Wait, change(Moved)],
            (Finish, Moved) if self.has(NewFirst) => vec![Step::HasOrigins, Step::Wait, change(New)],
            (Finish, Moved) => vec![Step::HasOrigins, Step::BeginEnd, Step::Wait, change(New)],
            (Finish, New) if self.has(NewFirst) => [&[Step::BeginEnd], &close[..]].concat(),
            (Finish, New) => close.to_vec(),
            (RollBack, Paused) if self.has(Shortcut) => vec![Step::Wait, change(RolledBack)],
            (RollBack, Paused) if self.has(EmptyShortcut) => {
                vec![Step::Wait, Step::IfEmpty, change(RolledBack), Step::Begin, change(RollbackPaused)]
            }
            (RollBack, Paused) => vec![Step::Begin, Step::Wait, change(RollbackPaused)],
            (RollBack, Copying) => vec![Step::Wait, change(RollbackPaused)],
            (RollBack, Moved) if self.has(Undecided) => vec![Step::Wait, change(RollbackPaused)],
            (RollBack, Moved) => vec![Step::NotFinishing, Step::Wait, change(RollbackPaused)],
            (RollBack, RollbackPaused) if self.has(LateFence) => {
                vec![Step::AddOrigins, Step::Wait, change(RollbackCopying)]
            }
            (RollBack, RollbackPaused) => vec![Step::Begin, Step::Wait, change(RollbackCopying)],
            (RollBack, RollbackCopying) => vec![Step::Copy, Step::Spend, Step::Wait, change(RolledBack)],
            (RollBack, RolledBack) => tidy.to_vec(),
            (Run, RollbackPaused | RollbackCopying) | (Finish, _) | (RollBack, New) => return None,
        };
        let ended = script.iter().position(|step| *step == Step::Own);
        match (d.goal, d.row.state) {
            (Run, Old) if self.has(StampFirst) => script.insert(1, Step::Begin),
            (RollBack, RollbackCopying) if self.has(LateFence) => script.insert(0, Step::Begin),
            (RollBack, RolledBack) if self.has(SpentLate) => script.insert(1, Step::Spend),
            (RollBack, Paused | Copying | Moved) if self.has(OriginsApart) => {
                let at = script.len() - 1;
                script.insert(at, Step::AddOrigins);
            }
            _ => {}
        }
        if let Some(ended) = ended.filter(|_| self.has(OwnFirst)) {
            script.swap(ended - 1, ended);
        }
        let is_left_out = |step: &Step| match step {
            Step::Wait => self.has(NoWait(d.row.state)),
            Step::Look => self.has(NoLook),
            Step::Close => self.has(NotClosed),
            Step::Spend => self.has(Unspent) || self.has(SpentLate) && d.row.state == RollbackCopying,
            _ => false,
        };
        script.retain(|step| !is_left_out(step));
        Some(script)
    }

    /// Takes a driver one step further. Gives whether it has done all, or failed, where it has ended.
    fn drive(&self, w: &mut World, at: usize) -> Option<bool> {
        let mut d = w.drivers[at]?;
        let ended = match d.stage {
            Stage::Row => {
                d.row = w.row;
                w.reads().for_each(|read| read.1 &= !(1 << at));
                d.stage = Stage::Stamps;
                (!is_of(d.row, d.of)).then_some(false)
            }
            Stage::Stamps if !self.fits(w, d.row) && !self.has(DriverUnchecked) => {
                let contradicted = (w.row == d.row).then_some(false);
                d = Driver::new(d.goal, d.of);
                contradicted
            }
            Stage::Stamps => {
                d.stage = Stage::Do(0);
                match self.script(&d) {
                    None => Some(false),
                    Some(script) => script.is_empty().then_some(true),
                }
            }
            Stage::Do(step) => {
                let script = self.script(&d)?;
                let is_last = usize::from(step) + 1 >= script.len();
                match (self.take(w, &d, at, script[usize::from(step)]), script.last()) {
                    (None, _) => Some(false),
                    (Some(0), _) => {
                        d = Driver::new(d.goal, d.of);
                        None
                    }
                    (Some(_), _) if is_last => Some(true),
                    (Some(steps), _) => {
                        d.has_waited |= script[usize::from(step)] == Step::Wait;
                        d.stage = Stage::Do(step + steps);
                        None
                    }
                }
            }
        };
        w.drivers[at] = Some(d).filter(|_| ended.is_none());
        ended
    }

    /// Gives how many steps of the script further it goes on; 0 to read the row again, none where it fails.
    fn take(&self, w: &mut World, d: &Driver, at: usize, step: Step) -> Option<u8> {
        let row = d.row;
        let (fence, before) = (of_fence(row.fence), row.before & !of_fence(row.fence));
        let new = w.new_table(row.new);
        let is_back = row.state == RolledBack;
        match step {
            Step::Unused if row.new == d.of => return None,
            Step::Create => {
                let has_origins = !self.one_table || self.has(OriginsAtOnce);
                let made = Table { stamps: PAIR, has_origins, value: Value::Absent, origin: Origin::None };
                let new = w.new[usize::from(d.of) - 1].get_or_insert(made);
                if new.stamps & PAIR == 0 || new.has_rows() && w.row == row {
                    return None;
                }
                w.old.has_origins |= self.one_table && has_origins;
            }
            Step::Begin if row.state == Old => {
                self.replace(&mut w.old.stamps, OWN, of_fence(w.fences + 1));
            }
            Step::Begin => {
                let replaced = if row.state == Paused { OWN } else { before };
                let is_begun = self.replace(&mut w.old.stamps, replaced, fence);
                let is_rollback = matches!(row.state, RollbackPaused | RollbackCopying);
                w.old.has_origins |= is_begun && is_rollback && !self.has(OriginsApart);
            }
            Step::AddOrigins if self.one_table => {
                w.old.has_origins = true;
                w.new_mut(row.new).into_iter().for_each(|new| new.has_origins = true);
            }
            Step::AddOrigins => w.old.has_origins = true,
            Step::Wait => {
                let lasts = |read: &Read| read.1 & 1 << at != 0;
                for p in &mut w.programs {
                    if p.lease.is_some_and(|read| read.0.state != New && !lasts(&read)) {
                        p.end_lease();
                    }
                    p.unchecked = p.unchecked.filter(lasts);
                }
            }
            Step::IfEmpty if new?.has_rows() => return Some(2),
            // Another driver has gone on.
            Step::Copy | Step::Look if w.row != row => return Some(0),
            Step::Copy => w.copy(row),
            Step::HasOrigins if new?.has_origins => {}
            Step::HasOrigins if new?.stamps & (ENDED | CLOSED | OWN) != 0 && !self.has(EndedNeedsOrigins) => {
            }
            Step::HasOrigins => return None,
            Step::NotFinishing if new?.stamps & (ENDED | CLOSED | OWN) != 0 => return None,
            Step::BeginEnd => {
                self.replace(&mut w.new_mut(row.new)?.stamps, PAIR, ENDED);
            }
            Step::Close => {
                self.replace(&mut w.new_mut(row.new)?.stamps, PAIR | ENDED, CLOSED);
            }
            Step::Spend => {
                self.replace(&mut w.new_mut(row.new)?.stamps, PAIR | ENDED, SPENT);
            }
            Step::DropOrigins => {
                let (found, by) = match is_back {
                    true => (w.old.stamps, fence | before),
                    false => (new?.stamps, PAIR | ENDED | CLOSED),
                };
                let is_dropped = found & by != 0 || self.has(DropsAnyway);
                if is_dropped && (is_back || self.one_table) {
                    w.old.drop_origins();
                }
                if is_dropped && (!is_back || self.one_table) {
                    w.new_mut(row.new).into_iter().for_each(Table::drop_origins);
                }
            }
            Step::Own if is_back => {
                self.replace(&mut w.old.stamps, fence | before, OWN);
            }
            Step::Own => {
                self.replace(&mut w.new_mut(row.new)?.stamps, PAIR | ENDED | CLOSED, OWN);
            }
            Step::Change(state) => {
                if w.row == row {
                    let new = if state == Paused { d.of } else { row.new };
                    let next = self.next(w, row, state, new);
                    w.set_row(next);
                }
                return Some(0);
            }
            Step::Unused | Step::Look | Step::IfEmpty | Step::NotFinishing => {}
        }
        Some(1)
    }

    /// The world after drivers, one after the other, if each has done all.
    fn after(&self, w: &World, of: u8, goals: &[Goal]) -> Option<World> {
        let mut w = w.clone();
        let done = goals.iter().all(|goal| {
            w.drivers[0] = Some(Driver::new(*goal, of));
            (0..100).find_map(|_| self.drive(&mut w, 0)) == Some(true)
        });
        done.then_some(w)
    }

    /// Whether one driver brings it to each end that its state has, by the row that there is.
    fn ends(&self, w: &World) -> bool {
        let of = match w.row.state {
            Old | RolledBack => self.of[self.of.len() - 1],
            _ => w.row.new,
        };
        let there = |goals: &[Goal]| {
            self.after(w, of, goals).is_some_and(|w| {
                let new = w.new_table(of);
                w.row.state == New && new.is_some_and(|new| new.stamps == OWN && !new.has_origins)
            })
        };
        let back = || {
            self.after(w, of, &[RollBack])
                .is_some_and(|w| matches!(w.row.state, Old | RolledBack) && w.old.stamps == OWN)
        };
        let new = w.new_table(of);
        match w.row.state {
            _ if !self.fits(w, w.row) => false,
            New => there(&[Finish]),
            Moved if new.is_some_and(|new| new.stamps & (ENDED | CLOSED | OWN) != 0) => there(&[Finish]),
            RollbackPaused | RollbackCopying => back(),
            RolledBack if w.row.new == of => back(),
            // There is a table of that name: another one is to be named.
            Old | RolledBack if w.restored > 0 => back(),
            _ => back() && there(&[Run, Finish]),
        }
    }

    /// Whether it comes to an end from here, once all programs and drivers have died. Where the row does not fit, a user restores another
    /// one.
    fn can_end(&self, w: &World) -> bool {
        let is_still = w.drivers.iter().all(Option::is_none)
            && w.programs.iter().all(|p| p.lease.is_none() && p.unchecked.is_none());
        let restored = |row: &Control| self.ends(&World { row: *row, ..w.clone() });
        let is_loud = || w.restored > 0 && !self.fits(w, w.row);
        !is_still || self.ends(w) || is_loud() && w.rows.iter().any(restored)
    }
}

impl Model for Registry {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let value = if self.is_empty { Value::Absent } else { Value::Newest };
        let mut w = World {
            row: ABSENT,
            rows: vec![ABSENT],
            fences: 0,
            old: Table { stamps: OWN, has_origins: false, value, origin: Origin::None },
            new: [None; 2],
            programs: self.programs.iter().map(|of| Program::new(*of)).collect(),
            drivers: vec![None; self.drivers],
            restored: 0,
            has_second: false,
        };
        if !self.again {
            return vec![w];
        }
        for state in [Paused, Copying, Moved, RollbackPaused, RollbackCopying, RolledBack] {
            let row = w.row;
            let next = self.next(&mut w, row, state, 1);
            w.set_row(next);
        }
        let (stamps, has_origins) = (if self.has(Unspent) { PAIR } else { SPENT }, !self.one_table);
        let origin = if has_origins { Origin::Written } else { Origin::None };
        w.new[0] = Some(Table { stamps, has_origins, value: Value::Stale, origin });
        if !self.is_late {
            return vec![w];
        }
        w.has_second = true;
        let late = |row: Control| {
            let d = Driver { row, has_waited: true, ..Driver::new(RollBack, 1) };
            let steps = self.script(&d).map_or(0, |script| script.len());
            let late = move |step| Driver { stage: Stage::Do(step as u8), ..d };
            (0..steps).map(late).collect::<Vec<_>>()
        };
        let rows = w.rows.iter().filter(|row| !matches!(row.state, Old | Paused | RollbackPaused));
        let late = rows.flat_map(|row| late(*row));
        late.map(|d| World { drivers: vec![None, Some(d)], ..w.clone() }).collect()
    }

    fn actions(&self, w: &World, actions: &mut Vec<Action>) {
        for (at, driver) in w.drivers.iter().enumerate() {
            if driver.is_some() {
                actions.extend([Action::Drive(at), Action::Die(at)]);
            } else if at == 0 || !w.has_second {
                let begin =
                    |of: u8| [Run, Finish, RollBack].map(|goal| Action::Begin { driver: at, goal, of });
                actions.extend(self.of.iter().flat_map(|of| begin(*of)));
            }
        }
        for (at, p) in w.programs.iter().enumerate() {
            actions.push(if p.unchecked.is_some() { Action::Check(at) } else { Action::Read(at) });
            actions.extend([Action::EndLease(at), Action::Restart(at)]);
            if p.lease.is_some() {
                actions.extend([Action::Write(at), Action::Copy(at)]);
            }
        }
        if w.old.stamps == OWN {
            actions.push(Action::WriteOld);
        }
        let is_own = |new: &u8| w.new_table(*new).is_some_and(|table| table.stamps == OWN);
        actions.extend((1..=2).filter(is_own).map(Action::WriteNew));
        if w.restored < self.restores {
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
                if !is_of(read.0, p.of) {
                    return None;
                }
                let is_renewed = |known: Control| {
                    known.fence == read.0.fence || self.has(OlderTaken) || self.has(FenceUnchecked)
                };
                match p.lease.map(|(row, _)| row).or(p.known) {
                    Some(known) if is_renewed(known) && (p.lease.is_some() || self.has(ExpiredUnchecked)) => {
                        if self.went_back(known, read.0) {
                            return None;
                        }
                        (p.lease, p.known) = (Some(read), None);
                    }
                    _ => p.unchecked = Some(read),
                }
            }
            Action::Check(at) => {
                let read = w.programs[at].unchecked.take()?;
                let fits = self.fits(&w, read.0);
                let p = &mut w.programs[at];
                let known = p.lease.map(|(row, _)| row).or(p.known);
                if fits && !known.is_some_and(|known| self.went_back(known, read.0)) {
                    (p.lease, p.known) = (Some(read), None);
                }
            }
            Action::EndLease(at) => {
                w.programs[at].end_lease();
                w.programs[at].unchecked = None;
            }
            Action::Restart(at) => w.programs[at] = Program::new(w.programs[at].of),
            Action::Write(at) => w.write_by(before.programs[at].lease?.0),
            Action::Copy(at) => w.copy(before.programs[at].lease?.0),
            Action::WriteOld => w.write(0, false),
            Action::WriteNew(new) => w.write(new, false),
            Action::Restore(row) => (w.row, w.restored) = (row, w.restored + 1),
        }
        // For which driver a lease is new makes no difference once that has waited.
        for at in 0..w.drivers.len() {
            if !w.drivers[at].is_some_and(|d| d.stage != Stage::Row && !d.has_waited) {
                w.reads().for_each(|read| read.1 |= 1 << at);
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
                    let tables = w.new.iter().flatten().chain([&w.old]);
                    tables.filter(|table| table.stamps == OWN).all(|table| w.is_right(table.value))
                },
            ),
            // It would find rows that were deleted.
            Property::always("a row in a table with its own stamp has no origin", |_: &Self, w: &World| {
                let mut tables = w.new.iter().flatten().chain([&w.old]);
                tables.all(|table| table.stamps != OWN || table.origin == Origin::None)
            }),
            Property::always("nobody is refused while the registry is whole", |m: &Self, w: &World| {
                w.restored > 0 || m.fits(w, w.row)
            }),
            Property::always("it comes to an end by one driver", |m: &Self, w: &World| m.can_end(w)),
            Property::sometimes("it can end with the new table", |_: &Self, w: &World| w.row.state == New),
            Property::sometimes("it can end with the old table", |m: &Self, w: &World| {
                w.row.state == RolledBack && w.row.new == m.of[m.of.len() - 1] && w.old.stamps == OWN
            }),
        ]
    }
}
