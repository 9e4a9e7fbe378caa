//! Histories: what clients did to the rows of a table, and whether an order of their calls explains every answer.
//!
//! The engine of three runners, each with what it alone is about. `tests/histories` runs writers on threads, in real time, on a server with
//! a port; `tests/system` runs the whole system in one thread, in simulated time; `tests/rekeying/chaos` runs processes that are killed.
//! A runner records each call before it is sent and once it is answered, by a clock of its own, and [`check`] decides about each row by
//! [`linearizable`].

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::linearizable::{self, Operation, Outcome, Row, Verdict};
use crate::proxy::Moment;

/// A client's operation on a row.
#[derive(Clone, Debug)]
pub struct Call {
    /// The number of the client.
    pub client: usize,
    /// The number of the row.
    pub at: u64,
    /// What the client saw of it.
    pub operation: Operation,
    /// Whether it had no effect, and no answer.
    pub is_void: bool,
}

/// A request for a row that the server received.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The number of the client that sent it.
    pub client: usize,
    /// The number of the row.
    pub at: u64,
    /// When it arrived.
    pub arrived: Moment,
    /// The earliest time at which the server may have applied it.
    pub begin: Moment,
}

/// The calls of all clients.
#[derive(Debug, Default)]
pub struct History {
    calls: Vec<Call>,
    repeats: Vec<Call>,
}

impl History {
    /// Records that a client begins a call; returns the place of the call.
    pub fn begin(
        &mut self,
        client: usize,
        at: u64,
        op: linearizable::Op,
        begin: Moment,
        by: String,
    ) -> usize {
        let operation = Operation { op, outcome: Outcome::Unknown, begin, end: Moment::MAX, by };
        self.calls.push(Call { client, at, operation, is_void: false });
        self.calls.len() - 1
    }

    /// The call at a place, for its end.
    pub fn call(&mut self, place: usize) -> &mut Call {
        &mut self.calls[place]
    }

    /// All calls, in the order in which they were recorded.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// How many writes have an unknown outcome.
    #[must_use]
    pub fn unknown(&self) -> usize {
        let is_unknown = |call: &&Call| {
            !call.operation.is_read() && !call.is_void && call.operation.outcome == Outcome::Unknown
        };
        self.calls.iter().filter(is_unknown).count()
    }

    /// Adds each request that the server received beside the first of its call, as a write of unknown outcome: a request that is late
    /// can come after its retry. Returns how many it adds, and the calls that must not be sent again, and were.
    pub fn add_repeats(&mut self, arrivals: impl IntoIterator<Item = Arrival>) -> (usize, Vec<Operation>) {
        let mut writes: HashMap<(usize, u64), Vec<(Moment, usize)>> = HashMap::new();
        for (place, call) in self.calls.iter().enumerate().filter(|(_, call)| !call.operation.is_read()) {
            writes.entry((call.client, call.at)).or_default().push((call.operation.begin, place));
        }
        writes.values_mut().for_each(|writes| writes.sort_unstable());
        let (mut met, mut added, mut refused) = (vec![false; self.calls.len()], 0, Vec::new());
        for Arrival { client, at, arrived, begin } in arrivals {
            let Some(writes) = writes.get(&(client, at)) else { continue };
            let begun = writes.partition_point(|(begin, _)| *begin < arrived);
            let Some((_, place)) = begun.checked_sub(1).map(|last| writes[last]) else { continue };
            if !std::mem::replace(&mut met[place], true) {
                continue;
            }
            let call = &self.calls[place];
            if !call.operation.may_repeat() {
                refused.push(call.operation.clone());
                continue;
            }
            let by = format!("{}, again", call.operation.by);
            let operation = Operation {
                outcome: Outcome::Unknown,
                begin,
                end: Moment::MAX,
                by,
                ..call.operation.clone()
            };
            self.repeats.push(Call { operation, is_void: false, ..*call });
            added += 1;
        }
        (added, refused)
    }

    /// The operations on each row. A read without an answer says nothing.
    #[must_use]
    pub fn rows(&self) -> BTreeMap<u64, Vec<Operation>> {
        let mut rows: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
        let says_nothing =
            |operation: &Operation| operation.is_read() && operation.outcome == Outcome::Unknown;
        let calls = self.calls.iter().filter(|call| !call.is_void && !says_nothing(&call.operation));
        for call in calls.chain(&self.repeats) {
            rows.entry(call.at).or_default().push(call.operation.clone());
        }
        rows
    }
}

/// What was decided about the histories of rows.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many operations there were.
    pub operations: usize,
    /// Why a history has no order, for each row that has none.
    pub violations: Vec<String>,
    /// The rows whose histories are too large to decide about.
    pub undecided: Vec<u64>,
    /// How long the decision about one row took at most.
    pub longest: Duration,
}

/// Looks for an order of the operations on each row, which begins as `first` says.
#[must_use]
pub fn check(rows: BTreeMap<u64, Vec<Operation>>, first: impl Fn(u64) -> Row) -> Checked {
    let mut checked = Checked::default();
    for (at, operations) in rows {
        let begun = Instant::now();
        match linearizable::check(first(at), &operations) {
            Verdict::Holds => {}
            Verdict::Undecided => checked.undecided.push(at),
            Verdict::Violated(text) => checked.violations.push(format!("row {at}: one order: {text}")),
        }
        checked.operations += operations.len();
        checked.longest = checked.longest.max(begun.elapsed());
    }
    checked
}
