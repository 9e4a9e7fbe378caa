//! DOC

use stateright::{Model, Property};

use crate::rekeying::State::{self, *};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The old table is stamped before the row says `Paused`.
    StampFirst,
    /// A row that is not there is `Old`, whatever the stamps.
    AbsentIsOld,
    /// The stamp of the old table does not say the direction.
    OneDirection,
    /// It says the direction only once the row says `RollbackCopying`.
    LateDirection,
    /// It does not say which new table.
    AnyNewTable,
    /// Drivers do not read the stamps.
    DriverUnchecked,
    /// A program checks the stamps when it opens, and takes each other row as it is.
    RunningUnchecked,
    /// A program whose lease has ended goes on by the row that it knew, without the stamps.
    KnownIsEnough,
    /// A lease counts from when the stamps were read.
    FromStamps,
    /// A driver acts after the wait by what it saw before it.
    ActsAfterWait,
    /// A wait goes on when the stamps have changed meanwhile.
    WaitFromFirstLook,
    /// `finish` ends the way back by the row `New`, before any stamp.
    NewFirst,
    /// `finish` stamps the new table first of all.
    Undecided,
    /// `finish` does not wait for programs that act by `Copying`.
    OpenAtOnce,
    /// As those, and it drops the origins at the end.
    OriginsLast,
    /// From `Paused` the way back is `RolledBack` at once.
    Shortcut,
    /// The same, if the new table has no rows.
    EmptyShortcut,
    /// The family of the origins is added to the old table by a request of its own.
    OriginsApart,
    /// It is dropped before the stamp is changed.
    OriginsFirst,
    /// The new table is not spent.
    Unspent,
    /// It is spent before the row says `RolledBack`.
    SpentFirst,
    /// The driver does not wait after it has spent the new table.
    SpentAtOnce,
    /// A recovered row can be the same as one of before.
    SameBytes,
    SameRecovered,
    RecoverAtOnce,
    /// `recover` takes the way there, whatever the direction.
    RecoverThere,
    /// The origins are added to the table that becomes itself when it gets its new stamp.
    OriginsAtCreate,
    /// Limit
    TwiceBetweenLooks,
    /// Renewals check too.
    RenewalsCheck,
    Hasty(State),
}
use Bug::*;

impl Bug {
    pub(crate) fn named(s: &str) -> Self {
        let all = [
            StampFirst, AbsentIsOld, OneDirection, LateDirection, AnyNewTable, DriverUnchecked, RunningUnchecked,
            KnownIsEnough, FromStamps, ActsAfterWait, WaitFromFirstLook, NewFirst, Undecided, OpenAtOnce, OriginsLast, Shortcut,
            EmptyShortcut, OriginsApart, OriginsFirst, Unspent, SpentFirst, SpentAtOnce, SameBytes, SameRecovered, RecoverAtOnce, RecoverThere,
            OriginsAtCreate, TwiceBetweenLooks, RenewalsCheck,
            Hasty(RolledBack), Hasty(Paused), Hasty(Copying), Hasty(Moved), Hasty(RollbackPaused), Hasty(RollbackCopying),
        ];
        *all.iter().find(|b| format!("{b:?}") == s).expect(s)
    }
}

/// The stamp of the old table: of its own key type, or of the pair with this new table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OldStamp {
    Own,
    Forward(u8),
    Back(u8),
    Final(u8),
}
use OldStamp::{Back, Final, Forward, Own};

/// The stamp of a new table: of the pair, of its own key type at the end, or of a table whose rows count no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NewStamp {
    Pair,
    Own,
    Spent,
}
use NewStamp::{Pair, Spent};

/// The control row, which is absent in `Old`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Control {
    state: State,
    new: u8,
    change: u8,
}

const ABSENT: Control = Control { state: Old, new: 0, change: 0 };

/// A row, with the same key in each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Absent,
    /// It was acknowledged before the newest one.
    Stale,
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
    has_origins: bool,
    value: Value,
    origin: Origin,
}

/// Bits of drivers: whether the control row was read after the driver was told what it holds.
type Since = u8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Program {
    of: u8,
    lease: Option<(Control, Since)>,
    /// A row that was read, before the stamps are.
    read: Option<(Control, Since)>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Create,
    /// Of the old table's stamp. The origins come with the way back, and go with the end.
    Restamp(OldStamp, OldStamp),
    Spend,
    /// The new table's own stamp, without origins.
    Open,
    AddOrigins,
    AddOldOrigins,
    DropOrigins,
    DropOldOrigins,
    Copy,
    Change(Control),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    Look,
    Check,
    Wait(Step),
    Do(Step),
}

type Stamps = (OldStamp, [Option<NewStamp>; 2]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    goal: Goal,
    of: u8,
    stamps: Option<Stamps>,
    told: Option<Control>,
    has_waited: bool,
    has_copied: bool,
    is_disturbed: bool,
    stage: Stage,
}

impl Driver {
    fn new(goal: Goal, of: u8) -> Self {
        Self { goal, of, stamps: None, told: None, has_waited: false, has_copied: false, is_disturbed: false, stage: Stage::Check }
    }
}

enum Plan {
    Error,
    Done,
    Now(Step),
    Waited(Step),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    row: Control,
    /// Each value that the row had, in order.
    rows: Vec<Control>,
    old: Table<OldStamp>,
    new: [Option<Table<NewStamp>>; 2],
    programs: Vec<Program>,
    drivers: Vec<Option<Driver>>,
    faults: u8,
    recoveries: u8,
    late: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Start(usize, Goal, u8),
    Die(usize),
    Drive(usize),
    Read(usize),
    Check(usize),
    Lapse(usize),
    Write(usize),
    PlainOld,
    PlainNew(usize),
    Restore(Control),
}

#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) programs: &'static [u8],
    pub(crate) drivers: usize,
    /// How often the second driver may be started
    pub(crate) late: u8,
    pub(crate) of: &'static [u8],
    pub(crate) faults: u8,
    pub(crate) recoveries: u8,
    pub(crate) second: bool,
    pub(crate) empty: bool,
    pub(crate) one_table: bool,
    pub(crate) bugs: &'static [Bug],
}

fn new_stamp(stamps: &Stamps, new: u8) -> Option<NewStamp> {
    stamps.1[usize::from(new.checked_sub(1)?)]
}

impl World {
    fn stamps(&self) -> Stamps {
        (self.old.stamp, self.new.map(|new| Some(new?.stamp)))
    }

    fn new(&self, new: u8) -> Option<Table<NewStamp>> {
        self.new[usize::from(new.checked_sub(1)?)]
    }

    fn new_mut(&mut self, new: u8) -> Option<&mut Table<NewStamp>> {
        self.new[usize::from(new.checked_sub(1)?)].as_mut()
    }

    fn set_row(&mut self, row: Control) {
        self.row = row;
        if let Err(at) = self.rows.binary_search(&row) {
            self.rows.insert(at, row);
        }
    }

    /// Whether a read that finds this is right.
    fn is_newest(&self, value: Value) -> bool {
        let is_written = self.old.value == Value::Newest || self.new.iter().flatten().any(|new| new.value == Value::Newest);
        match value {
            Value::Newest => true,
            Value::Absent => !is_written,
            Value::Stale => false,
        }
    }

    fn reads(&self, row: Control) -> Value {
        let new = self.new(row.new);
        match (row.state, new) {
            (Old | RolledBack, _) | (_, None) => self.old.value,
            (Moved | New, Some(new)) => new.value,
            (_, Some(new)) if self.old.origin == Origin::None && new.origin != Origin::None => new.value,
            _ => self.old.value,
        }
    }

    /// A write to the new table of this number, or to the old one for 0.
    fn write(&mut self, to: u8, has_origin: bool, needs_origin: bool) {
        let has_origins = match to {
            0 => self.old.has_origins,
            _ => self.new(to).is_some_and(|new| new.has_origins),
        };
        if needs_origin && !has_origins {
            return;
        }
        let outdate = |value: &mut Value| {
            if *value == Value::Newest {
                *value = Value::Stale;
            }
        };
        outdate(&mut self.old.value);
        self.new.iter_mut().flatten().for_each(|new| outdate(&mut new.value));
        let (value, origin) = match to {
            0 => (&mut self.old.value, &mut self.old.origin),
            _ => match self.new[usize::from(to) - 1].as_mut() {
                Some(new) => (&mut new.value, &mut new.origin),
                None => return,
            },
        };
        *value = Value::Newest;
        if has_origin && has_origins {
            *origin = Origin::Written;
        }
    }

    fn write_by(&mut self, row: Control) {
        match row.state {
            Old => self.write(0, false, false),
            RolledBack => self.write(0, true, false),
            RollbackCopying => self.write(0, true, true),
            Copying => self.write(row.new, true, true),
            Moved | New => self.write(row.new, true, false),
            Paused | RollbackPaused => {}
        }
    }
}

impl Registry {
    fn has(&self, bug: Bug) -> bool {
        self.bugs.contains(&bug)
    }

    fn agrees(&self, stamps: &Stamps, row: Control, of: u8) -> bool {
        let n = row.new;
        let old = |any: &[OldStamp]| {
            let found = stamps.0;
            let same = |a: OldStamp, b: OldStamp| match (a, b) {
                (Forward(_), Forward(_)) | (Back(_), Back(_)) | (Final(_), Final(_)) if self.has(AnyNewTable) => true,
                (Forward(a) | Back(a), Forward(b) | Back(b)) if self.has(OneDirection) => a == b,
                _ => a == b,
            };
            any.iter().any(|stamp| same(*stamp, found))
        };
        match row.state {
            Old => return old(&[Own]) || self.has(AbsentIsOld),
            RolledBack => return old(&[Own, Forward(n), Back(n)]),
            _ if n != of => return false,
            _ => {}
        }
        let Some(new) = new_stamp(stamps, n) else { return false };
        let is_pair = new == Pair;
        match row.state {
            Paused => is_pair && old(&[Own, Forward(n)]),
            Copying => is_pair && old(&[Forward(n)]),
            Moved => new == NewStamp::Own || is_pair && old(&[Forward(n), Final(n)]),
            New => new == NewStamp::Own || is_pair && self.has(NewFirst),
            RollbackPaused => is_pair && old(&[Forward(n), Back(n)]),
            RollbackCopying => (is_pair || new == Spent && self.has(SpentFirst)) && (old(&[Back(n)]) || self.has(LateDirection) && old(&[Forward(n)])),
            Old | RolledBack => unreachable!(),
        }
    }

    fn recovered(&self, stamps: &Stamps, row: Control, of: u8) -> Option<Control> {
        let is_of = |n| n == of || self.has(AnyNewTable);
        if stamps.0 == Own {
            return Some(Control { state: RolledBack, ..row });
        }
        let state = match (stamps.0, new_stamp(stamps, of)?) {
            (Forward(n), Pair) if is_of(n) => Paused,
            (Back(n), Pair) if is_of(n) && self.has(RecoverThere) => Paused,
            (Back(n), Pair) if is_of(n) => RollbackPaused,
            (Forward(n) | Back(n), Spent) if is_of(n) => RolledBack,
            (Final(n), Pair) if is_of(n) => Moved,
            (Final(n), NewStamp::Own) if is_of(n) => New,
            _ => return None,
        };
        Some(Control { state, new: of, ..row })
    }

    fn plan(&self, w: &World, d: &Driver, row: Control) -> Plan {
        use Plan::{Done, Error, Now, Waited};
        let n = row.new;
        let Some(stamps) = d.stamps else { return Error };
        let old = stamps.0;
        let new = w.new(n);
        let new_is = |stamp| new_stamp(&stamps, n) == Some(stamp);
        let has_rows = |new: Table<NewStamp>| new.value != Value::Absent || new.origin != Origin::None;
        let is_opened = new_is(NewStamp::Own);
        // Chosen when it is written.
        let unlike = if self.has(SameBytes) && d.goal != Recover { row.change + 1 } else { 0 };
        let next = |state| Control { state, change: unlike, ..row };
        let change = |state| if self.has(Hasty(row.state)) { Now(Step::Change(next(state))) } else { Waited(Step::Change(next(state))) };
        let agrees = self.agrees(&stamps, row, d.of);
        if d.goal == Recover {
            if self.agrees(&stamps, row, n) {
                return Done;
            }
            let Some(to) = self.recovered(&stamps, row, d.of) else { return Error };
            if self.has(SameRecovered)
                && let Some(row) = w.rows.iter().find(|row| (row.state, row.new) == (to.state, to.new))
            {
                return Waited(Step::Change(*row));
            }
            let step = Step::Change(Control { change: unlike, ..to });
            return if self.has(RecoverAtOnce) { Now(step) } else { Waited(step) };
        }
        // A `finish` was faster.
        if row.state == RollbackPaused && old == Final(n) && n == d.of {
            return change(Moved);
        }
        if !agrees && !self.has(DriverUnchecked) {
            return Error;
        }
        match (d.goal, row.state) {
            (Run | RollBack, RolledBack) if new_is(Pair) && !self.has(Unspent) => Now(Step::Spend),
            (Run | RollBack, RolledBack) if self.has(OriginsFirst) && old != Own && w.old.has_origins => Waited(Step::DropOldOrigins),
            (Run | RollBack, RolledBack) if old != Own => if self.has(SpentAtOnce) { Now(Step::Restamp(old, Own)) } else { Waited(Step::Restamp(old, Own)) },
            (RollBack, RolledBack | Old) => Done,
            (Run, Old | RolledBack) => {
                let to = Step::Change(Control { state: Paused, new: d.of, change: unlike });
                match w.new(d.of) {
                    None => Now(Step::Create),
                    Some(new) if new.stamp != Pair || has_rows(new) => Error,
                    Some(_) if self.has(StampFirst) && old == Own => Now(Step::Restamp(Own, Forward(d.of))),
                    Some(_) if row.state == Old => Now(to),
                    Some(_) => change(Paused).or(to),
                }
            }
            (RollBack, Paused) if self.has(Shortcut) || self.has(EmptyShortcut) && !new.is_some_and(has_rows) => change(RolledBack),
            (_, Paused) if old == Own => Now(Step::Restamp(Own, Forward(n))),
            (Run, Paused) if new.is_some_and(|new| !new.has_origins) => Waited(Step::AddOrigins),
            (Run, Paused) => change(Copying),
            (Run, Copying) if !d.has_copied => Now(Step::Copy),
            (Run, Copying) => change(Moved),
            (Run, Moved | New) => Done,
            (Finish, Moved) if self.has(NewFirst) => change(New),
            (Finish, New) if self.has(NewFirst) && !is_opened => Waited(Step::Open),
            (Finish, Moved) if is_opened => if self.has(OriginsLast) { change(New) } else { Now(Step::Change(next(New))) },
            (Finish, Moved) if old == Forward(n) && !self.has(Undecided) => Now(Step::Restamp(old, Final(n))),
            (Finish, Moved) if self.has(OpenAtOnce) => Now(Step::Open),
            (Finish, Moved) => Waited(Step::Open),
            (Finish, New) if new.is_some_and(|new| new.has_origins) => Waited(Step::DropOrigins),
            (Finish, New) => Done,
            (RollBack, Paused | Copying | Moved) if is_opened || old != Forward(n) => Error,
            (RollBack, Paused | Copying | Moved) if self.has(OriginsApart) && !w.old.has_origins => Now(Step::AddOldOrigins),
            (RollBack, Paused | Copying | Moved) => change(RollbackPaused),
            (RollBack, RollbackPaused) if old == Forward(n) && !self.has(LateDirection) => Now(Step::Restamp(old, Back(n))),
            (RollBack, RollbackPaused) if !new.is_some_and(has_rows) => change(RolledBack),
            (RollBack, RollbackPaused) => change(RollbackCopying),
            (RollBack, RollbackCopying) if old == Forward(n) => Now(Step::Restamp(old, Back(n))),
            (RollBack, RollbackCopying) if !d.has_copied => Now(Step::Copy),
            (RollBack, RollbackCopying) if self.has(SpentFirst) && new_is(Pair) => Now(Step::Spend),
            (RollBack, RollbackCopying) => change(RolledBack),
            (Run, RollbackPaused | RollbackCopying) | (Finish, _) | (RollBack, New) | (Recover, _) => Error,
        }
    }

    /// Takes a driver's next step. If it has come to its end: whether with what it was to do, or with an error.
    fn drive(&self, w: &mut World, at: usize) -> Option<Option<bool>> {
        let mut d = w.drivers[at]?;
        let mut ended = None;
        match d.stage {
            Stage::Check => {
                let stamps = w.stamps();
                if self.has(WaitFromFirstLook) {
                    d.stamps = Some(stamps);
                } else if d.stamps != Some(stamps) {
                    d = Driver { stamps: Some(stamps), ..Driver::new(d.goal, d.of) };
                }
                d.stage = Stage::Look;
            }
            Stage::Look => {
                if d.told != Some(w.row) {
                    d = Driver { stamps: d.stamps, told: Some(w.row), ..Driver::new(d.goal, d.of) };
                    for p in &mut w.programs {
                        for (_, since) in [&mut p.lease, &mut p.read].into_iter().flatten() {
                            *since &= !(1 << at);
                        }
                    }
                }
                d.is_disturbed = false;
                match self.plan(w, &d, w.row) {
                    Plan::Error => ended = Some(false),
                    Plan::Done => ended = Some(true),
                    Plan::Waited(step) if !d.has_waited => d.stage = Stage::Wait(step),
                    Plan::Now(step) | Plan::Waited(step) => d.stage = Stage::Do(step),
                }
            }
            Stage::Wait(step) => {
                // Leases that count from before have ended.
                for p in &mut w.programs {
                    let holds = |row: &(Control, Since)| row.1 & 1 << at != 0;
                    p.lease = p.lease.filter(|lease| lease.0.state == New || holds(lease));
                    p.read = p.read.filter(|read| holds(read) || self.has(FromStamps));
                }
                d.has_waited = true;
                d.stage = if self.has(ActsAfterWait) { Stage::Do(step) } else { Stage::Check };
            }
            Stage::Do(step) => {
                self.take(w, &d, step, d.told?);
                if step == Step::Copy {
                    (d.has_copied, d.stage) = (true, Stage::Check);
                } else {
                    d = Driver::new(d.goal, d.of);
                }
            }
        }
        w.drivers[at] = Some(d).filter(|_| ended.is_none());
        Some(ended)
    }

    fn take(&self, w: &mut World, d: &Driver, step: Step, told: Control) {
        let n = told.new;
        match step {
            Step::Create => {
                let has_origins = !self.one_table || self.has(OriginsAtCreate);
                if w.new(d.of).is_none() {
                    w.new[usize::from(d.of) - 1] =
                        Some(Table { stamp: Pair, has_origins, value: Value::Absent, origin: Origin::None });
                    if self.one_table {
                        w.old.has_origins |= has_origins;
                    }
                }
            }
            Step::Restamp(from, to) => {
                if w.old.stamp == from {
                    w.old.stamp = to;
                    match to {
                        Back(n) => {
                            w.old.has_origins = true;
                            if self.one_table && let Some(new) = w.new_mut(n) {
                                new.has_origins = true;
                            }
                        }
                        Own => self.drop_old(w, n),
                        _ => {}
                    }
                }
            }
            Step::Spend => {
                if let Some(new) = w.new_mut(n).filter(|new| new.stamp == Pair) {
                    new.stamp = Spent;
                }
            }
            Step::Open => {
                let keeps = self.has(OriginsLast);
                let one_table = self.one_table;
                if let Some(new) = w.new_mut(n).filter(|new| new.stamp == Pair) {
                    new.stamp = NewStamp::Own;
                    if !keeps {
                        (new.has_origins, new.origin) = (false, Origin::None);
                        if one_table {
                            (w.old.has_origins, w.old.origin) = (false, Origin::None);
                        }
                    }
                }
            }
            Step::AddOrigins => {
                if let Some(new) = w.new_mut(n) {
                    new.has_origins = true;
                    w.old.has_origins = true;
                }
            }
            Step::AddOldOrigins => w.old.has_origins = true,
            Step::DropOrigins => {
                if let Some(new) = w.new_mut(n) {
                    (new.has_origins, new.origin) = (false, Origin::None);
                }
            }
            Step::DropOldOrigins => self.drop_old(w, n),
            Step::Copy => {
                let Some(new) = w.new(n) else { return };
                match told.state {
                    Copying if new.has_origins && new.origin == Origin::None && w.old.value != Value::Absent => {
                        let value = w.old.value;
                        w.new[usize::from(n) - 1] = Some(Table { value, origin: Origin::Copied, ..new });
                    }
                    RollbackCopying if w.old.has_origins && w.old.origin == Origin::None && new.origin == Origin::Written => {
                        (w.old.value, w.old.origin) = (new.value, Origin::Copied);
                    }
                    _ => {}
                }
            }
            Step::Change(to) => {
                if w.row == told {
                    w.recoveries += u8::from(d.goal == Recover);
                    let unlike = 1 + w.rows.iter().map(|row| row.change).max().unwrap_or(0);
                    w.set_row(Control { change: if to.change == 0 { unlike } else { to.change }, ..to });
                }
            }
        }
    }

    fn drop_old(&self, w: &mut World, n: u8) {
        (w.old.has_origins, w.old.origin) = (false, Origin::None);
        if self.one_table && let Some(new) = w.new_mut(n) {
            (new.has_origins, new.origin) = (false, Origin::None);
        }
    }

    /// Forgets what makes no difference.
    fn normal(&self, mut w: World) -> World {
        for (at, driver) in w.drivers.iter().enumerate() {
            if !driver.is_some_and(|d| d.told.is_some() && !d.has_waited) {
                for p in &mut w.programs {
                    for (_, since) in [&mut p.lease, &mut p.read].into_iter().flatten() {
                        *since |= 1 << at;
                    }
                }
            }
        }
        w.programs.sort();
        w
    }

    /// Drivers, one after the other, if each comes to its end.
    fn alone(&self, w: &World, of: u8, goals: &[Goal]) -> Option<World> {
        let mut w = w.clone();
        for goal in goals {
            w.drivers[0] = Some(Driver::new(*goal, of));
            let ended = (0..200).find_map(|_| self.drive(&mut w, 0).flatten());
            if ended != Some(true) {
                return None;
            }
        }
        Some(w)
    }

    fn can_end(&self, w: &World) -> bool {
        if w.drivers.iter().any(Option::is_some) || w.programs.iter().any(|p| p.lease.is_some() || p.read.is_some()) {
            return true;
        }
        let first: &[Goal] = if w.faults > 0 { &[Recover] } else { &[] };
        let of = match w.old.stamp {
            Own => *self.of.last().unwrap(),
            Forward(n) | Back(n) | Final(n) => n,
        };
        let new = w.new(of).map(|new| new.stamp);
        let forth = |goals: &[Goal]| {
            self.alone(w, of, &[first, goals].concat()).is_some_and(|w| {
                w.row.state == New && w.new(of).is_some_and(|new| new.stamp == NewStamp::Own && !new.has_origins)
            })
        };
        let back = || {
            self.alone(w, of, &[first, &[RollBack]].concat())
                .is_some_and(|w| w.old.stamp == Own && matches!(w.row.state, Old | RolledBack))
        };
        let is_there = self.agrees(&w.stamps(), w.row, of);
        let is_back = is_there && matches!(w.row.state, RollbackPaused | RollbackCopying | RolledBack) && w.row.new == of;
        match (w.old.stamp, new) {
            (Final(_), _) | (_, Some(NewStamp::Own)) => forth(&[Finish]),
            _ if is_there && w.row.state == New => forth(&[Finish]),
            (Back(_), _) | (_, Some(Spent)) => back(),
            _ if is_back => back(),
            _ => back() && forth(&[Run, Finish]),
        }
    }

    pub(crate) fn shown(w: &World) -> String {
        let mut s = format!("row {:?} {} {}", w.row.state, w.row.new, w.row.change);
        s += &format!(" | old {:?}{} {:?} {:?}", w.old.stamp, if w.old.has_origins { " o" } else { "" }, w.old.value, w.old.origin);
        for t in w.new.iter().flatten() {
            s += &format!(" | new {:?}{} {:?} {:?}", t.stamp, if t.has_origins { " o" } else { "" }, t.value, t.origin);
        }
        for p in &w.programs {
            s += &format!(" | P{} lease {:?} read {:?}", p.of, p.lease.map(|(r, s)| (r.state, r.change, s)), p.read.map(|(r, s)| (r.state, r.change, s)));
        }
        for d in w.drivers.iter().flatten() {
            s += &format!(" | {:?}{} {:?} told {:?} {}", d.goal, d.of, d.stage, d.told.map(|r| (r.state, r.change)), if d.has_waited { "waited" } else { "" });
        }
        s
    }
}

impl Plan {
    fn or(self, step: Step) -> Self {
        match self {
            Self::Waited(_) => Self::Waited(step),
            _ => Self::Now(step),
        }
    }
}

impl Model for Registry {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let value = if self.empty { Value::Absent } else { Value::Newest };
        let mut w = World {
            row: ABSENT,
            rows: vec![ABSENT],
            old: Table { stamp: Own, has_origins: false, value, origin: Origin::None },
            new: [None; 2],
            programs: self.programs.iter().map(|of| Program { of: *of, lease: None, read: None, known: None }).collect(),
            drivers: vec![None; self.drivers],
            faults: 0,
            recoveries: 0,
            late: 0,
        };
        if self.second {
            let states = [Paused, Copying, Moved, RollbackPaused, RollbackCopying, RolledBack];
            for (state, change) in states.into_iter().zip(1..) {
                w.set_row(Control { state, new: 1, change });
            }
            let has_origins = !self.one_table;
            let stamp = if self.has(Unspent) { Pair } else { Spent };
            let origin = if has_origins { Origin::Written } else { Origin::None };
            // A request of before that came late.
            w.old.has_origins = self.has(OriginsApart);
            w.new[0] = Some(Table { stamp, has_origins, value: Value::Stale, origin });
        }
        vec![self.normal(w)]
    }

    fn actions(&self, w: &World, actions: &mut Vec<Action>) {
        for (at, driver) in w.drivers.iter().enumerate() {
            if driver.is_some() {
                actions.extend([Action::Drive(at), Action::Die(at)]);
                continue;
            }
            if at == 1 && (w.late == self.late || w.drivers[0].is_none() && self.late == u8::MAX) {
                continue;
            }
            for of in self.of {
                let goals: &[Goal] = if w.recoveries < self.recoveries { &[Run, Finish, RollBack, Recover] } else { &[Run, Finish, RollBack] };
                actions.extend(goals.iter().map(|goal| Action::Start(at, *goal, *of)));
            }
        }
        for (at, p) in w.programs.iter().enumerate() {
            let is_fresh = matches!(p.lease, Some((row, since)) if row == w.row && since + 1 == 1 << self.drivers);
            match p.read {
                Some(_) => actions.push(Action::Check(at)),
                None if !is_fresh => actions.push(Action::Read(at)),
                None => {}
            }
            if p.lease.is_some() || p.read.is_some() {
                actions.push(Action::Lapse(at));
            }
            if p.lease.is_some() {
                actions.push(Action::Write(at));
            }
        }
        if w.old.stamp == Own {
            actions.push(Action::PlainOld);
        }
        for (at, new) in w.new.iter().enumerate() {
            if new.is_some_and(|new| new.stamp == NewStamp::Own) {
                actions.push(Action::PlainNew(at));
            }
        }
        if w.faults < self.faults && !w.drivers.iter().flatten().any(|d| d.is_disturbed) {
            actions.extend(w.rows.iter().filter(|row| **row != w.row).map(|row| Action::Restore(*row)));
        }
    }

    fn next_state(&self, w: &World, action: Action) -> Option<World> {
        let before = w;
        let mut w = w.clone();
        let row = w.row;
        let fresh = (1 << self.drivers) - 1;
        match action {
            Action::Start(at, goal, of) => {
                w.drivers[at] = Some(Driver::new(goal, of));
                if at == 1 && self.late < u8::MAX {
                    w.late += 1;
                }
                self.drive(&mut w, at)?;
            }
            Action::Die(at) => w.drivers[at] = None,
            Action::Drive(at) => {
                self.drive(&mut w, at)?;
            }
            Action::Read(at) => {
                let p = &mut w.programs[at];
                let held = p.lease.map(|(held, _)| held);
                let is_taken = held == Some(row) && !self.has(RenewalsCheck)
                    || self.has(RunningUnchecked) && held.is_some_and(|held| held.new == row.new || held.state == Old)
                    || self.has(KnownIsEnough) && p.known == Some(row);
                if is_taken {
                    p.lease = Some((row, fresh));
                } else {
                    p.read = Some((row, fresh));
                }
            }
            Action::Check(at) => {
                let (row, since) = w.programs[at].read.take()?;
                if self.agrees(&w.stamps(), row, w.programs[at].of) {
                    w.programs[at].lease = Some((row, if self.has(FromStamps) { fresh } else { since }));
                }
            }
            Action::Lapse(at) => (w.programs[at].lease, w.programs[at].read) = (None, None),
            Action::Write(at) => w.write_by(before.programs[at].lease?.0),
            Action::PlainOld => w.write(0, false, false),
            Action::PlainNew(at) => w.write(at as u8 + 1, false, false),
            Action::Restore(row) => {
                w.faults += 1;
                w.row = row;
                if !self.has(TwiceBetweenLooks) {
                    for d in w.drivers.iter_mut().flatten() {
                        let looks_again = !matches!(d.stage, Stage::Do(_)) && d.told.is_some();
                        d.is_disturbed = looks_again && w.faults < self.faults;
                    }
                }
            }
        }
        if self.has(KnownIsEnough) {
            for p in &mut w.programs {
                p.known = p.lease.map(|(row, _)| row).or(p.known);
            }
        }
        let w = self.normal(w);
        (w != *before).then_some(w)
    }

    fn within_boundary(&self, w: &World) -> bool {
        w.rows.len() < 40
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("who acts reads the newest", |_: &Self, w: &World| {
                w.programs.iter().all(|p| p.lease.is_none_or(|(row, _)| w.is_newest(w.reads(row))))
            }),
            Property::always("a table with its own stamp has the newest", |_: &Self, w: &World| {
                (w.old.stamp != Own || w.is_newest(w.old.value))
                    && w.new.iter().flatten().all(|new| new.stamp != NewStamp::Own || w.is_newest(new.value))
            }),
            Property::always("nobody is refused without a fault", |m: &Self, w: &World| {
                w.faults > 0
                    || m.agrees(&w.stamps(), w.row, w.row.new)
                    || w.row.state == RollbackPaused && w.old.stamp == Final(w.row.new)
            }),
            Property::always("a driver alone comes to an end", |m: &Self, w: &World| m.can_end(w)),
            Property::sometimes("it ends with the new table", |_: &Self, w: &World| w.row.state == New),
            Property::sometimes("it ends with the old table", |_: &Self, w: &World| {
                w.row.state == RolledBack && w.old.stamp == Own
            }),
        ]
    }
}
