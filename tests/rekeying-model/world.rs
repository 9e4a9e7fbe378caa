//! Two tables, clients, a mover, and a network in between, for any protocol of moving rows from one table to the other.
//!
//! - A row is changed by one atomic request at a time: [`Rpc`]. Nothing spans two rows.
//! - A request can arrive at any time after it was sent, also when its sender has given up ([`Action::GiveUp`]) or is
//!   dead ([`Action::Crash`]): `late` says whether such a request outlives the wait between two states.
//! - An operation runs by the state that its process has a lease on: the newest one or the one before. The driver takes
//!   the next state when every operation by the state before has ended or been given up: that is what waiting for leases
//!   means, when an acknowledgement counts only within the lease. `premature` leaves the wait out.
//! - A client's program is a function from the answers so far to what comes next, so it can die at every step.
//!
//! What is checked is in `Check::properties`.

use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Model, Property};

use crate::lin::{Lin, Op, Row};

pub(crate) const OLD: usize = 0;
pub(crate) const NEW: usize = 1;

/// More answers than any program needs.
const MOST_ANSWERS: usize = 20;

/// A stored row. What a flag means is the protocol's, such as the row's origin; 0 is none. `ts` and `del` are the timestamps
/// of the value and of a delete sentinel, for the protocol that goes by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Stored {
    pub(crate) row: Row,
    pub(crate) flag: u8,
    pub(crate) ts: u8,
    pub(crate) del: u8,
}

/// A change within one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Change {
    Flag(u8),
    /// The value becomes this one.
    Replace(Row),
    Do(Op),
    /// `DeleteFromRow`: the flag goes too.
    DeleteRow,
    /// A cell with a timestamp: the greatest one is read.
    Cell(Row, u8),
    Sentinel(u8),
    /// An increment, which makes a newer cell of what is there.
    Bump(Op, u8),
}

/// One request about one row: a read where it changes nothing. `when` has a bit for each flag with which `then` is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Rpc {
    pub(crate) table: usize,
    pub(crate) key: usize,
    pub(crate) when: u8,
    pub(crate) then: Vec<Change>,
    pub(crate) other: Vec<Change>,
}

pub(crate) fn get(table: usize, key: usize) -> Next {
    write(table, key, vec![])
}

pub(crate) fn write(table: usize, key: usize, then: Vec<Change>) -> Next {
    cas(table, key, u8::MAX, then, vec![])
}

pub(crate) fn cas(table: usize, key: usize, when: u8, then: Vec<Change>, other: Vec<Change>) -> Next {
    Next::Send(Rpc { table, key, when, then, other })
}

/// What a program does next.
pub(crate) enum Next {
    Send(Rpc),
    /// It has ended; a read with the row, a claim with one where it has won.
    End(Row),
    /// A scan has ended, with what it gave of each key.
    Rows(Vec<Vec<Row>>),
}

/// What a request found before it changed anything, whether `then` was done, and whether it was refused, since the family
/// of the flags is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Answer {
    pub(crate) found: Stored,
    pub(crate) matched: bool,
    pub(crate) refused: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Run<S> {
    Idle,
    /// `variant` is a choice that the program makes when it begins; `given` is what a scan has given in states before.
    Active {
        view: S,
        variant: u8,
        log: Vec<Answer>,
        given: Vec<Vec<Row>>,
    },
    Ended,
    /// Given up: its outcome is unknown. A write that leaves the same row when it is made twice may go again, by a state
    /// with another authority than this one.
    Lost(Option<S>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Owner {
    Client(usize),
    Mover(usize),
    Nobody,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message<S> {
    pub(crate) owner: Owner,
    pub(crate) view: S,
    pub(crate) rpc: Rpc,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World<S> {
    pub(crate) before: S,
    pub(crate) now: S,
    pub(crate) tables: [Vec<Stored>; 2],
    /// Whether the family of the flags has been dropped from a table: what would set one fails as a whole.
    pub(crate) dropped: [bool; 2],
    pub(crate) net: Vec<Message<S>>,
    pub(crate) ops: Vec<Run<S>>,
    /// The mover's work on each key in this state.
    pub(crate) mover: Vec<Run<S>>,
    pub(crate) crashes: u8,
    pub(crate) clock: u8,
    /// Which operations have gone again.
    pub(crate) again: u8,
    pub(crate) lin: Vec<Lin>,
    pub(crate) fault: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action<S> {
    Start {
        op: usize,
        view: S,
        variant: u8,
    },
    /// A write whose outcome is unknown goes again by the newest state.
    Again(usize),
    /// A scan goes on behind its last row by the newest state.
    Resume(usize),
    Arrive(usize),
    GiveUp(usize),
    Move(usize),
    Crash(usize),
    Enter(S),
    DropFlags(usize),
}

pub(crate) trait Protocol: Sized {
    type State: Copy + Debug + PartialEq + Eq + Hash + Ord;

    const FIRST: Self::State;

    /// Whether writes have timestamps, in the order in which they begin: a program's variant is its timestamp then.
    const TIMED: bool = false;

    /// What a client does; none where operations of this kind wait in the state.
    fn client(&self, view: Self::State, op: Op, key: usize, variant: u8, log: &[Answer]) -> Option<Next>;

    /// What the mover does with a key; none where it has no work in the state.
    fn mover(&self, now: Self::State, key: usize, log: &[Answer]) -> Option<Next>;

    /// The states that the driver may enter; `moved`: the mover has dealt with every key in this state.
    fn next(&self, now: Self::State, moved: bool) -> Vec<Self::State>;

    /// The table whose flags are dropped in the state, once every process is in it.
    fn drops(&self, _now: Self::State) -> Option<usize> {
        None
    }

    /// The table that is left in a last state.
    fn ends_with(&self, now: Self::State) -> Option<usize>;

    fn can_go_back(&self) -> bool;

    /// Where a process in this state writes the key now: none where it waits, or in both.
    fn authority(&self, view: Self::State, old: Stored, new: Stored) -> Option<usize>;

    /// How many choices a program of this operation has when it begins.
    fn variants(&self, _op: Op) -> u8 {
        1
    }

    /// What a scan that began at `key` can give so far; none where it cannot go on by another state.
    fn given(&self, _view: Self::State, _key: usize, _variant: u8, _log: &[Answer]) -> Option<Vec<Vec<Row>>> {
        None
    }
}

#[derive(Clone)]
pub(crate) struct Check<P> {
    pub(crate) protocol: P,
    /// What is stored at first, for each key.
    pub(crate) rows: Vec<Row>,
    pub(crate) ops: Vec<(usize, Op)>,
    /// How often the mover may die with a request on the way.
    pub(crate) crashes: u8,
    /// Whether requests whose senders have given up can arrive at any later time.
    pub(crate) late: bool,
    pub(crate) premature: bool,
    pub(crate) again: Again,
}

/// Whether puts and deletes of unknown outcome go again, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// By a state with another authority.
    Elsewhere,
    Anywhere,
}

impl<P: Protocol> Check<P> {
    fn moved(&self, w: &World<P::State>) -> bool {
        w.mover.iter().all(|run| *run == Run::Ended)
    }

    fn views(w: &World<P::State>) -> Vec<P::State> {
        let mut views = vec![w.now, w.before];
        views.dedup();
        views
    }

    fn apply(w: &mut World<P::State>, rpc: &Rpc) -> Answer {
        let dropped = w.dropped[rpc.table];
        let stored = &mut w.tables[rpc.table][rpc.key];
        let found = *stored;
        let matched = rpc.when & (1 << found.flag) != 0;
        let changes = if matched { &rpc.then } else { &rpc.other };
        if dropped && changes.iter().any(|change| matches!(change, Change::Flag(_))) {
            return Answer { found, matched, refused: true };
        }
        for change in changes {
            match *change {
                Change::Flag(flag) => stored.flag = flag,
                Change::Replace(row) => stored.row = row,
                Change::Do(op) => stored.row = op.apply(stored.row),
                Change::DeleteRow => *stored = Stored::default(),
                Change::Cell(row, ts) if ts >= stored.ts => (stored.row, stored.ts) = (row, ts),
                Change::Cell(..) => {}
                Change::Bump(op, ts) => (stored.row, stored.ts) = (op.apply(stored.row), stored.ts.max(ts)),
                Change::Sentinel(ts) => stored.del = stored.del.max(ts),
            }
        }
        Answer { found, matched, refused: false }
    }

    fn send(w: &mut World<P::State>, owner: Owner, view: P::State, rpc: Rpc) {
        w.net.push(Message { owner, view, rpc });
        w.net.sort();
    }

    /// Goes on with a client's operation, which has had a further answer.
    fn go_on(&self, w: &mut World<P::State>, op: usize) {
        let Run::Active { view, variant, log, given } = w.ops[op].clone() else { return };
        let (key, kind) = self.ops[op];
        match self.protocol.client(view, kind, key + given.len(), variant, &log) {
            Some(Next::Send(rpc)) => Self::send(w, Owner::Client(op), view, rpc),
            Some(Next::End(row)) => {
                w.ops[op] = Run::Ended;
                let (lin, op) = (&mut w.lin[key], op as u8);
                let is_right = match kind {
                    Op::Read => lin.end_read(op, row),
                    Op::Claim(_) => lin.end_write(op, Some(row.is_some())),
                    _ => lin.end_write(op, None),
                };
                if !is_right {
                    w.fault = Some("an answer that no order explains");
                }
            }
            Some(Next::Rows(rows)) => {
                w.ops[op] = Run::Ended;
                for (key, given) in given.iter().chain(&rows).enumerate() {
                    let row = given.first().copied().unwrap_or(Row::NONE);
                    if given.len() > 1 {
                        w.fault = Some("a scan that gave a row twice");
                    } else if !w.lin[key].end_read(op as u8, row) {
                        w.fault = Some("a scan that gave a row, or left it out, as no order explains");
                    }
                }
            }
            None => unreachable!("an operation that has begun waits for nothing but answers"),
        }
    }

    /// What the driver's wait is for: no request outlives it whose sender has given up, unless requests are late.
    fn wait(&self, w: &mut World<P::State>) {
        if !self.late {
            let now = w.now;
            w.net.retain(|message| message.owner != Owner::Nobody || message.view == now);
        }
    }

    /// What a read gives that runs now without anything in between.
    fn read_now(&self, w: &World<P::State>, view: P::State, key: usize) -> Row {
        let (mut log, mut copy) = (vec![], w.clone());
        loop {
            match self.protocol.client(view, Op::Read, key, 0, &log) {
                Some(Next::Send(rpc)) => log.push(Self::apply(&mut copy, &rpc)),
                Some(Next::End(row)) => return row,
                _ => unreachable!("reads never wait"),
            }
        }
    }
}

impl<P: Protocol> Model for Check<P> {
    type State = World<P::State>;
    type Action = Action<P::State>;

    fn init_states(&self) -> Vec<Self::State> {
        let old =
            self.rows.iter().map(|row| Stored { row: *row, ts: row.is_some().into(), ..Stored::default() });
        vec![World {
            before: P::FIRST,
            now: P::FIRST,
            tables: [old.collect(), vec![Stored::default(); self.rows.len()]],
            dropped: [false; 2],
            net: vec![],
            ops: vec![Run::Idle; self.ops.len()],
            mover: vec![Run::Idle; self.rows.len()],
            crashes: 0,
            clock: 1,
            again: 0,
            lin: self.rows.iter().map(|row| Lin::new(*row)).collect(),
            fault: None,
        }]
    }

    fn actions(&self, w: &Self::State, actions: &mut Vec<Self::Action>) {
        if w.fault.is_some() {
            return;
        }
        for (op, run) in w.ops.iter().enumerate() {
            let (key, kind) = self.ops[op];
            match run {
                Run::Idle => {
                    for view in Self::views(w) {
                        if self.protocol.client(view, kind, key, 0, &[]).is_some() {
                            actions.extend((0..self.protocol.variants(kind)).map(|variant| Action::Start {
                                op,
                                view,
                                variant,
                            }));
                        }
                    }
                }
                Run::Active { view, variant, log, given } => {
                    actions.push(Action::GiveUp(op));
                    if kind == Op::Scan
                        && *view != w.now
                        && self.protocol.given(*view, given.len(), *variant, log).is_some()
                        && self.protocol.client(w.now, kind, 0, 0, &[]).is_some()
                    {
                        actions.push(Action::Resume(op));
                    }
                }
                Run::Lost(Some(view)) => {
                    let authority =
                        |view| self.protocol.authority(view, w.tables[OLD][key], w.tables[NEW][key]);
                    let other = authority(w.now).is_some() && authority(w.now) != authority(*view)
                        || self.again == Again::Anywhere;
                    if other && self.protocol.client(w.now, kind, key, 0, &[]).is_some() {
                        actions.push(Action::Again(op));
                    }
                }
                Run::Ended | Run::Lost(None) => {}
            }
        }
        for (at, message) in w.net.iter().enumerate() {
            if at == 0 || w.net[at - 1] != *message {
                actions.push(Action::Arrive(at));
            }
        }
        for (key, run) in w.mover.iter().enumerate() {
            match run {
                Run::Idle if self.protocol.mover(w.now, key, &[]).is_some() => {
                    actions.push(Action::Move(key));
                }
                Run::Active { .. } if w.crashes < self.crashes => actions.push(Action::Crash(key)),
                _ => {}
            }
        }
        let behind = w.ops.iter().any(|run| matches!(run, Run::Active { view, .. } if *view != w.now));
        if !behind || self.premature {
            actions.extend(self.protocol.next(w.now, self.moved(w)).into_iter().map(Action::Enter));
        }
        if let Some(table) = self.protocol.drops(w.now)
            && !w.dropped[table]
            && !behind
        {
            actions.push(Action::DropFlags(table));
        }
    }

    fn next_state(&self, w: &Self::State, action: Self::Action) -> Option<Self::State> {
        let mut w = w.clone();
        match action {
            Action::Start { op, view, variant } => {
                let (key, kind) = self.ops[op];
                match kind {
                    Op::Scan => w.lin.iter_mut().for_each(|lin| lin.begin(op as u8, kind)),
                    _ => w.lin[key].begin(op as u8, kind),
                }
                let timed = P::TIMED && kind.is_write();
                w.clock += u8::from(timed);
                let variant = if timed { w.clock } else { variant };
                w.ops[op] = Run::Active { view, variant, log: vec![], given: vec![] };
                self.go_on(&mut w, op);
            }
            Action::Again(op) => {
                w.ops[op] = Run::Active { view: w.now, variant: 0, log: vec![], given: vec![] };
                w.again |= 1 << op;
                self.go_on(&mut w, op);
            }
            Action::Resume(op) => {
                w.net.retain(|message| message.owner != Owner::Client(op));
                let now = w.now;
                let Run::Active { view, variant, log, given } = &mut w.ops[op] else { return None };
                given.extend(self.protocol.given(*view, given.len(), *variant, log)?);
                (*view, *log) = (now, vec![]);
                self.go_on(&mut w, op);
            }
            Action::Arrive(at) => {
                let Message { owner, rpc, .. } = w.net.remove(at);
                let answer = Self::apply(&mut w, &rpc);
                match owner {
                    Owner::Client(op) => {
                        if let Run::Active { log, .. } = &mut w.ops[op] {
                            log.push(answer);
                        }
                        self.go_on(&mut w, op);
                    }
                    Owner::Mover(key) => {
                        let Run::Active { view, log, .. } = &mut w.mover[key] else { return None };
                        log.push(answer);
                        let view = *view;
                        match self.protocol.mover(view, key, log) {
                            Some(Next::Send(rpc)) => Self::send(&mut w, owner, view, rpc),
                            _ => w.mover[key] = Run::Ended,
                        }
                    }
                    Owner::Nobody => {}
                }
            }
            Action::GiveUp(op) => {
                let kind = self.ops[op].1;
                let Run::Active { view, .. } = w.ops[op] else { return None };
                let again = self.again != Again::Never
                    && matches!(kind, Op::Put(_) | Op::Delete)
                    && w.again & 1 << op == 0;
                w.ops[op] = Run::Lost(again.then_some(view));
                if !kind.is_write() {
                    w.lin.iter_mut().for_each(|lin| lin.forget(op as u8));
                }
                orphan(&mut w.net, Owner::Client(op), kind.is_write());
            }
            Action::Move(key) => {
                w.mover[key] = Run::Active { view: w.now, variant: 0, log: vec![], given: vec![] };
                match self.protocol.mover(w.now, key, &[])? {
                    Next::Send(rpc) => {
                        let now = w.now;
                        Self::send(&mut w, Owner::Mover(key), now, rpc);
                    }
                    _ => w.mover[key] = Run::Ended,
                }
            }
            Action::Crash(key) => {
                w.crashes += 1;
                w.mover[key] = Run::Idle;
                orphan(&mut w.net, Owner::Mover(key), true);
            }
            Action::Enter(state) => {
                // A mover that is still at work when another one, or a person, goes on is as one that has died.
                for key in 0..w.mover.len() {
                    if matches!(w.mover[key], Run::Active { .. }) {
                        if w.crashes == self.crashes {
                            return None;
                        }
                        w.crashes += 1;
                        orphan(&mut w.net, Owner::Mover(key), true);
                    }
                    w.mover[key] = Run::Idle;
                }
                self.wait(&mut w);
                (w.before, w.now) = (w.now, state);
            }
            Action::DropFlags(table) => {
                w.dropped[table] = true;
                w.before = w.now;
                w.tables[table].iter_mut().for_each(|stored| stored.flag = 0);
                self.wait(&mut w);
            }
        }
        Some(w)
    }

    fn within_boundary(&self, w: &Self::State) -> bool {
        w.ops
            .iter()
            .chain(&w.mover)
            .all(|run| !matches!(run, Run::Active { log, .. } if log.len() > MOST_ANSWERS + 1))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            // No lost acknowledged write, no resurrected delete, one truth for all processes: whoever reads now, in
            // whichever state a process can be, finds what the operations so far allow.
            Property::always("a read at any time is right", |check: &Self, w: &World<P::State>| {
                (0..w.lin.len()).all(|key| {
                    Self::views(w).into_iter().all(|view| w.lin[key].allows(check.read_now(w, view, key)))
                })
            }),
            // The reads and scans that clients have made, one after the other.
            Property::always("reads and scans are right", |_: &Self, w: &World<P::State>| w.fault.is_none()),
            Property::always("one authority for a key", |check: &Self, w: &World<P::State>| {
                (0..w.lin.len()).all(|key| {
                    let authority =
                        |view| check.protocol.authority(view, w.tables[OLD][key], w.tables[NEW][key]);
                    match (authority(w.before), authority(w.now)) {
                        (Some(one), Some(other)) => one == other,
                        _ => true,
                    }
                })
            }),
            Property::always("no program goes round in circles", |_: &Self, w: &World<P::State>| {
                w.ops
                    .iter()
                    .chain(&w.mover)
                    .all(|run| !matches!(run, Run::Active { log, .. } if log.len() > MOST_ANSWERS))
            }),
            // No action leads back, so where every end is a last state, each run comes to one.
            Property::always("it comes to an end", |check: &Self, w: &World<P::State>| {
                let mut actions = vec![];
                check.actions(w, &mut actions);
                !actions.is_empty() || w.fault.is_some() || check.protocol.ends_with(w.now).is_some()
            }),
            Property::sometimes("it can end with the new table", |check: &Self, w: &World<P::State>| {
                check.protocol.ends_with(w.now) == Some(NEW)
            }),
        ];
        if self.protocol.can_go_back() {
            properties.push(Property::sometimes(
                "it can end with the old table",
                |check: &Self, w: &World<P::State>| check.protocol.ends_with(w.now) == Some(OLD),
            ));
        }
        properties
    }
}

/// What was sent goes on without its sender. A read changes nothing and is forgotten.
fn orphan<S: Ord>(net: &mut Vec<Message<S>>, owner: Owner, writes: bool) {
    net.retain(|message| writes && changes(&message.rpc) || message.owner != owner);
    net.iter_mut().filter(|message| message.owner == owner).for_each(|message| message.owner = Owner::Nobody);
    net.sort();
}

fn changes(rpc: &Rpc) -> bool {
    !rpc.then.is_empty() || !rpc.other.is_empty()
}
