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
//! - **The last applied is read.** A value is read only where its write can have been applied, and is not read where
//!   another value was applied, or read, entirely after it and entirely before the read.
//! - **One order.** The writes and reads of a row have an order in which each read finds the last write. For values that
//!   were applied once this is decided exactly, by the zones of Gibbons and Korach ("Testing Shared Memories", 1997): the
//!   zone of a value is the time during which it must have been there. No two zones overlap, and no zone contains a
//!   whole span of time in which another value was there for a moment.
//! - **One wins.** Of conditional writes over one value that was applied once, only one is true.
//! - **The last given wins.** Where `put_all` or `load` is given a row twice, the later value is sent after the earlier
//!   one was answered, and never in the same request: the entries of a request have no order. A `writer` does not
//!   promise this.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::orders::Order;
use crate::proxy::{Moment, Seen};

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

/// A span of time; at some moment of it, the row had this value.
#[derive(Clone, Copy, Debug)]
struct Event {
    value: u64,
    from: Moment,
    to: Moment,
    what: &'static str,
}

/// The spans of one row.
#[derive(Default)]
struct Register {
    applied: Vec<Event>,
    seen: Vec<Event>,
    /// Spans at some moment of which the row did not have the value.
    denied: Vec<Event>,
}

impl History {
    /// Describes every violation of a law.
    pub(crate) fn violations(&self, seen: &Seen) -> Vec<String> {
        let mut found = Vec::new();
        let writes: HashMap<u64, &Write> = self.writes.iter().map(|write| (write.id, write)).collect();
        let mut registers: BTreeMap<u32, Register> = BTreeMap::new();
        let mut applied: HashMap<u64, Vec<Event>> = HashMap::new();
        for application in &seen.applications {
            let Some(write) = writes.get(&application.id) else { continue };
            let event = Event {
                value: write.id,
                from: application.sent,
                to: application.answered,
                what: if application.is_answered { "applied" } else { "applied, and the client not told" },
            };
            applied.entry(write.id).or_default().push(event);
            let register = registers.entry(write.key).or_default();
            register.applied.push(event);
            // The condition matched in the same step.
            register.seen.extend(write.over.map(|value| Event { value, what: "a true condition", ..event }));
        }
        for write in &self.writes {
            let of_write = applied.get(&write.id).map_or(&[][..], Vec::as_slice);
            found.extend(said(write, of_write));
            if let (Outcome::False, Some(value)) = (write.outcome, write.over) {
                let denied = Event { value, from: write.begun, to: write.ended, what: "a false condition" };
                registers.entry(write.key).or_default().denied.push(denied);
            }
        }
        for read in &self.reads {
            match whole(read, &writes) {
                Ok(value) => registers.entry(read.key).or_default().seen.push(Event {
                    value,
                    from: read.begun,
                    to: read.ended,
                    what: "read",
                }),
                Err(violation) => found.push(violation),
            }
        }
        for (key, mut register) in registers {
            register.applied.push(Event { value: ABSENT, from: 0, to: 0, what: "absent from the beginning" });
            let broken = register.last_applied_is_read().into_iter().chain(register.one_order());
            found.extend(broken.map(|violation| format!("row {key}: {violation}")));
        }
        found.extend(self.one_wins(&applied));
        found.extend(self.last_given_wins(&applied, &writes, &seen.doubled));
        found
    }

    fn one_wins(&self, applied: &HashMap<u64, Vec<Event>>) -> Vec<String> {
        let mut winners: HashMap<(u32, u64), Vec<u64>> = HashMap::new();
        for write in &self.writes {
            if let (Outcome::Done, Some(over)) = (write.outcome, write.over)
                && (over == ABSENT || applied.get(&over).is_some_and(|spans| spans.len() == 1))
            {
                winners.entry((write.key, over)).or_default().push(write.id);
            }
        }
        let several = winners.into_iter().filter(|(_, winners)| winners.len() > 1);
        several
            .map(|((key, over), winners)| {
                format!("row {key}: one wins: the conditional writes {winners:?} are all true over {over}")
            })
            .collect()
    }

    fn last_given_wins(
        &self,
        applied: &HashMap<u64, Vec<Event>>,
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
                let told = spans(pair[0]).iter().filter(|span| span.what == "applied");
                let Some(told) = told.map(|span| span.to).min() else { continue };
                if let Some(early) = spans(pair[1]).iter().find(|span| span.from < told) {
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
fn said(write: &Write, applied: &[Event]) -> Option<String> {
    let told = applied.iter().filter(|span| span.what == "applied").any(|span| span.to < write.ended);
    let is_kept = match write.outcome {
        Outcome::Done if write.over.is_some() => told && applied.len() == 1,
        Outcome::Done => told,
        Outcome::False | Outcome::Unsent => applied.is_empty(),
        Outcome::Unknown => write.over.is_none() || applied.len() <= 1,
    };
    (!is_kept).then(|| format!("what is said: {write:?} was applied so: {applied:?}"))
}

impl Register {
    fn last_applied_is_read(&self) -> Vec<String> {
        let mut of_value: HashMap<u64, Vec<Event>> = HashMap::new();
        for event in &self.applied {
            of_value.entry(event.value).or_default().push(*event);
        }
        let mut events: Vec<Event> = self.applied.iter().chain(&self.seen).copied().collect();
        events.sort_by_key(|event| event.from);
        // From each index on: the event that ends first, and the event of another value that ends first.
        let mut first = vec![[None::<Event>; 2]; events.len() + 1];
        for (place, event) in events.iter().enumerate().rev() {
            let [best, other] = first[place + 1];
            first[place] = match best {
                Some(best) if best.value == event.value => {
                    [Some(if event.to < best.to { *event } else { best }), other]
                }
                Some(best) if event.to < best.to => [Some(*event), Some(best)],
                Some(best) => {
                    let is_first = other.is_none_or(|other| event.to < other.to);
                    [Some(best), if is_first { Some(*event) } else { other }]
                }
                None => [Some(*event), None],
            };
        }
        let replaced_by = |span: &Event, read: &Event| {
            let after = events.partition_point(|event| event.from <= span.to);
            let other = first[after].into_iter().flatten().find(|event| event.value != read.value);
            other.filter(|event| event.to < read.from)
        };
        let mut found = Vec::new();
        for read in &self.seen {
            let spans = of_value.get(&read.value).map_or(&[][..], Vec::as_slice);
            let before: Vec<&Event> = spans.iter().filter(|span| span.from < read.to).collect();
            let replaced: Vec<Event> = before.iter().filter_map(|span| replaced_by(span, read)).collect();
            if before.len() == replaced.len() {
                found.push(format!(
                    "the last applied is read: {read:?} finds what was {before:?} and replaced by {replaced:?}"
                ));
            }
        }
        found
    }

    fn one_order(&self) -> Vec<String> {
        let mut times: HashMap<u64, usize> = HashMap::new();
        self.applied.iter().for_each(|event| *times.entry(event.value).or_default() += 1);
        let mut zones: HashMap<u64, (Moment, Moment)> = HashMap::new();
        for event in self.applied.iter().chain(&self.seen) {
            if times.get(&event.value) == Some(&1) {
                let zone = zones.entry(event.value).or_insert((event.to, event.from));
                *zone = (zone.0.min(event.to), zone.1.max(event.from));
            }
        }
        let mut held: Vec<(Moment, Moment, u64)> = Vec::new();
        let mut others: Vec<Event> = Vec::new();
        for (value, (first_end, last_start)) in zones {
            match first_end < last_start {
                true => held.push((first_end, last_start, value)),
                false => others.push(Event { value, from: last_start, to: first_end, what: "there once" }),
            }
        }
        held.sort_unstable();
        let overlaps: Vec<String> = held
            .windows(2)
            .filter(|pair| pair[1].0 < pair[0].1)
            .map(|pair| {
                let [(from, to, value), (next, end, other)] = [pair[0], pair[1]];
                format!(
                    "one order: {value} must have been there in {from}..{to}, and {other} in {next}..{end}"
                )
            })
            .collect();
        if !overlaps.is_empty() {
            return overlaps;
        }
        // When a value was applied several times, each event stands for itself.
        let several = self.applied.iter().chain(&self.seen);
        others.extend(several.filter(|event| times.get(&event.value) != Some(&1)));
        let within = |event: &Event| {
            let (from, to, value) = *held[..held.partition_point(|zone| zone.0 < event.from)].last()?;
            (event.to < to).then_some((from, to, value))
        };
        let foreign = others.iter().filter_map(|event| {
            let zone = within(event).filter(|zone| zone.2 != event.value)?;
            Some(format!(
                "one order: {event:?} within the time in which {} must have been there: {zone:?}",
                zone.2
            ))
        });
        let denied = self.denied.iter().filter_map(|event| {
            let zone = within(event).filter(|zone| zone.2 == event.value)?;
            Some(format!("one order: {event:?} within the time in which it must have held: {zone:?}"))
        });
        foreign.chain(denied).collect()
    }
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
    use crate::proxy::Application;

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
        Application { id, sent, answered, is_answered: true }
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
        let laws = [
            "whole rows",
            "what is said",
            "the last applied is read",
            "one order",
            "one wins",
            "the last given wins",
        ];
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
        assert_eq!(broken(&writes, &applications, &reads), ["the last applied is read", "one order"]);
        let applications = [&applications[..], &[late(1, 20, 21)]].concat();
        assert!(broken(&writes, &applications, &reads).is_empty());
        // Before it was sent, it had not been applied.
        assert_eq!(broken(&writes, &applications, &[read(1, 16, 17)]), ["the last applied is read"]);
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
        assert_eq!(broken, ["the last applied is read", "one order"]);
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
        assert_eq!(
            broken(&writes, &applications, &[read(1, 10, 11), read(2, 12, 13)]),
            ["the last applied is read", "one order"]
        );
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
        assert!(broken(&writes, &applications, &[]).contains(&"the last applied is read"));
        // A condition is false only on another value.
        let writes = [put(1, 1, 4), put_if(3, 1, Outcome::False, 10, 13)];
        let reads = [read(1, 20, 21)];
        assert_eq!(broken(&writes, &[applied(1, 2, 3)], &reads), ["one order"]);
    }

    #[test]
    fn one_condition_over_a_value_is_true() {
        let both = |id| put_if(id, ABSENT, Outcome::Done, 1, 9);
        let applications = [applied(1, 2, 8), applied(2, 2, 8)];
        assert!(broken(&[both(1), both(2)], &applications, &[]).contains(&"one wins"));
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
