//! Is the history of one row linearizable?
//!
//! The question that `lin.rs` of the models answers, for histories of thousands of operations, some of unknown outcome. The model
//! keeps every order that is still possible, and a write of unknown outcome doubles them. Here such a write is taken only where an
//! answer cannot be explained without it, and everywhere once that fails. A test compares both on random histories.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What a row holds. All zero: no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    /// The number of the last write of the whole row.
    pub whole: u32,
    /// The number of the last write of the columns that updates set.
    pub val: u32,
    /// Which increments are in its counter, as bits.
    pub incs: u64,
}

impl Row {
    /// No row.
    pub const NONE: Self = Self { whole: 0, val: 0, incs: 0 };

    /// The row that a write of the whole row leaves.
    #[must_use]
    pub fn of(id: u32) -> Self {
        Self { whole: id, val: id, incs: 0 }
    }
}

/// An operation on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Replaces the row.
    Put(u32),
    /// Sets some columns.
    Set(u32),
    /// Adds to the counter.
    Increment(u8),
    /// Deletes the row.
    Delete,
    /// A put where there is no row.
    Claim(u32),
    /// Sets some columns where they have this value.
    Swap {
        /// The value that they must have.
        from: u32,
        /// Their new value.
        to: u32,
    },
    /// Replaces the row where some columns have this value.
    Replace {
        /// The value that they must have.
        from: u32,
        /// The new row.
        to: u32,
    },
    /// Reads the row.
    Read,
    /// Asks whether there is a row.
    Exists,
}

impl Op {
    /// The number of the write, if it has one.
    #[must_use]
    pub fn id(self) -> Option<u32> {
        match self {
            Self::Put(id) | Self::Set(id) | Self::Claim(id) => Some(id),
            Self::Swap { to, .. } | Self::Replace { to, .. } => Some(to),
            Self::Increment(_) | Self::Delete | Self::Read | Self::Exists => None,
        }
    }

    /// Whether it writes only where a condition holds.
    #[must_use]
    pub fn is_conditional(self) -> bool {
        matches!(self, Self::Claim(_) | Self::Swap { .. } | Self::Replace { .. })
    }
}

/// What the caller received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Nothing: it may be applied at any time from its beginning on, or never.
    Unknown,
    /// It was applied.
    Done,
    /// Whether a conditional write was applied, and whether a row exists.
    Is(bool),
    /// The increments after one of them.
    Counted(u64),
    /// What a read found.
    Found(Row),
}

/// An operation as its caller saw it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What was called.
    pub op: Op,
    /// What it returned.
    pub outcome: Outcome,
    /// When it was called, in nanoseconds.
    pub begin: u64,
    /// When it returned, in nanoseconds.
    pub end: u64,
    /// Who made it, for people.
    pub by: String,
}

impl Operation {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self.op, Op::Read | Op::Exists)
    }

    /// Whether it leaves the same row when it is applied twice, so that clients retry it.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        matches!(self.op, Op::Put(_) | Op::Set(_) | Op::Delete)
    }

    /// Whether the answer of a read is right for this row.
    fn is_explained_by(&self, row: Row) -> bool {
        match self.outcome {
            Outcome::Found(found) => found == row,
            Outcome::Is(exists) => exists == (row != Row::NONE),
            Outcome::Unknown | Outcome::Done | Outcome::Counted(_) => true,
        }
    }

    /// The row after this write; `None` if its answer would be another.
    fn applied_to(&self, row: Row) -> Option<Row> {
        let conditional = |holds: bool, then: Row| match self.outcome {
            Outcome::Is(is) if is != holds => None,
            _ => Some(if holds { then } else { row }),
        };
        match self.op {
            Op::Put(id) => Some(Row::of(id)),
            Op::Set(id) => Some(Row { val: id, ..row }),
            Op::Delete => Some(Row::NONE),
            Op::Increment(bit) => {
                let incs = row.incs | 1 << bit;
                let counted = !matches!(self.outcome, Outcome::Counted(counted) if counted != incs);
                counted.then_some(Row { incs, ..row })
            }
            Op::Claim(id) => conditional(row == Row::NONE, Row::of(id)),
            Op::Swap { from, to } => conditional(row.val == from, Row { val: to, ..row }),
            Op::Replace { from, to } => conditional(row.val == from, Row::of(to)),
            Op::Read | Op::Exists => Some(row),
        }
    }

    /// The write without its answer, where only what is written at the end counts: `None` if it wrote nothing.
    fn without_answer(mut self) -> Option<Self> {
        match (self.op, self.outcome) {
            (Op::Read | Op::Exists, _) | (_, Outcome::Is(false)) => return None,
            (Op::Claim(id) | Op::Replace { to: id, .. }, Outcome::Is(true)) => self.op = Op::Put(id),
            (Op::Swap { to, .. }, Outcome::Is(true)) => self.op = Op::Set(to),
            _ => {}
        }
        if self.outcome != Outcome::Unknown {
            self.outcome = Outcome::Done;
        }
        Some(self)
    }
}

/// What callers have seen of writes.
#[derive(Default)]
struct Seen {
    /// The numbers of writes.
    ids: HashSet<u32>,
    /// Increments, as bits.
    incs: u64,
}

impl Seen {
    fn add(&mut self, operation: &Operation) {
        match (operation.op, operation.outcome) {
            (_, Outcome::Found(row)) => {
                self.ids.extend([row.whole, row.val]);
                self.incs |= row.incs;
            }
            (_, Outcome::Counted(counted)) => self.incs |= counted,
            (Op::Swap { from, .. } | Op::Replace { from, .. }, _) => drop(self.ids.insert(from)),
            _ => {}
        }
    }

    /// Whether it has this write; nobody sees which delete it was.
    fn has(&self, op: Op) -> bool {
        match op {
            Op::Increment(bit) => self.incs & 1 << bit != 0,
            op => op.id().is_some_and(|id| self.ids.contains(&id)),
        }
    }
}

/// Leaves what must hold however late requests arrive: no write that was acknowledged is lost, and no delete undone. Answers of
/// reads and conditions do not count, but for the last read of all.
#[must_use]
pub fn without_answers(operations: Vec<Operation>) -> Vec<Operation> {
    let last =
        operations.iter().filter(|operation| operation.is_read()).max_by_key(|read| read.begin).cloned();
    let mut kept: Vec<_> = operations.into_iter().filter_map(Operation::without_answer).collect();
    kept.extend(last);
    kept
}

/// Whether a history has an order that explains every answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has one.
    Holds,
    /// It has none: up to the operation that no order explains.
    Violated(String),
    /// The search would take too long.
    Undecided,
}

/// Writes of unknown outcome that are taken, one bit each.
type Used = [u64; 8];
const MOST_UNKNOWN: usize = 512;
/// Operations that are open at the same time, and have an outcome.
const MOST_OPEN: usize = 64;
/// Orders that are looked at for one answer before the search gives up.
const MOST_ORDERS: usize = 400_000;
/// Writes of unknown outcome that one answer may need.
const MOST_AT_ONCE: usize = 4;

/// An order that is possible: the row after it, which open writes are in it and which open reads it explains, and which writes of
/// unknown outcome are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Order {
    row: Row,
    taken: u64,
    used: Used,
}

/// Orders, without those that differ from another only by more writes of unknown outcome.
#[derive(Default)]
struct Orders(HashMap<(Row, u64), Vec<Used>>);

impl Orders {
    fn insert(&mut self, order: Order) {
        let known = self.0.entry((order.row, order.taken)).or_default();
        let is_within =
            |some: &Used, others: &Used| some.iter().zip(others).all(|(some, other)| some & !other == 0);
        if known.iter().any(|known| is_within(known, &order.used)) {
            return;
        }
        known.retain(|known| !is_within(&order.used, known));
        known.push(order.used);
    }

    fn iter(&self) -> impl Iterator<Item = Order> {
        self.0.iter().flat_map(|((row, taken), used)| {
            used.iter().map(|used| Order { row: *row, taken: *taken, used: *used })
        })
    }
}

struct Search<'a> {
    operations: &'a [Operation],
    /// The open operations that have an outcome, each at the place of its bit.
    open: [Option<usize>; MOST_OPEN],
    /// The writes of unknown outcome that have begun.
    unknown: Vec<usize>,
    /// Those of them that are taken although no answer needs them yet.
    hidden: &'a HashSet<usize>,
}

impl Search<'_> {
    /// The order after a write.
    fn after(&self, order: &Order, row: Row) -> Order {
        let mut after = Order { row, ..*order };
        for (bit, operation) in self.open.iter().enumerate() {
            if let Some(operation) = operation.map(|at| &self.operations[at])
                && operation.is_read()
                && operation.is_explained_by(row)
            {
                after.taken |= 1 << bit;
            }
        }
        after
    }

    /// What the open operations with an outcome have seen.
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        self.open.iter().flatten().for_each(|at| seen.add(&self.operations[*at]));
        seen
    }

    /// The writes of unknown outcome that may explain an answer, of those that are the same the first that is not in the order.
    fn candidates(&self, order: &Order, most: usize, seen: Option<&Seen>) -> Vec<usize> {
        let mut candidates: Vec<usize> = Vec::new();
        for (place, at) in self.unknown.iter().enumerate() {
            let op = self.operations[*at].op;
            let is_taken = order.used[place / 64] & 1 << (place % 64) != 0;
            let explains = self.hidden.contains(at)
                || most > 0 && seen.is_none_or(|seen| op == Op::Delete || seen.has(op));
            let is_same = |known: &usize| self.operations[self.unknown[*known]].op == op;
            if !is_taken && explains && !candidates.iter().any(is_same) {
                candidates.push(place);
            }
        }
        candidates
    }

    /// Every order that has the operation of this bit, with at most so many more writes of unknown outcome. `None` if there are too
    /// many.
    fn ways(&self, orders: &Orders, bit: usize, most: usize, effort: Effort) -> Option<Orders> {
        let mut ways = Orders::default();
        let mut visited = HashSet::new();
        let mut left: Vec<_> = orders.iter().map(|order| (order, most)).collect();
        // One write may be any. Of several, each must be seen.
        let seen = (most > 1 && effort != Effort::All).then(|| self.seen());
        while let Some((order, most)) = left.pop() {
            if order.taken & 1 << bit != 0 {
                ways.insert(Order { taken: order.taken & !(1 << bit), ..order });
                continue;
            }
            if !visited.insert((order, most)) {
                continue;
            }
            if visited.len() > MOST_ORDERS {
                return None;
            }
            for (bit, at) in self.open.iter().enumerate() {
                let Some(at) = at.filter(|_| order.taken & 1 << bit == 0) else { continue };
                let operation = &self.operations[at];
                if !operation.is_read()
                    && let Some(row) = operation.applied_to(order.row)
                {
                    let mut after = self.after(&order, row);
                    after.taken |= 1 << bit;
                    left.push((after, most));
                }
            }
            for place in self.candidates(&order, most, seen.as_ref()) {
                let is_hidden = self.hidden.contains(&self.unknown[place]);
                if let Some(row) = self.operations[self.unknown[place]].applied_to(order.row)
                    && row != order.row
                {
                    let mut after = self.after(&order, row);
                    after.used[place / 64] |= 1 << (place % 64);
                    left.push((after, if is_hidden { most } else { most - 1 }));
                }
            }
        }
        Some(ways)
    }
}

/// How many writes of unknown outcome are taken before an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// As few as explain it.
    Least,
    All,
}

/// Writes that are taken although no answer needs them yet, before the search gives up.
const MOST_HIDDEN: usize = 24;

/// Decides about a history that begins with this row.
///
/// A write that was seen late may have to come before answers that do not need it. So each answer that cannot be explained names writes
/// that the next search may take anywhere.
#[must_use]
pub fn check(first: Row, operations: &[Operation]) -> Verdict {
    let mut hidden = HashSet::new();
    while hidden.len() < MOST_HIDDEN {
        match search(first, operations, Effort::Least, &hidden) {
            Ok(()) => return Verdict::Holds,
            Err(Stop::Unexplained(events)) => {
                let (_, _, last) = events[events.len() - 1];
                if !hide(operations, &events, last, &mut hidden) {
                    break;
                }
            }
            Err(Stop::TooLong) => break,
        }
    }
    match search(first, operations, Effort::All, &HashSet::new()) {
        Ok(()) => Verdict::Holds,
        Err(Stop::Unexplained(events)) => Verdict::Violated(last_operations(operations, &events)),
        Err(Stop::TooLong) => Verdict::Undecided,
    }
}

/// Adds to `hidden` what may explain an answer: what it has seen, or else the write that began last.
fn hide(operations: &[Operation], events: &[Event], last: usize, hidden: &mut HashSet<usize>) -> bool {
    let begun =
        || events.iter().rev().map(|(.., at)| *at).filter(|at| operations[*at].outcome == Outcome::Unknown);
    let mut seen = Seen::default();
    seen.add(&operations[last]);
    let before = hidden.len();
    hidden.extend(begun().filter(|at| seen.has(operations[*at].op)));
    if hidden.len() == before
        && let Some(at) = begun().find(|at| !hidden.contains(at))
    {
        hidden.insert(at);
    }
    hidden.len() > before
}

/// When an operation begins or ends, whether it ends, and which one it is.
type Event = (u64, bool, usize);

/// The events of a history, in order. An operation of unknown outcome has no end.
fn events_of(operations: &[Operation]) -> Vec<Event> {
    let mut events = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        events.push((operation.begin, false, at));
        if operation.outcome != Outcome::Unknown {
            events.push((operation.end, true, at));
        }
    }
    events.sort_unstable();
    events
}

/// Why a search has found no order.
enum Stop {
    /// None explains the last of these events.
    Unexplained(Vec<Event>),
    TooLong,
}

/// Looks for an order that explains every answer, with the `hidden` writes anywhere.
fn search(first: Row, operations: &[Operation], effort: Effort, hidden: &HashSet<usize>) -> Result<(), Stop> {
    let mut events = events_of(operations);
    let mut search = Search { operations, open: [None; MOST_OPEN], unknown: Vec::new(), hidden };
    let mut orders = Orders::default();
    orders.insert(Order { row: first, taken: 0, used: Used::default() });
    for (number, (_, is_end, at)) in events.iter().enumerate() {
        let operation = &operations[*at];
        if !is_end {
            if operation.outcome == Outcome::Unknown {
                if search.unknown.len() == MOST_UNKNOWN {
                    return Err(Stop::TooLong);
                }
                search.unknown.push(*at);
                continue;
            }
            let Some(bit) = search.open.iter().position(Option::is_none) else { return Err(Stop::TooLong) };
            search.open[bit] = Some(*at);
            if operation.is_read() {
                let mut begun = Orders::default();
                for order in orders.iter() {
                    begun.insert(search.after(&order, order.row));
                }
                orders = begun;
            }
            continue;
        }
        let Some(bit) = search.open.iter().position(|open| *open == Some(*at)) else { continue };
        let counts = match effort {
            Effort::All => search.unknown.len()..=search.unknown.len(),
            Effort::Least => 0..=MOST_AT_ONCE.min(search.unknown.len()),
        };
        let mut ways = Orders::default();
        for most in counts {
            ways = search.ways(&orders, bit, most, effort).ok_or(Stop::TooLong)?;
            if !ways.0.is_empty() {
                break;
            }
        }
        search.open[bit] = None;
        if ways.0.is_empty() {
            events.truncate(number + 1);
            return Err(Stop::Unexplained(events));
        }
        orders = ways;
    }
    Ok(())
}

/// The last operations before the one that no order explains.
fn last_operations(operations: &[Operation], events: &[Event]) -> String {
    const SHOWN: usize = 40;
    let mut text = String::new();
    let (_, _, last) = events[events.len() - 1];
    let origin = operations[last].end;
    let mut shown = HashSet::new();
    let of_events = events.iter().rev().map(|(.., at)| *at).filter(|at| shown.insert(*at)).take(SHOWN);
    let mut of_events: Vec<_> = of_events.collect();
    // Writes of unknown outcome count for ever.
    let is_open = |at: &usize| operations[*at].outcome == Outcome::Unknown && operations[*at].begin < origin;
    of_events.extend((0..operations.len()).filter(is_open).filter(|at| shown.insert(*at)));
    of_events.sort_by_key(|at| operations[*at].begin);
    let _ = writeln!(text, "times in ms before the operation that no order explains, `*`");
    for at in of_events {
        let operation = &operations[at];
        let before = |time: u64| (origin as f64 - time as f64) / 1e6;
        let end = if operation.outcome == Outcome::Unknown { f64::NAN } else { before(operation.end) };
        let _ = writeln!(
            text,
            "  {} {:9.3} to {end:9.3} {:?} {:?} by {}",
            if at == last { "*" } else { " " },
            before(operation.begin),
            operation.op,
            operation.outcome,
            operation.by,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::amount;
    use crate::lin::{Lin, Op as ModelOp, Row as ModelRow};

    /// The model's name for an operation.
    fn modelled(op: Op) -> ModelOp {
        let value = |id: u32| u8::try_from(id).unwrap();
        match op {
            Op::Set(id) => ModelOp::Put(value(id)),
            Op::Swap { from: 0, to } => ModelOp::Claim(value(to)),
            // Each increment is a bit of the model's.
            Op::Increment(bit) => ModelOp::Inc(1 << bit),
            Op::Delete => ModelOp::Delete,
            _ => ModelOp::Read,
        }
    }

    /// What the model says of a history.
    fn by_model(first: Row, operations: &[Operation]) -> bool {
        let row =
            |row: Row| ModelRow { val: u8::try_from(row.val).unwrap(), inc: u8::try_from(row.incs).unwrap() };
        let mut lin = Lin::new(row(first));
        events_of(operations).into_iter().all(|(_, is_end, at)| {
            let (id, operation) = (u8::try_from(at).unwrap(), &operations[at]);
            match (is_end, operation.outcome) {
                (false, _) => {
                    lin.begin(id, modelled(operation.op));
                    true
                }
                (true, Outcome::Found(found)) => lin.end_read(id, row(found)),
                (true, Outcome::Is(won)) => lin.end_write(id, Some(won)),
                (true, _) => lin.end_write(id, None),
            }
        })
    }

    /// A history of operations that overlap, whose answers are right.
    fn history(rng: &mut Rng, count: usize) -> (Row, Vec<Operation>) {
        let first = if rng.bool() { Row { val: 7, ..Row::NONE } } else { Row::NONE };
        let mut operations: Vec<Operation> = Vec::new();
        // Each is applied at a point of its own.
        let mut row = first;
        for at in 0..count {
            let point = at as u64 * 10 + 50;
            let id = u32::try_from(at % 6 + 1).unwrap();
            let op = match rng.u8(..10) {
                0..2 => Op::Set(id),
                2..4 => Op::Increment(u8::try_from(at % 3).unwrap()),
                4 => Op::Delete,
                5..7 => Op::Swap { from: 0, to: id },
                _ => Op::Read,
            };
            let is_lost = op != Op::Read && rng.u8(..4) == 0;
            let is_applied = !is_lost || rng.bool();
            let holds = row.val == 0;
            let mut outcome = match op {
                Op::Swap { .. } => Outcome::Is(holds),
                Op::Read => Outcome::Found(row),
                _ => Outcome::Done,
            };
            if is_lost {
                outcome = Outcome::Unknown;
            }
            let spread = rng.u64(1..45);
            let operation = Operation {
                op,
                outcome,
                begin: point - rng.u64(..spread),
                end: point + rng.u64(..spread),
                by: String::new(),
            };
            if is_applied {
                row = Operation { outcome: Outcome::Done, ..operation.clone() }.applied_to(row).unwrap();
            }
            operations.push(operation);
        }
        (first, operations)
    }

    /// Changes an answer, or when an operation began.
    fn change(rng: &mut Rng, operations: &mut [Operation]) {
        let changed = rng.usize(..operations.len());
        let operation = &mut operations[changed];
        match operation.outcome {
            Outcome::Is(is) => operation.outcome = Outcome::Is(!is),
            Outcome::Found(found) if rng.bool() => {
                operation.outcome = Outcome::Found(Row { val: rng.u32(..7), ..found });
            }
            Outcome::Found(found) => {
                operation.outcome = Outcome::Found(Row { incs: rng.u64(..8), ..found });
            }
            _ => {
                operation.begin += 30;
                operation.end = operation.end.max(operation.begin + 1);
            }
        }
    }

    /// An operation, and when it began and ended.
    fn operation(op: Op, outcome: Outcome, begin: u64, end: u64) -> Operation {
        Operation { op, outcome, begin, end, by: String::new() }
    }

    fn put(id: u32, begin: u64) -> Operation {
        operation(Op::Put(id), Outcome::Done, begin, begin + 10)
    }

    fn read(found: Row, begin: u64, end: u64) -> Operation {
        operation(Op::Read, Outcome::Found(found), begin, end)
    }

    fn increment(outcome: Outcome) -> Operation {
        operation(Op::Increment(0), outcome, 10, 20)
    }

    fn conditional(op: Op, is: bool) -> Operation {
        operation(op, Outcome::Is(is), 10, 20)
    }

    fn counter(incs: u64) -> Row {
        Row { incs, ..Row::NONE }
    }

    /// Tests of histories of a row that is not there at first, and whether each has an order.
    macro_rules! histories {
        ($($test:ident: $([$($operation:expr),+] $holds:literal)+;)+) => {$(
            #[test]
            fn $test() {
                $(
                    let verdict = check(Row::NONE, &[$($operation),+]);
                    assert_eq!(verdict == Verdict::Holds, $holds, "{verdict:?}: {}", stringify!($($operation),+));
                )+
            }
        )+};
    }

    const GONE: Op = Op::Delete;

    histories! {
        a_lost_write_is_found:
            [put(1, 10), read(Row::NONE, 30, 40)] false
            [put(1, 10), read(Row::NONE, 15, 40)] true
            [operation(Op::Put(1), Outcome::Unknown, 10, 20), read(Row::NONE, 30, 40), read(Row::of(1), 50, 60)] true;
        a_stale_read_is_found:
            [put(1, 10), put(2, 30), read(Row::of(1), 50, 60)] false
            [put(1, 10), put(2, 30), read(Row::of(2), 31, 33), read(Row::of(1), 35, 60)] false
            [put(1, 10), put(2, 30), read(Row::of(1), 31, 33), read(Row::of(2), 35, 60)] true
            [put(1, 10), put(2, 30), operation(GONE, Outcome::Done, 50, 60), read(Row::of(2), 70, 80)] false;
        // A bit that is added twice becomes the next one.
        a_duplicate_increment_is_found:
            [increment(Outcome::Counted(1)), read(counter(1), 30, 40)] true
            [increment(Outcome::Done), read(counter(2), 30, 40)] false
            [increment(Outcome::Counted(2))] false
            [increment(Outcome::Done), operation(GONE, Outcome::Done, 30, 40), read(counter(1), 50, 60)] false;
        a_mix_of_two_writes_is_found:
            [put(1, 10), put(2, 10), read(Row { whole: 1, val: 2, incs: 0 }, 30, 40)] false;
        two_claims_of_one_row_are_found:
            [conditional(Op::Claim(1), true), conditional(Op::Claim(2), true)] false
            [conditional(Op::Claim(1), false), conditional(Op::Claim(2), false)] false
            [conditional(Op::Claim(1), true), conditional(Op::Claim(2), false)] true;
        a_replaced_row_is_whole:
            [put(1, 0), conditional(Op::Replace { from: 1, to: 2 }, true), read(Row::of(2), 30, 40)] true
            [put(1, 0), conditional(Op::Replace { from: 1, to: 2 }, true), read(Row { val: 2, ..Row::of(1) }, 30, 40)] false
            [put(1, 0), conditional(Op::Replace { from: 3, to: 2 }, true)] false;
    }

    #[test]
    fn a_lost_write_is_found_where_only_the_last_read_counts() {
        let lost = vec![put(1, 10), read(Row::of(1), 30, 40), read(Row::NONE, 50, 60)];
        assert!(matches!(check(Row::NONE, &without_answers(lost)), Verdict::Violated(_)));
    }

    #[test]
    fn it_agrees_with_the_checker_of_the_models() {
        let mut rng = Rng::with_seed(7);
        let (mut held, mut violated) = (0, 0);
        let rounds =
            amount("KEYDERIVE_CHECKED_HISTORIES", "histories that two checkers decide", 1_500, 20_000);
        for round in 0..rounds {
            let count = rng.usize(2..9);
            let (first, mut operations) = history(&mut rng, count);
            if rng.bool() {
                change(&mut rng, &mut operations);
            }
            let verdict = check(first, &operations);
            let holds = by_model(first, &operations);
            assert_eq!(verdict == Verdict::Holds, holds, "round {round}: {verdict:?}\n{operations:#?}");
            *(if holds { &mut held } else { &mut violated }) += 1;
        }
        assert!(
            held > rounds / 4 && violated > rounds / 10,
            "{held} of the histories hold, and {violated} do not"
        );
    }

    /// A write that nobody has seen may be needed before one that was seen late.
    #[test]
    fn it_decides_histories_with_many_writes_of_unknown_outcome() {
        let mut rng = Rng::with_seed(7);
        for round in 0..amount("KEYDERIVE_LONG_HISTORIES", "long histories of unknown outcomes", 1, 5) {
            let (first, operations) = history(&mut rng, 1_000);
            assert_eq!(check(first, &operations), Verdict::Holds, "round {round}");
        }
    }
}
