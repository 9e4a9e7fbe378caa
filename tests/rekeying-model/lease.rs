//! The leases by themselves, in ticks: what `world` takes for granted, that no process still acts by a state when the
//! control row is two further.
//!
//! A process reads the control row and may act by what it says for `lease` ticks of its own clock, counted from before it
//! asked. A driver changes the row, by a condition on what it holds, after `wait` ticks of its own clock, counted from when
//! it was told that the row holds that. Requests and answers take any time; a driver can be replaced at any time, and two
//! can run at once. Clocks need not agree, but run at most a quarter too slow or too fast.

use stateright::{Model, Property};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A lease counts from the answer.
    FromAnswer,
    /// The driver waits as long as a lease, and clocks run differently.
    NoMargin,
    /// The wait counts from when the change was sent.
    WaitFromSend,
    /// A new driver does not wait for the state that it finds.
    NewDriverGoesOn,
    /// The change has no condition.
    Unconditional,
}

#[derive(Clone)]
pub(crate) struct Lease {
    pub(crate) lease: u8,
    pub(crate) wait: u8,
    pub(crate) ticks: u8,
    pub(crate) bug: Option<Bug>,
}

/// A request: when it was sent, by the clock of who sent it, and what the server said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ask {
    sent: u8,
    said: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Driver {
    look: Option<Ask>,
    /// The state from which it goes on, and what it was told.
    change: Option<(u8, Ask)>,
    /// Since when it knows the row's state.
    since: Option<(u8, u8)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    tick: u8,
    row: u8,
    /// Of one process: the request on its way, and the states by which it may act, each with when that ends.
    ask: Option<Ask>,
    leases: Vec<(u8, u8)>,
    drivers: [Driver; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Tick,
    Ask,
    AskServed,
    Answered,
    Look(usize),
    LookServed(usize),
    Looked(usize),
    Change(usize),
    ChangeServed(usize),
    Changed(usize),
    Replace(usize),
}

impl State {
    /// The process's clock is slow, and the first driver's is fast.
    fn slow(&self) -> u8 {
        self.tick * 3 / 4
    }

    fn of_driver(&self, driver: usize) -> u8 {
        if driver == 0 { self.tick * 5 / 4 } else { self.tick }
    }
}

impl Model for Lease {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State { tick: 0, row: 0, ask: None, leases: vec![], drivers: Default::default() }]
    }

    fn actions(&self, s: &State, actions: &mut Vec<Action>) {
        if s.tick < self.ticks {
            actions.push(Action::Tick);
        }
        actions.push(match s.ask {
            None => Action::Ask,
            Some(Ask { said: None, .. }) => Action::AskServed,
            Some(_) => Action::Answered,
        });
        for (at, driver) in s.drivers.iter().enumerate() {
            match (driver.look, driver.change, driver.since) {
                (Some(Ask { said: None, .. }), ..) => actions.push(Action::LookServed(at)),
                (Some(_), ..) => actions.push(Action::Looked(at)),
                (_, Some((_, Ask { said: None, .. })), _) => actions.push(Action::ChangeServed(at)),
                (_, Some(_), _) => actions.push(Action::Changed(at)),
                (.., None) => actions.push(Action::Look(at)),
                (.., Some((_, since))) => {
                    if s.of_driver(at) >= since + self.wait {
                        actions.push(Action::Change(at));
                    }
                    actions.push(Action::Replace(at));
                }
            }
        }
    }

    fn next_state(&self, s: &State, action: Action) -> Option<State> {
        let mut s = s.clone();
        let (slow, row) = (s.slow(), s.row);
        match action {
            Action::Tick => s.tick += 1,
            Action::Ask => s.ask = Some(Ask { sent: slow, said: None }),
            Action::AskServed => s.ask.as_mut()?.said = Some(row),
            Action::Answered => {
                let Ask { sent, said } = s.ask.take()?;
                let from = if self.bug == Some(Bug::FromAnswer) { slow } else { sent };
                s.leases.retain(|(state, _)| Some(*state) != said);
                s.leases.push((said?, from + self.lease));
                s.leases.sort();
            }
            Action::Look(at) => s.drivers[at].look = Some(Ask { sent: s.of_driver(at), said: None }),
            Action::LookServed(at) => s.drivers[at].look.as_mut()?.said = Some(row),
            Action::Looked(at) => {
                let now = s.of_driver(at);
                let said = s.drivers[at].look.take()?.said?;
                let since =
                    if self.bug == Some(Bug::NewDriverGoesOn) { now.saturating_sub(self.wait) } else { now };
                s.drivers[at].since = Some((said, since));
            }
            Action::Change(at) => {
                let sent = s.of_driver(at);
                let (from, _) = s.drivers[at].since.take()?;
                if from == 3 {
                    return None;
                }
                s.drivers[at].change = Some((from, Ask { sent, said: None }));
            }
            Action::ChangeServed(at) => {
                let (from, ask) = s.drivers[at].change.as_mut()?;
                if *from == row || self.bug == Some(Bug::Unconditional) {
                    s.row = *from + 1;
                    ask.said = Some(s.row);
                } else {
                    s.drivers[at].change = None;
                }
            }
            Action::Changed(at) => {
                let now = s.of_driver(at);
                let (_, Ask { sent, said }) = s.drivers[at].change.take()?;
                let since = if self.bug == Some(Bug::WaitFromSend) { sent } else { now };
                s.drivers[at].since = Some((said?, since));
            }
            Action::Replace(at) => s.drivers[at] = Driver::default(),
        }
        // What has ended is as if it had not been.
        let slow = s.slow();
        s.leases.retain(|(_, end)| slow < *end);
        Some(s)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("who acts is at most one state behind", |_: &Self, s: &State| {
                s.leases.iter().all(|(state, _)| s.row.abs_diff(*state) <= 1)
            }),
            Property::sometimes("the row gets on", |_: &Self, s: &State| s.row == 2),
        ]
    }
}
