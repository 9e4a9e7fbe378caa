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
//! - **Whole rows.** A read returns the value of one write, with all its columns and no others; or no row.
//! - **What is said.** A write that returned `Ok` was applied before. A conditional write that returned true was applied
//!   once, and one that returned false never. A write that failed before it was sent is not applied.
//! - **One order.** The writes, reads and conditions of a row have an order in which each finds the last write to it, as
//!   [`check`](keyderive_tests::history::check) decides.
//! - **The last given wins.** Where `put_all` or `load` is given a row twice, the later value is sent after the earlier
//!   one was answered, and never in the same request: the entries of a request have no order. A `writer` does not
//!   promise this.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use keyderive::Error;
use keyderive_tests::history::{self, Call};
use keyderive_tests::linearizable::{Op, Operation, Outcome, Row};
use keyderive_tests::proxy::{Application, Log, Seen};

use crate::calls::Record;

/// What all writers did.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) calls: history::History,
    /// The writes of each row in each call that keeps the order of its rows, as they were given.
    given: BTreeMap<(u32, u64), Vec<u32>>,
    /// Reads of rows that are not whole, or cannot be read.
    torn: Vec<String>,
}

/// Records the calls of a writer, or what is read beside the proxy.
pub(crate) struct Recorder {
    client: usize,
    log: Arc<Log>,
    history: Arc<Mutex<History>>,
    /// What is called, for people.
    call: &'static str,
    /// The number of a call that keeps the order of its rows.
    ordered: Option<u32>,
    /// Whether nothing may fail.
    is_steady: bool,
    /// The calls since the last name, and whether one of them failed before anything was sent.
    begun: Vec<u64>,
    is_unsent: bool,
}

impl Recorder {
    pub(crate) fn new(client: usize, log: Arc<Log>, history: Arc<Mutex<History>>, is_steady: bool) -> Self {
        let (call, ordered, begun, is_unsent) = ("a reader", None, Vec::new(), false);
        Self { client, log, history, call, ordered, is_steady, begun, is_unsent }
    }

    /// Names the call that is recorded next.
    pub(crate) fn names(&mut self, call: &'static str, ordered: Option<u32>) {
        (self.call, self.ordered) = (call, ordered);
        (self.begun, self.is_unsent) = (Vec::new(), false);
    }

    /// The rows of the last call were sent together, so that none was written if it failed before anything was sent.
    pub(crate) fn was_one_request(&mut self) {
        if self.is_unsent {
            std::mem::take(&mut self.begun).into_iter().for_each(|begun| self.void(begun));
        }
    }

    fn ends(&mut self, begun: u64, end: impl FnOnce(&mut Call)) {
        end(self.history.lock().unwrap().calls.call(usize::try_from(begun).unwrap()));
    }
}

impl Record for Recorder {
    fn begin(&mut self, at: u64, op: Op) -> u64 {
        let mut history = self.history.lock().unwrap();
        if let (Some(number), Some(id)) = (self.ordered, op.id()) {
            history.given.entry((number, at)).or_default().push(id);
        }
        let begun = history.calls.begin(self.client, at, op, self.log.now(), self.call.to_owned()) as u64;
        self.begun.push(begun);
        begun
    }

    fn end(&mut self, begun: u64, outcome: Outcome) {
        let end = self.log.now();
        self.ends(begun, |call| (call.operation.outcome, call.operation.end) = (outcome, end));
    }

    fn void(&mut self, begun: u64) {
        self.ends(begun, |call| call.is_void = true);
    }

    fn failed(&mut self, error: &Error) {
        self.is_unsent |= error.attempts() == 0;
        if self.is_steady {
            self.fault(format!("whole rows: a row cannot be read: {error}"));
        }
    }

    fn fault(&mut self, text: String) {
        self.history.lock().unwrap().torn.push(text);
    }
}

type Applied<'a> = HashMap<u32, Vec<&'a Application>>;

impl History {
    /// How many conditional writes were applied, by their callers.
    pub(crate) fn won(&self) -> usize {
        let is_won =
            |call: &&Call| call.operation.op.is_conditional() && call.operation.outcome == Outcome::Is(true);
        self.calls.calls().iter().filter(is_won).count()
    }

    /// Describes every violation of a law.
    pub(crate) fn violations(&self, seen: &Seen) -> Vec<String> {
        let mut found = self.torn.clone();
        let (mut applied, mut rows) = (Applied::new(), BTreeMap::<u64, Vec<Operation>>::new());
        for application in &seen.applications {
            applied.entry(u32::try_from(application.id).unwrap()).or_default().push(application);
        }
        for Call { at, operation, is_void, .. } in self.calls.calls() {
            let row = rows.entry(*at).or_default();
            let Some(id) = operation.op.id() else {
                row.extend((!is_void).then(|| operation.clone()));
                continue;
            };
            let spans = applied.get(&id).map_or(&[][..], Vec::as_slice);
            found.extend(said(operation, *is_void, spans));
            // Each time it was applied, and a condition matched in the same step.
            row.extend(spans.iter().map(|span| {
                let outcome = if operation.op.is_conditional() { Outcome::Is(true) } else { Outcome::Done };
                let told = if span.is_answered { "" } else { ", and the client was not told" };
                let by = format!("{}{told}", operation.by);
                Operation { op: operation.op, outcome, begin: span.sent, end: span.answered, by }
            }));
            row.extend((operation.outcome == Outcome::Is(false)).then(|| operation.clone()));
        }
        let checked = history::check(rows, |_| Row::NONE);
        found.extend(checked.violations);
        found.extend(
            checked.undecided.iter().map(|at| format!("row {at}: one order: it could not be decided")),
        );
        found.extend(self.last_given_wins(&applied, &seen.doubled));
        found
    }

    fn last_given_wins(&self, applied: &Applied<'_>, doubled: &[Vec<u64>]) -> Vec<String> {
        let ordered: HashSet<u64> = self.given.values().flatten().map(|id| u64::from(*id)).collect();
        let doubled = doubled.iter().filter(|ids| ids.iter().any(|id| ordered.contains(id)));
        let law = "the last given wins";
        let mut found: Vec<_> =
            doubled.map(|ids| format!("{law}: a request has a row twice: {ids:?}")).collect();
        for ((_, at), ids) in &self.given {
            for pair in ids.windows(2) {
                let spans = |id| applied.get(&id).map_or(&[][..], Vec::as_slice);
                let told = spans(pair[0]).iter().filter(|span| span.is_answered);
                let Some(told) = told.map(|span| span.answered).min() else { continue };
                let early = spans(pair[1]).iter().find(|span| span.sent < told);
                found.extend(early.map(|early| {
                    format!("row {at}: {law}: {early:?} was sent before the answer to {} at {told}", pair[0])
                }));
            }
        }
        found
    }
}

/// How a call's result contradicts what was applied.
fn said(write: &Operation, is_void: bool, applied: &[&Application]) -> Option<String> {
    let told = applied.iter().any(|span| span.is_answered && span.answered < write.end);
    let is_kept = match write.outcome {
        _ if is_void => applied.is_empty(),
        Outcome::Is(true) => told && applied.len() == 1,
        Outcome::Is(false) => applied.is_empty(),
        Outcome::Unknown => !write.op.is_conditional() || applied.len() <= 1,
        _ => told,
    };
    (!is_kept).then(|| format!("what is said: {write:?}, void {is_void}, was applied so: {applied:?}"))
}

mod tests {
    use keyderive::Client;
    use keyderive_tests::proxy::Moment;

    use super::*;
    use crate::rows::{Event, EventKey};

    const ROW: u64 = 3;

    /// A write, and the number of its call if that keeps the order of its rows.
    type Write = (Op, Outcome, Moment, Moment, Option<u32>);

    fn put(id: u32, begun: Moment, ended: Moment) -> Write {
        (Op::Put(id), Outcome::Done, begun, ended, None)
    }

    fn put_if(to: u32, from: u32, outcome: Outcome, begun: Moment, ended: Moment) -> Write {
        (Op::Replace { from, to }, outcome, begun, ended, None)
    }

    fn applied(id: u64, sent: Moment, answered: Moment) -> Application {
        Application { client: 0, id, arrived: sent, sent, answered, is_answered: true }
    }

    fn late(id: u64, sent: Moment, answered: Moment) -> Application {
        Application { is_answered: false, ..applied(id, sent, answered) }
    }

    fn read(value: u32, begun: Moment, ended: Moment) -> (u32, Moment, Moment) {
        (value, begun, ended)
    }

    /// The laws that a history breaks; with `is_void`, its writes failed before they were sent.
    fn broken(
        writes: &[Write],
        is_void: bool,
        applications: &[Application],
        reads: &[(u32, Moment, Moment)],
        doubled: &[u64],
    ) -> Vec<&'static str> {
        let mut history = History::default();
        let mut add = |op, outcome, begin, end, is_void| {
            let place = history.calls.begin(0, ROW, op, begin, "a test".to_owned());
            let call = history.calls.call(place);
            (call.operation.outcome, call.operation.end, call.is_void) = (outcome, end, is_void);
        };
        for (op, outcome, begun, ended, _) in writes {
            add(*op, *outcome, *begun, *ended, is_void);
        }
        for (value, begun, ended) in reads {
            let found = if *value == 0 { Row::NONE } else { Row::of(*value) };
            add(Op::Read, Outcome::Found(found), *begun, *ended, false);
        }
        for (op, .., ordered) in writes {
            let Some(number) = ordered else { continue };
            history.given.entry((*number, ROW)).or_default().extend(op.id());
        }
        let doubled = doubled.chunks(2).map(<[u64]>::to_vec).collect();
        let seen = Seen { applications: applications.to_vec(), doubled, ..Seen::default() };
        let violations = history.violations(&seen);
        let laws = ["whole rows", "what is said", "one order", "the last given wins"];
        let is_broken = |law: &&str| violations.iter().any(|text| text.contains(&format!("{law}: ")));
        laws.into_iter().filter(is_broken).collect()
    }

    /// Tests of histories, and the laws that each breaks.
    macro_rules! histories {
        ($($test:ident: $writes:expr, $applications:expr, $reads:expr => $laws:expr;)+) => {$(
            #[test]
            fn $test() {
                let laws: &[&str] = &$laws;
                assert_eq!(broken(&$writes, false, &$applications, &$reads, &[]), laws);
            }
        )+};
    }

    histories! {
        a_history_in_order_is_right:
            [put(1, 1, 4), put(2, 10, 13), put_if(3, 2, Outcome::Is(true), 20, 23)],
            [applied(1, 2, 3), applied(2, 11, 12), applied(3, 21, 22)],
            [read(0, 0, 1), read(1, 5, 6), read(2, 14, 15), read(3, 24, 25)] => [];
        an_earlier_value_does_not_come_back:
            [put(1, 1, 4), put(2, 10, 13)], [applied(1, 2, 3), applied(2, 11, 12)],
            [read(2, 14, 15), read(1, 30, 31)] => ["one order"];
        a_late_request_brings_its_value_back:
            [put(1, 1, 4), put(2, 10, 13)], [applied(1, 2, 3), applied(2, 11, 12), late(1, 20, 21)],
            [read(2, 14, 15), read(1, 30, 31)] => [];
        a_late_request_brings_nothing_back_before_it_is_sent:
            [put(1, 1, 4), put(2, 10, 13)], [applied(1, 2, 3), applied(2, 11, 12), late(1, 20, 21)],
            [read(1, 16, 17)] => ["one order"];
        a_value_of_another_row_is_a_violation:
            [put(1, 1, 4)], [applied(1, 2, 3)], [read(2, 5, 6)] => ["one order"];
        a_row_that_was_put_is_there:
            [put(1, 1, 4)], [applied(1, 2, 3)], [read(0, 5, 6)] => ["one order"];
        a_put_that_returned_was_applied: [put(1, 1, 4)], [], [] => ["what is said"];
        a_put_that_returned_was_answered: [put(1, 1, 4)], [late(1, 2, 3)], [] => ["what is said"];
        a_put_was_applied_before_it_returned: [put(1, 1, 4)], [applied(1, 8, 9)], [] => ["what is said"];
        reads_agree_on_an_order_of_concurrent_writes:
            [put(1, 1, 9), put(2, 1, 9)], [applied(1, 2, 8), applied(2, 2, 8)],
            [read(1, 10, 11), read(1, 12, 13)] => [];
        reads_that_disagree_on_the_order_are_a_violation:
            [put(1, 1, 9), put(2, 1, 9)], [applied(1, 2, 8), applied(2, 2, 8)],
            [read(1, 10, 11), read(2, 12, 13)] => ["one order"];
        // Each starts before the other ends, so neither is entirely after the other.
        overlapping_reads_of_overlapping_writes_have_one_order:
            [put(1, 0, 3), put(2, 0, 9)], [applied(1, 1, 2), applied(2, 1, 3)],
            [read(2, 4, 20), read(1, 5, 21), read(2, 22, 23)] => ["one order"];
        a_condition_is_true_of_what_was_there:
            [put(1, 1, 4), put(2, 5, 8), put_if(3, 1, Outcome::Is(true), 10, 13)],
            [applied(1, 2, 3), applied(2, 6, 7), applied(3, 11, 12)], [] => ["one order"];
        a_condition_is_false_of_another_value:
            [put(1, 1, 4), put_if(3, 1, Outcome::Is(false), 10, 13)], [applied(1, 2, 3)],
            [read(1, 20, 21)] => ["one order"];
        one_condition_over_a_value_is_true:
            [put_if(1, 0, Outcome::Is(true), 1, 9), put_if(2, 0, Outcome::Is(true), 1, 9)],
            [applied(1, 2, 8), applied(2, 2, 8)], [] => ["one order"];
        a_writer_promises_no_order:
            [put(1, 1, 9), put(2, 1, 9)], [applied(1, 2, 5), applied(2, 2, 5)], [] => [];
    }

    #[test]
    fn a_row_mixed_from_two_writes_is_not_whole() {
        assert_eq!(Event::of(1).state(ROW), Ok(Row::of(1)));
        let mut mixed = Event::of(2);
        mixed.val = Some(1);
        assert!(mixed.state(ROW).unwrap_err().contains("whole rows: "));
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_is_a_violation() {
        let error =
            Client::embedded().table::<EventKey, Event>("none").get(&EventKey { id: 1 }).await.unwrap_err();
        for is_steady in [true, false] {
            let mut recorder = Recorder::new(0, Arc::default(), Arc::default(), is_steady);
            recorder.failed(&error);
            let found = recorder.history.lock().unwrap().violations(&Seen::default());
            assert_eq!(found.iter().any(|text| text.contains("whole rows: ")), is_steady, "{found:?}");
        }
    }

    #[test]
    fn what_is_said_of_a_condition_is_what_happened() {
        for (outcome, is_void, times) in [
            (Outcome::Is(true), false, 0),
            (Outcome::Is(true), false, 2),
            (Outcome::Is(false), false, 1),
            (Outcome::Unknown, true, 1),
            (Outcome::Unknown, false, 2),
        ] {
            let applications = vec![applied(1, 2, 3); times];
            let laws = broken(&[put_if(1, 0, outcome, 1, 4)], is_void, &applications, &[], &[]);
            assert!(laws.contains(&"what is said"), "{outcome:?}, void {is_void}, {times} times");
        }
    }

    #[test]
    fn the_last_of_a_call_is_sent_when_the_one_before_is_answered() {
        let writes = [1, 2].map(|id| (Op::Put(id), Outcome::Done, 1, 9, Some(1)));
        let laws = |applications: &[Application], doubled| broken(&writes, false, applications, &[], doubled);
        assert!(laws(&[applied(1, 2, 3), applied(2, 4, 5)], &[]).is_empty());
        assert_eq!(laws(&[applied(1, 2, 4), applied(2, 3, 5)], &[]), ["the last given wins"]);
        // An earlier request may still arrive.
        assert!(laws(&[late(1, 2, 7), applied(1, 3, 4), applied(2, 5, 6)], &[]).is_empty());
        assert!(laws(&[], &[1, 2]).contains(&"the last given wins"));
    }
}
