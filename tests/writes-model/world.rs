//! Writers, a network that delays, repeats and reorders requests, and one row.
//!
//! - A call builds its request when it starts, by its writer's clock: the server's clock plus a skew. Retries send the same
//!   request. `Form::Guarded` alone takes a later time when the answer says that the row has one.
//! - An answer can be lost after the request was applied; a request in flight can be sent again. A caller can give up, or
//!   drop the call, at any time: the outcome is then unknown, and its requests may still arrive. With `late`, requests of a
//!   call that has returned may arrive too.
//! - The server's clock advances at any time; with `step_back` it steps back once, as when another server takes the row.
//! - Garbage is collected at any time.

use stateright::{Model, Property};

use crate::row::Mutation::*;
use crate::row::Time::{At, Server};
use crate::row::{Condition, KEY, NONE, OPT, Request, Row};

/// What a put sends. An absent column is one that the type has and the value lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// What former releases sent: absent columns deleted, present ones set at the client's time.
    Old,
    /// What an `exclusive` family sends: all columns deleted, present ones set at the server's time.
    Whole,
    /// As `Whole`, at the client's time.
    WholeClient,
    /// What `put` sends: absent columns deleted, present ones set at the server's time.
    AbsentServer,
    /// All columns deleted up to the client's time, present ones set at that time.
    Ranged,
    /// Absent columns set to a cell that means none, all at the client's time.
    NoneCell,
    /// `WholeClient` on condition that no cell is as new as the client's time; otherwise again, with a later time.
    Guarded,
    /// What `insert` sends: present columns set at the server's time, nothing deleted.
    Insert,
    /// As `Whole`, and columns that the type lacks are deleted with the family.
    Family,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A put of a value, with the optional column or without.
    Put(Form, u8, bool),
    /// A put by a program whose type lacks the optional column.
    PutFewer(Form, u8),
    /// An update of the optional column alone.
    Set(Form, u8),
    /// Puts the second value where the key column holds the first.
    PutIf(Form, u8, u8),
    PutIfAbsent(Form, u8),
    /// Reads, then adds 1 where the version is still the one that was read. With `later`, the new cell's time is after it.
    Count {
        later: bool,
    },
    /// A load's write of a row. The load began at time `BEGIN`.
    Load(LoadForm, u8, bool),
    Delete,
    Increment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LoadForm {
    /// What former releases sent: as `Form::Old`, at the time at which the load began.
    Old,
    /// As `Form::Ranged`, at the time at which the load began.
    RangedAtBegin,
    /// What `load` sends: `Form::AbsentServer`.
    Bulk,
    /// What `load` sends to an `exclusive` family: `Form::Whole`.
    Replace,
    /// What `if_absent` sends, on condition that the row does not exist.
    IfAbsent,
    /// `Form::Whole` on condition that no cell is from the load's start or later.
    UnlessNewer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CallState {
    Idle,
    InFlight {
        request: Request,
        sent: u8,
    },
    /// The call returned: whether its condition held. A put has none, and is always done.
    Returned(bool),
    /// The caller gave up: the outcome is unknown.
    GaveUp,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) now: u8,
    pub(crate) stepped: bool,
    pub(crate) row: Row,
    pub(crate) net: Vec<(usize, Request)>,
    pub(crate) calls: Vec<CallState>,
    /// For each call, a bit for each call that had returned before it started.
    pub(crate) before: Vec<u8>,
    pub(crate) successes: u8,
    pub(crate) violation: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    Start(usize),
    /// A request arrives at the server; `true` if its answer arrives at the caller.
    Arrive(usize, bool),
    /// The caller sends the request again, while the first stays in flight.
    SendAgain(usize),
    GiveUp(usize),
    Tick,
    StepBack,
    Collect,
}

/// What must hold in every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Law {
    WholeRows,
    /// As `WholeRows`, for the column that both programs have.
    WholeOfOwn,
    /// What is reported as done is what a read then returns.
    DoneIsRead,
    /// No applied write stores a cell that is already older than the maximum age.
    NotDroppedOnArrival,
    /// A put that returned before another one began does not come back.
    StaysReplaced,
    LastOfBatchWins,
    LoadHidesNothingNewer,
    DeletedStaysDeleted,
    NoLostUpdate,
    RowsAreReadable,
    KeepsUnknownColumns,
}

#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) ops: Vec<Op>,
    pub(crate) skews: Vec<i8>,
    pub(crate) laws: Vec<Law>,
    /// The most times that a request is sent.
    pub(crate) sends: u8,
    pub(crate) late: bool,
    pub(crate) ticks: u8,
    pub(crate) step_back: bool,
    pub(crate) max_age: Option<u8>,
    /// Whether the server's clock advances between the cells of a request, which then have different times.
    pub(crate) uneven: bool,
    /// Whether each call starts only after the previous one has ended.
    pub(crate) in_order: bool,
    /// The initial row: both columns hold this value, with this time.
    pub(crate) stored: Option<(u8, u8)>,
}

/// The server's clock in the initial state.
pub(crate) const BEGIN: u8 = 4;

impl Check {
    fn value(&self, op: Op) -> Option<[Option<u8>; 2]> {
        match op {
            Op::Put(_, value, opt) | Op::Load(_, value, opt) => Some([Some(value), opt.then_some(value)]),
            Op::PutFewer(_, value) | Op::PutIf(_, _, value) | Op::PutIfAbsent(_, value) => {
                Some([Some(value), None])
            }
            Op::Set(_, value) => Some([None, Some(value)]),
            Op::Count { .. } | Op::Increment => None,
            Op::Delete => Some([None, None]),
        }
    }

    fn put(form: Form, clock: u8, value: [Option<u8>; 2], columns: &[usize]) -> Request {
        let at = match form {
            Form::Whole | Form::AbsentServer | Form::Insert | Form::Family => Server,
            _ => At(clock),
        };
        let mut mutations = Vec::new();
        for &column in columns {
            match form {
                Form::Old | Form::AbsentServer if value[column].is_none() => {
                    mutations.push(DeleteColumn(column));
                }
                Form::Whole | Form::WholeClient | Form::Guarded => mutations.push(DeleteColumn(column)),
                Form::Ranged => mutations.push(DeleteUntil(column, clock)),
                _ => {}
            }
        }
        if form == Form::Family {
            mutations.extend([DeleteColumn(KEY), DeleteColumn(OPT)]);
        }
        for &column in columns {
            match value[column] {
                Some(value) => mutations.push(Set(column, at, value)),
                None if form == Form::NoneCell => mutations.push(Set(column, at, NONE)),
                None => {}
            }
        }
        let condition = if form == Form::Guarded { Condition::NoneFrom(clock) } else { Condition::Always };
        Request { condition, mutations }
    }

    fn request(&self, index: usize, state: &State) -> Option<Request> {
        let clock = state.now.saturating_add_signed(self.skews[index]);
        let op = self.ops[index];
        let value = self.value(op);
        let both = [KEY, OPT];
        Some(match op {
            Op::Put(form, ..) => Self::put(form, clock, value?, &both),
            Op::PutFewer(form, _) => Self::put(form, clock, value?, &[KEY]),
            Op::Set(form, _) => Self::put(form, clock, value?, &[OPT]),
            Op::PutIf(form, from, _) => {
                Request { condition: Condition::Equals(KEY, from), ..Self::put(form, clock, value?, &both) }
            }
            Op::PutIfAbsent(form, _) => {
                Request { condition: Condition::NoRow, ..Self::put(form, clock, value?, &both) }
            }
            Op::Count { later } => {
                let (at, value) = state.row.newest(KEY)?;
                let time = if later { At(clock.max(at + 1)) } else { Server };
                let mutations = vec![DeleteColumn(KEY), Set(KEY, time, value + 1)];
                Request { condition: Condition::Version(KEY, at), mutations }
            }
            Op::Load(form, ..) => match form {
                LoadForm::Old => Self::put(Form::Old, BEGIN, value?, &both),
                LoadForm::RangedAtBegin => Self::put(Form::Ranged, BEGIN, value?, &both),
                LoadForm::Bulk => Self::put(Form::AbsentServer, 0, value?, &both),
                LoadForm::Replace => Self::put(Form::Whole, 0, value?, &both),
                LoadForm::IfAbsent => {
                    Request { condition: Condition::NoRow, ..Self::put(Form::Whole, 0, value?, &both) }
                }
                LoadForm::UnlessNewer => Request {
                    condition: Condition::NoneFrom(BEGIN),
                    ..Self::put(Form::Whole, 0, value?, &both)
                },
            },
            Op::Delete => Request { condition: Condition::Always, mutations: vec![DeleteRow] },
            Op::Increment => Request { condition: Condition::Always, mutations: vec![Increment(OPT)] },
        })
    }

    /// Whether the call retries after an attempt of unknown outcome.
    fn is_retried(&self, index: usize) -> bool {
        !matches!(self.ops[index], Op::PutIf(..) | Op::PutIfAbsent(..) | Op::Count { .. } | Op::Increment)
    }

    fn arrive(&self, state: &mut State, at: usize, answered: bool) {
        let (index, request) = state.net.remove(at);
        let done = state.row.apply(&request, state.now, self.uneven.into());
        state.now += u8::from(self.uneven);
        let oldest = self.max_age.map_or(0, |age| state.now.saturating_sub(age));
        if done && let Some(value) = self.value(self.ops[index]) {
            let reads = state.row.read();
            let is_read = match self.ops[index] {
                Op::PutFewer(form, _) if form != Form::Family => reads[KEY] == value[KEY],
                Op::Set(..) => reads[OPT] == value[OPT],
                _ => reads == value,
            };
            if !is_read && self.laws.contains(&Law::DoneIsRead) {
                state.violation = Some("done and not read");
            }
            let is_dropped =
                state.row.0.iter().any(|cells| cells.first().is_some_and(|cell| cell.0 < oldest));
            if is_dropped && self.laws.contains(&Law::NotDroppedOnArrival) {
                state.violation = Some("dropped on arrival");
            }
        }
        if !answered {
            return;
        }
        // The answer is ignored unless the call still waits for it.
        let CallState::InFlight { sent, .. } = state.calls[index] else {
            return;
        };
        if !done && matches!(self.ops[index], Op::Put(Form::Guarded, ..)) {
            // The caller learns how new the row is and takes a later time.
            let newest = state.row.0.iter().flatten().map(|cell| cell.0).max().unwrap_or(0);
            let value = self.value(self.ops[index]).unwrap_or_default();
            let request = Self::put(Form::Guarded, newest + 1, value, &[KEY, OPT]);
            state.net.push((index, request.clone()));
            state.net.sort();
            state.calls[index] = CallState::InFlight { request, sent };
            return;
        }
        state.successes += u8::from(done && matches!(self.ops[index], Op::Count { .. }));
        self.end(state, index, CallState::Returned(done));
    }

    fn end(&self, state: &mut State, index: usize, call: CallState) {
        // Requests of a call that was given up or dropped may arrive at any time.
        let is_late = self.late || call == CallState::GaveUp;
        state.calls[index] = call;
        if !is_late {
            state.net.retain(|(sender, _)| *sender != index);
        }
    }
}

impl Model for Check {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut row = Row::default();
        if let Some((value, at)) = self.stored {
            row.0 = [vec![(at, value)], vec![(at, value)]];
        }
        let count = self.ops.len();
        let calls = vec![CallState::Idle; count];
        vec![State {
            now: BEGIN,
            stepped: false,
            row,
            net: vec![],
            calls,
            before: vec![0; count],
            successes: 0,
            violation: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.violation.is_some() {
            return;
        }
        for (index, call) in state.calls.iter().enumerate() {
            match call {
                CallState::Idle => {
                    let is_next = index == 0
                        || !matches!(state.calls[index - 1], CallState::Idle | CallState::InFlight { .. });
                    if !self.in_order || is_next {
                        actions.push(Action::Start(index));
                    }
                }
                CallState::InFlight { sent, .. } => {
                    if self.is_retried(index) && *sent < self.sends {
                        actions.push(Action::SendAgain(index));
                    }
                    actions.push(Action::GiveUp(index));
                }
                CallState::Returned(_) | CallState::GaveUp => {}
            }
        }
        for at in 0..state.net.len() {
            actions.extend([Action::Arrive(at, true), Action::Arrive(at, false)]);
        }
        if state.now < BEGIN + self.ticks {
            actions.push(Action::Tick);
        }
        if self.step_back && !state.stepped {
            actions.push(Action::StepBack);
        }
        actions.push(Action::Collect);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Start(index) => {
                let request = self.request(index, &state)?;
                state.net.push((index, request.clone()));
                let returned = |(at, call): (usize, &CallState)| {
                    u8::from(matches!(call, CallState::Returned(true))) << at
                };
                state.before[index] = state.calls.iter().enumerate().map(returned).sum();
                state.calls[index] = CallState::InFlight { request, sent: 1 };
            }
            Action::Arrive(at, answered) => self.arrive(&mut state, at, answered),
            Action::SendAgain(index) => {
                let CallState::InFlight { request, sent } = &mut state.calls[index] else {
                    return None;
                };
                *sent += 1;
                let request = request.clone();
                state.net.push((index, request));
            }
            Action::GiveUp(index) => self.end(&mut state, index, CallState::GaveUp),
            Action::Tick => state.now += 1,
            Action::StepBack => (state.now, state.stepped) = (state.now - 2, true),
            Action::Collect => {
                let oldest = self.max_age.map_or(0, |age| state.now.saturating_sub(age));
                state.row.collect(1, oldest);
            }
        }
        state.net.sort();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = vec![Property::<Self>::always(
            "what is reported as done is read, and not dropped on arrival",
            |_, state| state.violation.is_none(),
        )];
        all.extend(self.laws.iter().filter_map(|law| {
            Some(match law {
                Law::DoneIsRead | Law::NotDroppedOnArrival => return None,
                Law::WholeRows => Property::always("whole rows", |check: &Check, state: &State| {
                    let reads = state.row.read();
                    let first = check.stored.map(|(value, _)| [Some(value), Some(value)]);
                    let is_put = check.ops.iter().any(|op| check.value(*op) == Some(reads));
                    is_put || first == Some(reads) || reads == [None, None]
                }),
                Law::WholeOfOwn => {
                    Property::always("whole of own columns", |check: &Check, state: &State| {
                        let own = state.row.read()[KEY];
                        let is_put = |op: &Op| check.value(*op).is_some_and(|value| value[KEY] == own);
                        own.is_none()
                            || check.stored.is_some_and(|(value, _)| Some(value) == own)
                            || check.ops.iter().any(is_put)
                    })
                }
                Law::StaysReplaced => {
                    Property::always("what was replaced stays so", |check: &Check, state: &State| {
                        let reads = state.row.read();
                        let is_stale = |index: usize| {
                            check.value(check.ops[index]) == Some(reads)
                                && (0..state.calls.len()).any(|later| {
                                    state.calls[later] == CallState::Returned(true)
                                        && state.before[later] >> index & 1 == 1
                                })
                        };
                        !(0..state.calls.len()).any(is_stale)
                    })
                }
                Law::LastOfBatchWins => {
                    Property::always("the last of a batch wins", |check: &Check, state: &State| {
                        let all_done = state.calls.iter().all(|call| matches!(call, CallState::Returned(_)));
                        let last = check.ops.last().and_then(|op| check.value(*op));
                        !all_done || !state.net.is_empty() || Some(state.row.read()) == last
                    })
                }
                Law::LoadHidesNothingNewer => {
                    Property::always("a load hides nothing newer", |check: &Check, state: &State| {
                        let is_live = |op: &Op| matches!(op, Op::Put(..));
                        let Some(live) = check.ops.iter().position(is_live) else {
                            return true;
                        };
                        let returned = matches!(state.calls[live], CallState::Returned(_));
                        !returned || Some(state.row.read()) == check.value(check.ops[live])
                    })
                }
                Law::DeletedStaysDeleted => {
                    Property::always("deleted stays deleted", |check: &Check, state: &State| {
                        let Some(gone) = check.ops.iter().position(|op| *op == Op::Delete) else {
                            return true;
                        };
                        !matches!(state.calls[gone], CallState::Returned(_))
                            || state.row.read() == [None, None]
                    })
                }
                Law::NoLostUpdate => Property::always("no update is lost", |check: &Check, state: &State| {
                    let first = check.stored.map_or(0, |(value, _)| value);
                    state.row.newest(KEY).is_none_or(|cell| cell.1 - first >= state.successes)
                }),
                Law::RowsAreReadable => {
                    Property::always("every row can be read", |_: &Check, state: &State| {
                        let [key, opt] = state.row.read();
                        key.is_some() || opt.is_none()
                    })
                }
                Law::KeepsUnknownColumns => Property::always(
                    "columns that a program does not know stay",
                    |check: &Check, state: &State| {
                        state.row.read()[OPT] == check.stored.map(|(value, _)| value)
                    },
                ),
            })
        }));
        all
    }
}
