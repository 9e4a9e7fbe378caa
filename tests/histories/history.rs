//! The laws that a history must keep, and the places where one breaks them.
//!
//! A row is a register. Each value is written once and has a unique number. The proxies know when the server can have
//! applied a write: between the moment at which it was sent and the moment at which it was answered. Retries and late
//! requests make several such spans of one write, and each counts as a write of the register. So nothing here assumes
//! that a read returns "the last put that returned": a request of a call that has returned or failed may be applied
//! later, and its value is then the newest, whole. This is the difference between what a client can promise and what
//! it cannot (`keyderive::guide::promises`).
//!
//! The laws, which violations name:
//!
//! - **Whole rows.** A read returns the value of one write to this row, with all its columns and no others; or no row,
//!   if no write was applied.
//! - **What is said.** A write that returned `Ok` was applied before. A conditional write that returned true was applied
//!   once, and one that returned false never. A write that failed before it was sent is not applied.
//! - **One order.** The writes, reads and conditions of a row have an order in which each finds the last write, as
//!   [`linearizable`] decides.
//! - **The last given wins.** Where `put_all` or `load` is given a row twice, the later value is sent after the earlier
//!   one was answered, and never in the same request: the entries of a request have no order. A `writer` does not
//!   promise this.

use std::collections::{BTreeMap, HashMap, HashSet};

use keyderive_tests::linearizable::{self, Op, Operation, Outcome as Answer, Row, Verdict};
use keyderive_tests::proxy::{Application, Moment, Seen};

use crate::orders::Order;

/// The number of the absent row, the initial value.
pub(crate) const ABSENT: u64 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Call {
    Put,
    OldPut,
    PutIf,
    PutAll,
    Writer,
    Load,
    LoadIfAbsent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The condition did not match.
    False,
    /// The call failed, and may have been applied.
    Unknown,
    /// The call failed before anything was sent.
    Unsent,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) id: u64,
    pub(crate) key: u32,
    pub(crate) call: Call,
    /// The number of its call, and its index in the call.
    pub(crate) place: (u64, usize),
    pub(crate) begun: Moment,
    pub(crate) ended: Moment,
    pub(crate) outcome: Outcome,
    /// The value that a conditional write replaces.
    pub(crate) over: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) key: u32,
    pub(crate) begun: Moment,
    pub(crate) ended: Moment,
    /// The row, or why it cannot be read.
    pub(crate) found: Result<Option<Order>, String>,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) writes: Vec<Write>,
    pub(crate) reads: Vec<Read>,
}

impl Write {
    /// What it does to the register.
    fn op(&self) -> Op {
        match self.over {
            Some(over) => Op::Swap { from: number(over), to: number(self.id) },
            None => Op::Set(number(self.id)),
        }
    }
}

fn number(id: u64) -> u32 {
    u32::try_from(id).unwrap()
}

impl History {
    /// Describes every violation of a law.
    pub(crate) fn violations(&self, seen: &Seen) -> Vec<String> {
        let mut found = Vec::new();
        let writes: HashMap<u64, &Write> = self.writes.iter().map(|write| (write.id, write)).collect();
        let mut applied: HashMap<u64, Vec<&Application>> = HashMap::new();
        let mut rows: BTreeMap<u32, Vec<Operation>> = BTreeMap::new();
        let mut add = |key, op, outcome, (begin, end), by| {
            rows.entry(key).or_default().push(Operation { op, outcome, begin, end, by });
        };
        for application in &seen.applications {
            let Some(write) = writes.get(&application.id) else { continue };
            applied.entry(write.id).or_default().push(application);
            // A condition matched in the same step.
            let outcome = if write.over.is_some() { Answer::Is(true) } else { Answer::Done };
            let told = if application.is_answered { "" } else { ", and the client was not told" };
            let by = format!("{:?}{told}", write.call);
            add(write.key, write.op(), outcome, (application.sent, application.answered), by);
        }
        for write in &self.writes {
            found.extend(said(write, applied.get(&write.id).map_or(&[][..], Vec::as_slice)));
            if let (Outcome::False, Some(_)) = (write.outcome, write.over) {
                let by = format!("{:?}", write.call);
                add(write.key, write.op(), Answer::Is(false), (write.begun, write.ended), by);
            }
        }
        for read in &self.reads {
            match whole(read, &writes) {
                Ok(id) => {
                    let row = Answer::Found(Row { val: number(id), ..Row::NONE });
                    add(read.key, Op::Read, row, (read.begun, read.ended), "a reader".to_owned());
                }
                Err(violation) => found.push(violation),
            }
        }
        for (key, operations) in rows {
            match linearizable::check(Row::NONE, &operations) {
                Verdict::Holds => {}
                Verdict::Violated(text) => found.push(format!("row {key}: one order: {text}")),
                Verdict::Undecided => found.push(format!("row {key}: one order: it could not be decided")),
            }
        }
        found.extend(self.last_given_wins(&applied, &writes, &seen.doubled));
        found
    }

    fn last_given_wins(
        &self,
        applied: &HashMap<u64, Vec<&Application>>,
        writes: &HashMap<u64, &Write>,
        doubled: &[Vec<u64>],
    ) -> Vec<String> {
        let is_ordered = |call: Call| matches!(call, Call::PutAll | Call::Load);
        let mut found = Vec::new();
        for ids in doubled {
            let call = ids.iter().find_map(|id| Some(writes.get(id)?.call));
            if call.is_some_and(is_ordered) {
                let call = call.unwrap();
                found.push(format!("the last given wins: a request of {call:?} has a row twice: {ids:?}"));
            }
        }
        let mut given: HashMap<(u64, u32), Vec<&Write>> = HashMap::new();
        for write in self.writes.iter().filter(|write| is_ordered(write.call)) {
            given.entry((write.place.0, write.key)).or_default().push(write);
        }
        for writes in given.values_mut() {
            writes.sort_by_key(|write| write.place.1);
            for pair in writes.windows(2) {
                let spans = |write: &Write| applied.get(&write.id).map_or(&[][..], Vec::as_slice);
                let told = spans(pair[0]).iter().filter(|span| span.is_answered);
                let Some(told) = told.map(|span| span.answered).min() else { continue };
                if let Some(early) = spans(pair[1]).iter().find(|span| span.sent < told) {
                    found.push(format!(
                        "row {}: the last given wins: {:?} was sent {early:?} before the answer to {:?} at {told}",
                        pair[0].key, pair[1], pair[0]
                    ));
                }
            }
        }
        found
    }
}

/// The number of the value that was read.
fn whole(read: &Read, writes: &HashMap<u64, &Write>) -> Result<u64, String> {
    let Read { key, begun, ended, found } = read;
    let order = match found {
        Ok(None) => return Ok(ABSENT),
        Ok(Some(order)) => order,
        Err(error) => return Err(format!("row {key}: whole rows: read at {begun}..{ended}: {error}")),
    };
    let is_written = writes.get(&order.id).is_some_and(|write| write.key == *key && write.begun < *ended);
    match is_written && *order == Order::of(order.id) {
        true => Ok(order.id),
        false => {
            Err(format!("row {key}: whole rows: nobody wrote what was read at {begun}..{ended}: {order:?}"))
        }
    }
}

/// How a call's result contradicts what was applied.
fn said(write: &Write, applied: &[&Application]) -> Option<String> {
    let told = applied.iter().any(|span| span.is_answered && span.answered < write.ended);
    let is_kept = match write.outcome {
        Outcome::Done if write.over.is_some() => told && applied.len() == 1,
        Outcome::Done => told,
        Outcome::False | Outcome::Unsent => applied.is_empty(),
        Outcome::Unknown => write.over.is_none() || applied.len() <= 1,
    };
    (!is_kept).then(|| format!("what is said: {write:?} was applied so: {applied:?}"))
}

/// How many calls of each kind there were.
pub(crate) fn calls(writes: &[Write]) -> BTreeMap<Call, usize> {
    let calls: HashSet<(Call, u64)> = writes.iter().map(|write| (write.call, write.place.0)).collect();
    calls.into_iter().fold(BTreeMap::new(), |mut calls, (call, _)| {
        *calls.entry(call).or_default() += 1;
        calls
    })
}

mod tests {
    use super::*;

    const ROW: u32 = 3;

    fn write(id: u64, call: Call, begun: Moment, ended: Moment) -> Write {
        Write { id, key: ROW, call, place: (id, 0), begun, ended, outcome: Outcome::Done, over: None }
    }

    fn put(id: u64, begun: Moment, ended: Moment) -> Write {
        write(id, Call::Put, begun, ended)
    }

    fn put_if(id: u64, over: u64, outcome: Outcome, begun: Moment, ended: Moment) -> Write {
        Write { outcome, over: Some(over), ..write(id, Call::PutIf, begun, ended) }
    }

    fn applied(id: u64, sent: Moment, answered: Moment) -> Application {
        Application { client: 0, id, arrived: sent, sent, answered, is_answered: true }
    }

    fn late(id: u64, sent: Moment, answered: Moment) -> Application {
        Application { is_answered: false, ..applied(id, sent, answered) }
    }

    fn read(value: u64, begun: Moment, ended: Moment) -> Read {
        let found = Ok((value != ABSENT).then(|| Order::of(value)));
        Read { key: ROW, begun, ended, found }
    }

    /// The laws that a history breaks.
    fn broken(writes: &[Write], applications: &[Application], reads: &[Read]) -> Vec<&'static str> {
        let history = History { writes: writes.to_vec(), reads: reads.to_vec() };
        let seen = Seen { applications: applications.to_vec(), ..Seen::default() };
        laws(&history.violations(&seen))
    }

    fn laws(violations: &[String]) -> Vec<&'static str> {
        let laws = ["whole rows", "what is said", "one order", "the last given wins"];
        laws.into_iter()
            .filter(|law| violations.iter().any(|text| text.contains(&format!("{law}: "))))
            .collect()
    }

    #[test]
    fn a_history_in_order_is_right() {
        let writes = [put(1, 1, 4), put(2, 10, 13), put_if(3, 2, Outcome::Done, 20, 23)];
        let applications = [applied(1, 2, 3), applied(2, 11, 12), applied(3, 21, 22)];
        let reads = [read(ABSENT, 0, 1), read(1, 5, 6), read(2, 14, 15), read(3, 24, 25)];
        assert!(broken(&writes, &applications, &reads).is_empty());
    }

    #[test]
    fn only_a_late_request_may_bring_its_value_back() {
        let writes = [put(1, 1, 4), put(2, 10, 13)];
        let reads = [read(2, 14, 15), read(1, 30, 31)];
        let applications = [applied(1, 2, 3), applied(2, 11, 12)];
        assert_eq!(broken(&writes, &applications, &reads), ["one order"]);
        let applications = [&applications[..], &[late(1, 20, 21)]].concat();
        assert!(broken(&writes, &applications, &reads).is_empty());
        // Before it was sent, it had not been applied.
        assert_eq!(broken(&writes, &applications, &[read(1, 16, 17)]), ["one order"]);
    }

    #[test]
    fn a_row_mixed_from_two_writes_is_a_violation() {
        let mut torn = read(1, 5, 6);
        let mut order = Order::of(2);
        order.id = 1;
        torn.found = Ok(Some(order));
        let (writes, applications) = ([put(1, 1, 4), put(2, 1, 4)], [applied(1, 2, 3), applied(2, 2, 3)]);
        assert_eq!(broken(&writes, &applications, &[torn]), ["whole rows"]);
        let unreadable = Read { found: Err("a column is missing".to_owned()), ..read(1, 5, 6) };
        assert_eq!(broken(&writes, &applications, &[unreadable]), ["whole rows"]);
        let of_another_row = Read { key: ROW + 1, ..read(1, 5, 6) };
        assert_eq!(broken(&writes, &applications, &[of_another_row]), ["whole rows"]);
    }

    #[test]
    fn a_row_that_was_put_is_there() {
        let (writes, applications) = ([put(1, 1, 4)], [applied(1, 2, 3)]);
        let broken = broken(&writes, &applications, &[read(ABSENT, 5, 6)]);
        assert_eq!(broken, ["one order"]);
    }

    #[test]
    fn what_is_said_is_what_happened() {
        assert_eq!(broken(&[put(1, 1, 4)], &[], &[]), ["what is said"]);
        assert_eq!(broken(&[put(1, 1, 4)], &[late(1, 2, 3)], &[]), ["what is said"]);
        assert_eq!(broken(&[put(1, 1, 4)], &[applied(1, 8, 9)], &[]), ["what is said"]);
        for (outcome, times) in [
            (Outcome::Done, 0),
            (Outcome::Done, 2),
            (Outcome::False, 1),
            (Outcome::Unsent, 1),
            (Outcome::Unknown, 2),
        ] {
            let applications = vec![applied(1, 2, 3); times];
            let writes = [put_if(1, ABSENT, outcome, 1, 4)];
            assert!(broken(&writes, &applications, &[]).contains(&"what is said"), "{outcome:?} {times}");
        }
    }

    /// Two concurrent writes have some order, and all reads must agree on it.
    #[test]
    fn reads_agree_on_an_order() {
        let writes = [put(1, 1, 9), put(2, 1, 9)];
        let applications = [applied(1, 2, 8), applied(2, 2, 8)];
        assert!(broken(&writes, &applications, &[read(1, 10, 11), read(1, 12, 13)]).is_empty());
        assert_eq!(broken(&writes, &applications, &[read(1, 10, 11), read(2, 12, 13)]), ["one order"]);
        // Each starts before the other ends, so neither is entirely after the other.
        let writes = [put(1, 0, 3), put(2, 0, 9)];
        let applications = [applied(1, 1, 2), applied(2, 1, 3)];
        let reads = [read(2, 4, 20), read(1, 5, 21), read(2, 22, 23)];
        assert!(broken(&writes, &applications, &reads).contains(&"one order"));
    }

    #[test]
    fn a_condition_is_true_of_what_was_there() {
        let writes = [put(1, 1, 4), put(2, 5, 8), put_if(3, 1, Outcome::Done, 10, 13)];
        let applications = [applied(1, 2, 3), applied(2, 6, 7), applied(3, 11, 12)];
        assert!(broken(&writes, &applications, &[]).contains(&"one order"));
        // A condition is false only on another value.
        let writes = [put(1, 1, 4), put_if(3, 1, Outcome::False, 10, 13)];
        let reads = [read(1, 20, 21)];
        assert_eq!(broken(&writes, &[applied(1, 2, 3)], &reads), ["one order"]);
    }

    #[test]
    fn one_condition_over_a_value_is_true() {
        let both = |id| put_if(id, ABSENT, Outcome::Done, 1, 9);
        let applications = [applied(1, 2, 8), applied(2, 2, 8)];
        assert!(broken(&[both(1), both(2)], &applications, &[]).contains(&"one order"));
    }

    #[test]
    fn the_last_of_a_call_is_sent_when_the_one_before_is_answered() {
        for call in [Call::PutAll, Call::Load] {
            let of = |id, place| Write { place: (1, place), ..write(id, call, 1, 9) };
            let writes = [of(1, 0), of(2, 1)];
            assert!(broken(&writes, &[applied(1, 2, 3), applied(2, 4, 5)], &[]).is_empty());
            assert_eq!(broken(&writes, &[applied(1, 2, 4), applied(2, 3, 5)], &[]), ["the last given wins"]);
            // An earlier request may still arrive.
            let late = [late(1, 2, 7), applied(1, 3, 4), applied(2, 5, 6)];
            assert!(broken(&writes, &late, &[]).is_empty());
            let seen = Seen { doubled: vec![vec![1, 2]], ..Seen::default() };
            let history = History { writes: writes.to_vec(), reads: Vec::new() };
            assert!(laws(&history.violations(&seen)).contains(&"the last given wins"));
        }
        let of = |id, place| Write { place: (1, place), ..write(id, Call::Writer, 1, 9) };
        assert!(broken(&[of(1, 0), of(2, 1)], &[applied(1, 2, 5), applied(2, 2, 5)], &[]).is_empty());
    }
}
