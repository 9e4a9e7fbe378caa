//! What clients did to the rows of one table, and whether an order explains it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use keyderive_tests::linearizable::{Op, Operation, Outcome, Row, Verdict, check};

use crate::world::{Application, Moment, World};

/// The operations of all clients.
pub(crate) struct History {
    world: World,
    calls: Mutex<Vec<Call>>,
}

/// A client's operation on a row.
struct Call {
    client: usize,
    at: u64,
    operation: Operation,
    /// Whether it had no effect, and no answer.
    is_void: bool,
}

impl Call {
    fn is_write(&self) -> bool {
        !matches!(self.operation.op, Op::Read | Op::Exists)
    }
}

/// An operation that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Begun(usize);

/// What a history was.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) operations: usize,
    pub(crate) unknown: usize,
    /// Writes that reached the server again.
    pub(crate) repeated: usize,
    /// Rows whose histories are too large to decide about.
    pub(crate) undecided: usize,
}

impl History {
    pub(crate) fn new(world: &World) -> Self {
        Self { world: world.clone(), calls: Mutex::default() }
    }

    pub(crate) fn begin(&self, client: usize, at: u64, op: Op) -> Begun {
        let begin = self.world.event(format_args!("c{client} {op:?} of {at}"));
        let mut calls = self.calls.lock().unwrap();
        let by = format!("c{client} at {begin}");
        let operation = Operation { op, outcome: Outcome::Unknown, begin, end: Moment::MAX, by };
        calls.push(Call { client, at, operation, is_void: false });
        Begun(calls.len() - 1)
    }

    pub(crate) fn end(&self, begun: Begun, outcome: Outcome) {
        let Call { client, at, operation, .. } = &mut self.calls.lock().unwrap()[begun.0];
        operation.outcome = outcome;
        operation.end = self.world.event(format_args!("c{client} {:?} of {at}: {outcome:?}", operation.op));
    }

    /// The operation had no effect, and no answer.
    pub(crate) fn void(&self, begun: Begun) {
        let Call { client, at, operation, is_void } = &mut self.calls.lock().unwrap()[begun.0];
        self.world.event(format_args!("c{client} {:?} of {at} had no effect", operation.op));
        *is_void = true;
    }

    /// Fails unless the operations on each row have an order that explains every answer. `number` returns the number of a row of the
    /// table by its stored key. In a table that is not re-keyed, a write that must not be repeated is sent once.
    pub(crate) fn check(
        &self,
        first: impl Fn(u64) -> Row,
        number: impl Fn(&[u8]) -> Option<u64>,
        is_rekeyed: bool,
    ) -> Checked {
        let calls = self.calls.lock().unwrap();
        let is_unknown =
            |call: &&Call| call.is_write() && !call.is_void && call.operation.outcome == Outcome::Unknown;
        let mut checked = Checked {
            operations: calls.len(),
            unknown: calls.iter().filter(is_unknown).count(),
            ..Checked::default()
        };
        let mut rows: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
        for call in calls.iter().filter(|call| !call.is_void) {
            rows.entry(call.at).or_default().push(call.operation.clone());
        }
        // A write whose first request is late can come again after its retry.
        let mut met = BTreeSet::new();
        for Application { client, key, arrived, begin } in self.world.inner().applied.lock().unwrap().iter() {
            let Some(at) = number(key) else { continue };
            let of_call = calls.iter().rposition(|call| {
                call.client == *client && call.at == at && call.is_write() && call.operation.begin < *arrived
            });
            let Some(place) = of_call.filter(|place| !met.insert(*place)) else { continue };
            let operation = &calls[place].operation;
            if !matches!(operation.op, Op::Put(_) | Op::Set(_) | Op::Delete) {
                assert!(
                    is_rekeyed,
                    "a call that must not be repeated reached the server again: {operation:?}"
                );
                continue;
            }
            let (outcome, by) = (Outcome::Unknown, format!("{}, again", operation.by));
            let again = Operation { outcome, begin: *begin, end: Moment::MAX, by, ..operation.clone() };
            rows.entry(at).or_default().push(again);
            checked.repeated += 1;
        }
        for (at, operations) in rows {
            match check(first(at), &operations) {
                Verdict::Holds => {}
                Verdict::Undecided => checked.undecided += 1,
                Verdict::Violated(text) => panic!("no order explains the history of row {at}: {text}"),
            }
        }
        checked
    }
}
