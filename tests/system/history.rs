//! What clients did to the rows of one table, and whether an order explains it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use keyderive_tests::linearizable::{Op, Operation, Outcome, Row, Verdict, check};

use crate::world::{Application, Moment, World};

/// The operations of all clients.
pub(crate) struct History {
    world: World,
    /// Each with its client and the number of its row.
    operations: Mutex<Vec<(usize, u64, Operation)>>,
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
        Self { world: world.clone(), operations: Mutex::default() }
    }

    pub(crate) fn begin(&self, client: usize, at: u64, op: Op) -> Begun {
        let begin = self.world.event(format_args!("c{client} {op:?} of {at}"));
        let mut operations = self.operations.lock().unwrap();
        let by = format!("c{client} at {begin}");
        operations.push((
            client,
            at,
            Operation { op, outcome: Outcome::Unknown, begin, end: Moment::MAX, by },
        ));
        Begun(operations.len() - 1)
    }

    pub(crate) fn end(&self, begun: Begun, outcome: Outcome) {
        let (client, at, operation) = &mut self.operations.lock().unwrap()[begun.0];
        operation.outcome = outcome;
        operation.end = self.world.event(format_args!("c{client} {:?} of {at}: {outcome:?}", operation.op));
    }

    /// The operation had no effect, and no answer.
    pub(crate) fn void(&self, begun: Begun) {
        // As a read without an answer, which counts as nothing.
        let (client, at, operation) = &mut self.operations.lock().unwrap()[begun.0];
        self.world.event(format_args!("c{client} {:?} of {at} had no effect", operation.op));
        (operation.op, operation.outcome) = (Op::Read, Outcome::Unknown);
    }

    /// Fails unless the operations on each row have an order that explains every answer. `number` returns the number of a row of the
    /// table by its stored key. In a table that is not re-keyed, a write that must not be repeated is sent once.
    pub(crate) fn check(
        &self,
        first: impl Fn(u64) -> Row,
        number: impl Fn(&[u8]) -> Option<u64>,
        is_rekeyed: bool,
    ) -> Checked {
        let mut operations = self.operations.lock().unwrap().clone();
        let is_write = |operation: &Operation| !matches!(operation.op, Op::Read | Op::Exists);
        let mut checked = Checked {
            operations: operations.len(),
            unknown: operations
                .iter()
                .filter(|(.., one)| is_write(one) && one.outcome == Outcome::Unknown)
                .count(),
            ..Checked::default()
        };
        // A write whose first request is late can come again after its retry.
        let mut met = BTreeSet::new();
        for Application { client, key, arrived, begin } in self.world.inner().applied.lock().unwrap().iter() {
            let Some(at) = number(key) else { continue };
            let of_call = operations.iter().rposition(|(by, of, one)| {
                by == client
                    && *of == at
                    && is_write(one)
                    && one.begin < *arrived
                    && one.end != Moment::MAX - 1
            });
            let Some(place) = of_call else { continue };
            if met.insert(place) {
                continue;
            }
            if !matches!(operations[place].2.op, Op::Put(_) | Op::Set(_) | Op::Delete) {
                assert!(
                    is_rekeyed,
                    "a call that must not be repeated reached the server again: {:?}",
                    operations[place]
                );
                continue;
            }
            let by = format!("{}, again", operations[place].2.by);
            let outcome = Outcome::Unknown;
            let again =
                Operation { outcome, begin: *begin, end: Moment::MAX - 1, by, ..operations[place].2.clone() };
            operations.push((*client, at, again));
            checked.repeated += 1;
        }
        let mut rows: BTreeMap<u64, Vec<Operation>> = BTreeMap::new();
        for (_, at, operation) in operations {
            if is_write(&operation) || operation.outcome != Outcome::Unknown {
                rows.entry(at).or_default().push(operation);
            }
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
